# SPDX-License-Identifier: Apache-2.0
"""Short jobs on the fast twin, and what they leave behind."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import orjson

from actors.config import (
    ClusterConfig,
    EvaluationConfig,
    Launch,
    LoggerConfig,
    RolloutConfig,
    TrainConfig,
    TrainJob,
)
from actors.run_folder import RunFolder, make_run_folder
from actors.training import train
from actors.types import Launcher
from agent.config import PolicyConfig
from envs.config import DriverKind, EnvConfig, ScreenshotMode
from learner.config import LearnerConfig

TWIN = EnvConfig(driver=DriverKind.TWIN, max_steps=8, screenshot=ScreenshotMode.NEVER)
SMALL = TrainJob(
    launch=Launch.INPROCESS,
    env=TWIN,
    policy=PolicyConfig(width=16),
    algo=LearnerConfig(group_size=2, groups_per_update=2, step_replay_updates=2, hindsight_tasks=1),
    rollout=RolloutConfig(num_workers=2, admission_window=1),
    cluster=ClusterConfig(health_interval_s=1.0),
    train=TrainConfig(max_env_steps=80, max_minutes=1.0, stall_timeout_s=60.0),
    evaluation=EvaluationConfig(num_tasks=4, num_baseline_tasks=2, baselines=("random", "oracle")),
    logger=LoggerConfig(progress_interval_s=0.5, memory_interval_s=1.0),
)


def without_evaluation(job: TrainJob) -> TrainJob:
    """`job` that only trains."""
    nothing = dataclasses.replace(
        job.evaluation, num_tasks=0, num_baseline_tasks=0, validation_tasks=0
    )
    return dataclasses.replace(job, evaluation=nothing)


async def run_job(
    job: TrainJob, runs_dir: Path, launcher: Launcher
) -> tuple[dict[str, Any], RunFolder]:
    """Run `job` to its end; its summary and its folder."""
    folder = make_run_folder(runs_dir, "test", is_latest=True)
    summary = await train(job, folder, launcher, on_started=lambda: None)
    return summary, folder


def rows(folder: RunFolder, event: str) -> list[dict[str, Any]]:
    """The metrics of one event."""
    lines = folder.metrics.read_bytes().splitlines()
    return [row for row in map(orjson.loads, lines) if row["event"] == event]
