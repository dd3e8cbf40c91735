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
from envs.web.world import Entity, World

HOST = WIKI_HOST
HOME = f"http://{HOST}/"
_CATEGORY_RELATIONS = ("profession", "industry", "category")
_KINDS = (Kind.PERSON, Kind.ORGANISATION, Kind.CITY, Kind.PRODUCT)


def frame(visit: Visit) -> Frame:
    """The look of this site."""
    texts = visit.texts
    return Frame(
        name=texts.wiki_name,
        home=HOME,
        theme="wiki",
        nav=(
            Link(text=texts.wiki_home, url=HOME),
            Link(text=texts.categories, url=f"{HOME}categories"),
            Link(text=texts.search_engine, url=SEARCH_HOME),
        ),
        has_search_box=True,
        footer=texts.wiki_footer,
    )


def respond(visit: Visit) -> PageResponse:
    """Answer one request for a page."""
    texts, look = visit.texts, frame(visit)
    section, name = visit.section_and_name()
    if section == "":
        return page(visit, look, texts.wiki_home, _home(visit.world))
    if section == "categories" and not name:
        return page(visit, look, texts.categories, _categories(visit.world))
    if section == "wiki":
        entity = visit.world.by_slug.get(name)
        if entity is not None and entity.kind in _KINDS:
            return article_page(visit, look, entity, _category_links(visit.world, entity))
    if section == "category":
        return list_page(visit, look, texts.category.format(name), _members(visit.world, name))
    return not_found(visit, look)


def indexed_pages(world: World) -> Iterator[IndexedPage]:
    """What the search engine knows of this site."""
    yield from indexed_articles(world, _KINDS)
    for term in _terms(world):
        heading = world.words.page.category.format(term)
        yield indexed_list(HOST, "category", term, heading, _members(world, term))


def _terms(world: World) -> list[str]:
    """All categories."""
    terms = world.words.terms
    return [term for relation in _CATEGORY_RELATIONS for term in terms[relation]]


def _members(world: World, term: str) -> tuple[Entity, ...]:
    """Entities in a category; () for an unknown one."""
    for relation in _CATEGORY_RELATIONS:
        if term in world.words.terms[relation]:
            return world.with_term(relation, term)
    return ()


def _category_links(world: World, entity: Entity) -> str:
    """The categories at an article's end; never the entity's own, which would state a fact."""
    relation = next((r for r in _CATEGORY_RELATIONS if RELATION[r].domain is entity.kind), "")
    if not relation:
        return ""
    own = world.fact(entity.key, relation).text
    others = [term for term in world.words.terms[relation] if term != own]
    picked = Draw("categories", world.seed, entity.key).sample(others, 2)
    browse = world.words.page.browse
    links = [Link(text=browse.format(t), url=list_url(HOST, "category", t)) for t in picked]
    return f'<nav class="categories">{"".join(anchor(link) for link in links)}</nav>'


def _home(world: World) -> str:
    draw = Draw("main page", world.seed, world.split.value)
    texts = world.words.page
    intro = texts.wiki_intro.format(f"{sum(len(world.by_kind[k]) for k in _KINDS):,}")
    parts = [f"<h1>{escape(texts.wiki_welcome)}</h1><p>{escape(intro)}</p>"]
    for kind, heading in zip(_KINDS, texts.kind_headings, strict=True):
        links = [
            Link(text=entity.name, url=url_of(entity))
            for entity in draw.sample(world.by_kind[kind], 8)
        ]
        parts.append(f"<h2>{escape(heading)}</h2>{link_list(links, 'columns')}")
    return "".join(parts)


def _categories(world: World) -> str:
    links = [Link(text=term, url=list_url(HOST, "category", term)) for term in _terms(world)]
    heading = escape(world.words.page.categories)
    return f"<h1>{heading}</h1>{link_list(links, 'columns')}"
