# SPDX-License-Identifier: Apache-2.0
"""What a browser must be able to do for an env: `browser/` has Chromium, `twin/` has plain HTML.

Every method ends within its deadline. A target that is gone is a `NoEffect` result with a reason;
a browser that is gone or hangs raises `InfraError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from envs.dom import PageElement
from envs.site import Site
from envs.types import PageState, StopReason, Tab

PAGE_REFUSED = "page_refused"  # `Effect.reason` of a page that the boundary does not let in


class InfraError(RuntimeError):
    """The world broke, not the agent; `stop` says how."""

    def __init__(self, stop: StopReason, detail: str) -> None:
        super().__init__(f"{stop.value}: {detail}")
        self.stop = stop
        self.detail = detail


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What an action did to the page."""

    reason: str  # "ok", or why nothing happened: "target_gone", "occluded", "not_selectable", ...
    navigated: bool  # a new document was committed in the active tab
    settle_ms: float
    settled_by: str  # "quiet", "navigation" or "cap"
    num_images: int = 0  # of the new document, when navigated
    num_images_failed: int = 0
    # Each "HOST:PORT REASON" of `envs.egress.refusal`, or "SCHEME: document"; pages' requests too.
    refusals: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PageSnapshot:
    """The active page as rows; made in one pass, the page is never modified."""

    url: str
    title: str
    elements: tuple[PageElement, ...]  # document order, capped
    is_truncated: bool  # the cap cut elements off
    scroll_y_px: float
    page_height_px: float
    viewport: tuple[int, int]
    tabs: tuple[Tab, ...]
    can_go_back: bool
    state: PageState
    screenshot_jpeg: bytes  # b"" when not asked for
    screenshot_scale: float
    is_refused: bool = False  # the page is the browser's own, in place of one that was refused


class PageDriver(Protocol):
    """One browser with up to `MAX_TABS` tabs. `node_ref` is a `PageElement.node_ref`."""

    async def start(self) -> None:
        """Bring the browser up; called once before everything else."""

    async def reset(self, site: Site) -> None:
        """Forget the last episode (cookies, storage, cache, history, tabs) and serve `site`."""

    async def open(self, url: str) -> Effect:
        """Load `url` in the active tab."""

    async def snapshot(self, *, with_screenshot: bool) -> PageSnapshot:
        """Read the active page."""

    async def click(self, node_ref: int) -> Effect:
        """Scroll the element into view and click it; new tabs that opens are followed."""

    async def hover(self, node_ref: int) -> Effect:
        """Move the mouse over the element."""

    async def type_text(self, node_ref: int, text: str) -> Effect:
        """Focus the field and replace its content."""

    async def clear(self, node_ref: int) -> Effect:
        """Empty the field."""

    async def select_option(self, node_ref: int, option: int) -> Effect:
        """Choose an option of a select box."""

    async def press_enter(self) -> Effect:
        """Press Enter in the focused element."""

    async def scroll_by(self, dy_px: int) -> Effect:
        """Scroll the page; a large `dy_px` goes to the bottom."""

    async def go_back(self) -> Effect:
        """One step back in the active tab's history."""

    async def open_in_new_tab(self, node_ref: int) -> Effect:
        """Open a link in a new tab and make it the active one."""

    async def switch_tab(self, tab: int) -> Effect:
        """Make a tab the active one."""

    async def close_tab(self) -> Effect:
        """Close the active tab; the one before it becomes active."""

    async def wait(self, duration_ms: int) -> Effect:
        """Let the page run for `duration_ms`."""

    async def close(self) -> None:
        """Give back every process, folder and port; safe to call twice and after a crash."""
