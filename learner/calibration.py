# SPDX-License-Identifier: Apache-2.0
"""How far the step term's teacher can be trusted, measured on golden steps. No torch.

A golden step is one of an attempt with a right answer: its executed action should be ranked above
the others of the state. A teacher that ranks at random has concordance 0.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from learner.metrics import Means
from learner.types import Group

_DECAY = 0.9  # of the running concordance
_NONE_AT, _FULL_AT = 0.6, 0.8  # concordances at which the gate is shut and open


def concordance(utilities: np.ndarray, golden: int) -> float:
    """Share of the other actions that are ranked below row `golden`, ties counted half; in [0, 1].

    The area under the ROC curve for one positive; `ValueError` without other actions.
    """
    if len(utilities) < 2:
        raise ValueError(f"utilities: expected at least two actions, got {len(utilities)}")
    others = np.delete(utilities, golden)
    below = np.count_nonzero(others < utilities[golden])
    equal = np.count_nonzero(others == utilities[golden])
    return (below + 0.5 * equal) / len(others)


def gate(mean_concordance: float) -> float:
    """`clip((AUC - 0.6) / 0.2, 0, 1)`, the share of the step term that is let through."""
    return min(max((mean_concordance - _NONE_AT) / (_FULL_AT - _NONE_AT), 0.0), 1.0)


class CalibrationGate:
    """A running mean of the concordance over the batches that had golden steps."""

    def __init__(self) -> None:
        self._mean = math.nan

    @property
    def value(self) -> float:
        """In [0, 1]; 1 before the first golden step."""
        return 1.0 if math.isnan(self._mean) else gate(self._mean)

    def observe(self, groups: Sequence[Group], means: Means) -> None:
        """Take in the golden steps of a batch that have utilities."""
        found = [
            concordance(step.utilities, step.chosen)
            for group in groups
            for member in group.members
            if member.score.is_right and not group.is_replayed
            for step in member.trajectory.steps
            if len(step.utilities) > 1
        ]
        if found:
            fresh = float(np.mean(found))
            old = fresh if math.isnan(self._mean) else self._mean
            self._mean = _DECAY * old + (1 - _DECAY) * fresh
            means.add("learner/golden_concordance", fresh)

    def state_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"mean": None if math.isnan(self._mean) else self._mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`."""
        self._mean = math.nan if state["mean"] is None else state["mean"]
