# SPDX-License-Identifier: Apache-2.0
"""A library as a site: a search engine, a page for each part of each document, and a list of all.

Nothing here knows the questions, so no page can depend on an answer.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from urllib.parse import quote

from lxml import html

from envs.corpus.library import Library
from envs.corpus.markup import blocks_of, plain_text, text_of
from envs.corpus.parts import pack
from envs.corpus.rows import Document
from envs.site import PageRequest, PageResponse
from envs.web.article import Link
from envs.web.search_index import IndexedPage
from envs.web.sites.results import PER_PAGE, results_markup, search_home
from envs.web.sites.shell import (
    ASSET_TYPES,
    SEARCH_HOME,
    SEARCH_HOST,
    Frame,
    asset,
    framed,
    link_list,
    not_found_markup,
    page_number,
    pager,
)
from envs.web.texts.languages import page_texts

HOST = "library.forage.test"
HOME = f"http://{HOST}/"
_ALL = f"{HOME}all"
_DOCUMENT = "/document/"
_FRAME = Frame(
    name="Library",
    home=HOME,
    theme="wiki",
    nav=(Link(text="All documents", url=_ALL), Link(text="Search engine", url=SEARCH_HOME)),
    has_search_box=True,
    footer="The documents belong to their authors.",
)
_SEARCH_FRAME = Frame(
    name="Lantern",
    home=SEARCH_HOME,
    theme="search",
    nav=(Link(text="Library", url=HOME),),
    has_search_box=False,
    footer="Lantern searches the documents of the library.",
)
# Elements of a document's page beside its blocks: header, heading, links between parts.
FRAME_ELEMENTS = 24
_MAX_PART_LINKS = 12
_HOME_LINKS = 24
_LISTED_PER_PAGE = 36
_RENDERED_KEPT = 128  # documents; a page and its way back cost one rendering


def document_url(document_id: str, part: int = 1) -> str:
    """Address of a part of a document, from 1."""
    return f"http://{HOST}{_DOCUMENT}{quote(document_id, safe='')}" + (
        f"?part={part}" if part > 1 else ""
    )


class CorpusSite:
    """The web of one library; the same for every task."""

    def __init__(self, library: Library, *, language: str, max_elements: int) -> None:
        """`max_elements` bounds a page's rows in the element table, frame included."""
        self._library = library
        self._language = language
        self._texts = page_texts(language)
        self._max_blocks = max(8, max_elements - FRAME_ELEMENTS)
        self._rendered = lru_cache(maxsize=_RENDERED_KEPT)(self._render)

    def hosts(self) -> tuple[str, ...]:
        """Host names served."""
        return SEARCH_HOST, HOST

    def respond(self, request: PageRequest) -> PageResponse:
        """Answer one request; unknown pages are a 404 page."""
        if request.path in ASSET_TYPES:
            return asset(request.path)
        if request.host == SEARCH_HOST:
            return self._respond_search(request)
        if request.host != HOST:
            return PageResponse(status=404, content_type="text/plain", body=b"unknown host")
        if request.path == "/":
            return self._page("All about the library", self._home())
        if request.path == "/all":
            return self._page("All documents", self._listing(page_number(request)))
        if request.path.startswith(_DOCUMENT):
            row = self._library.row_of(request.path.removeprefix(_DOCUMENT))
            number = page_number(request, "part")
            if row is not None and number <= self.num_parts(row):
                return self._document(row, number)
        return self._not_found(_FRAME)

    def num_parts(self, row: int) -> int:
        """How many pages a document has."""
        return len(self._rendered(row)[1])

    # --- Search ------------------------------------------------------------------------------

    def _respond_search(self, request: PageRequest) -> PageResponse:
        query = " ".join(request.query.get("q", "").split())
        if request.path not in ("/", "/search"):
            return self._not_found(_SEARCH_FRAME)
        if request.path == "/" or not query:
            return framed(
                self._language, _SEARCH_FRAME, self._texts.search_title, search_home(self._texts)
            )
        rows = self._library.search(query)
        number = page_number(request)
        shown = [self._hit(int(row)) for row in rows[PER_PAGE * (number - 1) : PER_PAGE * number]]
        main = results_markup(self._texts, query, number, len(rows), shown)
        return framed(self._language, _SEARCH_FRAME, query, main)

    def _hit(self, row: int) -> IndexedPage:
        document = self._library.document(row)
        # An empty document still has a name to show.
        text = plain_text(document).strip() or document.title
        return IndexedPage(url=document_url(document.id), title=document.title, text=text)

    # --- Documents ---------------------------------------------------------------------------

    def _document(self, row: int, number: int) -> PageResponse:
        document, parts = self._rendered(row)
        title = document.title if number == 1 else f"{document.title} (part {number})"
        part_links = _part_links(document.id, number, len(parts))
        main = (
            f'<div class="entity"><h1>{escape(document.title)}</h1>{parts[number - 1]}</div>'
            + part_links
        )
        return self._page(title, main)

    def _render(self, row: int) -> tuple[Document, tuple[str, ...]]:
        """A document and the markup of its parts."""
        document = self._library.document(row)
        blocks = blocks_of(document, lambda target: self._resolved(document, target))
        if blocks and blocks[0].tag == "h2" and text_of(blocks[0]) == document.title:
            del blocks[0]  # the page's own heading says it
        blocks += _see_also(self._see_also_links(document))
        parts = tuple(
            "".join(html.tostring(block, encoding="unicode", with_tail=False) for block in part)
            for part in pack(blocks, self._max_blocks)
        )
        return document, parts

    def _resolved(self, document: Document, target: str) -> str:
        row = self._library.row_of_link(document, target)
        return "" if row is None else document_url(self._library.document(row).id)

    def _see_also_links(self, document: Document) -> list[Link]:
        """The document's links beside its text, as far as their targets are known."""
        links = []
        for link in document.links:
            row = self._library.row_of_link(document, link.target)
            if row is not None:
                target = self._library.document(row)
                links.append(Link(text=link.text or target.title, url=document_url(target.id)))
        return links

    # --- Lists -------------------------------------------------------------------------------

    def _home(self) -> str:
        count = len(self._library)
        rows = range(0, count, max(1, count // _HOME_LINKS))[:_HOME_LINKS]
        return (
            f"<h1>Welcome to the library</h1><p>It has {count:,} documents, some of which are "
            f'listed here.</p>{self._links(rows)}<p><a href="{_ALL}">All documents</a></p>'
        )

    def _listing(self, number: int) -> str:
        first = _LISTED_PER_PAGE * (number - 1)
        rows = range(len(self._library))[first : first + _LISTED_PER_PAGE]
        neighbours = []
        if number > 1:
            neighbours.append(Link(text="Previous page", url=f"{_ALL}?page={number - 1}"))
        if first + _LISTED_PER_PAGE < len(self._library):
            neighbours.append(Link(text="Next page", url=f"{_ALL}?page={number + 1}"))
        return f"<h1>All documents</h1>{self._links(rows)}{pager(neighbours)}"

    def _links(self, rows: range) -> str:
        documents = (self._library.document(row) for row in rows)
        links = [Link(text=d.title, url=document_url(d.id)) for d in documents]
        return link_list(links, "columns")

    def _page(self, title: str, main: str) -> PageResponse:
        return framed(self._language, _FRAME, title, main)

    def _not_found(self, frame: Frame) -> PageResponse:
        main = not_found_markup(self._texts)
        return framed(self._language, frame, self._texts.not_found, main, status=404)


def _see_also(links: list[Link]) -> list[html.HtmlElement]:
    if not links:
        return []
    heading = html.Element("h2")
    heading.text = "See also"
    return [heading, html.fragment_fromstring(link_list(links, "columns"))]


def _part_links(document_id: str, number: int, count: int) -> str:
    """Links between the parts of a long document."""
    if count == 1:
        return ""
    links = []
    if number > 1:
        links.append(Link(text="Previous part", url=document_url(document_id, number - 1)))
    first = max(1, min(number - _MAX_PART_LINKS // 2, count - _MAX_PART_LINKS + 1))
    for other in range(first, min(count, first + _MAX_PART_LINKS - 1) + 1):
        if other != number:
            links.append(Link(text=f"Part {other}", url=document_url(document_id, other)))
    if number < count:
        links.append(Link(text="Next part", url=document_url(document_id, number + 1)))
    return pager(links)
