# SPDX-License-Identifier: Apache-2.0
"""List pages: every entity with one property, some per page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from envs.web.article import Link, url_of
from envs.web.sites.shell import Visit, anchor, link_list, page_number
from envs.web.world import Entity

_PER_PAGE = 36


def list_url(host: str, section: str, term: str, page: int = 1) -> str:
    """Address of a list page."""
    return f"http://{host}/{section}/{quote(term)}" + (f"?page={page}" if page > 1 else "")


def list_markup(
    visit: Visit, section: str, term: str, heading: str, members: Sequence[Entity]
) -> str:
    """One page of a list, with links to its neighbours."""
    number = page_number(visit.request)
    shown = members[_PER_PAGE * (number - 1) : _PER_PAGE * number]
    host = visit.request.host
    pager = []
    if number > 1:
        pager.append(Link(text="Previous page", url=list_url(host, section, term, number - 1)))
    if _PER_PAGE * number < len(members):
        pager.append(Link(text="Next page", url=list_url(host, section, term, number + 1)))
    links = [Link(text=entity.name, url=url_of(entity)) for entity in shown]
    return (
        f"<h1>{escape(heading)}</h1><p>{len(members)} pages are listed here in no particular "
        f"order.</p>{link_list(links, 'columns')}"
        f'<nav class="pager">{"".join(anchor(link) for link in pager)}</nav>'
    )
