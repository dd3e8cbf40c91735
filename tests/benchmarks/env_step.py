# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.benchmarks.env_step`: what one step of the browser costs; one line of JSON.

Per page size, medians over the steps in milliseconds:
- `step_ms`: a click on a link, its page, and a snapshot without screenshot; of which
  `snapshot_ms` and `settle_ms` (from the click to the point where the page counts as settled)
- `floor_ms`: bare protocol calls that do the same: three mouse events, the new page's
  DOMContentLoaded, one snapshot; no hit test, no rows
- `reset_ms`: a fresh context with a blank tab
- `egress_ms`: what a step as in `step_ms` takes longer behind the egress proxy: the median of the
  differences of pairs, two browsers side by side
- `cpu_ms`: processor time per step of all processes, this one included (a mean)
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import time

import orjson
import psutil

from envs.browser.cdp import CdpConnection
from envs.browser.driver import ChromiumDriver
from envs.browser.launch import LaunchedBrowser
from envs.browser.snapshot import SNAPSHOT_PARAMS
from envs.browser.tab import Tab
from envs.browser.tabs import TabStrip
from envs.config import BrowserConfig
from envs.egress.config import EgressConfig, EgressMode
from envs.site import PageRequest, PageResponse
from envs.site_server import SiteServer

HOST = "bench.forage.test"
MAX_ELEMENTS = 160
NUM_RESETS = 10


class LinkedPages:
    """Endless pages of about `num_elements` elements; the first link of each leads to the next."""

    def __init__(self, num_elements: int) -> None:
        self._num_rows = (num_elements - 4) // 2

    def hosts(self) -> tuple[str, ...]:
        return (HOST,)

    def respond(self, request: PageRequest) -> PageResponse:
        if request.path == "/style.css":
            css = b"body {font: 16px sans-serif} li {margin: 4px}"
            return PageResponse(status=200, content_type="text/css", body=css)
        if not request.path.strip("/").isdigit():
            return PageResponse(status=404, content_type="text/plain", body=b"")
        number = int(request.path.strip("/"))
        rows = "".join(
            f"<li><a href=/{number}{i}>Entry {i} of {number}</a> has words beside it</li>"
            f"<p>Paragraph {i} says something that is longer than its heading.</p>"
            for i in range(self._num_rows)
        )
        body = f"""<!doctype html><title>Page {number}</title><link rel=stylesheet href=/style.css>
        <a href=/{number + 1} style='position:absolute;left:20px;top:20px'>Next page</a>
        <h1 style='margin-top:60px'>Page {number}</h1>
        <form action=/0><input name=q><button>Search</button></form><ul>{rows}</ul>"""
        return PageResponse(status=200, content_type="text/html", body=body.encode())


async def measure_driver(num_elements: int, num_steps: int) -> dict[str, float]:
    driver = ChromiumDriver(BrowserConfig(), max_elements=MAX_ELEMENTS)
    await driver.start()
    try:
        site = LinkedPages(num_elements)
        resets = [await _timed(driver.reset(site)) for _ in range(NUM_RESETS)]
        await driver.open(f"http://{HOST}/1")
        page = await driver.snapshot(with_screenshot=False)
        steps, snapshots, settles = [], [], []
        cpu_before_s = _cpu_s()
        for _ in range(num_steps):
            begin_s = time.perf_counter()
            effect = await driver.click(page.elements[0].node_ref)
            clicked_s = time.perf_counter()
            page = await driver.snapshot(with_screenshot=False)
            end_s = time.perf_counter()
            if not effect.navigated:
                raise RuntimeError(f"expected a click that navigates, got {effect}")
            steps.append(end_s - begin_s)
            snapshots.append(end_s - clicked_s)
            settles.append(effect.settle_ms / 1000)
        cpu_s = _cpu_s() - cpu_before_s
    finally:
        await driver.close()
    return {
        "num_elements": num_elements,
        "step_ms": _median_ms(steps),
        "snapshot_ms": _median_ms(snapshots),
        "settle_ms": _median_ms(settles),
        "reset_ms": _median_ms(resets),
        "cpu_ms": round(cpu_s / num_steps * 1000, 1),
    }


