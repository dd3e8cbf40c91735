# SPDX-License-Identifier: Apache-2.0
"""Scores actions where a question's evidence is known; elsewhere it has nothing to say."""

from __future__ import annotations

import numpy as np

from envs.actions import FlatActions
from envs.types import EvidenceItem, Observation, Task
from envs.web.guide import query_fit
from envs.web.search_index import words_of
from envs.web.teacher import WorldGraphTeacher

_BY_TEXT = 0.6  # words of the fact find its page less surely than its name does
_ENOUGH_WORDS = 4  # of the fact in a query


def evidence_fit(query: str, item: EvidenceItem) -> float:
    """How well a query finds the item's page, in [0, 1]: by its name, or by what it says.

    Questions of real sets often describe a page without its name.
    """
    given = set(words_of(query))
    common = len(given.intersection(words_of(" ".join((item.subject, *item.needles)))))
    if not common:
        return 0.0
    by_text = _BY_TEXT * common / len(given) * min(1.0, common / _ENOUGH_WORDS)
    return max(query_fit(query, item), by_text)


class CorpusTeacher:
    """The embedded web's teacher for tasks whose evidence is proven, silent for all others.

    It needs no world graph, only the evidence in order with what proves it. Without, no action is
    known to be better than another: there are no utilities, which is not utilities of zero.
    """

    def __init__(self) -> None:
        self._guide = WorldGraphTeacher(fit=lambda query, item, _: evidence_fit(query, item))

    def utilities(self, task: Task, observation: Observation, actions: FlatActions) -> np.ndarray:
        """Utility of every legal action, float32 [A] in [-1, 1]; [0] without proven evidence."""
        if not task.truth.evidence:
            return np.zeros(0, dtype=np.float32)
        return self._guide.utilities(task, observation, actions)
