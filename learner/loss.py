# SPDX-License-Identifier: Apache-2.0
"""The loss of one minibatch: `beta L_out + alpha L_step + lam KL - entropy`.

The terms themselves are pure functions of `learner.objective` and `learner.step_terms`; here they
get their weights, and their candidates where the step term does not compare every action.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learner import candidates, objective
from learner.config import Candidates, ObjectiveConfig, StepLoss
from learner.metrics import Means
from learner.minibatch import Anchors, Minibatch
from learner.objective import Distribution
from learner.step_terms import bradley_terry_loss, listwise_step_loss, plackett_luce_loss
from learner.team import Alone, Team, sum_each

_ALONE = Alone()


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """What the terms count in one update."""

    outcome: float  # beta
    step: float  # alpha
    kl: float  # lam
    num_candidates: int  # K


def of_chosen(output: Distribution, minibatch: Minibatch) -> Tensor:
    """Log-probability of the executed actions [B]."""
    return output.log_action.gather(1, minibatch.chosen[:, None])[:, 0]


class Loss:
    """Terms with their weights; the only state is the random one of the candidates' draw.

    Losses are means over the rows that this process has of a minibatch: times `Minibatch.share`
    and summed over the processes, they are those of the whole.
    """

    def __init__(
        self,
        config: ObjectiveConfig,
        multipliers: Tensor,
        rng: np.random.Generator,
        team: Team = _ALONE,
    ) -> None:
        self._config = config
        self._multipliers = multipliers  # [K], of the action-aware KL
        self._rng = rng
        self._team = team

    def outcome(
        self,
        output: Distribution,
        minibatch: Minibatch,
        anchor: Anchors,
        steps_per_unit: float,
        means: Means,
    ) -> Tensor:
        """L_out of one minibatch without its weight; the minibatches of an epoch average to

        `-(1 / (episodes * running mean length)) * sum over all steps of w S`.
        """
        term = objective.outcome_loss(
            of_chosen(output, minibatch),
            anchor.log_prox,
            minibatch.log_behaviour,
            minibatch.advantage,
            minibatch.in_outcome,
            config=self._config,
        )
        loss = term.loss.mean() * steps_per_unit
        means.add("learner/outcome_loss", loss.item() * minibatch.share, minibatch.share)
        means.add_tensor("learner/over_importance_cap_share", term.over_cap)
        means.add_tensor("learner/clipped_share", term.clipped)
        return loss

    def of_states(
        self,
        output: Distribution,
        minibatch: Minibatch,
        reference: Distribution,
        weights: Weights,
        means: Means,
        *,
        area: str = "learner",
    ) -> Tensor:
        """The terms that need no executed action: step term, action-aware KL and entropies."""
        config, legal = self._config, minibatch.legal
        step = self.step_term(output, minibatch, reference, weights.num_candidates)
        kl = objective.action_aware_kl(output, reference, legal, self._multipliers)
        of_type, of_arguments = objective.normalised_entropies(output, legal)
        with torch.no_grad():
            plain_kl = objective.kl_divergence(output, reference, legal)
        means.add_tensor(f"{area}/step_loss_nats", step)
        means.add_tensor(f"{area}/kl_weighted_nats", kl)
        means.add_tensor(f"{area}/kl_reference_nats", plain_kl)
        means.add_tensor(f"{area}/entropy_type_fraction", of_type)
        means.add_tensor(f"{area}/entropy_argument_fraction", of_arguments)
        per_state = (
            weights.step * step
            + weights.kl * kl
            - config.entropy_type * of_type
            - config.entropy_argument * of_arguments
        )
        loss = per_state.mean()
        if config.entropy_floor > 0:
            share = minibatch.share
            mean = self._team.sum(of_type.detach().mean() * share)
            missing = objective.entropy_shortfall(of_type, config.entropy_floor, mean)
            means.add(f"{area}/entropy_shortfall", missing.item() * share, share)
            loss = loss + config.entropy_floor_weight * missing
        return loss

    def step_term(
        self,
        output: Distribution,
        minibatch: Minibatch,
        reference: Distribution,
        num_candidates: int,
    ) -> Tensor:
        """L_step [B], 0 where a state has no utilities; without its weight."""
        config = self._config
        scale = {"anchor": config.step_anchor, "temperature": config.step_temperature}
        log_policy, log_reference = output.log_action, reference.log_action
        utilities, mask = minibatch.utilities, minibatch.legal.flat_mask
        if config.candidates is not Candidates.ALL:
            columns, mask = self._draw(output, minibatch, num_candidates)
            log_policy, log_reference = (
                log_policy.gather(1, columns),
                log_reference.gather(1, columns),
            )
            utilities = utilities.gather(1, columns)
        if config.step_loss is StepLoss.BRADLEY_TERRY:
            step = bradley_terry_loss(log_policy, log_reference, utilities, mask, **scale)
        elif config.step_loss is StepLoss.PLACKETT_LUCE:
            ties = torch.from_numpy(self._rng.random(tuple(mask.shape))).to(mask.device)
            step = plackett_luce_loss(
                log_policy,
                log_reference,
                utilities,
                mask,
                ties,
                anchor=config.step_anchor,
                smoothing=config.label_smoothing,
            )
        else:
            if config.candidates is not Candidates.ALL:
                log_policy = objective.renormalised(log_policy, mask)
            step = listwise_step_loss(log_policy, log_reference, utilities, mask, **scale)
        return torch.where(minibatch.has_utilities, step, 0.0)

    def _draw(
        self, output: Distribution, minibatch: Minibatch, num_candidates: int
    ) -> tuple[Tensor, Tensor]:
        """Columns and mask [B, K] of this minibatch's candidates."""
        legal, device = minibatch.legal, minibatch.chosen.device
        columns, exists = candidates.choose(
            self._config.candidates,
            num_candidates,
            chosen=minibatch.chosen.cpu().numpy(),
            flat_type=legal.flat_type.cpu().numpy(),
            flat_mask=legal.flat_mask.cpu().numpy(),
            log_action=output.log_action.detach().cpu().numpy(),
            rng=self._rng,
        )
        return torch.from_numpy(columns).to(device), torch.from_numpy(exists).to(device)