async def measure_egress(num_elements: int, num_steps: int) -> float:
    """Two browsers in turns, so that the machine's mood is the same for both."""
    modes = (EgressMode.LISTED, EgressMode.OFF)
    taken: dict[EgressMode, list[float]] = {mode: [] for mode in modes}
    async with contextlib.AsyncExitStack() as stack:
        drivers = {}
        for mode in modes:
            config = BrowserConfig(egress=EgressConfig(mode=mode))
            drivers[mode] = ChromiumDriver(config, max_elements=MAX_ELEMENTS)
            stack.push_async_callback(drivers[mode].close)
            await drivers[mode].start()
            await drivers[mode].reset(LinkedPages(num_elements))
            await drivers[mode].open(f"http://{HOST}/1")
        for number in range(num_steps):
            for mode in modes if number % 2 else reversed(modes):
                page = await drivers[mode].snapshot(with_screenshot=False)
                step = _step(drivers[mode], page.elements[0].node_ref)
                taken[mode].append(await _timed(step))
    pairs = zip(taken[EgressMode.LISTED], taken[EgressMode.OFF], strict=True)
    return _median_ms([proxied - plain for proxied, plain in pairs])


async def _step(driver: ChromiumDriver, node_ref: int) -> None:
    effect = await driver.click(node_ref)
    await driver.snapshot(with_screenshot=False)
    if not effect.navigated:
        raise RuntimeError(f"expected a click that navigates, got {effect}")


async def measure_floor(num_elements: int, num_steps: int) -> float:
    config = BrowserConfig()
    server, browser = SiteServer(), LaunchedBrowser(config)
    connection = CdpConnection(config.call_timeout_s)
    await server.start()
    try:
        server.set_site(LinkedPages(num_elements))
        await browser.start(server.port)
        await connection.connect(browser.devtools_url)
        strip = TabStrip(connection, config)
        await strip.connect()
        await strip.new_context()
        await strip.active.call("Page.navigate", {"url": f"http://{HOST}/1"})
        await strip.active.wait_for_change(asyncio.get_running_loop().time() + 1.0)
        await asyncio.sleep(0.5)
        steps = [await _timed(_bare_step(strip.active)) for _ in range(num_steps)]
    finally:
        await connection.close()
        await browser.close()
        await server.close()
    return _median_ms(steps)


async def _bare_step(tab: Tab) -> None:
    commits, until_s = tab.num_commits, asyncio.get_running_loop().time() + 5.0
    place = {"x": 40, "y": 30}
    press = {**place, "button": "left", "clickCount": 1}
    tab.post("Input.dispatchMouseEvent", {**place, "type": "mouseMoved"})
    tab.post("Input.dispatchMouseEvent", {**press, "type": "mousePressed"})
    tab.post("Input.dispatchMouseEvent", {**press, "type": "mouseReleased"})
    while tab.num_commits == commits or not tab.is_dom_ready:
        if not await tab.wait_for_change(until_s):
            raise RuntimeError("expected the bare click to navigate, nothing happened in 5 s")
    await tab.call("DOMSnapshot.captureSnapshot", SNAPSHOT_PARAMS)


async def _timed(call) -> float:
    begin_s = time.perf_counter()
    await call
    return time.perf_counter() - begin_s


def _median_ms(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 1)


def _cpu_s() -> float:
    """Processor time so far of this process and all below it."""
    total_s = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total_s += times.user + times.system
    return total_s


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    num_steps = parser.parse_args().steps
    pages = []
    for num_elements in (50, 500):
        figures = await measure_driver(num_elements, num_steps)
        figures["floor_ms"] = await measure_floor(num_elements, num_steps)
        figures["egress_ms"] = await measure_egress(num_elements, num_steps)
        pages.append(figures)
    print(orjson.dumps({"benchmark": "env_step", "pages": pages}).decode())


if __name__ == "__main__":
    asyncio.run(main())
