# SPDX-License-Identifier: Apache-2.0
"""Tries an agent on held-out tasks over the rollout and reward workers that are already up.

Who waits for whom: each lane takes the next task and waits for its attempt, then for its score. A
task whose attempt the world broke is tried again; one that never got a score is missing, never
wrong.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actors.archive import Archive
from actors.config import EvaluationConfig
from actors.metrics import MetricsLog
from actors.pool import RewardPool, RolloutPool
from actors.statistics import Rate, wilson
from actors.types import AttemptOrder, LostAttempt, Published
from envs.site import TaskSet
from envs.types import Scored, Split, Task

logger = logging.getLogger(__name__)

_NOWHERE: Mapping[str, int] = {}
_EVALUATION_STREAM = 0xE7A1  # keeps the seeds of evaluation apart from those of training


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOutcome:
    """What became of one held-out task."""

    task_id: str
    kind: str
    is_right: bool
    num_steps: int
    num_invalid: int = 0  # steps whose action did nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Success of one agent."""

    agent: str
    outcomes: tuple[TaskOutcome, ...]  # in the order of the tasks, without the missing ones
    num_missing: int  # tasks that the world broke at every try
    env_steps: int
    duration_s: float

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Evaluation:
        """What `state_dict()` was made of."""
        outcomes = tuple(TaskOutcome(**outcome) for outcome in state["outcomes"])
        return cls(**{**state, "outcomes": outcomes})

    def rate(self) -> Rate:
        """Success over all kinds."""
        return _rate(self.outcomes)

    def rate_by_kind(self) -> dict[str, Rate]:
        """Success by kind of task, kinds in alphabetical order."""
        kinds = sorted({outcome.kind for outcome in self.outcomes})
        return {kind: _rate([o for o in self.outcomes if o.kind == kind]) for kind in kinds}


def held_out_tasks(task_set: TaskSet, num_tasks: int) -> list[Task]:
    """The first tasks of the test split."""
    return [task_set.task(Split.TEST, index) for index in range(num_tasks)]


def validation_tasks(task_set: TaskSet, num_tasks: int) -> list[Task]:
    """The first tasks of the validation split, at most as many as it has."""
    limit = task_set.num_tasks(Split.VALIDATION)
    count = num_tasks if limit is None else min(num_tasks, limit)
    return [task_set.task(Split.VALIDATION, index) for index in range(count)]


async def evaluate(
    agent: str,
    tasks: Sequence[Task],
    *,
    rollouts: RolloutPool,
    rewards: RewardPool,
    config: EvaluationConfig,
    seed: int,
    phase: str,
    num_lanes: int,
    archive: Archive | None = None,
    pinned: Published | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Evaluation:
    """Try `agent` once on each task; the same seed gives each task the same draws.

    Some attempts go into `archive`, under `phase`. The policy has the newest weights, or those of
    `pinned`, whatever is published meanwhile. Once `is_over`, no further attempt begins, and what
    was not tried is missing.
    """
    began_s = time.monotonic()
    found: dict[int, TaskOutcome] = {}
    todo = iter(enumerate(tasks))
    num_steps = 0

    async def lane() -> None:
        nonlocal num_steps
        for index, task in todo:
            is_recorded = archive is not None and archive.wants(phase, task)
            for order in _tries(agent, task, index, config, seed, phase):
                if is_over():
                    return
                order = dataclasses.replace(order, is_recorded=is_recorded)
                result = await rollouts.run(order, pinned=pinned)
                if isinstance(result, LostAttempt):
                    num_steps += result.num_steps
                    continue
                num_steps += result.report.num_steps
                score = await rewards.score(order.trajectory_id, result.episode)
                if isinstance(score, Scored):
                    found[index] = TaskOutcome(
                        task_id=task.task_id,
                        kind=task.kind,
                        is_right=score.is_right,
                        num_steps=result.report.num_steps,
                        num_invalid=result.report.num_invalid,
                    )
                    if archive is not None and result.report.recording is not None:
                        await asyncio.to_thread(
                            archive.offer,
                            phase,
                            task,
                            result.report.stop,
                            score,
                            result.report.recording,
                        )
                    break

    async with asyncio.TaskGroup() as lanes:
        for _ in range(num_lanes):
            lanes.create_task(lane())
    return Evaluation(
        agent=agent,
        outcomes=tuple(found[index] for index in sorted(found)),
        num_missing=len(tasks) - len(found),
        env_steps=num_steps,
        duration_s=time.monotonic() - began_s,
    )


def report_evaluation(
    name: str, evaluation: Evaluation, metrics: MetricsLog, at: Mapping[str, int] = _NOWHERE
) -> None:
    """One line for a person, one row for the metrics, which tells `at` too."""
    rate = evaluation.rate()
    kinds = {kind: part.value for kind, part in evaluation.rate_by_kind().items()}
    logger.info(
        "%s: success %.3f (95 %% %.3f-%.3f) %s, %d steps in %.0f s",
        name,
        rate.value,
        rate.low,
        rate.high,
        " ".join(f"{kind} {value:.2f}" for kind, value in kinds.items()),
        evaluation.env_steps,
        evaluation.duration_s,
    )
    row: dict[str, float | int | str] = {
        "name": name,
        **at,
        "eval/success": rate.value,
        "eval/success_low": rate.low,
        "eval/success_high": rate.high,
        "eval/num_tasks": rate.num_tasks,
        "eval/num_missing": evaluation.num_missing,
        "eval/env_steps": evaluation.env_steps,
        "eval/duration_s": evaluation.duration_s,
    }
    metrics.write("evaluation", {**row, **{f"eval/success_{k}": v for k, v in kinds.items()}})


def _tries(
    agent: str, task: Task, index: int, config: EvaluationConfig, seed: int, phase: str
) -> Iterator[AttemptOrder]:
    for attempt in range(config.max_tries):
        entropy = [seed, _EVALUATION_STREAM, index, attempt]
        yield AttemptOrder(
            task=task,
            trajectory_id=f"eval.{phase}.{task.task_id}.t{attempt}",
            group_id=f"eval.{phase}.{task.task_id}",
            seed=int(np.random.SeedSequence(entropy).generate_state(1)[0]),
            agent=agent,
            temperature=config.temperature,
            with_teacher=False,
        )


def _rate(outcomes: Sequence[TaskOutcome]) -> Rate:
    return wilson(sum(outcome.is_right for outcome in outcomes), len(outcomes))
