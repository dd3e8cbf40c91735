# SPDX-License-Identifier: Apache-2.0
"""How the weights of the outcome and the step term move during a run. No torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from learner.config import ObjectiveConfig, Schedule

_STAGES = 3  # the validation schedule goes through the early decay in so many steps
_MIN_GAIN = 0.02  # of validation success, that ends a stage
_MAX_STALLS = 3  # evaluations without such a gain, that end it too


@dataclass(frozen=True, kw_only=True, slots=True)
class TermWeights:
    """alpha and beta of one update."""

    step: float
    outcome: float


def term_weights(config: ObjectiveConfig, done: float) -> TermWeights:
    """Weights when the share `done` in [0, 1] of the way is behind.

    With alpha_0, beta_0 the first and alpha_1, beta_1 the last weights:

        early decay:  alpha = max(alpha_1, alpha_0 (1 - 3 f)),  beta = beta_0 + (beta_1 - beta_0) *
                      min(1, 3 f)
        linear:       both from the first to the last weight

    A wrong teacher is imitated faithfully, so the step term is an accelerator at the beginning, and
    beta must be able to overpower it afterwards.
    """
    first = TermWeights(step=config.step_weight, outcome=config.outcome_weight)
    floor = min(config.step_weight_final, config.step_weight)  # 0 stays 0: outcome-only learning
    if config.schedule is Schedule.CONSTANT:
        return first
    gain = config.outcome_weight_final - config.outcome_weight
    if config.schedule is Schedule.LINEAR:
        fall = floor - config.step_weight
        return TermWeights(step=first.step + fall * done, outcome=first.outcome + gain * done)
    decayed = config.step_weight * (1 - 3 * done)
    return TermWeights(
        step=max(floor, decayed), outcome=config.outcome_weight + gain * min(1.0, 3 * done)
    )


class ScheduleState:
    """Where a run is on its schedule; `validation` moves by what evaluations say.

    A stage ends when the success on validation tasks rose by 0.02 since the stage began, or has not
    for three evaluations. It never goes back, whatever later evaluations say.
    """

    def __init__(self, config: ObjectiveConfig) -> None:
        self._config = config
        self._stage = 0
        self._at_start = math.nan  # validation success when the stage began
        self._stalls = 0

    def observe(self, validation_score: float) -> None:
        """Take in one evaluation; `ValueError` outside [0, 1]."""
        if not 0.0 <= validation_score <= 1.0:
            raise ValueError(f"validation_score: expected 0..1, got {validation_score}")
        if math.isnan(self._at_start):
            self._at_start = validation_score
            return
        has_gained = validation_score >= self._at_start + _MIN_GAIN
        self._stalls += not has_gained
        if has_gained or self._stalls >= _MAX_STALLS:
            self._stage = min(self._stage + 1, _STAGES)
            self._at_start, self._stalls = validation_score, 0

    def weights(self, progress: float) -> TermWeights:
        """Weights at `progress` of the run."""
        if self._config.schedule is Schedule.VALIDATION:
            return term_weights(self._config, self._stage / (3 * _STAGES))
        return term_weights(self._config, progress)

    def state_dict(self) -> dict[str, Any]:
        """Plain values."""
        at_start = None if math.isnan(self._at_start) else self._at_start
        return {"stage": self._stage, "at_start": at_start, "stalls": self._stalls}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`."""
        self._stage, self._stalls = state["stage"], state["stalls"]
        self._at_start = math.nan if state["at_start"] is None else state["at_start"]
