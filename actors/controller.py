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
Learner loop: waits for enough ready groups, updates, publishes, and saves between two updates when
    that is due. Nobody waits for it otherwise.
Validation loop: waits for a version that is to be tried on held-out tasks (woken by the learner
    loop), and tries it with its weights pinned, one attempt at a time beside the rollout lanes.
Report loop: on its own clock; writes progress and ends the run when it stands still.

Every await has a deadline, but for these waits, which the report loop watches and names. Deadlines
are `asyncio.timeout`: up to Python 3.11 `wait_for` may swallow the cancellation of its caller. The
first task to fail cancels the others and ends the run. When the budget is used up, the lanes finish
the attempts in flight, the learner trains on the groups that are ready, and `run` returns. When
replay or learner are lost, the lanes finish what is in flight, nothing of it is kept, and `run`
raises `CoreLost`: whoever called it may go on from the newest checkpoint with another controller.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from actors.alarms import Alarms, UnusableGroups, alarm_facts
from actors.core import CoreLost
from actors.ledger import Fate
from actors.metrics import attempt_row
from actors.parts import TrainConfigs, TrainParts, TrainTotals
from actors.progress import BusyClock, Progress, SuccessWindow
from actors.task_source import LossOutcome
from actors.trace import attempt_facts
from actors.types import Attempt, AttemptOrder, LostAttempt, ReplayState
from actors.waiting import standstill
from envs.types import Unscored

logger = logging.getLogger(__name__)

_EMPTY_REPLAY = ReplayState(ready=(), num_open=0, num_bytes=0, dropped={})


