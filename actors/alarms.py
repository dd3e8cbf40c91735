# SPDX-License-Identifier: Apache-2.0
"""Alarms: what a run that looks alive may suffer from, judged from facts about its attempts; pure.

An alarm is shown and counted, it stops nothing. Only groups that teach nothing, one after another,
end a run: it would go on for ever without learning. docs/TROUBLESHOOTING.md says what to do.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from actors.config import AlarmConfig
from actors.types import AttemptReport
from envs.types import LAYERS, Scored

ENTROPY_KEY = "learner/entropy_type_fraction"
_ENTROPY_UPDATES = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptFacts:
    """What the alarms need to know of one scored attempt."""

    group_id: str
    fingerprint: str  # equal for attempts that did the same
    num_steps: int
    reward_sizes: Sequence[float]  # [3], sum of |reward| by layer, weighted as in the task


class Alarms:
    """Looks at the last `window` attempts and at the last few updates."""

    def __init__(self, config: AlarmConfig) -> None:
        self._config = config
        self._attempts: collections.deque[AttemptFacts] = collections.deque(maxlen=config.window)
        # Fractions of the maximum. One batch says little: a trained policy is sure in most states.
        self._entropies: collections.deque[float] = collections.deque(maxlen=_ENTROPY_UPDATES)

    def attempt(self, facts: AttemptFacts) -> None:
        """Take one scored attempt."""
        self._attempts.append(facts)

    def update(self, metrics: Mapping[str, float]) -> None:
        """Take the metrics of one update."""
        if ENTROPY_KEY in metrics:
            self._entropies.append(metrics[ENTROPY_KEY])

    def active(self) -> tuple[str, ...]:
        """The alarms that are on, each with its figure and its bound."""
        config = self._config
        found = []
        if len(self._attempts) == config.window:
            layer, share = layer_share(self._attempts)
            if share > config.max_layer_share:
                found.append(
                    f"layer-share: {share:.0%} of all reward is {layer} "
                    f"(alarms.max_layer_share={config.max_layer_share:g})"
                )
            share = duplicate_share(self._attempts)
            if share > config.max_duplicate_share:
                found.append(
                    f"duplicates: {share:.0%} of attempts repeat one of their group "
                    f"(alarms.max_duplicate_share={config.max_duplicate_share:g})"
                )
            steps = sum(facts.num_steps for facts in self._attempts) / config.window
            if steps < config.min_steps:
                found.append(
                    f"length-collapse: {steps:.1f} steps an attempt "
                    f"(alarms.min_steps={config.min_steps:g})"
                )
        entropy = sum(self._entropies) / _ENTROPY_UPDATES
        if len(self._entropies) == _ENTROPY_UPDATES and entropy < config.min_entropy:
            found.append(
                f"entropy-collapse: {entropy:.3f} of the maximum "
                f"(alarms.min_entropy={config.min_entropy:g})"
            )
        return tuple(found)


def alarm_facts(report: AttemptReport, score: Scored) -> AttemptFacts:
    """The facts of one scored attempt."""
    sizes = np.abs(score.rewards).sum(axis=0) * report.layer_weights
    return AttemptFacts(
        group_id=report.group_id,
        fingerprint=report.fingerprint,
        num_steps=report.num_steps,
        reward_sizes=sizes.tolist(),
    )


def layer_share(attempts: Sequence[AttemptFacts]) -> tuple[str, float]:
    """The layer with most reward by size, and its share; ("", 0) when nothing was paid."""
    sizes = [sum(facts.reward_sizes[i] for facts in attempts) for i in range(len(LAYERS))]
    total = sum(sizes)
    if total <= 0.0:
        return "", 0.0
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    return LAYERS[largest], sizes[largest] / total


def duplicate_share(attempts: Sequence[AttemptFacts]) -> float:
    """Share of attempts that did what an earlier one of the same group among them did."""
    seen: set[tuple[str, str]] = set()
    repeats = 0
    for facts in attempts:
        key = (facts.group_id, facts.fingerprint)
        repeats += key in seen
        seen.add(key)
    return repeats / len(attempts) if attempts else 0.0


class UnusableGroups:
    """Counts groups in a row that the learner could not learn from."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.num_in_a_row = 0

    def trained(self, num_groups: int, num_without_signal: int) -> None:
        """A batch was trained on; `RuntimeError` when the last group of too many taught nothing."""
        is_any_usable = num_without_signal < num_groups
        self.num_in_a_row = 0 if is_any_usable else self.num_in_a_row + num_groups
        self._check("all attempts of a group got the same rewards, so nothing tells them apart")

    def dropped(self, num_groups: int) -> None:
        """Groups were given up before they could be trained on."""
        self.num_in_a_row += num_groups
        self._check("groups were given up before the learner saw them")

    def _check(self, reason: str) -> None:
        if self.num_in_a_row >= self._limit:
            raise RuntimeError(
                f"{self.num_in_a_row} groups in a row taught nothing (alarms.max_unusable_groups="
                f"{self._limit}), the last because {reason}; make tasks easier or harder, draw "
                "more attempts per group (algo.group_size), or look at some with `foragerl view`"
            )
