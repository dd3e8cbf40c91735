# SPDX-License-Identifier: Apache-2.0
"""The pairwise and the ranked step term against closed forms (listwise: `test_objective.py`)."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from learner.objective import renormalised
from learner.step_terms import bradley_terry_loss, listwise_step_loss, plackett_luce_loss
from tests.learner.tabular import grad

ANCHOR, TEMPERATURE = 0.7, 0.5
SCALE = {"anchor": ANCHOR, "temperature": TEMPERATURE}
NUM_ACTIONS = 6


def _problem(seed: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Log-reference and utilities over six actions, and the optimum."""
    generator = torch.Generator().manual_seed(seed)
    raw = torch.randn(2, NUM_ACTIONS, generator=generator, dtype=torch.float64)
    reference = torch.log_softmax(raw[0], 0)
    utilities = raw[1] / 3
    return reference, utilities, torch.softmax(reference + utilities / (ANCHOR * TEMPERATURE), 0)


def _of(columns: Tensor, values: Tensor) -> Tensor:
    return values[columns]


def _descend(loss_of, sample, *, steps: int = 500) -> Tensor:  # type: ignore[no-untyped-def]
    """The policy after descent on `loss_of(log_policy, columns)` at sampled candidates."""
    logits = torch.zeros(NUM_ACTIONS, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=0.1)
    for step in range(steps):
        for settings in optimiser.param_groups:
            settings["lr"] = 0.1 * (1 - step / steps)
        log_policy = torch.log_softmax(logits, 0)
        columns = sample(log_policy.detach().exp())
        optimiser.zero_grad()
        loss_of(log_policy, columns).mean().backward()
        optimiser.step()
    return torch.softmax(logits.detach(), 0)


def _total_variation(a: Tensor, b: Tensor) -> float:
    return 0.5 * float((a - b).abs().sum())


@pytest.mark.parametrize("is_stale", [False, True], ids=["on_policy", "stale"])
@pytest.mark.parametrize("is_pairwise", [True, False], ids=["bradley_terry", "listwise"])
def test_descent_reaches_the_tilted_reference_whoever_draws_the_candidates(
    is_stale: bool, is_pairwise: bool
) -> None:
    reference, utilities, optimum = _problem()
    generator = torch.Generator().manual_seed(0)
    stale = torch.softmax(torch.linspace(-1, 1, NUM_ACTIONS, dtype=torch.float64), 0)

    def sample(policy: Tensor) -> Tensor:
        chances = (stale if is_stale else policy).expand(64, NUM_ACTIONS)
        return torch.multinomial(chances, 4, replacement=is_pairwise, generator=generator)

    def loss_of(log_policy: Tensor, columns: Tensor) -> Tensor:
        mask = torch.ones_like(columns, dtype=torch.bool)
        parts = [_of(columns, v) for v in (log_policy, reference, utilities)]
        if is_pairwise:
            return bradley_terry_loss(*parts, mask, **SCALE)
        return listwise_step_loss(renormalised(parts[0], mask), *parts[1:], mask, **SCALE)

    assert _total_variation(_descend(loss_of, sample), optimum) < 0.005


def test_it_is_zero_at_the_optimum_and_positive_elsewhere() -> None:
    reference, utilities, optimum = _problem()
    mask = torch.ones(1, NUM_ACTIONS, dtype=torch.bool)
    at = bradley_terry_loss(optimum.log()[None], reference[None], utilities[None], mask, **SCALE)
    off = bradley_terry_loss(reference[None], reference[None], utilities[None], mask, **SCALE)
    assert at.abs().item() < 1e-12
    assert off.item() > 0.01


def test_at_the_reference_its_gradient_is_the_leave_one_out_policy_gradient() -> None:
    reference, utilities, _ = _problem()
    columns = torch.tensor([[0, 2, 3, 5]])
    mask = torch.ones_like(columns, dtype=torch.bool)
    gaps = []
    for temperature in (0.2, 1.0, 5.0, 50.0):
        logits = reference.clone().requires_grad_()
        log_policy = _of(columns, torch.log_softmax(logits, 0))
        u = _of(columns, utilities)
        loss = bradley_terry_loss(
            log_policy, _of(columns, reference), u, mask, anchor=ANCHOR, temperature=temperature
        )
        others = (u.sum() - u) / 3
        policy_gradient = -((u - others) * log_policy).mean() * ANCHOR / (2 * temperature)
        expected = grad(policy_gradient, logits)
        gaps.append(float((grad(loss.sum(), logits) - expected).norm() / expected.norm()))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.01
    assert gaps[-1] < 1e-4


