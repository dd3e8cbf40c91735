# SPDX-License-Identifier: Apache-2.0
"""The government policy site: regulations with yearly versions, and the agencies behind them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from envs.site import PageResponse
from envs.web.article import POLICY_HOME, POLICY_HOST, Link, url_of
from envs.web.draw import Draw
from envs.web.permits import PERMITS_HOME
from envs.web.relations import Kind
from envs.web.search_index import IndexedPage
from envs.web.sites import permits
from envs.web.sites.entity_page import article_page, indexed_articles
from envs.web.sites.listing import indexed_list, list_page, list_url
from envs.web.sites.shell import SEARCH_HOME, Frame, Visit, link_list, not_found, page
from envs.web.world import Entity, World

HOST = POLICY_HOST


def frame(visit: Visit) -> Frame:
    """The look of this site."""
    texts = visit.texts
    nav = [
        Link(text=texts.policy_home, url=POLICY_HOME),
        Link(text=texts.agencies, url=f"{POLICY_HOME}agencies"),
        Link(text=texts.by_year, url=f"{POLICY_HOME}years"),
        Link(text=texts.search_engine, url=SEARCH_HOME),
    ]
    if visit.has_permits:
        nav.insert(3, Link(text=texts.permits, url=PERMITS_HOME))
    return Frame(
        name=texts.policy_name,
        home=POLICY_HOME,
        theme="policy",
        nav=tuple(nav),
        has_search_box=True,
        footer=texts.policy_footer,
    )


def respond(visit: Visit) -> PageResponse:
    """Answer one request for a page."""
    world, look = visit.world, frame(visit)
    section, name = visit.section_and_name()
    if not name and section in _INDEX_PAGES:
        title, links = _index_links(world, section)
        intro = escape(visit.texts.policy_intro)
        main = f"<h1>{escape(title)}</h1><p>{intro}</p>{link_list(links, 'columns')}"
        return page(visit, look, title, main)
    if section in (Kind.REGULATION.value, Kind.AGENCY.value):
        entity = world.by_slug.get(name)
        if entity is not None and entity.kind.value == section:
            return article_page(visit, look, entity)
    if section in _LISTS:
        return list_page(
            visit, look, _heading(world, section, name), _members(world, section, name)
        )
    if visit.has_permits and section in ("permits", "permit"):
        return permits.respond(visit, look)
    return not_found(visit, look)


def indexed_pages(world: World) -> Iterator[IndexedPage]:
    """What the search engine knows of this site."""
    yield from indexed_articles(world, (Kind.REGULATION, Kind.AGENCY))
    for topic in world.words.topics:
        members = _members(world, "topic", topic.term)
        heading = _heading(world, "topic", topic.term)
        yield indexed_list(HOST, "topic", topic.term, heading, members)


_INDEX_PAGES = ("", "agencies", "years")
_LISTS = ("topic", "year")


def _heading(world: World, section: str, term: str) -> str:
    texts = world.words.page
    return (texts.on_topic if section == "topic" else texts.since_year).format(term)


def _index_links(world: World, section: str) -> tuple[str, list[Link]]:
    """Title and links of one of the entrance pages."""
    texts = world.words.page
    if section == "agencies":
        agencies = world.by_kind[Kind.AGENCY]
        return texts.agencies, [Link(text=e.name, url=url_of(e)) for e in agencies]
    if section == "years":
        years = sorted({world.fact(e.key, "effective_year").text for e in _regulations(world)})
        links = [Link(text=y, url=list_url(HOST, "year", y)) for y in years]
        return texts.by_year_title, links
    topics = [Link(text=t.term, url=list_url(HOST, "topic", t.term)) for t in world.words.topics]
    picked = Draw("register", world.seed, world.split.value).sample(_regulations(world), 20)
    return texts.policy_name, topics + [Link(text=e.name, url=url_of(e)) for e in picked]


def _regulations(world: World) -> tuple[Entity, ...]:
    return world.by_kind[Kind.REGULATION]


def _members(world: World, section: str, term: str) -> tuple[Entity, ...]:
    """Regulations on a topic or of a first year."""
    return world.with_term("topic" if section == "topic" else "effective_year", term)
