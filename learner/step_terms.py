# SPDX-License-Identifier: Apache-2.0
"""The step term: the policy at one state against a teacher's utilities of its candidates.

Shape letters: B states, A legal actions (padded), K candidates (padded). None of the three losses
asks who drew the candidates or which of them was executed, so states and candidates may be of any
age and need no importance weight.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from agent.policy import MASKED_LOG_PROB


def listwise_step_loss(
    log_action: Tensor,
    log_reference: Tensor,
    utilities: Tensor,
    flat_mask: Tensor,
    *,
    anchor: float,
    temperature: float,
) -> Tensor:
    """Teacher term over *all* legal actions: `KL(target || pi)`; all [B, A] -> nats [B].

        target = softmax(log ref + u / (b_h tau_u)),   ref and u without gradient

    The target is the exact optimum of `E_pi[u] - b_h tau_u KL(pi || ref)`, the policy improvement
    step regularised towards the reference (MPO, arXiv 1806.06920; AWR, arXiv 1910.00177), here
    with a utility for every action instead of samples. Zero exactly at the target; the gradient
    with respect to joint logits is `pi - target`; which action was executed plays no part, so old
    states need no importance weight. Adding a constant to a state's utilities changes nothing.

    Over candidates instead of all actions, `log_action` must be normalised over them: then the
    ratios of the candidates have the same optimum.
    """
    tilted = log_reference.detach() + utilities / (anchor * temperature)
    log_target = torch.log_softmax(tilted.masked_fill(~flat_mask, MASKED_LOG_PROB), dim=1)
    gap = torch.where(flat_mask, log_target - log_action, 0.0)
    return (log_target.exp() * gap).sum(dim=1)


def bradley_terry_loss(
    log_policy: Tensor,
    log_reference: Tensor,
    utilities: Tensor,
    mask: Tensor,
    *,
    anchor: float,
    temperature: float,
) -> Tensor:
    """Soft Bradley-Terry loss over every pair of candidates; all [B, K] -> nats [B], never < 0.

        h = b_h (log pi - sg[log ref]),   y_ij = sg[sigmoid((u_i - u_j) / tau_u)]
        1 / (n (n - 1)) sum_{i != j} [CE(y_ij, sigmoid(h_i - h_j)) - H(y_ij)]

    Zero exactly where `log(pi / ref) = u / (b_h tau_u) + const` on the n candidates, so the optimum
    is that of `listwise_step_loss` whoever drew them. Equal candidates have no gradient. At the
    reference the gradient is `b_h / (2 tau_u)` times the step-level leave-one-out policy gradient,
    to first order in u. Preference loss with the reference in the logit: DPO (arXiv 2305.18290),
    with calibrated labels instead of hard ones, whose optimum is an infinite margin.
    """
    h = torch.where(mask, anchor * (log_policy - log_reference.detach()), 0.0)
    u = torch.where(mask, utilities, 0.0).detach() / temperature
    h_gap, u_gap = _pair_gaps(h), _pair_gaps(u)
    label = torch.sigmoid(u_gap)
    kl = label * (functional.logsigmoid(u_gap) - functional.logsigmoid(h_gap))
    kl = kl + (1 - label) * (functional.logsigmoid(-u_gap) - functional.logsigmoid(-h_gap))
    pairs = mask[:, :, None] & mask[:, None, :]
    pairs = pairs & ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    num_pairs = pairs.sum(dim=(1, 2)).clamp(min=1)
    return torch.where(pairs, kl, 0.0).sum(dim=(1, 2)) / num_pairs


def plackett_luce_loss(
    log_policy: Tensor,
    log_reference: Tensor,
    utilities: Tensor,
    mask: Tensor,
    tie_breaks: Tensor,
    *,
    anchor: float,
    smoothing: float,
) -> Tensor:
    """Negative log-likelihood of the candidates' order by utility; all [B, K] -> nats [B].

        -sum_{k < n} [h_(k) - logsumexp_{j >= k} h_(j)],   h = b_h (log pi - sg[log ref])

    For teachers whose utilities mean nothing but their order (Plackett-Luce). `tie_breaks` order
    candidates of equal utility; drawn anew each time, they average over the orders. `smoothing`
    spreads that share of each choice evenly over the candidates left, without which the optimum is
    an infinite margin. With two candidates and no smoothing it is the hard Bradley-Terry loss.
    """
    h = torch.where(mask, anchor * (log_policy - log_reference.detach()), MASKED_LOG_PROB)
    ranks = torch.where(mask, utilities.detach(), -torch.inf)
    by_tie = torch.argsort(tie_breaks, dim=1, stable=True)
    by_rank = torch.argsort(ranks.gather(1, by_tie), dim=1, stable=True, descending=True)
    order = by_tie.gather(1, by_rank)
    h, left = h.gather(1, order), mask.gather(1, order)
    log_sum = torch.flip(torch.logcumsumexp(torch.flip(h, [1]), dim=1), [1])
    log_choice = torch.where(left, h - log_sum, 0.0)
    num_left = _suffix_sums(left.to(h.dtype)).clamp(min=1)
    mean_left = _suffix_sums(torch.where(left, h, 0.0)) / num_left - log_sum
    kept = (1 - smoothing) * log_choice + smoothing * torch.where(left, mean_left, 0.0)
    return -kept.sum(dim=1)


def _pair_gaps(values: Tensor) -> Tensor:
    return values[:, :, None] - values[:, None, :]


def _suffix_sums(values: Tensor) -> Tensor:
    return torch.flip(torch.cumsum(torch.flip(values, [1]), dim=1), [1])
