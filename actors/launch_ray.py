# SPDX-License-Identifier: Apache-2.0
"""Workers as Ray actors; the only module with `ray.remote`.

Bulk travels as object references that the driver owns: they outlive the actor that made them, and
the driver never reads them. An actor with two sides has two concurrency groups, each with an event
loop of its own: `work` owns the browser or the network, `control` answers while it is busy. `work`
has room for two calls, so that `close` can end the attempt in flight.

Actors are never restarted by Ray: a lost one is replaced by the pool, which re-issues its work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import ray

from actors.cluster import actor_options, check_address, needs_of, wait_for_nodes
from actors.config import WorkerConfigs
from actors.types import (
    Attempt,
    AttemptOrder,
    AttemptReport,
    Batch,
    Published,
    Ref,
    ReplayState,
    SavedReplay,
    WorkerHealth,
    WorkerLost,
)
from agent.types import Trajectory
from envs.browser.profile import sweep_profiles_of
from envs.types import Episode, Scored, Unscored
from learner.types import Group

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_Numbers = tuple[int, Mapping[str, float], Mapping[str, float]]  # version, metrics, advantages
_BYTES_PER_MB = 1_000_000
_SWEEP_TIMEOUT_S = 2.0  # for killed actors to be gone, so that their profiles can be removed
_remote: Any = ray.remote  # its stubs do not know concurrency groups
_GROUPS = {"work": 2, "control": 1}
_CORE_GROUPS = {"work": 1, "disk": 1, "control": 1}  # of replay and learner; one call at a time
# Several processes share few cores.
_THREAD_LIMITS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


# --- Actors: imports of the heavy parts happen in their own processes --------------------------


@_remote(concurrency_groups=_GROUPS)
class _RolloutActor:
    """A `RolloutWorker` in its own process."""

    def __init__(self, configs: WorkerConfigs) -> None:
        from actors.rollout import RolloutWorker

        self._worker = RolloutWorker(env=configs.env, policy=configs.policy, seed=configs.algo.seed)

    @ray.method(concurrency_group="work")
    async def run_attempt(self, order: AttemptOrder) -> tuple[Episode, Trajectory, AttemptReport]:
        return await self._worker.run_attempt(order)

    @ray.method(concurrency_group="work")
    async def close(self) -> None:
        await self._worker.close()

    @ray.method(concurrency_group="control")
    async def offer_weights(
        self, policy_version: int, weights: Mapping[str, np.ndarray], generation: int
    ) -> None:
        self._worker.offer_weights(policy_version, weights, generation)

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
            policy=configs.policy, algo=configs.algo, replay=configs.replay
        )

    @ray.method(concurrency_group="work")
    async def update(
        self, groups: tuple[Group, ...], progress: float
    ) -> tuple[dict[str, np.ndarray], _Numbers]:
        weights, report = self._worker.update(groups, progress)
        return weights, (report.policy_version, report.metrics, report.mean_abs_advantages)

    @ray.method(concurrency_group="control")
    async def publish(self) -> tuple[dict[str, np.ndarray], _Numbers]:
        version, weights = self._worker.publish()
        return weights, (version, {}, {})

    @ray.method(concurrency_group="work")
    async def restore(self, folder: Path) -> tuple[dict[str, np.ndarray], _Numbers]:
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


# --- The launcher and its handles, in the driver ----------------------------------------------


class RayLauncher:
    """A `Launcher` on the cluster of `RAY_ADDRESS`, or on a local one of its own."""

    def __init__(self, configs: WorkerConfigs) -> None:
        self._configs = configs
        self._rollout_pids: set[int] = set()
        self._needs = {need.kind: need for need in needs_of(configs.cluster, configs.rollout)}

    async def start(self) -> None:
        """Start or join Ray. Signal handlers must be installed after this: Ray replaces them."""
        cluster = self._configs.cluster
        address = os.environ.get("RAY_ADDRESS", "")
        options: dict[str, Any] = {"address": address}
        if address:
            await asyncio.to_thread(check_address, address)
        else:
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
            os.environ["RAY_enable_worker_prestart"] = "0"  # noqa: SIM112 - ~75 MB each
            options = {
                "address": "local",
                "num_cpus": cluster.num_cpus,
                "object_store_memory": cluster.object_store_mb * _BYTES_PER_MB,
                "include_dashboard": False,
            }
        # What the job's own environment says stays; Ray refuses to be told twice.
        limits = {name: "1" for name in _THREAD_LIMITS if name not in os.environ}
        ray.init(
            namespace=f"foragerl-{os.getpid()}-{time.time_ns()}",
            log_to_driver=False,
            logging_level=logging.WARNING,
            runtime_env={"env_vars": limits},
            **options,
        )
        if address:
            needs = tuple(self._needs.values())
            await wait_for_nodes(needs, ray.nodes, address, timeout_s=cluster.join_timeout_s)

    async def start_rollout(self, index: int) -> RayRollout:
        """A rollout actor that answers."""
        cluster = self._configs.cluster
        actor = self._start(_RolloutActor, "rollout")
        handle = RayRollout(actor, f"rollout {index}", cluster.close_timeout_s)
        self._rollout_pids.add((await handle.health()).pid)
        return handle

    async def start_reward(self, index: int) -> RayReward:
        """A reward actor that answers."""
        handle = RayReward(self._start(_RewardActor, "reward"), f"reward {index}")
        await handle.health()
        return handle

    async def start_replay(self) -> RayReplay:
        """The replay actor, once it answers."""
        actor = self._start(_ReplayActor, "replay")
        handle = RayReplay(actor, "replay")
        await handle.health()
        return handle

    async def start_learner(self) -> RayLearner:
        """The learner actor, once it answers."""
        handle = RayLearner(self._start(_LearnerActor, "learner"), "learner")
        await handle.publish()
        return handle

    async def stop(self) -> None:
        """Leave Ray; a local cluster ends with it."""
        ray.shutdown()
        await asyncio.to_thread(sweep_profiles_of, self._rollout_pids, _SWEEP_TIMEOUT_S)

    def _start(self, actor_class: Any, kind: str) -> Any:
        booked = actor_options(self._needs[kind])
        options = actor_class.options(max_restarts=0, max_task_retries=0, **booked)
        return options.remote(self._configs)


class _RayHandle:
    """An actor and the name that errors call it by."""

    def __init__(self, actor: Any, name: str) -> None:
        self._actor = actor
        self._name = name

    async def health(self) -> WorkerHealth:
        """Answers while the actor's work side is busy."""
        return await _answer(self._actor.health.remote(), self._name)

    async def close(self) -> None:
        """End the actor."""
        ray.kill(self._actor)


