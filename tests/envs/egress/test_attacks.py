# SPDX-License-Identifier: Apache-2.0
"""The table of attacks against a running proxy: what is refused is never connected to."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web

from envs.egress.config import EgressMode
from tests.envs.egress.wire import (
    LOOPBACK,
    OK,
    Names,
    client,
    connect,
    get,
    proxying,
    reasons,
    serving,
    status_of,
)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "10.0.0.1",
        "192.168.0.1",
        "[fd00::1]",
        "[fe80::1]",
    ],
)
async def test_private_addresses_in_every_form_are_refused_both_ways(host):
    async with serving() as server, proxying() as proxy:
        assert await status_of(proxy, get(f"http://{host}:{server.port}/")) == 403
        assert await status_of(proxy, connect(f"{host}:{server.port}")) == 403
        assert set(reasons(proxy)) == {"private_address"}
        assert server.num_connections == 0


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "2852039166", "[fd00:ec2::254]", "metadata.google.internal"]
)
async def test_metadata_services_are_refused_both_ways(host):
    async with proxying() as proxy:
        assert await status_of(proxy, get(f"http://{host}/latest/meta-data")) == 403
        assert await status_of(proxy, connect(f"{host}:443")) == 403
        assert set(reasons(proxy)) == {"metadata"}


async def test_a_name_of_a_private_address_is_refused_and_never_connected_to():
    names = {"evil.example": [[LOOPBACK]], "mixed.example": [["93.184.216.34", LOOPBACK]]}
    async with serving() as server, proxying(names=names) as proxy:
        for name in names:
            assert await status_of(proxy, get(f"http://{name}:{server.port}/")) == 403
            assert await status_of(proxy, connect(f"{name}:{server.port}")) == 403
        assert set(reasons(proxy)) == {"private_address"}
        assert server.num_connections == 0


async def test_the_address_that_was_checked_is_the_one_connected_to():
    async with serving() as server:
        # Listed, so that both answers pass the check: a second look-up would go elsewhere.
        authority = f"rebind.example:{server.port}"
        names = {"rebind.example": [[LOOPBACK], ["127.0.0.9"]]}
        async with proxying(names=names, allow=(authority,)) as proxy:
            assert await status_of(proxy, get(f"http://{authority}/")) == 200
            assert server.num_connections == 1
            resolver = proxy._first
            assert isinstance(resolver, Names)
            assert resolver.asked == ["rebind.example"]


async def test_a_name_that_turns_bad_between_two_requests_is_refused():
    async with serving() as server:
        authority = f"rebind.example:{server.port}"
        names = {"rebind.example": [[LOOPBACK], ["169.254.169.254"]]}
        async with proxying(names=names, allow=(authority,)) as proxy:
            assert await status_of(proxy, get(f"http://{authority}/")) == 200
            assert await status_of(proxy, get(f"http://{authority}/")) == 403
            assert reasons(proxy) == ["metadata"]


async def test_a_redirect_to_a_private_address_is_refused_when_it_is_followed():
    async with serving() as inner:
        to = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inner.port}/\r\n"
        async with serving((to + "Content-Length: 0\r\n\r\n").encode()) as outer:
            names = {"open.example": [[LOOPBACK]]}
            allow = (f"open.example:{outer.port}",)
            async with proxying(names=names, allow=allow) as proxy:
                async with (
                    aiohttp.ClientSession() as session,
                    session.get(
                        f"http://open.example:{outer.port}/",
                        proxy=f"http://127.0.0.1:{proxy.port}",
                    ) as answer,
                ):
                    assert (answer.status, len(answer.history)) == (403, 1)
                assert (outer.num_connections, inner.num_connections) == (1, 0)
                assert reasons(proxy) == ["private_address"]


async def test_a_websocket_reaches_a_listed_server_and_no_private_one():
    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(message.data.upper())
        return socket

    app = web.Application()
    app.router.add_get("/", echo)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, LOOPBACK, 0).start()
    port = runner.addresses[0][1]
    handshake = get(
        "/",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    try:
        async with proxying(allow=(f"127.0.0.1:{port}",)) as proxy:
            async with client(proxy) as raw:  # as browsers do: through a tunnel
                await raw.send(connect(f"127.0.0.1:{port}"))
                assert " 200 " in await raw.head()
                await raw.send(handshake)
                assert " 101 " in await raw.head()
                await raw.send(b"\x81\x82\0\0\0\0hi")
                assert await raw.reader.readexactly(4) == b"\x81\x02HI"
            assert await status_of(proxy, connect(f"localhost:{port}")) == 502  # no such name
            assert await status_of(proxy, connect(f"[::1]:{port}")) == 403
            assert reasons(proxy) == ["private_address"]
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    "url", ["file:///etc/hostname", "ftp://a.example/", "chrome://version/", "https://a.example/"]
)
async def test_other_schemes_are_refused(url):
    async with proxying() as proxy:
        assert await status_of(proxy, get(url)) == 403
        assert reasons(proxy) == ["scheme"]


@pytest.mark.parametrize(
    "data",
    [
        get("/etc/passwd"),
        get("http://user:password@127.0.0.1/"),
        get("http://%31%32%37.0.0.1/"),
        get("http://a.example/", "Content-Length: 1", "Transfer-Encoding: chunked"),
        get("http://[fe80::1%25lo]/"),
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nX: " + b"y" * (70 << 10) + b"\r\n\r\n",
    ],
)
async def test_what_cannot_be_read_in_one_way_is_refused(data):
    async with proxying() as proxy:
        assert await status_of(proxy, data) == 400
        assert reasons(proxy) == ["malformed"]


async def test_the_server_hears_the_host_that_was_checked_and_nothing_meant_for_the_proxy():
    async with serving() as server, proxying(allow=(f"127.0.0.1:{server.port}",)) as proxy:
        request = get(f"http://0x7f.1:{server.port}/a", "Proxy-Authorization: Basic eA==")
        assert await status_of(proxy, request) == 200
        assert server.heads == [
            f"GET /a HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        ]


async def test_a_second_request_in_the_body_of_the_first_is_not_a_request():
    async with serving() as inner, serving() as server:
        smuggled = get(f"http://127.0.0.1:{inner.port}/")
        head = get(f"http://127.0.0.1:{server.port}/", f"Content-Length: {len(smuggled)}")
        async with proxying(allow=(f"127.0.0.1:{server.port}",)) as proxy, client(proxy) as raw:
            assert await raw.ask(head + smuggled) == 200
            assert inner.num_connections == 0
            assert proxy.num_refused == 0


async def test_the_proxy_is_not_reached_through_itself():
    async with proxying() as proxy:
        assert await status_of(proxy, get(f"http://127.0.0.1:{proxy.port}/")) == 403
        assert await status_of(proxy, connect(f"127.0.0.1:{proxy.port}")) == 403


async def test_sites_are_served_whatever_their_port_and_nothing_else_in_listed_mode():
    async with (
        serving() as sites,
        proxying(site_port=sites.port, mode=EgressMode.LISTED) as proxy,
    ):
        for host in ("search.forage.test", "search.forage.test:8080", "SEARCH.FORAGE.TEST."):
            assert await status_of(proxy, get(f"http://{host}/")) == 200
        for host in ("forage.test", "evilforage.test", "example.com", "1.1.1.1"):
            assert await status_of(proxy, get(f"http://{host}/")) == 403
        assert set(reasons(proxy)) == {"not_listed"}
        assert sites.num_connections == 3


async def test_only_loopback_listens():
    async with proxying() as proxy:
        assert proxy._server is not None
        assert [s.getsockname()[0] for s in proxy._server.sockets] == [LOOPBACK]


async def test_the_answer_to_a_refused_request_says_why_to_people():
    async with proxying() as proxy, client(proxy) as raw:
        await raw.send(get("http://127.0.0.1/"))
        head = await raw.head()
        assert 'details="private_address"' in head
        assert "Content-Length: 0" in head
        assert await raw.reader.read() == b""


async def test_a_kept_connection_goes_to_its_own_target_only():
    async with serving() as one, serving(OK.replace(b"ok", b"no")) as two:
        allow = (f"127.0.0.1:{one.port}", f"127.0.0.1:{two.port}")
        async with proxying(allow=allow) as proxy, client(proxy) as raw:
            urls = [f"http://{authority}/" for authority in allow]
            seen = []
            for url in (urls[0], urls[0], urls[1], urls[0]):
                assert await raw.ask(get(url)) == 200
                seen.append(raw.body)
            assert seen == [b"ok", b"ok", b"no", b"ok"]
            assert (one.num_connections, two.num_connections) == (2, 1)
            assert urlsplit(urls[0]).port == one.port
            assert await raw.ask(get("http://127.0.0.1:1/")) == 403
            await asyncio.sleep(0)
