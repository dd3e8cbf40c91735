# SPDX-License-Identifier: Apache-2.0
"""Standard input as lines, read in a thread of its own so that the browser's events go on.

The thread reads the descriptor itself: one that waits inside `sys.stdin` would keep the process
from ending after Ctrl-C.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator

_CHUNK_BYTES = 4096


async def lines_of(descriptor: int) -> AsyncIterator[str]:
    """Each line without its end, until the input ends."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = os.read(descriptor, _CHUNK_BYTES)
            except OSError:  # the terminal is gone
                chunk = b""
            with contextlib.suppress(RuntimeError):  # the loop has ended before the input
                loop.call_soon_threadsafe(queue.put_nowait, chunk)

    threading.Thread(target=read, name="foragerl-lines", daemon=True).start()
    held = b""
    while chunk := await queue.get():
        *whole, held = (held + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", errors="replace").rstrip("\r")
    if held:
        yield held.decode("utf-8", errors="replace")
