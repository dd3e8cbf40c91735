# SPDX-License-Identifier: Apache-2.0
"""Returns, baselines and scales; gradients by enumeration over whole groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from learner import objective
from learner.config import ObjectiveConfig
from learner.returns import (
    LayerScales,
    advantages,
    discounted_returns,
    leave_one_out_deviations,
)

DISCOUNTS = (0.90, 0.97, 1.0)


def test_each_layer_is_discounted_by_its_own_rate() -> None:
    rewards = np.zeros((3, 3))
    rewards[2] = 1.0
    expected = np.array([[0.81, 0.97**2, 1.0], [0.9, 0.97, 1.0], [1.0, 1.0, 1.0]])
    np.testing.assert_allclose(discounted_returns(rewards, DISCOUNTS), expected, atol=1e-15)


def test_rewards_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected shape \[T, 3\]"):
        discounted_returns(np.zeros((4, 2)), DISCOUNTS)


def test_ended_members_count_as_zero_in_the_baseline() -> None:
    members = [np.array([[3.0], [3.0]]), np.array([[1.0]]), np.array([[5.0], [1.0], [1.0]])]
    deviations = leave_one_out_deviations(members)
    np.testing.assert_allclose(deviations[0], [[0.0], [2.5]])
    np.testing.assert_allclose(deviations[1], [[-3.0]])
    np.testing.assert_allclose(deviations[2], [[3.0], [-0.5], [1.0]])


def test_a_group_of_one_has_no_advantage() -> None:
    assert not np.any(leave_one_out_deviations([np.array([[1.0], [2.0]])])[0])


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 0.97])
@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_equal_members_deviate_by_exactly_zero_so_their_group_sets_no_scale(
    value: float, size: int
) -> None:
    deviations = leave_one_out_deviations([np.array([[value]])] * size)
    assert not np.any(deviations)
    scales = LayerScales(1, decay=0.9, min_scale=0.1)
    scales.update([deviations])
    np.testing.assert_array_equal(scales.scales, [1.0])


def test_the_order_of_members_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    members = [rng.normal(size=(n, 3)) for n in (4, 2, 5, 3)]
    straight = leave_one_out_deviations(members)
    turned = leave_one_out_deviations(members[::-1])[::-1]
    for a, b in zip(straight, turned, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_constant_added_to_every_terminal_answer_reward_changes_nothing() -> None:
    """Exactly so where all members are still alive: ended members count as 0 on purpose."""
    rng = np.random.default_rng(1)
    rewards = [rng.normal(size=(n, 3)) for n in (4, 3, 6)]
    shifted = [r.copy() for r in rewards]
    for r in shifted:
        r[-1, 2] += 0.7
    before = leave_one_out_deviations([discounted_returns(r, DISCOUNTS) for r in rewards])
    after = leave_one_out_deviations([discounted_returns(r, DISCOUNTS) for r in shifted])
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a[:3], b[:3], atol=1e-12)
    assert abs(after[2][4, 2] - before[2][4, 2] - 0.7) < 1e-12


# --- Scales and advantages ------------------------------------------------------------------------


def test_scales_follow_the_rms_and_skip_groups_and_layers_that_do_not_vary() -> None:
    scales = LayerScales(2, decay=0.9, min_scale=0.1)
    np.testing.assert_allclose(scales.scales, [1.0, 1.0])
    flat = [np.zeros((3, 2)), np.zeros((1, 2))]
    scales.update([flat])
    np.testing.assert_allclose(scales.scales, [1.0, 1.0])
    scales.update([flat, [np.array([[2.0, 0.0]]), np.array([[-2.0, 0.0]])]])
    np.testing.assert_allclose(scales.scales, [2.0, 1.0])
    scales.update([[np.array([[1.0, 0.01]]), np.array([[-1.0, -0.01]])]])
    np.testing.assert_allclose(scales.scales, [1.9, 0.1])
    again = LayerScales(2, decay=0.9, min_scale=0.1)
    again.load_state_dict(scales.state_dict())
    np.testing.assert_array_equal(again.scales, scales.scales)


def test_advantages_weight_after_scaling_and_are_clipped() -> None:
    deviations = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 100.0]])
    values = advantages(
        deviations,
        layer_weights=(0.25, 0.5, 2.0),
        scales=np.array([0.5, 4.0, 1.0]),
        max_advantage=5.0,
    )
    np.testing.assert_allclose(values, [0.5 + 0.25 + 1.0, 5.0])


# --- Gradients by enumeration ---------------------------------------------------------------------


def _bandit_gradient(behaviour: list[float], policy: float, rewards: tuple[float, float]) -> float:
    """Expected ascent direction on the logit of arm 1, summed over the group, by enumeration."""
    config = ObjectiveConfig(max_importance_ratio=1e9)
    total = 0.0
    for arms in itertools.product((0, 1), repeat=len(behaviour)):
        chances = [mu if arm else 1 - mu for mu, arm in zip(behaviour, arms, strict=True)]
        deviations = leave_one_out_deviations([np.array([[rewards[arm]]]) for arm in arms])
        logit = torch.tensor(np.log(policy / (1 - policy)), requires_grad=True)
        log_arm = torch.stack(
            [torch.nn.functional.logsigmoid(logit if arm else -logit) for arm in arms]
        )
        term = objective.outcome_loss(
            log_arm,
            log_arm.detach(),
            torch.tensor(np.log(chances)),
            torch.tensor([float(d[0, 0]) for d in deviations]),
            torch.ones(len(arms), dtype=torch.bool),
            config=config,
        )
        (gradient,) = torch.autograd.grad(-term.loss.sum(), logit)
        total += float(np.prod(chances)) * gradient.item()
    return total


@pytest.mark.parametrize("size", [2, 4, 8])
def test_leave_one_out_gives_the_exact_policy_gradient(size: int) -> None:
    p, rewards = 0.3, (0.2, 0.9)
    expected = p * (1 - p) * (rewards[1] - rewards[0])
    assert _bandit_gradient([p] * size, p, rewards) / size == pytest.approx(expected, abs=1e-6)


def test_it_stays_exact_when_four_policy_versions_share_a_group() -> None:
    p, rewards = 0.4, (0.1, 1.0)
    expected = 4 * p * (1 - p) * (rewards[1] - rewards[0])
    gradient = _bandit_gradient([0.2, 0.35, 0.6, 0.8], p, rewards)
    assert gradient == pytest.approx(expected, abs=1e-6)


# An MDP of three states with actions stop and go and at most three steps, and two reward layers.
_LAYERS = (0.9, 1.0)
_WEIGHTS, _SCALES = (0.5, 2.0), np.array([0.4, 1.3])
_GO = (0.6, 0.7, 0.35)  # probability of going on, by state


def _episodes() -> list[tuple[float, list[int], np.ndarray]]:
    """Every episode: probability, actions (1 = go), rewards [T, 2]."""
    rng = np.random.default_rng(2)
    episodes = []
    for actions in ([0], [1, 0], [1, 1, 0], [1, 1, 1]):
        chance = np.prod([_GO[s] if a else 1 - _GO[s] for s, a in enumerate(actions)])
        episodes.append((float(chance), actions, rng.normal(size=(len(actions), 2))))
    return episodes


def _score(actions: list[int], values: np.ndarray) -> np.ndarray:
    """sum_t grad log pi(a_t) * value_t, with respect to the three logits."""
    gradient = np.zeros(3)
    for state, (action, value) in enumerate(zip(actions, values, strict=True)):
        gradient[state] = (action - _GO[state]) * value
    return gradient


def _alive_only(returns: list[np.ndarray]) -> list[np.ndarray]:
    """The baseline that must fail: the mean over those still alive, and none for the last one."""
    shared = min(len(r) for r in returns)
    deviations = []
    for own, other in (returns, returns[::-1]):
        deviation = np.zeros_like(own)
        deviation[:shared] = own[:shared] - other[:shared]
        deviations.append(deviation)
    return deviations


def _pair_gradient(deviate) -> np.ndarray:  # type: ignore[no-untyped-def]
    total = np.zeros(3)
    for (p, actions_a, rewards_a), (q, actions_b, rewards_b) in itertools.product(
        _episodes(), repeat=2
    ):
        returns = [discounted_returns(r, _LAYERS) for r in (rewards_a, rewards_b)]
        for actions, deviation in zip((actions_a, actions_b), deviate(returns), strict=True):
            values = advantages(
                deviation, layer_weights=_WEIGHTS, scales=_SCALES, max_advantage=1e9
            )
            total += p * q * _score(actions, values)
    return total / 2


def test_time_aligned_baselines_are_unbiased_for_episodes_of_different_length() -> None:
    exact = np.zeros(3)
    for p, actions, rewards in _episodes():
        returns = discounted_returns(rewards, _LAYERS)
        exact += p * _score(actions, (returns * (np.array(_WEIGHTS) / _SCALES)).sum(axis=1))
    np.testing.assert_allclose(_pair_gradient(leave_one_out_deviations), exact, atol=1e-12)
    assert np.linalg.norm(_pair_gradient(_alive_only) - exact) > 0.1 * np.linalg.norm(exact)
