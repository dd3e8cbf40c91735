# SPDX-License-Identifier: Apache-2.0
"""The training job from start to summary: evaluate untrained, train, evaluate trained, report."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from actors.archive import Archive
from actors.bench import bench_run
from actors.checkpoints import CheckpointStore, read_pipeline
from actors.config import TrainJob
from actors.controller import Controller
from actors.core import Core, CoreLost
from actors.evaluation import (
    Evaluation,
    evaluate,
    held_out_tasks,
    report_evaluation,
    validation_tasks,
)
from actors.loggers import open_metrics
from actors.metrics import MetricsLog
from actors.parts import TrainConfigs, TrainParts, TrainTotals
from actors.pipeline import Pipeline
from actors.resume import settings_of
from actors.run_folder import RunFolder
from actors.saver import Saver, finish_within
from actors.session import Session, open_session
from actors.show.report import write_report
from actors.summary import (
    TRAINED,
    UNTRAINED,
    success_figures,
    table,
    versions,
    write_summary,
)
from actors.task_source import TaskSource
from actors.trace import Trace
from actors.types import POLICY_AGENT, Launcher, ReplayState, WorkerLost
from actors.validation import VALIDATION, Validation
from envs.search_env import make_task_set
from envs.site import TaskSet
from envs.types import Split, Task
from learner.config import Schedule

logger = logging.getLogger(__name__)

# Training tasks of different seeds come from different stretches of the endless sequence.
_TASKS_PER_SEED = 1_000_000
_SAVE_TIMEOUT_S = 5.0  # on interrupt; saving and closing together take at most ten


async def train(
    job: TrainJob,
    folder: RunFolder,
    launcher: Launcher,
    *,
    on_started: Callable[[], None],
    checkpoint: Path | None = None,
) -> dict[str, Any]:
    """Run `job` in `folder` and return its summary; a cancelled run still leaves a checkpoint.

    Goes on from `checkpoint` if there is one. `on_started` is called once the platform is up, which
    is when signals may be handled. Raises `RuntimeError` when the run cannot go on, saying what to
    look at.
    """
    task_set = make_task_set(job.env)
    tasks = await asyncio.to_thread(held_out_tasks, task_set, _num_held_out(job))
    metrics = open_metrics(folder, job.logger)
    trace = Trace(folder.trace if job.trace else None)
    try:
        async with open_session(launcher, job, on_started=on_started) as session:
            run = _TrainingRun(job, folder, metrics, trace, session, task_set)
            try:
                summary = await run.to_summary(tasks, checkpoint)
            finally:
                await run.close()
        if job.evaluation.bench:
            summary["forage_bench"] = await bench_run(job, folder, metrics, on_started=on_started)
        write_summary(folder.summary, summary)
        report = await asyncio.to_thread(write_report, folder)
        logger.info("%s", table(run.evaluations, summary))
        logger.info("the run as one page: %s", report)
        return summary
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
        task_set: TaskSet,
    ) -> None:
        self._job = job
        self._folder = folder
        self._metrics = metrics
        self._trace = trace
        self._session = session
        self._task_set = task_set
        self.evaluations: dict[str, Evaluation] = {}
        self._validated: tuple[int, Evaluation] | None = None  # the last version that was tried
        self._archive = Archive(
            folder.episodes, per_kind=job.logger.episodes_per_kind, limit_mb=job.logger.episodes_mb
        )
        self._store = CheckpointStore(folder.checkpoints, keep=job.train.keep_checkpoints)
        self._saver = Saver(self._store, config=job.train, metrics=metrics, describe=self._describe)
        self._core: Core | None = None
        self._num_cores = 0
        self._num_resumed = 0  # times that the run was gone on with by another process
        self._began_s = time.monotonic()  # as if all processes of the run had followed each other

    async def to_summary(self, tasks: Sequence[Task], checkpoint: Path | None) -> dict[str, Any]:
        """All stages up to the trained policy's evaluation; the summary."""
        config = self._job.evaluation
        policy_tasks = tasks[: config.num_tasks]
        if checkpoint is None:
            controller = await self._begin()
            await controller.save()  # there is always one to go back to
            await self._evaluate(UNTRAINED, POLICY_AGENT, policy_tasks)
            for name in config.baselines:
                await self._evaluate(name, name, tasks[: config.num_baseline_tasks])
            with contextlib.suppress(CoreLost):  # training will notice
                await controller.save()
        else:
            controller = await self._go_on_from(checkpoint, is_new_process=True)
        totals = await self._train(controller)
        await self._evaluate(TRAINED, POLICY_AGENT, policy_tasks)
        return self._summary(totals, minutes=(time.monotonic() - self._began_s) / 60.0)

    async def close(self) -> None:
        """Close replay and learner."""
        if self._core is not None:
            await self._core.close()

    # --- Training --------------------------------------------------------------------------------

    async def _train(self, controller: Controller) -> TrainTotals:
        """To the end of the budget, from checkpoint to checkpoint when replay or learner are lost.

        Whatever ends it otherwise, what was reached is saved.
        """
        num_losses = 0
        while True:
            try:
                if num_losses:
                    controller = await self._go_back()
                totals = await controller.run()
                await controller.save()
                return totals
            except CoreLost as loss:
                num_losses += 1
                logger.warning("replay or learner lost: %s", loss)
                if num_losses > self._job.train.max_restores:
                    raise RuntimeError(
                        f"replay or learner were lost {num_losses} times (train.max_restores="
                        f"{self._job.train.max_restores}), the last time because {loss}"
                    ) from loss
                self._session.restarts.spend(str(loss))
            except BaseException:
                await finish_within(controller.save, _SAVE_TIMEOUT_S)
                raise

    async def _begin(self) -> Controller:
        """A run from nothing."""
        core = await self._start_core()
        published = await core.publish()
        await self._session.rollouts.publish(published)
        self._saver.begin(published.policy_version, None)
        return self._controller(core, self._pipeline(), replay=None, elapsed_s=0.0)

    async def _go_back(self) -> Controller:
        """The same run as it was at its newest checkpoint."""
        checkpoint = self._store.newest()
        if checkpoint is None:
            raise RuntimeError(
                f"replay or learner were lost and no checkpoint in {self._folder.checkpoints} is "
                "whole, so the run cannot go on"
            )
        logger.warning("going back to %s", checkpoint)
        return await self._go_on_from(checkpoint, is_new_process=False)

    async def _go_on_from(self, checkpoint: Path, *, is_new_process: bool) -> Controller:
        state = read_pipeline(checkpoint)
        core = await self._start_core()
        published, replay = await core.restore(checkpoint)
        pipeline = self._pipeline()
        pipeline.restore(state)
        if is_new_process:
            evaluations = state["evaluations"].items()
            self.evaluations = {name: Evaluation.from_state(e) for name, e in evaluations}
            self._num_resumed = state["num_resumed"] + 1
            self._began_s = time.monotonic() - state["run_s"]
            logger.info("going on from %s", checkpoint)
        self._metrics.rewind(**state["metrics"])
        row = {"learner/policy_version": published.policy_version, "checkpoint/is_return": 1}
        self._metrics.write("checkpoint", row)
        await self._session.rollouts.publish(published)
        self._saver.begin(published.policy_version, checkpoint)
        return self._controller(core, pipeline, replay=replay, elapsed_s=state["elapsed_s"])

    async def _start_core(self) -> Core:
        """Replay and learner, fresh; closes those before."""
        await self.close()
        launcher, timeout_s = self._session.launcher, self._job.cluster.start_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                replay = await launcher.start_replay()
                learner = await launcher.start_learner()
        except (WorkerLost, TimeoutError) as loss:
            reason = str(loss) or f"no answer in {timeout_s:g} s (cluster.start_timeout_s)"
            raise CoreLost(f"replay or learner did not start: {reason}") from loss
        self._core = Core(
            replay,
            learner,
            waiting=self._session.waiting,
            cluster=self._job.cluster,
            long_timeout_s=self._job.train.update_timeout_s,
            generation=self._num_cores,
        )
        self._num_cores += 1
        return self._core

    def _pipeline(self) -> Pipeline:
        job, task_set = self._job, self._task_set
        first = job.seed * _TASKS_PER_SEED
        source = TaskSource(
            lambda number: task_set.task(Split.TRAIN, first + number),
            rollout=dataclasses.replace(job.rollout, admission_window=job.admission_window()),
            group_size=job.algo.group_size,
            groups_per_update=job.algo.groups_per_update,
            seed=job.seed,
            keeps_weights=job.keeps_weights(),
        )
        return Pipeline(source)

    def _controller(
        self, core: Core, pipeline: Pipeline, *, replay: ReplayState | None, elapsed_s: float
    ) -> Controller:
        job, session = self._job, self._session
        return Controller(
            TrainParts(
                pipeline=pipeline,
                rollouts=session.rollouts,
                rewards=session.rewards,
                core=core,
                saver=self._saver,
                restarts=session.restarts,
                memory=session.memory,
                waiting=session.waiting,
                metrics=self._metrics,
                trace=self._trace,
                validation=self._validation(pipeline),
            ),
            TrainConfigs(
                train=job.train,
                logger=job.logger,
                alarms=job.alarms,
                groups_per_update=job.algo.groups_per_update,
                takes_in_order=job.takes_in_order(),
            ),
            replay=replay,
            elapsed_s=elapsed_s,
            held_out=self._held_out,
        )

    def _validation(self, pipeline: Pipeline) -> Validation | None:
        config, session = self._job.evaluation, self._session
        if not config.validation_tasks:
            return None
        return Validation(
            validation_tasks(self._task_set, config.validation_tasks),
            rollouts=session.rollouts,
            rewards=session.rewards,
            config=config,
            seed=self._job.seed,
            policy_version=pipeline.tried_version,
            on_result=functools.partial(self._on_validated, pipeline),
        )

    def _on_validated(
        self, pipeline: Pipeline, policy_version: int, evaluation: Evaluation
    ) -> None:
        self._validated = policy_version, evaluation
        steers = self._job.algo.objective.schedule is Schedule.VALIDATION
        rate = evaluation.rate()  # of 0 tasks when the world broke under all of them
        pipeline.validated(policy_version, rate.value if steers and rate.num_tasks else None)
        at = {"learner/policy_version": policy_version}
        report_evaluation(VALIDATION, evaluation, self._metrics, at)

    def _held_out(self) -> dict[str, float]:
        found = {name: e.rate().value for name, e in self.evaluations.items()}
        if self._validated is not None:
            version, evaluation = self._validated
            found[f"version {version}"] = evaluation.rate().value
            found |= {kind: rate.value for kind, rate in evaluation.rate_by_kind().items()}
        return found

    def _describe(self) -> dict[str, Any]:
        """What belongs into a checkpoint beside the books."""
        return {
            "settings": settings_of(self._job),
            "evaluations": {name: e.state_dict() for name, e in self.evaluations.items()},
            "num_resumed": self._num_resumed,
            "run_s": time.monotonic() - self._began_s,
            "tracker_id": self._metrics.tracker_id(),
        }

    # --- Evaluation and figures ------------------------------------------------------------------

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
                num_lanes=self._session.rollouts.pool.size,
                archive=self._archive,
            )
        self.evaluations[name] = evaluation
        report_evaluation(name, evaluation, self._metrics)

    def _summary(self, totals: TrainTotals, *, minutes: float) -> dict[str, Any]:
        evaluating_s = sum(evaluation.duration_s for evaluation in self.evaluations.values())
        return {
            **success_figures(self.evaluations),
            "env_steps_per_s": round(totals.env_steps_per_s, 3),
            "env_steps": totals.env_steps,
            "episodes": totals.episodes,
            "policy_version": totals.policy_version,
            "lag_max": totals.lag_max,
            "restarts": self._session.restarts.num_restarts,
            "restores": self._num_cores - 1,
            "resumed": self._num_resumed,
            "attempts": totals.attempts,
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
