# SPDX-License-Identifier: Apache-2.0
"""Where an attempt stands on the way to its evidence; pure, shared by teacher and oracle."""

from __future__ import annotations

from collections.abc import Sequence

from envs.types import EvidenceItem, Note, TaskTruth
from envs.web.search_index import words_of

_CLUES_ALONE = 0.9  # a search by attributes finds a page less surely than its name does


def states(item: EvidenceItem, text: str) -> bool:
    """Whether a text from the item's page states its fact."""
    return all(needle in text for needle in item.needles)


def same_page(one: str, other: str) -> bool:
    """Whether two URLs are the same page, fragments aside."""
    return one.partition("#")[0] == other.partition("#")[0]


def leads_to(href: str, target: str, here: str) -> bool:
    """Whether a link on the page `here` leads to the page `target`, or on the way to it.

    Long documents come in parts: a link to any part of the target's document leads on, but from one
    part of it only the link to the right part does.
    """
    if not href or same_page(here, target):
        return False
    if same_page(href, target):
        return True
    document = document_of(target)
    return document_of(href) == document != document_of(here)


def document_of(url: str) -> str:
    """A URL without fragment and without the part of the document that it shows."""
    return url.partition("#")[0].partition("?part=")[0]


def is_held(item: EvidenceItem, notes: Sequence[Note]) -> bool:
    """Whether a note from the item's page states its fact."""
    return any(same_page(note.url, item.url) and states(item, note.text) for note in notes)


def missing_items(truth: TaskTruth, notes: Sequence[Note]) -> tuple[EvidenceItem, ...]:
    """Evidence not yet held, in order."""
    return tuple(item for item in truth.evidence if not is_held(item, notes))


def next_item(truth: TaskTruth, notes: Sequence[Note], url: str) -> EvidenceItem | None:
    """What to get next: the item of the page at `url`, else the first missing; None when done.

    The last item holds the answer, so nothing is left to get once it is held; unless the answer
    follows from all of them together.
    """
    missing = missing_items(truth, notes)
    if not missing or (not truth.needs_all and is_held(truth.evidence[-1], notes)):
        return None
    return next((item for item in missing if same_page(item.url, url)), missing[0])


def stops(item: EvidenceItem) -> tuple[str, ...]:
    """The item's page and, farther and farther from it, the pages on the way to it."""
    return item.url, *reversed(item.way)


def is_at_form(item: EvidenceItem, url: str) -> bool:
    """Whether the page at `url` has the form that alone leads to the item's page."""
    if not item.way:
        return False
    page = url.partition("#")[0].partition("?")[0]
    return page == item.way[-1] or page.startswith(f"{item.way[-1]}/")


def query_fit(query: str, item: EvidenceItem, *, use_clues: bool = True) -> float:
    """How well a query finds the item's page, in [0, 1]: 1 for its subject's exact name.

    The share of the name's words in the query, halved as the query fills up with other words. The
    words of the item's clues do instead of the name's, but only many of them together.
    """
    given = set(words_of(query))
    wanted = set(words_of(item.subject))
    by_name = _overlap(given, wanted)
    if not item.clues or not use_clues:
        return by_name
    clues = {word for clue in item.clues for word in words_of(clue)}
    share = len(clues & given) / len(clues)
    return max(by_name, _CLUES_ALONE * share * _overlap(given, clues))


def _overlap(given: set[str], wanted: set[str]) -> float:
    common = len(wanted & given)
    return common / len(wanted) * (0.5 + 0.5 * common / len(given)) if common else 0.0
