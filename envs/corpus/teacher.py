# SPDX-License-Identifier: Apache-2.0
"""Scores actions where a question's evidence is known; elsewhere it has nothing to say."""

from __future__ import annotations

import numpy as np

from envs.actions import FlatActions
from envs.types import Observation, Task
from envs.web.teacher import WorldGraphTeacher


class CorpusTeacher:
    """The embedded web's teacher for tasks whose evidence is proven, silent for all others.

    It needs no world graph, only the evidence in order with what proves it. Without, no action is
    known to be better than another: there are no utilities, which is not utilities of zero.
    """

    def __init__(self) -> None:
        self._guide = WorldGraphTeacher()

    def utilities(self, task: Task, observation: Observation, actions: FlatActions) -> np.ndarray:
        """Utility of every legal action, float32 [A] in [-1, 1]; [0] without proven evidence."""
        if not task.truth.evidence:
            return np.zeros(0, dtype=np.float32)
        return self._guide.utilities(task, observation, actions)
