# SPDX-License-Identifier: Apache-2.0
"""Policies as tables of logits in float64, for enumeration and finite differences."""

from __future__ import annotations

import torch
from torch import Tensor

from learner.objective import Distribution, Legal

# State 0: types 0 (three arguments), 1 (none), 2 (two). State 1: types 0 (two), 2 (two).
LEGAL = Legal(
    type_mask=torch.tensor([[True, True, True], [True, False, True]]),
    flat_type=torch.tensor([[0, 0, 0, 1, 2, 2], [0, 0, 2, 2, 0, 0]]),
    flat_mask=torch.tensor([[True] * 6, [True] * 4 + [False] * 2]),
)
_SAME_TYPE = LEGAL.flat_type[:, :, None] == LEGAL.flat_type[:, None, :]  # [B, A, A]
MULTIPLIERS = torch.tensor([0.8, 0.05, 0.3], dtype=torch.float64)


def distribution(type_logits: Tensor, action_logits: Tensor, fill: float = -1e9) -> Distribution:
    """Masked softmax over types, then over the arguments within each type; masks by *adding*.

    Adding the fill leaves the masked logits in the graph, so that zero gradients mean something.
    """
    log_type = torch.log_softmax(type_logits + _fill(LEGAL.type_mask, fill), dim=1)
    scores = action_logits + _fill(LEGAL.flat_mask, fill)
    normaliser = torch.logsumexp(scores[:, None, :] + _fill(_SAME_TYPE, -1e9), dim=2)
    log_action = log_type.gather(1, LEGAL.flat_type) + scores - normaliser
    return Distribution(log_type=log_type, log_action=log_action)


def _fill(mask: Tensor, fill: float) -> Tensor:
    return torch.where(mask, 0.0, fill).to(torch.float64)


def random_logits(seed: int, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw = [torch.randn(2, n, generator=generator, dtype=torch.float64) * scale for n in (3, 6)]
    return draw[0], draw[1]


def leaves(seed: int, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    types, actions = random_logits(seed, scale)
    return types.requires_grad_(), actions.requires_grad_()


def grad(value: Tensor, *leaves_: Tensor) -> Tensor:
    """The gradient of `value` by all leaves, flat; zero where it does not depend on one."""
    grads = torch.autograd.grad(value, leaves_, allow_unused=True, retain_graph=True)
    parts = [torch.zeros_like(x) if g is None else g for x, g in zip(leaves_, grads, strict=True)]
    return torch.cat([part.flatten() for part in parts])
