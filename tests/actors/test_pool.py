# SPDX-License-Identifier: Apache-2.0
"""Pools against scripted workers that die, hang and miss their health checks."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import pytest

from actors.config import ClusterConfig
from actors.pool import RestartBudget, RewardPool, WorkerPool
from actors.types import Ref, WorkerHealth, WorkerLost
from actors.waiting import Waiting
from envs.types import Scored, Unscored

CLUSTER = ClusterConfig(
    health_interval_s=0.02, max_missed_health=2, start_timeout_s=1.0, reward_timeout_s=0.2
)


class ScriptedReward:
    """A reward worker that does what its script says."""

    def __init__(self, number: int, script: str) -> None:
        self.number = number
        self.script = script
        self.is_closed = False

    async def score(self, episode: Ref) -> Scored | Unscored:
        if self.script == "dies":
            raise WorkerLost(f"reward {self.number} died")
        if self.script in ("hangs", "deaf"):
            await asyncio.Event().wait()
        return Unscored(trajectory_id=episode, reason=f"scored by {self.number}")

    async def health(self) -> WorkerHealth:
        if self.script == "deaf":
            await asyncio.Event().wait()
        return WorkerHealth(pid=self.number, num_done=0, policy_version=-1)

    async def close(self) -> None:
        self.is_closed = True


class Workers:
    """Starts workers by a list of scripts; the last one goes on for ever."""

    def __init__(self, *scripts: str) -> None:
        self.scripts = list(scripts)
        self.started: list[ScriptedReward] = []

    async def start(self, index: int) -> ScriptedReward:
        number = len(self.started)
        script = self.scripts[min(number, len(self.scripts) - 1)]
        self.started.append(ScriptedReward(number, script))
        if script == "stillborn":
            raise WorkerLost(f"reward {number} died while it started")
        return self.started[-1]


@contextlib.asynccontextmanager
async def open_pool(
    workers: Workers, *, size: int = 1, max_restarts: int = 10, cluster: ClusterConfig = CLUSTER
) -> AsyncIterator[tuple[WorkerPool[ScriptedReward], RestartBudget]]:
    budget = RestartBudget(max_restarts)
    async with asyncio.TaskGroup() as tasks:
        pool: WorkerPool[ScriptedReward] = WorkerPool(
            "reward",
            workers.start,
            size=size,
            cluster=cluster,
            budget=budget,
            waiting=Waiting(),
            spawn=tasks.create_task,
        )
        await pool.start()
        yield pool, budget


async def score(pool: WorkerPool[ScriptedReward]) -> Scored | Unscored:
    return await RewardPool(pool, cluster=CLUSTER).score("a", "a")  # type: ignore[arg-type]


async def test_a_dead_worker_is_replaced_and_its_episode_scored_by_the_next():
    workers = Workers("dies", "works")
    async with open_pool(workers) as (pool, budget):
        result = await score(pool)
    assert isinstance(result, Unscored) and result.reason == "scored by 1"
    assert budget.num_restarts == 1
    assert workers.started[0].is_closed


async def test_a_worker_that_dies_while_it_starts_is_started_again():
    workers = Workers("stillborn", "dies", "stillborn", "stillborn", "works")
    async with open_pool(workers) as (pool, budget):
        result = await score(pool)
    assert isinstance(result, Unscored) and result.reason == "scored by 4"
    assert budget.num_restarts == 4
    with pytest.raises(ExceptionGroup) as raised:
        async with open_pool(Workers("stillborn"), max_restarts=3):
            pass
    assert raised.group_contains(RuntimeError, match="restarted 4 times.*while it started")


async def test_a_hanging_worker_is_given_up_at_its_deadline():
    workers = Workers("hangs", "works")
    async with open_pool(workers) as (pool, _):
        result = await score(pool)
    assert isinstance(result, Unscored) and result.reason == "scored by 1"


async def test_when_every_worker_dies_the_episode_is_unscored_and_not_zero():
    async with open_pool(Workers("dies")) as (pool, _):
        result = await score(pool)
    assert isinstance(result, Unscored)
    assert "died" in result.reason


async def test_a_worker_that_misses_its_health_checks_is_replaced_and_its_caller_woken():
    workers = Workers("deaf", "works")
    patient = dataclasses.replace(CLUSTER, reward_timeout_s=60.0)
    async with open_pool(workers, cluster=patient) as (pool, budget):
        watch = asyncio.ensure_future(pool.watch())
        result = await RewardPool(pool, cluster=patient).score("a", "a")  # type: ignore[arg-type]
        watch.cancel()
    assert isinstance(result, Unscored) and result.reason == "scored by 1"
    assert budget.num_restarts == 1


async def test_other_callers_go_on_while_a_worker_is_replaced():
    workers = Workers("dies", "works")
    async with open_pool(workers, size=2) as (pool, _):
        results = await asyncio.gather(*(score(pool) for _ in range(8)))
    assert all(isinstance(r, Unscored) and r.reason.startswith("scored by") for r in results)


async def test_a_worker_that_is_lost_while_it_is_idle_is_not_handed_out():
    workers = Workers("deaf", "works")
    async with open_pool(workers) as (pool, budget):
        watch = asyncio.ensure_future(pool.watch())
        while len(workers.started) < 2:
            await asyncio.sleep(0.01)
        watch.cancel()
        result = await pool.call(lambda worker: worker.score("a"), what="score", timeout_s=5.0)
    assert isinstance(result, Unscored) and result.reason == "scored by 1"
    assert budget.num_restarts == 1


async def test_whoever_waits_for_a_worker_has_it_before_those_that_come_back():
    async with open_pool(Workers("scores"), size=2) as (pool, _):
        order: list[int] = []

        async def caller(name: int) -> None:
            for _ in range(5):
                await pool.call(lambda worker: worker.score("e"), what="score", timeout_s=1.0)
                order.append(name)

        await asyncio.gather(*(caller(name) for name in range(5)))
    rounds = [order[i : i + 5] for i in range(0, len(order), 5)]
    assert all(sorted(some) == [0, 1, 2, 3, 4] for some in rounds), order


async def test_who_waits_for_a_worker_is_known_by_name_and_for_what():
    async with open_pool(Workers("hangs", "works")) as (pool, _):
        first = asyncio.ensure_future(
            pool.call(lambda worker: worker.score("a"), what="score of a", timeout_s=0.2)
        )
        await asyncio.sleep(0)
        second = asyncio.ensure_future(
            pool.call(lambda worker: worker.score("b"), what="score of b", timeout_s=5.0)
        )
        await asyncio.sleep(0)
        assert pool.waiting.waits() == {"score of b": "an idle reward worker"}
        assert "reward worker 0: score of a, for 0 s, deadline in 0 s" in pool.waiting.report()
        with pytest.raises(WorkerLost, match=r"reward worker 0 took longer than 0\.2 s"):
            await first
        await second
        assert pool.waiting.waits() == {}


async def test_closing_does_not_wait_for_a_worker_that_is_still_coming_up():
    workers = Workers("dies", "works")
    slow = asyncio.Event()

    async def start(index: int) -> ScriptedReward:
        if workers.started:
            await slow.wait()
        return await workers.start(index)

    async with asyncio.TaskGroup() as tasks:
        pool: WorkerPool[ScriptedReward] = WorkerPool(
            "reward",
            start,
            size=1,
            cluster=dataclasses.replace(CLUSTER, start_timeout_s=60.0),
            budget=RestartBudget(5),
            waiting=Waiting(),
            spawn=tasks.create_task,
        )
        await pool.start()
        with pytest.raises(WorkerLost):
            await pool.call(lambda worker: worker.score("a"), what="score", timeout_s=5.0)
        await asyncio.sleep(0.01)
        await pool.close()  # else the group would wait for a minute
    assert not slow.is_set()


async def test_too_many_restarts_end_the_run_with_the_reason():
    with pytest.raises(ExceptionGroup) as raised:
        async with open_pool(Workers("dies"), max_restarts=2) as (pool, _):
            await score(pool)
    assert raised.group_contains(RuntimeError, match=r"max_restarts=2.*died")
