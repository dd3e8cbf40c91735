# SPDX-License-Identifier: Apache-2.0
"""The terms of the loss, as pure functions of log-probabilities.

Shape letters: B states, K action types, A legal actions (padded). A policy is seen through
`log_type` [B, K] and `log_action` [B, A], its log-probabilities of the types and of every legal
action; both policies of a divergence use the same stored mask. Masked entries carry no gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from agent.policy import MASKED_LOG_PROB
from learner.config import ObjectiveConfig, RatioCap

# e^20: ratios beyond it are far outside any clip range, and exp would overflow with NaN gradients.
_MAX_LOG_RATIO = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """A policy's log-probabilities at B states."""

    log_type: Tensor  # [B, K]
    log_action: Tensor  # [B, A]

    def detach(self) -> Distribution:
        """The same values without a graph."""
        return Distribution(log_type=self.log_type.detach(), log_action=self.log_action.detach())


@dataclass(frozen=True, kw_only=True, slots=True)
class Legal:
    """What is legal at B states."""

    type_mask: Tensor  # bool [B, K]
    flat_type: Tensor  # int64 [B, A], the type of each action
    flat_mask: Tensor  # bool [B, A], False on padding


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeTerm:
    """The outcome term before averaging, and what its masks did."""

    loss: Tensor  # [B], 0 where the step is masked
    weight: Tensor  # [B], prox / behaviour where it is used, else 0; no gradient
    over_cap: Tensor  # bool [B], masked because prox / behaviour is too large or not finite
    clipped: Tensor  # bool [B], used, but the clip took its gradient


