# SPDX-License-Identifier: Apache-2.0
"""Replay and learner: the two workers whose loss takes the run back to its newest checkpoint.

Who waits for whom: every call waits for its worker, until its deadline or until one of the two is
lost; then all calls, those under way too, end with `CoreLost`. The watch wakes on its own clock and
counts a worker as lost that misses several health checks in a row.

Whoever calls replay holds `gate` from before the call until its answer is in the books: a
checkpoint, which holds it too, finds replay and books in agreement.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from actors.config import ClusterConfig
from actors.types import (
    Batch,
    LearnerHandle,
    Published,
    Ref,
    ReplayHandle,
    ReplayState,
    SavedReplay,
    WorkerLost,
)
from actors.waiting import Waiting
from envs.types import Scored

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


class CoreLost(RuntimeError):
    """Replay or learner is gone: what was done since the newest checkpoint is lost with it."""


class Core:
    """Both workers, until one is lost."""

    def __init__(
        self,
        replay: ReplayHandle,
        learner: LearnerHandle,
        *,
        waiting: Waiting,
        cluster: ClusterConfig,
        long_timeout_s: float,
        generation: int,
    ) -> None:
        """`long_timeout_s` is the deadline of updates, saves and restores.

        `generation` counts the cores of this process; published weights carry it.
        """
        self.gate = asyncio.Lock()
        self.lost = asyncio.Event()
        self.reason = ""
        self._waiting = waiting
        self._replay = replay
        self._learner = learner
        self._cluster = cluster
        self._long_timeout_s = long_timeout_s
        self._generation = generation
        self._unconfirmed: dict[str, float] = {}  # trained groups that replay has not heard of

    # --- Replay, under the gate ------------------------------------------------------------------

    async def add_member(self, trajectory: Ref, score: Scored) -> ReplayState:
        """Add a scored attempt to its group."""
        return await self._call("replay", self._replay.add_member(trajectory, score))

    async def give_up_member(
        self, group_id: str, task_id: str, trajectory_id: str, reason: str
    ) -> ReplayState:
        """A member will not come."""
        call = self._replay.give_up_member(group_id, task_id, trajectory_id, reason)
        return await self._call("replay", call)

    async def take(self, max_groups: int, policy_version: int) -> Batch:
        """Groups for the learner."""
        confirmed = dict(self._unconfirmed)
        call = self._replay.take(max_groups, policy_version, confirmed)
        batch = await self._call("replay", call)
        self._unconfirmed = {}
        return batch

    async def save_replay(self, folder: Path) -> SavedReplay:
        """Write what replay holds."""
        confirmed = dict(self._unconfirmed)
        call = self._replay.save(folder, confirmed)
        saved = await self._call("replay", call, self._long_timeout_s)
        self._unconfirmed = {}
        return saved

    # --- Learner ---------------------------------------------------------------------------------

    async def publish(self) -> Published:
        """The weights published last."""
        return await self._published(self._learner.publish())

    async def update(
        self, batch: Batch, progress: float, validation_score: float | None
    ) -> Published:
        """Train on `batch`; `validation_score` is one that no update has observed yet."""
        call = self._learner.update(batch.groups, progress, validation_score)
        published = await self._published(call, self._long_timeout_s)
        # Replay hears of it with the next call; a state saved before that knows it, too.
        self._unconfirmed = dict(published.advantages)
        return published

    async def save_learner(
        self, folder: Path, policy_version: int, previous: Path | None
    ) -> Mapping[str, Any]:
        """Write the learner as of a published version."""
        call = self._learner.save(folder, policy_version, previous)
        return await self._call("learner", call, self._long_timeout_s)

    async def restore(self, folder: Path) -> tuple[Published, ReplayState]:
        """Continue both from one checkpoint."""
        call = self._replay.restore(folder)
        state = await self._call("replay", call, self._long_timeout_s)
        restored = self._learner.restore(folder)
        return await self._published(restored, self._long_timeout_s), state

    async def _published(
        self, call: Awaitable[Published], timeout_s: float | None = None
    ) -> Published:
        return replace(await self._call("learner", call, timeout_s), generation=self._generation)

    # --- Life ------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Ask both for their health until one is lost."""
        missed = {"replay": 0, "learner": 0}
        while not self.lost.is_set():
            await asyncio.sleep(self._cluster.health_interval_s)
            for name, worker in (("replay", self._replay), ("learner", self._learner)):
                try:
                    async with asyncio.timeout(self._cluster.health_interval_s):
                        health = await worker.health()
                    missed[name] = 0
                    self._waiting.sign(
                        f"{name} worker", f"pid {health.pid}, {health.num_done} done"
                    )
                except TimeoutError:
                    missed[name] += 1
                    if missed[name] >= self._cluster.max_missed_health:
                        self._lose(f"{name} missed {missed[name]} health checks")
                except WorkerLost as loss:
                    self._lose(str(loss))

    async def close(self) -> None:
        """Close both."""
        await self._learner.close()
        await self._replay.close()

    async def _call(self, name: str, call: Awaitable[_T], timeout_s: float | None = None) -> _T:
        timeout_s = self._cluster.call_timeout_s if timeout_s is None else timeout_s
        work = asyncio.ensure_future(call)
        gone = asyncio.ensure_future(self.lost.wait())
        try:
            with self._waiting.on(f"{name} worker", getattr(call, "__name__", "call"), timeout_s):
                await asyncio.wait(
                    {work, gone}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
                )
            if work.done():
                return work.result()
            if not gone.done():
                self._lose(f"{name} took longer than {timeout_s:g} s")
            raise CoreLost(self.reason)
        except WorkerLost as loss:
            self._lose(str(loss))
            raise CoreLost(self.reason) from loss
        finally:
            work.cancel()
            gone.cancel()

    def _lose(self, reason: str) -> None:
        if not self.lost.is_set():
            self.reason = reason
            logger.warning("lost: %s", reason)
            self.lost.set()
