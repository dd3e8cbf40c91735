# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.benchmarks.launch_flags`: what flags of the browser are worth; a line of JSON.

Two browsers do the same, operation by operation in turns, so that whatever else the machine does
weighs on both: one is started as always, the other without `--without-flag` (repeatable), with the
features of `--with-feature` left on, with the flags of `--and-flag` and without the features of
`--and-without-feature`, or it is another browser, `--other-browser`. Per operation, medians of
milliseconds of processor time of the browser's processes: `as_always_ms`, `other_ms`, and `ratio`,
the median over pairs of the first to the other.

- `reset`: a fresh context, its first page, read with a screenshot
- `navigate`: a click on a link, the page it leads to, read with a screenshot
- `scroll`, `type`: on the same page, read without one
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
from collections import defaultdict
from unittest import mock

import orjson
import psutil

from envs.browser import launch
from envs.browser.driver import ChromiumDriver
from envs.config import BrowserConfig
from envs.driver import PageSnapshot
from tests.benchmarks.env_step import HOST, MAX_ELEMENTS, LinkedPages

OPERATIONS = ("reset", "navigate", "scroll", "navigate", "type")
REST_S = 0.03  # what an operation leaves behind is counted with it


class Arm:
    """One browser and the page it is on."""

    def __init__(self, num_elements: int, executable: str = "") -> None:
        config = BrowserConfig(executable=executable)
        self.driver = ChromiumDriver(config, max_elements=MAX_ELEMENTS)
        self._site = LinkedPages(num_elements)
        self._page: PageSnapshot | None = None

    async def cost_ms(self, operation: str) -> float:
        """Processor time that one operation takes."""
        before = _cpu_ms(self.driver.browser_pid)
        await self._run(operation)
        await asyncio.sleep(REST_S)
        after = _cpu_ms(self.driver.browser_pid)
        return sum(ms - before.get(pid, 0.0) for pid, ms in after.items())

    async def _run(self, operation: str) -> None:
        driver = self.driver
        if operation == "reset":
            await driver.reset(self._site)
            await driver.open(f"http://{HOST}/1")
        elif operation == "navigate":
            effect = await driver.click(self._page.elements[0].node_ref)
            if not effect.navigated:
                raise RuntimeError(f"expected a click that navigates, got {effect}")
        elif operation == "scroll":
            await driver.scroll_by(400)
            await driver.scroll_by(-10_000)
        else:
            field = next(e for e in self._page.elements if e.is_typable)
            await driver.type_text(field.node_ref, "some words")
        is_new = operation in ("reset", "navigate")
        self._page = await driver.snapshot(with_screenshot=is_new)


def _cpu_ms(browser_pid: int) -> dict[int, float]:
    """Processor time so far by process; the scheduler's count, as the other ticks in 10 ms."""
    browser = psutil.Process(browser_pid)
    total: dict[int, float] = {}
    for process in (browser, *browser.children(recursive=True)):
        with contextlib.suppress(psutil.Error, OSError):
            for thread in process.threads():
                path = f"/proc/{process.pid}/task/{thread.id}/schedstat"
                with contextlib.suppress(OSError), open(path) as file:
                    nanoseconds = int(file.read().split()[0])
                    total[process.pid] = total.get(process.pid, 0.0) + nanoseconds / 1e6
    return total


async def measure(
    other: dict[str, tuple[str, ...]], other_browser: str, num_rounds: int, num_elements: int
) -> dict:
    always, changed = Arm(num_elements), Arm(num_elements, other_browser)
    costs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    try:
        await always.driver.start()
        with mock.patch.multiple(launch, **other):
            await changed.driver.start()
        for number in range(num_rounds + 1):
            for operation in OPERATIONS:
                order = (always, changed) if number % 2 else (changed, always)
                cost = {arm: await arm.cost_ms(operation) for arm in order}
                if number > 0:  # the first round warms up
                    costs[operation].append((cost[always], cost[changed]))
    finally:
        await always.driver.close()
        await changed.driver.close()
    return {
        operation: {
            "as_always_ms": round(statistics.median(a for a, _ in pairs), 1),
            "other_ms": round(statistics.median(b for _, b in pairs), 1),
            "ratio": round(statistics.median(a / b for a, b in pairs), 2),
        }
        for operation, pairs in costs.items()
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--elements", type=int, default=50)
    parser.add_argument("--other-browser", default="")
    for name in ("without-flag", "with-feature", "and-flag", "and-without-feature"):
        parser.add_argument(f"--{name}", action="append", default=[])
    given = parser.parse_args()

    def without(names: tuple[str, ...], dropped: list[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in dropped)

    features = without(launch._DISABLED_FEATURES, given.with_feature)
    other = {
        "_FLAGS": (*without(launch._FLAGS, given.without_flag), *given.and_flag),
        "_HEADLESS_FLAGS": without(launch._HEADLESS_FLAGS, given.without_flag),
        "_DISABLED_FEATURES": (*features, *given.and_without_feature),
    }
    figures = await measure(other, given.other_browser, given.rounds, given.elements)
    print(orjson.dumps({"benchmark": "launch_flags", "operations": figures}).decode())


if __name__ == "__main__":
    asyncio.run(main())
