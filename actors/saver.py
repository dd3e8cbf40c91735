# SPDX-License-Identifier: Apache-2.0
"""Saves a run: replay, learner and books as of one moment, without a pause of the rollouts.

Replay writes under the gate, and the books are copied before it opens again: the two agree. The
learner writes the state of the version that the books name, which it keeps until two versions
later. What is slow waits for nobody: attempts go on meanwhile, only their way into replay is shut
for the milliseconds that replay takes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actors.checkpoints import CheckpointStore
from actors.config import TrainConfig
from actors.core import Core
from actors.metrics import MetricsLog
from actors.pipeline import Pipeline

logger = logging.getLogger(__name__)

_SECONDS_PER_MINUTE = 60.0


class Saver:
    """Knows when a checkpoint is due, and makes it."""

    def __init__(
        self,
        store: CheckpointStore,
        *,
        config: TrainConfig,
        metrics: MetricsLog,
        describe: Callable[[], dict[str, Any]],
    ) -> None:
        """`describe` gives what else belongs into the driver's part, as plain JSON values."""
        self._store = store
        self._config = config
        self._metrics = metrics
        self._describe = describe
        self._previous: Path | None = None  # its files may be shared
        self._last_version = 0
        self._last_s = time.monotonic()

    def begin(self, policy_version: int, checkpoint: Path | None) -> None:
        """A learner starts at that version, from that checkpoint: count from here."""
        self._previous = checkpoint
        self._last_version = policy_version
        self._last_s = time.monotonic()

    def due_in_s(self, policy_version: int) -> float:
        """Seconds until the next checkpoint is due by versions or by minutes; 0 when it is."""
        if policy_version - self._last_version >= self._config.checkpoint_every_versions:
            return 0.0
        every_s = self._config.checkpoint_every_minutes * _SECONDS_PER_MINUTE
        return max(0.0, self._last_s + every_s - time.monotonic())

    async def save(self, core: Core, pipeline: Pipeline, elapsed_s: float) -> Path | None:
        """Write a checkpoint; None, with an error in the log, when the disk fails.

        Raises `CoreLost`.
        """
        began_s = time.monotonic()
        self._last_version = pipeline.totals.policy_version
        self._last_s = began_s
        partial: Path | None = None
        try:
            partial = self._store.begin(self._last_version)
            async with core.gate:
                saved = await core.save_replay(partial)
                state = {**pipeline.capture(saved.held, saved.ended), **self._describe()}
                num_bytes, time_s = self._metrics.position()
            state["metrics"] = {"num_bytes": num_bytes, "time_s": time_s}
            state["elapsed_s"] = elapsed_s
            gate_s = time.monotonic() - began_s
            version = state["totals"]["policy_version"]
            manifest = await core.save_learner(partial, version, self._previous)
            manifest = {**manifest, "sha256": {**manifest["sha256"], **saved.files}}
            # Not in a thread: what was begun here must be whole before anything ends the run.
            path = self._store.publish(partial, manifest, state)
        except OSError as error:
            logger.error("NOT SAVED: %s; the run goes on, and tries again later", error)
            return None
        finally:
            if partial is not None:
                self._store.discard(partial)
        self._previous = path
        self._write_row(path, time.monotonic() - began_s, gate_s)
        return path

    def _write_row(self, path: Path, save_s: float, gate_s: float) -> None:
        sizes = {f: f.stat() for f in path.iterdir()}
        fresh = sum(s.st_size for s in sizes.values() if s.st_nlink == 1)
        total = sum(s.st_size for s in sizes.values())
        self._metrics.write(
            "checkpoint",
            {
                "learner/policy_version": self._last_version,
                "checkpoint/save_s": round(save_s, 4),
                "checkpoint/gate_s": round(gate_s, 4),
                "checkpoint/written_mb": round(fresh / 1e6, 3),
                "checkpoint/total_mb": round(total / 1e6, 3),
            },
        )


async def finish_within(saving: Callable[[], Any], timeout_s: float) -> Path | None:
    """The last save of a run that ends; whatever goes wrong is said and ends nothing else."""
    try:
        async with asyncio.timeout(timeout_s):
            path: Path | None = await saving()
    except Exception as error:
        logger.warning("the newest state was not saved: %r", error)
        return None
    if path is not None:
        logger.info("saved %s", path)
    return path
