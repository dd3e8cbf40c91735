# SPDX-License-Identifier: Apache-2.0
"""What the twin keeps of a document is what reading it anew would say."""

from __future__ import annotations

import dataclasses
import random

import pytest

from envs.dom import PageElement
from envs.twin.driver import TwinDriver
from envs.twin.html_dom import parse_html
from envs.twin.page import Page
from envs.types import Role
from tests.envs.browser.sites import PathSite, url

MAX_ELEMENTS = 50
LATE_MS = 700.0
DOCUMENT = (
    b"""<title>Home</title><div id=layer role=dialog><input name=e value=mail>
<button>Later</button></div><h1>Home</h1><p data-late=700>Loading</p>
<div data-late=700 hidden><p>Fact</p><input name=f></div><a href="">Again</a><a href=#b>Below</a>
<form><input name=q><select name=s><option>one<option selected>two</select>
<input type=checkbox name=c aria-label=tick></form>"""
    + b"<p>Line</p>" * 40
)


def new_page() -> Page:
    document = parse_html(DOCUMENT)
    late = [(LATE_MS, element) for element in document.iterfind(".//*[@data-late]")]
    return Page(
        urls=["http://a.forage.test/"], document=document, max_elements=MAX_ELEMENTS, late=late
    )


def ref_of(page: Page, text: str) -> int:
    [ref] = [e.node_ref for e in page.elements() if e.text == text]
    return ref


def anew(page: Page) -> tuple[PageElement, ...]:
    """The table of a page that was never read, with the same done to it."""
    unread = Page(
        urls=list(page.urls),
        document=page.document,
        max_elements=MAX_ELEMENTS,
        values=dict(page.values),
        focused=page.focused,
        scroll_y_px=page.scroll_y_px,
    )
    return unread.elements()


def test_what_is_kept_of_a_document_follows_everything_that_happens_to_it():
    draw = random.Random(3)
    page = new_page()
    layer = page.element(ref_of(page, "Later")).getparent()
    for number in range(60):
        fields = [e.node_ref for e in page.elements() if e.role in (Role.TEXTBOX, Role.SELECT)]
        match draw.randrange(5):
            case 0:
                page.values[draw.choice(fields)] = f"text {number}"
            case 1:
                page.focused = draw.choice([-1, *fields])
            case 2:
                page.scroll_y_px = float(draw.randrange(600))
            case 3:
                page.urls.append(f"http://a.forage.test/#{number}")
            case 4:
                page.swap_late(100.0 * number)
        if number == 30:
            page.remove(layer)
        assert page.elements() == anew(page), number
    texts = [e.text for e in page.elements()]
    assert "Later" not in texts and "Loading" not in texts and "Fact" in texts


def test_a_document_is_read_once_until_it_changes():
    page = new_page()
    first = page.reading()
    page.values[ref_of(page, "q")] = "typed"
    page.swap_late(LATE_MS - 1)
    assert page.reading() is first
    page.swap_late(LATE_MS)
    assert page.reading() is not first


def test_only_what_was_done_to_a_page_differs_from_its_document():
    page = new_page()
    before, field = page.elements(), ref_of(page, "q")
    page.values[field], page.focused = "typed", field
    changed = [(a, b) for a, b in zip(before, page.elements(), strict=True) if a != b]
    [(old, new)] = changed
    assert new == dataclasses.replace(old, value="typed", is_focused=True)


@pytest.mark.parametrize("kind", ["checkbox", "radio"])
async def test_a_click_on_a_check_is_seen_at_once(kind: str):
    driver = TwinDriver(max_elements=MAX_ELEMENTS)
    await driver.reset(PathSite({"/": f"<form><input type={kind} name=c aria-label=tick></form>"}))
    await driver.open(url("/"))
    [box] = (await driver.snapshot(with_screenshot=False)).elements
    await driver.click(box.node_ref)
    [ticked] = (await driver.snapshot(with_screenshot=False)).elements
    assert (box.is_checked, ticked.is_checked) == (False, True)
