# SPDX-License-Identifier: Apache-2.0
"""The training loop: who waits for whom. Plain asyncio; knows no Ray, no browser and no network.

    task source --order--> rollout lanes --attempt--> score lanes --scored member--> replay
         ^  ^                 |      ^                     |                            |
         |  +---lost member---+      |weights              +-no score: member given up  | groups
         |                           |                                                  v
         +-----slots free------------+<------------ published version <----------- learner loop

Rollout lane (one per worker): takes an order, runs it, hands the attempt on and takes the next at
    once. Waits for a slot while the admission window is full (woken by a published version or a
    dropped group), and for room in the score queue (woken by a score lane).
Score lane (one per reward worker): waits for an attempt (woken by a rollout lane), scores it, adds
    it to its group or gives the member up. A group that becomes ready wakes the learner loop.
Learner loop: waits for enough ready groups, updates, publishes. Nobody waits for it otherwise.
Report loop: on its own clock; writes progress and ends the run when nothing has moved for too long.

Every await has a deadline, but for these waits, which the report loop watches and names. Deadlines
are `asyncio.timeout`: up to Python 3.11 `wait_for` may swallow the cancellation of its caller. The
first task to fail cancels the others and ends the run. When the budget is used up, the lanes finish
the attempts in flight, the learner trains on the groups that are ready, and `run` returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from actors.config import ClusterConfig, LoggerConfig, TrainConfig
from actors.memory import MemorySampler
from actors.metrics import MetricsLog
from actors.pool import RestartBudget, RewardPool, RolloutPool
from actors.progress import BusyClock, Progress, SuccessWindow
from actors.task_source import LossOutcome, TaskSource
from actors.trace import NO_TRACE, Trace, attempt_facts
from actors.types import (
    Attempt,
    AttemptOrder,
    LearnerHandle,
    LostAttempt,
    ReplayHandle,
    ReplayState,
)
from envs.types import Unscored

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_EMPTY_REPLAY = ReplayState(num_ready=0, num_open=0, num_bytes=0, dropped=())


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainParts:
    """What the controller wires together."""

    source: TaskSource
    rollouts: RolloutPool
    rewards: RewardPool
    replay: ReplayHandle
    learner: LearnerHandle
    restarts: RestartBudget
    memory: MemorySampler
    metrics: MetricsLog
    trace: Trace = NO_TRACE


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfigs:
    """The settings that the controller reads."""

    train: TrainConfig
    cluster: ClusterConfig
    logger: LoggerConfig
    groups_per_update: int
    checkpoints: Path  # folder, on the learner's node


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainTotals:
    """What a training run did."""

    env_steps: int
    episodes: int  # that reached replay with a score
    unscored: int
    policy_version: int
    lag_max: int
    duration_s: float
    env_steps_per_s: float
    lost_by_stop: dict[str, int]


@dataclass(kw_only=True, slots=True)
class _Counters:
    env_steps: int = 0
    episodes: int = 0
    unscored: int = 0
    queued_bytes: int = 0  # of attempts that wait for their score
    policy_version: int = 0
    lag_mean: float = 0.0
    lag_max: int = 0
    last_move_s: float = 0.0  # when an attempt or an update last ended
    waits: dict[str, str] = field(default_factory=dict)


class Controller:
    """One training run over workers that are already up."""

    def __init__(
        self,
        parts: TrainParts,
        configs: TrainConfigs,
        *,
        policy_version: int,
        held_out: Mapping[str, float],
    ) -> None:
        """`policy_version` is that of the weights which the rollouts hold.

        `held_out` is what is known of success on held-out tasks, to be shown with the progress.
        """
        self._held_out = dict(held_out)
        self._parts = parts
        self._configs = configs
        self._counters = _Counters(policy_version=policy_version)
        self._success = SuccessWindow(configs.logger.success_window)
        self._lanes = [BusyClock() for _ in range(parts.rollouts.pool.size)]
        self._learning = BusyClock()
        self._replay_state = _EMPTY_REPLAY
        self._finished: asyncio.Queue[Attempt] = asyncio.Queue(maxsize=2 * len(self._lanes))
        self._slots_changed = asyncio.Event()
        self._groups_changed = asyncio.Event()
        self._rollouts_over = False
        self._start_s = time.monotonic()

    async def run(self) -> TrainTotals:
        """Train until the budget is used up."""
        self._start_s = self._counters.last_move_s = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            score_lanes = [
                tasks.create_task(self._score_lane()) for _ in range(self._parts.rewards.pool.size)
            ]
            report = tasks.create_task(self._report_loop())
            learner = tasks.create_task(self._learner_loop())
            lanes = [tasks.create_task(self._rollout_lane(i)) for i in range(len(self._lanes))]
            await asyncio.gather(*lanes)
            rollout_s = time.monotonic() - self._start_s
            await self._finished.join()
            self._rollouts_over = True
            self._groups_changed.set()
            await learner
            for task in (report, *score_lanes):
                task.cancel()
        self._write_progress()
        counters = self._counters
        return TrainTotals(
            env_steps=counters.env_steps,
            episodes=counters.episodes,
            unscored=counters.unscored,
            policy_version=counters.policy_version,
            lag_max=counters.lag_max,
            duration_s=time.monotonic() - self._start_s,
            env_steps_per_s=counters.env_steps / max(1e-9, rollout_s),
            lost_by_stop=self._parts.source.counts().lost_by_stop,
        )

    # --- Rollouts --------------------------------------------------------------------------------

    async def _rollout_lane(self, index: int) -> None:
        clock = self._lanes[index]
        while (order := await self._next_order(index)) is not None:
            clock.begin(time.monotonic())
            began_s = time.monotonic()
            result = await self._parts.rollouts.run(order)
            clock.end(time.monotonic())
            self._parts.trace.add(f"rollout {index}", "attempt", began_s, attempt_facts(result))
            if isinstance(result, LostAttempt):
                self._count_steps(result.num_steps)
                await self._after_loss(result)
                continue
            self._count_steps(result.report.num_steps)
            self._parts.source.member_done(order.trajectory_id)
            self._counters.queued_bytes += result.report.num_bytes
            await self._waiting(f"rollout {index}", "the reward pool", self._finished.put(result))

    async def _next_order(self, index: int) -> AttemptOrder | None:
        """The next attempt as soon as the admission window allows; None when the budget is used."""
        while not self._is_over():
            order = self._parts.source.next_order()
            if order is not None:
                return order
            self._slots_changed.clear()
            left_s = max(0.01, self._left_s())
            wait = _until(self._slots_changed, left_s)
            await self._waiting(f"rollout {index}", "the learner (admission window)", wait)
        return None

    def _count_steps(self, num_steps: int) -> None:
        self._counters.env_steps += num_steps
        self._counters.last_move_s = time.monotonic()
        if self._is_over():
            self._slots_changed.set()  # lanes that wait for a slot have nothing to wait for

    async def _after_loss(self, lost: LostAttempt) -> None:
        order = lost.order
        outcome = self._parts.source.member_lost(order.trajectory_id, lost.stop)
        if outcome is LossOutcome.GIVEN_UP:
            logger.warning("gave up a member of %s: %s", order.group_id, lost.detail)
            await self._give_up(
                order.group_id, order.task.task_id, order.trajectory_id, lost.stop.value
            )

    # --- Scores ----------------------------------------------------------------------------------

    async def _score_lane(self) -> None:
        while True:
            attempt = await self._finished.get()
            await self._score(attempt)
            self._counters.queued_bytes -= attempt.report.num_bytes
            self._finished.task_done()

    async def _score(self, attempt: Attempt) -> None:
        report = attempt.report
        with self._parts.trace.span("scores", "score", {"trajectory": report.trajectory_id}):
            score = await self._parts.rewards.score(report.trajectory_id, attempt.episode)
        row = {
            "kind": report.kind,
            "stop": report.stop.value,
            "steps": report.num_steps,
            "wall_s": round(report.wall_s, 3),
            "act_s": round(report.act_s, 3),
            "env_s": round(report.env_s, 3),
            "bytes": report.num_bytes,
            "first_version": report.first_version,
            "last_version": report.last_version,
        }
        if isinstance(score, Unscored):
            logger.warning("%s is unscored: %s", report.trajectory_id, score.reason)
            self._counters.unscored += 1
            self._parts.metrics.write("attempt", {**row, "unscored": score.reason})
            await self._give_up(report.group_id, report.task_id, report.trajectory_id, score.reason)
            return
        self._counters.episodes += 1
        self._success.add(report.kind, score.is_right)
        returns = {f"return_{i}": float(x) for i, x in enumerate(score.rewards.sum(axis=0))}
        self._parts.metrics.write("attempt", {**row, "is_right": int(score.is_right), **returns})
        call = self._parts.replay.add_member(attempt.trajectory, score)
        self._on_replay(await self._within_call(call))

    async def _give_up(self, group_id: str, task_id: str, trajectory_id: str, reason: str) -> None:
        call = self._parts.replay.give_up_member(group_id, task_id, trajectory_id, reason)
        self._on_replay(await self._within_call(call))

    def _on_replay(self, state: ReplayState) -> None:
        self._replay_state = state
        for group_id in state.dropped:
            self._parts.source.group_dropped(group_id)
        if state.dropped:
            self._slots_changed.set()
        self._groups_changed.set()

    # --- Learner ---------------------------------------------------------------------------------

    async def _learner_loop(self) -> None:
        wanted = self._configs.groups_per_update
        while True:
            while self._replay_state.num_ready < wanted and not self._rollouts_over:
                self._groups_changed.clear()
                waiting = self._groups_changed.wait()
                await self._waiting("learner", f"{wanted} ready groups", waiting)
            if self._replay_state.num_ready == 0:
                return
            await self._update(wanted)

    async def _update(self, max_groups: int) -> None:
        parts, counters = self._parts, self._counters
        batch = await self._within_call(parts.replay.take(max_groups, counters.policy_version))
        self._on_replay(batch.state)
        if not batch.group_ids:
            return  # all that was ready had grown too old
        self._learning.begin(time.monotonic())
        with parts.trace.span("learner", "update", {"groups": len(batch.group_ids)}):
            async with asyncio.timeout(self._configs.train.update_timeout_s):
                published = await parts.learner.update(batch.groups, self._progress_share())
        self._learning.end(time.monotonic())
        counters.policy_version = published.policy_version
        counters.lag_mean = published.metrics.get("learner/lag_mean_versions", 0.0)
        lag_max = published.metrics.get("learner/lag_max_versions", 0.0)
        counters.lag_max = max(counters.lag_max, int(lag_max))
        counters.last_move_s = time.monotonic()
        with parts.trace.span("learner", "publish", {"version": published.policy_version}):
            await parts.rollouts.publish(published)
        parts.source.batch_published(batch.group_ids)
        self._slots_changed.set()
        row = {"learner/policy_version": published.policy_version, **published.metrics}
        parts.metrics.write("update", {**row, "train/env_steps": counters.env_steps})
        if counters.policy_version % self._configs.train.checkpoint_every_versions == 0:
            await self._within_call(parts.learner.save(self._configs.checkpoints))

    # --- Budget, waits and reports ---------------------------------------------------------------

    def _is_over(self) -> bool:
        is_used_up = self._counters.env_steps >= self._configs.train.max_env_steps
        return is_used_up or self._left_s() <= 0.0

    def _left_s(self) -> float:
        return self._configs.train.max_minutes * 60.0 - (time.monotonic() - self._start_s)

    def _progress_share(self) -> float:
        """Share of the budget used, in [0, 1]."""
        train = self._configs.train
        steps = self._counters.env_steps / max(1, train.max_env_steps)
        minutes = 1.0 - self._left_s() / (train.max_minutes * 60.0)
        return min(1.0, max(0.0, steps, minutes))

    async def _within_call(self, call: Awaitable[_T]) -> _T:
        async with asyncio.timeout(self._configs.cluster.call_timeout_s):
            return await call

    async def _waiting(self, who: str, what: str, wait: Awaitable[_T]) -> _T:
        self._counters.waits[who] = what
        try:
            return await wait
        finally:
            del self._counters.waits[who]

    async def _report_loop(self) -> None:
        while True:
            await asyncio.sleep(self._configs.logger.progress_interval_s)
            self._write_progress()
            still_s = time.monotonic() - self._counters.last_move_s
            if still_s > self._configs.train.stall_timeout_s:
                raise RuntimeError(
                    f"neither an attempt nor an update has ended for {still_s:.0f} s "
                    f"(train.stall_timeout_s); waiting: {self._counters.waits or 'nobody'}; "
                    f"replay: {self._replay_state}; source: {self._parts.source.counts()}"
                )

    def _write_progress(self) -> None:
        progress = self._progress()
        logger.info("%s", progress.line(), extra={"progress": progress})
        self._parts.metrics.write("progress", progress.row())
        self._parts.trace.count("queues, MB", {"bytes": progress.queue_bytes / 1e6})

    def _progress(self) -> Progress:
        counters, now_s = self._counters, time.monotonic()
        elapsed_s = max(1e-9, now_s - self._start_s)
        lane_s = sum(clock.total_s(now_s) for clock in self._lanes)
        steps_per_s = counters.env_steps / elapsed_s
        steps_left = max(0, self._configs.train.max_env_steps - counters.env_steps)
        left_s = max(0.0, self._left_s())
        return Progress(
            env_steps=counters.env_steps,
            max_env_steps=self._configs.train.max_env_steps,
            episodes=counters.episodes,
            policy_version=counters.policy_version,
            env_steps_per_s=steps_per_s,
            success=self._success.overall(),
            success_by_kind=self._success.by_kind(),
            lag_mean=counters.lag_mean,
            lag_max=counters.lag_max,
            rollout_idle=1.0 - lane_s / (elapsed_s * len(self._lanes)),
            learner_idle=1.0 - self._learning.total_s(now_s) / elapsed_s,
            restarts=self._parts.restarts.num_restarts,
            memory_gb=self._parts.memory.latest_gb,
            left_s=min(left_s, steps_left / steps_per_s) if steps_per_s else left_s,
            waits=dict(counters.waits),
            queue_bytes=counters.queued_bytes + self._replay_state.num_bytes,
            held_out=self._held_out,
        )


async def _until(event: asyncio.Event, timeout_s: float) -> None:
    """Wait for `event`, at most `timeout_s`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
