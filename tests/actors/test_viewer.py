# SPDX-License-Identifier: Apache-2.0
"""The viewer in a real browser: filter, step through an attempt, compare two."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page

from actors.archive import archived_paths, read_episode, read_head
from actors.run_folder import RunFolder
from actors.show.viewer import HOST, Viewer, view
from actors.show.viewer_pages import Entry, Filter, partner_of, read_filter


@pytest.fixture
async def address(chromium_run: RunFolder, tmp_path: Path) -> AsyncIterator[str]:
    """A viewer of a run and of a copy of it."""
    other = tmp_path / "other-run"
    shutil.copytree(chromium_run.path, other)
    viewer = Viewer([chromium_run.path, other])
    await viewer.start(0)
    yield f"http://{HOST}:{viewer.port}"
    await viewer.close()


async def test_the_list_is_filtered_by_outcome_kind_and_length(
    chromium_run: RunFolder, address: str, page: Page
):
    heads = [read_head(path) for path in archived_paths(chromium_run.path)]
    await page.goto(address)
    rows = page.locator("tbody tr")
    assert await rows.count() == 2 * len(heads)

    await page.select_option("select[name=outcome]", "right")
    await page.click("button")
    num_right = sum(head.is_right for head in heads)
    assert await rows.count() == 2 * num_right
    assert await page.locator("tbody .badge.wrong").count() == 0
    await page.select_option("select[name=kind]", "two_hop")
    await page.click("button")
    assert await rows.count() == 2 * sum(h.is_right and h.kind == "two_hop" for h in heads)
    await page.fill("input[name=min_steps]", "100")
    await page.click("button")
    assert "None match" in await page.inner_text("main")


async def test_an_attempt_is_stepped_through_with_boxes_over_its_pictures(
    chromium_run: RunFolder, address: str, page: Page
):
    path = next(p for p in archived_paths(chromium_run.path) if "oracle.two_hop" in p.name)
    episode = read_episode(path)
    await page.goto(f"{address}/?run=0&phase=oracle&kind=two_hop")
    await page.click("tbody a >> nth=0")
    for step, (scene, move) in enumerate(zip(episode.scenes, episode.moves, strict=False)):
        words = await page.inner_text(".words")
        assert words.startswith(f"{step + 1}. {move.words()}")
        assert await page.locator("svg.scene rect.hit").count() == (move.element >= 0)
        assert await page.locator(".mask li").count() == len(scene.legal)
        picture = "document.querySelector('svg.scene image').getAttribute('href')"
        reply = await page.request.get(address + await page.evaluate(picture))
        assert reply.ok and reply.headers["content-type"] == "image/jpeg"
        assert "step" in page.url or step == 0
        if step % 2:
            await page.click("a[rel=next]")
        else:
            await page.keyboard.press("ArrowRight")
            await page.wait_for_url(f"**step={step + 1}")
    assert "the end" in await page.inner_text(".words")
    assert await page.locator("a[rel=next]").count() == 0


async def test_two_runs_are_compared_on_one_task(address: str, page: Page):
    await page.goto(f"{address}/?run=0&phase=oracle")
    question = await page.inner_text("tbody tr >> nth=0 >> a >> nth=0")
    await page.click("tbody tr >> nth=0 >> text=compare")
    assert await page.inner_text("h1") == question
    assert await page.locator(".pair section svg.scene").count() == 2
    assert "other-run" in await page.inner_text(".pair section >> nth=1")
    last = page.locator(".stepper a >> nth=-1")
    await last.click()
    endings = await page.locator(".words").all_inner_texts()
    assert len(endings) == 2 and all(text.startswith("the end") for text in endings)


@pytest.mark.parametrize(
    "path",
    ["/episode/0/nothing", "/frame/0/..%2f..%2fsummary/0.jpg", "/compare?a=0/x&b=1/y", "/compare"],
)
async def test_only_what_is_archived_can_be_read(address: str, page: Page, path: str):
    assert (await page.request.get(address + path)).status == 404


async def test_odd_steps_lead_to_a_step_that_exists(
    chromium_run: RunFolder, address: str, page: Page
):
    name = archived_paths(chromium_run.path)[0].stem
    for step in ("9999", "-1", "x", "²"):
        reply = await page.request.get(f"{address}/episode/0/{name}", params={"step": step})
        assert reply.ok


def test_a_run_without_attempts_is_refused_with_the_reason(tmp_path: Path):
    with pytest.raises(ValueError, match="episodes_per_kind"):
        view([tmp_path], 0)


def test_a_partner_is_the_other_run_first_then_the_other_policy(chromium_run: RunFolder):
    def entry(run: int, path: Path) -> Entry:
        return Entry(run=run, run_name=str(run), path=path, head=read_head(path))

    paths = archived_paths(chromium_run.path)
    one = [entry(0, path) for path in paths]
    two = [*one, *(entry(1, path) for path in paths)]
    trained = next(e for e in one if e.head.phase == "trained")
    within, across = partner_of(trained, one), partner_of(trained, two)
    assert within is not None and within.head.phase == "untrained"
    assert across is not None and (across.run, across.head.phase) == (1, "trained")
    other = dataclasses.replace(trained.head, task_id="another")
    assert partner_of(dataclasses.replace(trained, head=other), one) is None


def test_a_filter_ignores_what_is_no_number():
    assert read_filter({"min_steps": "3", "max_steps": "many", "kind": "look_up"}) == Filter(
        kind="look_up", min_steps=3
    )
