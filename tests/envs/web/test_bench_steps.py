# SPDX-License-Identifier: Apache-2.0
"""The oracle solves Forage-Bench on the fast twin in the steps that its caps are made of."""

import asyncio
import dataclasses
from collections.abc import Sequence

import pytest

from agent.episode import Attempt, run_episode
from agent.scripted.oracle import OracleAgent
from envs.answers import is_accepted
from envs.config import DriverKind, EnvConfig
from envs.search_env import make_env
from envs.types import Split, Task
from envs.web.bench import MOST_CAP, NUM_TASKS, SUB_SCORES, sub_score_of
from envs.web.bench_steps import ORACLE_STEPS

FEW = (2, 3, 5, 7)  # of each sub-score, one in Chinese


def attempts(indices: Sequence[int]) -> list[Attempt]:
    """The oracle on some tasks, with the most steps that any may have."""

    async def run() -> list[Attempt]:
        env = make_env(EnvConfig(driver=DriverKind.TWIN, task_set="forage_bench"))
        await env.start()
        tasks = [uncapped(env.task_set.task(Split.TEST, index)) for index in indices]
        return [
            await run_episode(
                env, OracleAgent(), task, trajectory_id=task.task_id, group_id="g", seed=0
            )
            for task in tasks
        ]

    return asyncio.run(run())


def uncapped(task: Task) -> Task:
    return dataclasses.replace(task, prompt=dataclasses.replace(task.prompt, max_steps=MOST_CAP))


def test_some_rows_of_the_table_are_what_is_measured() -> None:
    steps = [len(attempt.episode.steps) for attempt in attempts(FEW)]
    assert steps == [ORACLE_STEPS[index] for index in FEW]


@pytest.mark.slow
def test_the_table_is_what_is_measured_and_the_oracle_solves_each_sub_score() -> None:
    found = attempts(range(NUM_TASKS))
    assert tuple(len(attempt.episode.steps) for attempt in found) == ORACLE_STEPS
    right = dict.fromkeys(SUB_SCORES, 0)
    for attempt in found:
        task = attempt.episode.task
        is_right = is_accepted(attempt.episode.final_answer, task.truth.answers)
        right[sub_score_of(task.kind)] += is_right
    assert min(right.values()) >= 95, right
