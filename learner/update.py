# SPDX-License-Identifier: Apache-2.0
"""The learner: one batch of scored groups in, better weights and a report out.

Order of one update: advantages; prox and reference log-probs under no_grad; fresh epochs with
`beta L_out + alpha L_step + lam KL - entropy`; the fresh steps enter the reservoir; replayed
step-term updates; EMA of the reference; KL controller; policy version + 1.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agent.policy import PolicyBatch
from envs.actions import ACTION_SPECS
from envs.types import LAYERS
from learner import objective
from learner.config import LearnerConfig, ReplayConfig
from learner.credit import Batch, CreditAssigner, Sample, replayed_sample
from learner.metrics import Means
from learner.minibatch import Anchors, Minibatch, build_minibatch
from learner.objective import Distribution, KLController
from learner.reservoir import StepReservoir
from learner.types import Group

# Above the rounding noise of a gradient that is zero in exact arithmetic (the KL at its reference,
# in a batch without any signal): with a smaller one Adam blows that noise up into full steps.
_ADAM_EPS = 1e-5


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdateReport:
    """What one learner batch did; learner -> controller."""

    policy_version: int  # after the update
    metrics: Mapping[str, float]  # keys `area/name_unit`
    mean_abs_advantages: Mapping[str, float]  # by group id; what replay makes priorities of


class Learner:
    """Trains `policy`, a module that satisfies `agent.policy.Policy`, in place.

    Deterministic given the config, the weights and the groups.
    Sets no global torch state.
    """

    def __init__(
        self,
        policy: nn.Module,
        config: LearnerConfig,
        *,
        max_lag: int = ReplayConfig.max_lag,
    ) -> None:
        self._config = config
        self._policy = policy.to(config.device)
        self._reference = copy.deepcopy(self._policy).requires_grad_(False)
        self._optimizer = torch.optim.Adam(
            self._policy.parameters(), lr=config.learning_rate, eps=_ADAM_EPS
        )
        self._credit = CreditAssigner(config.objective, max_lag=max_lag)
        self._controller = KLController(config.objective)
        self._reservoir = StepReservoir(config.reservoir_bytes)
        self._rng = np.random.default_rng(config.seed)
        self._multipliers = torch.tensor(
            [spec.kl_multiplier for spec in ACTION_SPECS], device=config.device
        )
        self._version = 0

    @property
    def policy_version(self) -> int:
        """Number of updates done."""
        return self._version

    def update(self, groups: Sequence[Group], *, progress: float) -> UpdateReport:
        """Train on `groups`; `progress` in [0, 1] sets the rate.

        Steps older than the max lag, exogenous steps and steps beyond the importance cap carry no
        policy-gradient loss and are counted; they still carry the step term.
        """
        means = Means()
        rate = self._set_learning_rate(progress)
        batch = self._credit.assign(groups, policy_version=self._version, means=means)
        self._train_on_fresh(batch, means)
        if self._config.objective.step_weight > 0:
            for sample in batch.samples:
                if len(sample.record.utilities) and not sample.is_replayed:
                    self._reservoir.add(sample.record)
            self._train_on_reservoir(means)
        self._move_reference()
        self._controller.update(means.mean("learner/kl_reference_nats"))
        self._version += 1
        square_mean = means.mean("learner/importance_square_mean")
        metrics = {
            **means.as_dict(),
            "learner/kl_weight": self._controller.weight,
            "learner/learning_rate": rate,
            "learner/reservoir_steps": float(len(self._reservoir)),
            "learner/reservoir_mb": self._reservoir.num_bytes / 1e6,
        }
        if square_mean > 0:  # effective sample size of the importance ratios, over their number
            share = means.mean("learner/importance_mean") ** 2 / square_mean
            metrics["learner/effective_sample_share"] = share
        for layer, scale in zip(LAYERS, self._credit.scales, strict=True):
            metrics[f"learner/scale_{layer}"] = float(scale)
        return UpdateReport(
            policy_version=self._version,
            metrics=metrics,
            mean_abs_advantages=batch.mean_abs_advantages,
        )

    # --- Training --------------------------------------------------------------------------------

    def _minibatches(self, samples: Sequence[Sample]) -> list[Minibatch]:
        """A random partition into minibatches of about equal size; padded once for all epochs."""
        order = self._rng.permutation(len(samples))
        count = -(-len(samples) // self._config.minibatch_steps)
        return [
            build_minibatch([samples[i] for i in part], device=self._config.device)
            for part in np.array_split(order, count)
        ]

    def _train_on_fresh(self, batch: Batch, means: Means) -> None:
        minibatches = self._minibatches(batch.samples)
        anchors = [self._anchor(minibatch, means) for minibatch in minibatches]
        for _ in range(self._config.epochs):
            for index in self._rng.permutation(len(minibatches)):
                minibatch, anchor = minibatches[index], anchors[index]
                output = _evaluate(self._policy, minibatch.states)
                loss = self._outcome_loss(output, minibatch, anchor, batch, means)
                loss = loss + self._state_loss(output, minibatch, anchor.reference, means)
                self._step_optimizer(loss, means)

    def _train_on_reservoir(self, means: Means) -> None:
        """Updates of the step term, with the KL and entropy terms, on states of any age."""
        if not len(self._reservoir):
            return
        for _ in range(self._config.step_replay_updates):
            records = self._reservoir.sample(self._config.step_replay_states, self._rng)
            samples = [replayed_sample(record) for record in records]
            minibatch = build_minibatch(samples, device=self._config.device)
            with torch.no_grad():
                reference = _evaluate(self._reference, minibatch.states)
            output = _evaluate(self._policy, minibatch.states)
            loss = self._state_loss(output, minibatch, reference, means, area="step_replay")
            self._step_optimizer(loss, means)

    @torch.no_grad()
    def _anchor(self, minibatch: Minibatch, means: Means) -> Anchors:
        prox = _evaluate(self._policy, minibatch.states)
        log_prox = _of_chosen(prox, minibatch)
        log_gap = log_prox - minibatch.log_behaviour
        _, _, k3 = objective.kl_estimators(minibatch.log_behaviour, log_prox)
        means.add_tensor("learner/kl_behaviour_k3_nats", k3)
        if minibatch.is_current.any():
            gap = log_gap[minibatch.is_current].abs().max().item()
            means.add_max("learner/same_version_log_prob_gap_nats", gap)
        used = torch.exp(log_gap)[minibatch.in_outcome]
        used = used[used <= self._config.objective.max_importance_ratio]
        means.add_tensor("learner/importance_mean", used)
        means.add_tensor("learner/importance_square_mean", used.square())
        reference = _evaluate(self._reference, minibatch.states)
        return Anchors(log_prox=log_prox, reference=reference)

    def _outcome_loss(
        self,
        output: Distribution,
        minibatch: Minibatch,
        anchor: Anchors,
        batch: Batch,
        means: Means,
    ) -> Tensor:
        """Weighted L_out of one minibatch; the minibatches of an epoch average to

        `-(1 / (episodes * running mean length)) * sum over all steps of w S`.
        """
        config = self._config.objective
        term = objective.outcome_loss(
            _of_chosen(output, minibatch),
            anchor.log_prox,
            minibatch.log_behaviour,
            minibatch.advantage,
            minibatch.in_outcome,
            config=config,
        )
        loss = term.loss.mean() * batch.steps_per_unit
        means.add("learner/outcome_loss", loss.item())
        means.add_tensor("learner/over_importance_cap_share", term.over_cap)
        means.add_tensor("learner/clipped_share", term.clipped)
        return config.outcome_weight * loss

    def _state_loss(
        self,
        output: Distribution,
        minibatch: Minibatch,
        reference: Distribution,
        means: Means,
        *,
        area: str = "learner",
    ) -> Tensor:
        """The terms that need no executed action: step term, action-aware KL and entropies."""
        config, legal = self._config.objective, minibatch.legal
        step = objective.listwise_step_loss(
            output.log_action,
            reference.log_action,
            minibatch.utilities,
            legal.flat_mask,
            anchor=config.step_anchor,
            temperature=config.step_temperature,
        )
        step = torch.where(minibatch.has_utilities, step, 0.0)
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
            config.step_weight * step
            + self._controller.weight * kl
            - config.entropy_type * of_type
            - config.entropy_argument * of_arguments
        )
        return per_state.mean()

    def _step_optimizer(self, loss: Tensor, means: Means) -> None:
        """One clipped step; a gradient that is not finite is skipped and counted."""
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self._policy.parameters(), self._config.max_grad_norm)
        is_finite = bool(torch.isfinite(norm))
        means.add_total("learner/optimizer_steps", is_finite)
        means.add_total("learner/skipped_optimizer_steps", not is_finite)
        if is_finite:
            means.add("learner/grad_norm", norm.item())
            self._optimizer.step()

    @torch.no_grad()
    def _move_reference(self) -> None:
        """`ref <- (1 - rate) ref + rate pi`; integer buffers are copied."""
        source = self._policy.state_dict()
        for name, kept in self._reference.state_dict().items():
            if kept.is_floating_point():
                kept.lerp_(source[name], self._config.reference_rate)
            else:
                kept.copy_(source[name])

    def _set_learning_rate(self, progress: float) -> float:
        if not 0.0 <= progress <= 1.0:
            raise ValueError(f"progress: expected 0..1, got {progress}")
        first, last = self._config.learning_rate, self._config.final_learning_rate
        rate = first + (last - first) * progress
        for settings in self._optimizer.param_groups:
            settings["lr"] = rate
        return rate

    # --- Weights and state -----------------------------------------------------------------------

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the policy's parameters and buffers, by name."""
        state = self._policy.state_dict()
        return {name: value.detach().cpu().numpy().copy() for name, value in state.items()}

    def state_dict(self) -> dict[str, Any]:
        """All that the next update depends on, the reservoir included."""
        return {
            "policy": copy.deepcopy(self._policy.state_dict()),
            "reference": copy.deepcopy(self._reference.state_dict()),
            "optimizer": copy.deepcopy(self._optimizer.state_dict()),
            "credit": self._credit.state_dict(),
            "controller": self._controller.state_dict(),
            "reservoir": self._reservoir.state_dict(),
            "rng": self._rng.bit_generator.state,
            "policy_version": self._version,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict()`: the next update gives bit-equal weights."""
        self._policy.load_state_dict(state["policy"])
        self._reference.load_state_dict(state["reference"])
        self._optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self._credit.load_state_dict(state["credit"])
        self._controller.load_state_dict(state["controller"])
        self._reservoir.load_state_dict(state["reservoir"])
        self._rng.bit_generator.state = state["rng"]
        self._version = state["policy_version"]


def _evaluate(policy: nn.Module, states: PolicyBatch) -> Distribution:
    output = policy(states)
    return Distribution(log_type=output.log_type, log_action=output.log_action)


def _of_chosen(output: Distribution, minibatch: Minibatch) -> Tensor:
    """Log-probability of the executed actions [B]."""
    return output.log_action.gather(1, minibatch.chosen[:, None])[:, 0]
