# SPDX-License-Identifier: Apache-2.0
"""What the question asks for, and which part of it a text or a chain of notes explains.

A *clue* is a content word of the question. Clues that name the entity asked about aside, those next
to the entity tell the first relation to follow, those far from it what is asked in the end: in "Who
founded the company that employs Ann Bell?", "employs" is near and "founded" is far.

The *coverage* of a text is, per clue, how much its best word says of it. A note is one link of a
*chain*: its page was reached because an earlier note names it, so it explains what both explain
together. A chain that explains the whole question ends in the answer; a chain that does not names
the thing to look for next.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from agent.forager.words import MAX_CACHED_TEXTS, clue_words, folded_text, similarities, tokens
from envs.han import has_han
from envs.types import Note

MAX_CLUES = 24
MAX_CACHED_QUESTIONS = 16

QUESTION_WORDS = ("who", "what", "which", "where", "when", "how")
_HAN_QUESTION_WORDS = (
    ("who", re.compile(r"谁|哪位")),
    ("what", re.compile(r"什么")),
    ("which", re.compile(r"哪家|哪个|哪条|哪座|哪些")),
    ("where", re.compile(r"哪里|何处")),
    ("when", re.compile(r"哪一?年|何时")),
    ("how", re.compile(r"多少|几")),
)
_POSSESSIVE = re.compile(r"[’']s\b")
_PUNCTUATION = "\"'“”‘’()[],.;:?!"
_TITLE_SEPARATORS = "-–—|·"
_NUMBER_QUESTION = re.compile(
    r"\b(how (many|much|old|tall|long|high)|number of|population|price|year|when|limit|threshold"
    r"|amount|percentage|cost)\b|多少|哪一?年|年份|何时"
)
_YEAR_QUESTION = re.compile(r"\b(year|when)\b|哪一?年|年份|何时")
_YEAR = re.compile(r"\b(1[5-9]|20)\d\d\b")


def page_name(title: str) -> str:
    """A page's title without the name of its site."""
    end = max(title.rfind(separator) for separator in _TITLE_SEPARATORS)
    stands_alone = end > 0 and title[end - 1].isspace() and title[end + 1 : end + 2].isspace()
    return (title[:end] if stands_alone else title).strip() or title


