# SPDX-License-Identifier: Apache-2.0
"""The report of a run, opened in a real browser, and the drawings that it is made of."""

from __future__ import annotations

import dataclasses
import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import orjson
import pytest
from PIL import Image, ImageSequence
from playwright.async_api import Page

from actors.archive import archived_paths, read_episode, read_frame, read_head
from actors.run_folder import RunFolder
from actors.show import curves
from actors.show.charts import MAX_POINTS, Chart, Series, nice_ticks, svg_chart
from actors.show.film import FRAME_MS, LAST_FRAME_MS, gif
from actors.show.report import choose, report_html, write_report
from actors.show.scenes import where_html


async def test_a_report_shows_results_curves_and_moving_attempts(
    chromium_run: RunFolder, page: Page
):
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await page.goto(chromium_run.report.as_uri())
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []

    text = await page.inner_text("main")
    summary = orjson.loads(chromium_run.summary.read_bytes())
    for name in ("untrained", "trained", "oracle"):
        assert name in text
    assert f"{summary['env_steps_per_s']:.1f}" in text
    titles = await page.locator(".chart figcaption").all_inner_texts()
    assert any(title.startswith("Success") for title in titles)
    assert any(title.startswith("Return by layer") for title in titles)
    assert await page.locator(".chart svg .line, .chart svg circle").count() >= len(titles)

    assert await page.locator("article.episode").count() >= 2
    assert await page.locator(".strip svg.scene rect.hit").count() >= 1
    assert await page.locator(".strip .mask .chosen").count() >= 2
    assert await page.locator(".strip .rewards").count() >= 2
    broken = "[...document.images].filter(i => !i.complete || i.naturalWidth === 0).length"
    assert await page.locator("img.gif").count() >= 2
    assert await page.evaluate(broken) == 0


@pytest.mark.parametrize("width_px", [390, 1200])
async def test_a_report_is_no_wider_than_the_screen(
    chromium_run: RunFolder, page: Page, width_px: int
):
    await page.set_viewport_size({"width": width_px, "height": 800})
    await page.goto(chromium_run.report.as_uri())
    assert await page.evaluate("document.documentElement.scrollWidth") == width_px
    size_px = "getComputedStyle(document.querySelector('.words')).fontSize"
    assert await page.evaluate(size_px) == "15px", "text is not shrunk to fit"


def test_a_run_that_was_killed_has_a_report_too(chromium_run: RunFolder, tmp_path: Path):
    lines = chromium_run.metrics.read_bytes()
    folder = RunFolder(path=tmp_path)
    folder.metrics.write_bytes(lines[:-20])  # the last row is cut
    page = write_report(folder).read_text(encoding="utf-8")
    assert "no summary" in page and "<td>untrained</td>" in page and "none were archived" in page
    folder.metrics.write_bytes(b"")
    assert "nothing was evaluated" in report_html(folder)


def test_the_report_shows_right_and_wrong_attempts_of_the_trained_policy_first(
    chromium_run: RunFolder,
):
    archived = [(path, read_head(path)) for path in archived_paths(chromium_run.path)]
    heads = [read_head(path) for path in choose(archived)]
    assert heads[0].phase == "trained" and heads[-1].phase == "untrained"
    shown = [(head.phase, head.kind, head.is_right) for head in heads]
    assert len(shown) == len(set(shown))


def test_a_film_shows_each_picture_and_waits_at_the_end(chromium_run: RunFolder):
    path = next(p for p in archived_paths(chromium_run.path) if "oracle" in p.name)
    episode = read_episode(path)
    frames = [read_frame(path, number) for number in range(len(episode.scenes))]
    film = Image.open(io.BytesIO(gif(episode.scenes, episode.moves, frames)))
    durations = [frame.info["duration"] for frame in ImageSequence.Iterator(film)]
    assert film.info["loop"] == 0, "for ever"
    # Pictures that equal the one before make it last longer.
    assert durations[-1] >= LAST_FRAME_MS and (durations[-1] - LAST_FRAME_MS) % FRAME_MS == 0
    assert sum(durations) == FRAME_MS * (len(frames) - 1) + LAST_FRAME_MS
    assert gif(episode.scenes, episode.moves, [b""] * len(frames)) == b""


def test_a_page_that_was_still_loading_says_so(chromium_run: RunFolder):
    scene = read_episode(archived_paths(chromium_run.path)[0]).scenes[0]
    assert "still loading" in where_html(dataclasses.replace(scene, page_state="loading"))
    assert "still loading" not in where_html(dataclasses.replace(scene, page_state="idle"))


# --- Drawings ----------------------------------------------------------------------------------


def drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(svg_chart(chart))


def test_a_chart_puts_values_where_its_axes_say():
    series = Series(name="a < b", x=(0.0, 10.0), y=(0.0, 1.0))
    figure = drawn(Chart(title="t & u", x_label="x", series=(series,), y_range=(0.0, 1.0)))
    line = figure.find(".//polyline")
    assert line is not None and line.get("class") == "line c0"
    (x0, y0), (x1, y1) = [map(float, pair.split(",")) for pair in line.get("points", "").split()]
    ticks = {text.text: text for text in figure.iter("text")}
    assert float(ticks["10"].get("x", "")) == pytest.approx(x1, abs=0.1)
    assert float(ticks["1"].get("y", "")) == pytest.approx(y1 + 3.5, abs=0.1)
    assert x0 < x1 and y0 > y1


@pytest.mark.parametrize("y", [(), (1.0,), (2.0, 2.0), (float("nan"), 1.0), (float("inf"),) * 3])
def test_a_chart_of_strange_values_is_still_a_chart(y: tuple[float, ...]):
    x = tuple(float(i) for i in range(len(y)))
    drawn(Chart(title="t", x_label="x", series=(Series(name="a", x=x, y=y),)))


def test_long_lines_are_thinned_and_keep_their_end():
    x = tuple(float(i) for i in range(10_000))
    chart = Chart(title="t", x_label="x", series=(Series(name="a", x=x, y=x),))
    line = drawn(chart).find(".//polyline")
    assert line is not None
    points = line.get("points", "").split()
    assert MAX_POINTS / 2 < len(points) <= MAX_POINTS
    assert points[-1] == "408.0,10.0", "the right upper corner"


def test_ticks_are_round_and_within_their_range():
    assert nice_ticks(0.0, 1.0) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert nice_ticks(3.0, 97.0) == [25.0, 50.0, 75.0]
    assert nice_ticks(-2e-5, 2e-5) == [-2e-05, -1e-05, 0.0, 1e-05, 2e-05]


def test_success_is_averaged_over_attempts_by_kind_and_over_their_steps():
    rows = [
        {"event": "attempt", "kind": "a", "steps": 10, "is_right": 1},
        {"event": "attempt", "kind": "b", "steps": 5, "is_right": 0},
        {"event": "attempt", "kind": "b", "steps": 5, "unscored": "gone"},
        {"event": "attempt", "kind": "a", "steps": 10, "is_right": 0},
    ]
    success = curves.charts(rows)[0]
    by_name = {series.name: series for series in success.series}
    assert by_name["all"].x == (10.0, 15.0, 30.0)
    assert by_name["all"].y == (1.0, 0.5, pytest.approx(1 / 3))
    assert by_name["a"].y == (1.0, 0.5)
