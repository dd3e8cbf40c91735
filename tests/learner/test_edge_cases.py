# SPDX-License-Identifier: Apache-2.0
"""The objective's table of edge cases, a test for each row that no other file holds.

Elsewhere: one valid action, the fill value, ratios over the cap (`test_objective.py`); exogenous
and stale steps, what does not fit its mask (`test_update.py`); infra failures, which never become
members (`test_group_replay.py`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from envs.actions import enumerate_actions
from envs.types import StopReason
from learner.config import Baseline, LearnerConfig, ObjectiveConfig, ReplayConfig
from learner.credit import Batch, CreditAssigner
from learner.metrics import Means
from learner.priority import group_facts, sampling_probabilities
from learner.types import Group
from learner.update import Learner
from learner.values import generalised_advantages
from tests.learner.tiny_policy import TinyPolicy, random_group

SILENT = ObjectiveConfig(step_weight=0.0, entropy_type=0.0, entropy_argument=0.0)


def _group(seed: int = 0, **changes: object) -> Group:
    return random_group(np.random.default_rng(seed), f"g{seed}", policy=TinyPolicy(), **changes)  # type: ignore[arg-type]


def _with_rewards(group: Group, *columns: tuple[int, float]) -> Group:
    """Every step's reward of some layers set to one value, and one step for each member."""
    members = []
    for member in group.members:
        rewards = member.score.rewards[:1].copy()
        for layer, value in columns:
            rewards[:, layer] = value
        trajectory = dataclasses.replace(member.trajectory, steps=member.trajectory.steps[:1])
        score = dataclasses.replace(member.score, rewards=rewards)
        members.append(dataclasses.replace(member, trajectory=trajectory, score=score))
    return dataclasses.replace(group, members=tuple(members))


def _assign(assigner: CreditAssigner, *groups: Group) -> Batch:
    return assigner.assign(groups, policy_version=0, means=Means())


def test_a_layer_that_does_not_vary_adds_nothing_and_the_others_act() -> None:
    group = _with_rewards(_group(), (0, 0.7))
    quiet = _with_rewards(_group(), (0, 0.0))
    for one, other in zip(
        _assign(CreditAssigner(SILENT, max_lag=8), group).samples,
        _assign(CreditAssigner(SILENT, max_lag=8), quiet).samples,
        strict=True,
    ):
        assert one.advantage == other.advantage != 0.0


def test_a_group_that_varies_nowhere_moves_neither_weights_nor_scales_nor_its_priority() -> None:
    flat = _with_rewards(_group(), (0, 0.5), (1, -0.5), (2, 1.0))
    varied = _group(1)
    assigner = CreditAssigner(SILENT, max_lag=8)
    _assign(assigner, varied)
    before = assigner.scales
    batch = _assign(assigner, flat)
    np.testing.assert_array_equal(assigner.scales, before)
    assert all(sample.advantage == 0.0 for sample in batch.samples)
    config = ReplayConfig(priority_return=0.0, priority_length=0.0)
    sizes = (batch.mean_abs_advantages["g0"], 1.0)
    facts = [group_facts(g, a, 0) for g, a in zip((flat, varied), sizes, strict=True)]
    chances = sampling_probabilities(facts, config)
    floor = config.priority_floor**config.priority_exponent
    assert chances[0] / chances[1] == pytest.approx(floor / (1.01) ** config.priority_exponent)
    learner = Learner(TinyPolicy(), LearnerConfig(objective=SILENT))
    weights = learner.weights()
    metrics = learner.update([flat], progress=0.0).metrics
    assert metrics["learner/groups_without_signal"] == 1
    assert max(float(np.abs(weights[n] - w).max()) for n, w in learner.weights().items()) < 1e-6


@pytest.mark.parametrize(
    "kind", [k for k in Baseline if k not in (Baseline.CRITIC, Baseline.ANCHORED)]
)
def test_a_lone_member_never_gets_its_raw_return(kind: Baseline) -> None:
    config = dataclasses.replace(SILENT, baseline=kind)
    batch = _assign(CreditAssigner(config, max_lag=8), _group(size=1))
    assert all(sample.advantage == 0.0 for sample in batch.samples)


def test_failures_and_cut_off_attempts_are_ordinary_members() -> None:
    """How an attempt ended plays no part beside its rewards: the step limit is part of the task."""
    group = _group()
    cut = dataclasses.replace(
        group,
        members=tuple(
            dataclasses.replace(
                m, trajectory=dataclasses.replace(m.trajectory, stop=StopReason.STEP_LIMIT)
            )
            for m in group.members
        ),
    )
    ended, limited = (_assign(CreditAssigner(SILENT, max_lag=8), g).samples for g in (group, cut))
    assert [s.advantage for s in ended] == [s.advantage for s in limited]
    assert all(s.in_outcome for s in limited)


def test_nothing_is_bootstrapped_after_the_last_step() -> None:
    values = np.full((3, 3), 5.0)
    got = generalised_advantages(np.zeros((3, 3)), values, (1.0, 1.0, 1.0), 0.95)
    np.testing.assert_array_equal(got[-1], np.full(3, -5.0))


def test_a_group_goes_on_with_the_members_that_are_left() -> None:
    """An infra failure takes part neither as a member nor as a zero in the baseline."""
    group = _group()
    partial = dataclasses.replace(group, members=group.members[:2])
    got = _assign(CreditAssigner(SILENT, max_lag=8), partial).samples[0].advantage
    base_scale = CreditAssigner(SILENT, max_lag=8)
    _assign(base_scale, partial)
    weights = np.array([0.25, 0.5, 2.0])
    discounts = np.array(SILENT.discounts)
    own, other = (
        sum(m.score.rewards[t] * discounts**t for t in range(len(m.score.rewards)))
        for m in partial.members
    )
    expected = np.clip(((own - other) * weights / base_scale.scales).sum(), -5, 5)
    assert got == pytest.approx(float(expected))


def test_a_state_without_a_legal_action_is_refused() -> None:
    mask = _group().members[0].trajectory.steps[0].mask
    nothing = dataclasses.replace(mask, type=np.zeros_like(mask.type))
    with pytest.raises(ValueError):
        enumerate_actions(nothing)


def test_a_constant_for_every_step_counts_and_one_at_the_end_does_not() -> None:
    """Deliberately: a reward for each step pays the longer member of a group."""
    group = _group(2)
    lengths = [len(m.trajectory.steps) for m in group.members]
    assert len(set(lengths)) > 1

    def shifted(where: slice) -> list[float]:
        members = []
        for m in group.members:
            rewards = m.score.rewards.copy()
            rewards[where, 2] += 0.3
            members.append(
                dataclasses.replace(m, score=dataclasses.replace(m.score, rewards=rewards))
            )
        assigner = CreditAssigner(SILENT, max_lag=8)
        # Scales of their own would hide it: judge both by the plain group's.
        _assign(assigner, group)
        changed = dataclasses.replace(group, members=tuple(members), is_replayed=True)
        samples = _assign(assigner, changed).samples
        return [s.advantage for s in samples if s.episode == 0][:1]

    plain = shifted(slice(0, 0))
    assert shifted(slice(-1, None)) == pytest.approx(plain)
    assert shifted(slice(None)) != pytest.approx(plain)
