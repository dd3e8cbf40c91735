# SPDX-License-Identifier: Apache-2.0
"""Pieces of one update as they go to the processes of a learner, and which process gets which rows.

A minibatch is the same set of rows whatever the number of processes: each evaluates its own, and
their losses count by their share of the rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learner.credit import Sample
from learner.loss import Weights


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """One minibatch as one process trains on it."""

    samples: tuple[Sample, ...]  # its own; one that is another's where it has none
    share: float  # of the whole minibatch; 0 where it has none of its own
    whole: tuple[Sample, ...]  # in the process that keeps a quarantine, else empty


@dataclass(frozen=True, kw_only=True, slots=True)
class FreshWork:
    """The epochs over a new batch."""

    minibatches: tuple[Rows, ...]
    num_episodes: int
    steps_per_unit: float  # see `learner.credit.Batch`
    weights: Weights
    learning_rate: float
    policy_version: int
    rng: np.random.Generator  # of the order of the minibatches


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayWork:
    """Updates of the step term, one for each minibatch of past states."""

    minibatches: tuple[Rows, ...]
    weights: Weights


@dataclass(frozen=True, kw_only=True, slots=True)
class EndOfBatch:
    """The reference follows the policy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Restore:
    """Weights and optimizer of an earlier moment."""

    state: Mapping[str, Any]  # of `Trainer.state_dict`


Work = FreshWork | ReplayWork | EndOfBatch | Restore


def owners_of_groups(sizes: Sequence[int], num_processes: int) -> np.ndarray:
    """Which process gets each group, int64 [groups]; `sizes` are numbers of steps.

    The largest group goes first, always to the process with the fewest steps.
    """
    owners = np.zeros(len(sizes), dtype=np.int64)
    loads = np.zeros(num_processes)
    for group in sorted(range(len(sizes)), key=lambda group: -sizes[group]):
        owners[group] = int(np.argmin(loads))
        loads[owners[group]] += sizes[group]
    return owners


def shares(
    minibatches: Sequence[Sequence[Sample]],
    owners: Sequence[np.ndarray],
    num_processes: int,
) -> list[tuple[Rows, ...]]:
    """The rows of each process, by process; `owners` has an array [rows] for each minibatch.

    A process without rows of its own evaluates the first one for nothing, so that all take part in
    the same exchanges.
    """
    result: list[tuple[Rows, ...]] = []
    for process in range(num_processes):
        parts = []
        for samples, owner in zip(minibatches, owners, strict=True):
            own = tuple(samples[row] for row in np.flatnonzero(owner == process).tolist())
            parts.append(
                Rows(
                    samples=own or (samples[0],),
                    share=len(own) / len(samples),
                    whole=tuple(samples) if process == 0 else (),
                )
            )
        result.append(tuple(parts))
    return result


def for_each(work: FreshWork | ReplayWork, parts: Sequence[tuple[Rows, ...]]) -> list[Work]:
    """`work` with the rows of each process, by process."""
    return [dataclasses.replace(work, minibatches=part) for part in parts]
