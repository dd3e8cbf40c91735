# SPDX-License-Identifier: Apache-2.0
"""Numbers held against each other: which of two named pages has more, and when a bound is crossed.

A network that sees numbers one by one cannot compare them; these are the comparisons that a page,
the notes and the question allow. Whether more or less is asked for is learnt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.forager.clues import Question, page_name
from agent.forager.scene import Scene, relation_text, row_value, sentences_of
from agent.forager.words import folded_text
from envs.types import Note

_NUMBER = re.compile(r"([$€£¥]\s?)?(\d[\d,]*(?:\.\d+)?)")
_YEAR = re.compile(r"(1[5-9]|20)\d\d")
_YEAR_HEADER = re.compile(r"(1[5-9]|20)\d\d年?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """A number and what it counts; only those of one kind are compared."""

    kind: str  # year, money or number
    amount: float


def quantities_of(text: str) -> tuple[Quantity, ...]:
    """Every number of a text, in order."""
    found = []
    for match in _NUMBER.finditer(text):
        digits = match.group(2)
        kind = "money" if match.group(1) else "year" if _YEAR.fullmatch(digits) else "number"
        found.append(Quantity(kind=kind, amount=float(digits.replace(",", ""))))
    return tuple(found)


def more_than_other(scene: Scene) -> dict[str, float]:
    """1 or -1 for each page named by the question that has more or less than another one noted.

    By folded name. Of a page's newest note counts the number, of the kind that both notes have, in
    the sentence that says most of the question.
    """
    noted: dict[str, tuple[Quantity, ...]] = {}
    for note in scene.observation.notes:
        name = folded_text(page_name(note.title))
        if name and f" {name} " in scene.question.folded:
            noted[name] = _told(scene.question, note) or noted.get(name, ())
    signs: dict[str, float] = {}
    for name, own in noted.items():
        for other, others in noted.items():
            kinds = {quantity.kind for quantity in others}
            mine = next((q for q in own if q.kind in kinds), None)
            if other == name or mine is None:
                continue
            theirs = next(q for q in others if q.kind == mine.kind)
            signs[name] = float(mine.amount > theirs.amount) - float(mine.amount < theirs.amount)
    return signs


def _told(question: Question, note: Note) -> tuple[Quantity, ...]:
    """A note's numbers, those of the sentence that says most of the question first."""
    sentences = sentences_of(row_value(note.text))
    sentences.sort(key=lambda s: -float(question.coverage(s).mean()))
    return tuple(quantity for s in sentences for quantity in quantities_of(s))


def asked_bound(question: Question) -> float | None:
    """The number that the question compares with: the first that is no year."""
    numbers = (q.amount for q in quantities_of(question.text) if q.kind != "year")
    return next(numbers, None)


def crossings(texts: Sequence[str], bound: float | None) -> tuple[list[bool], list[bool]]:
    """Which rows of years are the first below the bound, and which come right before them.

    Both [texts]; all False without a bound.
    """
    by_year: dict[int, float] = {}
    years = [_year_of(text) for text in texts]
    for text, year in zip(texts, years, strict=True):
        numbers = quantities_of(row_value(text)) if year else ()
        if numbers:
            by_year[year] = numbers[0].amount
    first = before = 0
    if bound is not None:
        ordered = sorted(by_year)
        place = next((i for i, year in enumerate(ordered) if by_year[year] < bound), 0)
        if place > 0:
            first, before = ordered[place], ordered[place - 1]
    return [bool(y) and y == first for y in years], [bool(y) and y == before for y in years]


def _year_of(text: str) -> int:
    """The year that a row is headed by, else 0."""
    header = relation_text(text)
    is_row = header is not text and _YEAR_HEADER.fullmatch(header.strip())
    return int(header.strip()[:4]) if is_row else 0
