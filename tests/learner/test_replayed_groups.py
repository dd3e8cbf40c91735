# SPDX-License-Identifier: Apache-2.0
"""What the learner does with a group that it has seen before."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from learner.config import LearnerConfig, ObjectiveConfig
from learner.credit import CreditAssigner
from learner.metrics import Means
from learner.types import Group
from learner.update import Learner
from tests.learner.tiny_policy import TinyPolicy, random_group

CONFIG = LearnerConfig(step_replay_updates=0, minibatch_steps=16)


def _groups(count: int = 4) -> list[Group]:
    rng = np.random.default_rng(0)
    return [random_group(rng, f"g{i}", policy=TinyPolicy(seed=0)) for i in range(count)]


def _replayed(group: Group, weight: float) -> Group:
    return dataclasses.replace(group, is_replayed=True, outcome_weight=weight)


def _assigner() -> CreditAssigner:
    return CreditAssigner(ObjectiveConfig(), max_lag=8)


def test_its_weight_multiplies_its_outcome_term_and_no_other() -> None:
    fresh, old = _groups(2)
    losses = {}
    for weight in (0.0, 1.0, 2.5):
        learner = Learner(TinyPolicy(seed=1), CONFIG)
        report = learner.update([fresh, _replayed(old, weight)], progress=0.0)
        losses[weight] = report.metrics["learner/outcome_loss"]
    samples = {
        weight: [
            s.advantage
            for s in _assigner()
            .assign([fresh, _replayed(old, weight)], policy_version=0, means=Means())
            .samples
        ]
        for weight in (1.0, 2.5)
    }
    num_fresh = sum(len(m.trajectory.steps) for m in fresh.members)
    assert samples[2.5][:num_fresh] == samples[1.0][:num_fresh]
    np.testing.assert_allclose(
        samples[2.5][num_fresh:], 2.5 * np.array(samples[1.0][num_fresh:]), rtol=1e-12
    )
    assert len(set(losses.values())) == 3


def test_it_moves_neither_the_scales_nor_the_mean_length() -> None:
    fresh, old = _groups(2)
    with_old, without = _assigner(), _assigner()
    with_old.assign([fresh, _replayed(old, 3.0)], policy_version=0, means=Means())
    without.assign([fresh], policy_version=0, means=Means())
    assert with_old.state_dict() == without.state_dict()


def test_it_enters_the_reservoir_once() -> None:
    fresh, old = _groups(2)
    learner = Learner(TinyPolicy(seed=1), CONFIG)
    learner.update([old], progress=0.0)
    learner.update([fresh, _replayed(old, 1.0)], progress=0.0)
    steps = sum(len(m.trajectory.steps) for g in (fresh, old) for m in g.members)
    assert len(learner.state_dict()["reservoir"]["steps"]) == steps


def test_priorities_are_of_advantages_without_the_weight() -> None:
    groups = _groups(3)
    plain = _assigner().assign(groups, policy_version=0, means=Means()).mean_abs_advantages
    assert plain.keys() == {"g0", "g1", "g2"}
    weighted = [groups[0], groups[1], _replayed(groups[2], 7.0)]
    batch = _assigner().assign(weighted, policy_version=0, means=Means())
    for name in ("g0", "g1", "g2"):
        # The scales are those of the fresh groups only, so the values differ, but not sevenfold.
        assert batch.mean_abs_advantages[name] == pytest.approx(plain[name], rel=0.9)
