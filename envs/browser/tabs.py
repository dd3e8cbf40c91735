# SPDX-License-Identifier: Apache-2.0
"""The tabs of one episode: a browser context of its own, gone with everything in it at the end.

Targets attach paused, so that a dialog or a download of a page's first instant meets its handler.
"""

from __future__ import annotations

import asyncio
import functools
import logging

from envs.actions import MAX_TABS
from envs.browser.cdp import CdpConnection, CdpError, Params
from envs.browser.tab import Tab
from envs.config import BrowserConfig
from envs.driver import InfraError
from envs.types import StopReason

_LOG = logging.getLogger(__name__)


class TabStrip:
    """Open tabs in the order they were opened; `active` is the one in front."""

    def __init__(self, connection: CdpConnection, config: BrowserConfig) -> None:
        self._connection = connection
        self._config = config
        self._context = ""
        self._by_target: dict[str, Tab] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}
        self.tabs: list[Tab] = []
        self.active_index = 0
        self.num_refused = 0  # tabs over the limit, closed at once
        self._is_opening = False  # a tab of our own
        self._is_unasked = False  # a page has opened a window that no click or key asked for

    @property
    def active(self) -> Tab:
        """The tab in front."""
        return self.tabs[self.active_index]

    async def connect(self) -> None:
        """Hear of every target that appears."""
        self._connection.listen("", self._on_event)
        await self._connection.call(
            "Target.setAutoAttach",
            {
                "autoAttach": True,
                "waitForDebuggerOnStart": True,
                "flatten": True,
                "filter": [{"type": "page"}],
            },
        )

    async def new_context(self) -> None:
        """Close the last episode's tabs with all they stored, and open one blank tab."""
        old, self._context = self._context, ""
        self.tabs, self.active_index, self.num_refused = [], 0, 0
        self._is_unasked = False
        if old:
            disposal = self._connection.post(
                "Target.disposeBrowserContext", {"browserContextId": old}
            )
            await self._connection.wait(disposal)
        answer = await self._connection.call(
            "Target.createBrowserContext", {"disposeOnDetach": True}
        )
        self._context = answer["browserContextId"]
        downloads = {"behavior": "deny", "browserContextId": self._context, "eventsEnabled": False}
        await self._connection.call("Browser.setDownloadBehavior", downloads)
        await self.open_blank()

    async def open_blank(self) -> Tab:
        """A new tab in front; raises `InfraError` when it does not stay."""
        # A full-screen window has no tab strip to draw: an eighth less processor time per step.
        params = {
            "url": "about:blank",
            "browserContextId": self._context,
            "newWindow": True,
            "windowState": "fullscreen",
        }
        self._is_opening = True
        try:
            target = (await self._connection.call("Target.createTarget", params))["targetId"]
        finally:
            self._is_opening = False
        await self.started()
        tab = self._by_target.get(target)
        if tab is None:
            raise InfraError(StopReason.INFRA_BROWSER, "a new tab was gone before it was ready")
        self.active_index = self.tabs.index(tab)
        return tab

    async def started(self) -> None:
        """Wait until the tabs that have just appeared are ready; raises `InfraError`."""
        while self._starting:
            await asyncio.gather(*tuple(self._starting.values()))

    async def bring_to_front(self, index: int) -> None:
        """Make a tab the active one."""
        self.active_index = index
        await self.active.call("Page.bringToFront")

    async def close_active(self) -> None:
        """Close the active tab; the one before it comes to the front."""
        tab = self.active
        await self._connection.call("Target.closeTarget", {"targetId": tab.target_id})
        self._forget(tab.target_id)
        await self.bring_to_front(self.active_index)

    def _on_event(self, method: str, params: Params) -> None:
        if method == "Target.attachedToTarget":
            self._on_attached(params)
        elif method == "Target.detachedFromTarget":
            self._forget(params.get("targetId", ""))

    def _on_attached(self, params: Params) -> None:
        info, session = params["targetInfo"], params["sessionId"]
        if info.get("browserContextId") != self._context:
            self._connection.post("Runtime.runIfWaitingForDebugger", session=session)
            return
        is_ours = self._is_opening and not info.get("openerId")
        if self._is_unasked and not is_ours:
            # The headless shell blocks no pop-ups. This one is paused: it has not asked for a page.
            self._connection.post("Target.closeTarget", {"targetId": info["targetId"]})
            return
        if len(self.tabs) >= MAX_TABS:
            self.num_refused += 1
            self._connection.post("Target.closeTarget", {"targetId": info["targetId"]})
            return
        tab = Tab(self._connection, self._config, target_id=info["targetId"], session=session)
        self._connection.listen(session, functools.partial(self._on_page_event, tab))
        self._by_target[tab.target_id] = tab
        self.tabs.append(tab)
        self._starting[tab.target_id] = asyncio.ensure_future(self._start(tab))
        for other in self.tabs:
            other.wake()

    def _on_page_event(self, tab: Tab, method: str, params: Params) -> None:
        if method == "Page.windowOpen":  # comes before the window, if there will be one
            self._is_unasked = not params["userGesture"]
        tab.on_event(method, params)

    async def _start(self, tab: Tab) -> None:
        try:
            await tab.initialise()
        except CdpError as error:
            # Closed again before it was ready, as pop-ups do.
            _LOG.debug("a tab was gone before it was ready: %s", error)
            self._forget(tab.target_id)
        finally:
            self._starting.pop(tab.target_id, None)

    def _forget(self, target_id: str) -> None:
        tab = self._by_target.pop(target_id, None)
        if tab is None:
            return
        self._connection.end_session(tab.session)
        tab.is_closed = True
        tab.wake()
        if tab in self.tabs:
            index = self.tabs.index(tab)
            self.tabs.remove(tab)
            if index <= self.active_index:
                self.active_index = max(0, self.active_index - 1)
