# SPDX-License-Identifier: Apache-2.0
"""An attempt that asks its states anew: further records, and the attempt itself as it was."""

import asyncio

import numpy as np
import pytest

from agent.config import PolicyConfig
from agent.episode import Attempt, run_episode
from agent.hindsight import Hindsight
from agent.policy_agent import PolicyAgent
from envs.actions import enumerate_actions
from envs.config import DriverKind, EnvConfig
from envs.search_env import make_env
from envs.types import Split
from envs.web.hindsight import from_config
from envs.web.teacher import WorldGraphTeacher

CONFIG = EnvConfig(driver=DriverKind.TWIN, max_steps=6)


def attempt(num_tasks: int) -> Attempt:
    async def run() -> Attempt:
        env = make_env(CONFIG)
        await env.start()
        agent, teacher = PolicyAgent(PolicyConfig(), seed=1), WorldGraphTeacher()
        found = await run_episode(
            env,
            agent,
            env.task_set.task(Split.TRAIN, 0),
            trajectory_id="t",
            group_id="g",
            seed=4,
            teacher=teacher,
            hindsight=Hindsight(from_config(CONFIG), teacher, agent.model_inputs, num_tasks),
        )
        await env.close()
        return found

    return asyncio.run(run())


@pytest.fixture(scope="module")
def asked_twice() -> Attempt:
    return attempt(2)


def test_each_state_is_scored_under_other_questions(asked_twice):
    trajectory = asked_twice.trajectory
    assert len(trajectory.hindsight) == 2 * len(trajectory.steps) > 0
    for record in trajectory.hindsight:
        assert len(record.utilities) == len(enumerate_actions(record.mask))
        assert np.isfinite(record.utilities).all()
        assert record.is_exogenous and not record.log_prob_by_head.any()
    words = {record.inputs.question_word.tobytes() for record in trajectory.hindsight}
    assert len(words) > len(trajectory.steps) / 2, "questions differ"
    assert trajectory.num_bytes() > sum(step.num_bytes() for step in trajectory.steps)


def test_the_attempt_stays_as_it_was(asked_twice):
    plain = attempt(0)
    assert plain.trajectory.hindsight == ()
    assert [s.chosen for s in plain.trajectory.steps] == [
        s.chosen for s in asked_twice.trajectory.steps
    ]
    assert plain.episode.final_answer == asked_twice.episode.final_answer
