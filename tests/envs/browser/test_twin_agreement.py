# SPDX-License-Identifier: Apache-2.0
"""The twin held equal to Chromium: the same pages, and the same effects of the same actions."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from envs.actions import MAX_TABS
from envs.browser.driver import ChromiumDriver
from envs.config import BrowserConfig, WebConfig
from envs.twin.driver import TwinDriver
from envs.types import Split
from envs.web.guide import states
from envs.web.hazards import draw_hazards
from envs.web.mix import KINDS, LANGUAGES
from envs.web.sites.results import results_url
from envs.web.sites.shell import asset
from envs.web.task_set import EmbeddedTaskSet
from envs.web.texts.languages import LOADING_LABELS
from envs.web.web_site import CONTENT_HOSTS, EmbeddedSite
from envs.web.world import build_world
from tests.envs.browser.sites import OTHER_HOST, PathSite, element, url
from tests.envs.twin.both import MAX_ELEMENTS, Both

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUM_TASKS = 6
NUM_STEPS = 12
ARTICLES = tuple(
    f"http://{page}/"
    for page in (
        "wiki.forage.test/wiki",
        "policy.forage.test/regulation",
        "policy.forage.test/agency",
    )
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def driver() -> AsyncIterator[ChromiumDriver]:
    """With the deadlines of a run: nothing hangs here, so none is to be reached."""
    running = ChromiumDriver(BrowserConfig(), max_elements=MAX_ELEMENTS)
    await running.start()
    yield running
    await running.close()


async def random_step(both: Both, draw: random.Random, words: list[str]) -> None:
    page = both.pages[0]
    free = [i for i, e in enumerate(page.elements) if not e.is_occluded]
    fields = [i for i in free if page.elements[i].is_typable]
    links = [i for i in free if page.elements[i].href]
    chance = draw.random()
    if chance < 0.3 and fields:
        await both.do("type_text", fields[0], draw.choice(words))
        await both.do("press_enter")
    elif chance < 0.45 and page.can_go_back:
        await both.do("go_back")
    elif chance < 0.55 and links and len(page.tabs) < MAX_TABS:
        await both.do("open_in_new_tab", draw.choice(links))
    elif chance < 0.65 and len(page.tabs) > 1:
        others = [i for i, tab in enumerate(page.tabs) if not tab.active]
        await both.do("switch_tab", None, draw.choice(others))
    elif chance < 0.7 and len(page.tabs) > 1:
        await both.do("close_tab")
    else:
        await both.do("click", draw.choice([i for i in free if page.elements[i].is_clickable]))


async def test_both_drivers_see_the_same_pages_on_a_walk_through_the_embedded_web(driver):
    task_set, both, draw = EmbeddedTaskSet(WebConfig(), 20), Both(driver), random.Random(7)
    for index in range(NUM_TASKS):
        task = task_set.task(Split.TRAIN, index)
        await both.begin(task_set.site(task), task.prompt.start_url)
        for _ in range(NUM_STEPS):
            await random_step(both, draw, task.prompt.question.split())


LATE_MS, SOON_MS, WAIT_MS = 60_000, 200, 1500  # after any test, and well within a wait


async def test_late_content_comes_with_time_and_what_held_its_place_goes(driver):
    page = """<script src=/page.js defer></script><h1>Home</h1><p data-late={0}>Loading</p>
    <div data-late={0} hidden><p>Fact</p><a href=/next>Next</a><input name=q aria-label=box></div>
    <p>After</p><a href=/soon>Soon</a>"""
    pages = {"/": page.format(LATE_MS), "/soon": page.format(SOON_MS), "/next": "<h1>Next</h1>"}
    both = Both(driver)
    site = PathSite(pages | {"/page.js": asset("/page.js")})
    await both.begin(site, url("/"))
    await both.do("wait", None, 100)
    assert [e.text for e in both.pages[0].elements] == ["Home", "Loading", "After", "Soon"]
    await both.begin(site, url("/soon"), wait_ms=WAIT_MS)
    come = ["Home", "Fact", "Next", "box", "After", "Soon"]
    assert [e.text for e in both.pages[0].elements] == come
    assert (await both.click("Next")).navigated


@pytest.mark.parametrize("language", LANGUAGES)
async def test_both_drivers_see_the_same_under_all_hazards_in_every_language(driver, language):
    # Slow styles and pictures are Chromium's alone: the twin loads neither.
    rates = {"login_popup_rate": 0.0, "slow_resource_rate": 0.0}
    web = WebConfig(kinds=KINDS, languages=(language,), hazards=1.0, **rates)
    task_set, both = EmbeddedTaskSet(web, 20), Both(driver)
    failed, late = 0, 0
    for index in range(4):
        task = task_set.task(Split.TEST, index)
        world = build_world(task.world_seed, task.split, language)
        drawn = draw_hazards(web, task.task_seed, CONTENT_HOSTS, language)
        slow, soon = (
            EmbeddedSite(world, dataclasses.replace(drawn, late_ms=late_ms), has_permits=True)
            for late_ms in (LATE_MS, SOON_MS)
        )
        await both.begin(slow, results_url(task.prompt.question))
        link = next(i for i, e in enumerate(both.pages[0].elements) if e.href.startswith(ARTICLES))
        failed += (await both.do("click", link)).num_images_failed
        late += not LOADING_LABELS.isdisjoint(e.text for e in both.pages[0].elements)
        await both.begin(soon, task.truth.evidence[-1].url, wait_ms=WAIT_MS)
        assert LOADING_LABELS.isdisjoint(e.text for e in both.pages[0].elements)
        assert any(states(task.truth.evidence[-1], e.text) for e in both.pages[0].elements)
    assert failed and late


async def test_a_form_that_alone_leads_to_a_page_does_so_in_both_drivers(driver):
    web = WebConfig(kinds=("cross_site",), languages=("zh",), login_popup_rate=0.0)
    task_set, both = EmbeddedTaskSet(web, 20), Both(driver)
    task = task_set.task(Split.TEST, 0)
    item = next(item for item in task.truth.evidence if item.way)
    for name, arrived in ((item.subject, item.url), ("12", f"{item.way[-1]}/find?holder=12")):
        await both.begin(task_set.site(task), item.way[-1])
        fields = [i for i, e in enumerate(both.pages[0].elements) if e.is_typable]
        await both.do("type_text", fields[-1], name)
        assert (await both.do("press_enter")).navigated
        assert both.pages[0].url == arrived


async def test_a_link_into_the_page_itself_is_no_navigation_but_a_place_to_go_back_to(driver):
    links = "<a href=#part>Part</a><a href=#>Top</a><a href=/>Self</a><a href=/#part>Whole</a>"
    both = Both(driver)
    await both.begin(
        PathSite({"/": f"<h1>Home</h1>{links}<input name=q autocomplete=off>"}), url("/")
    )
    [field] = [i for i, e in enumerate(both.pages[0].elements) if e.is_typable]
    await both.do("type_text", field, "kept")
    for text in ("Part", "Part", "Whole", "Top"):
        assert not (await both.click(text)).navigated
    assert both.pages[0].url == url("/#") and both.pages[0].elements[field].value == "kept"
    assert (await both.click("Self")).navigated
    assert [(await both.do("go_back")).navigated for _ in range(3)] == [True, False, False]
    assert (await both.do("go_back")).reason == "no_history"


async def test_links_images_and_forms_start_from_the_base_that_a_page_names(driver):
    page = """<head><base href=/deep/></head><a href=x>Link</a><a href=#part>Part</a>
    <img src=i alt=i><form action=f><input name=q><button>Go</button></form>"""
    site = PathSite({"/": page, "/deep/x": "<h1>Deep</h1>", "/deep/i": "no image"})
    both = Both(driver)
    for text, arrived in (("Link", "/deep/x"), ("Part", "/deep/#part"), ("Go", "/deep/f?q=")):
        await both.begin(site, url("/"))
        assert (await both.click(text)).navigated and both.pages[0].url == url(arrived)


async def test_a_blank_between_two_marked_words_parts_them(driver):
    body = """<ul><li><a href=/hit>Hit</a>
      <p>The <b>river</b> <b>Kreder</b>\n<i>flows</i> by<b>way</b>.</p></li></ul>
      <table><tr> <th>Seat</th> <td>Vardo</td> </tr></table>"""
    both = Both(driver)
    await both.begin(PathSite({"/": body}), url("/"))
    for page in both.pages:
        texts = [e.text for e in page.elements]
        assert "The river Kreder flows byway." in texts and "Seat: Vardo" in texts
        assert element(page, "Hit").context == "Hit The river Kreder flows byway."


async def test_what_is_no_web_address_leads_nowhere(driver):
    links = "<a href='mailto:a@b'>Mail</a><a href='javascript:void 0'>Script</a>"
    both = Both(driver)
    await both.begin(PathSite({"/": f"<h1>Home</h1>{links}"}), url("/"))
    for text in ("Mail", "Script"):
        assert not (await both.click(text)).navigated


async def test_a_host_that_is_no_site_is_a_failed_navigation_and_an_unknown_site_a_page(driver):
    out = "<a href=http://example.com/>Out</a>"
    drivers = (driver, TwinDriver(max_elements=MAX_ELEMENTS))
    for one in drivers:
        await one.reset(PathSite({"/": out}))
        assert (await one.open("http://example.com/")).reason == "navigation_failed"
    both = Both(driver)
    await both.begin(PathSite({"/": out}), "http://nowhere.forage.test/")
    assert "nowhere.forage.test" in both.pages[0].elements[1].text


FORM = """<form action='/found?lost=1#part'><input name=q value=old><textarea name=t>long</textarea>
<input type=checkbox name=c aria-label=box><input type=checkbox name=d value=4 checked>
<input type=radio name=r value=1 aria-label=one checked><input type=radio name=r value=2
 aria-label=two><select name=s><option>a<option value=bee selected>b</select>
