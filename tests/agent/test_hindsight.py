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
from tests.envs.web.test_hindsight import walks

CONFIG = EnvConfig(driver=DriverKind.TWIN, max_steps=6)


def attempt(num_tasks: int, reworded: float = 0.0) -> Attempt:
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
            hindsight=Hindsight(
                from_config(CONFIG), teacher, agent.model_inputs, num_tasks, reworded=reworded
            ),
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


def test_a_share_of_the_states_is_shown_in_other_words_and_scored_all_the_same() -> None:
    agent, teacher = PolicyAgent(PolicyConfig(), seed=1), WorldGraphTeacher()
    seen = [(task, observation) for task, walk in walks(CONFIG, 3) for observation in walk]
    decision = asyncio.run(agent.act(seen[0][1], seed=0))
    moved: dict[float, int] = {}
    for share in (0.0, 0.5, 1.0):
        asked = [
            Hindsight(from_config(CONFIG), teacher, agent.model_inputs, 4, reworded=r)
            for r in (0.0, share)
        ]
        moved[share] = 0
        for task, observation in seen:
            pairs = zip(
                *(a.records(task, observation, decision, seed=7) for a in asked), strict=True
            )
            for plain, other in pairs:
                assert np.array_equal(other.utilities, plain.utilities)
                assert np.array_equal(other.mask.element, plain.mask.element)
                assert other.inputs.element.shape == plain.inputs.element.shape
                moved[share] += not np.array_equal(other.inputs.statement, plain.inputs.statement)
    assert moved[0.0] == 0 < moved[0.5] < moved[1.0]
