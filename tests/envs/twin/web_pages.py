# SPDX-License-Identifier: Apache-2.0
"""Addresses of every kind of page of the embedded web, and hazards to show them under."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from urllib.parse import quote

from envs.web.article import POLICY_HOME, url_of
from envs.web.hazards import NO_HAZARDS, Hazards
from envs.web.permits import PERMIT_FIELD, PERMITS_HOME, permit_url
from envs.web.relations import Kind
from envs.web.sites import advert, policy, wiki
from envs.web.sites.advert import advert_url
from envs.web.sites.listing import list_url
from envs.web.sites.results import results_url
from envs.web.sites.shell import SEARCH_HOME
from envs.web.world import World

NEVER_MS = 600_000  # late content comes after any test
DEALS_HOME = f"http://{advert.HOST}/"


def hazards_of(world: World) -> tuple[Hazards, ...]:
    """None, those that add to a page, and the pop-up that covers each site that may have it."""
    texts = world.words.page
    loud = dataclasses.replace(
        NO_HAZARDS,
        banner_label=texts.banner_labels[0],
        advert_seed=1,
        has_advert_hits=True,
        breaks_images=True,
        late_ms=NEVER_MS,
    )
    covered = dataclasses.replace(NO_HAZARDS, popup_label=texts.dismiss_labels[0], advert_seed=2)
    layers = (dataclasses.replace(covered, popup_host=h) for h in (wiki.HOST, policy.HOST))
    return (NO_HAZARDS, loud, *layers)


def addresses(world: World, first: int) -> Iterator[tuple[str, str]]:
    """Name of the kind of page and address, one or two of each; `first` picks among entities."""
    profession = world.words.terms["profession"][0]
    some = {kind: of[first % len(of)] for kind, of in world.by_kind.items()}
    person, regulation = some[Kind.PERSON], some[Kind.REGULATION]
    topic = quote(world.words.topic_of(regulation.name).term)
    yield "search home", SEARCH_HOME
    yield "results", results_url(person.name)
    yield "results of words", results_url(profession, 2)
    yield "no results", results_url("zzzz <b>&amp;")
    yield "wiki home", wiki.HOME
    yield "categories", f"{wiki.HOME}categories"
    for page in (1, 2):
        yield "category", list_url(wiki.HOST, "category", profession, page)
    for kind, entity in some.items():
        yield kind.value, url_of(entity)
    yield "policy home", POLICY_HOME
    yield "agencies", f"{POLICY_HOME}agencies"
    yield "years", f"{POLICY_HOME}years"
    yield "topic", f"{POLICY_HOME}topic/{topic}"
    year = next(f.text for f in regulation.facts if f.relation == "effective_year")
    yield "year", f"{POLICY_HOME}year/{year}"
    yield "register", PERMITS_HOME
    yield "register without it", f"{PERMITS_HOME}/find?{PERMIT_FIELD}=nobody"
    yield "permit", permit_url(some[Kind.ORGANISATION])
    yield (
        "register's redirect",
        (f"{PERMITS_HOME}/find?{PERMIT_FIELD}={quote(some[Kind.ORGANISATION].name)}"),
    )
    yield "deals home", DEALS_HOME
    yield "offer", advert_url(some[Kind.PRODUCT])
    for home in (wiki.HOME, POLICY_HOME, DEALS_HOME, SEARCH_HOME):
        yield "not found", f"{home}no/{first}"
    yield "signed in", f"{wiki.HOME}sign-in?email="