def outcome_loss(
    log_policy: Tensor,
    log_prox: Tensor,
    log_behaviour: Tensor,
    advantage: Tensor,
    mask: Tensor,
    *,
    config: ObjectiveConfig,
    selection: Tensor | None = None,
) -> OutcomeTerm:
    """Decoupled, clipped policy-gradient loss of the chosen actions; all arguments [B].

        w = sg[prox / mu] * 1[prox / mu <= cap],  r = pi / prox
        S = min(r A, clip(r, 1 - eps_l, 1 + eps_h) A);  if A < 0: S = max(S, c A);  loss = -w S

    with mu the behaviour policy and prox the learner's policy at the start of the batch; with
    `ratio_cap=clamp`, w = min(prox / mu, cap) instead. `selection` are the weights of
    `selection_weights` where the executed action was picked among candidates. Group
    advantages: GRPO (arXiv 2402.03300). Decoupling: arXiv 2110.00641. Two clip widths: DAPO (arXiv
    2503.14476). Dual clip c: arXiv 1912.09729. The caller divides by a constant and never by an
    episode's own length (Dr. GRPO, arXiv 2503.20783) nor by the number of unmasked steps. Left
    out: correction of the state distribution.
    """
    importance = torch.exp(log_prox.detach() - log_behaviour)
    is_finite = torch.isfinite(importance)
    usable = is_finite & (importance <= config.max_importance_ratio)
    over_cap = mask & ~usable
    if config.ratio_cap is RatioCap.CLAMP:
        importance, usable = importance.clamp(max=config.max_importance_ratio), is_finite
    weight = torch.where(mask & usable, importance, torch.zeros_like(importance))
    log_ratio = torch.clamp(log_policy - log_prox.detach(), -_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    ratio = torch.exp(log_ratio)
    bounded = torch.clamp(ratio, 1 - config.clip_low, 1 + config.clip_high)
    surrogate = torch.minimum(ratio * advantage, bounded * advantage)
    surrogate = torch.where(
        advantage < 0, torch.maximum(surrogate, config.dual_clip * advantage), surrogate
    )
    with torch.no_grad():
        up = (advantage > 0) & (ratio > 1 + config.clip_high)
        down = (advantage < 0) & ((ratio < 1 - config.clip_low) | (ratio > config.dual_clip))
        clipped = (weight > 0) & (up | down)
    loss = -weight * surrogate if selection is None else -selection * weight * surrogate
    return OutcomeTerm(loss=loss, weight=weight, over_cap=over_cap, clipped=clipped)


def stale_episodes(
    log_gap: Tensor,
    episode: Tensor,
    num_episodes: int,
    *,
    limit_nats: float,
    summed: Callable[[Tensor], Tensor] = lambda sums: sums,
) -> Tensor:
    """Episodes that the policy has moved too far away from; log_gap and episode [N] -> bool [M].

    An episode is stale where the mean of `log mu - log prox` (log_gap) over its steps exceeds the
    limit. Its steps with a negative advantage are then left out: pushing down what the policy no
    longer does has no bottom. Off-policy sequence masking (DeepSeek-V3.2). `summed` adds what
    other processes have of the same episodes.
    """
    total = torch.zeros(num_episodes, dtype=log_gap.dtype, device=log_gap.device)
    count = torch.zeros_like(total)
    total.scatter_add_(0, episode, log_gap)
    count.scatter_add_(0, episode, torch.ones_like(log_gap))
    total, count = summed(torch.stack([total, count]))
    return total / count.clamp(min=1) > limit_nats


def selection_weights(chances: Tensor, num_candidates: int) -> Tensor:
    """`(1 / K) / q`: corrects for executing a picked candidate instead of candidate 0; [...].

    K candidates are drawn from the policy and one is executed with chance q. Without the weight the
    policy gradient is biased; with it the second moment grows. Executing candidate 0 has weight 1,
    which is what agents do.
    """
    return 1 / (num_candidates * chances)


def action_aware_kl(
    policy: Distribution, reference: Distribution, legal: Legal, multipliers: Tensor
) -> Tensor:
    """Exact KL to the reference with a weight per action type; multipliers [K] -> nats [B].

        sum_k c_k [pi_k log(pi_k / ref_k) - pi_k + ref_k] + sum_k c_k pi_k KL(pi(.|k) || ref(.|k))

    This is the Bregman form: never negative, 0 only at the reference, and with equal weights it is
    `c * KL(pi || ref)` in value and gradient. Weighting the plain log-ratio instead is no
    divergence: it turns negative and pulls towards types with small weights. No stop-gradient on
    `pi_k`. Exact sums over all legal actions, so no sampling estimator is needed.
    """
    log_ref_type, log_ref = reference.log_type.detach(), reference.log_action.detach()
    p_type, p_ref_type = policy.log_type.exp(), log_ref_type.exp()
    by_type = p_type * (policy.log_type - log_ref_type) - p_type + p_ref_type
    by_type = torch.where(legal.type_mask, by_type * multipliers, 0.0)
    conditional = _given_type(policy.log_action, policy.log_type, legal)
    ref_conditional = _given_type(log_ref, log_ref_type, legal)
    by_action = policy.log_action.exp() * (conditional - ref_conditional)
    by_action = torch.where(legal.flat_mask, by_action * multipliers[legal.flat_type], 0.0)
    return by_type.sum(dim=1) + by_action.sum(dim=1)


def kl_divergence(policy: Distribution, reference: Distribution, legal: Legal) -> Tensor:
    """Plain `KL(pi || ref)` over the legal actions; nats [B]."""
    difference = policy.log_action - reference.log_action.detach()
    return torch.where(legal.flat_mask, policy.log_action.exp() * difference, 0.0).sum(dim=1)


def normalised_entropies(policy: Distribution, legal: Legal) -> tuple[Tensor, Tensor]:
    """Type entropy and mean argument entropy, as fractions of their maxima; two [B] in [0, 1].

        H(type) / log n,   sum_k pi_k H(. | k) / log n_k

    with n legal types and n_k legal argument combinations of type k; a single choice counts as 0.
    The arguments of a type are one joint choice.
    """
    entropy = -torch.where(legal.type_mask, policy.log_type.exp() * policy.log_type, 0.0).sum(dim=1)
    of_type = entropy * _inverse_log(legal.type_mask.sum(dim=1), entropy.dtype)
    num_choices = torch.zeros_like(legal.type_mask, dtype=torch.int64)
    num_choices.scatter_add_(1, legal.flat_type, legal.flat_mask.to(torch.int64))
    scale = _inverse_log(num_choices, entropy.dtype).gather(1, legal.flat_type)
    conditional = _given_type(policy.log_action, policy.log_type, legal)
    of_arguments = -(policy.log_action.exp() * conditional * scale).sum(dim=1)
    return of_type, of_arguments


def entropy_shortfall(of_type: Tensor, floor: float, mean: Tensor | None = None) -> Tensor:
    """How far the mean type entropy of the states [B] is below `floor`; a scalar >= 0.

    Of the mean, so that a policy may be certain in any one state, only not in all of them. Where
    the states are a part of those that count, `mean` is of all of them; then it is this part's
    addend, of either sign.
    """
    own = of_type.mean()
    is_below = (own if mean is None else mean) < floor
    return torch.where(is_below, floor - own, torch.zeros_like(own))


def renormalised(log_action: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities given that one of the unmasked columns is chosen; both [B, K]."""
    masked = log_action.masked_fill(~mask, MASKED_LOG_PROB)
    return torch.log_softmax(masked, dim=1).masked_fill(~mask, MASKED_LOG_PROB)


def kl_estimators(log_policy: Tensor, log_reference: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sampled estimators of `KL(pi || ref)` at actions drawn from pi; [...] -> three [...].

        k1 = log(pi / ref),   k2 = log(pi / ref)^2 / 2,   k3 = ref / pi - 1 - log(ref / pi)

    Report k3 (unbiased, never negative, small variance near pi); differentiate k2, whose expected
    gradient is that of the reverse KL. k1 has no expected gradient, k3 that of the forward KL.
    Names after Schulman's note on approximating KL; gradients: arXiv 2512.21852.
    """
    log_ratio = log_policy - log_reference
    return log_ratio, 0.5 * log_ratio.square(), torch.expm1(-log_ratio) + log_ratio


class KLController:
    """Steers the weight of the KL term towards a target KL, in log space and within bounds.

        log lam <- clip(log lam + 0.1 clip(KL / target - 1, -0.5, 0.5), log min, log max)

    Monotone in the measured KL; at saturation the weight doubles or halves in 14 updates. The log
    step follows the adaptive KL of arXiv 1909.08593, with bounds, because the multiplicative form
    winds up without end when the target is out of reach.
    """

    GAIN = 0.1
    MAX_ERROR = 0.5

    def __init__(self, config: ObjectiveConfig) -> None:
        self._target = config.kl_target_nats
        self._bounds = (math.log(config.kl_min), math.log(config.kl_max))
        self._log_weight = math.log(config.kl_initial)

    @property
    def weight(self) -> float:
        """lam, the present weight of the KL term."""
        return math.exp(self._log_weight)

    def update(self, kl_nats: float) -> None:
        """Take in the mean unweighted KL per decision of one learner batch."""
        if not math.isfinite(kl_nats):
            return
        error = min(max(kl_nats / self._target - 1, -self.MAX_ERROR), self.MAX_ERROR)
        low, high = self._bounds
        self._log_weight = min(max(self._log_weight + self.GAIN * error, low), high)

    def state_dict(self) -> dict[str, float]:
        """Plain values."""
        return {"log_weight": self._log_weight}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Continue from `state_dict()`."""
        self._log_weight = state["log_weight"]


def _given_type(log_action: Tensor, log_type: Tensor, legal: Legal) -> Tensor:
    """`log pi(arguments | type)` of every action [B, A], 0 on padding."""
    return torch.where(legal.flat_mask, log_action - log_type.gather(1, legal.flat_type), 0.0)


def _inverse_log(count: Tensor, dtype: torch.dtype) -> Tensor:
    """`1 / log(count)`, and 0 for counts below 2."""
    return torch.where(count > 1, 1 / torch.log(count.clamp(min=2).to(dtype)), 0.0)
