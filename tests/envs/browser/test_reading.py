# SPDX-License-Identifier: Apache-2.0
"""What a snapshot says of a page, and that clicks land where it says."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from envs.browser.snapshot import MAX_NODES
from envs.site import PageResponse
from envs.types import PageState, Role
from tests.envs.browser.sites import OTHER_HOST, PathSite, element, html, url

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODAL = """<h1>Under</h1><a href=/next>Next</a>
<div id=m style='position:fixed;inset:0;background:#0008'>
<button onclick='m.remove()'>Close it</button></div>"""
# Borders, paddings, a scrolled frame and a frame in a frame, the outer one on another host.
OUTER = f"""<h1>Main</h1><div style='height:200px'></div>
<iframe src=//{OTHER_HOST}/middle width=500 height=400
 style='border:7px solid red;padding:5px;margin-left:40px'></iframe>"""
MIDDLE = """<body style='margin:0'><div style='height:150px'></div>
<iframe src=/inner width=300 height=120 sandbox='allow-scripts allow-same-origin'
 style='border:3px solid;padding:2px;position:relative;left:20px'></iframe>
<div style='height:900px'></div><script>scrollTo(0, 60)</script>"""
INNER = """<body style='margin:0'><div style='height:40px'></div><button style='position:absolute;
left:30px;top:30px;width:50px;height:20px;padding:0'
onclick="this.textContent='hit'">aim</button>"""


async def show(driver, body: str, **pages: str):
    site = PathSite({"/": body} | {f"/{name}": page for name, page in pages.items()})
    await driver.reset(site)
    effect = await driver.open(url("/"))
    return effect, await driver.snapshot(with_screenshot=False)


async def look(driver):
    return await driver.snapshot(with_screenshot=False)


async def test_what_is_under_a_modal_layer_is_flagged_and_cannot_be_clicked(driver):
    _, page = await show(driver, MODAL, next="<h1>Arrived</h1>")
    assert element(page, "Next").is_occluded
    assert not element(page, "Close it").is_occluded
    assert element(page, "Close it").is_in_dialog
    refused = await driver.click(element(page, "Next").node_ref)
    assert (refused.reason, refused.navigated) == ("occluded", False)
    assert (await driver.click(element(page, "Close it").node_ref)).reason == "ok"
    page = await look(driver)
    assert not element(page, "Next").is_occluded
    assert (await driver.click(element(page, "Next").node_ref)).navigated


async def test_an_element_under_a_bar_that_sticks_to_the_edge_is_scrolled_free(driver):
    bar = "<div style='position:fixed;left:0;right:0;bottom:0;height:200px;background:#fff'></div>"
    tall = "<div style='height:600px'></div><a href=/next>Next</a><div style='height:2000px'></div>"
    _, page = await show(driver, bar + tall, next="<h1>Arrived</h1>")
    assert element(page, "Next").is_in_view
    assert (await driver.click(element(page, "Next").node_ref)).navigated


async def test_a_node_that_is_gone_is_a_no_op_with_a_reason(driver):
    body = "<button onclick='p.remove()'>Remove</button><a id=p href=/next>Next</a>"
    _, page = await show(driver, body, next="<h1>Arrived</h1>")
    gone, remover = element(page, "Next").node_ref, element(page, "Remove").node_ref
    await driver.click(remover)
    for act in (driver.click, driver.hover, driver.clear, driver.open_in_new_tab):
        effect = await act(gone)
        assert (effect.reason, effect.navigated) == ("target_gone", False)
    assert (await driver.type_text(gone, "x")).reason == "target_gone"
    assert (await driver.select_option(gone, 0)).reason == "target_gone"


async def test_a_node_of_another_document_is_gone_even_if_its_number_is_used_again(driver):
    _, page = await show(driver, "<a href=/next>Next</a>", next="<a href=/>Back</a>")
    old = element(page, "Next").node_ref
    await driver.click(old)
    assert (await driver.click(old)).reason == "target_gone"
    assert (await look(driver)).url == url("/next")


async def test_a_node_without_a_box_is_not_visible(driver):
    _, page = await show(
        driver, '<a id=a href=/>Here</a><button onclick="a.hidden=true">H</button>'
    )
    link = element(page, "Here").node_ref
    await driver.click(element(page, "H").node_ref)
    assert (await driver.click(link)).reason == "not_visible"


async def test_boxes_in_nested_frames_are_absolute_and_a_click_lands_there(driver):
    _, page = await show(driver, OUTER, middle=MIDDLE, inner=INNER)
    for _ in range(20):  # frames load by themselves
        if any(e.text == "aim" for e in page.elements):
            break
        await driver.wait(100)
        page = await look(driver)
    aim = element(page, "aim")
    assert aim.frame_slot == 2
    outer_box = next(
        n for n in driver._nodes if n.attributes.get("src") == f"//{OTHER_HOST}/middle"
    ).box
    # Offsets of the pages above: borders, paddings and the middle page's own scroll of 60 px.
    assert aim.box[0] == pytest.approx(outer_box[0] + 7 + 5 + 20 + 3 + 2 + 30, abs=1.0)
    assert aim.box[1] == pytest.approx(outer_box[1] + 7 + 5 + 150 - 60 + 3 + 2 + 30, abs=1.0)
    assert aim.box[2:] == (50, 20)
    assert (await driver.click(aim.node_ref)).reason == "ok"
    assert element(await look(driver), "hit").frame_slot == 2


async def test_links_of_a_frame_start_from_the_address_of_the_frame(driver):
    frame = f"<a href=/top>Top</a><iframe src=//{OTHER_HOST}/deep/frame></iframe>"
    pages = {"/": frame, "/deep/frame": "<a href=near>Near</a>"}
    await driver.reset(PathSite(pages))
    await driver.open(url("/"))
    page = await look(driver)
    for _ in range(20):  # frames load by themselves
        if any(e.text == "Near" for e in page.elements):
            break
        await driver.wait(100)
        page = await look(driver)
    assert element(page, "Top").href == url("/top")
    assert element(page, "Near").href == url("/deep/near", OTHER_HOST)


async def test_fields_show_what_they_hold(driver):
    form = """<input placeholder=name value=Ann><input type=checkbox aria-label=yes checked>
    <textarea aria-label=about>Long
    text</textarea><select><option>a<option selected>b</select><button disabled>Send</button>
    <input type=hidden value=secret><input readonly aria-label=fixed value=7>"""
    _, page = await show(driver, form)
    assert element(page, "name").value == "Ann"
    assert element(page, "yes").is_checked
    assert element(page, "about").value.split() == ["Long", "text"]
    assert next(e for e in page.elements if e.role is Role.SELECT).value == "b"
    assert element(page, "Send").is_disabled
    assert not element(page, "fixed").is_typable
    assert "secret" not in {e.value for e in page.elements}


async def test_styles_and_hidden_parts(driver):
    body = """<p style='font-size:30px;font-weight:700;color:#fff'>loud</p><p>plain</p>
    <p style='visibility:hidden'>unseen</p><p hidden>gone</p>
    <style>.x::before {content: 'made up'}</style><p class=x>own</p>"""
    _, page = await show(driver, body)
    loud, plain = element(page, "loud").style, element(page, "plain").style
    assert (loud.font_size_px, loud.is_bold, loud.luminance) == (30.0, True, pytest.approx(1.0))
    assert (plain.font_size_px, plain.is_bold, plain.luminance) == (16.0, False, 0.0)
    assert [e.text for e in page.elements] == ["loud", "plain", "own"]


async def test_a_listener_of_a_script_makes_an_element_clickable(driver):
    body = "<p id=a>with</p><p>without</p><script>a.addEventListener('click', e => e)</script>"
    _, page = await show(driver, body)
    assert element(page, "with").is_clickable
    assert not element(page, "without").is_clickable


async def test_images_are_counted_and_broken_ones_too(driver):
    good = PageResponse(
        status=200,
        content_type="image/svg+xml",
        body=b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
    )
    body = "<img src=/good alt=a><img src=/missing alt=b><img src=/gone alt=c><p>text</p>"
    effect, _ = await show(driver, body, good=good)
    assert (effect.num_images, effect.num_images_failed) == (3, 2)


async def test_the_screenshot_is_the_viewport_at_half_size(driver):
    body = """<body style='margin:0'><div style='height:1000px;background:#f00'></div>
    <div style='height:1000px;background:#00f'></div>"""
    await show(driver, body)
    await driver.scroll_by(1000)
    page = await driver.snapshot(with_screenshot=True)
    image = cv2.imdecode(np.frombuffer(page.screenshot_jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    assert image.shape == (360, 640, 3)
    assert page.screenshot_scale == 0.5
    blue, _, red = image[180, 320]
    assert blue > 200 and red < 50


async def test_a_picture_that_waits_for_the_style_changes_nothing_else_of_what_is_read(driver):
    slow = html("h1 { color: red }", delay_s=1.5)
    await show(driver, "<link rel=stylesheet href=/slow><h1>Words</h1>", slow=slow)
    page = await driver.snapshot(with_screenshot=True)
    assert page.screenshot_jpeg and page.state is PageState.LOADING


async def test_a_page_whose_style_hangs_has_no_picture_and_stays_usable(driver):
    pages = {
        "slow": html("", delay_s=30.0),
        "next": "<body style='margin:0'><div style='height:1000px;background:#f00'></div>",
    }
    _, plain = await show(
        driver, "<link rel=stylesheet href=/slow><h1>Words</h1><a href=/next>Next</a>", **pages
    )
    page = await driver.snapshot(with_screenshot=True)
    assert (page.screenshot_jpeg, page.screenshot_scale) == (b"", 0.0)
    assert np.array_equal(element(page, "Next").box, element(plain, "Next").box)
    again = await look(driver)
    assert np.array_equal(element(again, "Next").box, element(plain, "Next").box)
    effect = await driver.click(element(again, "Next").node_ref)
    assert (effect.reason, effect.navigated) == ("ok", True)
    assert (await driver.snapshot(with_screenshot=True)).screenshot_jpeg


async def test_the_element_cap_is_reported(driver):
    _, page = await show(driver, "<a href=/>x</a>" * 300)
    assert (len(page.elements), page.is_truncated) == (200, True)


async def test_a_page_whose_style_hangs_is_read_within_the_cap(driver):
    slow = html("", delay_s=30.0)
    effect, page = await show(
        driver, "<link rel=stylesheet href=/slow><h1>Words</h1><img src=/slow alt=x>", slow=slow
    )
    assert (effect.reason, effect.navigated, effect.settled_by) == ("ok", True, "cap")
    assert page.state is PageState.LOADING
    assert element(page, "Words")


async def test_a_page_nested_deeper_than_python_may_recurse_is_read(driver):
    nest = """<p>start</p><script>let at = document.body;
    for (let i = 0; i < 600; i++) at = at.appendChild(document.createElement('div'));
    at.textContent = 'deep';</script>"""
    _, page = await show(driver, f"<ul><li>{nest}</li></ul>")
    assert "deep" in {e.text for e in page.elements}


async def test_a_huge_page_is_cut_off_and_says_so(driver):
    many = f"<p>first</p><script>document.body.innerHTML += '<i>x</i>'.repeat({MAX_NODES})</script>"
    _, page = await show(driver, many)
    assert page.is_truncated
    assert element(page, "first")
