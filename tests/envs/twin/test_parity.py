# SPDX-License-Identifier: Apache-2.0
"""The twin's element table is Chromium's: on every kind of page, language, template and hazard.

Boxes, in-view flags, styles and handles are left out; order, roles, texts, contexts, links, values
and states are not.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from envs.browser.driver import ChromiumDriver
from envs.config import BrowserConfig, Templates
from envs.driver import PageSnapshot
from envs.site import Site
from envs.twin.driver import TwinDriver
from envs.types import Split
from envs.web.mix import LANGUAGES
from envs.web.web_site import EmbeddedSite
from envs.web.world import build_world
from tests.envs.twin.both import MAX_ELEMENTS, table
from tests.envs.twin.web_pages import addresses, hazards_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEED = 2001
LOOKS = tuple(itertools.product(LANGUAGES, Templates))
NUM_ROUNDS = 2  # over all kinds of pages of a world, each with other entities and hazards
NUM_PAGES_AT_LEAST = 200
QUICK_STEP = 21  # shares no factor with the number of kinds or hazards


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[ChromiumDriver]:
    """With the deadlines of a run: nothing hangs here, so none is to be reached."""
    running = ChromiumDriver(BrowserConfig(), max_elements=MAX_ELEMENTS)
    await running.start()
    yield running
    await running.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """One page under some hazards."""

    name: str
    site: Site
    url: str


def visits(looks: Iterable[tuple[str, Templates]] = LOOKS) -> Iterator[Visit]:
    """Every kind of page under each of `looks`."""
    for look in looks:
        language, templates = look
        world = build_world(SEED, Split.TEST, language, templates)
        hazards = hazards_of(world)
        for turn in range(NUM_ROUNDS):
            for place, (kind, url) in enumerate(addresses(world, first=turn)):
                drawn = hazards[(LOOKS.index(look) + turn + place) % len(hazards)]
                yield Visit(
                    name=f"{kind}, {language}, {templates}, {drawn}",
                    site=EmbeddedSite(world, drawn, has_permits=True),
                    url=url,
                )


async def seen(driver: ChromiumDriver | TwinDriver, visit: Visit) -> PageSnapshot:
    await driver.reset(visit.site)
    await driver.open(visit.url)
    return await driver.snapshot(with_screenshot=False)


async def differences(chromium: ChromiumDriver, visited: Iterable[Visit]) -> list[str]:
    """Every page that the two do not see alike."""
    twin, found = TwinDriver(max_elements=MAX_ELEMENTS), []
    for visit in visited:
        # The twin first: it has no deadline while a world's search index is built.
        pages = [await seen(driver, visit) for driver in (twin, chromium)]
        told = [(p.url, p.title, p.tabs, p.is_truncated, table(p)) for p in pages]
        assert pages[1].elements, visit.name
        if told[0] != told[1]:
            rows = itertools.zip_longest(*(table(page) for page in pages))
            found.append(f"{visit.name}: {next((r for r in rows if r[0] != r[1]), told)}")
    return found


async def test_some_pages_of_both_languages_and_templates_are_the_same_in_both(chromium):
    assert await differences(chromium, list(visits())[::QUICK_STEP]) == []


async def test_all_kinds_of_pages_make_two_hundred():
    assert len(list(visits())) >= NUM_PAGES_AT_LEAST


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("look", LOOKS, ids=str)
async def test_all_kinds_of_pages_are_the_same_in_both(chromium, look):
    assert await differences(chromium, visits([look])) == []
