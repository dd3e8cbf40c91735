# SPDX-License-Identifier: Apache-2.0
"""Pools of workers that are replaced when they are lost; the only place that handles a lost worker.

Who waits for whom: a caller waits until a worker is idle, then until its call ends or its deadline
passes. A caller whose worker is lost gets an answer at once; the new worker starts beside it, and
the other callers wait for it only if no other worker is idle. The health loop wakes on its own
clock and replaces workers that do not answer; the caller of such a worker is woken by the loss.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from actors.config import ClusterConfig, RolloutConfig
from actors.types import (
    Attempt,
    AttemptOrder,
    LostAttempt,
    Published,
    Ref,
    RewardHandle,
    RolloutHandle,
    WorkerHealth,
    WorkerLost,
)
from actors.waiting import Waiting
from envs.config import EnvConfig
from envs.types import Scored, StopReason, Unscored

logger = logging.getLogger(__name__)


class _Handle(Protocol):
    async def health(self) -> WorkerHealth: ...

    async def close(self) -> None: ...


H = TypeVar("H", bound=_Handle)
R = TypeVar("R")


class RestartBudget:
    """Counts restarts of all pools together, and ends the run when there are too many."""

    def __init__(self, max_restarts: int) -> None:
        self._max_restarts = max_restarts
        self.num_restarts = 0

    def spend(self, what: str) -> None:
        """Count one; `RuntimeError` beyond the limit."""
        self.num_restarts += 1
        if self.num_restarts > self._max_restarts:
            raise RuntimeError(
                f"workers were restarted {self.num_restarts} times (cluster.max_restarts="
                f"{self._max_restarts}), the last time because {what}"
            )


@dataclass(kw_only=True, slots=True, eq=False)
class _Seat(Generic[H]):
    """The place of one worker in a pool; survives its workers."""

    index: int
    handle: H
    lost: asyncio.Event = field(
        default_factory=asyncio.Event
    )  # set when this worker is written off
    num_missed: int = 0


class WorkerPool(Generic[H]):
    """Workers of one kind; every call has a deadline, a lost worker is replaced."""

    def __init__(
        self,
        kind: str,
        start_worker: Callable[[int], Awaitable[H]],
        *,
        size: int,
        cluster: ClusterConfig,
        budget: RestartBudget,
        waiting: Waiting,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        """`spawn` runs a coroutine beside the others; its failure must end the run."""
        self.kind = kind
        self.size = size
        self._start_worker = start_worker
        self._cluster = cluster
        self._budget = budget
        self.waiting = waiting
        self._spawn = spawn
        self._replacing: set[asyncio.Task[None]] = set()
        self._seats: list[_Seat[H]] = []
        self._idle: asyncio.Queue[_Seat[H]] = asyncio.Queue()
        # A queue alone gives a seat back to the caller that has just returned it, for ever.
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Bring all workers up."""
        handles = await asyncio.gather(*(self._started(i) for i in range(self.size)))
        self._seats = [_Seat(index=i, handle=handle) for i, handle in enumerate(handles)]
        for seat in self._seats:
            self._idle.put_nowait(seat)

    def handles(self) -> list[H]:
        """The workers that are up."""
        return [seat.handle for seat in self._seats if not seat.lost.is_set()]

    async def call(
        self, work: Callable[[H], Coroutine[Any, Any, R]], *, what: str, timeout_s: float
    ) -> R:
        """Run `work` on an idle worker; `WorkerLost` when the worker dies, hangs or is replaced.

        `what` names the work in reports.
        """
        seat = await self._idle_seat(what)
        task = asyncio.ensure_future(work(seat.handle))
        gone = asyncio.ensure_future(seat.lost.wait())
        try:
            with self.waiting.on(self._name(seat), what, timeout_s):
                await asyncio.wait(
                    {task, gone}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
                )
            if task.done():
                return task.result()
            reason = "was replaced" if gone.done() else f"took longer than {timeout_s:g} s"
            raise WorkerLost(f"{self._name(seat)} {reason}")
        except WorkerLost as loss:
            self._write_off(seat, str(loss))
            raise
        finally:
            task.cancel()
            gone.cancel()
            if not seat.lost.is_set():
                self._idle.put_nowait(seat)

    async def watch(self) -> None:
        """Ask every worker for its health, for ever; replaces those that do not answer."""
        while True:
            await asyncio.sleep(self._cluster.health_interval_s)
            await asyncio.gather(*(self._check(seat) for seat in list(self._seats)))

    async def close(self) -> None:
        """Close all workers, those that are still coming up too."""
        for task in self._replacing:
            task.cancel()
        await asyncio.gather(*(seat.handle.close() for seat in self._seats))

    async def _idle_seat(self, what: str) -> _Seat[H]:
        with self.waiting.on(what, f"an idle {self.kind} worker"):
            async with self._turn:
                while True:
                    seat = await self._idle.get()
                    if not seat.lost.is_set():  # else it was written off while it was idle
                        return seat

    def _name(self, seat: _Seat[H]) -> str:
        return f"{self.kind} worker {seat.index}"

    async def _check(self, seat: _Seat[H]) -> None:
        if seat.lost.is_set():
            return
        try:
            async with asyncio.timeout(self._cluster.health_interval_s):
                health = await seat.handle.health()
            seat.num_missed = 0
            self.waiting.sign(
                self._name(seat),
                f"pid {health.pid}, {health.num_done} done, version {health.policy_version}",
            )
        except TimeoutError:
            seat.num_missed += 1
            if seat.num_missed >= self._cluster.max_missed_health:
                missed = f"missed {seat.num_missed} health checks"
                self._write_off(seat, f"{self._name(seat)} {missed}")
        except WorkerLost as loss:
            self._write_off(seat, str(loss))

    def _write_off(self, seat: _Seat[H], reason: str) -> None:
        """Count the loss once and start a new worker in its place."""
        if seat.lost.is_set():
            return
        seat.lost.set()
        logger.warning("restarting: %s", reason)
        self._budget.spend(reason)
        self.waiting.gone(self._name(seat))
        task = self._spawn(self._replace(seat))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _replace(self, seat: _Seat[H]) -> None:
        await seat.handle.close()
        handle = await self._started(seat.index)
        fresh = _Seat(index=seat.index, handle=handle)
        self._seats[seat.index] = fresh
        self._idle.put_nowait(fresh)

    async def _started(self, index: int) -> H:
        """A worker that answers; one that is lost while it starts is started again."""
        timeout_s = self._cluster.start_timeout_s
        try:
            while True:
                try:
                    with self.waiting.on(f"{self.kind} worker {index}", "starts", timeout_s):
                        async with asyncio.timeout(timeout_s):
                            return await self._start_worker(index)
                except WorkerLost as loss:
                    reason = f"{self.kind} worker {index} was lost while it started: {loss}"
                    logger.warning("restarting: %s", reason)
                    self._budget.spend(reason)
        except TimeoutError as cause:
            raise RuntimeError(
                f"expected {self.kind} worker {index} to answer within {timeout_s:g} s "
                "(cluster.start_timeout_s), got nothing; with launch=ray, check that the cluster "
                "offers the cores that cluster.*_cpus book"
            ) from cause


