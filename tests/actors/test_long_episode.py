# SPDX-License-Identifier: Apache-2.0
"""Two hundred steps of a real browser, from the rollout worker through to new weights."""

from __future__ import annotations

import numpy as np
import pytest

from actors.learning import LearnerWorker
from actors.replay import ReplayWorker
from actors.rewards import RewardWorker
from actors.rollout import RolloutWorker
from actors.types import AttemptOrder
from agent.config import PolicyConfig
from envs.config import EnvConfig
from envs.search_env import make_task_set
from envs.types import Scored, Split, StopReason
from learner.config import LearnerConfig, ReplayConfig
from reward_server.config import RewardConfig

POLICY = PolicyConfig(width=16)
ENV = EnvConfig(max_steps=200)


def make_order(agent: str, member: int) -> AttemptOrder:
    return AttemptOrder(
        task=make_task_set(ENV).task(Split.TRAIN, 1),
        trajectory_id=f"g0.m{member}",
        group_id="g0",
        seed=11 + member,
        agent=agent,
        temperature=1.0,
        with_teacher=True,
    )


@pytest.mark.timeout(300)
async def test_a_wanderer_of_200_steps_goes_through_reward_replay_and_a_learner_step():
    rollout = RolloutWorker(env=ENV, policy=POLICY, seed=0)
    reward = RewardWorker(reward=RewardConfig())
    replay = ReplayWorker(replay=ReplayConfig(), group_size=2, seed=0)
    algo = LearnerConfig(group_size=2, groups_per_update=1, epochs=1, step_replay_updates=2)
    learner = LearnerWorker(policy=POLICY, algo=algo, replay=ReplayConfig())
    lengths = []
    try:
        for member, agent in enumerate(("wanderer", "random")):
            episode, trajectory, report = await rollout.run_attempt(make_order(agent, member))
            assert not report.stop.is_infra_failure(), report.detail
            score = reward.score(episode)
            assert isinstance(score, Scored)
            assert score.rewards.shape == (report.num_steps, 3)
            assert np.abs(score.rewards).max() <= 1.0
            state = replay.add_member(trajectory, score)
            lengths.append(report.num_steps)
            if agent == "wanderer":
                assert (report.num_steps, report.stop) == (200, StopReason.STEP_LIMIT)
                assert len({step.url for step in episode.steps}) > 5, "it got around"
                assert score.rewards[:, 0].sum() > 0, "new pages pay"
    finally:
        await rollout.close()

    assert state.ready == ("g0",)
    groups, group_ids, state = replay.take(1, policy_version=0, confirmed={})
    assert (group_ids, state.ready) == (("g0",), ())
    _, before = learner.publish()
    after, report = learner.update(groups, progress=0.0)
    assert report.policy_version == 1
    assert report.metrics["learner/steps"] == sum(lengths)
    assert all(np.isfinite(value).all() for value in after.values())
    assert any((after[name] != before[name]).any() for name in after)
