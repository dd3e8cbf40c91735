# SPDX-License-Identifier: Apache-2.0
"""Bodies and tunnels between two channels; each piece is counted before it is sent on."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable

from envs.egress.channel import BUFFER_BYTES, BadMessageError, Channel
from envs.egress.http import Body

# Called with a number of bytes; raises `RefusedError` when they are too many.
Count = Callable[[int], None]

_CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,12})[ \t]*(?:;[^\r\n]*)?\r\n")
_MAX_TRAILER_BYTES = 8 << 10


async def relay_body(source: Channel, sink: Channel, body: Body, count: Count) -> None:
    """Pass one body on; raises `BadMessageError` when it ends too early."""
    if body.is_chunked:
        await _relay_chunks(source, sink, count)
    elif body.is_until_close:
        while data := await source.read_some():
            count(len(data))
            await sink.write(data)
    elif body.length:
        await _relay_length(source, sink, body.length, count)


async def _relay_length(source: Channel, sink: Channel, length: int, count: Count) -> None:
    while length:
        data = await source.read_some(min(length, BUFFER_BYTES))
        if not data:
            raise BadMessageError(f"expected {length} more bytes")
        count(len(data))
        length -= len(data)
        await sink.write(data)


async def _relay_chunks(source: Channel, sink: Channel, count: Count) -> None:
    while True:
        line = await source.read_line()
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise BadMessageError(f"expected the size of a chunk, got {line[:40]!r}")
        size = int(match[1], 16)
        await sink.write(match[1] + b"\r\n")  # without extensions, which nobody needs
        if size == 0:
            break
        await _relay_length(source, sink, size, count)
        if await source.read_line() != b"\r\n":
            raise BadMessageError("expected the end of a chunk")
        await sink.write(b"\r\n")
    num_bytes = 0
    while (line := await source.read_line()) != b"\r\n":  # trailers are dropped
        num_bytes += len(line)
        if num_bytes > _MAX_TRAILER_BYTES:
            raise BadMessageError("expected fewer trailers")
    await sink.write(b"\r\n")


class Tunnel:
    """Bytes both ways until both sides have ended, or nothing moved for `idle_timeout_s`."""

    def __init__(
        self, client: Channel, server: Channel, count: Count, *, first_byte_timeout_s: float
    ) -> None:
        self._client = client
        self._server = server
        self._count = count
        self._first_byte_timeout_s = first_byte_timeout_s
        self._loop = asyncio.get_running_loop()
        self._moved_s = 0.0
        self._asked = asyncio.Event()
        self._heard = asyncio.Event()

    async def run(self, on_heard: Callable[[], None]) -> bool:
        """Relay; calls `on_heard` at the server's first byte, returns False if it never came.

        That is: the client sent something and the server nothing, within `first_byte_timeout_s`.
        Raises what the channels raise, and `RefusedError` beyond a cap.
        """
        pumps = [
            asyncio.ensure_future(self._pump(self._client, self._server, self._asked.set)),
            asyncio.ensure_future(self._pump(self._server, self._client, self._heard.set)),
        ]
        watch = asyncio.ensure_future(self._watch(on_heard))
        try:
            pending = {*pumps, watch}
            while pending & set(pumps):
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if not task.result():
                        return False
            return True
        finally:
            for task in (*pumps, watch):
                task.cancel()
            await asyncio.wait({*pumps, watch})
            for task in (*pumps, watch):
                with contextlib.suppress(BaseException):
                    task.result()

    async def _watch(self, on_heard: Callable[[], None]) -> bool:
        await self._asked.wait()
        try:
            async with asyncio.timeout(self._first_byte_timeout_s):
                await self._heard.wait()
        except TimeoutError:
            return False
        on_heard()
        return True

    async def _pump(self, source: Channel, sink: Channel, moved: Callable[[], None]) -> bool:
        while data := await self._read(source):
            moved()
            self._moved_s = self._loop.time()
            self._count(len(data))
            await sink.write(data)
        sink.end_writing()
        return True

    async def _read(self, source: Channel) -> bytes:
        while True:
            begin_s = self._loop.time()
            try:
                return await source.read_some()
            except TimeoutError:
                if self._moved_s < begin_s:  # nor did anything move the other way
                    raise
