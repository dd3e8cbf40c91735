# SPDX-License-Identifier: Apache-2.0
"""What goes wrong elsewhere, as negative controls, next to the form that is right."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from learner.config import LearnerConfig, ObjectiveConfig
from learner.objective import kl_divergence, outcome_loss, selection_weights
from learner.update import Learner
from tests.learner.tabular import LEGAL, distribution, grad, random_logits


def _softmaxes(seed: int, size: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    raw = torch.randn(2, size, generator=generator, dtype=torch.float64)
    return raw[0].requires_grad_(), raw[1]


def test_the_first_article_s_loss_sinks_the_winners_of_a_reused_batch() -> None:
    """Pairwise logistic loss plus `beta * mean(log pi - log ref)`: unbounded below."""
    logits = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    log_reference = torch.log_softmax(torch.zeros(6, dtype=torch.float64), 0)
    winners, losers = torch.tensor([0, 1]), torch.tensor([2, 3])  # 4 and 5 are never sampled
    optimiser = torch.optim.Adam([logits], lr=0.1)
    for _ in range(2000):
        log_policy = torch.log_softmax(logits, 0)
        preference = -torch.nn.functional.logsigmoid(log_policy[winners] - log_policy[losers])
        scored = torch.cat([winners, losers])
        loss = preference.mean() + 0.1 * (log_policy[scored] - log_reference[scored]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    policy = torch.softmax(logits.detach(), 0)
    assert loss.item() < -1.0
    assert policy[winners].max() < 1e-6
    assert policy[4:].sum() > 0.999


def test_a_sampled_log_ratio_teaches_nothing_unless_it_is_a_reward() -> None:
    """`log T - log S` differentiated has no expected gradient; `sg[log S - log T] log S` has the

    reverse KL's.
    """
    logits, teacher_logits = _softmaxes(1)
    log_s, log_t = torch.log_softmax(logits, 0), torch.log_softmax(teacher_logits, 0)
    chance = log_s.exp().detach()
    direct = grad((chance * (log_t - log_s)).sum(), logits)
    as_reward = grad((chance * (log_s - log_t).detach() * log_s).sum(), logits)
    reverse_kl = grad((log_s.exp() * (log_s - log_t)).sum(), logits)
    assert direct.abs().max() < 1e-15
    assert (as_reward - reverse_kl).abs().max() < 1e-15
    assert reverse_kl.abs().max() > 0.01


def test_executing_the_teacher_s_favourite_is_biased_and_the_selection_weight_repairs_it() -> None:
    """K = 2 candidates drawn from the policy, one of them executed by its utility."""
    logits, _ = _softmaxes(2)
    policy = torch.softmax(logits, 0)
    reward = torch.tensor([0.1, 1.0, -0.4, 0.6], dtype=torch.float64)
    utility = torch.tensor([2.0, -1.0, 0.5, 0.0], dtype=torch.float64)
    exact = grad((policy * reward).sum(), logits)
    config = ObjectiveConfig(clip_high=10.0)
    estimates = {False: torch.zeros_like(exact), True: torch.zeros_like(exact)}
    for pair in itertools.product(range(4), repeat=2):
        drawn = policy.detach()[list(pair)].prod()
        chances = 0.3 / 2 + 0.7 * torch.softmax(utility[list(pair)], 0)
        for pick in range(2):
            log_chosen = torch.log_softmax(logits, 0)[[pair[pick]]]
            for is_weighted in (False, True):
                weights = selection_weights(chances[[pick]], 2) if is_weighted else None
                term = outcome_loss(
                    log_chosen,
                    log_chosen.detach(),
                    log_chosen.detach(),
                    reward[[pair[pick]]],
                    torch.tensor([True]),
                    config=config,
                    selection=weights,
                )
                slope = -grad(term.loss.sum(), logits)
                estimates[is_weighted] += drawn * chances[pick] * slope
    assert (estimates[True] - exact).abs().max() < 1e-15
    assert (estimates[False] - exact).norm() > 0.1 * exact.norm()


def test_the_kl_to_an_ema_reference_grows_with_the_square_of_its_lag() -> None:
    """A policy that drifts evenly is `(1 - rho) / rho` updates ahead of its reference."""
    start, drift = random_logits(1), random_logits(2)
    kls = []
    for rate in (0.5, 0.05):
        holder = _Logits(start)
        learner = Learner(holder, LearnerConfig(reference_rate=rate))
        for _ in range(400):
            with torch.no_grad():
                for parameter, step in zip(holder.parameters(), drift, strict=True):
                    parameter += 1e-5 * step
            learner._trainer.move_reference()
        reference = learner._trainer.reference
        policy = distribution(*holder.parameters())
        behind = distribution(*reference.parameters())
        kls.append(kl_divergence(policy, behind, LEGAL).mean().item())
    assert abs(kls[1] / kls[0] - 19**2) < 0.05 * 19**2


class _Logits(torch.nn.Module):
    def __init__(self, logits: tuple[Tensor, Tensor]) -> None:
        super().__init__()
        self.types, self.actions = (torch.nn.Parameter(x.clone()) for x in logits)
