# SPDX-License-Identifier: Apache-2.0
"""One TCP connection with a bounded buffer, on which every read and write has a deadline.

Reads and writes raise `TimeoutError` (an `OSError`) when nothing moves for `idle_timeout_s`.
"""

from __future__ import annotations

import asyncio

BUFFER_BYTES = 64 << 10  # of each direction; also the longest head
_HEAD_END = b"\r\n\r\n"


class BadMessageError(Exception):
    """The other side sent something that cannot be read, or ended within a message."""


class Channel:
    """A reader and a writer."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, idle_timeout_s: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._idle_timeout_s = idle_timeout_s
        self._peeked: asyncio.Task[bytes] | None = None
        writer.transport.set_write_buffer_limits(high=BUFFER_BYTES)

    @property
    def has_ended(self) -> bool:
        """Whether the other side is known to be gone, with nothing left to read."""
        return self._reader.at_eof() or self._writer.is_closing()

    def peek(self) -> asyncio.Task[bytes]:
        """Ends when the next byte of a head arrives, or with b"" when the other side is gone."""
        if self._peeked is None:
            self._peeked = asyncio.ensure_future(self._reader.read(1))
        return self._peeked

    async def read_head(self) -> bytes:
        """A head with its empty line; b"" when the other side ended before it."""
        async with asyncio.timeout(self._idle_timeout_s):
            peeked, self._peeked = self._peeked, None
            begun = b"" if peeked is None else await peeked
            if peeked is not None and not begun:
                return b""
            try:
                return begun + await self._reader.readuntil(_HEAD_END)
            except asyncio.LimitOverrunError:
                raise BadMessageError(f"expected a head of {BUFFER_BYTES} bytes or less") from None
            except asyncio.IncompleteReadError as error:
                if begun or error.partial:
                    raise BadMessageError("expected a whole head") from None
                return b""

    async def read_line(self) -> bytes:
        """A line with its end."""
        async with asyncio.timeout(self._idle_timeout_s):
            try:
                return await self._reader.readuntil(b"\r\n")
            except (asyncio.LimitOverrunError, asyncio.IncompleteReadError):
                raise BadMessageError("expected a line") from None

    async def read_some(self, max_bytes: int = BUFFER_BYTES) -> bytes:
        """What has arrived, at most `max_bytes`; b"" at the end."""
        async with asyncio.timeout(self._idle_timeout_s):
            return await self._reader.read(max_bytes)

    async def write(self, data: bytes) -> None:
        """Send, and wait while more than the buffer is unsent."""
        self._writer.write(data)
        async with asyncio.timeout(self._idle_timeout_s):
            await self._writer.drain()

    def end_writing(self) -> None:
        """Say that nothing more will be sent."""
        if not self._writer.is_closing() and self._writer.can_write_eof():
            self._writer.write_eof()

    async def flush(self) -> None:
        """Send what is left and wait until it is sent and the connection closed."""
        self._writer.close()
        async with asyncio.timeout(self._idle_timeout_s):
            await self._writer.wait_closed()

    def abort(self) -> None:
        """Close at once; what was not sent is lost."""
        peeked, self._peeked = self._peeked, None
        if peeked is not None:
            peeked.cancel()
        self._writer.transport.abort()
