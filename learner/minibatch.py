# SPDX-License-Identifier: Apache-2.0
"""Steps of many episodes as padded tensors that the objective reads.

Shape letters: B states, A legal actions (padded).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agent.policy import PolicyBatch, collate
from agent.types import StepRecord
from learner.credit import Sample
from learner.objective import Distribution, Legal


@dataclass(frozen=True, kw_only=True, slots=True)
class Minibatch:
    """Padded samples."""

    samples: Sequence[Sample]  # [B] that it was made of
    states: PolicyBatch
    legal: Legal
    chosen: Tensor  # int64 [B], column of the action that was executed
    log_behaviour: Tensor  # float32 [B], of that action
    advantage: Tensor  # float32 [B]
    in_outcome: Tensor  # bool [B]
    is_current: Tensor  # bool [B]
    utilities: Tensor  # float32 [B, A], 0 where there is none
    has_utilities: Tensor  # bool [B]
    episode: Tensor  # int64 [B], which of the batch's episodes a step belongs to
    share: float  # of the whole minibatch, of which these are one process's rows

    def __len__(self) -> int:
        return len(self.chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchors:
    """What the trained policy is compared with; constant during a learner batch, no gradient."""

    log_prox: Tensor  # [B], of the executed action at the start of the batch
    prox: Distribution
    reference: Distribution


def build_minibatch(samples: Sequence[Sample], *, device: str, share: float = 1.0) -> Minibatch:
    """Pad `samples` into one batch; `ValueError` when a utility vector does not fit its state."""
    records = [sample.record for sample in samples]
    states = collate([r.inputs for r in records], [r.mask for r in records], device=device)
    num_actions = states.flat_mask.sum(dim=1).tolist()
    utilities = np.zeros(tuple(states.flat_mask.shape), dtype=np.float32)
    for row, record in enumerate(records):
        _check(record, num_actions[row])
        utilities[row, : len(record.utilities)] = record.utilities
    columns = {
        "chosen": np.array([r.chosen for r in records], dtype=np.int64),
        "log_behaviour": np.array([r.log_prob_by_head.sum() for r in records], dtype=np.float32),
        "advantage": np.array([s.advantage for s in samples], dtype=np.float32),
        "in_outcome": np.array([s.in_outcome for s in samples], dtype=bool),
        "is_current": np.array([s.is_current for s in samples], dtype=bool),
        "utilities": utilities,
        "has_utilities": np.array([len(r.utilities) > 0 for r in records], dtype=bool),
        "episode": np.array([s.episode for s in samples], dtype=np.int64),
    }
    legal = Legal(
        type_mask=states.type_mask, flat_type=states.flat_type, flat_mask=states.flat_mask
    )
    tensors = {name: torch.from_numpy(array).to(device) for name, array in columns.items()}
    return Minibatch(samples=samples, states=states, legal=legal, share=share, **tensors)


def _check(record: StepRecord, num_actions: int) -> None:
    """A stored choice and stored utilities are rows of the stored mask, nothing else."""
    if not 0 <= record.chosen < num_actions:
        raise ValueError(
            f"StepRecord.chosen: expected a row below {num_actions}, got {record.chosen}; "
            "was the mask stored that the action was sampled under?"
        )
    if len(record.utilities) not in (0, num_actions):
        raise ValueError(
            f"StepRecord.utilities: expected 0 or {num_actions} values, got "
            f"{len(record.utilities)}; the teacher must score every row of `enumerate_actions`"
        )
