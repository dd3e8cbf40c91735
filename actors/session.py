# SPDX-License-Identifier: Apache-2.0
"""Workers that are up: what training and evaluation share, from start to the last process gone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from actors.config import EvaluateJob, Launch, TrainJob, WorkerConfigs
from actors.interrupts import answering_sigusr1
from actors.memory import MemorySampler
from actors.pool import RestartBudget, RewardPool, RolloutPool, WorkerPool
from actors.types import Launcher, RewardHandle, RolloutHandle
from actors.waiting import Waiting

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """The two pools and what counts for both."""

    launcher: Launcher
    rollouts: RolloutPool
    rewards: RewardPool
    restarts: RestartBudget
    memory: MemorySampler
    waiting: Waiting


def make_launcher(launch: Launch, configs: WorkerConfigs) -> Launcher:
    """The launcher that the config names; Ray is imported only where it is used."""
    if launch is Launch.INPROCESS:
        from actors.launch_inprocess import InProcessLauncher

        return InProcessLauncher(configs)
    _authenticate_local_ray()
    from actors.launch_ray import RayLauncher

    return RayLauncher(configs)


def _authenticate_local_ray() -> None:
    """Give a cluster of the run's own a token; must come before ray is imported, which reads it.

    Ray listens on every interface, and whoever reaches it may run code. Left unsaid, a token that
    an earlier run left in the home folder would turn authentication on in some processes only.
    """
    if "RAY_ADDRESS" not in os.environ and "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextlib.asynccontextmanager
async def open_session(
    launcher: Launcher, job: TrainJob | EvaluateJob, *, on_started: Callable[[], None]
) -> AsyncIterator[Session]:
    """Bring both pools up and watch them; everything is closed at the end, whatever happened.

    `on_started` is called once the platform is up. The first failure of anything that runs beside
    the caller cancels the caller and comes out as an `ExceptionGroup`.
    """
    rollout, cluster = job.rollout, job.cluster
    try:
        await launcher.start()
        on_started()
        waiting = Waiting()
        async with asyncio.TaskGroup() as tasks, answering_sigusr1(waiting.report):
            restarts = RestartBudget(cluster.max_restarts)
            rollout_workers: WorkerPool[RolloutHandle] = WorkerPool(
                "rollout",
                launcher.start_rollout,
                size=rollout.num_workers,
                cluster=cluster,
                budget=restarts,
                waiting=waiting,
                spawn=tasks.create_task,
            )
            reward_workers: WorkerPool[RewardHandle] = WorkerPool(
                "reward",
                launcher.start_reward,
                size=cluster.num_reward_workers,
                cluster=cluster,
                budget=restarts,
                waiting=waiting,
                spawn=tasks.create_task,
            )
            memory = MemorySampler(job.logger.memory_interval_s)
            pools = (rollout_workers, reward_workers)
            silence = _report_silence(waiting, job.logger.silence_interval_s)
            beside = [tasks.create_task(memory.run()), tasks.create_task(silence)]
            try:
                await asyncio.gather(*(pool.start() for pool in pools))
                beside += [tasks.create_task(pool.watch()) for pool in pools]
                yield Session(
                    launcher=launcher,
                    rollouts=RolloutPool(
                        rollout_workers, env=job.env, rollout=rollout, cluster=cluster
                    ),
                    rewards=RewardPool(reward_workers, cluster=cluster),
                    restarts=restarts,
                    memory=memory,
                    waiting=waiting,
                )
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*(pool.close() for pool in pools))
    finally:
        await launcher.stop()


async def _report_silence(waiting: Waiting, interval_s: float) -> None:
    """Say why nothing moves, whenever nothing has moved for that long."""
    while True:
        await asyncio.sleep(interval_s)
        if waiting.still_s() >= interval_s:
            logger.warning("%s", waiting.report())
