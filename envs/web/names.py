# SPDX-License-Identifier: Apache-2.0
"""Pronounceable names; each word belongs to exactly one split, so splits share no names.

A word's split follows from its hash alone. Worlds of one split may share words, worlds of
different splits cannot, whatever their seeds are.
"""

from __future__ import annotations

from collections.abc import Callable

from envs.types import Split
from envs.web.draw import Draw, stable_hash
from envs.web.texts import zh_terms

_ONSETS = (
    "b b br c d d dr f f g gr h h j k k kr l l m m n n p p r r s s st t t tr v v w y z th".split()
)
_VOWELS = "a e i o u a e i o u a e i o u ai ei ia".split()
_MIDDLES = "l r n m v d s t l r n m v d s t ld nd rt st rv ll nn mb".split()
_ENDS = {
    "given": ("a", "o", "i", "en", "ia", "is", "el", "an", "ik", "une"),
    "family": ("in", "ov", "er", "ard", "isk", "ane", "ell", "und", "ic", "ost", "aro", "ey"),
    "city": ("ford", "by", "haven", "mere", "stad", "ton", "wick", "port", "dale", "burg", "ova"),
    "region": ("shire", "mark", "land", "moor", "vale"),
    "river": ("a", "er", "ou", "ise", "ane", "ith"),
    "brand": ("ia", "ex", "or", "on", "ium", "ix", "era", "ax", "ola", "us"),
}
_TRAIN_BELOW = 60  # percent of the words
_VALIDATION_BELOW = 75


def split_of_word(word: str) -> Split:
    """The one split whose worlds may use `word`."""
    percent = stable_hash("split of a word", word.lower()) % 100
    if percent < _TRAIN_BELOW:
        return Split.TRAIN
    return Split.VALIDATION if percent < _VALIDATION_BELOW else Split.TEST


def _latin_word(draw: Draw, style: str) -> str:
    """A pronounceable, capitalised word."""
    middle = draw.pick(_ONSETS) + draw.pick(_VOWELS) + draw.pick(_MIDDLES)
    if draw.chance(0.3):
        middle += draw.pick(_VOWELS) + draw.pick(_MIDDLES)
    return (middle + draw.pick(_ENDS[style])).capitalize()


def _han_word(draw: Draw, style: str) -> str:
    """A Chinese name: surname and given name, or two characters of a place and what it is."""
    if style == "person":
        return draw.pick(zh_terms.SURNAMES) + draw.pick(zh_terms.GIVEN) + draw.pick(zh_terms.GIVEN)
    if style == "brand":
        length = 3 if draw.chance(0.5) else 2
        return "".join(draw.pick(zh_terms.BRANDS) for _ in range(length))
    end = draw.pick(zh_terms.ENDS[style])
    return draw.pick(zh_terms.PLACES) + draw.pick(zh_terms.PLACES) + end


_MAKERS: dict[str, Callable[[Draw, str], str]] = {"en": _latin_word, "zh": _han_word}


class NameMaker:
    """Draws new words of one split; never the same word twice, and none of `taken`."""

    def __init__(
        self,
        draw: Draw,
        split: Split,
        language: str = "en",
        taken: frozenset[str] = frozenset(),
    ) -> None:
        self._draw = draw
        self._split = split
        self._make = _MAKERS[language]
        self._used: set[str] = set(taken)

    def word(self, style: str) -> str:
        """A word in the style of a "given", "family", "city", ... name.

        Chinese has no given and family words: persons have one whole word of the style "person".
        """
        while True:
            word = self._make(self._draw, style)
            if word not in self._used and split_of_word(word) is self._split:
                self._used.add(word)
                return word

    def words(self) -> frozenset[str]:
        """What was drawn so far, and what was taken before."""
        return frozenset(self._used)