def test_equal_candidates_have_no_gradient_and_constants_change_nothing() -> None:
    logits = torch.linspace(-1, 1, NUM_ACTIONS, dtype=torch.float64).requires_grad_()
    reference, utilities, _ = _problem()
    mask = torch.ones(1, 4, dtype=torch.bool)
    same = torch.tensor([[2, 2, 2, 2]])
    mixed = torch.tensor([[0, 1, 2, 3]])
    log_policy = torch.log_softmax(logits, 0)

    def losses(columns: Tensor, shift: float = 0.0) -> list[Tensor]:
        parts = [_of(columns, v) for v in (log_policy + shift, reference, utilities + shift)]
        ties = torch.arange(4.0)[None]
        return [
            bradley_terry_loss(*parts, mask, **SCALE),
            plackett_luce_loss(*parts, mask, ties, anchor=ANCHOR, smoothing=0.05),
            listwise_step_loss(renormalised(parts[0], mask), *parts[1:], mask, **SCALE),
        ]

    for loss in losses(same):
        assert grad(loss.sum(), logits).abs().max() < 1e-15
    for plain, shifted in zip(losses(mixed), losses(mixed, 0.9), strict=True):
        assert grad(plain.sum(), logits).abs().max() > 1e-3
        assert torch.allclose(plain, shifted, rtol=0, atol=1e-12)


def test_padding_is_no_candidate() -> None:
    reference, utilities, _ = _problem()
    values = [torch.randn(1, 3, dtype=torch.float64), reference[None, :3], utilities[None, :3]]
    padded = [torch.cat([v, torch.full((1, 2), -1e9, dtype=torch.float64)], 1) for v in values]
    short, long = torch.ones(1, 3, dtype=torch.bool), torch.tensor([[True] * 3 + [False] * 2])
    ties = torch.zeros(1, 5)
    assert torch.allclose(
        bradley_terry_loss(*values, short, **SCALE), bradley_terry_loss(*padded, long, **SCALE)
    )
    assert torch.allclose(
        plackett_luce_loss(*values, short, ties[:, :3], anchor=1.0, smoothing=0.1),
        plackett_luce_loss(*padded, long, ties, anchor=1.0, smoothing=0.1),
    )
    lone = torch.tensor([[True, False, False, False, False]])
    assert bradley_terry_loss(*padded, lone, **SCALE).item() == 0.0
    assert plackett_luce_loss(*padded, lone, ties, anchor=1.0, smoothing=0.1).item() == 0.0


# --- Plackett-Luce --------------------------------------------------------------------------------


def _ranked(h: Tensor, order: tuple[int, ...], **changes: float) -> Tensor:
    """Loss of one order of the candidates whose scores are `h`."""
    utilities = torch.zeros(1, len(order), dtype=torch.float64)
    utilities[0, list(order)] = torch.arange(len(order), 0, -1, dtype=torch.float64)
    mask = torch.ones(1, len(order), dtype=torch.bool)
    ties = torch.zeros(1, len(order))
    settings = {"anchor": 1.0, "smoothing": 0.0, **changes}
    return plackett_luce_loss(h, torch.zeros_like(h), utilities, mask, ties, **settings)[0]


def test_the_probabilities_of_all_orders_add_up_to_one() -> None:
    h = torch.randn(1, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    total = sum(math.exp(-_ranked(h, o)) for o in itertools.permutations(range(4)))
    assert total == pytest.approx(1.0, abs=1e-12)
    assert _ranked(h, (2, 0, 1, 3)).item() == pytest.approx(_ranked(h + 5, (2, 0, 1, 3)).item())


def test_two_candidates_are_the_hard_bradley_terry_loss() -> None:
    h = torch.tensor([[0.3, -0.4]], dtype=torch.float64)
    utilities = torch.tensor([[100.0, 0.0]], dtype=torch.float64)
    mask = torch.ones(1, 2, dtype=torch.bool)
    pairwise = bradley_terry_loss(
        h, torch.zeros_like(h), utilities, mask, anchor=1.0, temperature=0.1
    )
    assert _ranked(h, (0, 1)).item() == pytest.approx(pairwise.item(), abs=1e-12)


def test_smoothing_bounds_the_margin_and_ties_average() -> None:
    """Without smoothing the loss falls for ever as the margin grows; with it there is a least."""
    margins = (1.0, 3.0, 10.0, 30.0)
    rows = [torch.tensor([[m, 0.0]], dtype=torch.float64) for m in margins]
    hard = [_ranked(row, (0, 1)).item() for row in rows]
    smooth = [_ranked(row, (0, 1), smoothing=0.1).item() for row in rows]
    assert hard == sorted(hard, reverse=True)
    assert smooth.index(min(smooth)) == 1
    # Two equal utilities: over many draws neither candidate is preferred.
    h = torch.zeros(2000, 2, dtype=torch.float64, requires_grad=True)
    ties = torch.rand(2000, 2, generator=torch.Generator().manual_seed(2))
    mask = torch.ones(2000, 2, dtype=torch.bool)
    loss = plackett_luce_loss(
        h, torch.zeros(2000, 2), torch.zeros(2000, 2), mask, ties, anchor=1.0, smoothing=0.0
    )
    slope = grad(loss.mean(), h).reshape(2000, 2).sum(0)
    assert slope.abs().max() < 5 * 0.5 / math.sqrt(2000)
