# SPDX-License-Identifier: Apache-2.0
"""Workers as plain objects in this process: for a debugger and for tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from actors.config import WorkerConfigs
from actors.learning import LearnerWorker
from actors.replay import ReplayWorker, replay_worker
from actors.rewards import RewardWorker
from actors.rollout import RolloutWorker
from actors.types import (
    Attempt,
    AttemptOrder,
    Batch,
    Published,
    Ref,
    ReplayState,
    SavedReplay,
    WorkerHealth,
)
from envs.browser.profile import sweep_dead_profiles
from envs.types import Scored, Unscored

_LAST_UPDATE_TIMEOUT_S = 6.0  # of closing, which is done within ten seconds in all


class InProcessLauncher:
    """A `Launcher` without processes; a `Ref` is the object itself."""

    def __init__(self, configs: WorkerConfigs) -> None:
        self._configs = configs

    async def start(self) -> None:
        """Nothing to bring up."""

    async def start_rollout(self, index: int) -> LocalRollout:
        """A rollout worker; its browser comes up with its first attempt."""
        configs = self._configs
        return LocalRollout(
            RolloutWorker(
                env=configs.env,
                policy=configs.policy,
                seed=configs.algo.seed,
                has_teacher=configs.algo.has_graph_teacher,
                keeps_situations=configs.algo.keeps_situations,
                hindsight_tasks=configs.algo.asks_anew,
                hindsight_reworded=configs.algo.hindsight_reworded,
            )
        )

    async def start_reward(self, index: int) -> LocalReward:
        """A reward worker."""
        return LocalReward(RewardWorker(reward=self._configs.reward))

    async def start_replay(self) -> LocalReplay:
        """The replay worker."""
        return LocalReplay(replay_worker(self._configs))

    async def start_learner(self) -> LocalLearner:
        """The learner worker."""
        configs = self._configs
        return LocalLearner(
            LearnerWorker(
                policy=configs.policy,
                algo=configs.algo,
                replay=configs.replay,
                quarantine_dir=configs.quarantine_dir,
            )
        )

    async def stop(self) -> None:
        """Sweep what dead browsers left behind."""
        sweep_dead_profiles()


class LocalRollout:
    """A `RolloutHandle`."""

    def __init__(self, worker: RolloutWorker) -> None:
        self._worker = worker

    async def run_attempt(self, order: AttemptOrder) -> Attempt:
        """Run one attempt to its end."""
        episode, trajectory, report = await self._worker.run_attempt(order)
        return Attempt(report=report, episode=episode, trajectory=trajectory)

    async def offer_weights(self, published: Published, *, is_pinned: bool = False) -> None:
        """Leave newer weights."""
        self._worker.offer_weights(
            published.policy_version,
            published.weights,
            published.generation,
            is_pinned=is_pinned,
        )

    async def health(self) -> WorkerHealth:
        """Always answers."""
        return self._worker.health()

    async def close(self) -> None:
        """Give the browser back."""
        await self._worker.close()


class LocalReward:
    """A `RewardHandle`."""

    def __init__(self, worker: RewardWorker) -> None:
        self._worker = worker

    async def score(self, episode: Ref) -> Scored | Unscored:
        """Score one attempt."""
        return self._worker.score(episode)

    async def health(self) -> WorkerHealth:
        """Always answers."""
        return self._worker.health()

    async def close(self) -> None:
        """Holds nothing."""


class LocalReplay:
    """A `ReplayHandle`."""

    def __init__(self, worker: ReplayWorker) -> None:
        self._worker = worker

    async def add_member(self, trajectory: Ref, score: Scored) -> ReplayState:
        """Add a scored attempt."""
        return self._worker.add_member(trajectory, score)

    async def give_up_member(
        self, group_id: str, task_id: str, trajectory_id: str, reason: str
    ) -> ReplayState:
        """The group goes on without this member."""
        return self._worker.give_up_member(group_id, task_id, trajectory_id, reason)

    async def take(
        self, max_groups: int, policy_version: int, confirmed: Mapping[str, float]
    ) -> Batch:
        """Hand ready groups out."""
        groups, group_ids, state = self._worker.take(max_groups, policy_version, confirmed)
        return Batch(groups=groups, group_ids=group_ids, state=state)

    async def save(self, folder: Path, confirmed: Mapping[str, float]) -> SavedReplay:
        """Write everything that is held."""
        return self._worker.save(folder, confirmed)

    async def restore(self, folder: Path) -> ReplayState:
        """Continue from what `save` wrote."""
        return self._worker.restore(folder)

    async def health(self) -> WorkerHealth:
        """Always answers."""
        return self._worker.health()

    async def close(self) -> None:
        """Holds nothing."""


class LocalLearner:
    """A `LearnerHandle`; an update runs in a thread, so that rollouts go on."""

    def __init__(self, worker: LearnerWorker) -> None:
        self._worker = worker
        self._thread: threading.Thread | None = None

    async def publish(self) -> Published:
        """The weights published last."""
        version, weights = self._worker.publish()
        return Published(policy_version=version, weights=weights, metrics={})

    async def update(
        self, groups: Ref, progress: float, validation_score: float | None
    ) -> Published:
        """Train on one batch."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Published] = loop.create_future()

        def run() -> None:
            try:
                weights, report = self._worker.update(groups, progress, validation_score)
                result = Published(
                    policy_version=report.policy_version,
                    weights=weights,
                    metrics=report.metrics,
                    advantages=report.mean_abs_advantages,
                )
                loop.call_soon_threadsafe(_settle, done, result)
            except BaseException as error:
                loop.call_soon_threadsafe(_settle, done, error)

        # A daemon: an update that is left behind must not keep the process alive.
        self._thread = threading.Thread(target=run, name="learner", daemon=True)
        self._thread.start()
        return await done

    async def save(
        self, folder: Path, policy_version: int, previous: Path | None
    ) -> Mapping[str, Any]:
        """Write the state of a published version, in a thread: rollouts go on."""
        return await asyncio.to_thread(self._worker.save, folder, policy_version, previous)

    async def restore(self, folder: Path) -> Published:
        """Continue from what `save` wrote."""
        version, weights = self._worker.restore(folder)
        return Published(policy_version=version, weights=weights, metrics={})

    async def health(self) -> WorkerHealth:
        """Always answers."""
        return self._worker.health()

    async def close(self) -> None:
        """Wait for the update in flight: torch in a thread crashes an interpreter that ends."""
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _LAST_UPDATE_TIMEOUT_S)
        await asyncio.to_thread(self._worker.close)


def _settle(done: asyncio.Future[Published], outcome: Published | BaseException) -> None:
    if done.cancelled():
        return
    if isinstance(outcome, BaseException):
        done.set_exception(outcome)
    else:
        done.set_result(outcome)
