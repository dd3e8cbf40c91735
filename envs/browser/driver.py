# SPDX-License-Identifier: Apache-2.0
"""`PageDriver` on a real Chromium.

One driver owns one browser, one loopback server and, per episode, one browser context. Every call
to the browser has a deadline; whatever goes wrong with browser, socket or Playwright leaves the
driver as `InfraError`, after which `close` and `start` bring up a fresh one.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from envs.actions import MAX_TABS
from envs.browser.boundary import Boundary
from envs.browser.cdp import CdpConnection, CdpError
from envs.browser.launch import LaunchedBrowser
from envs.browser.pointing import (
    NotReachable,
    Point,
    find_point,
    post_click,
    post_enter,
    post_hover,
    post_replace,
    run_on_node,
)
from envs.browser.reading import FOCUSED, entry_before, read_page
from envs.browser.settle import StepStart, begin, settle, settle_navigation
from envs.browser.snapshot import split_ref
from envs.browser.tab import Tab
from envs.browser.tabs import TabStrip
from envs.config import BrowserConfig
from envs.dom import DomNode
from envs.driver import Effect, InfraError, PageSnapshot
from envs.site import Site
from envs.site_server import SiteServer
from envs.types import StopReason

_LOG = logging.getLogger(__name__)

_OPENABLE_SCHEMES = frozenset({"http", "https"})

# The scroller under the window's centre, so that a page within the page scrolls too.
_SCROLL = """dy => {
  let node = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
  while (node && !(node.scrollHeight > node.clientHeight
                   && /auto|scroll/.test(getComputedStyle(node).overflowY)))
    node = node.parentElement;
  (node || document.scrollingElement || document.documentElement)
    .scrollBy({top: dy, behavior: 'instant'});
}"""
_SELECT = """function (index) {
  if (this.localName != 'select' || this.disabled || !this.options[index]
      || this.options[index].disabled) return false;
  this.selectedIndex = index;
  this.dispatchEvent(new Event('input', {bubbles: true}));
  this.dispatchEvent(new Event('change', {bubbles: true}));
  return true;
}"""
_LINK_URL = "function () { return this.isConnected ? this.href || '' : null; }"

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _guarded(
    method: Callable[_P, Coroutine[Any, Any, _T]],
) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """`method`, but an error of the browser that it has no use for leaves as `InfraError`."""

    @functools.wraps(method)
    async def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await method(*args, **kwargs)
        except CdpError as error:
            raise InfraError(StopReason.INFRA_BROWSER, str(error)) from error

    return guarded


class ChromiumDriver:
    """One Chromium; see `envs.driver.PageDriver` for what each method does."""

    def __init__(self, config: BrowserConfig, max_elements: int) -> None:
        self._config = config
        self._max_elements = max_elements
        self._server = SiteServer()
        self._boundary = Boundary(config.egress)
        self._browser = LaunchedBrowser(config)
        self._connection = CdpConnection(config.call_timeout_s)
        self._strip = TabStrip(self._connection, config)
        self._num_episodes = 0
        self._nodes: Sequence[DomNode] = ()  # of the last snapshot

    @property
    def browser_pid(self) -> int:
        """Pid of the browser's main process; 0 while there is none."""
        return self._browser.browser_pid

    @property
    def site_port(self) -> int:
        """Port of the loopback server; 0 while there is none."""
        return self._server.port

    # --- Life ---------------------------------------------------------------------------------

    @_guarded
    async def start(self) -> None:
        """Bring the browser up; one that is still there is closed first."""
        await self.close()
        await self._server.start()
        self._connection = CdpConnection(self._config.call_timeout_s)
        self._strip = TabStrip(self._connection, self._config)
        self._num_episodes = 0
        try:
            await self._boundary.start(self._server.port)
            await self._browser.start(self._server.port, self._boundary.port)
            await self._connection.connect(self._browser.devtools_url)
            await self._strip.connect()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Give back every process, folder and port."""
        await self._connection.close()
        await self._browser.close()
        await self._boundary.close()
        await self._server.close()

    @_guarded
    async def reset(self, site: Site) -> None:
        """Start an episode in a context of its own; in a fresh browser when this one is old."""
        if self._num_episodes >= self._config.episodes_per_browser:
            await self.close()
            await self.start()
        self._num_episodes += 1
        self._nodes = ()
        self._server.set_site(site)
        await self._strip.new_context()
        self._boundary.begin_episode()  # with the last episode's pages gone

    # --- Reading ------------------------------------------------------------------------------

    @_guarded
    async def snapshot(self, *, with_screenshot: bool) -> PageSnapshot:
        """Read the active page."""
        try:
            return await self._read(with_screenshot)
        except CdpError as error:
            _LOG.debug("the document went away while it was read: %s", error)
        tab = self._tab()
        await settle_navigation(tab, begin(tab), self._config)
        return await self._read(with_screenshot)

    async def _read(self, with_screenshot: bool) -> PageSnapshot:
        tab = self._tab()
        if tab.is_navigating:  # by a script or a refresh: nothing would answer now
            await settle_navigation(tab, begin(tab), self._config)
        snapshot, self._nodes = await read_page(
            tab,
            self._strip.tabs,
            self._config,
            max_elements=self._max_elements,
            with_screenshot=with_screenshot,
        )
        return replace(snapshot, is_refused=True) if self._boundary.is_refused(tab) else snapshot

    # --- Acting on the page -------------------------------------------------------------------

    @_guarded
    async def open(self, url: str) -> Effect:
        """Load `url` in the active tab; anything but http and https is refused."""
        scheme = urlsplit(url).scheme
        if scheme not in _OPENABLE_SCHEMES:
            return replace(_still("url_refused"), refusals=(f"{scheme}: document",))
        tab = self._tab()
        start = begin(tab)
        tab.expect_navigation(tab.post("Page.navigate", {"url": url}))
        return await self._follow(await settle_navigation(tab, start, self._config), tab, ())

    @_guarded
    async def click(self, node_ref: int) -> Effect:
        """Scroll the element into view and click it; new tabs that opens are followed."""

        async def action(tab: Tab) -> None:
            await tab.finish(post_click(tab, await self._point(tab, node_ref)))

        return await self._act(action)

    @_guarded
    async def hover(self, node_ref: int) -> Effect:
        """Move the mouse over the element."""

        async def action(tab: Tab) -> None:
            await tab.finish(post_hover(tab, await self._point(tab, node_ref)))

        return await self._act(action)

    @_guarded
    async def type_text(self, node_ref: int, text: str) -> Effect:
        """Focus the field and replace its content."""

        async def action(tab: Tab) -> None:
            await self._point(tab, node_ref)
            try:
                await tab.call("DOM.focus", {"backendNodeId": split_ref(node_ref)[1]})
            except CdpError:
                raise NotReachable("not_typable") from None
            await tab.finish(post_replace(tab, text))

        return await self._act(action, needs_quiet=False)

    @_guarded
    async def clear(self, node_ref: int) -> Effect:
        """Empty the field."""
        return await self.type_text(node_ref, "")

    @_guarded
    async def select_option(self, node_ref: int, option: int) -> Effect:
        """Choose an option of a select box."""

        async def action(tab: Tab) -> None:
            await self._point(tab, node_ref)
            chosen = await run_on_node(tab, split_ref(node_ref)[1], _SELECT, option)
            if not chosen.get("value"):
                raise NotReachable("not_selectable")

        return await self._act(action)

    @_guarded
    async def press_enter(self) -> Effect:
        """Press Enter in the focused element."""

        async def action(tab: Tab) -> None:
            if "objectId" not in await tab.run(FOCUSED, by_value=False):
                raise NotReachable("nothing_focused")
            await tab.finish(post_enter(tab))

        return await self._act(action)

    @_guarded
    async def scroll_by(self, dy_px: int) -> Effect:
        """Scroll the page; a large `dy_px` goes to the bottom."""

        async def action(tab: Tab) -> None:
            await tab.run(_SCROLL, dy_px)

        return await self._act(action)

    @_guarded
    async def wait(self, duration_ms: int) -> Effect:
        """Let the page run for `duration_ms`."""

        async def action(tab: Tab) -> None:
            until_s = asyncio.get_running_loop().time() + duration_ms / 1000
            while await tab.wait_for_change(until_s):
                pass

        return await self._act(action, needs_quiet=False)

    # --- History and tabs ---------------------------------------------------------------------

    @_guarded
    async def go_back(self) -> Effect:
        """One step back in the active tab's history."""
        tab = self._tab()
        start = begin(tab)
        entry = entry_before(await tab.call("Page.getNavigationHistory"))
        if entry is None:
            return _still("no_history")
        await tab.call("Page.navigateToHistoryEntry", {"entryId": entry["id"]})
        return await self._follow(await settle(tab, start, self._config), tab, ())

    @_guarded
    async def open_in_new_tab(self, node_ref: int) -> Effect:
        """Open a link in a new tab and make it the active one."""
        tab = self._tab()
        if len(self._strip.tabs) >= MAX_TABS:
            return _still("too_many_tabs")
        try:
            backend_id = self._backend_id(tab, node_ref)
            url = (await run_on_node(tab, backend_id, _LINK_URL)).get("value")
        except NotReachable as error:
            return _still(error.reason)
        if not url:
            return _still("target_gone" if url is None else "not_a_link")
        await self._strip.open_blank()
        return await self.open(url)

    @_guarded
    async def switch_tab(self, tab: int) -> Effect:
        """Make a tab the active one."""
        if not 0 <= tab < len(self._strip.tabs):
            return _still("no_such_tab")
        return await self._change_tab(self._strip.bring_to_front(tab))

    @_guarded
    async def close_tab(self) -> Effect:
        """Close the active tab; the one before it becomes active."""
        if len(self._strip.tabs) < 2:
            return _still("last_tab")
        return await self._change_tab(self._strip.close_active())

    # --- How an action runs -------------------------------------------------------------------

    async def _act(
        self, action: Callable[[Tab], Awaitable[None]], *, needs_quiet: bool = True
    ) -> Effect:
        """Run an action on the active tab, wait for its effect, follow the tabs it opened."""
        tab = self._tab()
        before = tuple(self._strip.tabs)
        start = begin(tab)
        try:
            await action(tab)
        except NotReachable as error:
            return _still(error.reason)
        except CdpError:
            # The document went away under the action, which `settle` sees as a navigation; or the
            # tab did, and the refusal may come before the event that says so.
            if not await self._has_left(tab, start):
                return _still("target_gone")
        effect = await settle(tab, start, self._config, needs_quiet=needs_quiet)
        return await self._follow(effect, tab, before)

    async def _has_left(self, tab: Tab, start: StepStart) -> bool:
        """Whether the document of `start` is going or gone, with its tab or without."""
        until_s = asyncio.get_running_loop().time() + self._config.quiet_ms / 1000
        while not (tab.is_closed or tab.is_navigating or tab.num_commits > start.num_commits):
            if not await tab.wait_for_change(until_s):
                return False
        return True

    async def _follow(self, effect: Effect, tab: Tab, before: Sequence[Tab]) -> Effect:
        """Make the newest tab that an action opened the active one; tell what was refused."""
        effect = await self._arrived(effect, tab, before)
        return self._boundary.told(effect, self._strip.active if self._strip.tabs else None)

    async def _arrived(self, effect: Effect, tab: Tab, before: Sequence[Tab]) -> Effect:
        strip = self._strip
        await strip.started()
        opened = [t for t in strip.tabs if t not in before] if before else []
        num_refused, strip.num_refused = strip.num_refused, 0
        if opened:
            await strip.bring_to_front(strip.tabs.index(opened[-1]))
            start = StepStart(time_s=asyncio.get_running_loop().time(), num_commits=0)
            arrived = await settle(opened[-1], start, self._config)
            return replace(arrived, navigated=True, settle_ms=arrived.settle_ms + effect.settle_ms)
        if num_refused:
            return replace(effect, reason="too_many_tabs")
        if not strip.tabs:  # the page closed the last one
            await strip.open_blank()
            return replace(effect, navigated=True)
        return replace(effect, navigated=True) if tab.is_closed else effect

    async def _change_tab(self, change: Awaitable[None]) -> Effect:
        """Another tab comes to the front: for the agent that is another document."""
        start_s = asyncio.get_running_loop().time()
        await change
        tab = self._tab()
        start = StepStart(time_s=start_s, num_commits=tab.num_commits)
        return replace(await settle(tab, start, self._config, needs_quiet=False), navigated=True)

    async def _point(self, tab: Tab, node_ref: int) -> Point:
        viewport = (self._config.viewport_width_px, self._config.viewport_height_px)
        return await find_point(tab, self._backend_id(tab, node_ref), self._nodes, viewport)

    def _backend_id(self, tab: Tab, node_ref: int) -> int:
        generation, backend_id = split_ref(node_ref)
        if generation != tab.generation:
            raise NotReachable("target_gone")
        return backend_id

    def _tab(self) -> Tab:
        if not self._strip.tabs:
            raise InfraError(StopReason.INFRA_BROWSER, "there is no page; expected start, reset")
        return self._strip.active


def _still(reason: str) -> Effect:
    return Effect(reason=reason, navigated=False, settle_ms=0.0, settled_by="quiet")
