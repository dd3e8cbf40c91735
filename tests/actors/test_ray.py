# SPDX-License-Identifier: Apache-2.0
"""Runs on real Ray actors with real browsers, in which something is killed by its process id."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from actors.config import Launch, TrainJob
from actors.launch_ray import RayLauncher, RayRollout
from actors.run_folder import find_checkpoint
from actors.types import WorkerLost
from envs.browser.profile import profiles_root
from envs.config import EnvConfig
from learner.checkpoint import load_checkpoint
from tests.actors.jobs import SMALL, rows, run_job, without_evaluation
from tests.actors.processes import browser_of

ROOT = Path(__file__).resolve().parents[2]
JOB = dataclasses.replace(
    without_evaluation(SMALL),
    launch=Launch.RAY,
    env=EnvConfig(max_steps=8),
    train=dataclasses.replace(SMALL.train, max_env_steps=120, max_minutes=3.0),
)


def profiles() -> set[str]:
    """Profile folders on this machine, of whoever."""
    return {str(path) for path in profiles_root().glob("*/*")}


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process below this one outlives the test, and none of the profiles made below it."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    yield
    left = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    _, alive = psutil.wait_procs(left, timeout=10)
    assert not [process.cmdline() for process in alive]


class WatchedLauncher(RayLauncher):
    """Notes the process ids of the rollout actors it starts."""

    def __init__(self, job: TrainJob) -> None:
        super().__init__(job.worker_configs())
        self.rollout_pids: list[int] = []

    async def start_rollout(self, index: int) -> RayRollout:
        handle = await super().start_rollout(index)
        self.rollout_pids.append((await handle.health()).pid)
        return handle


async def until(condition: Callable[[], object], running: asyncio.Future[object]) -> None:
    while not condition():
        assert not running.done(), running.exception()
        await asyncio.sleep(0.1)


@pytest.mark.timeout(300)
async def test_a_killed_browser_and_a_killed_actor_do_not_stop_a_run(tmp_path: Path):
    launcher = WatchedLauncher(JOB)
    running = asyncio.ensure_future(run_job(JOB, tmp_path, launcher))
    metrics = tmp_path / "latest" / "metrics.jsonl"

    def num_attempts() -> int:
        return metrics.read_bytes().count(b'"attempt"') if metrics.exists() else 0

    await until(lambda: num_attempts() >= 1, running)
    assert len(set(launcher.rollout_pids)) == 2
    browser = browser_of(launcher.rollout_pids[0])
    assert browser is not None
    browser.kill()
    attempts_then = num_attempts()
    await until(lambda: num_attempts() >= attempts_then + 2, running)
    os.kill(launcher.rollout_pids[1], signal.SIGKILL)

    summary, folder = await running
    assert summary["lost_by_stop"]["infra_browser"] >= 1
    assert summary["restarts"] == 1
    assert len(set(launcher.rollout_pids)) == 3
    assert summary["env_steps"] >= JOB.train.max_env_steps
    updates = rows(folder, "update")
    assert len(updates) == summary["policy_version"] >= 2
    assert max(row["learner/lag_max_versions"] for row in updates) == summary["lag_max"]
    assert {row["last_version"] for row in rows(folder, "attempt")} >= {0, 1}
    assert (folder.checkpoints / f"v{summary['policy_version']:06d}").is_dir()


async def test_what_a_worker_died_of_is_said_in_a_line():
    algo = dataclasses.replace(JOB.algo, device="nowhere")
    launcher = RayLauncher(dataclasses.replace(JOB, algo=algo).worker_configs())
    try:
        await launcher.start()
        with pytest.raises(WorkerLost) as raised:
            await launcher.start_learner()
        assert str(raised.value).startswith("learner: RuntimeError: Expected one of cpu, cuda")
        assert "\x1b" not in str(raised.value)
        reward = await launcher.start_reward(0)
        os.kill((await reward.health()).pid, signal.SIGKILL)
        with pytest.raises(WorkerLost, match=r"^reward 0: .* its worker process has died[^\n]*$"):
            while True:
                await reward.health()
                await asyncio.sleep(0.1)
    finally:
        await launcher.stop()


@pytest.mark.timeout(300)
def test_sigterm_saves_and_leaves_no_process_and_no_profile(tmp_path: Path):
    settings = ("evaluation.num_tasks=0", "evaluation.num_baseline_tasks=0", "policy.width=16")
    started = subprocess.Popen(
        [sys.executable, "train.py", f"logger.runs_dir={tmp_path}", *settings],
        cwd=ROOT,
        # As a person starts it: then the cluster gets a token of its own.
        env={name: value for name, value in os.environ.items() if name != "RAY_AUTH_MODE"},
        stderr=subprocess.PIPE,
        text=True,
    )
    family: set[psutil.Process] = set()
    metrics = tmp_path / "latest" / "metrics.jsonl"
    while not metrics.exists() or b'"attempt"' not in metrics.read_bytes():
        assert started.poll() is None, started.communicate()[1]
        family.update(psutil.Process(started.pid).children(recursive=True))
        time.sleep(0.2)
    browsers = [p for p in family if p.is_running() and "--user-data-dir" in " ".join(p.cmdline())]
    assert browsers, "rollout actors run browsers"
    ours = {a.partition("=")[2] for p in browsers for a in p.cmdline() if "user-data-dir" in a}

    started.terminate()
    _, log = started.communicate(timeout=30)
    assert started.returncode == 128 + signal.SIGTERM, log
    assert "SIGTERM: saving and closing" in log
    _, alive = psutil.wait_procs(list(family), timeout=10)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
    assert not ours & profiles()
    assert load_checkpoint(find_checkpoint(tmp_path / "latest")).policy_version >= 0


def test_ctrl_c_saves_in_one_process_too(tmp_path: Path):
    settings = ("launch=inprocess", "env=web_fast", "evaluation.num_tasks=0", "policy.width=16")
    started = subprocess.Popen(
        [sys.executable, "train.py", f"logger.runs_dir={tmp_path}", *settings],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    metrics = tmp_path / "latest" / "metrics.jsonl"
    while not metrics.exists() or b'"attempt"' not in metrics.read_bytes():
        assert started.poll() is None, started.communicate()[1]
        time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    _, log = started.communicate(timeout=30)
    assert started.returncode == 128 + signal.SIGINT, log
    assert find_checkpoint(tmp_path / "latest").is_dir()
    assert not (tmp_path / "latest" / "summary.json").exists()
