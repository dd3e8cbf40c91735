# SPDX-License-Identifier: Apache-2.0
"""The learner: one batch of scored groups in, better weights and a report out.

Order of one update: the teacher's utilities, if the group itself is the teacher; advantages; prox
and reference log-probs under no_grad; fresh epochs with `beta L_out + alpha L_step + lam KL -
entropy`; the critic, if there is one; the fresh steps enter the reservoir; replayed step-term
updates; EMA of the reference; KL controller; policy version + 1.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agent.policy import PolicyBatch
from agent.types import StepRecord
from envs.actions import ACTION_SPECS
from envs.types import LAYERS
from learner import objective
from learner.calibration import CalibrationGate
from learner.candidates import num_candidates
from learner.config import Baseline, LearnerConfig, ReplayConfig, StepTeacher
from learner.credit import Batch, CreditAssigner, Sample, replayed_sample
from learner.critic import Critic, critic_credit
from learner.loss import Loss, Weights, balanced, of_chosen, without_stale_episodes
from learner.metrics import Means
from learner.minibatch import Anchors, Minibatch, build_minibatch
from learner.objective import Distribution, KLController
from learner.quarantine import Quarantine
from learner.reservoir import StepReservoir
from learner.schedule import ScheduleState
from learner.siblings import with_sibling_utilities
from learner.trainable import trainable_parameters
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
        quarantine: Quarantine | None = None,
    ) -> None:
        self._config = config
        self._policy = policy.to(config.device)
        self._reference = copy.deepcopy(self._policy).requires_grad_(False)
        self._parameters = trainable_parameters(self._policy, config.freeze)
        self._optimizer = torch.optim.Adam(self._parameters, lr=config.learning_rate, eps=_ADAM_EPS)
        self._credit = CreditAssigner(config.objective, max_lag=max_lag)
        self._controller = KLController(config.objective)
        self._schedule = ScheduleState(config.objective)
        self._gate = CalibrationGate()
        self._critic = Critic(config)
        self._reservoir = StepReservoir(config.reservoir_bytes)
        self._rng = np.random.default_rng(config.seed)
        self._candidate_rng = np.random.default_rng([config.seed, 1])
        multipliers = [spec.kl_multiplier for spec in ACTION_SPECS]
        self._loss = Loss(
            config.objective,
            torch.tensor(multipliers, device=config.device),
            self._candidate_rng,
        )
        self._quarantine = quarantine
        self._version = 0

    @property
    def policy_version(self) -> int:
        """Number of updates done."""
        return self._version

    def update(
        self, groups: Sequence[Group], *, progress: float, validation_score: float | None = None
    ) -> UpdateReport:
        """Train on `groups`; `progress` in [0, 1] sets the rate and the terms' weights.

        Steps older than the max lag, exogenous steps and steps beyond the importance cap carry no
        policy-gradient loss and are counted; they still carry the step term. `validation_score` is
        the success of an evaluation that ended since the last update, if one did; it moves
        `schedule=validation`.
        """
        means = Means()
        rate = self._set_learning_rate(progress)
        if validation_score is not None:
            self._schedule.observe(validation_score)
        if self._config.step_teacher is StepTeacher.SIBLINGS:
            guides = self._config.sibling_guides
            groups = [with_sibling_utilities(group, guides) for group in groups]
        if self._config.objective.gates_step:
            self._gate.observe(groups, means)
        weights = self._weights(progress)
        batch, targets = self._credit_of(groups, means)
        weights = self._train_on_fresh(batch, weights, means)
        if targets is not None:
            self._critic.fit([sample.record for sample in batch.samples], targets, means)
        if self._config.objective.step_weight > 0:
            self._remember(batch, means)
            self._train_on_reservoir(weights, means)
        self._move_reference()
        self._controller.update(means.mean("learner/kl_reference_nats"))
        self._version += 1
        return UpdateReport(
            policy_version=self._version,
            metrics={**self._metrics(means, weights), "learner/learning_rate": rate},
            mean_abs_advantages=batch.mean_abs_advantages,
        )

    def _metrics(self, means: Means, weights: Weights) -> dict[str, float]:
        square_mean = means.mean("learner/importance_square_mean")
        metrics = {
            **means.as_dict(),
            "learner/kl_weight": self._controller.weight,
            "learner/reservoir_steps": float(len(self._reservoir)),
            "learner/reservoir_mb": self._reservoir.num_bytes / 1e6,
        }
        config = self._config.objective
        if weights.outcome != config.outcome_weight or weights.step != config.step_weight:
            metrics["learner/outcome_weight"] = weights.outcome
            metrics["learner/step_weight"] = weights.step
        if square_mean > 0:  # effective sample size of the importance ratios, over their number
            share = means.mean("learner/importance_mean") ** 2 / square_mean
            metrics["learner/effective_sample_share"] = share
        for layer, scale in zip(LAYERS, self._credit.scales, strict=True):
            metrics[f"learner/scale_{layer}"] = float(scale)
        return metrics

    def _weights(self, progress: float) -> Weights:
        config = self._config.objective
        scheduled = self._schedule.weights(progress)
        trust = self._gate.value if config.gates_step else 1.0
        return Weights(
            outcome=scheduled.outcome,
            step=scheduled.step * trust,
            kl=self._controller.weight,
            num_candidates=num_candidates(config, progress),
        )

    def _credit_of(self, groups: Sequence[Group], means: Means) -> tuple[Batch, np.ndarray | None]:
        """The batch, and targets [N, L] for the critic where there is one."""
        if self._config.objective.baseline is not Baseline.CRITIC:
            batch = self._credit.assign(groups, policy_version=self._version, means=means)
            return batch, None
        deviations, targets = critic_credit(
            groups, self._critic, self._log_ratios, self._config.objective
        )
        batch = self._credit.assign(
            groups, policy_version=self._version, means=means, deviations=deviations
        )
        return batch, targets

    # --- Training --------------------------------------------------------------------------------

    def _minibatches(self, samples: Sequence[Sample]) -> list[Minibatch]:
        """A random partition into minibatches of about equal size; padded once for all epochs."""
        order = self._rng.permutation(len(samples))
        count = -(-len(samples) // self._config.minibatch_steps)
        return [
            build_minibatch([samples[i] for i in part], device=self._config.device)
            for part in np.array_split(order, count)
        ]

    def _train_on_fresh(self, batch: Batch, weights: Weights, means: Means) -> Weights:
        """The epochs; the weights as they were used."""
        minibatches = self._minibatches(batch.samples)
        anchors = [self._anchor(minibatch, means) for minibatch in minibatches]
        limit = self._config.objective.stale_episode_nats
        if limit > 0:
            minibatches = without_stale_episodes(
                minibatches, anchors, batch.num_episodes, limit_nats=limit, means=means
            )
        is_balanced = not self._config.objective.balances_gradients
        for _ in range(self._config.epochs):
            for index in self._rng.permutation(len(minibatches)):
                minibatch, anchor = minibatches[index], anchors[index]
                output = _evaluate(self._policy, minibatch.states)
                if self._has_left_prox(output, anchor, minibatch, means):
                    return weights
                outcome = self._loss.outcome(output, minibatch, anchor, batch.steps_per_unit, means)
                if not is_balanced:
                    step = self._loss.step_term(
                        output, minibatch, anchor.reference, weights.num_candidates
                    ).mean()
                    weights = balanced(weights, outcome, step, self._parameters, means)
                    is_balanced = True
                states = self._loss.of_states(output, minibatch, anchor.reference, weights, means)
                self._step_optimizer(weights.outcome * outcome + states, minibatch.samples, means)
        return weights

    def _remember(self, batch: Batch, means: Means) -> None:
        """Fresh states with utilities enter the reservoir; their texts, already read, do not."""
        num_scored = 0
        for sample in batch.samples:
            record = sample.record
            num_scored += len(record.utilities) > 0
            if len(record.utilities) and not sample.is_replayed:
                if len(record.situation):
                    record = dataclasses.replace(record, situation=record.situation[:0])
                self._reservoir.add(record)
        if self._config.step_teacher is StepTeacher.SIBLINGS:
            means.add_total("learner/steps_with_utilities", num_scored)

    def _train_on_reservoir(self, weights: Weights, means: Means) -> None:
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
            loss = self._loss.of_states(
                output, minibatch, reference, weights, means, area="step_replay"
            )
            self._step_optimizer(loss, minibatch.samples, means)

    @torch.no_grad()
    def _anchor(self, minibatch: Minibatch, means: Means) -> Anchors:
        prox = _evaluate(self._policy, minibatch.states)
        log_prox = of_chosen(prox, minibatch)
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
        return Anchors(log_prox=log_prox, prox=prox, reference=reference)

    def _has_left_prox(
        self, output: Distribution, anchor: Anchors, minibatch: Minibatch, means: Means
    ) -> bool:
        """Whether the policy is so far from the start of the batch that its epochs end."""
        limit = self._config.objective.prox_kl_limit_nats
        if limit == 0:
            return False
        with torch.no_grad():
            kl = objective.kl_divergence(output, anchor.prox, minibatch.legal).mean().item()
        means.add_max("learner/kl_prox_max_nats", kl)
        means.add_total("learner/epochs_ended_early", kl > limit)
        return kl > limit

    def _step_optimizer(self, loss: Tensor, samples: Sequence[Sample], means: Means) -> None:
        """One clipped step; a gradient that is not finite is skipped, counted and kept."""
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self._parameters, self._config.max_grad_norm)
        is_finite = bool(torch.isfinite(norm))
        means.add_total("learner/optimizer_steps", is_finite)
        means.add_total("learner/skipped_optimizer_steps", not is_finite)
        if is_finite:
            means.add("learner/grad_norm", norm.item())
            self._optimizer.step()
        elif self._quarantine is not None:
            facts = {"policy_version": self._version, "loss": loss.item(), "norm": norm.item()}
            self._quarantine.keep(samples, facts)

    @torch.no_grad()
    def _log_ratios(self, records: Sequence[StepRecord]) -> np.ndarray:
        """`log pi - log mu` of the executed actions at the present weights; float64 [N]."""
        size, parts = self._config.minibatch_steps, []
        for start in range(0, len(records), size):
            samples = [replayed_sample(record) for record in records[start : start + size]]
            minibatch = build_minibatch(samples, device=self._config.device)
            output = _evaluate(self._policy, minibatch.states)
            parts.append(of_chosen(output, minibatch) - minibatch.log_behaviour)
        return torch.cat(parts).double().cpu().numpy()

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
            "schedule": self._schedule.state_dict(),
            "gate": self._gate.state_dict(),
            "critic": copy.deepcopy(self._critic.state_dict()),
            "reservoir": self._reservoir.state_dict(),
            "rng": self._rng.bit_generator.state,
            "candidate_rng": self._candidate_rng.bit_generator.state,
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
        if "schedule" in state:  # checkpoints of earlier versions have none of these
            self._candidate_rng.bit_generator.state = state["candidate_rng"]
            self._schedule.load_state_dict(state["schedule"])
            self._gate.load_state_dict(state["gate"])
            self._critic.load_state_dict(state["critic"])
        self._version = state["policy_version"]


def _evaluate(policy: nn.Module, states: PolicyBatch) -> Distribution:
    output = policy(states)
    return Distribution(log_type=output.log_type, log_action=output.log_action)
