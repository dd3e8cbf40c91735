# SPDX-License-Identifier: Apache-2.0
"""Where an attempt stands on the way to its evidence; pure, shared by teacher and oracle."""

from __future__ import annotations

from collections.abc import Sequence

from envs.types import EvidenceItem, Note, TaskTruth
from envs.web.search_index import words_of


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

    The last item holds the answer, so nothing is left to get once it is held.
    """
    missing = missing_items(truth, notes)
    if not missing or is_held(truth.evidence[-1], notes):
        return None
    return next((item for item in missing if same_page(item.url, url)), missing[0])


def query_fit(query: str, item: EvidenceItem) -> float:
    """How well a query finds the item's page, in [0, 1]: 1 for its subject's exact name.

    The share of the name's words in the query, halved as the query fills up with other words.
    """
    wanted, given = set(words_of(item.subject)), set(words_of(query))
    common = len(wanted & given)
    if not common:
        return 0.0
    return common / len(wanted) * (0.5 + 0.5 * common / len(given))
