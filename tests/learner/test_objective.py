# SPDX-License-Identifier: Apache-2.0
"""Terms of the loss (KL: `test_kl.py`) against closed forms, enumeration, finite differences."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from learner import objective
from learner.config import ObjectiveConfig
from learner.objective import Distribution, KLController, Legal
from learner.step_terms import listwise_step_loss
from tests.learner.tabular import (
    LEGAL,
    MULTIPLIERS,
    distribution,
    grad,
    leaves,
    random_logits,
)

CONFIG = ObjectiveConfig()


# --- Entropies ------------------------------------------------------------------------------------


def test_entropies_are_one_for_uniform_heads_and_zero_for_certain_ones() -> None:
    zeros = (torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, 6, dtype=torch.float64))
    of_type, of_arguments = objective.normalised_entropies(distribution(*zeros), LEGAL)
    assert torch.allclose(of_type, torch.ones(2, dtype=torch.float64))
    # State 0 has a type without arguments, a third of the time, which adds nothing.
    assert torch.allclose(of_arguments, torch.tensor([2 / 3, 1.0], dtype=torch.float64))
    sharp = (zeros[0].clone(), zeros[1].clone())
    sharp[0][:, 0] = 100.0
    sharp[1][:, 0] = 100.0
    for entropy in objective.normalised_entropies(distribution(*sharp), LEGAL):
        assert torch.allclose(entropy, torch.zeros(2, dtype=torch.float64), atol=1e-30)


# --- Masks ----------------------------------------------------------------------------------------


def _terms(policy: Distribution, reference: Distribution) -> dict[str, Tensor]:
    of_type, of_arguments = objective.normalised_entropies(policy, LEGAL)
    utilities = torch.tensor([[0.3, -0.2, 0.9, 0.0, 0.4, -1.0], [1.0, 0.1, -0.5, 0.2, 9.0, 9.0]])
    return {
        "log_prob": policy.log_action[:, 1],
        "type_entropy": of_type,
        "argument_entropy": of_arguments,
        "kl": objective.action_aware_kl(policy, reference, LEGAL, MULTIPLIERS),
        "plain_kl": objective.kl_divergence(policy, reference, LEGAL),
        "step": listwise_step_loss(
            policy.log_action,
            reference.log_action,
            utilities.double(),
            LEGAL.flat_mask,
            anchor=CONFIG.step_anchor,
            temperature=CONFIG.step_temperature,
        ),
    }


@pytest.mark.parametrize(
    "term", ["log_prob", "type_entropy", "argument_entropy", "kl", "plain_kl", "step"]
)
def test_masked_logits_get_a_gradient_of_exactly_zero(term: str) -> None:
    types, actions = leaves(8)
    reference = distribution(*random_logits(9))
    _terms(distribution(types, actions), reference)[term].sum().backward()
    assert types.grad is not None
    assert torch.isfinite(types.grad).all()
    assert types.grad[1, 1].item() == 0.0
    assert types.grad.abs().sum() > 0 or term == "argument_entropy"
    if actions.grad is not None:
        assert torch.isfinite(actions.grad).all()
        assert (actions.grad[1, 4:] == 0.0).all()


def test_a_single_legal_action_has_log_prob_and_every_gradient_exactly_zero() -> None:
    lone = Legal(
        type_mask=torch.tensor([[False, True, False]]),
        flat_type=torch.tensor([[1, 0, 0]]),
        flat_mask=torch.tensor([[True, False, False]]),
    )
    logits = torch.randn(1, 3, dtype=torch.float64, requires_grad=True)
    log_type = torch.log_softmax(logits.masked_fill(~lone.type_mask, -1e9), dim=1)
    log_action = log_type[:, [1, 0, 0]].masked_fill(~lone.flat_mask, -1e9)
    policy = Distribution(log_type=log_type, log_action=log_action)
    one = torch.ones(1, dtype=torch.float64)
    log_prob = policy.log_action[:, 0]
    term = objective.outcome_loss(
        log_prob, log_prob.detach(), 0 * one, -3 * one, torch.tensor([True]), config=CONFIG
    )
    step = listwise_step_loss(
        log_action,
        log_action.detach(),
        torch.tensor([[0.7, 0.0, 0.0]], dtype=torch.float64),
        lone.flat_mask,
        anchor=1.0,
        temperature=0.1,
    )
    kl = objective.action_aware_kl(policy, policy.detach(), lone, MULTIPLIERS)
    assert log_prob.item() == step.item() == kl.item() == 0.0
    assert term.weight.item() == 1.0
    entropies = objective.normalised_entropies(policy, lone)
    assert [h.item() for h in entropies] == [0.0, 0.0]
    for value in (log_prob, term.loss, step, kl, *entropies):
        assert (grad(value.sum(), logits) == 0.0).all()


def test_an_infinite_fill_would_make_gradients_nan() -> None:
    types, actions = leaves(8)
    policy = distribution(types, actions, fill=-math.inf)
    of_type, _ = objective.normalised_entropies(policy, LEGAL)
    of_type.sum().backward()
    assert types.grad is not None
    assert types.grad.isnan().any()


def test_the_reference_and_the_proximal_policy_get_no_gradient() -> None:
    policy_logits, reference_logits = leaves(10), leaves(11)
    reference = distribution(*reference_logits)
    total = sum(t.sum() for t in _terms(distribution(*policy_logits), reference).values())
    log_prox = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    ones = torch.ones(2, dtype=torch.float64)
    outcome = objective.outcome_loss(
        distribution(*policy_logits).log_action[:, 0],
        log_prox,
        -ones,
        ones,
        torch.ones(2, dtype=torch.bool),
        config=CONFIG,
    )
    (total + outcome.loss.sum()).backward()
    assert all(leaf.grad is None for leaf in (*reference_logits, log_prox))
    assert all(leaf.grad is not None for leaf in policy_logits)


# --- Outcome term ---------------------------------------------------------------------------------


def _outcome(log_policy: list[float], advantage: list[float], **changes: object):
    columns = {
        "log_policy": log_policy,
        "log_prox": [0.0] * len(log_policy),
        "log_behaviour": [0.0] * len(log_policy),
        "advantage": advantage,
    }
    mask = changes.pop("mask", [True] * len(log_policy))
    config = changes.pop("config", CONFIG)
    columns.update(changes)  # type: ignore[arg-type]
    tensors = {k: torch.tensor(v, dtype=torch.float64) for k, v in columns.items()}
    return objective.outcome_loss(**tensors, mask=torch.tensor(mask), config=config)


def test_on_policy_its_gradient_is_reinforce_with_a_baseline() -> None:
    logits = leaves(12)
    log_policy = distribution(*logits).log_action[:, 1]
    advantage = torch.tensor([1.5, -0.7], dtype=torch.float64)
    term = objective.outcome_loss(
        log_policy,
        log_policy.detach(),
        log_policy.detach(),
        advantage,
        torch.ones(2, dtype=torch.bool),
        config=CONFIG,
    )
    reinforce = -(advantage * log_policy).sum()
    difference = grad(term.loss.sum(), *logits) - grad(reinforce, *logits)
    assert difference.abs().max().item() == 0.0


def test_clipping_follows_the_sign_of_the_advantage_and_the_dual_clip_bounds_losses() -> None:
    logs = [math.log(1.5), math.log(0.5), math.log(1.5), math.log(0.5), math.log(10.0)]
    term = _outcome(logs, [1.0, 1.0, -1.0, -1.0, -1.0])
    expected = torch.tensor([-1.28, -0.5, 1.5, 0.8, 3.0], dtype=torch.float64)
    assert torch.allclose(term.loss, expected)
    assert term.clipped.tolist() == [True, False, False, True, True]


def test_a_ratio_over_the_cap_or_not_finite_masks_the_step_and_is_flagged() -> None:
    prox = [math.log(4.9), math.log(5.1), math.inf, math.nan, 0.0]
    term = _outcome([0.0] * 5, [1.0] * 5, log_prox=prox, mask=[True] * 4 + [False])
    assert term.over_cap.tolist() == [False, True, True, True, False]
    assert term.weight.tolist()[1:] == [0.0] * 4
    assert math.isclose(term.weight[0].item(), 4.9)
    assert term.loss[4].item() == 0.0


def test_extreme_ratios_leave_gradients_finite() -> None:
    log_policy = torch.tensor([500.0, -500.0], requires_grad=True)
    zeros = torch.zeros(2)
    term = objective.outcome_loss(
        log_policy, zeros, zeros, torch.tensor([-1.0, 1.0]), torch.tensor([True, True]),
        config=CONFIG,
    )  # fmt: skip
    term.loss.sum().backward()
    assert log_policy.grad is not None
    assert torch.isfinite(log_policy.grad).all()


def test_the_gradient_of_the_full_loss_matches_finite_differences() -> None:
    start = torch.cat([x.flatten() for x in random_logits(13)])
    prox = distribution(*random_logits(14)).log_action[:, 0]
    behaviour = prox + torch.tensor([0.3, -0.4])
    reference = distribution(*random_logits(15))

    def loss(theta: Tensor) -> Tensor:
        policy = distribution(theta[:6].reshape(2, 3), theta[6:].reshape(2, 6))
        terms = _terms(policy, reference)
        near = prox + 0.05 * (policy.log_action[:, 0] - prox)  # away from the clip's kinks
        outcome = objective.outcome_loss(
            near,
            prox,
            behaviour,
            torch.tensor([1.3, -0.8], dtype=torch.float64),
            torch.tensor([True, True]),
            config=CONFIG,
        )
        regular = 0.05 * terms["kl"] - 0.01 * terms["type_entropy"]
        return (outcome.loss + terms["step"] + regular - 0.003 * terms["argument_entropy"]).mean()

    theta = start.clone().requires_grad_()
    exact = grad(loss(theta), theta)
    width = 1e-5
    numeric = torch.stack(
        [(loss(start + width * e) - loss(start - width * e)) / (2 * width) for e in torch.eye(18)]
    )
    assert (exact - numeric).norm() / exact.norm() < 1e-6


# --- Step term ------------------------------------------------------------------------------------


def _step_loss(log_action: Tensor, log_reference: Tensor, utilities: Tensor) -> Tensor:
    return listwise_step_loss(
        log_action,
        log_reference,
        utilities,
        torch.tensor([[True] * 7 + [False] * 2]),
        anchor=0.5,
        temperature=0.4,
    )


def _step_problem() -> tuple[Tensor, Tensor, Tensor]:
    """Reference and utilities over seven actions and two columns of padding, and the optimum."""
    generator = torch.Generator().manual_seed(16)
    raw = torch.randn(2, 1, 9, generator=generator, dtype=torch.float64)
    reference = torch.log_softmax(raw[0, :, :7], 1)
    tilted = reference.exp() * torch.exp(raw[1, :, :7] / (0.5 * 0.4))
    padded = torch.cat([reference, torch.full((1, 2), -1e9, dtype=torch.float64)], 1)
    return padded, raw[1], tilted / tilted.sum()


def _padded_log_softmax(logits: Tensor) -> Tensor:
    return torch.cat([torch.log_softmax(logits, 1), torch.full((1, 2), -1e9)], 1)


def test_descent_on_the_step_loss_reaches_the_tilted_reference() -> None:
    reference, utilities, optimum = _step_problem()
    logits = torch.zeros(1, 7, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=0.1)
    for _ in range(800):
        optimiser.zero_grad()
        _step_loss(_padded_log_softmax(logits), reference, utilities).sum().backward()
        optimiser.step()
    total_variation = 0.5 * (torch.softmax(logits.detach(), 1) - optimum).abs().sum()
    assert total_variation < 1e-3


def test_the_step_loss_is_zero_at_its_optimum_and_positive_elsewhere() -> None:
    reference, utilities, optimum = _step_problem()
    assert _step_loss(_padded_log_softmax(optimum.log()), reference, utilities).abs() < 1e-12
    assert _step_loss(reference, reference, utilities) > 0.1


def test_the_gradient_of_the_step_loss_is_the_difference_of_the_softmaxes() -> None:
    reference, utilities, optimum = _step_problem()
    logits = torch.linspace(-1, 1, 7, dtype=torch.float64)[None].requires_grad_()
    gradient = grad(_step_loss(_padded_log_softmax(logits), reference, utilities).sum(), logits)
    expected = (torch.softmax(logits, 1) - optimum).detach().flatten()
    assert torch.allclose(gradient, expected, rtol=0, atol=1e-12)


def test_a_constant_added_to_the_utilities_changes_nothing() -> None:
    reference, utilities, _ = _step_problem()
    policy = _padded_log_softmax(torch.zeros(1, 7, dtype=torch.float64))
    losses = [_step_loss(policy, reference, utilities + c) for c in (0.0, 3.0)]
    assert torch.isclose(*losses, rtol=0, atol=1e-12)


# --- Controller -----------------------------------------------------------------------------------


def test_the_controller_is_monotone_bounded_and_halves_in_14_updates() -> None:
    config = dataclasses.replace(CONFIG, kl_target_nats=0.02)

    def weight_after(kl: float, updates: int = 1) -> float:
        controller = KLController(config)
        for _ in range(updates):
            controller.update(kl)
        return controller.weight

    kls = [0.0, 0.005, 0.012, 0.02, 0.025, 0.029, 0.05]
    weights = [weight_after(kl) for kl in kls]
    assert weights == sorted(weights)
    assert math.isclose(weight_after(0.02), CONFIG.kl_initial)
    assert weight_after(0.0, 14) / CONFIG.kl_initial == pytest.approx(0.5, abs=0.01)
    assert weight_after(9.0, 14) / CONFIG.kl_initial == pytest.approx(2.0, abs=0.03)
    assert math.isclose(weight_after(0.0, 1000), CONFIG.kl_min)
    assert math.isclose(weight_after(9.0, 1000), CONFIG.kl_max)
    # No wind-up: one update away from a bound starts to move at once.
    controller = KLController(config)
    for _ in range(1000):
        controller.update(9.0)
    controller.update(0.0)
    assert controller.weight < CONFIG.kl_max


def test_an_out_of_range_setting_names_its_full_key() -> None:
    for changes, key in (
        ({"discount_nav": 1.5}, "algo.objective.discount_nav"),
        ({"kl_initial": 2.0}, "algo.objective.kl_initial"),
        ({"step_temperature": 0.0}, "algo.objective.step_temperature"),
        ({"entropy_type": float("nan")}, "algo.objective.entropy_type"),
    ):
        with pytest.raises(ValueError, match=key):
            dataclasses.replace(CONFIG, **changes)
