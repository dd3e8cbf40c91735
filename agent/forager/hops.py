# SPDX-License-Identifier: Apache-2.0
"""How far along the chain that a question names a page, a note and a name are; no torch.

A question names an entity and, around it, one relation after another: "Who founded the company
that employs Ann Bell?" asks for Ann Bell's employer and then for that one's founder. What is stated
of the entity itself is of *hop* 0; what is stated of a page that a note of hop h names is of hop
h + 1. Nothing here knows what the relations are: which words of the question belong to which hop is
learnt (`plan.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agent.forager.clues import Chains, Question
from agent.forager.words import hashed_id, tokens
from envs.han import has_han

NUM_HOPS = 4  # the last one is any later, too
NO_HOP = -1  # of what neither the question nor a note names
MAX_TOKENS = 48
NUM_TOKEN_IDS = 2048  # hashed; 0 is no word
NAME_TOKEN = NUM_TOKEN_IDS  # every word of a name


class Hops:
    """Hops of names, from the question and the notes."""

    def __init__(self, question: Question, chains: Chains) -> None:
        self._question = question
        self._chains = chains
        self.of_notes: list[int] = []  # [N]
        for name in chains.names:  # oldest first: a note can only go on from an earlier one
            self.of_notes.append(self.of(name))

    @property
    def next(self) -> int:
        """The hop after the last noted one; 0 without a note on the chain."""
        return min(1 + max(self.of_notes, default=NO_HOP), NUM_HOPS - 1)

    def of(self, folded: str) -> int:
        """The fewest hops by which the folded `name` is reached, below NUM_HOPS; or NO_HOP."""
        if not folded:
            return NO_HOP
        if f" {folded} " in self._question.folded:
            return 0
        notes = zip(self.of_notes, self._chains.names, self._chains.folded, strict=False)
        named = [
            hop
            for hop, page, text in notes
            if hop != NO_HOP and page != folded and f" {folded} " in text
        ]
        return min(1 + min(named), NUM_HOPS - 1) if named else NO_HOP


def question_tokens(question: Question, names: Sequence[str]) -> np.ndarray:
    """The question's words in order, int16 [tokens, 2].

    Each word's number, all words of the folded `names` sharing `NAME_TOKEN`, and 1 + its row among
    the words asked (`relations.asked_words`), 0 for words that are none of those. Nothing is
    marked in a Chinese question: without capitals a name looks like what is asked.
    """
    words = tokens(question.text)[:MAX_TOKENS]
    rows = {word: row for row, word in enumerate((*question.clues, *question.asking))}
    in_name = np.zeros(len(words), dtype=bool)
    for name in () if has_han(question.text) else names:
        parts = name.split()
        for start in range(len(words) - len(parts) + 1):
            if words[start : start + len(parts)] == parts:
                in_name[start : start + len(parts)] = True
    ids = [hashed_id(word, NUM_TOKEN_IDS) for word in words]
    found = np.array([[i, 1 + rows.get(w, -1)] for i, w in zip(ids, words, strict=True)])
    found = found.reshape(len(words), 2).astype(np.int16)
    found[in_name, 0] = NAME_TOKEN
    return found
