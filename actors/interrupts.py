# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM cancel the main task once, so that it can save and close.

Install after `ray.init`, which replaces the handlers installed before it. Later signals are
ignored: closing is bounded by deadlines of its own. SIGUSR1 asks a run why it waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable

logger = logging.getLogger(__name__)


class Interrupts:
    """Remembers the signal that ended the run."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._task: asyncio.Task[object] | None = None

    def install(self) -> None:
        """Handle signals from now on, for the calling task; main thread only."""
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal, number)

    def exit_code(self) -> int:
        """128 + signal, as a shell reports it."""
        return 128 + self.received if self.received is not None else 0

    def _on_signal(self, number: signal.Signals) -> None:
        if self.received is not None:
            logger.info("already closing")
            return
        logger.info("%s: saving and closing", signal.Signals(number).name)
        self.received = number
        assert self._task is not None
        self._task.cancel()


@contextlib.asynccontextmanager
async def answering_sigusr1(report: Callable[[], str]) -> AsyncIterator[None]:
    """Log `report()` on SIGUSR1 while the block runs, where signals can be handled at all."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGUSR1, lambda: logger.warning("%s", report()))
    except (RuntimeError, ValueError):  # not in the main thread: a run within another program
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGUSR1)
