# SPDX-License-Identifier: Apache-2.0
"""KL estimators on a six-way softmax, and the action-aware KL, against closed forms."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from learner import objective
from tests.learner.tabular import LEGAL, MULTIPLIERS, distribution, grad, leaves, random_logits


def _softmaxes() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    theta, ref, mu = 0.5 * torch.randn(3, 6, generator=generator, dtype=torch.float64)
    theta.requires_grad_()
    return theta, torch.log_softmax(theta, 0), torch.log_softmax(ref, 0), torch.log_softmax(mu, 0)


def test_kl_estimators_have_the_known_values() -> None:
    _, log_pi, log_ref, _ = _softmaxes()
    p = log_pi.exp()
    k1, k2, k3 = objective.kl_estimators(log_pi, log_ref)
    exact = (p * (log_pi - log_ref)).sum()
    assert torch.isclose((p * k1).sum(), exact, atol=1e-15)
    assert torch.isclose((p * k3).sum(), exact, atol=1e-15)
    assert not torch.isclose((p * k2).sum(), exact, atol=1e-3)
    assert (k3 >= 0).all()
    near = objective.kl_estimators(log_pi, torch.log_softmax(log_pi + 0.5 * log_ref, 0))
    variance = [(p * k.square()).sum() - (p * k).sum().square() for k in near]
    assert variance[2] < 0.2 * variance[0]


def test_kl_estimators_have_the_known_expected_gradients() -> None:
    theta, log_pi, log_ref, log_mu = _softmaxes()
    p, mu = log_pi.exp().detach(), log_mu.exp()
    k1, k2, k3 = objective.kl_estimators(log_pi, log_ref)
    reverse = grad((log_pi.exp() * (log_pi - log_ref)).sum(), theta)
    forward = grad((log_ref.exp() * (log_ref - log_pi)).sum(), theta)
    rho = (log_pi - log_mu).exp()

    def close(a: Tensor, b: Tensor) -> bool:
        return bool(torch.allclose(a, b, rtol=0, atol=1e-14))

    def slope(value: Tensor) -> Tensor:
        return grad(value, theta)

    assert close(slope((p * k1).sum()), torch.zeros_like(reverse))
    assert close(slope((p * k2).sum()), reverse)
    assert close(slope((p * k3).sum()), forward)
    assert close(slope((p * k1.detach() * log_pi).sum()), reverse)
    for wrong in (k1, k2, k3):
        assert (slope((mu * wrong).sum()) - reverse).norm() > 0.05
    assert close(slope((mu * rho.detach() * k2).sum()), reverse)
    assert close(slope((mu * rho * k3).sum()), reverse)
    assert close(slope((mu * rho * k1).sum()), reverse)
    assert close(slope((mu * rho.detach() * k3).sum()), forward)


# --- Action-aware KL ------------------------------------------------------------------------------


def test_factored_action_aware_kl_equals_the_joint_one() -> None:
    policy, reference = distribution(*random_logits(2)), distribution(*random_logits(3))
    factored = objective.action_aware_kl(policy, reference, LEGAL, MULTIPLIERS)
    p, ref = policy.log_action.exp(), reference.log_action.exp()
    joint = p * (policy.log_action - reference.log_action) - p + ref
    joint = torch.where(LEGAL.flat_mask, joint * MULTIPLIERS[LEGAL.flat_type], 0.0).sum(1)
    assert torch.allclose(factored, joint, rtol=0, atol=1e-14)


def test_with_equal_weights_it_is_the_plain_kl_in_value_and_gradient() -> None:
    logits = leaves(4)
    policy, reference = distribution(*logits), distribution(*random_logits(5))
    weighted = objective.action_aware_kl(policy, reference, LEGAL, torch.full((3,), 0.7)).sum()
    plain = objective.kl_divergence(policy, reference, LEGAL).sum()
    assert torch.isclose(weighted, 0.7 * plain, rtol=1e-6)
    assert torch.allclose(grad(weighted, *logits), 0.7 * grad(plain, *logits), atol=1e-7)


def test_action_aware_kl_is_least_at_the_reference_and_a_weighted_log_ratio_is_not() -> None:
    reference = distribution(*random_logits(6))
    for seed in range(20):
        policy = distribution(*random_logits(seed + 10))
        assert (objective.action_aware_kl(policy, reference, LEGAL, MULTIPLIERS) > 0).all()
    logits = leaves(7)
    optimiser = torch.optim.Adam(logits, lr=0.1)
    log_ratio_min = math.inf
    for _ in range(300):
        optimiser.zero_grad()
        policy = distribution(*logits)
        value = objective.action_aware_kl(policy, reference, LEGAL, MULTIPLIERS).sum()
        value.backward()
        optimiser.step()
    assert value.item() < 1e-5
    logits = leaves(7)
    optimiser = torch.optim.Adam(logits, lr=0.1)
    for _ in range(100):
        optimiser.zero_grad()
        policy = distribution(*logits)
        log_ratio = policy.log_action - reference.log_action
        naive = policy.log_action.exp() * log_ratio * MULTIPLIERS[LEGAL.flat_type]
        value = torch.where(LEGAL.flat_mask, naive, 0.0).sum()
        value.backward()
        optimiser.step()
        log_ratio_min = min(log_ratio_min, value.item())
    assert log_ratio_min < -0.05
