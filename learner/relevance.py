# SPDX-License-Identifier: Apache-2.0
"""How much of the question an attempt got to read: hindsight where no answer was right. No torch.

Nothing but the question's own words is compared with, so it works on any corpus. It knows nothing
of the answer: it tells a group which of its attempts came closest to the matter, which is what gets
a policy that knows nothing to search, to open what it found and to note what it reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from agent.situation import Situation
from envs.answers import normalise

_OF_NOTES = 1.0  # against 1 for the page
_ECHO = 0.5  # of a page that shows the query itself: it holds those words whatever it is about


def relevance(attempts: Sequence[Sequence[Situation]]) -> list[np.ndarray]:
    """For each attempt the relevance of each of its situations, float64 [T] in [0, 2].

        (sum of the weights of the question's words on the page) / (sum over all its words),

    plus the same of the notes. A word's weight is `log((1 + N) / (1 + n))` for n of the N pages of
    the group that have it: function words are on nearly all of them and weigh next to nothing.
    """
    question = next((s.question for steps in attempts for s in steps), "")
    words = sorted(set(_words(question)))
    pages: dict[str, set[str]] = {}
    for steps in attempts:
        for situation in steps:
            pages.setdefault(situation.url, set()).update(_words(*situation.texts))
    weights = {
        word: math.log((1 + len(pages)) / (1 + sum(word in page for page in pages.values())))
        for word in words
    }
    total = sum(weights.values())
    if total == 0.0:
        return [np.zeros(len(steps)) for steps in attempts]

    def share(*texts: str) -> float:
        found = set(_words(*texts))
        return sum(weight for word, weight in weights.items() if word in found) / total

    def of(situation: Situation) -> float:
        is_echo = any(query in situation.typed for query in situation.queries)
        page = share(*situation.texts) * (_ECHO if is_echo else 1.0)
        return page + _OF_NOTES * share(*situation.notes)

    return [np.array([of(situation) for situation in steps]) for steps in attempts]


def _words(*texts: str) -> list[str]:
    return [word for text in texts for word in normalise(text).split()]
