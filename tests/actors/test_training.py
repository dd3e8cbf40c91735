# SPDX-License-Identifier: Apache-2.0
"""Whole jobs in one process, with real parts on the fast twin."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import orjson
import pytest

from actors.config import AlarmConfig, EvaluateJob, TrainJob
from actors.evaluating import evaluate_checkpoint
from actors.launch_inprocess import InProcessLauncher, LocalRollout
from actors.run_folder import find_checkpoint, make_run_folder
from actors.types import Attempt, AttemptOrder, WorkerLost
from envs.types import StopReason
from learner.checkpoint import load_checkpoint
from reward_server.config import RewardConfig
from tests.actors.jobs import SMALL, rows, run_job, without_evaluation

SUMMARY_KEYS = {
    "success_untrained",
    "success_trained",
    "success_random",
    "success_oracle",
    "gain_ci95",
    "env_steps_per_s",
    "peak_memory_gb",
    "minutes",
    "restarts",
    "lag_max",
    "episodes",
}

Script = Callable[[LocalRollout, AttemptOrder], Awaitable[Attempt]]


class ScriptedRollout(LocalRollout):
    """A rollout worker whose attempts a script may break."""

    script: Script

    async def run_attempt(self, order: AttemptOrder) -> Attempt:
        return await self.script(self, order)

    async def run_really(self, order: AttemptOrder) -> Attempt:
        return await super().run_attempt(order)


class ScriptedLauncher(InProcessLauncher):
    """Starts scripted rollout workers and counts them."""

    def __init__(self, job: TrainJob, script: Callable[..., Awaitable[Attempt]]) -> None:
        super().__init__(job.worker_configs())
        self.num_started = 0
        self._script = script

    async def start_rollout(self, index: int) -> LocalRollout:
        plain = await super().start_rollout(index)
        self.num_started += 1
        scripted = ScriptedRollout(plain._worker)
        scripted.script = self._script
        return scripted


async def test_a_job_goes_through_everything_and_leaves_its_figures(tmp_path: Path):
    summary, folder = await run_job(SMALL, tmp_path, InProcessLauncher(SMALL.worker_configs()))
    assert summary.keys() >= SUMMARY_KEYS
    assert orjson.loads(folder.summary.read_bytes()) == summary
    assert (tmp_path / "latest").resolve() == folder.path.resolve()
    assert summary["env_steps"] >= SMALL.train.max_env_steps
    assert summary["success_oracle"] == 1.0
    assert summary["restarts"] == summary["unscored"] == 0
    assert summary["peak_memory_gb"] > 0.1

    attempts, updates = rows(folder, "attempt"), rows(folder, "update")
    assert len(attempts) == summary["episodes"]
    assert [row["learner/policy_version"] for row in updates] == list(
        range(1, summary["policy_version"] + 1)
    )
    assert summary["policy_version"] >= 3
    assert max(row["last_version"] for row in attempts) >= 1, "rollouts take newer weights"
    assert rows(folder, "progress")

    path = find_checkpoint(folder.path)
    newest = load_checkpoint(path)
    assert newest.policy_version == summary["policy_version"]

    job = EvaluateJob(
        checkpoint=str(folder.path),
        launch=SMALL.launch,
        env=SMALL.env,
        evaluation=dataclasses.replace(SMALL.evaluation, temperature=0.0),
        logger=SMALL.logger,
    )
    report_folder = make_run_folder(tmp_path, "evaluate", is_latest=False)
    report = await evaluate_checkpoint(job, report_folder, path, newest, on_started=lambda: None)
    assert report["policy_version"] == newest.policy_version
    assert set(report["success_policy_by_kind"]) == {"look_up", "two_hop"}
    assert (tmp_path / "latest").resolve() == folder.path.resolve()


@pytest.mark.parametrize("window", [0, 2])
async def test_no_attempt_starts_more_than_the_window_ahead(tmp_path: Path, window: int):
    rollout = dataclasses.replace(SMALL.rollout, admission_window=window)
    job = dataclasses.replace(without_evaluation(SMALL), rollout=rollout)
    started: list[tuple[int, int]] = []  # batch that the attempt is for, version it starts with

    async def script(worker: ScriptedRollout, order: AttemptOrder) -> Attempt:
        version = (await worker.health()).policy_version
        started.append((int(order.group_id[1:]) // job.algo.groups_per_update, version))
        return await worker.run_really(order)

    summary, _ = await run_job(job, tmp_path, ScriptedLauncher(job, script))
    ahead = [batch - version for batch, version in started]
    assert max(ahead) <= window
    if window == 0:
        assert summary["lag_max"] == 0, "nothing is older than the version that trains on it"
    else:
        assert max(ahead) > 0, "rollouts do not wait for the learner"


async def test_members_lost_to_the_world_are_tried_again_and_never_trained_on(tmp_path: Path):
    job = without_evaluation(SMALL)
    rng = np.random.default_rng(0)

    async def script(worker: ScriptedRollout, order: AttemptOrder) -> Attempt:
        attempt = await worker.run_really(order)
        if rng.random() < 0.3:
            report = dataclasses.replace(
                attempt.report, stop=StopReason.INFRA_BROWSER, detail="the script broke it"
            )
            return dataclasses.replace(attempt, report=report)
        return attempt

    summary, folder = await run_job(job, tmp_path, ScriptedLauncher(job, script))
    assert summary["lost_by_stop"]["infra_browser"] > 0
    assert {row["stop"] for row in rows(folder, "attempt")} <= {"answered", "step_limit"}
    trained = sum(row["learner/episodes"] for row in rows(folder, "update"))
    assert 0 < trained <= summary["episodes"]


async def test_a_lost_worker_is_replaced_with_the_newest_weights(tmp_path: Path):
    job = without_evaluation(SMALL)
    num_attempts = 0

    async def script(worker: ScriptedRollout, order: AttemptOrder) -> Attempt:
        nonlocal num_attempts
        num_attempts += 1
        if num_attempts in (3, 9):
            raise WorkerLost("the script killed it")
        return await worker.run_really(order)

    launcher = ScriptedLauncher(job, script)
    summary, folder = await run_job(job, tmp_path, launcher)
    assert summary["restarts"] == 2
    assert launcher.num_started == job.rollout.num_workers + 2
    assert summary["lost_by_stop"] == {"infra_actor": 2}
    assert summary["env_steps"] >= job.train.max_env_steps
    assert all(row["first_version"] >= 0 for row in rows(folder, "attempt"))


async def test_a_world_that_keeps_breaking_ends_the_run_with_its_reason(tmp_path: Path):
    job = without_evaluation(SMALL)

    async def script(worker: ScriptedRollout, order: AttemptOrder) -> Attempt:
        attempt = await worker.run_really(order)
        report = dataclasses.replace(
            attempt.report, stop=StopReason.INFRA_TIMEOUT, detail="no browser here"
        )
        return dataclasses.replace(attempt, report=report)

    with pytest.raises(ExceptionGroup) as raised:
        await run_job(job, tmp_path, ScriptedLauncher(job, script))
    assert raised.group_contains(RuntimeError, match="in a row.*infra_timeout: no browser here")


async def test_a_run_in_which_nothing_moves_says_who_waits_for_what(tmp_path: Path):
    job = dataclasses.replace(
        without_evaluation(SMALL),
        train=dataclasses.replace(SMALL.train, stall_timeout_s=2.0),
        cluster=dataclasses.replace(SMALL.cluster, health_interval_s=0.2),
    )

    async def script(worker: ScriptedRollout, order: AttemptOrder) -> Attempt:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(ExceptionGroup) as raised:
        await run_job(job, tmp_path, ScriptedLauncher(job, script))
    for line in (
        r"train\.stall_timeout_s",
        r"rollout worker 0: attempt g0\.m\d\.t0, for \d+ s, deadline in \d+ s",
        r"learner: 2 ready groups, for \d+ s, no deadline",
        r"replay: ReplayState\(ready=\(\)",
        r"rollout worker 1: answered \d+ s ago; pid \d+, 0 done",
    ):
        assert raised.group_contains(RuntimeError, match=line), line


async def test_a_run_whose_learner_takes_no_step_ends_though_attempts_go_on(tmp_path: Path):
    train = dataclasses.replace(SMALL.train, max_env_steps=100_000)
    job = dataclasses.replace(
        without_evaluation(SMALL),
        train=train,
        alarms=AlarmConfig(no_update_timeout_s=1.5),
        # A group that never fills: more members than the run has time for.
        algo=dataclasses.replace(SMALL.algo, group_size=100_000),
    )
    with pytest.raises(ExceptionGroup) as raised:
        await run_job(job, tmp_path, InProcessLauncher(job.worker_configs()))
    assert raised.group_contains(RuntimeError, match=r"no learner step.*no_update_timeout_s")


async def test_groups_that_teach_nothing_end_the_run_with_a_hint(tmp_path: Path):
    # Attempts of no reward at all are all the same to the learner.
    job = dataclasses.replace(
        without_evaluation(SMALL),
        train=dataclasses.replace(SMALL.train, max_env_steps=100_000),
        alarms=AlarmConfig(max_unusable_groups=6),
        reward=RewardConfig(base=(), nav=(), semantic=()),
    )
    with pytest.raises(ExceptionGroup) as raised:
        await run_job(job, tmp_path, InProcessLauncher(job.worker_configs()))
    assert raised.group_contains(RuntimeError, match=r"6 groups in a row.*algo\.group_size")


async def test_a_run_says_why_it_waits_on_sigusr1_and_after_a_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    job = dataclasses.replace(
        without_evaluation(SMALL),
        logger=dataclasses.replace(SMALL.logger, silence_interval_s=1.0),
    )
    may_go_on = asyncio.Event()

    async def script(worker: ScriptedRollout, order: AttemptOrder) -> Attempt:
        await may_go_on.wait()
        return await worker.run_really(order)

    running = asyncio.ensure_future(run_job(job, tmp_path, ScriptedLauncher(job, script)))

    def reports() -> int:
        return sum("in flight:" in record.message for record in caplog.records)

    while not reports():
        await asyncio.sleep(0.05)
        assert not running.done()
    assert "rollout worker 0: attempt g0" in caplog.text
    before = reports()
    os.kill(os.getpid(), signal.SIGUSR1)
    while reports() == before:
        await asyncio.sleep(0.01)
        assert not running.done()
    may_go_on.set()
    await running
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


async def test_a_cancelled_run_leaves_a_checkpoint(tmp_path: Path):
    train = dataclasses.replace(SMALL.train, max_env_steps=1_000_000)
    job = dataclasses.replace(without_evaluation(SMALL), train=train)
    running = asyncio.ensure_future(run_job(job, tmp_path, InProcessLauncher(job.worker_configs())))
    while (
        not list(tmp_path.glob("*/metrics.jsonl"))
        or b'"update"' not in next(tmp_path.glob("*/metrics.jsonl")).read_bytes()
    ):
        await asyncio.sleep(0.1)
        assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert load_checkpoint(find_checkpoint(tmp_path / "latest")).policy_version >= 1
