# SPDX-License-Identifier: Apache-2.0
"""One learner batch: what is trained on, what is masked and counted, what is kept."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
import torch

from learner import objective
from learner.config import LearnerConfig, ObjectiveConfig
from learner.credit import CreditAssigner
from learner.metrics import Means
from learner.minibatch import build_minibatch
from learner.types import Group, Member
from learner.update import Learner
from tests.learner.tiny_policy import (
    TinyPolicy,
    random_group,
)

QUICK = LearnerConfig(step_replay_updates=3, step_replay_states=16, minibatch_steps=16)
OUTCOME_ONLY = ObjectiveConfig(step_weight=0.0, entropy_type=0.0, entropy_argument=0.0)


def _groups(policy: TinyPolicy, *, seed: int = 0, version: int = 0, count: int = 3, **kwargs):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    return [
        random_group(rng, f"g{seed}.{i}", policy=policy, version=version, **kwargs)
        for i in range(count)
    ]


def _edit_steps(group: Group, **changes: object) -> Group:
    """`group` with fields of every step replaced."""
    members = []
    for member in group.members:
        steps = tuple(dataclasses.replace(s, **changes) for s in member.trajectory.steps)
        edited = dataclasses.replace(member.trajectory, steps=steps)
        members.append(Member(trajectory=edited, score=member.score))
    return dataclasses.replace(group, members=tuple(members))


def _same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


def _largest_move(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(a[name] - b[name]).max()) for name in a)


# --- The outcome term over groups ---------------------------------------------------------------


def _outcome_of(groups: list[Group], policy: TinyPolicy) -> float:
    """L_out of a whole batch as one minibatch, at a policy that has moved a little."""
    assigner = CreditAssigner(ObjectiveConfig(), max_lag=8)
    batch = assigner.assign(groups, policy_version=0, means=Means())
    minibatch = build_minibatch(batch.samples, device="cpu")
    with torch.no_grad():
        log_prob = policy(minibatch.states).log_action.gather(1, minibatch.chosen[:, None])[:, 0]
    term = objective.outcome_loss(
        log_prob,
        minibatch.log_behaviour,
        minibatch.log_behaviour,
        minibatch.advantage,
        minibatch.in_outcome,
        config=ObjectiveConfig(),
    )
    return float(term.loss.mean()) * batch.steps_per_unit


def test_the_order_of_groups_and_members_does_not_change_the_loss() -> None:
    groups = _groups(TinyPolicy(seed=0))
    moved = TinyPolicy(seed=1)
    turned = [dataclasses.replace(g, members=g.members[::-1]) for g in groups[::-1]]
    assert _outcome_of(turned, moved) == pytest.approx(_outcome_of(groups, moved), rel=1e-5)


def test_duplicating_every_group_does_not_change_the_loss() -> None:
    groups = _groups(TinyPolicy(seed=0))
    moved = TinyPolicy(seed=1)
    assert _outcome_of(groups * 2, moved) == pytest.approx(_outcome_of(groups, moved), rel=1e-5)


def test_the_loss_is_divided_by_a_running_length_and_not_by_the_batch_s_own() -> None:
    policy = TinyPolicy()
    assigner = CreditAssigner(ObjectiveConfig(), max_lag=8)
    short = _groups(policy, max_steps=1)
    first = assigner.assign(short, policy_version=0, means=Means())
    assert first.steps_per_unit == 1.0
    long = _groups(policy, seed=1, max_steps=9)
    batch = assigner.assign(long, policy_version=0, means=Means())
    mean_steps = len(batch.samples) / 12
    assert batch.steps_per_unit == pytest.approx(mean_steps / (0.9 * 1.0 + 0.1 * mean_steps))


# --- What is trained on ---------------------------------------------------------------------------


def test_stale_and_exogenous_steps_carry_no_policy_gradient_and_are_counted() -> None:
    policy = TinyPolicy()
    config = dataclasses.replace(QUICK, objective=OUTCOME_ONLY)
    groups = _groups(policy, with_utilities=False)
    stale = [_edit_steps(group, policy_version=-9) for group in groups]
    exogenous = [_edit_steps(group, is_exogenous=True) for group in groups]
    num_steps = sum(len(m.trajectory.steps) for g in groups for m in g.members)
    for untrained, counter in ((stale, "steps_stale"), (exogenous, "steps_exogenous")):
        learner = Learner(TinyPolicy(), config, max_lag=8)
        before = learner.weights()
        report = learner.update(untrained, progress=0.0)
        assert report.metrics[f"learner/{counter}"] == num_steps == report.metrics["learner/steps"]
        assert _largest_move(learner.weights(), before) < 1e-4
    learner = Learner(TinyPolicy(), config, max_lag=9)
    before = learner.weights()
    report = learner.update(stale, progress=0.0)
    assert report.metrics["learner/steps_stale"] == 0
    assert report.metrics["learner/lag_max_versions"] == 9
    assert _largest_move(learner.weights(), before) > 5e-3


def test_stale_steps_still_teach_the_step_term() -> None:
    learner = Learner(TinyPolicy(), QUICK)
    before = learner.weights()
    stale = [_edit_steps(group, policy_version=-99) for group in _groups(TinyPolicy())]
    report = learner.update(stale, progress=0.0)
    assert report.metrics["learner/reservoir_steps"] == report.metrics["learner/steps"]
    assert report.metrics["learner/optimizer_steps"] >= 3 + 2
    assert not _same(learner.weights(), before)


def test_states_asked_anew_enter_the_reservoir_alone_and_once() -> None:
    def asked_anew(group: Group) -> Group:
        members = []
        for member in group.members:
            other = tuple(
                dataclasses.replace(s, is_exogenous=True, chosen=0) for s in member.trajectory.steps
            )
            longer = dataclasses.replace(member.trajectory, hindsight=(*other, *other))
            members.append(Member(trajectory=longer, score=member.score))
        return dataclasses.replace(group, members=tuple(members))

    groups = _groups(TinyPolicy())
    plain, more = (Learner(TinyPolicy(), QUICK) for _ in range(2))
    few = plain.update(groups, progress=0.0).metrics
    many = more.update([asked_anew(group) for group in groups], progress=0.0).metrics
    assert many["learner/reservoir_steps"] == 3 * few["learner/reservoir_steps"]
    assert many["learner/steps"] == few["learner/steps"], "no other term sees them"
    assert many["learner/outcome_loss"] == few["learner/outcome_loss"]
    again = [dataclasses.replace(asked_anew(group), is_replayed=True) for group in groups]
    replayed = more.update(again, progress=0.0).metrics
    assert replayed["learner/reservoir_steps"] == many["learner/reservoir_steps"]


def test_without_a_step_term_no_past_states_are_kept() -> None:
    learner = Learner(TinyPolicy(), dataclasses.replace(QUICK, objective=OUTCOME_ONLY))
    report = learner.update(_groups(TinyPolicy()), progress=0.0)
    assert report.metrics["learner/reservoir_steps"] == 0
    assert report.metrics["learner/reservoir_mb"] == 0


def test_ratios_beyond_the_cap_are_masked_and_counted() -> None:
    learner = Learner(TinyPolicy(), dataclasses.replace(QUICK, objective=OUTCOME_ONLY))
    before = learner.weights()
    unlikely = np.array([-60.0, 0, 0], dtype=np.float32)
    groups = [_edit_steps(g, log_prob_by_head=unlikely) for g in _groups(TinyPolicy())]
    report = learner.update(groups, progress=0.0)
    assert report.metrics["learner/over_importance_cap_share"] == 1.0
    assert _largest_move(learner.weights(), before) < 1e-4


def test_the_behaviour_log_probs_of_the_same_weights_agree() -> None:
    policy = TinyPolicy(seed=3)
    groups = _groups(policy)
    report = Learner(policy, QUICK).update(groups, progress=0.0)
    assert report.metrics["learner/same_version_log_prob_gap_nats"] < 1e-5
    assert report.metrics["learner/importance_mean"] == pytest.approx(1.0, abs=1e-5)
    assert report.metrics["learner/effective_sample_share"] == pytest.approx(1.0, abs=1e-5)


def test_a_gradient_that_is_not_finite_skips_the_step_and_is_counted() -> None:
    learner = Learner(TinyPolicy(), QUICK)
    before = learner.weights()
    groups = []
    for group in _groups(TinyPolicy()):
        member = group.members[0]
        steps = tuple(
            dataclasses.replace(s, utilities=np.full_like(s.utilities, np.nan))
            for s in member.trajectory.steps
        )
        poisoned = Member(
            trajectory=dataclasses.replace(member.trajectory, steps=steps), score=member.score
        )
        groups.append(dataclasses.replace(group, members=(poisoned,)))
    report = learner.update(groups, progress=0.0)
    assert report.metrics["learner/skipped_optimizer_steps"] > 0
    assert report.metrics["learner/optimizer_steps"] == 0
    assert _same(learner.weights(), before)


def test_what_does_not_fit_its_mask_is_refused() -> None:
    (group,) = _groups(TinyPolicy(), count=1)
    learner = Learner(TinyPolicy(), QUICK)
    with pytest.raises(ValueError, match="chosen"):
        learner.update([_edit_steps(group, chosen=10_000)], progress=0.0)
    with pytest.raises(ValueError, match="utilities"):
        learner.update([_edit_steps(group, utilities=np.zeros(1000, np.float16))], progress=0.0)
    with pytest.raises(ValueError, match="steps"):
        learner.update([], progress=0.0)
    with pytest.raises(ValueError, match="progress"):
        learner.update([group], progress=1.5)


def _run_regularised(objective_config: ObjectiveConfig) -> tuple[dict, dict]:  # type: ignore[type-arg]
    """Metrics of the first and the tenth update without outcome term, reference far away."""
    config = LearnerConfig(
        learning_rate=0.02, final_learning_rate=0.02, reference_rate=0.0, objective=objective_config
    )
    learner = Learner(TinyPolicy(seed=1), config)
    state = learner.state_dict()
    learner.load_state_dict({**state, "reference": TinyPolicy(seed=2).state_dict()})
    groups = _groups(TinyPolicy(), with_utilities=False)
    reports = [learner.update(groups, progress=0.0).metrics for _ in range(10)]
    return dict(reports[0]), dict(reports[-1])


def test_the_kl_term_pulls_towards_the_reference_and_entropy_spreads() -> None:
    idle = ObjectiveConfig(
        outcome_weight=0.0, entropy_type=0.0, entropy_argument=0.0, kl_initial=1.0
    )
    first, last = _run_regularised(idle)
    assert last["learner/kl_reference_nats"] < 0.7 * first["learner/kl_reference_nats"]
    free = dataclasses.replace(idle, kl_min=1e-9, kl_initial=1e-9, kl_max=1e-9)
    first, last = _run_regularised(dataclasses.replace(free, entropy_type=1.0))
    assert last["learner/entropy_type_fraction"] > first["learner/entropy_type_fraction"] + 0.05
    first, last = _run_regularised(dataclasses.replace(free, entropy_argument=1.0))
    name = "learner/entropy_argument_fraction"
    assert last[name] > first[name] + 0.05


def test_states_without_utilities_have_no_step_loss() -> None:
    first, last = _run_regularised(ObjectiveConfig(outcome_weight=0.0))
    assert first["learner/kl_reference_nats"] > 0.1
    assert first["learner/step_loss_nats"] == last["learner/step_loss_nats"] == 0.0
    assert last["learner/reservoir_steps"] == 0


# --- Weights, reference, versions -----------------------------------------------------------------


def test_the_reference_follows_by_its_rate_once_per_batch_and_gets_no_gradient() -> None:
    policy = TinyPolicy(seed=4)
    learner = Learner(policy, QUICK)
    before = learner.weights()
    learner.update(_groups(policy), progress=0.0)
    after, state = learner.weights(), learner.state_dict()
    for name, value in state["reference"].items():
        expected = 0.9 * before[name] + 0.1 * after[name]
        np.testing.assert_allclose(value.numpy(), expected, atol=1e-6)
    assert all(p.grad is None for p in learner._trainer.reference.parameters())
    assert not any(p.requires_grad for p in learner._trainer.reference.parameters())


def test_weights_are_copies() -> None:
    policy = TinyPolicy(seed=5)
    learner = Learner(policy, QUICK)
    weights = learner.weights()
    kept = {name: value.copy() for name, value in weights.items()}
    learner.update(_groups(policy), progress=0.0)
    assert _same(weights, kept)
    assert not _same(learner.weights(), kept)


def test_the_version_counts_batches_and_the_rate_falls_with_progress() -> None:
    policy = TinyPolicy()
    learner = Learner(policy, QUICK)
    reports = [
        learner.update(_groups(policy, seed=i, version=i), progress=p)
        for i, p in enumerate((0.0, 0.5, 1.0))
    ]
    assert [r.policy_version for r in reports] == [1, 2, 3]
    rates = [r.metrics["learner/learning_rate"] for r in reports]
    assert rates == pytest.approx([2e-3, 1.1e-3, 2e-4])


def test_metric_keys_name_an_area_and_values_are_finite() -> None:
    report = Learner(TinyPolicy(), QUICK).update(_groups(TinyPolicy()), progress=0.0)
    for key, value in report.metrics.items():
        assert key.count("/") == 1
        assert np.isfinite(value), key


def test_resuming_from_the_state_gives_bit_equal_weights() -> None:
    policy = TinyPolicy(seed=7)
    straight = Learner(policy, QUICK)
    straight.update(_groups(policy), progress=0.0)
    saved = pickle.loads(pickle.dumps(straight.state_dict()))
    following = _groups(policy, seed=2, version=1)
    first = straight.update(following, progress=0.3)
    resumed = Learner(TinyPolicy(seed=8), dataclasses.replace(QUICK, seed=99))
    resumed.load_state_dict(saved)
    second = resumed.update(following, progress=0.3)
    assert _same(straight.weights(), resumed.weights())
    assert first == second


@pytest.mark.parametrize("is_aware", [True, False])
def test_without_multipliers_the_action_aware_kl_is_the_plain_one(is_aware: bool) -> None:
    chosen = ObjectiveConfig(action_aware_kl=is_aware)
    config = dataclasses.replace(QUICK, objective=chosen, learning_rate=0.05)
    learner = Learner(TinyPolicy(seed=0), config, max_lag=8)
    metrics = learner.update(_groups(TinyPolicy(seed=0)), progress=0.0).metrics
    plain, weighted = (metrics[f"learner/kl_{name}_nats"] for name in ("reference", "weighted"))
    assert plain > 0
    assert (weighted == pytest.approx(plain, rel=1e-4)) == (not is_aware)
