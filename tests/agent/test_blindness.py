# SPDX-License-Identifier: Apache-2.0
"""What only scorers and teachers may see does not reach the agent."""

import asyncio
import dataclasses

import numpy as np
import pytest

from agent.config import STREAMS, PolicyConfig
from agent.episode import Attempt, run_episode
from agent.policy_agent import PolicyAgent
from agent.types import StepRecord
from envs.types import Split, Task, TaskTruth
from envs.web.teacher import WorldGraphTeacher
from tests.agent.pictured_twin import web_pictured_env

PLAIN = PolicyConfig(width=16)
SEEING_ALL = PolicyConfig(width=16, streams=STREAMS, vision_weights="random")
SEEING_JPEGS = dataclasses.replace(SEEING_ALL, train_backbone=True)
BLANK = TaskTruth(answers=(), evidence=(), potential={})


def attempts(
    *, with_teacher: bool, is_blank: bool, policy: PolicyConfig = PLAIN, num_tasks: int = 4
) -> list[Attempt]:
    """One attempt at each of the first tasks, by the same agent with the same seeds."""

    async def run() -> list[Attempt]:
        env = web_pictured_env()
        await env.start()
        agent = PolicyAgent(policy, seed=0)
        teacher = WorldGraphTeacher() if with_teacher else None
        tasks = [env.task_set.task(Split.TRAIN, index) for index in range(num_tasks)]
        return [
            await run_episode(
                env,
                agent,
                blanked(task) if is_blank else task,
                trajectory_id=task.task_id,
                group_id="g",
                seed=3,
                teacher=teacher,
            )
            for task in tasks
        ]

    return asyncio.run(run())


def blanked(task: Task) -> Task:
    return dataclasses.replace(task, truth=BLANK)


def inputs_of(record: StepRecord) -> list[bytes]:
    """Every number that the network and its mask saw."""
    parts = (record.inputs, record.mask)
    return [getattr(part, f.name).tobytes() for part in parts for f in dataclasses.fields(part)]


@pytest.mark.parametrize(("policy", "num_tasks"), [(PLAIN, 4), (SEEING_ALL, 1), (SEEING_JPEGS, 1)])
def test_blanking_a_tasks_truth_leaves_every_model_input_byte_equal(policy, num_tasks):
    seen = [
        [inputs_of(record) for attempt in run for record in attempt.trajectory.steps]
        for run in (
            attempts(with_teacher=True, is_blank=False, policy=policy, num_tasks=num_tasks),
            attempts(with_teacher=False, is_blank=True, policy=policy, num_tasks=num_tasks),
        )
    ]
    assert len(seen[0]) > 8
    assert seen[0] == seen[1]


def test_the_teacher_does_depend_on_the_truth():
    told = attempts(with_teacher=True, is_blank=False)
    utilities = [record.utilities for attempt in told for record in attempt.trajectory.steps]
    assert all(len(u) for u in utilities)
    assert np.unique(np.concatenate(utilities)).size > 3
