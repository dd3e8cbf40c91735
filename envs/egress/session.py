# SPDX-License-Identifier: Apache-2.0
"""One client's connection: requests in a row, each checked, to one server after another.

The connection to a server is kept for the next request to the same target, which is the connection
that was checked. A client that leaves while a server thinks ends the wait.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from http import HTTPStatus

from envs.egress.caps import Caps
from envs.egress.channel import BadMessageError, Channel
from envs.egress.config import EgressConfig
from envs.egress.dialer import Dialer, NoAnswerError, UnreachableError
from envs.egress.http import (
    RequestHead,
    ResponseHead,
    error_head,
    parse_request,
    parse_response,
)
from envs.egress.refusal import Reason, Refusal, RefusedError
from envs.egress.relay import Tunnel, relay_body
from envs.egress.target import Target

_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_MAX_INTERIM = 8  # answers like "103 Early Hints" before the answer itself


class _ClientLeft(Exception):
    """Nobody waits for the answer any more."""


class Session:
    """Serves one client until it leaves, errs, or is refused."""

    def __init__(
        self,
        client: Channel,
        dialer: Dialer,
        caps: Caps,
        config: EgressConfig,
        on_refusal: Callable[[Refusal], None],
    ) -> None:
        self._client = client
        self._dialer = dialer
        self._caps = caps
        self._config = config
        self._on_refusal = on_refusal
        self._server: Channel | None = None
        self._server_target: Target | None = None
        self._has_begun_answer = False

    async def run(self) -> None:
        """Serve; raises nothing but a cancellation."""
        try:
            await self._run()
        except RefusedError as error:
            self._on_refusal(error.refusal)
            await self._fail(error.refusal.reason.status(), error.refusal.reason.value)
        except UnreachableError:
            await self._fail(HTTPStatus.BAD_GATEWAY, "unreachable")
        except NoAnswerError:
            await self._fail(HTTPStatus.GATEWAY_TIMEOUT, "no_answer")
        except BadMessageError:
            await self._fail(HTTPStatus.BAD_GATEWAY, "bad_message")
        except (_ClientLeft, OSError):
            pass  # a connection is gone or idle, time-outs of channels included
        finally:
            self._drop_server()
            self._client.abort()

    async def refuse(self, reason: Reason) -> None:
        """Answer a client that is one too many, unread."""
        self._on_refusal(Refusal(authority="", reason=reason))
        await self._fail(reason.status(), reason.value)
        self._client.abort()

    async def _run(self) -> None:
        while True:
            try:
                data = await self._client.read_head()
            except BadMessageError as error:
                raise RefusedError(Reason.MALFORMED) from error
            if not data:
                return
            self._has_begun_answer = False
            request = parse_request(data)
            self._admit(request.target)
            if request.is_tunnel:
                await self._tunnel(request.target)
                return
            if not await self._exchange(request):
                await self._client.flush()
                return

    def _admit(self, target: Target) -> None:
        if self._dialer.policy.is_site(target):
            return
        if not self._caps.take_request(target.domain, asyncio.get_running_loop().time()):
            raise RefusedError(Reason.RATE, target.authority)
        if not self._caps.has_bytes(target.domain):
            raise RefusedError(Reason.BYTES, target.authority)

    def _count(self, target: Target) -> Callable[[int], None]:
        if self._dialer.policy.is_site(target):
            return lambda num_bytes: None

        def count(num_bytes: int) -> None:
            if not self._caps.take_bytes(target.domain, num_bytes):
                raise RefusedError(Reason.BYTES, target.authority)

        return count

    # --- Tunnels ------------------------------------------------------------------------------

    async def _tunnel(self, target: Target) -> None:
        self._drop_server()
        self._server = await self._dialer.dial(target)
        await self._client.write(_ESTABLISHED)
        self._has_begun_answer = True
        tunnel = Tunnel(
            self._client,
            self._server,
            self._count(target),
            first_byte_timeout_s=self._first_byte_timeout_s(target),
        )
        if not await tunnel.run(lambda: self._dialer.answered(target)):
            self._dialer.timed_out(target)

    # --- Requests -----------------------------------------------------------------------------

    async def _exchange(self, request: RequestHead) -> bool:
        """One request and its answer; whether the client's connection stays open."""
        target = request.target
        server = self._server
        is_kept = server is not None and self._server_target == target and not server.has_ended
        if not is_kept:
            await self._connect(target)
        try:
            data = await self._ask(request)
        except ConnectionError:
            data = b""
        if not data and is_kept and not (request.body.length or request.body.is_chunked):
            # The server closed the connection that was kept for it in this very moment.
            await self._connect(target)
            data = await self._ask(request)
        self._dialer.answered(target)
        try:
            response = await self._final_head(data, request.method)
        except ValueError as error:
            raise BadMessageError(f"{target.authority}: {error}") from error
        keeps_client = request.keeps_alive and not response.body.is_until_close
        self._has_begun_answer = True
        count = self._count(target)
        count(len(data))
        await self._client.write(response.encode(keeps_alive=keeps_client))
        await relay_body(self._kept(), self._client, response.body, count)
        if not response.keeps_alive:
            self._drop_server()
        return keeps_client

    async def _connect(self, target: Target) -> None:
        self._drop_server()
        self._server = await self._dialer.dial(target)
        self._server_target = target

    async def _ask(self, request: RequestHead) -> bytes:
        """Send a request; the head that comes back, b"" when the server closed instead."""
        server = self._kept()
        await server.write(request.encode())
        await relay_body(self._client, server, request.body, self._count(request.target))
        reading = asyncio.ensure_future(server.read_head())
        leaving = self._client.peek()
        until_s = self._first_byte_timeout_s(request.target)
        try:
            await asyncio.wait(
                {reading, leaving}, timeout=until_s, return_when=asyncio.FIRST_COMPLETED
            )
            if leaving.done() and not reading.done():
                if leaving.exception() is not None or not leaving.result():
                    raise _ClientLeft
                await asyncio.wait({reading}, timeout=until_s)  # it only asks ahead
            if reading.done():
                return reading.result()
        finally:
            if not reading.done():
                reading.cancel()
                await asyncio.wait({reading})
        self._dialer.timed_out(request.target)
        raise NoAnswerError(f"{request.target.authority}: no answer in time")

    async def _final_head(self, data: bytes, method: str) -> ResponseHead:
        for _ in range(_MAX_INTERIM):
            response = parse_response(data, method=method)
            if response.status >= HTTPStatus.OK:
                return response
            if response.status == HTTPStatus.SWITCHING_PROTOCOLS:
                raise ValueError("expected no other protocol, as none was asked for")
            data = await self._kept().read_head()
        raise ValueError("expected an answer, got interim ones only")

    def _first_byte_timeout_s(self, target: Target) -> float:
        # How slow a site is belongs to its task; it is none of the breaker's business.
        if self._dialer.policy.is_site(target):
            return self._config.idle_timeout_s
        return self._config.first_byte_timeout_s

    # --- Ends ---------------------------------------------------------------------------------

    async def _fail(self, status: HTTPStatus, details: str) -> None:
        """Answer with an error of the proxy's own; when an answer has begun, just close."""
        if self._has_begun_answer:
            return
        with contextlib.suppress(OSError):
            await self._client.write(error_head(status, details))
            await self._client.flush()

    def _kept(self) -> Channel:
        if self._server is None:
            raise RuntimeError("expected a connection to a server, got none; call _connect first")
        return self._server

    def _drop_server(self) -> None:
        server, self._server, self._server_target = self._server, None, None
        if server is not None:
            server.abort()
