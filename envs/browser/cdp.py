# SPDX-License-Identifier: Apache-2.0
"""One websocket to a browser's DevTools endpoint: calls with deadlines, events by session.

Playwright launches and ends the browser; every page is driven over this socket, because a relay
through Playwright's node process doubles the cost of each snapshot and each network event.
One reader task consumes frames; it completes the call that a frame answers, or hands the event to
the session's listener, and when the socket ends it fails whatever still waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from envs.driver import InfraError
from envs.types import StopReason

# A frozen browser never answers the closing handshake, so nothing waits for it.
_NO_HANDSHAKE = aiohttp.ClientWSTimeout(ws_close=0.0)

Params = dict[str, Any]
EventListener = Callable[[str, Params], None]


class CdpError(Exception):
    """The browser answered a call with an error; the caller says what it means."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    session: str
    future: asyncio.Future[Params]


class CdpConnection:
    """Calls and events of one browser; a call's `session` is a page, "" the browser itself."""

    def __init__(self, call_timeout_s: float) -> None:
        self._call_timeout_s = call_timeout_s
        self._client: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._reader: asyncio.Task[None] | None = None
        self._pending: dict[int, _Call] = {}
        self._listeners: dict[str, EventListener] = {}
        self._next_id = 0
        self._is_open = False

    @property
    def is_open(self) -> bool:
        """Whether the socket is up; a frozen browser still counts as up."""
        return self._is_open

    async def connect(self, url: str) -> None:
        """Open the socket; raises `InfraError`."""
        self._client = aiohttp.ClientSession()
        try:
            # Not `wait_for`: up to Python 3.11 it may swallow the cancellation of its caller.
            async with asyncio.timeout(self._call_timeout_s):
                # Snapshots are larger than aiohttp's default limit of 4 MiB.
                self._socket = await self._client.ws_connect(
                    url, max_msg_size=0, compress=0, autoclose=True, timeout=_NO_HANDSHAKE
                )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            await self.close()
            raise InfraError(
                StopReason.INFRA_BROWSER, f"no DevTools at {url}: {error!r}"
            ) from error
        self._is_open = True
        self._reader = asyncio.create_task(self._read())

    def listen(self, session: str, listener: EventListener) -> None:
        """Hand the session's events to `listener`."""
        self._listeners[session] = listener

    def end_session(self, session: str) -> None:
        """The session is over: its pending calls fail with `CdpError`, its listener is dropped."""
        self._listeners.pop(session, None)
        for call_id in [i for i, call in self._pending.items() if call.session == session]:
            call = self._pending.pop(call_id)
            if not call.future.done():
                call.future.set_exception(CdpError(call.method, 0, "the page is gone"))

    def post(
        self, method: str, params: Params | None = None, session: str = ""
    ) -> asyncio.Future[Params]:
        """Send a call and return at once; calls are handled in the order they are posted.

        The future may raise `CdpError` or `InfraError`; nobody has to await it.
        """
        future: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_mark_retrieved)
        if not self._is_open or self._socket is None:
            future.set_exception(_gone(method))
            return future
        self._next_id += 1
        message: Params = {"id": self._next_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        self._pending[self._next_id] = _Call(method, session, future)
        # Sending awaits only for flow control, which is the reader's side of the browser.
        sending = asyncio.ensure_future(
            self._socket.send_frame(orjson.dumps(message), aiohttp.WSMsgType.TEXT)
        )
        sending.add_done_callback(_mark_retrieved)
        return future

    async def wait(
        self, *futures: asyncio.Future[Params], timeout_s: float | None = None
    ) -> list[Params]:
        """Answers of posted calls; raises `CdpError`, or `InfraError` after the deadline."""
        limit_s = self._call_timeout_s if timeout_s is None else timeout_s
        _, waiting = await asyncio.wait(
            futures, timeout=limit_s, return_when=asyncio.FIRST_EXCEPTION
        )
        for future in futures:  # an error first, wherever it is
            if future.done() and future.exception() is not None:
                future.result()
        if waiting:
            methods = [c.method for c in self._pending.values() if c.future in waiting]
            raise InfraError(StopReason.INFRA_TIMEOUT, f"no answer within {limit_s} s: {methods}")
        return [future.result() for future in futures]

    async def call(
        self,
        method: str,
        params: Params | None = None,
        session: str = "",
        *,
        timeout_s: float | None = None,
    ) -> Params:
        """Send one call and wait for its answer."""
        return (await self.wait(self.post(method, params, session), timeout_s=timeout_s))[0]

    async def close(self) -> None:
        """Close the socket and fail what still waits; safe to call twice."""
        self._end()
        if self._reader is not None:
            reader, self._reader = self._reader, None
            reader.cancel()
            # Not `await reader`: a cancellation of the caller must not be taken for the reader's.
            await asyncio.wait({reader})
            _mark_retrieved(reader)
        if self._socket is not None:
            # Given back here: left to the garbage collector, it complains in somebody else's loop.
            socket, self._socket = self._socket, None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._call_timeout_s):  # of a full buffer
                    await socket.close()
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def _read(self) -> None:
        assert self._socket is not None
        try:
            async for frame in self._socket:
                if frame.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                    self._handle(orjson.loads(frame.data))
        finally:
            self._end()

    def _handle(self, message: Params) -> None:
        call_id = message.get("id")
        if call_id is None:
            listener = self._listeners.get(message.get("sessionId", ""))
            if listener is not None:
                listener(message["method"], message["params"])
            return
        call = self._pending.pop(call_id, None)
        if call is None or call.future.done():
            return
        error = message.get("error")
        if error is None:
            call.future.set_result(message["result"])
        else:
            call.future.set_exception(CdpError(call.method, error["code"], error["message"]))

    def _end(self) -> None:
        was_open, self._is_open = self._is_open, False
        pending, self._pending = self._pending, {}
        for call in pending.values():
            if not call.future.done():
                call.future.set_exception(_gone(call.method))
        if was_open:
            for listener in tuple(self._listeners.values()):
                listener(CONNECTION_ENDED, {})


CONNECTION_ENDED = "connection.ended"  # what every listener hears last


def _gone(method: str) -> InfraError:
    return InfraError(StopReason.INFRA_BROWSER, f"the browser is gone, so {method} has no answer")


def _mark_retrieved(future: asyncio.Future[Any]) -> None:
    """Reads the exception, so that asyncio does not report an answer nobody wanted."""
    if not future.cancelled():
        future.exception()