class RayRollout(_RayHandle):
    """A `RolloutHandle`."""

    def __init__(self, actor: Any, name: str, close_timeout_s: float) -> None:
        super().__init__(actor, name)
        self._close_timeout_s = close_timeout_s

    async def run_attempt(self, order: AttemptOrder) -> Attempt:
        """Run one attempt to its end; evidence and model inputs stay references."""
        call = self._actor.run_attempt.options(num_returns=3)
        episode, trajectory, report = call.remote(order)
        return Attempt(
            report=await _answer(report, self._name), episode=episode, trajectory=trajectory
        )

    async def offer_weights(self, published: Published) -> None:
        """Leave newer weights."""
        call = self._actor.offer_weights.remote(
            published.policy_version, published.weights, published.generation
        )
        await _answer(call, self._name)

    async def close(self) -> None:
        """Let the actor give its browser back, then end it; one that hangs is killed."""
        try:
            async with asyncio.timeout(self._close_timeout_s):
                await _answer(self._actor.close.remote(), self._name)
        except (WorkerLost, TimeoutError) as error:
            logger.info("%s did not close by itself: %r", self._name, error)
        ray.kill(self._actor)


class RayReward(_RayHandle):
    """A `RewardHandle`."""

    async def score(self, episode: Ref) -> Scored | Unscored:
        """Score one attempt."""
        return await _answer(self._actor.score.remote(episode), self._name)


class RayReplay(_RayHandle):
    """A `ReplayHandle`."""

    async def add_member(self, trajectory: Ref, score: Scored) -> ReplayState:
        """Add a scored attempt."""
        return await _answer(self._actor.add_member.remote(trajectory, score), self._name)

    async def give_up_member(
        self, group_id: str, task_id: str, trajectory_id: str, reason: str
    ) -> ReplayState:
        """The group goes on without this member."""
        call = self._actor.give_up_member.remote(group_id, task_id, trajectory_id, reason)
        return await _answer(call, self._name)

    async def take(
        self, max_groups: int, policy_version: int, confirmed: Mapping[str, float]
    ) -> Batch:
        """Hand ready groups out; they go to the learner by reference."""
        call = self._actor.take.options(num_returns=2)
        groups, rest = call.remote(max_groups, policy_version, confirmed)
        group_ids, state = await _answer(rest, self._name)
        return Batch(groups=groups, group_ids=group_ids, state=state)

    async def save(self, folder: Path, confirmed: Mapping[str, float]) -> SavedReplay:
        """Write everything that is held, on the actor's node."""
        return await _answer(self._actor.save.remote(folder, confirmed), self._name)

    async def restore(self, folder: Path) -> ReplayState:
        """Continue from what `save` wrote."""
        return await _answer(self._actor.restore.remote(folder), self._name)


class RayLearner(_RayHandle):
    """A `LearnerHandle`."""

    async def publish(self) -> Published:
        """The weights published last, by reference."""
        return await self._published(self._actor.publish.options(num_returns=2).remote())

    async def update(self, groups: Ref, progress: float) -> Published:
        """Train on one batch."""
        call = self._actor.update.options(num_returns=2)
        return await self._published(call.remote(groups, progress))

    async def save(
        self, folder: Path, policy_version: int, previous: Path | None
    ) -> Mapping[str, Any]:
        """Write the state of a published version, on the learner's node."""
        call = self._actor.save.remote(folder, policy_version, previous)
        return await _answer(call, self._name)

    async def restore(self, folder: Path) -> Published:
        """Continue from what `save` wrote."""
        return await self._published(self._actor.restore.options(num_returns=2).remote(folder))

    async def _published(self, refs: list[Ref]) -> Published:
        weights, rest = refs
        version, metrics, advantages = await _answer(rest, self._name)
        return Published(
            policy_version=version, weights=weights, metrics=metrics, advantages=advantages
        )


async def _answer(ref: Ref, name: str) -> Any:
    """Wait for one answer; a dead actor, or data that died with its node, is `WorkerLost`."""
    try:
        return await ref
    except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
        raise WorkerLost(f"{name}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
