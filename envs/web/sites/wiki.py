# SPDX-License-Identifier: Apache-2.0
"""The encyclopedia: articles on people, organisations, cities and products, and categories."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from envs.site import PageResponse
from envs.web.article import WIKI_HOST, Link, url_of
from envs.web.draw import Draw
from envs.web.relations import RELATION, Kind
from envs.web.search_index import IndexedPage
from envs.web.sites.entity_page import article_page, indexed_articles
from envs.web.sites.listing import indexed_list, list_page, list_url
from envs.web.sites.shell import (
    SEARCH_HOME,
    Frame,
    Visit,
    anchor,
    link_list,
    not_found,
    page,
)
from envs.web.terms import TERMS
from envs.web.world import Entity, World

HOST = WIKI_HOST
FRAME = Frame(
    name="Openpedia",
    home=f"http://{HOST}/",
    theme="wiki",
    nav=(
        Link(text="Main page", url=f"http://{HOST}/"),
        Link(text="Categories", url=f"http://{HOST}/categories"),
        Link(text="Search engine", url=SEARCH_HOME),
    ),
    has_search_box=True,
    footer="Text may be shared under the terms of the open licence. Openpedia is written by "
    "volunteers.",
)
_CATEGORY_RELATIONS = ("profession", "industry", "category")
_KINDS = (Kind.PERSON, Kind.ORGANISATION, Kind.CITY, Kind.PRODUCT)


def respond(visit: Visit) -> PageResponse:
    """Answer one request for a page."""
    section, name = visit.section_and_name()
    if section == "":
        return page(visit, FRAME, "Main page", _home(visit.world))
    if section == "categories" and not name:
        return page(visit, FRAME, "Categories", _categories(visit.world))
    if section == "wiki":
        entity = visit.world.by_slug.get(name)
        if entity is not None and entity.kind in _KINDS:
            return article_page(visit, FRAME, entity, _category_links(visit.world, entity))
    if section == "category":
        return list_page(visit, FRAME, f"Category: {name}", _members(visit.world, name))
    return not_found(visit, FRAME)


def indexed_pages(world: World) -> Iterator[IndexedPage]:
    """What the search engine knows of this site."""
    yield from indexed_articles(world, _KINDS)
    for term in _terms(world):
        yield indexed_list(HOST, "category", term, f"Category: {term}", _members(world, term))


def _terms(world: World) -> list[str]:
    """All categories."""
    terms = TERMS[world.language]
    return [term for relation in _CATEGORY_RELATIONS for term in terms[relation]]


def _members(world: World, term: str) -> tuple[Entity, ...]:
    """Entities in a category; () for an unknown one."""
    for relation in _CATEGORY_RELATIONS:
        if term in TERMS[world.language][relation]:
            return world.with_term(relation, term)
    return ()


def _category_links(world: World, entity: Entity) -> str:
    """The categories at an article's end; never the entity's own, which would state a fact."""
    relation = next((r for r in _CATEGORY_RELATIONS if RELATION[r].domain is entity.kind), "")
    if not relation:
        return ""
    own = world.fact(entity.key, relation).text
    others = [term for term in TERMS[world.language][relation] if term != own]
    picked = Draw("categories", world.seed, entity.key).sample(others, 2)
    links = [Link(text=f"Browse: {t}", url=list_url(HOST, "category", t)) for t in picked]
    return f'<nav class="categories">{"".join(anchor(link) for link in links)}</nav>'


def _home(world: World) -> str:
    draw = Draw("main page", world.seed, world.split.value)
    parts = [
        "<h1>Welcome to Openpedia</h1><p>The encyclopedia that anyone can read. It has "
        f"{sum(len(world.by_kind[k]) for k in _KINDS):,} articles.</p>"
    ]
    for kind, heading in zip(
        _KINDS, ("People", "Organisations", "Cities", "Products"), strict=True
    ):
        links = [
            Link(text=entity.name, url=url_of(entity))
            for entity in draw.sample(world.by_kind[kind], 8)
        ]
        parts.append(f"<h2>{escape(heading)}</h2>{link_list(links, 'columns')}")
    return "".join(parts)


def _categories(world: World) -> str:
    links = [Link(text=term, url=list_url(HOST, "category", term)) for term in _terms(world)]
    return f"<h1>Categories</h1>{link_list(links, 'columns')}"
