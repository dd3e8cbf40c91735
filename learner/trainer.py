# SPDX-License-Identifier: Apache-2.0
"""What moves the weights: the pieces of an update that every process of a learner does alike.

Each process evaluates its own rows of a minibatch. Gradients, and whatever else the whole
minibatch decides, are summed over the processes before they are used, so that all take the same
steps and hold the same weights.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agent.policy import PolicyBatch
from agent.types import StepRecord
from envs.actions import ACTION_SPECS
from learner import objective
from learner.averaging import follow
from learner.config import LearnerConfig
from learner.credit import Sample, replayed_sample
from learner.evaluation import evaluate
from learner.loss import Loss, Weights, balanced, of_chosen, without_stale_episodes
from learner.metrics import Means
from learner.minibatch import Anchors, Minibatch, build_minibatch
from learner.objective import Distribution
from learner.quarantine import Quarantine
from learner.team import Team, sum_each
from learner.trainable import trainable_parameters
from learner.work import EndOfBatch, FreshWork, ReplayWork, Restore, Rows, Work

# Above the rounding noise of a gradient that is zero in exact arithmetic (the KL at its reference,
# in a batch without any signal): with a smaller one Adam blows that noise up into full steps.
_ADAM_EPS = 1e-5


class Trainer:
    """Policy, reference and optimizer of one process; trains `policy` in place."""

    def __init__(
        self,
        policy: nn.Module,
        config: LearnerConfig,
        *,
        team: Team,
        candidate_rng: np.random.Generator,
        quarantine: Quarantine | None = None,
    ) -> None:
        self._config = config
        self._team = team
        self.policy = policy.to(config.device)
        self.reference = copy.deepcopy(self.policy).requires_grad_(False)
        self._parameters = trainable_parameters(self.policy, config.freeze)
        self._optimizer = torch.optim.Adam(self._parameters, lr=config.learning_rate, eps=_ADAM_EPS)
        is_aware = config.objective.action_aware_kl
        multipliers = [spec.kl_multiplier if is_aware else 1.0 for spec in ACTION_SPECS]
        multiplier = torch.tensor(multipliers, device=config.device)
        self._loss = Loss(config.objective, multiplier, candidate_rng, team)
        self._quarantine = quarantine
        self._version = 0

    def run(self, work: Work, means: Means) -> Weights | None:
        """Do one piece; the weights of the terms as they were used, where there are any."""
        match work:
            case FreshWork():
                return self._train_on_fresh(work, means)
            case ReplayWork():
                self._train_on_replayed(work, means)
                return work.weights
            case EndOfBatch():
                self.move_reference()
            case Restore():
                self.load_state_dict(work.state)
        return None

    # --- Training --------------------------------------------------------------------------------

    def _train_on_fresh(self, work: FreshWork, means: Means) -> Weights:
        """The epochs; the weights as they were used."""
        for settings in self._optimizer.param_groups:
            settings["lr"] = work.learning_rate
        self._version = work.policy_version
        weights = work.weights
        minibatches = [self._build(rows) for rows in work.minibatches]
        anchors = [self._anchor(minibatch, means) for minibatch in minibatches]
        limit = self._config.objective.stale_episode_nats
        if limit > 0:
            minibatches = without_stale_episodes(
                minibatches,
                anchors,
                work.num_episodes,
                limit_nats=limit,
                means=means,
                team=self._team,
            )
        is_balanced = not self._config.objective.balances_gradients
        for _ in range(self._config.epochs):
            for index in work.rng.permutation(len(minibatches)):
                minibatch, anchor = minibatches[index], anchors[index]
                output = self._evaluate(self.policy, minibatch.states)
                if self._has_left_prox(output, anchor, minibatch, means):
                    return weights
                seen = _means_of(minibatch, means)
                outcome = self._loss.outcome(output, minibatch, anchor, work.steps_per_unit, seen)
                if not is_balanced:
                    step = self._loss.step_term(
                        output, minibatch, anchor.reference, weights.num_candidates
                    ).mean()
                    share = minibatch.share
                    pair = outcome * share, step * share
                    weights = balanced(weights, *pair, self._parameters, means, self._team)
                    is_balanced = True
                states = self._loss.of_states(output, minibatch, anchor.reference, weights, seen)
                loss = (weights.outcome * outcome + states) * minibatch.share
                self._step_optimizer(loss, work.minibatches[index].whole, means)
        return weights

    def _train_on_replayed(self, work: ReplayWork, means: Means) -> None:
        """Updates of the step term, with the KL and entropy terms, on states of any age."""
        for rows in work.minibatches:
            minibatch = self._build(rows)
            with torch.no_grad():
                reference = self._evaluate(self.reference, minibatch.states)
            output = self._evaluate(self.policy, minibatch.states)
            loss = self._loss.of_states(
                output,
                minibatch,
                reference,
                work.weights,
                _means_of(minibatch, means),
                area="step_replay",
            )
            self._step_optimizer(loss * minibatch.share, rows.whole, means)

    def _evaluate(self, policy: nn.Module, states: PolicyBatch) -> Distribution:
        return evaluate(policy, states, self._config.precision)

    def _build(self, rows: Rows) -> Minibatch:
        return build_minibatch(rows.samples, device=self._config.device, share=rows.share)

    @torch.no_grad()
    def _anchor(self, minibatch: Minibatch, means: Means) -> Anchors:
        means = _means_of(minibatch, means)
        prox = self._evaluate(self.policy, minibatch.states)
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
        reference = self._evaluate(self.reference, minibatch.states)
        return Anchors(log_prox=log_prox, prox=prox, reference=reference)

    def _has_left_prox(
        self, output: Distribution, anchor: Anchors, minibatch: Minibatch, means: Means
    ) -> bool:
        """Whether the policy is so far from the start of the batch that its epochs end."""
        limit = self._config.objective.prox_kl_limit_nats
        if limit == 0:
            return False
        with torch.no_grad():
            own = objective.kl_divergence(output, anchor.prox, minibatch.legal).mean()
            kl = self._team.sum(own * minibatch.share).item()
        means.add_max("learner/kl_prox_max_nats", kl)
        means.add_total("learner/epochs_ended_early", kl > limit)
        return kl > limit

    def _step_optimizer(self, loss: Tensor, samples: Sequence[Sample], means: Means) -> None:
        """One clipped step; a gradient that is not finite is skipped, counted and kept.

        `loss` is this process's addend.
        """
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        grads = sum_each([p.grad for p in self._parameters], self._parameters, self._team)
        for parameter, grad in zip(self._parameters, grads, strict=True):
            parameter.grad = grad
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
    def log_ratios(self, records: Sequence[StepRecord]) -> np.ndarray:
        """`log pi - log mu` of the executed actions at the present weights; float64 [N]."""
        size, parts = self._config.minibatch_steps, []
        for start in range(0, len(records), size):
            samples = [replayed_sample(record) for record in records[start : start + size]]
            minibatch = build_minibatch(samples, device=self._config.device)
            output = self._evaluate(self.policy, minibatch.states)
            parts.append(of_chosen(output, minibatch) - minibatch.log_behaviour)
        return torch.cat(parts).double().cpu().numpy()

    def move_reference(self) -> None:
        """Let the reference follow the policy by `algo.reference_rate`."""
        follow(self.reference, self.policy, self._config.reference_rate)

    # --- State -----------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        """Equal for equal weights, bit for bit."""
        digest = hashlib.blake2b(digest_size=8)
        for value in self.policy.state_dict().values():
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def state_dict(self) -> dict[str, Any]:
        """Copies of weights, reference and optimizer."""
        return {
            "policy": copy.deepcopy(self.policy.state_dict()),
            "reference": copy.deepcopy(self.reference.state_dict()),
            "optimizer": copy.deepcopy(self._optimizer.state_dict()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict()`."""
        self.policy.load_state_dict(state["policy"])
        self.reference.load_state_dict(state["reference"])
        self._optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))


def _means_of(minibatch: Minibatch, means: Means) -> Means:
    """Where to note what a minibatch says; a borrowed row is noted by the process that owns it."""
    return means if minibatch.share else Means()