class Question:
    """One question with caches; a pure function of its text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = f" {folded_text(text)} "
        self.clues = clue_words(text)[:MAX_CLUES] or tokens(text)[:1] or ["?"]
        lower = text.lower()
        self.asking = _question_words(text)
        self.near, self.far = _relation_weights(text, self.clues)
        self.wants_year = bool(_YEAR_QUESTION.search(lower))
        self.wants_number = bool(_NUMBER_QUESTION.search(lower))
        self._by_word: dict[str, np.ndarray] = {}
        self._by_text: dict[str, np.ndarray] = {}

    def coverage(self, text: str) -> np.ndarray:
        """How much `text` says of each clue, float32 [clues] in [0, 1]."""
        found = self._by_text.get(text)
        if found is None:
            found = self._cover(tokens(text))
            if len(self._by_text) >= MAX_CACHED_TEXTS:
                self._by_text.clear()
            self._by_text[text] = found
        return found

    def coverages(self, texts: Sequence[str]) -> np.ndarray:
        """Coverage of each text, float32 [texts, clues]; their new words are looked up at once."""
        self._learn(word for text in texts if text not in self._by_text for word in tokens(text))
        rows = [self.coverage(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), len(self.clues))

    def _learn(self, words: Iterable[str]) -> None:
        new = [word for word in dict.fromkeys(words) if word not in self._by_word]
        if new:
            self._by_word.update(zip(new, similarities(new, self.clues), strict=True))

    def _cover(self, words: Sequence[str]) -> np.ndarray:
        if not words:
            return np.zeros(len(self.clues), dtype=np.float32)
        self._learn(words)
        return np.max([self._by_word[w] for w in words], axis=0)

    def names(self, phrase: str) -> bool:
        """Whether the question contains `phrase` as whole words."""
        folded = folded_text(phrase)
        return bool(folded) and f" {folded} " in self.folded


def _question_words(text: str) -> tuple[str, ...]:
    """Those of `QUESTION_WORDS` that the question has, of Chinese what says the same."""
    if has_han(text):
        return tuple(word for word, pattern in _HAN_QUESTION_WORDS if pattern.search(text))
    asked = set(tokens(text))
    return tuple(word for word in QUESTION_WORDS if word in asked)


def _relation_weights(text: str, clues: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """How near to and how far from the entity each clue stands, float32 [clues], each summing to 1.

    Clues of the entity's own name weigh nothing. All weigh nothing where no other clue is left.
    A Chinese question names the entity first and what is asked of it last, without capitals.
    """
    if has_han(text):
        rising = np.arange(1, len(clues) + 1, dtype=np.float32)
        return rising[::-1] / rising.sum(), rising / rising.sum()
    words = _POSSESSIVE.sub("", text).split()
    folded = [folded_text(word) for word in words]
    is_name = name_flags(words)
    names = [i for i, flag in enumerate(is_name) if flag]
    in_name = {folded[i] for i in names}
    distance: dict[int, int] = {}
    for column, clue in enumerate(clues):
        places = [i for i, word in enumerate(folded) if word == clue and not is_name[i]]
        if places and clue not in in_name:
            distance[column] = min((abs(i - n) for i in places for n in names), default=1)
    near = np.zeros(len(clues), dtype=np.float32)
    far = np.zeros(len(clues), dtype=np.float32)
    for rank, column in enumerate(sorted(distance, key=lambda c: distance[c])):
        share = rank / (len(distance) - 1) if len(distance) > 1 else 0.5
        near[column], far[column] = 1.0 - share, share
    return near / max(float(near.sum()), 1e-6), far / max(float(far.sum()), 1e-6)


def name_flags(words: Sequence[str]) -> list[bool]:
    """Which words are part of a name: capitalised, and not just because they begin the text."""
    return [
        _is_upper(word) and (i > 0 or (len(words) > 1 and _is_upper(words[1])))
        for i, word in enumerate(words)
    ]


def _is_upper(word: str) -> bool:
    return word.strip(_PUNCTUATION)[:1].isupper()


@functools.lru_cache(maxsize=MAX_CACHED_QUESTIONS)
def question_view(text: str) -> Question:
    """The question with its caches."""
    return Question(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Chains:
    """What the notes explain. N notes, C clues."""

    coverage: np.ndarray  # float32 [N, C] of each note's chain, itself included
    names: tuple[str, ...]  # [N] folded page names of the notes
    folded: tuple[str, ...]  # [N] folded texts, with a blank at both ends
    open: np.ndarray  # float32 [C], 1 - the best coverage over all notes

    def best(self) -> float:
        """Mean coverage of the best chain; 0 without notes."""
        return float(self.coverage.mean(axis=1).max()) if len(self.coverage) else 0.0

    def leading_to(self, name: str) -> np.ndarray:
        """Coverage of the best chain whose last note names `name`, float32 [C]; 0 if none does."""
        folded = folded_text(name)
        rows = [i for i, text in enumerate(self.folded) if folded and f" {folded} " in text]
        rows = [i for i in rows if self.names[i] != folded]
        if not rows:
            return np.zeros_like(self.open)
        return self.coverage[max(rows, key=lambda i: float(self.coverage[i].sum()))]


def chains_of(question: Question, notes: Sequence[Note]) -> Chains:
    """Chains of all notes, oldest first, so that a note can only continue an earlier one."""
    num_clues = len(question.clues)
    chains = Chains(
        coverage=np.zeros((0, num_clues), dtype=np.float32),
        names=(),
        folded=(),
        open=np.ones(num_clues, dtype=np.float32),
    )
    for note in notes:
        name = page_name(note.title)
        coverage = np.maximum.reduce(
            [question.coverage(note.text), question.coverage(name), chains.leading_to(name)]
        )
        chains = Chains(
            coverage=np.concatenate([chains.coverage, coverage[None]]),
            names=(*chains.names, folded_text(name)),
            folded=(*chains.folded, f" {folded_text(note.text)} "),
            open=np.minimum(chains.open, 1.0 - coverage),
        )
    return chains


def type_fit(question: Question, text: str) -> float:
    """Whether `text` is of the kind asked for: 1 fits, -1 does not, 0 between."""
    has_digit = any(c.isdigit() for c in text)
    if question.wants_year:
        return 1.0 if _YEAR.fullmatch(text.strip()) else (-0.5 if has_digit else -1.0)
    if question.wants_number:
        return 1.0 if has_digit else -1.0
    return -1.0 if has_digit else 1.0 if text[:1].isupper() or has_han(text) else 0.0
