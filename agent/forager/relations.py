# SPDX-License-Identifier: Apache-2.0
"""Relation vectors: what a text or a question says *about* its subject, for learnt matching.

Words of one meaning need not be near in static vectors ("director" and "headed by"), so the network
learns which relation words answer which. It gets short vectors of them for that and for nothing
else: products of question and candidate, never a vector alone.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np

from agent.forager.clues import Question, name_flags
from agent.forager.words import (
    FUNCTION_WORDS,
    MAX_CACHED_TEXTS,
    VECTOR_SIZE,
    tokens,
    word_vectors,
)

RELATION_SIZE = 32
QUESTION_WORDS = ("who", "what", "which", "where", "when", "how")
ASKED_SIZE = 2 * RELATION_SIZE + len(QUESTION_WORDS)
_PROJECTION_SEED = 7


@functools.lru_cache(maxsize=1)
def _projection() -> np.ndarray:
    """A fixed random projection that keeps lengths in the mean, float32 [256, RELATION_SIZE]."""
    rng = np.random.default_rng(_PROJECTION_SEED)
    gaussian = rng.standard_normal((VECTOR_SIZE, RELATION_SIZE))
    return (gaussian / np.sqrt(RELATION_SIZE)).astype(np.float32)


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def relation_vector(text: str) -> np.ndarray:
    """Mean vector of the words that name no entity and no number, float32 [RELATION_SIZE]."""
    written = text.split()
    named = name_flags(written)
    words: list[str] = []
    for word, is_name in zip(written, named, strict=True):
        if not is_name:
            words.extend(t for t in tokens(word) if t.isalpha() and t not in FUNCTION_WORDS)
    return _mean_vector(words)


def asked_vector(question: Question) -> np.ndarray:
    """The question's near and far relation and its question words, float32 [ASKED_SIZE]."""
    asked = set(tokens(question.text))
    vectors = word_vectors(question.clues)
    parts = [
        _unit(question.near @ vectors) @ _projection(),
        _unit(question.far @ vectors) @ _projection(),
        np.array([word in asked for word in QUESTION_WORDS], dtype=np.float32),
    ]
    return np.concatenate(parts)


def _mean_vector(words: Sequence[str]) -> np.ndarray:
    if not words:
        return np.zeros(RELATION_SIZE, dtype=np.float32)
    return _unit(word_vectors(words).mean(axis=0)) @ _projection()


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), 1e-6)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def telling_sentence(question: Question, text: str) -> str:
    """The sentence that says most of the question's relations; the first one on a draw."""
    sentences = _SENTENCE_END.split(text)
    weights = question.near + question.far
    return max(sentences, key=lambda s: float(question.coverage(s) @ weights))
