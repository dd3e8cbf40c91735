# SPDX-License-Identifier: Apache-2.0
"""Chromium and the twin doing the same, each held against the other."""

from __future__ import annotations

from envs.driver import Effect, PageDriver, PageSnapshot
from envs.site import Site
from envs.twin.driver import TwinDriver

MAX_ELEMENTS = 200


def table(page: PageSnapshot) -> list[tuple[object, ...]]:
    """All of the element table but boxes, styles and handles."""
    return [
        (
            e.role,
            e.text,
            e.context,
            e.value,
            e.href,
            e.options,
            e.is_occluded,
            e.is_focused,
            e.is_disabled,
            e.is_checked,
            e.is_clickable,
            e.is_typable,
            e.is_in_dialog,
        )
        for e in page.elements
    ]


class Both:
    """Chromium and the twin, doing the same."""

    def __init__(self, chromium: PageDriver) -> None:
        self._drivers = (chromium, TwinDriver(max_elements=MAX_ELEMENTS))
        self.pages: list[PageSnapshot] = []

    async def begin(self, site: Site, start_url: str, *, wait_ms: int = 0) -> None:
        for one in self._drivers:
            await one.reset(site)
            await one.open(start_url)
            if wait_ms:
                await one.wait(wait_ms)
        await self._look()

    async def do(self, name: str, row: int | None = None, *arguments: object) -> Effect:
        """One method of `PageDriver`, on element `row` of each if it takes one."""
        effects = []
        for one, page in zip(self._drivers, self.pages, strict=True):
            refs = [] if row is None else [page.elements[row].node_ref]
            effects.append(await getattr(one, name)(*refs, *arguments))
        seen = [(e.reason, e.navigated, e.num_images, e.num_images_failed) for e in effects]
        assert seen[0] == seen[1], (name, row, arguments, self.pages[0].url)
        await self._look()
        return effects[0]

    async def click(self, text: str) -> Effect:
        [row] = [i for i, e in enumerate(self.pages[0].elements) if e.text == text]
        return await self.do("click", row)

    async def _look(self) -> None:
        self.pages = [await one.snapshot(with_screenshot=False) for one in self._drivers]
        first, second = self.pages
        assert (first.url, first.title) == (second.url, second.title)
        assert (first.tabs, first.can_go_back) == (second.tabs, second.can_go_back)
        assert table(first) == table(second), first.url