class RolloutPool:
    """Rollout workers, all with the newest weights."""

    def __init__(
        self,
        pool: WorkerPool[RolloutHandle],
        *,
        env: EnvConfig,
        rollout: RolloutConfig,
        cluster: ClusterConfig,
    ) -> None:
        self.pool = pool
        self._published: Published | None = None
        self._cluster = cluster
        # Every await in an attempt has its own deadline in the env; this one is beyond their sum.
        self._attempt_timeout_s = (
            env.browser.launch_timeout_s
            + env.reset_timeout_s
            + env.max_steps * env.step_timeout_s
            + rollout.attempt_margin_s
        )
        self._max_failures_in_a_row = rollout.max_failures_in_a_row
        self._num_failures_in_a_row = 0

    async def run(
        self, order: AttemptOrder, *, pinned: Published | None = None
    ) -> Attempt | LostAttempt:
        """Run one attempt on an idle worker, with the newest weights or with the `pinned` ones.

        Raises `RuntimeError` when the world keeps breaking: then no attempt can succeed.
        """
        try:
            attempt = await self.pool.call(
                lambda worker: self._run_with_weights(worker, order, pinned),
                what=f"attempt {order.trajectory_id}",
                timeout_s=self._attempt_timeout_s,
            )
        except WorkerLost as loss:
            self.pool.waiting.moved("lost attempt")
            self._count(StopReason.INFRA_ACTOR, str(loss))
            return LostAttempt(
                order=order, stop=StopReason.INFRA_ACTOR, detail=str(loss), num_steps=0
            )
        self.pool.waiting.moved("attempt")
        self._count(attempt.report.stop, attempt.report.detail)
        if attempt.report.stop.is_infra_failure():
            report = attempt.report
            return LostAttempt(
                order=order, stop=report.stop, detail=report.detail, num_steps=report.num_steps
            )
        return attempt

    async def publish(self, published: Published) -> None:
        """Offer new weights to every worker; those that start later get them with their order."""
        self._published = published
        offers = [self._offer(worker, published) for worker in self.pool.handles()]
        await asyncio.gather(*offers)

    async def _run_with_weights(
        self, worker: RolloutHandle, order: AttemptOrder, pinned: Published | None
    ) -> Attempt:
        if pinned is not None:
            await worker.offer_weights(pinned, is_pinned=True)
            order = dataclasses.replace(order, is_pinned=True)
        elif self._published is not None:
            await worker.offer_weights(self._published)
        return await worker.run_attempt(order)

    async def _offer(self, worker: RolloutHandle, published: Published) -> None:
        try:
            async with asyncio.timeout(self._cluster.call_timeout_s):
                await worker.offer_weights(published)
        except (WorkerLost, TimeoutError):
            # The health loop or its caller writes the worker off; its successor gets the weights.
            logger.warning("a rollout worker did not take version %d", published.policy_version)

    def _count(self, stop: StopReason, detail: str) -> None:
        if not stop.is_infra_failure():
            self._num_failures_in_a_row = 0
            return
        logger.warning("attempt lost: %s: %s", stop.value, detail)
        self._num_failures_in_a_row += 1
        if self._num_failures_in_a_row >= self._max_failures_in_a_row:
            raise RuntimeError(
                f"{self._num_failures_in_a_row} attempts in a row were lost to the world "
                f"(rollout.max_failures_in_a_row), the last one to {stop.value}: {detail}"
            )


class RewardPool:
    """Reward workers; an episode that one of them loses is scored by another."""

    def __init__(self, pool: WorkerPool[RewardHandle], *, cluster: ClusterConfig) -> None:
        self.pool = pool
        self._cluster = cluster

    async def score(self, trajectory_id: str, episode: Ref) -> Scored | Unscored:
        """The score, or `Unscored` when no worker could be brought to give one."""
        reason = ""
        for _ in range(self._cluster.max_score_tries):
            try:
                return await self.pool.call(
                    lambda worker: worker.score(episode),
                    what=f"score of {trajectory_id}",
                    timeout_s=self._cluster.reward_timeout_s,
                )
            except WorkerLost as loss:
                reason = str(loss)
        return Unscored(trajectory_id=trajectory_id, reason=reason)