def without_stale_episodes(
    minibatches: Sequence[Minibatch],
    anchors: Sequence[Anchors],
    num_episodes: int,
    *,
    limit_nats: float,
    means: Means,
    team: Team = _ALONE,
) -> list[Minibatch]:
    """Minibatches of one batch with the steps masked that `objective.stale_episodes` condemns."""
    pairs = zip(minibatches, anchors, strict=True)
    # A row that is another process's has no part in the sums.
    gaps = torch.cat([(m.log_behaviour - a.log_prox)[: _num_own(m)] for m, a in pairs])
    episodes = torch.cat([m.episode[: _num_own(m)] for m in minibatches])
    is_stale = objective.stale_episodes(
        gaps, episodes, num_episodes, limit_nats=limit_nats, summed=team.sum
    )
    means.add_total("learner/episodes_off_policy", is_stale.sum().item())
    kept = [m.in_outcome & ~(is_stale[m.episode] & (m.advantage < 0)) for m in minibatches]
    return [
        dataclasses.replace(m, in_outcome=mask) for m, mask in zip(minibatches, kept, strict=True)
    ]


def _num_own(minibatch: Minibatch) -> int:
    return len(minibatch) if minibatch.share else 0


def balanced(
    weights: Weights,
    outcome: Tensor,
    step: Tensor,
    parameters: Sequence[Tensor],
    means: Means,
    team: Team = _ALONE,
) -> Weights:
    """Weights with the step term's gradient within a factor of 10 of the outcome term's.

    `outcome` and `step` are scalars without their weights, this process's addends of them. The
    correction itself stays within [0.1, 10]: a batch without any outcome signal must neither turn
    the step term off nor blow noise up.
    """
    sizes = [
        _gradient_norm(loss, parameters, team)
        for loss in (weights.outcome * outcome, weights.step * step)
    ]
    if min(sizes) == 0.0 or not np.isfinite(sizes).all():
        return weights
    ratio = sizes[1] / sizes[0]
    means.add("learner/step_to_outcome_gradient_ratio", ratio)
    factor = min(max(ratio, 0.1), 10.0) / ratio
    return dataclasses.replace(weights, step=weights.step * min(max(factor, 0.1), 10.0))


def _gradient_norm(loss: Tensor, parameters: Sequence[Tensor], team: Team) -> float:
    if not loss.requires_grad:
        return 0.0
    own = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    grads = sum_each(own, parameters, team)
    return float(sum(g.square().sum().item() for g in grads if g is not None) ** 0.5)
