# SPDX-License-Identifier: Apache-2.0
"""`kill -9` at random moments: the run goes on with `resume=auto`, and its books are whole."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from actors.run_folder import RunFolder
from tests.actors.lineage import (
    assert_nothing_lost_nothing_doubled,
    assert_same_weights,
    curve,
)

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (
    "env=web_fast",
    "env.max_steps=8",
    "policy.width=16",
    "algo.group_size=2",
    "algo.groups_per_update=2",
    "algo.step_replay_updates=2",
    "algo.hindsight_tasks=1",
    "evaluation.num_tasks=0",
    "evaluation.num_baseline_tasks=0",
    "train.checkpoint_every_versions=2",
    "train.max_minutes=600",
    "train.max_restores=100",
    "resume=auto",
)


class Killed:
    """A run as a person starts it, again after each death of its driver."""

    def __init__(self, runs_dir: Path, *settings: str) -> None:
        self.runs_dir = runs_dir
        self.settings = (*SETTINGS, *settings, f"logger.runs_dir={runs_dir}")
        self.process: subprocess.Popen[bytes] | None = None
        self.num_starts = 0

    def start(self) -> None:
        self.num_starts += 1
        environment = {k: v for k, v in os.environ.items() if k not in ("RAY_AUTH_MODE",)}
        with (self.runs_dir / "output.log").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "train.py", *self.settings],
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=output,
            )

    @property
    def folder(self) -> RunFolder:
        return RunFolder(path=(self.runs_dir / "latest").resolve())

    def version(self) -> int:
        """Of the last update; -1 before the first."""
        if not (self.runs_dir / "latest").exists() or not self.folder.metrics.exists():
            return -1
        lines = self.folder.metrics.read_bytes().splitlines()
        updates = [json.loads(line) for line in lines if b'"update"' in line and line[-1:] == b"}"]
        return int(updates[-1]["learner/policy_version"]) if updates else -1

    def wait_for_versions(self, more: int, deadline_s: float = 120.0) -> bool:
        """Until so many versions were published; False when the run ended before."""
        assert self.process is not None
        goal, until_s = max(0, self.version()) + more, time.monotonic() + deadline_s
        while self.version() < goal and time.monotonic() < until_s:
            if self.process.poll() is not None:
                return False
            time.sleep(0.05)
        return True

    def newest_checkpoint(self) -> str:
        """Name of the newest one; "" before the first."""
        pointer = self.runs_dir / "latest" / "checkpoints" / "newest"
        return pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else ""

    def wait_for_save(self, since: str, deadline_s: float = 120.0) -> bool:
        """Until another checkpoint than `since` is the newest; False when the run ended before."""
        assert self.process is not None
        until_s = time.monotonic() + deadline_s
        while self.newest_checkpoint() == since and time.monotonic() < until_s:
            if self.process.poll() is not None:
                return False
            time.sleep(0.05)
        return self.newest_checkpoint() != since

    def kill_driver(self) -> None:
        assert self.process is not None
        family = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait()
        psutil.wait_procs(family, timeout=15)

    def finish(self, timeout_s: float) -> None:
        assert self.process is not None
        code = self.process.wait(timeout_s)
        assert code == 0, (self.runs_dir / "output.log").read_text()[-4000:]


@pytest.mark.timeout(300)
def test_a_driver_killed_three_times_ends_with_the_curve_of_one_that_was_not(tmp_path: Path):
    rng = np.random.default_rng(0)
    serial = ("launch=inprocess", "mode=sync", "rollout.num_workers=1", "train.max_env_steps=300")
    killed = Killed(tmp_path / "killed", *serial)
    killed.runs_dir.mkdir()
    for _ in range(3):
        before = killed.newest_checkpoint()
        killed.start()
        assert killed.wait_for_save(before), "each life leaves something to go on from"
        time.sleep(float(rng.uniform(0.0, 0.3)))
        killed.kill_driver()
    killed.start()
    killed.finish(120)
    summary = json.loads(killed.folder.summary.read_bytes())
    assert summary["resumed"] == 3
    assert_nothing_lost_nothing_doubled(killed.folder)

    straight = Killed(tmp_path / "straight", *serial)
    straight.runs_dir.mkdir()
    straight.start()
    straight.finish(120)
    assert curve(killed.folder) == curve(straight.folder)
    assert_same_weights(killed.folder, straight.folder)


def actors_of(driver_pid: int) -> dict[str, list[int]]:
    """Class of actor -> process ids; Ray puts the class into the title of the process."""
    found: dict[str, list[int]] = {}
    for process in psutil.Process(driver_pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            title = " ".join(process.cmdline())
            if title.startswith("ray::_"):
                name = title.removeprefix("ray::_").partition(".")[0].partition(" ")[0]
                found.setdefault(name, []).append(process.pid)
    return found


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_twenty_random_kills_of_driver_and_actors_lose_and_double_nothing(tmp_path: Path):
    rng = np.random.default_rng(1)
    killed = Killed(tmp_path, "train.max_env_steps=4000", "train.checkpoint_every_versions=5")
    victims: list[str] = []
    killed.start()
    while len(victims) < 20:
        if not killed.wait_for_versions(int(rng.integers(1, 5))):
            break
        time.sleep(float(rng.uniform(0.0, 1.0)))
        assert killed.process is not None
        actors = actors_of(killed.process.pid)
        choice = str(rng.choice(["driver", *sorted(actors)]))
        victims.append(choice)
        if choice == "driver":
            killed.kill_driver()
            killed.start()
        else:
            os.kill(int(rng.choice(actors[choice])), signal.SIGKILL)
    killed.finish(900)
    counts = assert_nothing_lost_nothing_doubled(killed.folder)
    summary = json.loads(killed.folder.summary.read_bytes())
    print(f"\nkilled {victims}; {counts}; {summary['restores']} restores in the last process")
    assert len(victims) == 20 and len(set(victims)) >= 4
