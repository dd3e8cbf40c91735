# SPDX-License-Identifier: Apache-2.0
"""What a page or a question says *about* its subject, as numbers for learnt matching.

Words of one meaning need not be near in static vectors ("director" and "headed by"), so the network
learns which relation words answer which. It gets statements, short ones: the header of a table row,
or one sentence of a paragraph, each as the mean static vector of its words and as the words
themselves, numbered by a hash. Names and numbers are left out: they say which entity, not what of
it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from agent.forager.clues import QUESTION_WORDS, Question, name_flags
from agent.forager.scene import relation_text, sentences_of
from agent.forager.values import MAX_VALUES, ValueTable
from agent.forager.words import (
    FUNCTION_WORDS,
    MAX_CACHED_TEXTS,
    VECTOR_SIZE,
    hashed_id,
    stacked,
    tokens,
    word_vectors,
)

RELATION_SIZE = 128
ASKED_SIZE = 2 * RELATION_SIZE + len(QUESTION_WORDS)
NUM_WORD_IDS = 2048  # hashed; 0 is no word
MAX_STATEMENT_WORDS = 16
MAX_STATEMENTS = 6  # of one element
_PROJECTION_SEED = 7


@functools.lru_cache(maxsize=1)
def _projection() -> np.ndarray:
    """A fixed random projection that keeps lengths in the mean, float32 [256, RELATION_SIZE].

    Products of projected vectors are off by about 1 / sqrt(RELATION_SIZE).
    """
    rng = np.random.default_rng(_PROJECTION_SEED)
    gaussian = rng.standard_normal((VECTOR_SIZE, RELATION_SIZE))
    return (gaussian / np.sqrt(RELATION_SIZE)).astype(np.float32)


def statements_of(text: str) -> tuple[str, ...]:
    """The header of a "Header: value" row, else the first sentences, at most `MAX_STATEMENTS`."""
    header = relation_text(text)
    if header is not text:
        return (header,)
    return tuple(sentences_of(text)[:MAX_STATEMENTS])


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def relation_words(text: str) -> tuple[str, ...]:
    """The words that are no function words and name no entity and no number."""
    written = text.split()
    words: list[str] = []
    for word, is_name in zip(written, name_flags(written), strict=True):
        if not is_name:
            words.extend(t for t in tokens(word) if t.isalpha() and t not in FUNCTION_WORDS)
    return tuple(words)


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def relation_vector(text: str) -> np.ndarray:
    """Mean vector of the relation words, float16 [RELATION_SIZE]; zeros without any."""
    words = relation_words(text)
    if not words:
        return np.zeros(RELATION_SIZE, dtype=np.float16)
    return (_unit(word_vectors(words).mean(axis=0)) @ _projection()).astype(np.float16)


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def text_vector(text: str) -> np.ndarray:
    """Mean vector of all words, names too, float16 [RELATION_SIZE]; zeros without any."""
    words = tokens(text)
    if not words:
        return np.zeros(RELATION_SIZE, dtype=np.float16)
    return (_unit(word_vectors(words).mean(axis=0)) @ _projection()).astype(np.float16)


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def relation_word_ids(text: str) -> np.ndarray:
    """The first relation words, int16 [MAX_STATEMENT_WORDS], 0 where there are no more."""
    ids = np.zeros(MAX_STATEMENT_WORDS, dtype=np.int16)
    for place, word in enumerate(relation_words(text)[:MAX_STATEMENT_WORDS]):
        ids[place] = word_id(word)
    return ids


def word_id(word: str) -> int:
    """In [1, NUM_WORD_IDS); the same on every machine. Some words share one."""
    return hashed_id(word, NUM_WORD_IDS)


def asked_vector(question: Question) -> np.ndarray:
    """The question's near and far relation and its question words, float32 [ASKED_SIZE]."""
    asked = set(question.asking)
    vectors = word_vectors(question.clues)
    parts = [
        _unit(question.near @ vectors) @ _projection(),
        _unit(question.far @ vectors) @ _projection(),
        np.array([word in asked for word in QUESTION_WORDS], dtype=np.float32),
    ]
    return np.concatenate(parts)


def asked_words(question: Question) -> dict[str, np.ndarray]:
    """The fields of `ModelInputs` about what is asked, but for how it is explained.

    The clues and then the question words, each a row: its number, its near and far weights (none
    for question words) and its static vector.
    """
    words = (*question.clues, *question.asking)
    ids = np.array([word_id(word) for word in words], dtype=np.int16)[:, None]
    weights = np.zeros((len(words), 2), dtype=np.float16)
    weights[: len(question.clues)] = np.stack([question.near, question.far], axis=1)
    vectors = (word_vectors(words) @ _projection()).astype(np.float16)
    return {"question_word": ids, "question_weight": weights, "question_vector": vectors}


class StatementTable:
    """Collects statements with the values they state, each once, and tells where each lies."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, tuple[str, ...]], int] = {}
        self._values = ValueTable()

    def rows(self, statements: Iterable[tuple[str, tuple[str, ...]]], at_most: int) -> np.ndarray:
        """1 + the row of each statement, int16 [at_most], 0 where there are no more."""
        found = np.zeros(at_most, dtype=np.int16)
        for place, statement in zip(range(at_most), statements, strict=False):
            found[place] = 1 + self._rows.setdefault(statement, len(self._rows))
        return found

    def inputs(self) -> dict[str, np.ndarray]:
        """The fields of `ModelInputs` about statements and their values."""
        texts = [text for text, _ in self._rows]
        values = [self._values.rows(values, MAX_VALUES) for _, values in self._rows]
        return {
            "statement": stacked([relation_vector(t) for t in texts], RELATION_SIZE, np.float16),
            "statement_word": stacked(
                [relation_word_ids(t) for t in texts], MAX_STATEMENT_WORDS, np.int16
            ),
            "statement_value": stacked(values, MAX_VALUES, np.int16),
            "value_shape": self._values.shapes(),
            "value_ending": self._values.endings(),
        }


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), 1e-6)
