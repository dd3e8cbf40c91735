# SPDX-License-Identifier: Apache-2.0
"""The training job from start to summary: evaluate untrained, train, evaluate trained, report."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from actors.archive import Archive
from actors.config import TrainJob
from actors.controller import Controller, TrainConfigs, TrainParts, TrainTotals
from actors.evaluation import Evaluation, evaluate, held_out_tasks
from actors.loggers import open_metrics
from actors.metrics import MetricsLog
from actors.run_folder import RunFolder
from actors.session import Session, open_session
from actors.show.report import write_report
from actors.summary import TRAINED, UNTRAINED, success_figures, table, write_summary
from actors.task_source import TaskSource
from actors.trace import Trace
from actors.types import POLICY_AGENT, Launcher, LearnerHandle, ReplayHandle
from envs.search_env import make_task_set
from envs.site import TaskSet
from envs.types import Split, Task

logger = logging.getLogger(__name__)

# Training tasks of different seeds come from different stretches of the endless sequence.
_TASKS_PER_SEED = 1_000_000
_SAVE_TIMEOUT_S = 3.0  # on interrupt; a checkpoint is written in milliseconds


async def train(
    job: TrainJob, folder: RunFolder, launcher: Launcher, *, on_started: Callable[[], None]
) -> dict[str, Any]:
    """Run `job` in `folder` and return its summary; a cancelled run still leaves a checkpoint.

    `on_started` is called once the platform is up, which is when signals may be handled.
    Raises `RuntimeError` when the run cannot go on, saying what to look at.
    """
    task_set = make_task_set(job.env)
    tasks = await asyncio.to_thread(held_out_tasks, task_set, _num_held_out(job))
    metrics = open_metrics(folder, job.logger)
    trace = Trace(folder.trace if job.trace else None)
    try:
        async with open_session(
            launcher,
            env=job.env,
            rollout=job.rollout,
            cluster=job.cluster,
            logger_config=job.logger,
            on_started=on_started,
        ) as session:
            replay = await session.launcher.start_replay()
            learner = await session.launcher.start_learner()
            run = _TrainingRun(job, folder, metrics, trace, session, replay, learner)
            try:
                return await run.to_summary(task_set, tasks)
            finally:
                await learner.close()
                await replay.close()
    finally:
        trace.close()
        metrics.close()


def _num_held_out(job: TrainJob) -> int:
    return max(job.evaluation.num_tasks, job.evaluation.num_baseline_tasks)


class _TrainingRun:
    """The stages of one job, over workers that are up."""

    def __init__(
        self,
        job: TrainJob,
        folder: RunFolder,
        metrics: MetricsLog,
        trace: Trace,
        session: Session,
        replay: ReplayHandle,
        learner: LearnerHandle,
    ) -> None:
        self._job = job
        self._folder = folder
        self._metrics = metrics
        self._trace = trace
        self._session = session
        self._replay = replay
        self._learner = learner
        self._evaluations: dict[str, Evaluation] = {}
        self._archive = Archive(
            folder.episodes, per_kind=job.logger.episodes_per_kind, limit_mb=job.logger.episodes_mb
        )

    async def to_summary(self, task_set: TaskSet, tasks: Sequence[Task]) -> dict[str, Any]:
        """All stages; on the way out, whatever the reason, the newest weights are saved."""
        began_s = time.monotonic()
        config = self._job.evaluation
        policy_tasks = tasks[: config.num_tasks]
        try:
            published = await self._learner.publish()
            await self._session.rollouts.publish(published)
            await self._evaluate(UNTRAINED, POLICY_AGENT, policy_tasks)
            for name in config.baselines:
                await self._evaluate(name, name, tasks[: config.num_baseline_tasks])
            controller = self._controller(task_set, published.policy_version)
            totals = await controller.run()
            await self._evaluate(TRAINED, POLICY_AGENT, policy_tasks)
        finally:
            await self._save()
        summary = self._summary(totals, minutes=(time.monotonic() - began_s) / 60.0)
        write_summary(self._folder.summary, summary)
        report = await asyncio.to_thread(write_report, self._folder)
        logger.info("%s", table(self._evaluations, summary))
        logger.info("the run as one page: %s", report)
        return summary

    def _controller(self, task_set: TaskSet, policy_version: int) -> Controller:
        job, session = self._job, self._session
        first = job.seed * _TASKS_PER_SEED
        source = TaskSource(
            lambda number: task_set.task(Split.TRAIN, first + number),
            rollout=job.rollout,
            group_size=job.algo.group_size,
            groups_per_update=job.algo.groups_per_update,
            seed=job.seed,
        )
        return Controller(
            TrainParts(
                source=source,
                rollouts=session.rollouts,
                rewards=session.rewards,
                replay=self._replay,
                learner=self._learner,
                restarts=session.restarts,
                memory=session.memory,
                metrics=self._metrics,
                trace=self._trace,
            ),
            TrainConfigs(
                train=job.train,
                cluster=job.cluster,
                logger=job.logger,
                groups_per_update=job.algo.groups_per_update,
                checkpoints=self._folder.checkpoints,
            ),
            policy_version=policy_version,
            held_out={name: e.rate().value for name, e in self._evaluations.items()},
        )

    async def _evaluate(self, name: str, agent: str, tasks: Sequence[Task]) -> None:
        if not tasks:
            return
        logger.info("evaluating %s on %d held-out tasks", name, len(tasks))
        with self._trace.span("evaluation", name, {"tasks": len(tasks)}):
            evaluation = await evaluate(
                agent,
                tasks,
                rollouts=self._session.rollouts,
                rewards=self._session.rewards,
                config=self._job.evaluation,
                seed=self._job.seed,
                phase=name,
                archive=self._archive,
            )
        self._evaluations[name] = evaluation
        report_evaluation(name, evaluation, self._metrics)

    async def _save(self) -> Path | None:
        """The newest weights on disk; a learner that is gone leaves its last checkpoint."""
        try:
            async with asyncio.timeout(_SAVE_TIMEOUT_S):
                path = await self._learner.save(self._folder.checkpoints)
        except Exception as error:
            logger.warning("the newest weights were not saved: %r", error)
            return None
        logger.info("saved %s", path)
        return path

    def _summary(self, totals: TrainTotals, *, minutes: float) -> dict[str, Any]:
        evaluating_s = sum(evaluation.duration_s for evaluation in self._evaluations.values())
        return {
            **success_figures(self._evaluations),
            "env_steps_per_s": round(totals.env_steps_per_s, 3),
            "env_steps": totals.env_steps,
            "episodes": totals.episodes,
            "policy_version": totals.policy_version,
            "lag_max": totals.lag_max,
            "restarts": self._session.restarts.num_restarts,
            "unscored": totals.unscored,
            "lost_by_stop": totals.lost_by_stop,
            "peak_memory_gb": round(self._session.memory.peak_gb, 3),
            "minutes": round(minutes, 3),
            "minutes_training": round(totals.duration_s / 60.0, 3),
            "minutes_evaluation": round(evaluating_s / 60.0, 3),
            "seed": self._job.seed,
            "launch": self._job.launch.value,
            "driver": self._job.env.driver.value,
            "versions": versions(),
        }


def report_evaluation(name: str, evaluation: Evaluation, metrics: MetricsLog) -> None:
    """One line for a person, one row for the metrics."""
    rate = evaluation.rate()
    kinds = {kind: part.value for kind, part in evaluation.rate_by_kind().items()}
    logger.info(
        "%s: success %.3f (95 %% %.3f-%.3f) %s, %d steps in %.0f s",
        name,
        rate.value,
        rate.low,
        rate.high,
        " ".join(f"{kind} {value:.2f}" for kind, value in kinds.items()),
        evaluation.env_steps,
        evaluation.duration_s,
    )
    row: dict[str, float | int | str] = {
        "name": name,
        "eval/success": rate.value,
        "eval/success_low": rate.low,
        "eval/success_high": rate.high,
        "eval/num_tasks": rate.num_tasks,
        "eval/num_missing": evaluation.num_missing,
        "eval/env_steps": evaluation.env_steps,
        "eval/duration_s": evaluation.duration_s,
    }
    metrics.write("evaluation", {**row, **{f"eval/success_{k}": v for k, v in kinds.items()}})


def versions() -> dict[str, str]:
    """What produced the figures."""
    names = ("foragerl", "ray", "torch", "playwright", "numpy")
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"  # a checkout that is run in place
    return found
