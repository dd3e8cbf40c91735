# SPDX-License-Identifier: Apache-2.0
"""Reads a site's pages as an env would: a GET request and the element table's rows."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from lxml import html

from envs.dom import PageElement, elements_from_dom
from envs.site import PageRequest, PageResponse, Site
from envs.twin.html_dom import dom_from_html


def get(site: Site, url: str, cookies: Mapping[str, str] | None = None) -> PageResponse:
    """The response to a GET of `url`."""
    parts = urlsplit(url)
    return site.respond(
        PageRequest(
            host=parts.netloc,
            path=unquote(parts.path) or "/",
            query=dict(parse_qsl(parts.query)),
            cookies=cookies or {},
        )
    )


def elements(response: PageResponse, url: str) -> tuple[PageElement, ...]:
    """All rows of the page, uncapped."""
    document = html.document_fromstring(response.body.decode())
    nodes, _ = dom_from_html(document)
    rows, is_cut = elements_from_dom(
        nodes, base_url=url, viewport=(1280, 720), scroll_y_px=0.0, max_elements=1000
    )
    assert not is_cut
    return rows
