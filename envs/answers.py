# SPDX-License-Identifier: Apache-2.0
"""Whether an answer is right: the one place where answers are normalised and compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# A point or slash between letters or digits belongs to the word ("2.5", "mg/l").
_PUNCTUATION = re.compile(r"(?<!\w)[^\w\s]|[^\w\s](?!\w)|[^\w\s./]")
_WHOLE_DECIMALS = re.compile(r"^(\d+)\.0+$")
_ARTICLES = frozenset({"a", "an", "the"})
# Words that may stand beside a number without changing what it says.
_UNIT_WORDS = frozenset(
    "people persons inhabitants residents citizens employees staff workers dollars dollar usd "
    "euros euro eur".split()
)


def normalise(text: str) -> str:
    """Case, accents' encoding, punctuation, articles, thousands separators and counting words gone.

    "The Orlavia Instruments." -> "orlavia instruments"; "48,210 inhabitants" -> "48210";
    "$1,249.00" -> "1249". Counting words are dropped only beside a number.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = _PUNCTUATION.sub(" ", _THOUSANDS.sub("", folded)).split()
    words = [_WHOLE_DECIMALS.sub(r"\1", word) for word in words if word not in _ARTICLES]
    if any(word[0].isdigit() for word in words):
        words = [word for word in words if word not in _UNIT_WORDS]
    return " ".join(words)


def is_accepted(answer: str, accepted: Sequence[str]) -> bool:
    """Whether `answer` says the same as one of the accepted answers."""
    given = normalise(answer)
    return bool(given) and any(given == normalise(candidate) for candidate in accepted)
