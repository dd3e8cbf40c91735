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

    def task(self, task: Task, observation: Observation, *, seed: int) -> Task | None:
        """A task that the observation lies on the way of, or None."""

    def observation(self, task: Task, observation: Observation, *, seed: int) -> Observation:
        """The observation under that task."""


class Hindsight:
    """Asks visited states anew, `num_tasks` times each, and has the teacher score them."""

    def __init__(
        self,
        tasks: HindsightTasks,
        teacher: Teacher,
        model_inputs: Callable[[Observation], ModelInputs],
        num_tasks: int,
    ) -> None:
        self._tasks = tasks
        self._teacher = teacher
        self._model_inputs = model_inputs
        self._num_tasks = num_tasks

    def records(
        self, task: Task, observation: Observation, decision: Decision, *, seed: int
    ) -> list[StepRecord]:
        """Scored states without an executed action: nothing but the step term may use them."""
        found = []
        for number in range(self._num_tasks):
            other = self._tasks.task(task, observation, seed=seed + number)
            if other is None:
                continue
            seen = self._tasks.observation(other, observation, seed=seed + number)
            actions = enumerate_actions(seen.mask)
            utilities = self._teacher.utilities(other, seen, actions)
            record = StepRecord(
                inputs=self._model_inputs(seen),
                mask=seen.mask,
                chosen=0,
                log_prob_by_head=np.zeros(MAX_HEADS, dtype=np.float32),
                policy_version=decision.policy_version,
                utilities=utilities.astype(np.float16),
                is_exogenous=True,
            )
            found.append(record)
        return found
