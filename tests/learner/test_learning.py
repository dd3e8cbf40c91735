# SPDX-License-Identifier: Apache-2.0
"""The learner learns, from either term alone, and repeats itself by seed."""

from __future__ import annotations

from learner.config import LearnerConfig, ObjectiveConfig
from tests.learner.bandit import train_bandit


def test_the_outcome_term_alone_learns_a_contextual_bandit() -> None:
    config = LearnerConfig(
        learning_rate=0.05, final_learning_rate=0.01, objective=ObjectiveConfig(step_weight=0.0)
    )
    (before, after), _ = train_bandit(config, updates=40, seed=0)
    assert before < 0.45
    assert after > 0.9


def test_the_step_term_alone_learns_it_too() -> None:
    config = LearnerConfig(
        learning_rate=0.05,
        final_learning_rate=0.01,
        step_replay_updates=5,
        objective=ObjectiveConfig(outcome_weight=0.0),
    )
    (before, after), _ = train_bandit(config, updates=15, seed=0)
    assert before < 0.45
    assert after > 0.9


def test_training_is_bit_equal_by_seed() -> None:
    runs = [
        train_bandit(LearnerConfig(step_replay_updates=3), updates=3, seed=seed)
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1]
    assert runs[0][1] != runs[2][1]
