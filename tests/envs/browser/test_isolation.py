# SPDX-License-Identifier: Apache-2.0
"""What one episode leaves behind is not there in the next."""

from __future__ import annotations

import pytest

from envs.site import PageResponse
from tests.envs.browser.sites import PathSite, element, html, url

pytestmark = pytest.mark.asyncio(loop_scope="module")

WRITER = """<button id=b>Write</button><p id=said>waiting</p><script>b.onclick = async () => {
  localStorage.x = sessionStorage.x = 'old';
  await new Promise(done => { const r = indexedDB.open('old'); r.onsuccess = done; });
  said.textContent = 'written';
}</script>"""
READER = """<p id=said>waiting</p><script>indexedDB.databases().then(all => said.textContent =
 JSON.stringify([localStorage.x ?? null, sessionStorage.x ?? null, all.length,
                 history.length]))</script>"""


async def read(driver, text: str):
    for _ in range(20):
        page = await driver.snapshot(with_screenshot=False)
        if any(e.text == text for e in page.elements):
            return page
        await driver.wait(100)
    return page


async def test_storage_cookies_cache_history_and_tabs_end_with_the_episode(driver):
    cached = PageResponse(status=200, content_type="text/css", body=b"p {color: red}")
    pages = {
        "/": html(WRITER, Set_Cookie="id=old; Max-Age=9999"),
        "/style": cached,
        "/read": READER + "<link rel=stylesheet href=/style>",
    }
    first = PathSite(pages)
    await driver.reset(first)
    await driver.open(url("/"))
    page = await driver.snapshot(with_screenshot=False)
    await driver.click(element(page, "Write").node_ref)
    await read(driver, "written")
    await driver.open(url("/read"))
    assert first.asked("/read")[0].cookies == {"id": "old"}
    # The blank page that a tab starts with counts in `history.length`.
    assert element(await read(driver, '["old","old",1,3]'), '["old","old",1,3]')

    second = PathSite(pages)
    await driver.reset(second)
    fresh = await driver.snapshot(with_screenshot=False)
    assert (fresh.url, fresh.can_go_back, len(fresh.tabs)) == ("about:blank", False, 1)
    await driver.open(url("/read"))
    assert second.asked("/read")[0].cookies == {}
    assert len(second.asked("/style")) == 1
    page = await read(driver, "[null,null,0,2]")
    assert element(page, "[null,null,0,2]")
    assert not page.can_go_back


async def test_the_next_episode_sees_its_own_site(driver):
    for text in ("one", "two"):
        await driver.reset(PathSite({"/": f"<h1>{text}</h1>"}))
        await driver.open(url("/"))
        assert element(await driver.snapshot(with_screenshot=False), text)
