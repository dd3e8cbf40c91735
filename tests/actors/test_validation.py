# SPDX-License-Identifier: Apache-2.0
"""Versions are tried on validation tasks while training goes on, each with its own weights."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from actors.config import ClusterConfig, EvaluationConfig, RolloutConfig
from actors.evaluation import Evaluation, validation_tasks
from actors.launch_inprocess import InProcessLauncher
from actors.pool import RestartBudget, RewardPool, RolloutPool, WorkerPool
from actors.show.curves import read_rows
from actors.types import Attempt, AttemptOrder, LostAttempt, Published
from actors.validation import Validation
from actors.waiting import Waiting
from agent.policy_agent import build_policy
from envs.search_env import make_task_set
from tests.actors.jobs import SMALL, rows, run_job, without_evaluation

CONFIG = EvaluationConfig(validation_tasks=3, validate_every_versions=2)
CLUSTER = ClusterConfig()


def published(version: int) -> Published:
    network = build_policy(SMALL.policy, seed=version)
    weights = {k: v.numpy() for k, v in network.state_dict().items()}
    return Published(policy_version=version, weights=weights, metrics={})


class Watched(RolloutPool):
    """Notes which versions took the steps of each attempt; publishes a newer one before it."""

    versions: dict[str, tuple[int, int]]

    async def run(
        self, order: AttemptOrder, *, pinned: Published | None = None
    ) -> Attempt | LostAttempt:
        await self.publish(published(100 + len(self.versions)))
        result = await super().run(order, pinned=pinned)
        assert isinstance(result, Attempt)
        versions = result.report.first_version, result.report.last_version
        self.versions[order.trajectory_id] = versions
        return result


@pytest.mark.parametrize("began_at", [0, 3])
async def test_each_version_that_is_due_is_tried_with_its_own_weights(began_at: int):
    launcher = InProcessLauncher(SMALL.worker_configs())
    found: list[tuple[int, Evaluation]] = []
    async with asyncio.TaskGroup() as tasks:
        shared = {
            "size": 1,
            "cluster": CLUSTER,
            "budget": RestartBudget(0),
            "waiting": Waiting(),
            "spawn": tasks.create_task,
        }
        workers = WorkerPool("rollout", launcher.start_rollout, **shared)
        scorers = WorkerPool("reward", launcher.start_reward, **shared)
        await workers.start()
        await scorers.start()
        rollouts = Watched(workers, env=SMALL.env, rollout=RolloutConfig(), cluster=CLUSTER)
        rollouts.versions = {}
        validation = Validation(
            validation_tasks(make_task_set(SMALL.env), 3),
            rollouts=rollouts,
            rewards=RewardPool(scorers, cluster=CLUSTER),
            config=CONFIG,
            seed=0,
            policy_version=began_at,
            on_result=lambda version, evaluation: found.append((version, evaluation)),
        )
        running = tasks.create_task(validation.run())
        for version in range(began_at + 1, 7):
            validation.offer(published(version))
            while len(found) < version // 2 - began_at // 2:
                await asyncio.sleep(0.01)
        validation.offer(published(8))
        while not any("validation.8." in name for name in rollouts.versions):
            await asyncio.sleep(0.01)
        validation.end()
        await running
        await workers.close()
        await scorers.close()
    due = [v for v in (2, 4, 6) if v > began_at]
    assert [version for version, _ in found] == due
    for version, evaluation in found:
        assert len(evaluation.outcomes) == 3 and not evaluation.num_missing
        tried = [v for name, v in rollouts.versions.items() if f"validation.{version}." in name]
        assert tried == [(version, version)] * 3
    last = [name for name in rollouts.versions if "validation.8." in name]
    assert 1 <= len(last) < 3, "what was under way when training ended is the last"
    assert len(rollouts.versions) == 3 * len(due) + len(last), "every attempt has its own name"


async def test_training_goes_on_while_a_version_is_validated(tmp_path: Path):
    evaluation = dataclasses.replace(
        without_evaluation(SMALL).evaluation, validation_tasks=2, validate_every_versions=2
    )
    train = dataclasses.replace(SMALL.train, max_env_steps=300)
    job = dataclasses.replace(SMALL, evaluation=evaluation, train=train)
    _, folder = await run_job(job, tmp_path, InProcessLauncher(job.worker_configs()))
    tried = rows(folder, "evaluation")
    assert tried and all(row["name"] == "validation" for row in tried)
    versions = [row["learner/policy_version"] for row in tried]
    assert versions == sorted(set(versions)) and not any(v % 2 for v in versions)
    assert all(row["eval/num_tasks"] == 2 for row in tried)
    ended = [row["learner/policy_version"] for row in rows(folder, "update")]
    assert max(ended) > versions[0], "no update ended after the first version was tried"
    order = [row["event"] for row in read_rows(folder.metrics)]
    first = order.index("evaluation")
    assert "attempt" in order[first:], "training attempts ended after it, too"


def test_a_split_that_ends_gives_the_tasks_that_it_has(tmp_path: Path):
    class Short:
        def __init__(self) -> None:
            self.inner = make_task_set(SMALL.env)

        def num_tasks(self, split):
            return 2

        def task(self, split, index):
            assert index < 2
            return self.inner.task(split, index)

        def site(self, task):
            return self.inner.site(task)

    assert len(validation_tasks(Short(), 16)) == 2
    assert len(validation_tasks(Short(), 1)) == 1
