# SPDX-License-Identifier: Apache-2.0
"""The kill matrix: everything in a run is killed and frozen by its process id; training goes on.

Victims: rollout actor, its browser, its Playwright driver, reward actor, replay actor, learner
actor; SIGKILL and SIGSTOP each. The short form hits the first four one after the other in one run
with real browsers (a killed actor and a killed browser are in `test_ray`, lost replay and learner
in `test_survive`). The long form gives each pair a run of its own.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from actors.config import ClusterConfig, Launch, RolloutConfig, TrainJob
from actors.launch_ray import RayLauncher, RayLearner, RayReplay, RayReward, RayRollout
from actors.run_folder import RunFolder
from envs.browser.profile import profiles_root
from envs.config import BrowserConfig, EnvConfig
from tests.actors.jobs import SMALL, rows, run_job, without_evaluation
from tests.actors.processes import browser_of

KILL, STOP = signal.SIGKILL, signal.SIGSTOP
JOB = dataclasses.replace(
    without_evaluation(SMALL),
    launch=Launch.RAY,
    # Short deadlines: what is frozen in these tests is frozen for ever.
    env=EnvConfig(
        max_steps=6,
        reset_timeout_s=30.0,
        browser=BrowserConfig(call_timeout_s=3.0, navigation_timeout_s=3.0),
    ),
    rollout=RolloutConfig(num_workers=2, max_failures_in_a_row=50),
    cluster=ClusterConfig(health_interval_s=1.5, max_missed_health=2, close_timeout_s=1.0),
    train=dataclasses.replace(SMALL.train, max_env_steps=1_000_000, max_minutes=5.0),
)


class WatchedLauncher(RayLauncher):
    """Knows the process ids of the newest worker of each kind and index."""

    def __init__(self, job: TrainJob) -> None:
        super().__init__(job.worker_configs())
        self.pids: dict[str, int] = {}

    async def start_rollout(self, index: int) -> RayRollout:
        handle = await super().start_rollout(index)
        self.pids[f"rollout {index}"] = (await handle.health()).pid
        return handle

    async def start_reward(self, index: int) -> RayReward:
        handle = await super().start_reward(index)
        self.pids["reward"] = (await handle.health()).pid
        return handle

    async def start_replay(self) -> RayReplay:
        handle = await super().start_replay()
        self.pids["replay"] = (await handle.health()).pid
        return handle

    async def start_learner(self) -> RayLearner:
        handle = await super().start_learner()
        self.pids["learner"] = (await handle.health()).pid
        return handle

    def victim(self, name: str) -> psutil.Process | None:
        """The process by that name, None while it has not come up."""
        if name in ("browser", "driver"):
            browser = browser_of(self.pids["rollout 0"])
            return browser.parent() if browser is not None and name == "driver" else browser
        return psutil.Process(self.pids[name])


def profiles() -> set[Path]:
    return set(profiles_root().glob("*/*"))


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process of the run outlives it, wherever it hangs by now, and none of its profiles."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    family: dict[int, psutil.Process] = {}
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    monkeypatch.setattr(Watch, "family", family, raising=False)
    monkeypatch.setattr(Watch, "profiles", set(), raising=False)
    yield
    left = [p for pid, p in family.items() if pid not in before]
    left += [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    _, alive = psutil.wait_procs(left, timeout=10)
    assert not [p.cmdline() for p in alive if p.status() != psutil.STATUS_ZOMBIE]
    assert not Watch.profiles & profiles()


class Watch:
    """A run under way, and every process and profile folder that it was seen with."""

    family: dict[int, psutil.Process]
    profiles: set[Path]

    def __init__(self, job: TrainJob, runs_dir: Path) -> None:
        self.launcher = WatchedLauncher(job)
        self.metrics = runs_dir / "latest" / "metrics.jsonl"
        self.running: asyncio.Future[tuple[dict[str, Any], RunFolder]] = asyncio.ensure_future(
            run_job(job, runs_dir, self.launcher)
        )

    def count(self, event: str) -> int:
        text = self.metrics.read_bytes() if self.metrics.exists() else b""
        return text.count(f'"event":"{event}"'.encode())

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            assert not self.running.done(), self.running.exception()
            for process in psutil.Process().children(recursive=True):
                self.family.setdefault(process.pid, process)
                if any("user-data-dir" in a for a in _line(process)):
                    self.profiles.update(_profile(process))
            await asyncio.sleep(0.2)

    async def strike(self, name: str, blow: signal.Signals) -> None:
        """Hit the victim, and wait until it is gone and training has gone on since.

        A frozen driver is needed by nobody before its browser is replaced, so it may stay.
        """
        await self.until(lambda: self.launcher.victim(name) is not None)
        victim = self.launcher.victim(name)
        assert victim is not None
        os.kill(victim.pid, blow)
        if (name, blow) != ("driver", STOP):
            await self.until(lambda: not _is_alive(victim))
        attempts, updates = self.count("attempt"), self.count("update")
        await self.until(lambda: self.count("attempt") >= attempts + 2)
        await self.until(lambda: self.count("update") > updates)

    async def stop(self) -> None:
        self.running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.running


def _line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _profile(process: psutil.Process) -> list[Path]:
    flags = [a for a in _line(process) if a.startswith("--user-data-dir=")]
    return [Path(flag.partition("=")[2]) for flag in flags]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.timeout(280)
async def test_killed_and_frozen_workers_and_browsers_do_not_stop_a_run(tmp_path: Path):
    watch = Watch(JOB, tmp_path)
    await watch.until(lambda: watch.count("update") >= 1)
    for name, blow in (
        ("browser", STOP),
        ("driver", KILL),
        ("reward", STOP),
        ("rollout 0", STOP),
    ):
        await watch.strike(name, blow)
    await watch.stop()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("blow", [KILL, STOP], ids=["SIGKILL", "SIGSTOP"])
@pytest.mark.parametrize("name", ["rollout 0", "browser", "driver", "reward", "replay", "learner"])
async def test_a_run_goes_on_without(name: str, blow: signal.Signals, tmp_path: Path):
    job = JOB
    if name in ("replay", "learner"):  # these take the run back to its newest checkpoint
        train = dataclasses.replace(JOB.train, checkpoint_every_versions=1)
        job = dataclasses.replace(JOB, train=train)
    watch = Watch(job, tmp_path)
    await watch.until(lambda: watch.count("update") >= 2)
    await watch.strike(name, blow)
    await watch.stop()
    assert rows(RunFolder(path=(tmp_path / "latest").resolve()), "progress")
