# SPDX-License-Identifier: Apache-2.0
"""What each action does to a page in a real Chromium."""

from __future__ import annotations

import pytest

from envs.actions import MAX_TABS
from envs.browser.driver import ChromiumDriver
from envs.driver import PageSnapshot
from envs.types import Role
from tests.envs.browser.sites import OTHER_HOST, PathSite, element, html, url

pytestmark = pytest.mark.asyncio(loop_scope="module")

FORM = """<form action=/found><input name=q placeholder=Search value=old><button>Go</button></form>
<select name=size><option>small<option>large<option disabled>huge</select>"""
PAGES = {
    "/": f"<h1>Home</h1><a href=/next>Next</a><a href=//{OTHER_HOST}/next>Away</a>{FORM}",
    "/next": "<h1>Arrived</h1><a href=/>Home</a>",
    "/found": "<h1>Results</h1>",
    "/long": "<h1>Top</h1><div style='height:3000px'></div><a href=/next>Bottom</a>",
}


async def look(driver: ChromiumDriver) -> PageSnapshot:
    return await driver.snapshot(with_screenshot=False)


async def visit(driver: ChromiumDriver, pages: dict[str, object], path: str = "/") -> PathSite:
    site = PathSite(pages)  # type: ignore[arg-type]
    await driver.reset(site)
    assert (await driver.open(url(path))).reason == "ok"
    return site


async def click(driver: ChromiumDriver, text: str):
    return await driver.click(element(await look(driver), text).node_ref)


async def test_a_click_on_a_link_navigates_and_back_returns(driver):
    await visit(driver, PAGES)
    assert not (await look(driver)).can_go_back
    effect = await click(driver, "Next")
    assert (effect.reason, effect.navigated, effect.settled_by) == ("ok", True, "navigation")
    arrived = await look(driver)
    assert (arrived.url, arrived.can_go_back) == (url("/next"), True)
    assert (await driver.go_back()).navigated
    assert (await look(driver)).url == url("/")
    assert (await driver.go_back()).reason == "no_history"


async def test_a_click_on_a_link_to_another_host_navigates(driver):
    await visit(driver, PAGES)
    assert (await click(driver, "Away")).navigated
    assert (await look(driver)).url == url("/next", OTHER_HOST)


async def test_typing_replaces_the_field_and_enter_sends_the_form(driver):
    site = await visit(driver, PAGES)
    assert element(await look(driver), "Search").value == "old"
    effect = await driver.type_text(element(await look(driver), "Search").node_ref, "new words")
    assert (effect.reason, effect.navigated) == ("ok", False)
    field = element(await look(driver), "Search")
    assert (field.value, field.is_focused) == ("new words", True)
    assert (await driver.press_enter()).navigated
    assert (await look(driver)).url == url("/found?q=new+words")
    assert site.asked("/found")[0].query == {"q": "new words"}


async def test_clear_empties_the_field(driver):
    await visit(driver, PAGES)
    assert (await driver.clear(element(await look(driver), "Search").node_ref)).reason == "ok"
    assert element(await look(driver), "Search").value == ""


async def test_typing_into_something_else_than_a_field_does_nothing(driver):
    await visit(driver, PAGES)
    await driver.type_text(element(await look(driver), "Search").node_ref, "kept")
    heading = next(e for e in (await look(driver)).elements if e.role is Role.HEADING)
    assert (await driver.type_text(heading.node_ref, "lost")).reason == "not_typable"
    assert element(await look(driver), "Search").value == "kept"


async def test_enter_without_a_focused_element_does_nothing(driver):
    await visit(driver, PAGES)
    assert (await driver.press_enter()).reason == "nothing_focused"


