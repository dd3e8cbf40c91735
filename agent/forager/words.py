# SPDX-License-Identifier: Apache-2.0
"""Words, and how much one word says of another: equal, of one stem, or near in static vectors.

The vectors are those of the `wordllama` package (256 numbers a token, frozen, read from the wheel).
A word and its inflections are often further apart there than unrelated words ("employs" and
"employer": cosine 0.1), so a common stem counts on its own.
"""

from __future__ import annotations

import functools
import math
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from envs.han import has_han, split_han

VECTOR_SIZE = 256
STEM_SIMILARITY = 0.8
SHARED_CHARACTER_SIMILARITY = 0.5  # of two pairs of Chinese characters
# Below this a cosine between two static word vectors is noise.
COSINE_FLOOR = 0.3
MIN_STEM_CHARS = 4
MIN_STEM_SHARE = 0.6  # of the longer word
MAX_CACHED_TEXTS = 20_000

_TOKEN = re.compile(r"\d[\d,.]*\d|\w+")
_POSSESSIVE = re.compile(r"[’']s?\b")

# Words that carry no clue about what is asked.
FUNCTION_WORDS = frozenset(
    """
    a an and are as at be been by can could did do does for from had has have he her his how if in
    into is it its many much name of on or please she tell that the their there these they this to
    was were what when where which who whom whose why will with would you your according find give
    """.split()
)


def tokens(text: str) -> list[str]:
    """Lower-case words and numbers, of Chinese pairs of characters; "48,210" is one token."""
    return list(_tokens(text))


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def _tokens(text: str) -> tuple[str, ...]:
    found = [t.replace(",", "") for t in _TOKEN.findall(_POSSESSIVE.sub("", text.lower()))]
    return tuple(part for t in found for part in split_han(t)) if has_han(text) else tuple(found)


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def folded_text(text: str) -> str:
    """Lower-case tokens joined by single blanks."""
    return " ".join(tokens(text))


def clue_words(question: str) -> list[str]:
    """The question's content words in order, each once."""
    return list(dict.fromkeys(t for t in tokens(question) if t not in FUNCTION_WORDS))


def shares_stem(first: str, second: str) -> bool:
    """Whether two words have a long common beginning."""
    longest = max(len(first), len(second))
    needed = max(MIN_STEM_CHARS, math.ceil(MIN_STEM_SHARE * longest))
    return first[:needed] == second[:needed] and min(len(first), len(second)) >= needed


@functools.lru_cache(maxsize=1)
def _vectors() -> object:
    import wordllama

    package = Path(wordllama.__file__).parent
    # `cache_dir` is the package itself, so that nothing is looked for on a hub.
    return wordllama.WordLlama.load(cache_dir=package, disable_download=True)


@functools.lru_cache(maxsize=65536)
def _vector(word: str) -> np.ndarray:
    return np.asarray(_vectors().embed([word], norm=True)[0], dtype=np.float32)  # type: ignore[attr-defined]


def word_vectors(words: Sequence[str]) -> np.ndarray:
    """Unit vectors, float32 [len(words), 256]."""
    return (
        np.stack([_vector(w) for w in words]) if words else np.zeros((0, VECTOR_SIZE), np.float32)
    )


def similarities(words: Sequence[str], clues: Sequence[str]) -> np.ndarray:
    """How much each word says of each clue, float32 [words, clues] in [0, 1]."""
    cosine = word_vectors(words) @ word_vectors(clues).T
    result = np.where(cosine >= COSINE_FLOOR, np.minimum(cosine, STEM_SIMILARITY), 0.0)
    # Vectors of different numbers are alike, and of Chinese they know single bytes at best.
    result[~np.array([_is_spelled(word) for word in words], dtype=bool)] = 0.0
    result[:, ~np.array([_is_spelled(clue) for clue in clues], dtype=bool)] = 0.0
    # Only clues with the same beginning can share a stem; of Chinese, only those with a character.
    columns: dict[str, list[int]] = {}
    for column, clue in enumerate(clues):
        for key in _keys(clue):
            columns.setdefault(key, []).append(column)
    for row, word in enumerate(words):
        for column in {c for key in _keys(word) for c in columns.get(key, ())}:
            result[row, column] = max(_likeness(word, clues[column]), result[row, column])
    return result.astype(np.float32)


def _is_spelled(word: str) -> bool:
    """Whether the static vectors know what the word means."""
    return word.isalpha() and not has_han(word)


def _keys(word: str) -> tuple[str, ...]:
    """What two words have in common if they are equal, of one stem, or share a character."""
    return tuple(word) if has_han(word) else (word[:MIN_STEM_CHARS],)


def _likeness(word: str, clue: str) -> float:
    """1 for the same word, less for one of the same stem or with the same Chinese character."""
    if word == clue:
        return 1.0
    if has_han(word) or has_han(clue):
        return SHARED_CHARACTER_SIMILARITY if has_han(word) and has_han(clue) else 0.0
    if word.isalpha() and shares_stem(word, clue):
        return STEM_SIMILARITY
    return 0.0


def hashed_id(text: str, num_ids: int) -> int:
    """In [1, num_ids), the same on every machine; 0 is left for none. Some texts share one."""
    return 1 + zlib.crc32(text.encode()) % (num_ids - 1)


def stacked(rows: Sequence[np.ndarray], width: int, kind: type) -> np.ndarray:
    """Rows one below the other, `kind` [rows, width]; [0, width] without any."""
    return np.stack(rows) if rows else np.zeros((0, width), dtype=kind)
