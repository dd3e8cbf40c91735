# SPDX-License-Identifier: Apache-2.0
"""Damaged requests and damaged answers: each connection ends, and none in an error of ours."""

from __future__ import annotations

import asyncio
import contextlib
import random

from envs.egress.config import EgressMode
from tests.envs.egress.wire import client, connect, get, proxying, serving, until

NUM_TRIES = 300
# What damage makes of an address is somebody's: only the list is reached.
QUICK = {
    "mode": EgressMode.LISTED,
    "idle_timeout_s": 0.5,
    "first_byte_timeout_s": 0.3,
    "breaker_timeouts": 1_000_000,
    "max_request_burst": 10_000,
}
ANSWERS = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.0 200 OK\r\n\r\nhello",
)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """`data` with a few bytes changed, cut out or repeated."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(out))
        kind = chance.randrange(4)
        if kind == 0:
            out[place] = chance.randrange(256)
        elif kind == 1:
            del out[place : place + chance.randint(1, 5)]
        elif kind == 2:
            out[place:place] = out[place : place + chance.randint(1, 20)]
        else:
            out[place:place] = chance.choice((b"\r\n", b"\0", b":", b" ", b"\r\n\r\n", b"@", b"%"))
        if not out:
            out += b"x"
    return bytes(out)


async def test_damaged_requests_end_and_reach_nobody_but_the_listed_server():
    chance = random.Random(0)
    async with serving() as inner, serving() as server:
        authority = f"127.0.0.1:{server.port}"
        requests = (
            get(f"http://{authority}/a?b", "Accept: */*"),
            get(f"http://{authority}/", "Content-Length: 5") + b"hello",
            get(f"http://{authority}/", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\n\r\n",
            connect(authority) + b"GET / HTTP/1.1\r\n\r\n",
            get(f"http://127.0.0.1:{inner.port}/"),
        )
        async with proxying(allow=(authority,), **QUICK) as proxy:

            async def attempt(data: bytes) -> None:
                async with client(proxy) as raw:
                    with contextlib.suppress(OSError):
                        await raw.send(data)
                        raw.writer.write_eof()
                        await raw.reader.read()

            for _ in range(NUM_TRIES // 10):
                batch = [damaged(chance.choice(requests), chance) for _ in range(10)]
                await asyncio.gather(*map(attempt, batch))
            await until(lambda: proxy.num_open == 0)
        assert server.num_connections > 0
        assert inner.num_connections == 0


async def test_damaged_answers_end():
    chance = random.Random(1)

    async def answering(reader, writer):
        writer.write(damaged(chance.choice(ANSWERS), chance))
        await writer.drain()
        if chance.random() < 0.7:  # the others leave the proxy waiting
            writer.close()

    async with serving(answering) as server:
        authority = f"127.0.0.1:{server.port}"
        async with proxying(allow=(authority,), **QUICK) as proxy:

            async def attempt() -> None:
                async with client(proxy) as raw:
                    with contextlib.suppress(OSError):
                        await raw.send(get(f"http://{authority}/", "Connection: close"))
                        await raw.reader.read()

            for _ in range(NUM_TRIES // 30):
                await asyncio.gather(*(attempt() for _ in range(30)))
            await until(lambda: proxy.num_open == 0)
        assert server.num_connections >= NUM_TRIES // 2