async def test_an_option_is_chosen_and_the_page_is_told(driver):
    script = """<p id=said>nothing</p><script>document.querySelector('select').onchange =
      e => said.textContent = e.target.value</script>"""
    await visit(driver, {"/": FORM + script})
    box = next(e for e in (await look(driver)).elements if e.role is Role.SELECT)
    assert (box.options, box.value) == (("small", "large", "huge"), "small")
    assert (await driver.select_option(box.node_ref, 1)).reason == "ok"
    after = await look(driver)
    assert next(e for e in after.elements if e.role is Role.SELECT).value == "large"
    assert element(after, "large").role is Role.PARAGRAPH
    assert (await driver.select_option(box.node_ref, 2)).reason == "not_selectable"
    assert (await driver.select_option(box.node_ref, 9)).reason == "not_selectable"


async def test_scrolling_moves_the_page_and_the_view_flags(driver):
    await visit(driver, PAGES, "/long")
    before = await look(driver)
    assert not element(before, "Bottom").is_in_view
    assert (await driver.scroll_by(400)).reason == "ok"
    assert (await look(driver)).scroll_y_px == 400
    await driver.scroll_by(1_000_000)
    bottom = await look(driver)
    assert bottom.scroll_y_px == bottom.page_height_px - bottom.viewport[1]
    assert element(bottom, "Bottom").is_in_view
    assert element(bottom, "Bottom").box == element(before, "Bottom").box
    await driver.scroll_by(-200)
    assert (await look(driver)).scroll_y_px == bottom.scroll_y_px - 200


async def test_a_click_scrolls_to_an_element_out_of_view(driver):
    await visit(driver, PAGES, "/long")
    assert (await click(driver, "Bottom")).navigated


async def test_hovering_is_seen_by_the_page(driver):
    menu = """<style>#more {display: none} #menu:hover #more {display: block}</style>
    <div id=menu><a href=/next>Menu</a><p id=more>Hidden entry</p></div>"""
    await visit(driver, {"/": menu})
    assert "Hidden entry" not in {e.text for e in (await look(driver)).elements}
    await driver.hover(element(await look(driver), "Menu").node_ref)
    assert "Hidden entry" in {e.text for e in (await look(driver)).elements}


async def test_waiting_lets_the_page_run(driver):
    late = "<p id=p>early</p><script>setTimeout(() => p.textContent = 'late', 300)</script>"
    await visit(driver, {"/": late})
    assert element(await look(driver), "early")
    await driver.wait(500)
    assert element(await look(driver), "late")


async def test_tabs_open_switch_and_close(driver):
    await visit(driver, PAGES)
    link = element(await look(driver), "Next")
    assert (await driver.open_in_new_tab(link.node_ref)).navigated
    second = await look(driver)
    assert [(t.url, t.active) for t in second.tabs] == [(url("/"), False), (url("/next"), True)]
    assert not second.can_go_back
    assert (await driver.switch_tab(0)).reason == "ok"
    first = await look(driver)
    assert (first.url, [t.active for t in first.tabs]) == (url("/"), [True, False])
    assert (await driver.switch_tab(4)).reason == "no_such_tab"
    assert (await driver.switch_tab(1)).navigated
    assert (await driver.close_tab()).reason == "ok"
    assert [t.url for t in (await look(driver)).tabs] == [url("/")]
    assert (await driver.close_tab()).reason == "last_tab"


async def test_a_link_that_opens_a_tab_is_followed_up_to_the_limit(driver):
    await visit(driver, {"/": "<a href=/ target=_blank>Again</a>"})
    for expected in range(2, MAX_TABS + 1):
        assert (await click(driver, "Again")).navigated
        tabs = (await look(driver)).tabs
        assert len(tabs) == expected
        assert tabs[-1].active
    assert (await click(driver, "Again")).reason == "too_many_tabs"
    assert len((await look(driver)).tabs) == MAX_TABS
    refused = await driver.open_in_new_tab(element(await look(driver), "Again").node_ref)
    assert refused.reason == "too_many_tabs"


