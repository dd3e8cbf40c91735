# SPDX-License-Identifier: Apache-2.0
"""Visited states under other questions, as further records for the step term; no torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from agent.types import MAX_HEADS, Decision, ModelInputs, StepRecord
from envs.actions import enumerate_actions
from envs.site import Teacher
from envs.types import Observation, Task


class HindsightTasks(Protocol):
    """What a world asks instead; see `envs.web.hindsight`."""

    def weight(self, task: Task) -> float:
        """How often states of `task` are asked anew, on average over all tasks once."""

    def task(self, task: Task, observation: Observation, *, seed: int) -> Task | None:
        """A task that the observation lies on the way of, or None."""

    def observation(self, task: Task, observation: Observation, *, seed: int) -> Observation:
        """The observation under that task."""

    def reworded(self, task: Task, observation: Observation, *, seed: int) -> Observation:
        """What a policy is shown of it; no action is more or less legal than before."""


class Hindsight:
    """Asks visited states anew and has the teacher score them, `num_tasks` times on average.

    The policy is shown a share `reworded` of them in other words than those that were scored.
    """

    def __init__(
        self,
        tasks: HindsightTasks,
        teacher: Teacher,
        model_inputs: Callable[[Observation], ModelInputs],
        num_tasks: int,
        *,
        reworded: float = 0.0,
    ) -> None:
        self._tasks = tasks
        self._teacher = teacher
        self._model_inputs = model_inputs
        self._num_tasks = num_tasks
        self._reworded = reworded

    def records(
        self, task: Task, observation: Observation, decision: Decision, *, seed: int
    ) -> list[StepRecord]:
        """Scored states without an executed action: nothing but the step term may use them."""
        found = []
        for number in range(round(self._num_tasks * self._tasks.weight(task))):
            other = self._tasks.task(task, observation, seed=seed + number)
            if other is None:
                continue
            seen = self._tasks.observation(other, observation, seed=seed + number)
            actions = enumerate_actions(seen.mask)
            utilities = self._teacher.utilities(other, seen, actions)
            shown = seen
            if np.random.default_rng([seed, number]).random() < self._reworded:
                shown = self._tasks.reworded(other, seen, seed=seed + number)
            record = StepRecord(
                inputs=self._model_inputs(shown),
                mask=seen.mask,
                chosen=0,
                log_prob_by_head=np.zeros(MAX_HEADS, dtype=np.float32),
                policy_version=decision.policy_version,
                utilities=utilities.astype(np.float16),
                is_exogenous=True,
            )
            found.append(record)
        return found