<input name=off value=x disabled><input value=nameless>
<button name=b value=go>Go</button><button name=b value=no>No</button></form>"""


@pytest.mark.parametrize("sender", ["Go", "No", "Enter"])
async def test_a_form_sends_what_the_standard_says(driver, sender):
    site, both = PathSite({"/": FORM, "/found": "<h1>Found</h1>"}), Both(driver)
    await both.begin(site, url("/"))
    for text in ("box", "two", "two"):
        assert not (await both.click(text)).navigated
    if sender == "Enter":
        await both.do("press_enter")
    else:
        await both.click(sender)
    pressed = "no" if sender == "No" else "go"
    sent = f"q=old&t=long&c=on&d=4&r=2&s=bee&b={pressed}"
    assert both.pages[0].url == url(f"/found?{sent}#part")


async def test_both_drivers_ask_a_site_the_same(driver):
    asked = url("/a%20b/%C3%A9%2F?k=1&k=2&empty=&plus=a+b%2B&=x&flag", OTHER_HOST)
    requests = []
    for one in (driver, TwinDriver(max_elements=MAX_ELEMENTS)):
        site = PathSite({})
        await one.reset(site)
        await one.open(asked)
        requests.append(site.requests[0])
    assert requests[0] == requests[1]
    assert requests[0].path == "/a b/é/" and requests[0].query["k"] == "1"
