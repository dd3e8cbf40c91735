# SPDX-License-Identifier: Apache-2.0
"""The search engine: a box, ten results a page with snippets, paging, and a place for adverts."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from urllib.parse import urlencode

from envs.site import PageResponse
from envs.types import Split
from envs.web.article import Link
from envs.web.draw import Draw
from envs.web.relations import Kind
from envs.web.search_index import MAX_HITS, IndexedPage, SearchIndex, snippet, words_of
from envs.web.sites import policy, wiki
from envs.web.sites.advert import advert_url
from envs.web.sites.shell import (
    SEARCH_ACTION,
    SEARCH_HOME,
    SEARCH_HOST,
    Frame,
    Visit,
    anchor,
    image,
    not_found,
    page,
    page_number,
    search_form,
)
from envs.web.world import build_world

HOST = SEARCH_HOST
PER_PAGE = 10
_ADVERT_RATE = 0.6  # share of result pages with an advert
_MAX_INDEXES_KEPT = 8  # about 5 MB each
FRAME = Frame(
    name="Lantern",
    home=SEARCH_HOME,
    theme="search",
    nav=(
        Link(text="Openpedia", url=wiki.FRAME.home),
        Link(text="Policy Register", url=policy.FRAME.home),
    ),
    has_search_box=False,
    footer="Lantern searches the public pages of the forage web.",
)


@lru_cache(maxsize=_MAX_INDEXES_KEPT)
def index_of(seed: int, split: Split, language: str) -> SearchIndex:
    """The index over all pages of a world's other sites."""
    world = build_world(seed, split, language)
    return SearchIndex([*wiki.indexed_pages(world), *policy.indexed_pages(world)])


def respond(visit: Visit) -> PageResponse:
    """Answer one request for a page."""
    if visit.request.path == "/":
        return page(visit, FRAME, "Search", _home())
    if visit.request.path != "/search":
        return not_found(visit, FRAME)
    query = " ".join(visit.request.query.get("q", "").split())
    if not query:
        return page(visit, FRAME, "Search", _home())
    return page(visit, FRAME, query, _results(visit, query))


def results_url(query: str, number: int = 1) -> str:
    """Address of a page of results, as the form would make it."""
    parameters = {"q": query} | ({"page": str(number)} if number > 1 else {})
    return f"{SEARCH_ACTION}?{urlencode(parameters)}"


def _home() -> str:
    tips = (
        "Write the full name of what you look for.",
        "Short queries find more pages than long ones.",
        "Open the register for rules and their yearly versions.",
    )
    items = "".join(f"<li>{escape(tip)}</li>" for tip in tips)
    return (
        f'<section class="search-home"><h1>Lantern</h1>{search_form("big-search")}'
        f"<h2>Search tips</h2><ul>{items}</ul></section>"
    )


def _results(visit: Visit, query: str) -> str:
    world = visit.world
    hits = index_of(world.seed, world.split, world.language).search(query)
    number = page_number(visit)
    shown = hits[PER_PAGE * (number - 1) : PER_PAGE * number]
    parts = [f"<h1>Results for {escape(query)}</h1>", search_form("results-search", query)]
    if not shown:
        parts.append(
            f"<p>No page matches <b>{escape(query)}</b>. Check the spelling or use other words.</p>"
        )
        return f'<section class="results">{"".join(parts)}</section>'
    found = f"{len(hits)} results" if len(hits) < MAX_HITS else f"{MAX_HITS} or more results"
    parts.append(f'<p class="count">{found}, page {number}</p>')
    parts.append(_advert(visit, query, number))
    parts.append(f'<ol class="hits">{"".join(_hit(page_, query) for page_ in shown)}</ol>')
    parts.append(_pager(query, number, len(hits)))
    return f'<section class="results">{"".join(parts)}</section>'


def _hit(hit: IndexedPage, query: str) -> str:
    shown_url = hit.url.removeprefix("http://").replace("/", " › ")
    wanted = set(words_of(query))
    text = " ".join(
        f"<b>{escape(word)}</b>" if wanted.intersection(words_of(word)) else escape(word)
        for word in snippet(hit.text, query).split()
    )
    return (
        f"<li>{anchor(Link(text=hit.title, url=hit.url))}<cite>{escape(shown_url)}</cite>"
        f"<p>{text}</p></li>"
    )


def _advert(visit: Visit, query: str, number: int) -> str:
    draw = Draw("advert", visit.hazards.advert_seed, query.lower(), number)
    if not draw.chance(_ADVERT_RATE):
        return ""
    product = draw.pick(visit.world.by_kind[Kind.PRODUCT])
    picture = image(f"/img/product/{product.slug}.svg", "Sponsored", 80, 60)
    link = Link(text=f"{product.name} – today's best offers", url=advert_url(product))
    return (
        f'<aside class="advert">{picture}{anchor(link)}'
        "<p>Sponsored: compare prices and order in a minute.</p></aside>"
    )


def _pager(query: str, number: int, num_hits: int) -> str:
    last = (num_hits + PER_PAGE - 1) // PER_PAGE
    links = []
    if number > 1:
        links.append(Link(text="Previous page", url=results_url(query, number - 1)))
    for other in range(max(1, number - 2), min(last, number + 3) + 1):
        if other != number:
            links.append(Link(text=f"Page {other}", url=results_url(query, other)))
    if number < last:
        links.append(Link(text="Next page", url=results_url(query, number + 1)))
    return f'<nav class="pager">{"".join(anchor(link) for link in links)}</nav>'
