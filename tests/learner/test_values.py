# SPDX-License-Identifier: Apache-2.0
"""Generalised advantages, V-trace and the critic that makes them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from learner.config import Baseline, LearnerConfig, ObjectiveConfig, ValueTarget
from learner.returns import discounted_returns
from learner.update import Learner
from learner.values import generalised_advantages, vtrace
from tests.learner.bandit import train_bandit
from tests.learner.tiny_policy import TinyPolicy, random_group

DISCOUNTS = (0.9, 0.97, 1.0)
PPO = ObjectiveConfig(step_weight=0.0, baseline=Baseline.CRITIC)


def _episode(seed: int = 0, steps: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(steps, 3)), rng.normal(size=(steps, 3))


def test_with_lambda_one_an_advantage_is_the_return_minus_the_value() -> None:
    rewards, values = _episode()
    expected = discounted_returns(rewards, DISCOUNTS) - values
    np.testing.assert_allclose(
        generalised_advantages(rewards, values, DISCOUNTS, 1.0), expected, atol=1e-12
    )


def test_with_lambda_zero_it_is_the_one_step_error_and_the_end_is_worth_nothing() -> None:
    rewards, values = _episode()
    following = np.concatenate([values[1:], np.zeros((1, 3))])
    expected = rewards + np.array(DISCOUNTS) * following - values
    np.testing.assert_allclose(
        generalised_advantages(rewards, values, DISCOUNTS, 0.0), expected, atol=1e-12
    )


def test_v_trace_with_ratios_of_one_is_the_return() -> None:
    rewards, values = _episode()
    advantages, targets = vtrace(rewards, values, np.ones(6), DISCOUNTS, 1.0)
    returns = discounted_returns(rewards, DISCOUNTS)
    np.testing.assert_allclose(targets, returns, atol=1e-12)
    np.testing.assert_allclose(advantages, returns - values, atol=1e-12)


def test_v_trace_caps_ratios_and_keeps_values_where_the_policy_would_not_go() -> None:
    rewards, values = _episode()
    capped = vtrace(rewards, values, np.full(6, 7.0), DISCOUNTS, 0.9)
    plain = vtrace(rewards, values, np.ones(6), DISCOUNTS, 0.9)
    np.testing.assert_allclose(capped[0], plain[0])
    _, targets = vtrace(rewards, values, np.zeros(6), DISCOUNTS, 1.0)
    np.testing.assert_allclose(targets, values)


# --- The critic -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", list(ValueTarget))
def test_the_critic_learns_what_states_are_worth_and_goes_on_bit_for_bit(
    target: ValueTarget,
) -> None:
    config = LearnerConfig(
        critic_learning_rate=0.01, objective=dataclasses.replace(PPO, value_target=target)
    )
    policy = TinyPolicy(seed=1)
    rng = np.random.default_rng(0)
    groups = [random_group(rng, f"g{i}", policy=policy, with_utilities=False) for i in range(3)]
    learner = Learner(policy, config)
    losses = [
        learner.update(groups, progress=0.0).metrics["learner/critic_loss"] for _ in range(25)
    ]
    assert losses[-1] < 0.7 * losses[0]
    resumed = Learner(TinyPolicy(seed=2), config)
    resumed.load_state_dict(learner.state_dict())
    reports = [x.update(groups, progress=0.1) for x in (learner, resumed)]
    assert reports[0] == reports[1]


def test_ppo_learns_a_contextual_bandit_from_single_attempts() -> None:
    config = LearnerConfig(
        learning_rate=0.05, final_learning_rate=0.01, critic_learning_rate=0.02, objective=PPO
    )
    (before, after), _ = train_bandit(config, updates=40, seed=0, group_size=1)
    assert before < 0.45
    assert after > 0.9


def test_a_lone_attempt_teaches_nothing_without_a_critic() -> None:
    config = LearnerConfig(
        learning_rate=0.05,
        final_learning_rate=0.01,
        objective=ObjectiveConfig(step_weight=0.0, entropy_type=0.0, entropy_argument=0.0),
    )
    (before, after), _ = train_bandit(config, updates=10, seed=0, group_size=1)
    assert after == pytest.approx(before, abs=1e-4)
