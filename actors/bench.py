# SPDX-License-Identifier: Apache-2.0
"""Forage-Bench as an evaluation: of a checkpoint, of agents without one, after a training run."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from actors.bench_figures import BM25, ORACLE, POLICY, agent_figures, bench_table, headline
from actors.config import BENCH_TASK_SET, EvaluateJob, TrainJob
from actors.evaluating import Contender, policy_of, try_contenders
from actors.evaluation import held_out_tasks
from actors.loggers import open_metrics
from actors.metrics import MetricsLog
from actors.run_folder import RunFolder, find_checkpoint
from actors.summary import UNTRAINED, versions, write_summary
from actors.types import POLICY_AGENT, Published
from agent.config import PolicyConfig
from agent.registry import AGENTS
from envs.config import EnvConfig
from envs.registry import check_name
from envs.search_env import make_task_set
from envs.web.bench import MOST_CAP
from learner.checkpoint import Checkpoint, load_checkpoint

logger = logging.getLogger(__name__)

_WITH_WEIGHTS = dict.fromkeys((POLICY, UNTRAINED), "agent.policy_agent:PolicyAgent")
_PREFIX = "bench_"  # of the evaluations' names in metrics and among archived attempts


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """The policy that is benched."""

    path: Path
    config: PolicyConfig
    weights: Published


def bench_env(env: EnvConfig) -> EnvConfig:
    """`env` on the benchmark's tasks, whose caps replace the limit of steps."""
    return dataclasses.replace(env, task_set=BENCH_TASK_SET, path="", max_steps=MOST_CAP)


def agents_of(named: str, *, has_checkpoint: bool) -> tuple[str, ...]:
    """The agents of a list such as "policy,oracle"; all that can be tried for "".

    Raises `ValueError` for an unknown one, and for `policy` without a checkpoint.
    """
    default = f"{POLICY},random,{BM25},{ORACLE}" if has_checkpoint else f"random,{BM25},{ORACLE}"
    agents = tuple(dict.fromkeys((named or default).split(",")))
    for agent in agents:
        check_name(agent, {**AGENTS, **_WITH_WEIGHTS}, what="--agents")
    if POLICY in agents and not has_checkpoint:
        raise ValueError(
            "--agents: expected a checkpoint for policy, got none; give a run's folder, such as "
            "runs/latest, or name other agents"
        )
    return agents


def trained_at(path: Path, checkpoint: Checkpoint) -> Trained:
    """The policy of `checkpoint`, which was read from `path`."""
    config, weights = policy_of(checkpoint)
    return Trained(path=path, config=config, weights=weights)


async def bench(
    job: EvaluateJob,
    folder: RunFolder,
    agents: Sequence[str],
    trained: Trained | None,
    *,
    on_started: Callable[[], None],
) -> dict[str, Any]:
    """Run the benchmark in a folder of its own; what `bench.json` says.

    `job.env` is a `bench_env`. The untrained policy has the seed of `job`.
    """
    metrics = open_metrics(folder, job.logger)
    try:
        return await _bench(job, folder, agents, trained, metrics, job.seed, on_started)
    finally:
        metrics.close()


async def bench_run(
    job: TrainJob, folder: RunFolder, metrics: MetricsLog, *, on_started: Callable[[], None]
) -> dict[str, float | None]:
    """Bench the newest checkpoint of a training run, beside what it began as and two baselines.

    What its summary says as `forage_bench`; the whole lies in its folder as `bench.json`.
    """
    path = find_checkpoint(folder.path)
    trained = trained_at(path, await asyncio.to_thread(load_checkpoint, path))
    evaluate_job = EvaluateJob(
        checkpoint=str(path),
        launch=job.launch,
        seed=job.seed,
        evaluation=dataclasses.replace(job.evaluation, bench=False),
        env=bench_env(job.env),
        reward=job.reward,
        rollout=job.rollout,
        cluster=job.cluster,
        logger=job.logger,
    )
    agents = (POLICY, UNTRAINED, BM25, ORACLE)
    found = await _bench(evaluate_job, folder, agents, trained, metrics, job.algo.seed, on_started)
    return headline(found["agents"])


async def _bench(
    job: EvaluateJob,
    folder: RunFolder,
    agents: Sequence[str],
    trained: Trained | None,
    metrics: MetricsLog,
    untrained_seed: int,
    on_started: Callable[[], None],
) -> dict[str, Any]:
    task_set = make_task_set(job.env)
    tasks = await asyncio.to_thread(held_out_tasks, task_set, job.evaluation.bench_tasks)
    policy = PolicyConfig() if trained is None else trained.config
    contenders: dict[str, Contender] = {}
    for name in agents:
        agent = POLICY_AGENT if name in _WITH_WEIGHTS else name
        weights = trained.weights if name == POLICY and trained is not None else None
        if name == UNTRAINED:
            weights = _untrained(policy, untrained_seed)
        contenders[f"{_PREFIX}{name}"] = Contender(agent=agent, tasks=tasks, weights=weights)
    evaluations = await try_contenders(
        job, folder, contenders, policy=policy, metrics=metrics, on_started=on_started
    )
    by_agent = {name: agent_figures(evaluations[f"{_PREFIX}{name}"], tasks) for name in agents}
    found = {
        "checkpoint": str(trained.path) if trained is not None else None,
        "policy_version": trained.weights.policy_version if trained is not None else None,
        "agents": by_agent,
        "seed": job.seed,
        "temperature": job.evaluation.temperature,
        "driver": job.env.driver.value,
        "versions": versions(),
    }
    write_summary(folder.bench, found)
    logger.info("Forage-Bench, points of 100%s", bench_table(by_agent))
    return found


def _untrained(policy: PolicyConfig, seed: int) -> Published:
    """The weights that training from `seed` begins with."""
    from agent.policy_agent import build_policy

    network = build_policy(policy, seed=seed)
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    return Published(policy_version=0, weights=weights, metrics={})
