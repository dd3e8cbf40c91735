# SPDX-License-Identifier: Apache-2.0
"""What the host knows of one tab, from events alone.

While a navigation waits for its first byte the renderer answers nothing, so nothing here asks it.
`Tab.on_event` is the connection's listener; waiters sleep in `wait_for_change`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from envs.browser.cdp import CONNECTION_ENDED, CdpConnection, CdpError, Params
from envs.config import BrowserConfig
from envs.driver import InfraError
from envs.egress.http import is_error_of_proxy
from envs.types import StopReason

# What a step waits for; images and fonts come when they come.
_AWAITED_TYPES = frozenset({"Document", "Script", "XHR", "Fetch", "Stylesheet"})
_NO_CONTENT = (204, 205)
# What a tab may show; no page can lead to another (file, chrome, ...), and if one did, it is left.
_DOCUMENT_SCHEMES = frozenset({"http", "https", "about", "data", "blob"})
_BLANK = "about:blank"
_WORLD_NAME = "foragerl"
_STOP_TIMEOUT_S = 1.0
# Documents of all tabs are numbered in one row, so that a handle fits one document only.
_GENERATIONS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that has not ended."""

    kind: str  # CDP ResourceType
    started_s: float  # loop time


class Tab:
    """One page: its session, the state of its document, and what is in flight."""

    def __init__(
        self, connection: CdpConnection, config: BrowserConfig, *, target_id: str, session: str
    ) -> None:
        self._connection = connection
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._change = asyncio.Event()
        self._world: int | None = None
        self._document_status = ("", 0)  # request and HTTP status of the last document response
        self._loader = ""  # of the present document, and the id of the request that brought it
        self.target_id = target_id
        self.session = session
        self.url = _BLANK
        self.title = ""
        self.num_commits = 0
        self.generation = next(_GENERATIONS)  # of the present document
        self.is_navigating = False  # the main frame has asked for a document and has none yet
        self._is_expected = False  # that is, we have asked, and the browser has not begun
        self.is_about_to_navigate = False  # the page has asked for that; the browser not begun
        self.is_dom_ready = True
        self.is_loaded = True
        self._is_unreachable = False  # the document is the browser's own error page
        self._error_loader = ""  # of the document that was the proxy's own error last
        self.is_download_refused = False
        self.refused_schemes: list[str] = []  # of documents that were left at once
        self.is_closed = False
        self.is_crashed = False
        self.committed_s = 0.0
        self.last_activity_s = 0.0  # loop time of the last request's end
        self.in_flight: dict[str, Request] = {}

    # --- Calls --------------------------------------------------------------------------------

    def post(self, method: str, params: Params | None = None) -> asyncio.Future[Params]:
        """Send a call to this page; see `CdpConnection.post`."""
        return self._connection.post(method, params, self.session)

    async def call(
        self, method: str, params: Params | None = None, *, timeout_s: float | None = None
    ) -> Params:
        """Call this page and wait; raises `CdpError` or `InfraError`."""
        return (await self.wait(self.post(method, params), timeout_s=timeout_s))[0]

    async def wait(
        self, *futures: asyncio.Future[Params], timeout_s: float | None = None
    ) -> list[Params]:
        """Answers of posted calls; raises `CdpError` or `InfraError`.

        A page that goes elsewhere by itself answers nothing until the other page does: when the
        deadline finds it on the way, it is stopped and has the same time again.
        """
        limit_s = self._config.call_timeout_s if timeout_s is None else timeout_s
        for future in futures:
            future.add_done_callback(lambda _: self.wake())
        until_s = self._loop.time() + limit_s
        while not all(future.done() for future in futures):
            for future in futures:
                if future.done():
                    future.result()
            if await self.wait_for_change(until_s):
                continue
            if not self.is_navigating:
                raise InfraError(
                    StopReason.INFRA_TIMEOUT, f"no answer from {self.url} within {limit_s} s"
                )
            await self.stop_loading()
            until_s = self._loop.time() + limit_s
        return [future.result() for future in futures]

    async def stop_loading(self) -> None:
        """Give up on the document that is on its way, so that the present one answers again."""
        with contextlib.suppress(CdpError):  # it is arriving in this very moment
            await self._connection.call("Page.stopLoading", session=self.session)
        until_s = self._loop.time() + _STOP_TIMEOUT_S
        while self.is_navigating and await self.wait_for_change(until_s):
            pass
        self.is_navigating = self._is_expected = False
        self.in_flight.clear()

    async def initialise(self) -> None:
        """Turn on events and handlers, then let a page that waited for them run."""
        width, height = self._config.viewport_width_px, self._config.viewport_height_px
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        calls = [
            self.post("Inspector.enable"),  # tells of a crash
            self.post("Page.enable"),
            # Bodies are not read: the smallest buffers that Chromium takes.
            self.post("Network.enable", {"maxTotalBufferSize": 1, "maxResourceBufferSize": 1}),
            self.post("Emulation.setDeviceMetricsOverride", metrics),
            self.post("Emulation.setFocusEmulationEnabled", {"enabled": True}),
            self.post("Page.setInterceptFileChooserDialog", {"enabled": True, "cancel": True}),
            self.post("Runtime.runIfWaitingForDebugger"),
        ]
        await self.wait(*calls)

    async def run(
        self, function: str, *arguments: object, object_id: str = "", by_value: bool = True
    ) -> Params:
        """Run a function beside the page's own scripts, which cannot notice; its RemoteObject.

        `this` is the object `object_id` if given. Raises `CdpError` when the document went away.
        """
        params: Params = {
            "functionDeclaration": function,
            "arguments": [{"value": value} for value in arguments],
            "returnByValue": by_value,
            "awaitPromise": True,
            "silent": True,
        }
        if object_id:
            params["objectId"] = object_id
        else:
            params["executionContextId"] = await self.world()
        answer = await self.call("Runtime.callFunctionOn", params)
        if "exceptionDetails" in answer:
            raise CdpError("Runtime.callFunctionOn", 0, str(answer["exceptionDetails"]))
        result: Params = answer["result"]
        return result

    async def world(self) -> int:
        """Execution context of our own in the main frame's present document."""
        if self._world is None:
            commits = self.num_commits
            params = {"frameId": self.target_id, "worldName": _WORLD_NAME}
            world = int((await self.call("Page.createIsolatedWorld", params))["executionContextId"])
            if commits != self.num_commits:
                return world  # of a document that is gone; the call it is for will say so
            self._world = world
        return self._world

    async def finish(self, futures: Iterable[asyncio.Future[Params]]) -> None:
        """Wait until input events were handled, or a new document made them meaningless."""
        pending, commits = list(futures), self.num_commits
        for future in pending:
            future.add_done_callback(lambda _: self.wake())
        until_s = self._loop.time() + self._config.call_timeout_s
        while not all(future.done() for future in pending):
            if self.is_closed or self.is_navigating or self.num_commits != commits:
                return
            if not await self.wait_for_change(until_s):
                raise InfraError(StopReason.INFRA_TIMEOUT, f"{self.url} does not take input")
        await self.wait(*pending)

    def expect_navigation(self, answer: asyncio.Future[Params]) -> None:
        """A `Page.navigate` was posted: count it as a navigation until it proves to be none."""
        self.is_navigating = self._is_expected = True

        def check(done: asyncio.Future[Params]) -> None:
            # Another place in the same document has no loader; a download and an empty answer are
            # aborted. Any other error commits the browser's error page.
            failed = done.cancelled() or done.exception() is not None
            result = {} if failed else done.result()
            self._is_expected = False
            if "loaderId" not in result or "ERR_ABORTED" in result.get("errorText", ""):
                self.is_navigating = False
            self.wake()

        answer.add_done_callback(check)

    # --- Waiting ------------------------------------------------------------------------------

    async def wait_for_change(self, until_s: float) -> bool:
        """Sleep until an event arrives or the loop's time is `until_s`; False when time is up.

        Raises `InfraError` when the browser or the page's renderer is gone.
        """
        self._raise_if_lost()
        self._change.clear()
        remaining_s = until_s - self._loop.time()
        if remaining_s <= 0.0:
            return False
        # Not `wait_for`: up to Python 3.11 it may swallow the cancellation of its caller.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(remaining_s):
                await self._change.wait()
            self._raise_if_lost()
            return True
        return False

    def wake(self) -> None:
        """Wake who sleeps in `wait_for_change`."""
        self._change.set()

    def awaited(self, since_s: float) -> list[Request]:
        """Requests in flight that a step waits for and that began at `since_s` or later."""
        return [r for r in self.in_flight.values() if r.started_s >= since_s]

    @property
    def is_failed(self) -> bool:
        """Whether the document stands in place of one that did not come."""
        return self._is_unreachable or (bool(self._loader) and self._loader == self._error_loader)

    @property
    def is_arriving(self) -> bool:
        """Whether the document itself, and not only what it refers to, is still coming in."""
        return self._loader in self.in_flight

    def _raise_if_lost(self) -> None:
        if not self._connection.is_open:
            raise InfraError(StopReason.INFRA_BROWSER, "the browser is gone")
        if self.is_crashed:
            raise InfraError(StopReason.INFRA_BROWSER, f"the renderer of {self.url} crashed")

    # --- Events -------------------------------------------------------------------------------

    def on_event(self, method: str, params: Params) -> None:
        """Take one event of this session."""
        handler = _HANDLERS.get(method)
        if handler is not None:
            handler(self, params)
            self._change.set()

    def _on_requested_navigation(self, params: Params) -> None:
        # Under load the browser begins much later than the click that asked was answered.
        if params["frameId"] == self.target_id and params["disposition"] == "currentTab":
            self.is_about_to_navigate = True

    def _on_cleared_navigation(self, params: Params) -> None:
        if params["frameId"] == self.target_id:
            self.is_about_to_navigate = False

    def _on_started_navigating(self, params: Params) -> None:
        is_same_document = params["navigationType"] in ("sameDocument", "historySameDocument")
        if params["frameId"] == self.target_id:
            self.is_about_to_navigate = self._is_expected = False
            self.is_navigating = self.is_navigating or not is_same_document

    def _on_committed(self, params: Params) -> None:
        frame = params["frame"]
        if "parentId" in frame:
            return
        self.url = frame.get("unreachableUrl") or frame["url"] + frame.get("urlFragment", "")
        self._is_unreachable = "unreachableUrl" in frame
        self.num_commits += 1
        self.generation = next(_GENERATIONS)
        self.committed_s = self._loop.time()
        self.is_navigating = self.is_dom_ready = self.is_loaded = False
        self._world = None
        # What the document before had in flight has nothing to do with this one.
        self._loader = frame["loaderId"]
        self.in_flight = {k: r for k, r in self.in_flight.items() if k == self._loader}
        scheme = self.url.partition(":")[0]
        if scheme not in _DOCUMENT_SCHEMES:
            self.refused_schemes.append(scheme)
            self.expect_navigation(self.post("Page.navigate", {"url": _BLANK}))

    def _on_same_document(self, params: Params) -> None:
        if params["frameId"] == self.target_id:
            self.url = params["url"]

    def _on_dom_ready(self, params: Params) -> None:
        self.is_dom_ready = True

    def _on_loaded(self, params: Params) -> None:
        self.is_loaded = True

    def _on_stopped_loading(self, params: Params) -> None:
        # No content, a download, or stopped; before the browser has begun, the document before.
        if params["frameId"] == self.target_id and not self._is_expected:
            self.is_navigating = False

    def _on_request(self, params: Params) -> None:
        if params.get("type") in _AWAITED_TYPES:
            self.in_flight[params["requestId"]] = Request(params["type"], self._loop.time())

    def _on_request_ended(self, params: Params) -> None:
        if self.in_flight.pop(params["requestId"], None) is not None:
            self.last_activity_s = self._loop.time()

    def _on_response(self, params: Params) -> None:
        request = self.in_flight.get(params["requestId"])
        if request is not None and request.kind == "Document":
            self._document_status = (params["requestId"], params["response"]["status"])
            if is_error_of_proxy(params["response"]["headers"]):
                self._error_loader = params["requestId"]

    def _on_request_failed(self, params: Params) -> None:
        # A document that came and was not taken, though there was something to take.
        request_id, status = self._document_status
        if (
            params["requestId"] == request_id
            and status not in _NO_CONTENT
            and params.get("canceled")
        ):
            self.is_download_refused = True
        self._on_request_ended(params)

    def _on_dialog(self, params: Params) -> None:
        # An open dialog freezes the page, so it is answered before anyone can wait for it.
        self.post("Page.handleJavaScriptDialog", {"accept": params["type"] != "prompt"})

    def _on_crashed(self, params: Params) -> None:
        self.is_crashed = True

    def _on_ended(self, params: Params) -> None:
        self.is_closed = True


_HANDLERS = {
    "Page.frameRequestedNavigation": Tab._on_requested_navigation,
    "Page.frameClearedScheduledNavigation": Tab._on_cleared_navigation,
    "Page.frameStartedNavigating": Tab._on_started_navigating,
    "Page.frameNavigated": Tab._on_committed,
    "Page.navigatedWithinDocument": Tab._on_same_document,
    "Page.domContentEventFired": Tab._on_dom_ready,
    "Page.loadEventFired": Tab._on_loaded,
    "Page.frameStoppedLoading": Tab._on_stopped_loading,
    "Page.javascriptDialogOpening": Tab._on_dialog,
    "Network.requestWillBeSent": Tab._on_request,
    "Network.loadingFinished": Tab._on_request_ended,
    "Network.loadingFailed": Tab._on_request_failed,
    "Network.responseReceived": Tab._on_response,
    "Inspector.targetCrashed": Tab._on_crashed,
    CONNECTION_ENDED: Tab._on_ended,
}