async def test_a_storm_of_pop_ups_is_bounded(driver):
    storm = "<button onclick=\"for (let i = 0; i < 30; i++) open('/pop')\">Storm</button>"
    await visit(driver, {"/": storm, "/pop": "<p>pop</p>"})
    await click(driver, "Storm")
    assert len((await look(driver)).tabs) <= MAX_TABS


async def test_a_pop_up_that_no_click_asked_for_does_not_open(driver):
    opening = "setTimeout(() => window.open('/pop'), 20)"
    late = f"<a href=/next target=_blank>Next</a><script>{opening}</script>"
    await visit(driver, {"/": late, "/pop": "<p>pop</p>", "/next": "<p>next</p>"})
    await driver.wait(200)
    assert [t.url for t in (await look(driver)).tabs] == [url("/")]
    assert (await click(driver, "Next")).navigated
    assert [t.url for t in (await look(driver)).tabs] == [url("/"), url("/next")]


async def test_a_tab_that_closes_itself_leaves_the_one_before(driver):
    pages = {
        "/": "<h1>Opener</h1><a href=/pop target=_blank rel=opener>Pop</a>",
        "/pop": "<button onclick='window.close()'>Close me</button>",
    }
    await visit(driver, pages)
    await click(driver, "Pop")
    assert (await click(driver, "Close me")).navigated
    assert [t.url for t in (await look(driver)).tabs] == [url("/")]


@pytest.mark.parametrize("call", ["alert(1)", "confirm(1)", "prompt(1)"])
async def test_dialogs_are_answered(driver, call):
    expected = {"alert(1)": "undefined", "confirm(1)": "true", "prompt(1)": "null"}[call]
    page = f"<p id=p>none</p><button onclick='p.textContent = String({call})'>Ask</button>"
    await visit(driver, {"/": page})
    assert (await click(driver, "Ask")).reason == "ok"
    assert element(await look(driver), expected)


async def test_a_dialog_before_the_page_is_there_and_one_on_leaving_are_answered(driver):
    page = """<script>alert('early')</script><h1>Here</h1><a href=/next>Next</a>
    <button>Touch</button><script>addEventListener('beforeunload', e => e.preventDefault())
    </script>"""
    await visit(driver, {"/": page, "/next": "<h1>Arrived</h1>"})
    await click(driver, "Touch")
    assert (await click(driver, "Next")).navigated
    assert (await look(driver)).url == url("/next")


async def test_a_file_chooser_does_not_block_the_page(driver):
    await visit(
        driver,
        {"/": "<label>Upload<input type=file></label><a href=/next>Next</a>"}
        | {"/next": "<h1>Arrived</h1>"},
    )
    await click(driver, "Upload")
    assert (await click(driver, "Next")).navigated


async def test_a_download_is_refused_and_the_page_stays(driver):
    file = html("bytes", Content_Disposition="attachment; filename=a.bin")
    await visit(driver, {"/": "<a href=/file>File</a>", "/file": file})
    effect = await click(driver, "File")
    assert (effect.reason, effect.navigated) == ("download_refused", False)
    assert (await look(driver)).url == url("/")


async def test_nothing_but_http_is_opened(driver):
    await visit(driver, PAGES)
    for address in ("file:///etc/hostname", "chrome://version", "javascript:alert(1)", "data:,x"):
        assert (await driver.open(address)).reason == "url_refused"
    assert (await look(driver)).url == url("/")


async def test_hosts_outside_the_sites_and_this_machine_are_unreachable(driver):
    await visit(driver, PAGES)
    for host in ("example.com", "localhost", f"127.0.0.1:{driver.site_port}", "[::1]"):
        assert (await driver.open(f"http://{host}/")).reason == "navigation_failed"
    await driver.open(url("/", "unknown.forage.test"))
    assert "No site of this task" in " ".join(e.text for e in (await look(driver)).elements)
    assert (await driver.open(url("/"))).reason == "ok"
