# SPDX-License-Identifier: Apache-2.0
"""Memory of this process and all below it: workers, browsers, and what a local Ray started.

A page shared by n processes counts 1/n in each (PSS), so the sum counts it once. On a cluster
that somebody else started, the processes of other trees are not in it.
"""

from __future__ import annotations

import asyncio

import psutil

_BYTES_PER_GB = 1e9


def tree_memory_gb() -> float:
    """Sum of PSS over this process and its descendants, in 10^9 bytes."""
    me = psutil.Process()
    return (
        sum(_pss_bytes(process) for process in [me, *me.children(recursive=True)]) / _BYTES_PER_GB
    )


def _pss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return 0  # ended between the listing and the look


class MemorySampler:
    """Keeps the latest and the highest sample."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self.latest_gb = 0.0
        self.peak_gb = 0.0

    async def run(self) -> None:
        """Sample until cancelled; the look itself is made in a thread."""
        while True:
            self.latest_gb = await asyncio.to_thread(tree_memory_gb)
            self.peak_gb = max(self.peak_gb, self.latest_gb)
            await asyncio.sleep(self._interval_s)
