# SPDX-License-Identifier: Apache-2.0
"""Learning curves with known ends: what each term must reach, and what it must not.

Figures behind the bounds are in docs/OBJECTIVE.md.
"""

from __future__ import annotations

import numpy as np
import pytest

from learner.config import ObjectiveConfig, Schedule
from tests.learner.chain import Chain, train_chain, train_steps

OUTCOME = ObjectiveConfig(step_weight=0.0)
STEP = ObjectiveConfig(outcome_weight=0.0)


def _early(last_outcome_weight: float) -> ObjectiveConfig:
    return ObjectiveConfig(
        schedule=Schedule.EARLY_DECAY,
        outcome_weight=0.3,
        outcome_weight_final=last_outcome_weight,
        step_weight=1.0,
        step_weight_final=0.1,
    )


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3, 4))]


@pytest.mark.parametrize("seed", SEEDS)
def test_on_a_chain_without_partial_credit_only_steps_teach(seed: int) -> None:
    """T = 10: outcome alone has seen a success with probability 0.0061 in all its episodes."""
    chain = Chain(length=10)
    outcome = train_chain(chain, OUTCOME, learning_rate=12.0, updates=200, seed=seed)
    step = train_chain(chain, STEP, learning_rate=1.0, updates=200, seed=seed)
    mixed = train_chain(chain, _early(2.0), learning_rate=1.0, updates=200, seed=seed)
    assert outcome <= 0.01
    assert step >= 0.85
    assert mixed >= 0.95
    assert min(step, mixed) - outcome >= 0.8


@pytest.mark.parametrize("seed", SEEDS[:3])
@pytest.mark.parametrize("last_outcome_weight", [2.0, pytest.param(4.0, marks=pytest.mark.slow)])
def test_a_misleading_evaluator_is_overpowered_by_the_schedule(
    last_outcome_weight: float, seed: int
) -> None:
    chain = Chain(length=6, misled_at=2)
    step = train_chain(chain, STEP, learning_rate=1.0, updates=300, seed=seed)
    scheduled = train_chain(
        chain, _early(last_outcome_weight), learning_rate=1.0, updates=300, seed=seed
    )
    assert step < 0.05
    assert scheduled > 0.95


@pytest.mark.slow
def test_an_evaluator_that_is_noisy_but_unbiased_does_no_harm() -> None:
    chain = Chain(length=6, noise=0.5)
    assert train_chain(chain, _early(2.0), learning_rate=1.0, updates=300, seed=0) > 0.9


@pytest.mark.parametrize("length", [4, 12, 48])
def test_step_gradients_have_less_noise_by_a_factor_that_grows_with_the_chain(length: int) -> None:
    """Squared signal over variance, against the outcome's, with the same number of draws.

    On the *sum* chain (one point for each right action), where outcome alone learns too.
    """
    rng = np.random.default_rng(0)
    num_groups, size = 4000, 4
    right = rng.random((num_groups, size, length)) < 0.25  # a uniform policy over four actions
    score = right - 0.25  # d log pi / d logit of the right action
    total = right.sum(2, keepdims=True)
    others = (total.sum(1, keepdims=True) - total) / (size - 1)
    by_outcome = ((total - others) * score).mean(1)  # [groups, T]
    own = (right.sum(1, keepdims=True) - right) / (size - 1)
    by_step = ((right - own) * score).mean(1)

    def signal_to_noise(estimates: np.ndarray) -> float:
        mean = estimates.mean(0)
        return float((mean @ mean) / estimates.var(0).sum())

    assert signal_to_noise(by_step) / signal_to_noise(by_outcome) >= 0.5 * length


# --- Discounts and layers -------------------------------------------------------------------------

DOOR_STEPS = 40


def _key_and_door(actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Only the first action decides about the reward at the very end; noise on the way."""
    rewards = np.zeros((len(actions), 1))
    rewards[1:-1, 0] = rng.normal(scale=0.1, size=len(actions) - 2)
    rewards[-1, 0] += actions[0] == 1
    return rewards


@pytest.mark.parametrize(("discount", "learns"), [(1.0, True), (0.9, False)])
def test_a_decision_at_the_start_is_learnt_only_without_discount(
    discount: float, learns: bool
) -> None:
    chances, _ = train_steps(
        _key_and_door,
        num_steps=DOOR_STEPS,
        num_actions=2,
        stop_action=None,
        discounts=(discount,),
        layer_weights=(1.0,),
        learning_rate=0.3,
        updates=60,
        seed=0,
    )
    took_key = float(chances[0, 1])
    assert took_key > 0.95 if learns else took_key < 0.7


STALL_STEPS, ANSWER = 30, 1
LITERAL = ObjectiveConfig(discount_base=0.999, discount_nav=0.997, discount_semantic=0.99)


def _stalling(
    actions: np.ndarray, rng: np.random.Generator, *, pays_every_step: bool
) -> np.ndarray:
    """Base, nav, semantic; an answer is right in seven of ten, whenever it comes."""
    rewards = np.zeros((len(actions), 3))
    rewards[:, 0] = pays_every_step  # the article's layer for a page that works
    rewards[0, 0] = 1.0  # an event: the first page
    if actions[-1] == ANSWER:
        rewards[-1, 2] = rng.random() < 0.7
    return rewards


def _length_after_training(*, pays_every_step: bool) -> float:
    discounts = LITERAL.discounts if pays_every_step else ObjectiveConfig().discounts
    weights = (1.0, 2.0, 3.0) if pays_every_step else (0.25, 0.5, 2.0)
    _, mean_length = train_steps(
        lambda actions, rng: _stalling(actions, rng, pays_every_step=pays_every_step),
        num_steps=STALL_STEPS,
        num_actions=2,
        stop_action=ANSWER,
        discounts=discounts,
        layer_weights=weights,
        learning_rate=1.0,
        updates=100,
        seed=0,
    )
    return mean_length


def test_pay_by_the_step_teaches_stalling_and_bounded_events_do_not() -> None:
    """A table that has learnt nothing answers at each step with chance 1/2: two steps long."""
    assert _length_after_training(pays_every_step=True) > 15
    assert _length_after_training(pays_every_step=False) < 4


@pytest.mark.parametrize("share", [0.1])
def test_what_the_world_s_clock_does_leaves_the_mean_advantage_as_it_is(share: float) -> None:
    """Reward 0 and no gradient for one step in ten, whatever the action: no bias, only noise."""
    p, rng = 0.3, np.random.default_rng(0)
    num_groups, size = 60_000, 4
    arms = rng.random((num_groups, size)) < p
    is_popup = rng.random((num_groups, size)) < share
    rewards = np.where(is_popup, 0.0, arms)
    others = (rewards.sum(1, keepdims=True) - rewards) / (size - 1)
    slopes = np.where(is_popup, 0.0, (rewards - others) * (arms - p)).mean(1)
    expected = (1 - share) * p * (1 - p)
    assert abs(slopes.mean() - expected) < 5 * slopes.std() / num_groups**0.5
