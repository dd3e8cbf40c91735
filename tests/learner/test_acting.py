# SPDX-License-Identifier: Apache-2.0
"""Weights that act may be an average of the trained ones; then they are what a version is."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from actors.config import Mode, TrainJob
from actors.learning import LearnerWorker
from agent.config import PolicyConfig
from learner.checkpoint import begin_folder, finish_folder, load_checkpoint
from learner.config import LearnerConfig, ReplayConfig
from learner.credit import CreditAssigner
from learner.metrics import Means
from learner.minibatch import build_minibatch
from learner.types import Group
from learner.update import Learner
from tests.learner.tiny_policy import TinyPolicy, random_group

QUICK = LearnerConfig(
    learning_rate=1e-2, step_replay_updates=2, step_replay_states=16, minibatch_steps=1000
)
SLOW = dataclasses.replace(QUICK, acting_rate=0.25)


def acted(learner: Learner, seed: int) -> list[Group]:
    """Groups that the published weights made."""
    policy = policy_of(learner.weights())
    rng = np.random.default_rng(seed)
    version = learner.policy_version
    return [random_group(rng, f"g{seed}.{i}", policy=policy, version=version) for i in range(3)]


def policy_of(weights: dict[str, np.ndarray]) -> TinyPolicy:
    policy = TinyPolicy()
    policy.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    return policy


def train(learner: Learner, versions: range) -> None:
    for version in versions:
        learner.update(acted(learner, version), progress=0.0)


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_at_rate_one_the_trained_weights_act() -> None:
    policy = TinyPolicy()
    learner = Learner(policy, QUICK)
    train(learner, range(2))
    trained = {name: value.numpy() for name, value in policy.state_dict().items()}
    assert equal(learner.weights(), trained)
    assert "acting" not in learner.state_dict()


def test_the_weights_that_act_follow_the_trained_ones_by_the_rate_once_per_batch() -> None:
    policy = TinyPolicy()
    learner = Learner(policy, SLOW)
    expected = learner.weights()
    for version in range(3):
        train(learner, range(version, version + 1))
        for name, value in policy.state_dict().items():
            expected[name] = 0.75 * expected[name] + 0.25 * value.numpy()
        got = learner.weights()
        assert all(np.allclose(got[name], expected[name], atol=1e-6) for name in got)
        assert not equal(got, {name: v.numpy() for name, v in policy.state_dict().items()})


def test_the_ratio_is_that_of_the_trained_weights_over_those_that_acted() -> None:
    policy = TinyPolicy()
    learner = Learner(policy, SLOW)
    train(learner, range(4))
    groups = acted(learner, 9)
    batch = CreditAssigner(SLOW.objective, max_lag=8).assign(
        groups, policy_version=4, means=Means()
    )
    minibatch = build_minibatch(batch.samples, device="cpu")
    with torch.no_grad():
        logs = [
            net(minibatch.states).log_action.gather(1, minibatch.chosen[:, None])[:, 0]
            for net in (policy, policy_of(learner.weights()))
        ]
    ratios = torch.exp(logs[0] - logs[1])
    assert torch.allclose(logs[1], minibatch.log_behaviour, atol=1e-5), "recorded as they acted"
    assert (ratios - 1).abs().max() > 0.05, "trained and acting weights differ"
    metrics = learner.update(groups, progress=0.0).metrics
    used = ratios[ratios <= SLOW.objective.max_importance_ratio]
    assert metrics["learner/importance_mean"] == pytest.approx(used.mean().item(), rel=1e-4)
    assert metrics["learner/kl_behaviour_k3_nats"] > 1e-4
    assert "learner/same_version_log_prob_gap_nats" not in metrics, "no step is of those weights"


def test_the_average_s_own_lag_counts_as_staleness() -> None:
    assert SLOW.acting_lag == 3.0 and QUICK.acting_lag == 0.0
    for max_lag, is_stale in ((3, False), (2, True)):
        learner = Learner(TinyPolicy(), SLOW, max_lag=max_lag)
        metrics = learner.update(acted(learner, 0), progress=0.0).metrics
        assert metrics["learner/steps_stale"] == (metrics["learner/steps"] if is_stale else 0)
        assert metrics["learner/lag_max_versions"] == 0, "versions are counted as ever"


def worker(seed: int) -> LearnerWorker:
    algo = dataclasses.replace(SLOW, seed=seed)
    return LearnerWorker(policy=PolicyConfig(width=16), algo=algo, replay=ReplayConfig())


def test_a_checkpoint_holds_the_weights_that_acted_and_goes_on_bit_for_bit(tmp_path: Path) -> None:
    straight = Learner(TinyPolicy(), SLOW)
    train(straight, range(2))
    resumed = Learner(TinyPolicy(seed=5), SLOW)
    resumed.load_state_dict(straight.state_dict())
    assert equal(resumed.weights(), straight.weights())
    for learner in (straight, resumed):
        train(learner, range(2, 4))
    assert equal(resumed.weights(), straight.weights())

    first, second = worker(1), worker(2)
    learner = first._learner
    with torch.no_grad():  # as if it had been trained
        for parameter in learner._trainer.policy.parameters():
            parameter += 0.1
    first._states = ()
    first._note_published()
    partial = begin_folder(tmp_path / "v0")
    finish_folder(partial, tmp_path / "v0", first.save(partial, 0, None))
    published = first.publish()[1]
    assert equal(dict(load_checkpoint(tmp_path / "v0").weights), published)
    assert equal(second.restore(tmp_path / "v0")[1], published)
    trained = [w._learner._trainer.policy.state_dict() for w in (first, second)]
    assert all(torch.equal(trained[0][name], trained[1][name]) for name in trained[0])
    assert not all(np.array_equal(trained[0][name].numpy(), published[name]) for name in published)


def test_a_checkpoint_of_trained_weights_alone_is_gone_on_with() -> None:
    plain = Learner(TinyPolicy(), QUICK)
    train(plain, range(2))
    averaged = Learner(TinyPolicy(seed=3), SLOW)
    averaged.load_state_dict(plain.state_dict())
    assert equal(averaged.weights(), plain.weights())


@pytest.mark.parametrize(("rate", "mode"), [(0.14, Mode.ASYNC), (0.11, Mode.SYNC)])
def test_weights_too_far_behind_to_learn_from_are_refused(rate: float, mode: Mode) -> None:
    with pytest.raises(ValueError, match=r"algo\.acting_rate: expected >= 0\.1"):
        TrainJob(algo=LearnerConfig(acting_rate=rate), mode=mode)
    TrainJob(algo=LearnerConfig(acting_rate=rate + 0.01), mode=mode)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, float("nan")])
def test_rates_out_of_range_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"algo\.acting_rate"):
        LearnerConfig(acting_rate=rate)
