# SPDX-License-Identifier: Apache-2.0
"""Chinese text, which has no blanks: chunks between function words, and pairs of characters.

Pairs of neighbouring characters are the words of a search; they need no dictionary, and the pairs
of a name stand in a text exactly where the name does.
"""

from __future__ import annotations

import re

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_ANY_HAN = re.compile(f"[{_HAN}]")
_RUN = re.compile(f"[{_HAN}]+|[^{_HAN}]+")
# Words that stand around names and say nothing themselves, longer ones first.
FUNCTION_WORDS: tuple[str, ...] = (
    *("哪一年", "什么", "多少", "哪里", "哪些", "哪家", "哪座", "哪个", "哪位", "哪条", "哪年"),
    *("一家", "一座", "一个", "一位", "位于", "属于", "所在", "所属", "以及"),
    *"的是在于和与及或由被为从到了着过对向给把将该其此这那哪谁几吗呢吧也都就又更最以而但并所有无不没",
    *"自每当曾已一之至",
)
_FUNCTION = re.compile("|".join(FUNCTION_WORDS))


def has_han(text: str) -> bool:
    """Whether the text has a Chinese character."""
    return _ANY_HAN.search(text) is not None


def han_length(text: str) -> int:
    """How many Chinese characters the text has."""
    return len(_ANY_HAN.findall(text))


def han_chunks(text: str) -> list[str]:
    """Stretches of Chinese between function words and everything that is not Chinese.

    "林远航在北辰集团的总部" -> ["林远航", "北辰集团", "总部"].
    """
    runs = (run for run in _RUN.findall(text) if has_han(run))
    return [chunk for run in runs for chunk in _FUNCTION.split(run) if chunk]


def split_han(word: str) -> list[str]:
    """A word without blanks as words of a search: pairs of characters, and what is not Chinese.

    "林远航" -> ["林远", "远航"]; a character that stands alone is a word by itself.
    """
    out: list[str] = []
    for run in _RUN.findall(word):
        if not has_han(run):
            out.append(run)
            continue
        for chunk in _FUNCTION.split(run):
            if len(chunk) == 1:
                out.append(chunk)
            out.extend(chunk[i : i + 2] for i in range(len(chunk) - 1))
    return out
