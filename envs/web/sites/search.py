# SPDX-License-Identifier: Apache-2.0
"""The search engine: a box, ten results a page with snippets, paging, and a place for adverts."""

from __future__ import annotations

from functools import lru_cache
from html import escape

from envs.config import Templates
from envs.site import PageResponse
from envs.types import Split
from envs.web.article import POLICY_HOME, Link, picture_path
from envs.web.draw import Draw
from envs.web.relations import Kind
from envs.web.search_index import SearchIndex
from envs.web.sites import advert, policy, wiki
from envs.web.sites.advert import advert_url
from envs.web.sites.results import PER_PAGE, results_markup, search_home
from envs.web.sites.shell import (
    SEARCH_HOME,
    SEARCH_HOST,
    Frame,
    Visit,
    anchor,
    image,
    not_found,
    page,
    page_number,
)
from envs.web.world import build_world

HOST = SEARCH_HOST
_ADVERT_RATE = 0.6  # share of result pages with an advert
# Those of a run with six training worlds in two languages, and of its validation; about 5 MB each.
_MAX_INDEXES_KEPT = 32


def frame(visit: Visit) -> Frame:
    """The look of this site."""
    texts = visit.texts
    return Frame(
        name=texts.search_name,
        home=SEARCH_HOME,
        theme="search",
        nav=(
            Link(text=texts.wiki_name, url=wiki.HOME),
            Link(text=texts.policy_name, url=POLICY_HOME),
        ),
        has_search_box=False,
        footer=texts.search_footer,
    )


def index_of(
    seed: int, split: Split, language: str, templates: Templates = Templates.TRAIN
) -> SearchIndex:
    """The index over all pages of a world's other sites; kept for the worlds used last."""
    return _index_of(seed, split, language, templates)


# All by position: the cache takes a call with a default left out for another one.
@lru_cache(maxsize=_MAX_INDEXES_KEPT)
def _index_of(seed: int, split: Split, language: str, templates: Templates) -> SearchIndex:
    world = build_world(seed, split, language, templates)
    return SearchIndex([*wiki.indexed_pages(world), *policy.indexed_pages(world)])


def respond(visit: Visit) -> PageResponse:
    """Answer one request for a page."""
    query = " ".join(visit.request.query.get("q", "").split())
    if visit.request.path not in ("/", "/search"):
        return not_found(visit, frame(visit))
    if visit.request.path == "/" or not query:
        texts = visit.texts
        main = search_home(texts, texts.register_tip)
        return page(visit, frame(visit), texts.search_title, main)
    return page(visit, frame(visit), query, _results(visit, query))


def _results(visit: Visit, query: str) -> str:
    world = visit.world
    hits = index_of(world.seed, world.split, world.language, world.templates).search(query)
    number = page_number(visit.request)
    shown = hits[PER_PAGE * (number - 1) : PER_PAGE * number]
    return results_markup(
        visit.texts,
        query,
        number,
        len(hits),
        shown,
        _advert(visit, query, number),
        _advert_hits(visit, query, number),
    )


def _advert_hits(visit: Visit, query: str, number: int) -> dict[int, str]:
    """Adverts that look like hits, one before the first, by the hit before which they stand."""
    if not visit.hazards.has_advert_hits:
        return {}
    texts = visit.texts
    draw = Draw("advert hits", visit.hazards.advert_seed, query.lower(), number)
    items = {}
    for place in (0, draw.between(2, PER_PAGE - 2)):
        product = draw.pick(visit.world.by_kind[Kind.PRODUCT])
        link = Link(text=texts.advert_hit_title.format(query), url=advert_url(product))
        items[place] = (
            f'<li class="ad">{anchor(link)}<cite>{escape(texts.sponsored)} · '
            f"{advert.HOST}</cite><p>{escape(texts.advert_hit_text.format(query))}</p></li>"
        )
    return items


def _advert(visit: Visit, query: str, number: int) -> str:
    texts = visit.texts
    draw = Draw("advert", visit.hazards.advert_seed, query.lower(), number)
    if not draw.chance(_ADVERT_RATE):
        return ""
    product = draw.pick(visit.world.by_kind[Kind.PRODUCT])
    picture = image(picture_path(product), texts.sponsored, 80, 60)
    link = Link(text=texts.advert_title.format(product.name), url=advert_url(product))
    return (
        f'<aside class="advert">{picture}{anchor(link)}<p>{escape(texts.advert_text)}</p></aside>'
    )
