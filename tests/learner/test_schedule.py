# SPDX-License-Identifier: Apache-2.0
"""The weights of the two terms over a run, and the gate of the step term."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from learner.calibration import CalibrationGate, concordance, gate
from learner.config import LearnerConfig, ObjectiveConfig, Schedule
from learner.loss import Weights, balanced
from learner.metrics import Means
from learner.schedule import ScheduleState, TermWeights
from learner.update import Learner
from tests.learner.tiny_policy import TinyPolicy, random_group

EARLY = ObjectiveConfig(
    schedule=Schedule.EARLY_DECAY,
    outcome_weight=0.3,
    outcome_weight_final=2.0,
    step_weight=1.0,
    step_weight_final=0.1,
)


def _at(config: ObjectiveConfig, *progress: float) -> list[tuple[float, float]]:
    weights = [ScheduleState(config).weights(p) for p in progress]
    return [(round(w.step, 6), round(w.outcome, 6)) for w in weights]


def test_weights_stay_as_they_are_unless_scheduled() -> None:
    assert _at(ObjectiveConfig(), 0.0, 0.4, 1.0) == [(1.0, 1.0)] * 3


def test_early_decay_follows_the_formula() -> None:
    expected = [(1.0, 0.3), (0.7, 0.81), (0.1, 1.83), (0.1, 2.0), (0.1, 2.0)]
    assert _at(EARLY, 0.0, 0.1, 0.3, 0.5, 1.0) == expected


def test_linear_crosses_over_and_outcome_only_stays_outcome_only() -> None:
    linear = dataclasses.replace(EARLY, schedule=Schedule.LINEAR)
    assert _at(linear, 0.0, 0.5, 1.0) == [(1.0, 0.3), (0.55, 1.15), (0.1, 2.0)]
    without = dataclasses.replace(EARLY, step_weight=0.0)
    assert _at(without, 0.0, 0.9) == [(0.0, 0.3), (0.0, 2.0)]
    assert _at(dataclasses.replace(linear, step_weight=0.0), 0.0, 1.0) == [(0.0, 0.3), (0.0, 2.0)]


def test_validation_moves_on_by_gains_and_stalls_and_never_back() -> None:
    state = ScheduleState(dataclasses.replace(EARLY, schedule=Schedule.VALIDATION))
    seen = []
    for score in (0.10, 0.13, 0.12, 0.13, 0.14, 0.05, 0.05, 0.90, 0.10):
        state.observe(score)
        seen.append(round(state.weights(0.9).step, 3))
    # 0.13 is a gain; three without one are a stall; 0.90 is a gain; then it is at its end.
    assert seen == [1.0, 0.667, 0.667, 0.667, 0.333, 0.333, 0.333, 0.1, 0.1]
    again = ScheduleState(dataclasses.replace(EARLY, schedule=Schedule.VALIDATION))
    again.load_state_dict(state.state_dict())
    assert again.weights(0.0) == state.weights(0.0) == TermWeights(step=0.1, outcome=2.0)
    with pytest.raises(ValueError, match="validation_score"):
        state.observe(float("nan"))


def test_a_learner_takes_its_validation_score_as_an_argument() -> None:
    policy = TinyPolicy()
    config = LearnerConfig(
        step_replay_updates=0,
        objective=dataclasses.replace(EARLY, schedule=Schedule.VALIDATION),
    )
    learner = Learner(policy, config)
    group = random_group(np.random.default_rng(0), "g", policy=policy)
    steps = []
    for score in (0.1, None, 0.5):
        metrics = learner.update([group], progress=0.0, validation_score=score).metrics
        steps.append(metrics.get("learner/step_weight", 1.0))
    assert steps == pytest.approx([1.0, 1.0, 2 / 3])


# --- The gate -------------------------------------------------------------------------------------


def test_concordance_is_the_share_ranked_below_the_golden_action() -> None:
    utilities = np.array([0.5, 1.0, 0.5, -1.0])
    assert concordance(utilities, 1) == 1.0
    assert concordance(utilities, 0) == pytest.approx((1 + 0.5) / 3)
    assert concordance(utilities, 3) == 0.0
    with pytest.raises(ValueError, match="at least two"):
        concordance(np.zeros(1), 0)


def test_the_gate_opens_between_the_two_concordances() -> None:
    assert [gate(c) for c in (0.3, 0.6, 0.7, 0.8, 1.0)] == pytest.approx([0, 0, 0.5, 1, 1])


@pytest.mark.parametrize("is_good", [True, False])
def test_a_teacher_that_ranks_right_attempts_low_is_turned_off(is_good: bool) -> None:
    policy = TinyPolicy()
    group = random_group(np.random.default_rng(1), "g", policy=policy)
    members = []
    for member in group.members:
        steps = tuple(
            dataclasses.replace(
                s, utilities=(1.0 if is_good else -1.0) * (np.arange(len(s.utilities)) == s.chosen)
            )
            for s in member.trajectory.steps
        )
        members.append(
            dataclasses.replace(
                member,
                trajectory=dataclasses.replace(member.trajectory, steps=steps),
                score=dataclasses.replace(member.score, is_right=True),
            )
        )
    group = dataclasses.replace(group, members=tuple(members))
    means, calibration = Means(), CalibrationGate()
    assert calibration.value == 1.0
    calibration.observe([group], means)
    assert calibration.value == (1.0 if is_good else 0.0)
    config = LearnerConfig(objective=ObjectiveConfig(gates_step=True), step_replay_updates=0)
    metrics = Learner(policy, config).update([group], progress=0.0).metrics
    assert metrics["learner/golden_concordance"] == (1.0 if is_good else 0.0)
    assert metrics.get("learner/step_weight", 1.0) == (1.0 if is_good else 0.0)


# --- Gradient balance -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "step", "expected"),
    [(1.0, 3.0, 1.0), (1.0, 50.0, 0.2), (50.0, 1.0, 5.0), (1.0, 1e4, 0.1), (0.0, 1.0, 1.0)],
)
def test_the_step_term_is_rescaled_only_when_the_gradients_are_far_apart(
    outcome: float, step: float, expected: float
) -> None:
    parameter = torch.ones(1, requires_grad=True)
    weights = Weights(outcome=1.0, step=1.0, kl=0.1, num_candidates=4)
    got = balanced(
        weights, (outcome * parameter).sum(), (step * parameter).sum(), [parameter], Means()
    )
    assert got.step == pytest.approx(expected)
    assert got.outcome == 1.0