class Controller:
    """One training run over workers that are already up."""

    def __init__(
        self,
        parts: TrainParts,
        configs: TrainConfigs,
        *,
        replay: ReplayState | None,
        elapsed_s: float,
        held_out: Callable[[], Mapping[str, float]],
    ) -> None:
        """The rollouts hold the weights of the pipeline's version.

        `replay` is what it holds of a run that goes on, `elapsed_s` how long that has trained.
        `held_out` tells what is known of success on held-out tasks, to be shown with the progress.
        """
        self._held_out = held_out
        self._parts = parts
        self._configs = configs
        self._queued_bytes = 0  # of attempts that wait for their score
        self._alarms = Alarms(configs.alarms)
        self._unusable = UnusableGroups(configs.alarms.max_unusable_groups)
        self._success = SuccessWindow(configs.logger.success_window)
        self._lanes = [BusyClock() for _ in range(parts.rollouts.pool.size)]
        self._learning = BusyClock()
        self._replay_state = replay or _EMPTY_REPLAY
        self._finished: asyncio.Queue[Attempt] = asyncio.Queue(maxsize=2 * len(self._lanes))
        self._slots_changed = asyncio.Event()
        self._groups_changed = asyncio.Event()
        self._rollouts_over = False
        self._elapsed_s = elapsed_s
        self._start_s = self._here_s = time.monotonic()
        show = parts.waiting.show
        show(
            "attempts that wait for a score",
            lambda: (
                f"{self._finished.qsize()} of at most "
                f"{self._finished.maxsize}, {self._queued_bytes / 1e6:.1f} MB"
            ),
        )
        show("replay", lambda: self._replay_state)
        show("groups", parts.pipeline.groups)
        show("attempts", parts.pipeline.attempts)
        show("restarts", lambda: parts.restarts.num_restarts)

    async def run(self) -> TrainTotals:
        """Train until the budget is used up; raises `CoreLost`."""
        parts = self._parts
        self._here_s = time.monotonic()
        parts.waiting.moved("start")
        self._start_s = self._here_s - self._elapsed_s
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(self._score_lane()) for _ in range(parts.rewards.pool.size)]
            beside += [tasks.create_task(loop()) for loop in (self._report_loop, self._watch_core)]
            if parts.validation is not None:
                validation = tasks.create_task(parts.validation.run())
            await self._tell_given_up()
            learner = tasks.create_task(self._learner_loop())
            lanes = [tasks.create_task(self._rollout_lane(i)) for i in range(len(self._lanes))]
            await asyncio.gather(*lanes)
            if parts.validation is not None:
                parts.validation.end()
            rollout_s = time.monotonic() - self._start_s
            await self._finished.join()
            self._rollouts_over = True
            self._groups_changed.set()
            await learner
            if parts.validation is not None:
                await validation  # an attempt left alone would meet the next one in its browser
            for task in beside:
                task.cancel()
        if parts.core.lost.is_set():
            raise CoreLost(parts.core.reason)
        self._write_progress()
        totals, attempts = parts.pipeline.totals, parts.pipeline.attempts()
        return TrainTotals(
            env_steps=totals.env_steps,
            episodes=totals.episodes,
            unscored=attempts[Fate.UNSCORED.value],
            policy_version=totals.policy_version,
            lag_max=totals.lag_max,
            duration_s=time.monotonic() - self._start_s,
            env_steps_per_s=totals.env_steps / max(1e-9, rollout_s),
            lost_by_stop=parts.pipeline.groups().lost_by_stop,
            attempts=attempts,
        )

    async def save(self) -> Path | None:
        """Write a checkpoint, also of a run that was stopped in the middle; raises `CoreLost`."""
        elapsed_s = time.monotonic() - self._start_s
        with self._parts.trace.span("learner", "save", {}):
            return await self._parts.saver.save(self._parts.core, self._parts.pipeline, elapsed_s)

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
                await self._after_loss(result)
                continue
            self._parts.pipeline.finished(result.report)
            self._note_move()
            self._queued_bytes += result.report.num_bytes
            with self._parts.waiting.on(f"rollout {index}", "the reward pool"):
                await self._finished.put(result)

    async def _next_order(self, index: int) -> AttemptOrder | None:
        """The next attempt as soon as the admission window allows; None when the budget is used."""
        while not self._is_over():
            order = self._parts.pipeline.next_order()
            if order is not None:
                return order
            self._slots_changed.clear()
            left_s = max(0.01, self._left_s())
            with self._parts.waiting.on(f"rollout {index}", "the learner (admission window)"):
                await _until(self._slots_changed, left_s)
        return None

    def _note_move(self) -> None:
        if self._is_over():
            self._slots_changed.set()  # lanes that wait for a slot have nothing to wait for

    async def _after_loss(self, lost: LostAttempt) -> None:
        order = lost.order
        outcome = self._parts.pipeline.lost(lost)
        self._note_move()
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
            self._queued_bytes -= attempt.report.num_bytes
            self._finished.task_done()

    async def _score(self, attempt: Attempt) -> None:
        report = attempt.report
        with self._parts.trace.span("scores", "score", {"trajectory": report.trajectory_id}):
            score = await self._parts.rewards.score(report.trajectory_id, attempt.episode)
        row = attempt_row(report)
        if isinstance(score, Unscored):
            logger.warning("%s is unscored: %s", report.trajectory_id, score.reason)
            self._parts.pipeline.refused(report.trajectory_id, Fate.UNSCORED)
            self._parts.metrics.write("attempt", {**row, "unscored": score.reason})
            await self._give_up(report.group_id, report.task_id, report.trajectory_id, score.reason)
            return
        core, pipeline = self._parts.core, self._parts.pipeline
        with contextlib.suppress(CoreLost):
            async with core.gate:
                state = await core.add_member(attempt.trajectory, score)
                if state.refused:
                    logger.error("%s is quarantined: %s", report.trajectory_id, state.refused)
                    pipeline.refused(report.trajectory_id, Fate.QUARANTINED)
                    self._parts.metrics.write("attempt", {**row, "quarantined": state.refused})
                else:
                    pipeline.held(report.trajectory_id)
                    self._success.add(report.kind, score.is_right)
                    self._alarms.attempt(alarm_facts(report, score))
                    returns = enumerate(score.rewards.sum(axis=0))
                    row |= {f"return_{layer}": float(value) for layer, value in returns}
                    self._parts.metrics.write("attempt", {**row, "is_right": int(score.is_right)})
                self._on_replay(state)

    async def _give_up(self, group_id: str, task_id: str, trajectory_id: str, reason: str) -> None:
        core = self._parts.core
        with contextlib.suppress(CoreLost):
            async with core.gate:
                self._on_replay(await core.give_up_member(group_id, task_id, trajectory_id, reason))

    async def _tell_given_up(self) -> None:
        """Replay may not have heard of members that were given up when the run was saved."""
        for member in self._parts.pipeline.given_up():
            await self._give_up(
                member.group_id, member.task_id, member.trajectory_id, member.reason
            )

    def _on_replay(self, state: ReplayState) -> None:
        """Under the gate, as the answers of replay come."""
        self._replay_state = state
        self._parts.pipeline.ended_in_replay(state.dropped)
        if state.dropped:
            self._unusable.dropped(len(state.dropped))
            self._slots_changed.set()
        self._groups_changed.set()

    # --- Learner ---------------------------------------------------------------------------------

    async def _learner_loop(self) -> None:
        with contextlib.suppress(CoreLost):
            while await self._groups_or_end():
                await self._update(self._configs.groups_per_update)
                await self._save_if_due()

    async def _groups_or_end(self) -> bool:
        """Wait for a batch; whether there is one. Saves when that is due meanwhile."""
        wanted, core = self._configs.groups_per_update, self._parts.core
        while not self._has_batch(wanted) and not self._rollouts_over:
            self._groups_changed.clear()
            due_in_s = self._parts.saver.due_in_s(self._parts.pipeline.totals.policy_version)
            with self._parts.waiting.on("learner", f"{wanted} ready groups"):
                await _until(self._groups_changed, max(0.01, due_in_s))
            await self._save_if_due()
        return bool(self._replay_state.ready) and not core.lost.is_set()

    def _has_batch(self, wanted: int) -> bool:
        ready = self._replay_state.ready
        if not self._configs.takes_in_order:
            return len(ready) >= wanted
        oldest = self._parts.pipeline.oldest_groups(wanted)
        return len(oldest) == wanted and set(oldest) <= set(ready)

    async def _save_if_due(self) -> None:
        if self._parts.saver.due_in_s(self._parts.pipeline.totals.policy_version) == 0.0:
            await self.save()

    async def _update(self, max_groups: int) -> None:
        parts, pipeline = self._parts, self._parts.pipeline
        async with parts.core.gate:
            batch = await parts.core.take(max_groups, pipeline.totals.policy_version)
            self._on_replay(batch.state)
        if not batch.group_ids:
            return  # all that was ready had grown too old
        self._learning.begin(time.monotonic())
        with parts.trace.span("learner", "update", {"groups": len(batch.group_ids)}):
            score = pipeline.score_to_observe()
            published = await parts.core.update(batch, self._progress_share(), score)
        # All books move before anything is waited for: what is saved from here on agrees with it.
        pipeline.trained(published, batch.group_ids, has_observed=score is not None)
        self._learning.end(time.monotonic())
        parts.waiting.moved("update")
        self._alarms.update(published.metrics)
        row = {"learner/policy_version": published.policy_version, **published.metrics}
        row |= {"train/env_steps": pipeline.totals.env_steps}
        parts.metrics.write("update", {**row, "groups": " ".join(batch.group_ids)})
        with parts.trace.span("learner", "publish", {"version": published.policy_version}):
            await parts.rollouts.publish(published)
        if parts.validation is not None:
            parts.validation.offer(published)
        self._slots_changed.set()
        without_signal = int(published.metrics.get("learner/groups_without_signal", 0))
        self._unusable.trained(len(batch.group_ids), without_signal)

    # --- Budget, waits and reports ---------------------------------------------------------------

    def _is_over(self) -> bool:
        if self._parts.core.lost.is_set():
            return True
        is_used_up = self._parts.pipeline.totals.env_steps >= self._configs.train.max_env_steps
        return is_used_up or self._left_s() <= 0.0

    def _left_s(self) -> float:
        return self._configs.train.max_minutes * 60.0 - (time.monotonic() - self._start_s)

    def _progress_share(self) -> float:
        """Share of the budget used, in [0, 1]."""
        train = self._configs.train
        steps = self._parts.pipeline.totals.env_steps / max(1, train.max_env_steps)
        minutes = 1.0 - self._left_s() / (train.max_minutes * 60.0)
        return min(1.0, max(0.0, steps, minutes))

    async def _watch_core(self) -> None:
        """When replay or learner are lost, wake everybody who waits for them."""
        await self._parts.core.watch()
        self._rollouts_over = True
        self._slots_changed.set()
        self._groups_changed.set()

    async def _report_loop(self) -> None:
        train, alarms, waiting = self._configs.train, self._configs.alarms, self._parts.waiting
        while True:
            await asyncio.sleep(self._configs.logger.progress_interval_s)
            self._write_progress()
            reason = standstill(
                waiting,
                start_s=self._here_s,
                stall_timeout_s=train.stall_timeout_s,
                no_update_timeout_s=alarms.no_update_timeout_s,
            )
            if reason:
                raise RuntimeError(f"{reason}\n{waiting.report()}")

    def _write_progress(self) -> None:
        progress = self._progress()
        logger.info("%s", progress.line(), extra={"progress": progress})
        attempts = self._parts.pipeline.attempts()
        ledger = {f"ledger/{name}": float(count) for name, count in attempts.items()}
        self._parts.metrics.write("progress", {**progress.row(), **ledger})
        self._parts.trace.count("queues, MB", {"bytes": progress.queue_bytes / 1e6})

    def _progress(self) -> Progress:
        now_s = time.monotonic()
        totals = self._parts.pipeline.totals
        elapsed_s = max(1e-9, now_s - self._start_s)
        here_s = max(1e-9, now_s - self._here_s)
        lane_s = sum(clock.total_s(now_s) for clock in self._lanes)
        steps_per_s = totals.env_steps / elapsed_s
        steps_left = max(0, self._configs.train.max_env_steps - totals.env_steps)
        left_s = max(0.0, self._left_s())
        return Progress(
            env_steps=totals.env_steps,
            max_env_steps=self._configs.train.max_env_steps,
            episodes=totals.episodes,
            policy_version=totals.policy_version,
            env_steps_per_s=steps_per_s,
            success=self._success.overall(),
            success_by_kind=self._success.by_kind(),
            lag_mean=totals.lag_mean,
            lag_max=totals.lag_max,
            rollout_idle=1.0 - lane_s / (here_s * len(self._lanes)),
            learner_idle=1.0 - self._learning.total_s(now_s) / here_s,
            restarts=self._parts.restarts.num_restarts,
            memory_gb=self._parts.memory.latest_gb,
            left_s=min(left_s, steps_left / steps_per_s) if steps_per_s else left_s,
            waits=self._parts.waiting.waits(),
            queue_bytes=self._queued_bytes + self._replay_state.num_bytes,
            held_out=self._held_out(),
            alarms=self._alarms.active(),
        )


async def _until(event: asyncio.Event, timeout_s: float) -> None:
    """Wait for `event`, at most `timeout_s`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
