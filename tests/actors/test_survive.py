# SPDX-License-Identifier: Apache-2.0
"""Runs that are stopped, killed or damaged go on, and end as if nothing had happened."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actors.checkpoints import CheckpointStore
from actors.config import Mode, TrainJob
from actors.launch_inprocess import InProcessLauncher, LocalLearner, LocalReplay, LocalRollout
from actors.run_folder import RunFolder, make_run_folder
from actors.training import train
from actors.types import Attempt, AttemptOrder, Batch, Published, Ref, WorkerLost
from learner.checkpoint import load_checkpoint, newest_checkpoint
from tests.actors.jobs import SMALL, rows, run_job, without_evaluation
from tests.actors.lineage import (
    assert_nothing_lost_nothing_doubled,
    assert_same_weights,
    curve,
)

# The share of the budget sets the learning rate: by steps alone, it repeats.
SERIAL = dataclasses.replace(
    without_evaluation(SMALL),
    mode=Mode.SYNC,
    rollout=dataclasses.replace(SMALL.rollout, num_workers=1),
    train=dataclasses.replace(
        SMALL.train, max_env_steps=160, max_minutes=600.0, checkpoint_every_versions=2
    ),
)


async def until(condition: Callable[[], object], running: asyncio.Future[object]) -> None:
    while not condition():
        assert not running.done(), running.exception()
        await asyncio.sleep(0.01)


async def stop_after(job: TrainJob, runs_dir: Path, num_updates: int) -> RunFolder:
    """Start `job` and cancel it, as a signal would, once it has made so many updates."""
    folder = make_run_folder(runs_dir, "stopped", is_latest=True)
    launcher = InProcessLauncher(job.worker_configs())
    running = asyncio.ensure_future(train(job, folder, launcher, on_started=lambda: None))

    def has_updates() -> bool:
        return folder.metrics.exists() and len(rows(folder, "update")) >= num_updates

    await until(has_updates, running)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    return folder


async def go_on(job: TrainJob, folder: RunFolder) -> dict[str, Any]:
    checkpoint = CheckpointStore(folder.checkpoints, keep=3).newest()
    assert checkpoint is not None
    launcher = InProcessLauncher(job.worker_configs())
    return await train(job, folder, launcher, on_started=lambda: None, checkpoint=checkpoint)


async def test_in_serial_mode_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(
    tmp_path: Path,
):
    launcher = InProcessLauncher(SERIAL.worker_configs())
    _, straight = await run_job(SERIAL, tmp_path / "straight", launcher)
    stopped = await stop_after(SERIAL, tmp_path / "stopped", num_updates=3)
    summary = await go_on(SERIAL, stopped)
    assert summary["resumed"] == 1
    assert len(curve(straight)) >= 6
    assert curve(stopped) == curve(straight)
    assert_same_weights(stopped, straight)
    for folder in (straight, stopped):
        assert_nothing_lost_nothing_doubled(folder)


async def test_async_with_window_0_equals_sync_bit_for_bit(tmp_path: Path):
    two_lanes = dataclasses.replace(SERIAL, rollout=dataclasses.replace(SMALL.rollout))
    closed = dataclasses.replace(SMALL.rollout, admission_window=0)
    jobs = {
        "sync": two_lanes,
        "async": dataclasses.replace(two_lanes, mode=Mode.ASYNC, rollout=closed),
    }
    folders = {}
    for name, job in jobs.items():
        launcher = InProcessLauncher(job.worker_configs())
        _, folders[name] = await run_job(job, tmp_path / name, launcher)
    ours, theirs = curve(folders["sync"]), curve(folders["async"])
    # Which attempts are still finished after the last full batch is a race of the two lanes.
    assert min(len(ours), len(theirs)) >= 6
    assert ours[:6] == theirs[:6]


async def test_one_step_mode_keeps_the_weights_of_an_attempt_and_a_lag_of_one(tmp_path: Path):
    job = dataclasses.replace(
        SERIAL, mode=Mode.ONE_STEP, rollout=dataclasses.replace(SMALL.rollout, admission_window=7)
    )
    launcher = InProcessLauncher(job.worker_configs())
    summary, folder = await run_job(job, tmp_path, launcher)
    attempts = rows(folder, "attempt")
    assert all(row["first_version"] == row["last_version"] for row in attempts)
    assert summary["lag_max"] == 1, "the next batch is rolled out during an update"
    trained = " ".join(row["groups"] for row in rows(folder, "update")).split()
    assert trained == sorted(trained, key=lambda group_id: int(group_id[1:])), "in their order"


class BreakingLauncher(InProcessLauncher):
    """Its learner and its replay are lost at certain calls, once each."""

    def __init__(self, job: TrainJob, *, update: int = 0, take: int = 0) -> None:
        super().__init__(job.worker_configs())
        self.calls_left = {"update": update, "take": take}
        self.num_learners = 0

    def count(self, name: str) -> None:
        self.calls_left[name] -= 1
        if self.calls_left[name] == 0:
            raise WorkerLost(f"the test killed it at a {name}")

    async def start_learner(self) -> LocalLearner:
        self.num_learners += 1
        plain, launcher = await super().start_learner(), self

        class Breaking(LocalLearner):
            async def update(
                self, groups: Ref, progress: float, validation_score: float | None
            ) -> Published:
                published = await super().update(groups, progress, validation_score)
                launcher.count("update")  # it is gone before it can answer
                return published

        return Breaking(plain._worker)

    async def start_replay(self) -> LocalReplay:
        plain, launcher = await super().start_replay(), self

        class Breaking(LocalReplay):
            async def take(self, *arguments: Any) -> Batch:
                batch = await super().take(*arguments)
                launcher.count("take")
                return batch

        return Breaking(plain._worker)


async def test_a_lost_learner_and_a_lost_replay_take_the_run_back_and_it_goes_on(tmp_path: Path):
    launcher = InProcessLauncher(SERIAL.worker_configs())
    _, straight = await run_job(SERIAL, tmp_path / "straight", launcher)
    breaking = BreakingLauncher(SERIAL, update=4, take=6)
    summary, broken = await run_job(SERIAL, tmp_path / "broken", breaking)
    assert (summary["restores"], breaking.num_learners) == (2, 3)
    assert summary["restarts"] == 2
    assert curve(broken) == curve(straight), "as if nothing had happened"
    assert_same_weights(broken, straight)
    assert_nothing_lost_nothing_doubled(broken)
    assert broken.metrics.with_suffix(".lost.jsonl").exists(), "what was undone is kept"


async def test_a_learner_that_is_lost_again_and_again_ends_the_run(tmp_path: Path):
    job = dataclasses.replace(SERIAL, train=dataclasses.replace(SERIAL.train, max_restores=2))

    class Hopeless(InProcessLauncher):
        async def start_learner(self) -> LocalLearner:
            plain = await super().start_learner()

            class Dying(LocalLearner):
                async def update(
                    self, groups: Ref, progress: float, validation_score: float | None
                ) -> Published:
                    raise WorkerLost("no memory")

            return Dying(plain._worker)

    with pytest.raises(ExceptionGroup) as raised:
        await run_job(job, tmp_path, Hopeless(job.worker_configs()))
    assert raised.group_contains(RuntimeError, match="lost 3 times.*no memory")


async def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before_loudly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    launcher = InProcessLauncher(SERIAL.worker_configs())
    _, straight = await run_job(SERIAL, tmp_path / "straight", launcher)
    stopped = await stop_after(SERIAL, tmp_path / "stopped", num_updates=5)
    newest = newest_checkpoint(stopped.checkpoints)
    assert newest is not None
    replay = newest / "replay.npz"
    damaged = bytearray(replay.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    replay.write_bytes(damaged)
    with caplog.at_level(logging.ERROR):
        await go_on(SERIAL, stopped)
    assert "CHECKPOINT DAMAGED" in caplog.text and "replay.npz" in caplog.text
    assert (stopped.checkpoints / f".damaged-{newest.name}").is_dir()
    assert curve(stopped) == curve(straight)
    assert_same_weights(stopped, straight)


async def test_a_disk_that_is_full_does_not_end_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    publish, calls = CheckpointStore.publish, 0

    def full(self: CheckpointStore, *arguments: Any) -> Path:
        nonlocal calls
        calls += 1
        if calls in (3, 4):
            raise OSError("No space left on device")
        return publish(self, *arguments)

    monkeypatch.setattr(CheckpointStore, "publish", full)
    launcher = InProcessLauncher(SERIAL.worker_configs())
    with caplog.at_level(logging.ERROR):
        summary, folder = await run_job(SERIAL, tmp_path, launcher)
    assert caplog.text.count("NOT SAVED") == 2
    newest = newest_checkpoint(folder.checkpoints)
    assert newest is not None
    assert load_checkpoint(newest).policy_version == summary["policy_version"]
    assert not list(folder.checkpoints.glob(".*.partial*"))
    assert len(list(folder.checkpoints.glob("v*"))) == SERIAL.train.keep_checkpoints


async def test_used_groups_come_again_and_the_curve_survives_that_too(tmp_path: Path):
    replay = dataclasses.replace(SERIAL.replay, replayed_groups=1, max_uses=2)
    job = dataclasses.replace(SERIAL, replay=replay)
    launcher = InProcessLauncher(job.worker_configs())
    _, straight = await run_job(job, tmp_path / "straight", launcher)
    again = [row["learner/replayed_groups"] for row in rows(straight, "update")]
    assert again[0] == 0
    assert sum(again) >= 3 and max(again) == 1
    stopped = await stop_after(job, tmp_path / "stopped", num_updates=4)
    await go_on(job, stopped)
    assert curve(stopped) == curve(straight)
    assert_nothing_lost_nothing_doubled(stopped)


async def test_broken_data_is_quarantined_and_never_trained_on(tmp_path: Path):
    class Rotten(InProcessLauncher):
        """Now and then a teacher's utilities are no numbers."""

        num_attempts = 0

        async def start_rollout(self, index: int) -> LocalRollout:
            plain, launcher = await super().start_rollout(index), self

            class Breaking(LocalRollout):
                async def run_attempt(self, order: AttemptOrder) -> Attempt:
                    attempt = await super().run_attempt(order)
                    launcher.num_attempts += 1
                    if launcher.num_attempts % 5:
                        return attempt
                    first, *rest = attempt.trajectory.steps
                    first = dataclasses.replace(first, utilities=first.utilities * np.nan)
                    broken = dataclasses.replace(attempt.trajectory, steps=(first, *rest))
                    return dataclasses.replace(attempt, trajectory=broken)

            return Breaking(plain._worker)

    launcher = Rotten(SERIAL.worker_configs())
    summary, folder = await run_job(SERIAL, tmp_path, launcher)
    counts = assert_nothing_lost_nothing_doubled(folder)
    assert counts["quarantined"] == summary["attempts"]["quarantined"] > 0
    assert counts["quarantined"] == sum("quarantined" in row for row in rows(folder, "attempt"))
    assert counts["trained"] > 0
