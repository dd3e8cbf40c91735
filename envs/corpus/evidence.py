# SPDX-License-Identifier: Apache-2.0
"""What proves an answer, found on the pages as an agent sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from envs.corpus.library import Library
from envs.corpus.pages import CorpusSite, document_url
from envs.corpus.rows import Question, RowError
from envs.dom import elements_from_dom, fold
from envs.site import PageRequest
from envs.twin.driver import VIEWPORT
from envs.twin.html_dom import dom_from_html, parse_html
from envs.types import EvidenceItem
from envs.web.guide import states

_PAGES_KEPT = 64
_PARENTHESIS = re.compile(r"\s*\([^)]*\)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What is known of a question's evidence."""

    items: tuple[EvidenceItem, ...]  # all of it, or () when one document cannot be proven
    urls: tuple[str, ...]  # the pages, provable or not, in order
    unproven: str  # the first document without a proof, or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Page:
    url: str
    texts: tuple[str, ...]  # of the blocks that can be extracted


class EvidenceReader:
    """Reads evidence pages through the site itself, with the env's own rule for elements."""

    def __init__(self, library: Library, site: CorpusSite, max_elements: int) -> None:
        self._library = library
        self._site = site
        self._max_elements = max_elements
        self.texts = lru_cache(maxsize=_PAGES_KEPT)(self._texts)

    def prove(self, question: Question) -> Proof:
        """Find a block for each evidence document.

        A block proves a document if it holds the row's needles; where the row names none, an
        accepted answer (in the last document) or else the title of a later evidence document. It
        is all or nothing: a chain with a gap would teach that the answer is held when it is not.
        """
        items: list[EvidenceItem] = []
        urls: list[str] = []
        unproven = ""
        for position, row in enumerate(question.evidence):
            found = self._find(question, position)
            urls.append(found.url if found else document_url(row.document))
            if found:
                items.append(found)
            else:
                unproven = unproven or row.document
        return Proof(items=() if unproven else tuple(items), urls=tuple(urls), unproven=unproven)

    def _find(self, question: Question, position: int) -> EvidenceItem | None:
        evidence = question.evidence[position]
        row = self._library.row_of(evidence.document)
        if row is None:
            return None
        pages = list(self._pages(row, evidence.document))
        for needles in self._needles(question, position):
            for page in pages:
                if any(all(needle in text for needle in needles) for text in page.texts):
                    return EvidenceItem(
                        subject=self._library.document(row).title,
                        url=page.url,
                        needles=needles,
                        value=_value(question, needles),
                    )
        return None

    def _needles(self, question: Question, position: int) -> Iterator[tuple[str, ...]]:
        """What may prove the document, best first."""
        given = question.evidence[position].needles
        if given:
            yield tuple(fold(needle) for needle in given)
            return
        if position == len(question.evidence) - 1:
            yield from ((fold(answer),) for answer in question.answers)
            return
        for later in question.evidence[position + 1 :]:
            row = self._library.row_of(later.document)
            if row is not None:
                title = fold(self._library.document(row).title)
                yield from ((text,) for text in dict.fromkeys((title, bare_title(title))))

    def _pages(self, row: int, document_id: str) -> Iterator[_Page]:
        for part in range(1, self._site.num_parts(row) + 1):
            url = document_url(document_id, part)
            yield _Page(url=url, texts=self.texts(url))

    def _texts(self, url: str) -> tuple[str, ...]:
        """The texts of a page's blocks, as `extract_text` would note them."""
        parts = urlsplit(url)
        query = dict([parts.query.split("=")]) if parts.query else {}
        request = PageRequest(host=parts.netloc, path=unquote(parts.path), query=query, cookies={})
        document = parse_html(self._site.respond(request).body)
        nodes, _ = dom_from_html(document)
        elements, _ = elements_from_dom(
            nodes,
            base_url=url,
            viewport=VIEWPORT,
            scroll_y_px=0.0,
            max_elements=self._max_elements,
        )
        return tuple(element.text for element in elements if element.role.is_text())

    def proving_text(self, item: EvidenceItem) -> str:
        """The shortest block that states an item of `prove`: what the oracle would extract."""
        return min((t for t in self.texts(item.url) if states(item, t)), key=len)


def needle_error(path: Path, question: Question, proof: Proof) -> RowError | None:
    """What is wrong with a question of the file `path` whose needles no block holds, else None.

    A needle that no block holds is a fault of the row, whereas a document without needles may be
    one that no block proves.
    """
    needles = [e.needles for e in question.evidence if e.document == proof.unproven]
    if not any(needles):
        return None
    expected = f"texts that one block of {proof.unproven!r} holds"
    return RowError(path, question.line, "evidence.needles", expected, needles)


def bare_title(title: str) -> str:
    """A title without the bracket that tells it from others of the same name."""
    return _PARENTHESIS.sub("", title)


def _value(question: Question, needles: Sequence[str]) -> str:
    answers = [a for a in question.answers if any(a in needle for needle in needles)]
    return answers[0] if answers else needles[0]
