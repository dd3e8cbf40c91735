# SPDX-License-Identifier: Apache-2.0
"""The four kinds of worker as Ray actors; the only module with `ray.remote`.

An actor with two sides has two concurrency groups, each with an event loop of its own: `work` owns
the browser or the network, `control` answers while it is busy. A rollout's `work` has room for two
calls, so that `close` can end the attempt in flight. Each imports what is heavy in its own process.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import ray

from actors.config import WorkerConfigs
from actors.types import AttemptOrder, AttemptReport, ReplayState, SavedReplay, WorkerHealth
from agent.types import Trajectory
from envs.types import Episode, Scored, Unscored
from learner.types import Group

_T = TypeVar("_T")
Numbers = tuple[int, Mapping[str, float], Mapping[str, float]]  # version, metrics, advantages
_remote: Any = ray.remote  # its stubs do not know concurrency groups
_GROUPS = {"work": 2, "control": 1}
_CORE_GROUPS = {"work": 1, "disk": 1, "control": 1}  # of replay and learner; one call at a time


@_remote(concurrency_groups=_GROUPS)
class _RolloutActor:
    """A `RolloutWorker` in its own process."""

    def __init__(self, configs: WorkerConfigs) -> None:
        from actors.rollout import RolloutWorker

        self._worker = RolloutWorker(
            env=configs.env,
            policy=configs.policy,
            seed=configs.algo.seed,
            has_teacher=configs.algo.has_graph_teacher,
            keeps_situations=configs.algo.keeps_situations,
            hindsight_tasks=configs.algo.asks_anew,
            hindsight_reworded=configs.algo.hindsight_reworded,
        )

    @ray.method(concurrency_group="work")
    async def run_attempt(self, order: AttemptOrder) -> tuple[Episode, Trajectory, AttemptReport]:
        return await self._worker.run_attempt(order)

    @ray.method(concurrency_group="work")
    async def close(self) -> None:
        await self._worker.close()

    @ray.method(concurrency_group="control")
    async def offer_weights(
        self,
        policy_version: int,
        weights: Mapping[str, np.ndarray],
        generation: int,
        is_pinned: bool,
    ) -> None:
        self._worker.offer_weights(policy_version, weights, generation, is_pinned=is_pinned)

    @ray.method(concurrency_group="control")
    async def health(self) -> WorkerHealth:
        return self._worker.health()


@_remote(concurrency_groups=_GROUPS)
class _RewardActor:
    """A `RewardWorker` in its own process; no torch there."""

    def __init__(self, configs: WorkerConfigs) -> None:
        from actors.rewards import RewardWorker

        self._worker = RewardWorker(reward=configs.reward)

    @ray.method(concurrency_group="work")
    async def score(self, episode: Episode) -> Scored | Unscored:
        return self._worker.score(episode)

    @ray.method(concurrency_group="control")
    async def health(self) -> WorkerHealth:
        return self._worker.health()


@_remote(concurrency_groups=_CORE_GROUPS)
class _ReplayActor:
    """A `ReplayWorker` in its own process; no torch there."""

    def __init__(self, configs: WorkerConfigs) -> None:
        from actors.replay import replay_worker

        self._worker = replay_worker(configs)

    @ray.method(concurrency_group="work")
    async def add_member(self, trajectory: Trajectory, score: Scored) -> ReplayState:
        # Arrays that arrive in shared memory would pin it for as long as replay keeps them.
        return self._worker.add_member(_own(trajectory), _own(score))

    @ray.method(concurrency_group="work")
    async def give_up_member(
        self, group_id: str, task_id: str, trajectory_id: str, reason: str
    ) -> ReplayState:
        return self._worker.give_up_member(group_id, task_id, trajectory_id, reason)

    @ray.method(concurrency_group="work")
    async def take(
        self, max_groups: int, policy_version: int, confirmed: Mapping[str, float]
    ) -> tuple[tuple[Group, ...], tuple[tuple[str, ...], ReplayState]]:
        groups, group_ids, state = self._worker.take(max_groups, policy_version, confirmed)
        return groups, (group_ids, state)

    @ray.method(concurrency_group="work")  # not "disk": nothing may change meanwhile
    async def save(self, folder: Path, confirmed: Mapping[str, float]) -> SavedReplay:
        return self._worker.save(folder, confirmed)

    @ray.method(concurrency_group="work")
    async def restore(self, folder: Path) -> ReplayState:
        return self._worker.restore(folder)

    @ray.method(concurrency_group="control")
    async def health(self) -> WorkerHealth:
        return self._worker.health()


@_remote(concurrency_groups=_CORE_GROUPS)
class _LearnerActor:
    """A `LearnerWorker` in its own process."""

    def __init__(self, configs: WorkerConfigs) -> None:
        from actors.learning import LearnerWorker

        self._worker = LearnerWorker(
            policy=configs.policy,
            algo=configs.algo,
            replay=configs.replay,
            quarantine_dir=configs.quarantine_dir,
        )

    @ray.method(concurrency_group="work")
    async def update(
        self, groups: tuple[Group, ...], progress: float, validation_score: float | None
    ) -> tuple[dict[str, np.ndarray], Numbers]:
        weights, report = self._worker.update(groups, progress, validation_score)
        return weights, (report.policy_version, report.metrics, report.mean_abs_advantages)

    @ray.method(concurrency_group="control")
    async def publish(self) -> tuple[dict[str, np.ndarray], Numbers]:
        version, weights = self._worker.publish()
        return weights, (version, {}, {})

    @ray.method(concurrency_group="work")
    async def restore(self, folder: Path) -> tuple[dict[str, np.ndarray], Numbers]:
        version, weights = self._worker.restore(folder)
        return weights, (version, {}, {})

    @ray.method(concurrency_group="disk")
    async def save(
        self, folder: Path, policy_version: int, previous: Path | None
    ) -> Mapping[str, Any]:
        return self._worker.save(folder, policy_version, previous)

    @ray.method(concurrency_group="control")
    async def health(self) -> WorkerHealth:
        return self._worker.health()


def _own(value: _T) -> _T:
    """A copy of `value` with arrays of its own: pickled with its buffers inside, and back."""
    return pickle.loads(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


ACTORS: Mapping[str, Any] = {
    "rollout": _RolloutActor,
    "reward": _RewardActor,
    "replay": _ReplayActor,
    "learner": _LearnerActor,
}
