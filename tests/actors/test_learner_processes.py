# SPDX-License-Identifier: Apache-2.0
"""A run whose learner has two processes, one of which is killed on the way."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path

import psutil

from actors.launch_inprocess import InProcessLauncher, LocalLearner
from actors.types import Published, Ref
from tests.actors.jobs import SMALL, rows, run_job, without_evaluation


class _Frail(LocalLearner):
    """Loses its other process after its second update."""

    num_updates = 0
    pids: tuple[int, ...] = ()

    async def update(
        self, groups: Ref, progress: float, validation_score: float | None
    ) -> Published:
        published = await super().update(groups, progress, validation_score)
        self.num_updates += 1
        others = self._worker._learner._others
        assert others is not None
        self.pids = others.pids()
        if self.num_updates == 2:
            os.kill(self.pids[0], signal.SIGKILL)
        return published


class _Launcher(InProcessLauncher):
    def __init__(self, configs) -> None:  # type: ignore[no-untyped-def]
        super().__init__(configs)
        self.learners: list[LocalLearner] = []

    async def start_learner(self) -> LocalLearner:
        learner = await super().start_learner()
        if not self.learners:
            learner = _Frail(learner._worker)
        self.learners.append(learner)
        return learner


async def test_a_lost_process_of_the_learner_takes_the_run_back_to_its_checkpoint(tmp_path: Path):
    algo = dataclasses.replace(SMALL.algo, num_processes=2, process_timeout_s=150.0)
    train = dataclasses.replace(
        SMALL.train, checkpoint_every_versions=1, max_env_steps=120, max_minutes=3.0
    )
    job = dataclasses.replace(without_evaluation(SMALL), algo=algo, train=train)
    launcher = _Launcher(job.worker_configs())
    summary, folder = await run_job(job, tmp_path, launcher)
    assert summary["restores"] == 1 and summary["env_steps"] >= 120
    versions = [row["learner/policy_version"] for row in rows(folder, "update")]
    assert versions == list(range(1, len(versions) + 1)) and len(versions) > 2
    frail = launcher.learners[0]
    assert isinstance(frail, _Frail) and frail.pids
    assert not any(psutil.pid_exists(pid) for pid in frail.pids)
    assert not [
        child
        for child in psutil.Process().children()
        if "learner.follower" in " ".join(child.cmdline())
    ], "the run gave its processes back"
