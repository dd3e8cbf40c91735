# SPDX-License-Identifier: Apache-2.0
"""The government policy site: regulations with yearly versions, and the agencies behind them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from envs.site import PageResponse
from envs.web.article import POLICY_HOST, Link, url_of
from envs.web.draw import Draw
from envs.web.relations import Kind
from envs.web.search_index import IndexedPage
from envs.web.sites.entity_page import article_page, indexed_articles
from envs.web.sites.listing import indexed_list, list_page, list_url
from envs.web.sites.shell import SEARCH_HOME, Frame, Visit, link_list, not_found, page
from envs.web.terms import TOPICS
from envs.web.world import Entity, World

HOST = POLICY_HOST
FRAME = Frame(
    name="Policy Register",
    home=f"http://{HOST}/",
    theme="policy",
    nav=(
        Link(text="Register", url=f"http://{HOST}/"),
        Link(text="Agencies", url=f"http://{HOST}/agencies"),
        Link(text="By year", url=f"http://{HOST}/years"),
        Link(text="Search engine", url=SEARCH_HOME),
    ),
    has_search_box=True,
    footer="Published by the government's register office. Only the printed gazette is binding.",
)


def respond(visit: Visit) -> PageResponse:
    """Answer one request for a page."""
    world = visit.world
    section, name = visit.section_and_name()
    if not name and section in _INDEX_PAGES:
        title, links = _index_links(world, section)
        intro = "<p>The register holds every rule with its yearly versions.</p>"
        main = f"<h1>{escape(title)}</h1>{intro}{link_list(links, 'columns')}"
        return page(visit, FRAME, title, main)
    if section in (Kind.REGULATION.value, Kind.AGENCY.value):
        entity = world.by_slug.get(name)
        if entity is not None and entity.kind.value == section:
            return article_page(visit, FRAME, entity)
    if section in _LIST_HEADINGS:
        return list_page(visit, FRAME, _heading(section, name), _members(world, section, name))
    return not_found(visit, FRAME)


def indexed_pages(world: World) -> Iterator[IndexedPage]:
    """What the search engine knows of this site."""
    yield from indexed_articles(world, (Kind.REGULATION, Kind.AGENCY))
    for topic in TOPICS[world.language]:
        members = _members(world, "topic", topic.term)
        yield indexed_list(HOST, "topic", topic.term, _heading("topic", topic.term), members)


_INDEX_PAGES = ("", "agencies", "years")
_LIST_HEADINGS = {"topic": "Regulations: {}", "year": "In force since {}"}


def _heading(section: str, term: str) -> str:
    return _LIST_HEADINGS[section].format(term)


def _index_links(world: World, section: str) -> tuple[str, list[Link]]:
    """Title and links of one of the entrance pages."""
    if section == "agencies":
        agencies = world.by_kind[Kind.AGENCY]
        return "Agencies", [Link(text=e.name, url=url_of(e)) for e in agencies]
    if section == "years":
        years = sorted({world.fact(e.key, "effective_year").text for e in _regulations(world)})
        return "Regulations by year", [Link(text=y, url=list_url(HOST, "year", y)) for y in years]
    topics = [
        Link(text=t.term, url=list_url(HOST, "topic", t.term)) for t in TOPICS[world.language]
    ]
    picked = Draw("register", world.seed, world.split.value).sample(_regulations(world), 20)
    return "Policy Register", topics + [Link(text=e.name, url=url_of(e)) for e in picked]


def _regulations(world: World) -> tuple[Entity, ...]:
    return world.by_kind[Kind.REGULATION]


def _members(world: World, section: str, term: str) -> tuple[Entity, ...]:
    """Regulations on a topic or of a first year."""
    return world.with_term("topic" if section == "topic" else "effective_year", term)
