# SPDX-License-Identifier: Apache-2.0
"""What kind of value a text is: its shape, and the endings by which names tell what they name.

A statement answers a question only if its value is of the kind asked for, whatever its words are:
"who" asks for two capitalised words, "in which year" for four digits, "which company" for a name
that ends as those of companies do. Which question asks for which kind is learnt
(`agent.forager.matching`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import numpy as np

from agent.forager.scene import row_value
from agent.forager.words import MAX_CACHED_TEXTS, hashed_id, stacked
from envs.han import han_length, has_han
from envs.spans import sentence_values

SHAPE_COLUMNS = (
    "is_year",
    "is_number",
    "is_money",
    "has_unit",
    "is_code",
    "is_one_word",
    "is_two_words",
    "is_longer",
    "is_capitalised",
    "is_lower",
    "is_han",
    "is_short_han",
    "is_three_han",
)
NUM_ENDING_IDS = 2048  # hashed; 0 is no ending
ENDINGS = 2  # of each value: a few letters, and the whole last word
MAX_VALUES = 4  # of one statement
_ENDING_CHARS = 3
_YEAR = re.compile(r"(1[0-9]|20)\d\d年?")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_MONEY = re.compile(r"[$€£¥]")
_CODE = re.compile(r"(?=.*[A-Z])(?=.*\d)[A-Z0-9\-/]+")
_LETTERS = re.compile(r"[^\W\d_]+")


def values_of(statement: str, text: str, subject: str) -> tuple[str, ...]:
    """What a statement of `text` may state of `subject`, at most `MAX_VALUES`.

    The value of a "Header: value" row whose header is the statement; else the names and numbers of
    the sentence but the subject itself.
    """
    value = row_value(text)
    if value is not text:
        return (value,)
    return tuple(v for v in _values_of_sentence(statement) if v != subject)[:MAX_VALUES]


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def _values_of_sentence(sentence: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentence_values(sentence)))[: MAX_VALUES + 1]


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def value_shape(text: str) -> np.ndarray:
    """What the text looks like, float16 [SHAPE_COLUMNS]."""
    words = text.split()
    number = _NUMBER.search(text)
    is_han, num_han = has_han(text), han_length(text)
    is_year = _YEAR.fullmatch(text) is not None
    shape = (
        is_year,
        number is not None and not is_year and number.group() == text,
        _MONEY.search(text) is not None,
        number is not None and number.start() == 0 and not is_year and number.group() != text,
        _CODE.fullmatch(text) is not None,
        len(words) == 1 and not is_han,
        len(words) == 2 and not is_han,
        len(words) > 2 and not is_han,
        bool(words) and all(w[:1].isupper() for w in words),
        bool(words) and words[-1].islower(),
        is_han,
        is_han and num_han <= 2,
        is_han and num_han == 3,
    )
    return np.array(shape, dtype=np.float16)


@functools.lru_cache(maxsize=MAX_CACHED_TEXTS)
def value_endings(text: str) -> np.ndarray:
    """The last letters and the last word, hashed, int16 [ENDINGS]; 0 without letters.

    Of a Chinese text its last character and its last two.
    """
    words = _LETTERS.findall(text)
    if not words:
        return np.zeros(ENDINGS, dtype=np.int16)
    last = words[-1].lower()
    parts = (last[-1:], last[-2:]) if has_han(last) else (last[-_ENDING_CHARS:], last)
    return np.array(
        [hashed_id(f"{i}{part}", NUM_ENDING_IDS) for i, part in enumerate(parts)], dtype=np.int16
    )


class ValueTable:
    """Collects values, each once, and tells where each lies."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def rows(self, texts: Iterable[str], at_most: int) -> np.ndarray:
        """1 + the row of each value, int16 [at_most], 0 where there are no more."""
        found = np.zeros(at_most, dtype=np.int16)
        for place, text in zip(range(at_most), texts, strict=False):
            found[place] = 1 + self._rows.setdefault(text, len(self._rows))
        return found

    def shapes(self) -> np.ndarray:
        """float16 [V, SHAPE_COLUMNS]."""
        return stacked([value_shape(t) for t in self._rows], len(SHAPE_COLUMNS), np.float16)

    def endings(self) -> np.ndarray:
        """int16 [V, ENDINGS]."""
        return stacked([value_endings(t) for t in self._rows], ENDINGS, np.int16)
