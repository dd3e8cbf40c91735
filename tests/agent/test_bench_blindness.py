# SPDX-License-Identifier: Apache-2.0
"""What only scorers may see of a task of Forage-Bench does not reach the policy."""

import asyncio
import dataclasses

import pytest

from agent.config import STREAMS, PolicyConfig
from agent.episode import run_episode
from agent.policy_agent import PolicyAgent
from agent.types import StepRecord
from envs.config import DriverKind, EnvConfig, ScreenshotMode
from envs.search_env import SearchEnv, make_task_set
from envs.types import Split, Task, TaskTruth
from envs.web.bench import NUM_TASKS, SUB_SCORES, sub_score_of
from tests.agent.pictured_twin import PicturedTwin

SEEING_ALL = PolicyConfig(width=16, streams=STREAMS, vision_weights="random")
BLANK = TaskTruth(answers=(), evidence=(), potential={})
BENCH = EnvConfig(
    driver=DriverKind.TWIN, task_set="forage_bench", screenshot=ScreenshotMode.EVERY_STEP
)
INDICES = (0, 1, 2, 3, 5, 7)  # every kind; the last is in Chinese


def inputs_seen(env: SearchEnv, tasks: list[Task]) -> list[list[bytes]]:
    """Every number that network and mask saw, of an attempt at each task."""

    async def run() -> list[StepRecord]:
        agent = PolicyAgent(SEEING_ALL, seed=0)
        records: list[StepRecord] = []
        for task in tasks:
            attempt = await run_episode(
                env, agent, task, trajectory_id=task.task_id, group_id="g", seed=3
            )
            records.extend(attempt.trajectory.steps)
        return records

    return [
        [
            getattr(part, field.name).tobytes()
            for part in (record.inputs, record.mask)
            for field in dataclasses.fields(part)
        ]
        for record in asyncio.run(run())
    ]


@pytest.mark.parametrize("sub_score", SUB_SCORES)
def test_blanking_the_truth_leaves_every_model_input_byte_equal(sub_score: str) -> None:
    env = SearchEnv(PicturedTwin(max_elements=BENCH.max_elements), make_task_set(BENCH), BENCH)
    asyncio.run(env.start())
    assert max(INDICES) < NUM_TASKS
    drawn = [env.task_set.task(Split.TEST, index) for index in INDICES]
    tasks = [task for task in drawn if sub_score_of(task.kind) == sub_score]
    assert {task.kind for task in tasks} == set(SUB_SCORES[sub_score])
    assert all(task.truth.answers and task.truth.evidence for task in tasks)
    blanked = [dataclasses.replace(task, truth=BLANK) for task in tasks]
    seen = inputs_seen(env, tasks)
    assert len(seen) > 2
    assert inputs_seen(env, blanked) == seen
