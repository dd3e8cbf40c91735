# SPDX-License-Identifier: Apache-2.0
"""Scripted resolvers, small servers and a raw client: the two sides of a proxy under test."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

import psutil

from envs.egress.address import Address
from envs.egress.config import EgressConfig, EgressMode
from envs.egress.proxy import EgressProxy
from envs.egress.resolver import ResolveError

LOOPBACK = "127.0.0.1"
HANG_S = 60.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REQUEST_END = b"\r\n\r\n"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Names:
    """A resolver that says what it is told to: one answer a question, the last for ever."""

    answers: dict[str, list[list[str]]]  # [] of an answer hangs
    asked: list[str] = field(default_factory=list)

    async def addresses(self, name: str) -> Sequence[Address]:
        self.asked.append(name)
        rows = self.answers.get(name)
        if rows is None:
            raise ResolveError(name)
        row = rows.pop(0) if len(rows) > 1 else rows[0]
        if not row:
            await asyncio.sleep(HANG_S)
        return [ip_address(text) for text in row]

    def close(self) -> None:
        """Holds nothing."""


@dataclass
class Server:
    """A TCP server that remembers what it was sent."""

    port: int
    heads: list[bytes] = field(default_factory=list)
    num_connections: int = 0


@contextlib.asynccontextmanager
async def serving(handler: Handler | bytes = OK, *, host: str = LOOPBACK) -> AsyncIterator[Server]:
    """A server that answers each head with `handler`: bytes, or a function of the streams."""
    server = Server(port=0)
    tasks: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, OSError):
                while True:
                    server.heads.append(await reader.readuntil(REQUEST_END))
                    if isinstance(handler, bytes):
                        writer.write(handler)
                        await writer.drain()
                    else:
                        await handler(reader, writer)
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.num_connections += 1
        tasks.append(asyncio.create_task(serve(reader, writer)))

    listening = await asyncio.start_server(accept, host, 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ends:
        assert end is None or isinstance(end, asyncio.CancelledError), repr(end)


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never answers, and notices when the other side leaves."""
    await reader.read()


@contextlib.asynccontextmanager
async def proxying(
    *,
    names: dict[str, list[list[str]]] | None = None,
    second: dict[str, list[list[str]]] | None = None,
    site_port: int = 1,
    **settings: object,
) -> AsyncIterator[EgressProxy]:
    """A running proxy in public mode, whose only names are `names`; nothing of it is left."""
    defaults = {
        "mode": EgressMode.PUBLIC,
        "connect_timeout_s": 1.0,
        "first_byte_timeout_s": 1.0,
        "idle_timeout_s": 3.0,
    }
    proxy = EgressProxy(
        EgressConfig(**(defaults | settings)),  # type: ignore[arg-type]
        first=Names(names or {}),
        second=None if second is None else Names(second),
    )
    errors: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(str(context)))
    await proxy.start(site_port)
    try:
        yield proxy
    finally:
        await proxy.close()
        assert proxy.num_open == 0
        await asyncio.sleep(0)  # done callbacks may report
        loop.set_exception_handler(None)
    assert errors == []


class Client:
    """One raw connection to a proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> str:
        return (await self.reader.readuntil(REQUEST_END)).decode("latin-1")

    async def ask(self, data: bytes) -> int:
        """Send and read one answer with a length; its status."""
        await self.send(data)
        head = await self.head()
        length = next(
            int(line.partition(":")[2])
            for line in head.split("\r\n")
            if line.lower().startswith("content-length:")
        )
        self.body = await self.reader.readexactly(length)
        return int(head.split(" ")[1])


@contextlib.asynccontextmanager
async def client(proxy: EgressProxy) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection(LOOPBACK, proxy.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


def get(url: str, *headers: str) -> bytes:
    lines = [f"GET {url} HTTP/1.1", "Host: whatever.example", *headers]
    return ("\r\n".join(lines)).encode("utf-8") + REQUEST_END


def connect(authority: str) -> bytes:
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()


async def status_of(proxy: EgressProxy, data: bytes) -> int:
    """Status of the answer to one request on a connection of its own."""
    async with client(proxy) as raw:
        await raw.send(data)
        return int((await raw.head()).split(" ")[1])


def reasons(proxy: EgressProxy) -> list[str]:
    return [refusal.reason.value for refusal in proxy.take_refusals()]


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something holds; the test's own deadline bounds it."""
    while not condition():
        await asyncio.sleep(0.005)


def num_sockets() -> int:
    """Sockets that this process has."""
    return len(psutil.Process().net_connections("all"))
