# SPDX-License-Identifier: Apache-2.0
"""Workers as Ray actors: where they run, and how the driver calls them.

Bulk travels as object references that the driver owns: they outlive the actor that made them, and
the driver never reads them. Actors are never restarted by Ray: a lost one is replaced by the pool,
which re-issues its work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ray

from actors.cluster import actor_options, check_address, needs_of, wait_for_nodes
from actors.config import WorkerConfigs
from actors.ray_actors import ACTORS
from actors.types import (
    Attempt,
    AttemptOrder,
    Batch,
    Published,
    Ref,
    ReplayState,
    SavedReplay,
    WorkerHealth,
    WorkerLost,
)
from envs.browser.profile import sweep_profiles_of
from envs.types import Scored, Unscored

logger = logging.getLogger(__name__)

_BYTES_PER_MB = 1_000_000
_SWEEP_TIMEOUT_S = 2.0  # for killed actors to be gone, so that their profiles can be removed
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TRACEBACK = re.compile(r'(?m)^  File ".*\n(?: .*\n)*')  # a frame: its place, and lines of code
# Several processes share few cores.
_THREAD_LIMITS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


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
        actor = self._start("rollout")
        handle = RayRollout(actor, f"rollout {index}", cluster.close_timeout_s)
        self._rollout_pids.add((await handle.health()).pid)
        return handle

    async def start_reward(self, index: int) -> RayReward:
        """A reward actor that answers."""
        handle = RayReward(self._start("reward"), f"reward {index}")
        await handle.health()
        return handle

    async def start_replay(self) -> RayReplay:
        """The replay actor, once it answers."""
        actor = self._start("replay")
        handle = RayReplay(actor, "replay")
        await handle.health()
        return handle

    async def start_learner(self) -> RayLearner:
        """The learner actor, once it answers."""
        handle = RayLearner(self._start("learner"), "learner")
        await handle.publish()
        return handle

    async def stop(self) -> None:
        """Leave Ray; a local cluster ends with it."""
        ray.shutdown()
        await asyncio.to_thread(sweep_profiles_of, self._rollout_pids, _SWEEP_TIMEOUT_S)

    def _start(self, kind: str) -> Any:
        booked = actor_options(self._needs[kind])
        options = ACTORS[kind].options(max_restarts=0, max_task_retries=0, **booked)
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

    async def offer_weights(self, published: Published, *, is_pinned: bool = False) -> None:
        """Leave newer weights."""
        call = self._actor.offer_weights.remote(
            published.policy_version, published.weights, published.generation, is_pinned
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

    async def update(
        self, groups: Ref, progress: float, validation_score: float | None
    ) -> Published:
        """Train on one batch."""
        call = self._actor.update.options(num_returns=2)
        return await self._published(call.remote(groups, progress, validation_score))

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
        raise WorkerLost(f"{name}: {_cause(error)}") from error
    except WorkerLost as loss:  # from inside the actor; Ray's text of it is a traceback
        raise WorkerLost(f"{name}: {getattr(loss, 'cause', loss)}") from loss


def _cause(error: Exception) -> str:
    """What Ray says of a lost worker, cut to what a person can do something about."""
    text = _COLOUR.sub("", str(error)) or type(error).__name__
    if isinstance(error, ray.exceptions.RayActorError) and error.actor_init_failed:
        # The worker's own error, which ends the traceback that Ray gives as text.
        return _TRACEBACK.split(text)[-1].strip()
    lines = text.splitlines()
    dead = [line for line in lines if line.startswith("The actor is dead because")]
    return (dead or lines)[0].partition(" Some common causes")[0]
