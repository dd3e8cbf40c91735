# SPDX-License-Identifier: Apache-2.0
"""bfloat16 in the learner: what it may be off by, and what it leaves alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from agent.config import PolicyConfig
from agent.policy import PolicyBatch, collate
from agent.policy_agent import policy_family
from learner.config import LearnerConfig, Precision
from learner.evaluation import evaluate
from learner.update import Learner
from tests.agent.test_forager import observations, trained_like_policy
from tests.learner.tiny_policy import TinyPolicy, random_group

QUICK = LearnerConfig(step_replay_updates=3, step_replay_states=16, minibatch_steps=16)
# bfloat16 keeps 8 bits: each rounding is off by at most 2^-8. A log-probability is a score less the
# log-sum of scores, each of which goes through three layers; relative to the largest of them.
MAX_ERROR = 2 * 3 * 2**-8
LARGEST_NATS = 10.0  # of the log-probabilities of the small policy's actions


def learn(config: LearnerConfig) -> tuple[Learner, dict[str, float]]:
    learner, policy = Learner(TinyPolicy(seed=0), config), TinyPolicy(seed=0)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        groups = [random_group(rng, f"g{i}", policy=policy, version=seed) for i in range(3)]
        metrics = dict(learner.update(groups, progress=0.0).metrics)
        policy.load_state_dict({k: torch.from_numpy(v) for k, v in learner.weights().items()})
    return learner, metrics


def states_and_net(seed: int = 1) -> tuple[PolicyBatch, torch.nn.Module]:
    family, seen = policy_family(PolicyConfig(width=16)), observations()
    states = collate([family.model_inputs(o) for o in seen], [o.mask for o in seen])
    return states, trained_like_policy(seed)


def test_float32_is_the_policy_s_own_output_bit_for_bit() -> None:
    states, net = states_and_net()
    got, own = evaluate(net, states, Precision.FLOAT32), net(states)
    assert torch.equal(got.log_type, own.log_type)
    assert torch.equal(got.log_action, own.log_action)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bfloat16_is_off_by_its_roundings_and_stays_normalised_in_float32(seed: int) -> None:
    states, net = states_and_net(seed)
    exact = evaluate(net, states, Precision.FLOAT32)
    rough = evaluate(net, states, Precision.BFLOAT16)
    assert rough.log_action.dtype == rough.log_type.dtype == torch.float32
    legal = states.flat_mask
    error = (rough.log_action - exact.log_action)[legal].abs().max().item()
    largest = exact.log_action[legal].abs().max().item()
    assert 1e-4 < error < MAX_ERROR * largest, "rounded, and no more than that"
    # In bfloat16 the sums of a softmax would be off by up to 2^-8 = 4e-3.
    for log_probs, mask in ((rough.log_action, legal), (rough.log_type, states.type_mask)):
        total = torch.where(mask, log_probs.exp(), 0.0).sum(dim=1)
        assert (total - 1).abs().max().item() < 1e-5
    assert torch.equal(rough.log_action[~legal], exact.log_action[~legal])


def test_the_gradient_in_bfloat16_points_where_that_of_float32_does() -> None:
    states, net = states_and_net()
    gradients = []
    for precision in Precision:
        net.zero_grad()
        evaluate(net, states, precision).log_action[:, 0].sum().backward()
        parts = [p.grad.flatten() for p in net.parameters() if p.grad is not None]
        assert all(part.dtype == torch.float32 for part in parts)
        gradients.append(torch.cat(parts))
    cosine = torch.nn.functional.cosine_similarity(gradients[0], gradients[1], dim=0)
    assert cosine.item() > 0.99
    assert not torch.equal(gradients[0], gradients[1])


def test_a_learner_in_bfloat16_keeps_float32_weights_and_counts_its_error_as_ratio() -> None:
    exact, facts = learn(QUICK)
    rough, rough_facts = learn(dataclasses.replace(QUICK, precision=Precision.BFLOAT16))
    assert facts["learner/same_version_log_prob_gap_nats"] < 1e-5
    gap = rough_facts["learner/same_version_log_prob_gap_nats"]
    assert 1e-4 < gap < MAX_ERROR * LARGEST_NATS
    assert rough_facts["learner/importance_mean"] == pytest.approx(1.0, abs=0.01)
    start, ours, theirs = TinyPolicy(seed=0).state_dict(), rough.weights(), exact.weights()
    assert all(value.dtype == np.float32 for value in ours.values())
    moves = [
        np.concatenate([(w[name] - start[name].numpy()).ravel() for name in w])
        for w in (ours, theirs)
    ]
    cosine = moves[0] @ moves[1] / np.linalg.norm(moves[0]) / np.linalg.norm(moves[1])
    assert cosine > 0.95, "it learns the same"
