# SPDX-License-Identifier: Apache-2.0
"""Deadlines, caps, the breaker on the wire, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from envs.egress.breaker import BreakerChange
from envs.egress.proxy import EgressProxy
from tests.envs.egress.wire import (
    LOOPBACK,
    client,
    connect,
    get,
    hang,
    num_sockets,
    proxying,
    reasons,
    serving,
    status_of,
    until,
)

QUICK = {"connect_timeout_s": 0.2, "first_byte_timeout_s": 0.2, "breaker_pause_s": 0.5}


def changes(proxy: EgressProxy) -> list[BreakerChange]:
    return [event.change for event in proxy.breaker_events]


async def test_three_timeouts_open_the_breaker_and_the_next_request_is_refused_at_once():
    names = {"slow.example": [[]], "fine.example": [[LOOPBACK]]}
    async with serving() as server:
        allow = (f"fine.example:{server.port}",)
        async with proxying(names=names, allow=allow, **QUICK) as proxy:
            for _ in range(3):
                assert await status_of(proxy, get("http://slow.example/")) == 504
            assert reasons(proxy) == []
            assert await status_of(proxy, get("http://slow.example/")) == 503
            assert reasons(proxy) == ["breaker_open"]
            assert await status_of(proxy, get(f"http://fine.example:{server.port}/")) == 200
            assert changes(proxy) == [BreakerChange.OPENED]


async def test_after_the_pause_an_answer_closes_the_breaker():
    async with serving() as server:
        names = {"heals.example": [[], [], [], [LOOPBACK]]}
        url = f"http://heals.example:{server.port}/"
        allow = (f"heals.example:{server.port}",)
        async with proxying(names=names, allow=allow, **QUICK) as proxy:
            for _ in range(3):
                assert await status_of(proxy, get(url)) == 504
            assert await status_of(proxy, get(url)) == 503
            await asyncio.sleep(0.5)
            assert await status_of(proxy, get(url)) == 200
            assert changes(proxy) == [
                BreakerChange.OPENED,
                BreakerChange.HALF_OPEN,
                BreakerChange.CLOSED,
            ]


async def test_a_server_that_takes_connections_and_says_nothing_opens_the_breaker():
    async with serving(hang) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,), **QUICK) as proxy:
            for _ in range(3):
                assert await status_of(proxy, get(f"http://{authority}/")) == 504
            assert await status_of(proxy, get(f"http://{authority}/")) == 503
            assert reasons(proxy) == ["breaker_open"]


async def test_a_tunnel_whose_server_says_nothing_counts_as_a_timeout():
    async with serving(hang) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,), breaker_timeouts=1, **QUICK) as proxy:
            async with client(proxy) as raw:
                await raw.send(connect(authority))
                assert " 200 " in await raw.head()
                await raw.send(b"hello\r\n\r\n")
                assert await raw.reader.read() == b""
            assert changes(proxy) == [BreakerChange.OPENED]
            assert await status_of(proxy, connect(authority)) == 503


async def test_when_the_breaker_opens_the_second_resolver_is_asked_and_kept_if_it_helps():
    async with serving() as server:
        url = f"http://moved.example:{server.port}/"
        settings = {"allow": (f"moved.example:{server.port}",), **QUICK}
        names, second = {"moved.example": [[]]}, {"moved.example": [[LOOPBACK]]}
        async with proxying(names=names, second=second, **settings) as proxy:
            statuses = [await status_of(proxy, get(url)) for _ in range(5)]
            assert statuses == [504, 504, 200, 200, 200]
            assert changes(proxy)[:3] == [
                BreakerChange.OPENED,
                BreakerChange.SECOND_RESOLVER,
                BreakerChange.CLOSED,
            ]
            assert proxy._first.asked == ["moved.example"] * 3


async def test_what_the_second_resolver_says_is_checked_too():
    names, second = {"moved.example": [[]]}, {"moved.example": [[LOOPBACK]]}
    async with serving() as server, proxying(names=names, second=second, **QUICK) as proxy:
        url = f"http://moved.example:{server.port}/"
        assert [await status_of(proxy, get(url)) for _ in range(3)] == [504, 504, 403]
        assert reasons(proxy) == ["private_address"]
        assert server.num_connections == 0


async def test_a_refused_connection_and_an_unknown_name_are_answers_and_open_nothing():
    async with serving() as server:
        closed = server.port
    async with proxying(allow=(f"127.0.0.1:{closed}",), breaker_timeouts=1, **QUICK) as proxy:
        for _ in range(3):
            assert await status_of(proxy, get(f"http://127.0.0.1:{closed}/")) == 502
            assert await status_of(proxy, get("http://unknown.example/")) == 502
        assert changes(proxy) == []


async def test_how_slow_a_site_is_opens_no_breaker_and_meets_no_cap():
    async def late(reader, writer):
        await asyncio.sleep(0.4)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000)

    async with serving(late) as sites:
        tight = {"max_domain_bytes": 10, "max_total_bytes": 10, "max_request_burst": 1}
        limits = {"breaker_timeouts": 1, "max_requests_per_s": 0.001, **tight, **QUICK}
        async with proxying(site_port=sites.port, **limits) as proxy:
            for _ in range(2):
                assert await status_of(proxy, get("http://a.forage.test/")) == 200
            assert proxy.num_refused == 0


async def test_bytes_are_cut_at_the_cap_and_the_domain_is_refused_until_the_next_episode():
    async def endless(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 4096)
            await writer.drain()

    async with serving(endless) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,), max_domain_bytes=100_000) as proxy:
            async with client(proxy) as raw:
                await raw.send(get(f"http://{authority}/"))
                await raw.head()
                with contextlib.suppress(ConnectionError):
                    assert len(await raw.reader.read()) <= 100_000
            assert reasons(proxy) == ["bytes"]
            assert await status_of(proxy, get(f"http://{authority}/")) == 403
            assert await status_of(proxy, connect(authority)) == 403
            assert reasons(proxy) == ["bytes"]
            proxy.begin_episode()
            assert await status_of(proxy, get(f"http://{authority}/")) == 200


async def test_bytes_in_a_tunnel_count_both_ways():
    async def echo(reader, writer):
        while data := await reader.read(4096):
            writer.write(data)

    async with serving(echo) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,), max_total_bytes=20_000) as proxy:
            async with client(proxy) as raw:
                await raw.send(connect(authority))
                await raw.head()
                num_bytes = 0
                with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                    await raw.send(b"start\r\n\r\n")
                    while True:
                        await raw.send(b"y" * 1000)
                        num_bytes += len(await raw.reader.readexactly(1000))
                assert 0 < num_bytes < 10_000
            await until(lambda: proxy.num_open == 0)
            assert reasons(proxy) == ["bytes"]


async def test_too_many_requests_to_a_domain_are_refused():
    async with serving() as server:
        authority = f"127.0.0.1:{server.port}"
        rates = {"max_request_burst": 3, "max_requests_per_s": 0.01}
        async with proxying(allow=(authority,), **rates) as proxy:
            statuses = [await status_of(proxy, get(f"http://{authority}/")) for _ in range(5)]
            assert statuses == [200, 200, 200, 429, 429]
            assert reasons(proxy) == ["rate"]


async def test_too_many_connections_are_refused_and_room_is_made_when_one_ends():
    async with proxying(max_connections=2) as proxy:
        async with client(proxy), client(proxy):
            await until(lambda: proxy.num_open == 2)
            async with client(proxy) as third:
                assert " 503 " in await third.head()
            assert reasons(proxy) == ["too_many_connections"]
        await until(lambda: proxy.num_open == 0)
        assert await status_of(proxy, get("http://127.0.0.1/")) == 403


@pytest.mark.parametrize("begin", [b"", b"GET http://a.exa", b"CONN"])
async def test_a_client_that_says_nothing_or_stops_is_let_go(begin):
    async with proxying(idle_timeout_s=0.2) as proxy, client(proxy) as raw:
        await raw.send(begin)
        await raw.reader.read()
        await until(lambda: proxy.num_open == 0)


async def test_a_client_that_leaves_while_the_server_thinks_ends_the_wait():
    async with (
        serving(hang) as sites,
        proxying(site_port=sites.port, idle_timeout_s=60.0) as proxy,
    ):
        async with client(proxy) as raw:
            await raw.send(get("http://a.forage.test/"))
            await until(lambda: bool(sites.heads))
        await until(lambda: proxy.num_open == 0)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_an_answer_that_breaks_off_is_no_whole_answer(answer):
    async def breaking(reader, writer):
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with serving(breaking) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,)) as proxy, client(proxy) as raw:
            await raw.send(get(f"http://{authority}/"))
            assert " 200 " in await raw.head()
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await raw.reader.readexactly(10)


@pytest.mark.parametrize("answer", [b"nonsense\r\n\r\n", b"HTTP/1.1 101 Switching\r\n\r\n", b""])
async def test_an_answer_that_is_none_is_a_bad_gateway(answer):
    async def broken(reader, writer):
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with serving(broken) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,)) as proxy:
            assert await status_of(proxy, get(f"http://{authority}/")) == 502


async def test_chunks_early_hints_and_uploads_pass_and_the_connection_is_kept():
    chunked = (
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: 1\r\n\r\n"
    )

    async def taking(reader, writer):
        if b"chunked" in server.heads[-1]:
            assert await reader.readuntil(b"0\r\n\r\n") == b"4\r\nbody\r\n0\r\n\r\n"
        writer.write(chunked)

    async with serving(taking) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,)) as proxy, client(proxy) as raw:
            for headers in ((), ("Transfer-Encoding: chunked",), ()):
                await raw.send(get(f"http://{authority}/", *headers))
                if headers:
                    await raw.send(b"4\r\nbody\r\n0\r\n\r\n")
                assert " 200 " in await raw.head()
                got = await raw.reader.readuntil(b"0\r\n\r\n")
                assert got == b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
            assert (server.num_connections, proxy.num_open) == (1, 1)


async def test_a_kept_connection_that_the_server_closed_is_opened_anew():
    async def once(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with serving(once) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,)) as proxy, client(proxy) as raw:
            for number in range(3):
                # With a body, too, that could not be sent twice.
                length = ("Content-Length: 2",) if number else ()
                body = b"hi" if number else b""
                assert await raw.ask(get(f"http://{authority}/", *length) + body) == 200
                await asyncio.sleep(0.05)
            assert server.num_connections == 3


async def test_a_tunnel_stays_while_anything_moves_either_way():
    async def drip(reader, writer):
        for _ in range(8):
            writer.write(b".")
            await asyncio.sleep(0.1)
        writer.close()

    async with serving(drip) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,), idle_timeout_s=0.3) as proxy:
            async with client(proxy) as raw:
                await raw.send(connect(authority))
                await raw.head()
                await raw.send(b"go\r\n\r\n")
                assert await raw.reader.read() == b"." * 8
            await until(lambda: proxy.num_open == 0)


async def test_a_client_that_does_not_read_does_not_fill_the_memory():
    sent = 0

    async def flood(reader, writer):
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with serving(flood) as server:
        authority = f"127.0.0.1:{server.port}"
        caps = {"max_domain_bytes": 1 << 30, "max_total_bytes": 1 << 30}
        async with (
            proxying(allow=(authority,), idle_timeout_s=0.5, **caps) as proxy,
            client(proxy) as raw,
        ):
            raw.writer.transport.pause_reading()
            await raw.send(get(f"http://{authority}/"))
            await until(lambda: proxy.num_open == 1)
            await until(lambda: proxy.num_open == 0)
        # What the kernel's socket buffers take on the way, twice, and no more.
        assert sent < 32 << 20


async def test_close_ends_every_connection_and_gives_the_port_back():
    before = num_sockets(), len(asyncio.all_tasks())
    async with serving(hang) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,), idle_timeout_s=60.0) as proxy:
            port = proxy.port
            async with contextlib.AsyncExitStack() as stack:
                clients = [await stack.enter_async_context(client(proxy)) for _ in range(9)]
                for number, raw in enumerate(clients):
                    await raw.send(
                        (get(f"http://{authority}/"), connect(authority), b"")[number % 3]
                    )
                await until(lambda: proxy.num_open == 9 and server.num_connections == 6)
                await proxy.close()
                await proxy.close()
                assert proxy.num_open == 0
                for raw in clients:
                    with contextlib.suppress(ConnectionError):
                        await raw.reader.read()
            with pytest.raises(OSError):
                await asyncio.open_connection(LOOPBACK, port)
    await until(lambda: (num_sockets(), len(asyncio.all_tasks())) == before)


async def test_a_proxy_can_be_started_again():
    async with proxying() as proxy:
        await proxy.close()
        await proxy.start(1)
        assert await status_of(proxy, get("http://127.0.0.1/")) == 403


async def test_five_hundred_requests_leave_no_task_and_no_socket():
    async with serving() as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,), max_request_burst=1000) as proxy:
            await status_of(proxy, get(f"http://{authority}/"))
            await until(lambda: proxy.num_open == 0)
            before = num_sockets(), len(asyncio.all_tasks())
            for number in range(500):
                host = authority if number % 2 else "127.0.0.1:1"
                assert await status_of(proxy, get(f"http://{host}/")) in (200, 403)
            await until(lambda: (num_sockets(), len(asyncio.all_tasks())) == before)
