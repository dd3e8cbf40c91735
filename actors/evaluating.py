# SPDX-License-Identifier: Apache-2.0
"""The evaluation job: a checkpoint, and if asked the scripted agents, on held-out tasks."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.archive import Archive
from actors.config import EvaluateJob, WorkerConfigs
from actors.evaluation import Evaluation, evaluate, held_out_tasks, report_evaluation
from actors.loggers import open_metrics
from actors.metrics import MetricsLog
from actors.run_folder import RunFolder
from actors.session import make_launcher, open_session
from actors.summary import success_figures, table, versions, write_summary
from actors.types import POLICY_AGENT, Published
from agent.config import PolicyConfig
from envs.search_env import make_task_set
from envs.types import Task
from learner.checkpoint import Checkpoint, fit_weights
from learner.config import LearnerConfig, ReplayConfig

logger = logging.getLogger(__name__)


def policy_of(checkpoint: Checkpoint) -> tuple[PolicyConfig, Published]:
    """How to build the checkpoint's policy, and its weights as they are published."""
    from agent.policy_agent import build_policy

    policy = PolicyConfig(**checkpoint.policy_config)
    network = build_policy(policy, seed=0)
    fresh = {name: value.numpy() for name, value in network.state_dict().items()}
    weights = fit_weights(checkpoint, fresh)
    return policy, Published(policy_version=checkpoint.policy_version, weights=weights, metrics={})


@dataclass(frozen=True, kw_only=True, slots=True)
class Contender:
    """An agent, and the tasks that it is tried on."""

    agent: str  # POLICY_AGENT or a name of the registry of scripted agents
    tasks: Sequence[Task]
    weights: Published | None = None  # of the policy


async def evaluate_checkpoint(
    job: EvaluateJob,
    folder: RunFolder,
    path: Path,
    checkpoint: Checkpoint,
    *,
    on_started: Callable[[], None],
) -> dict[str, Any]:
    """Run `job` in `folder` and return its figures, which are also written there.

    `checkpoint` is what was read from `path`.
    """
    policy, published = policy_of(checkpoint)
    task_set = make_task_set(job.env)
    tasks = await asyncio.to_thread(
        held_out_tasks, task_set, max(job.evaluation.num_tasks, job.evaluation.num_baseline_tasks)
    )
    policy_tasks = tasks[: job.evaluation.num_tasks]
    contenders = {"policy": Contender(agent=POLICY_AGENT, tasks=policy_tasks, weights=published)}
    if job.with_baselines:
        some = tasks[: job.evaluation.num_baseline_tasks]
        contenders |= {name: Contender(agent=name, tasks=some) for name in job.evaluation.baselines}
    metrics = open_metrics(folder, job.logger)
    logger.info("evaluating %s", path)
    try:
        evaluations = await try_contenders(
            job, folder, contenders, policy=policy, metrics=metrics, on_started=on_started
        )
    finally:
        metrics.close()
    summary = {
        "checkpoint": str(path),
        "policy_version": published.policy_version,
        **success_figures(evaluations),
        "seed": job.seed,
        "driver": job.env.driver.value,
        "versions": versions(),
    }
    write_summary(folder.summary, summary)
    logger.info("%s", table(evaluations, summary))
    return summary


async def try_contenders(
    job: EvaluateJob,
    folder: RunFolder,
    contenders: Mapping[str, Contender],
    *,
    policy: PolicyConfig,
    metrics: MetricsLog,
    on_started: Callable[[], None],
) -> dict[str, Evaluation]:
    """Try one after the other on workers of their own; what became of each, by name.

    Some of the attempts are archived in `folder` under the contender's name.
    """
    archive = Archive(
        folder.episodes, per_kind=job.logger.episodes_per_kind, limit_mb=job.logger.episodes_mb
    )
    evaluations: dict[str, Evaluation] = {}
    launcher = make_launcher(job.launch, _worker_configs(job, policy))
    async with open_session(launcher, job, on_started=on_started) as session:
        for number, (name, contender) in enumerate(contenders.items()):
            pinned = contender.weights
            if pinned is not None:  # the versions of several contenders say nothing of their order
                pinned = dataclasses.replace(pinned, generation=number)
            evaluations[name] = await evaluate(
                contender.agent,
                contender.tasks,
                rollouts=session.rollouts,
                rewards=session.rewards,
                config=job.evaluation,
                seed=job.seed,
                phase=name,
                num_lanes=session.rollouts.pool.size,
                archive=archive,
                pinned=pinned,
            )
            report_evaluation(name, evaluations[name], metrics)
    return evaluations


def _worker_configs(job: EvaluateJob, policy: PolicyConfig) -> WorkerConfigs:
    return WorkerConfigs(
        env=job.env,
        policy=policy,
        algo=LearnerConfig(seed=job.seed),
        reward=job.reward,
        replay=ReplayConfig(),
        cluster=job.cluster,
        rollout=job.rollout,
    )
