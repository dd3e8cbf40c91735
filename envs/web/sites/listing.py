# SPDX-License-Identifier: Apache-2.0
"""List pages: every entity with one property, some per page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from envs.site import PageResponse
from envs.web.article import Link, url_of
from envs.web.search_index import IndexedPage
from envs.web.sites.shell import Frame, Visit, link_list, not_found, page, page_number, pager
from envs.web.world import Entity

_PER_PAGE = 36


def list_url(host: str, section: str, term: str, page: int = 1) -> str:
    """Address of a list page."""
    return f"http://{host}/{section}/{quote(term)}" + (f"?page={page}" if page > 1 else "")


def list_page(visit: Visit, frame: Frame, heading: str, members: Sequence[Entity]) -> PageResponse:
    """The asked page of a list, with links to its neighbours; a 404 page without `members`."""
    if not members:
        return not_found(visit, frame)
    section, term = visit.section_and_name()
    number = page_number(visit.request)
    shown = members[_PER_PAGE * (number - 1) : _PER_PAGE * number]
    host = visit.request.host
    neighbours, texts = [], visit.texts
    if number > 1:
        previous = list_url(host, section, term, number - 1)
        neighbours.append(Link(text=texts.previous_page, url=previous))
    if _PER_PAGE * number < len(members):
        neighbours.append(Link(text=texts.next_page, url=list_url(host, section, term, number + 1)))
    links = [Link(text=entity.name, url=url_of(entity)) for entity in shown]
    main = (
        f"<h1>{escape(heading)}</h1><p>{escape(texts.list_intro.format(len(members)))}</p>"
        f"{link_list(links, 'columns')}{pager(neighbours)}"
    )
    return page(visit, frame, heading, main)


def indexed_list(
    host: str, section: str, term: str, heading: str, members: Sequence[Entity]
) -> IndexedPage:
    """What the search engine knows of a list."""
    names = "\n".join(entity.name for entity in members)
    return IndexedPage(url=list_url(host, section, term), title=heading, text=names)
