# SPDX-License-Identifier: Apache-2.0
"""The socket to a browser is given back by closing it, also where the browser answers nothing."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from envs.browser.cdp import CdpConnection


@pytest.mark.parametrize("is_killed", [False, True])
async def test_closing_gives_the_socket_back_and_waits_for_no_handshake(is_killed: bool) -> None:
    peers: list[web.Request] = []
    may_end = asyncio.Event()

    async def frozen(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        peers.append(request)
        await may_end.wait()  # reads nothing and answers nothing
        return socket

    app = web.Application()
    app.router.add_get("/", frozen)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    connection = CdpConnection(call_timeout_s=30.0)
    await connection.connect(f"http://127.0.0.1:{runner.addresses[0][1]}/")
    socket = connection._socket
    assert socket is not None and socket._response.connection is not None
    if is_killed:
        transport = peers[0].transport
        assert transport is not None
        transport.abort()
    async with asyncio.timeout(10):  # far below the deadline of a call
        await connection.close()
        await connection.close()
    assert socket.closed and socket._response.connection is None
    assert not connection.is_open
    may_end.set()
    await runner.cleanup()
