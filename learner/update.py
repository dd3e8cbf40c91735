# SPDX-License-Identifier: Apache-2.0
"""The learner: one batch of scored groups in, better weights and a report out.

Order of one update: the teacher's utilities, if the learner itself is the teacher; advantages; prox
and reference log-probs under no_grad; fresh epochs with `beta L_out + alpha L_step + lam KL -
entropy`; the critic or the action values, if there are any; the fresh steps enter the reservoir;
replayed step-term updates; EMAs of the reference and of the weights that act; KL controller; policy
version + 1.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from envs.types import LAYERS
from learner.action_values import ActionValues
from learner.averaging import follow
from learner.calibration import CalibrationGate
from learner.candidates import num_candidates
from learner.config import Baseline, LearnerConfig, ReplayConfig, StepTeacher
from learner.credit import Batch, CreditAssigner, replayed_sample
from learner.critic import Critic, critic_credit
from learner.loss import Weights
from learner.metrics import Means
from learner.objective import KLController
from learner.processes import Processes
from learner.quarantine import Quarantine
from learner.reservoir import StepReservoir
from learner.schedule import ScheduleState
from learner.siblings import with_sibling_utilities
from learner.team import Alone, Team
from learner.trainer import Trainer
from learner.types import Group
from learner.work import (
    EndOfBatch,
    FreshWork,
    ReplayWork,
    Restore,
    Work,
    for_each,
    owners_of_groups,
    shares,
)


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
        self._others = None if config.num_processes == 1 else Processes(policy, config)
        team: Team = Alone() if self._others is None else self._others.team
        self._config = config
        self._credit = CreditAssigner(
            config.objective, max_lag=max_lag, acting_lag=config.acting_lag
        )
        self._controller = KLController(config.objective)
        self._schedule = ScheduleState(config.objective)
        self._gate = CalibrationGate()
        self._critic = Critic(config)
        self._action_values = ActionValues(config)
        self._reservoir = StepReservoir(config.reservoir_bytes)
        self._rng = np.random.default_rng(config.seed)
        self._candidate_rng = np.random.default_rng([config.seed, 1])
        self._trainer = Trainer(
            policy,
            config,
            team=team,
            candidate_rng=self._candidate_rng,
            quarantine=quarantine,
        )
        # An average of the trained weights, published instead of them.
        self._acting = copy.deepcopy(policy) if config.acting_rate < 1.0 else None
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
        rate = self._learning_rate(progress)
        if validation_score is not None:
            self._schedule.observe(validation_score)
            means.add_total("learner/validation_score", validation_score)
        if self._config.step_teacher is StepTeacher.SIBLINGS:
            guides = self._config.sibling_guides
            groups = [with_sibling_utilities(group, guides) for group in groups]
        if self._config.step_teacher is StepTeacher.VALUES:
            groups = self._action_values.with_utilities(groups, self._credit.scales, means)
        if self._config.objective.gates_step:
            self._gate.observe(groups, means)
        weights = self._weights(progress)
        batch, targets = self._credit_of(groups, means)
        weights = self._train_on_fresh(groups, batch, weights, rate, means)
        if targets is not None:
            self._critic.fit([sample.record for sample in batch.samples], targets, means)
        if self._config.step_teacher is StepTeacher.VALUES:
            self._action_values.fit(groups, means)
        if self._config.objective.step_weight > 0:
            self._remember(batch, groups, means)
            self._train_on_reservoir(weights, means)
        self._run([EndOfBatch()] * self._config.num_processes, means)
        if self._acting is not None:
            follow(self._acting, self._trainer.policy, self._config.acting_rate)
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
            groups, self._critic, self._trainer.log_ratios, self._config.objective
        )
        batch = self._credit.assign(
            groups, policy_version=self._version, means=means, deviations=deviations
        )
        return batch, targets

    # --- Training --------------------------------------------------------------------------------

    def _run(self, works: Sequence[Work], means: Means) -> Weights | None:
        """One piece of the update in all processes; see `Trainer.run`."""
        if self._others is None:
            return self._trainer.run(works[0], means)
        return self._others.run(works, self._trainer, means)

    def _train_on_fresh(
        self, groups: Sequence[Group], batch: Batch, weights: Weights, rate: float, means: Means
    ) -> Weights:
        """The epochs, on a random partition into minibatches of about equal size."""
        samples, count = batch.samples, self._config.num_processes
        order = self._rng.permutation(len(samples))
        parts = np.array_split(order, -(-len(samples) // self._config.minibatch_steps))
        sizes = [sum(len(m.trajectory.steps) for m in group.members) for group in groups]
        owners = np.repeat(owners_of_groups(sizes, count), sizes)
        rows = shares(
            [[samples[i] for i in part] for part in parts], [owners[part] for part in parts], count
        )
        work = FreshWork(
            minibatches=(),
            num_episodes=batch.num_episodes,
            steps_per_unit=batch.steps_per_unit,
            weights=weights,
            learning_rate=rate,
            policy_version=self._version,
            rng=self._rng,
        )
        used = self._run(for_each(work, rows), means)
        assert used is not None
        return used

    def _remember(self, batch: Batch, groups: Sequence[Group], means: Means) -> None:
        """Fresh states with utilities enter the reservoir; their texts, already read, do not.

        So do the same states under other questions.
        """
        for group in groups:
            for member in () if group.is_replayed else group.members:
                for record in member.trajectory.hindsight:
                    if len(record.utilities):
                        self._reservoir.add(record)
        num_scored = 0
        for sample in batch.samples:
            record = sample.record
            num_scored += len(record.utilities) > 0
            if len(record.utilities) and not sample.is_replayed:
                if len(record.situation):
                    record = dataclasses.replace(record, situation=record.situation[:0])
                self._reservoir.add(record)
        if self._config.step_teacher in (StepTeacher.SIBLINGS, StepTeacher.VALUES):
            means.add_total("learner/steps_with_utilities", num_scored)

    def _train_on_reservoir(self, weights: Weights, means: Means) -> None:
        """Updates of the step term on states of any age, dealt out to the processes in turn."""
        config, count = self._config, self._config.num_processes
        if not len(self._reservoir) or not config.step_replay_updates:
            return
        draws = [
            [
                replayed_sample(r)
                for r in self._reservoir.sample(config.step_replay_states, self._rng)
            ]
            for _ in range(config.step_replay_updates)
        ]
        rows = shares(draws, [np.arange(len(draw)) % count for draw in draws], count)
        self._run(for_each(ReplayWork(minibatches=(), weights=weights), rows), means)

    def _learning_rate(self, progress: float) -> float:
        if not 0.0 <= progress <= 1.0:
            raise ValueError(f"progress: expected 0..1, got {progress}")
        first, last = self._config.learning_rate, self._config.final_learning_rate
        return first + (last - first) * progress

    # --- Weights and state -----------------------------------------------------------------------

    def close(self) -> None:
        """Give further processes back; nothing else can be done afterwards where there are any."""
        if self._others is not None:
            self._others.close()

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the parameters and buffers of the policy that is to act, by name.

        With `acting_rate` < 1 these are not the trained ones.
        """
        acting = self._trainer.policy if self._acting is None else self._acting
        state = acting.state_dict()
        return {name: value.detach().cpu().numpy().copy() for name, value in state.items()}

    def state_dict(self) -> dict[str, Any]:
        """All that the next update depends on, the reservoir included.

        `acting` is only there where the weights that act are others than the trained ones.
        """
        acting = {} if self._acting is None else {"acting": self._acting.state_dict()}
        return {
            **copy.deepcopy(acting),
            **self._trainer.state_dict(),
            "credit": self._credit.state_dict(),
            "controller": self._controller.state_dict(),
            "schedule": self._schedule.state_dict(),
            "gate": self._gate.state_dict(),
            "critic": copy.deepcopy(self._critic.state_dict()),
            "action_values": copy.deepcopy(self._action_values.state_dict()),
            "reservoir": self._reservoir.state_dict(),
            "rng": self._rng.bit_generator.state,
            "candidate_rng": self._candidate_rng.bit_generator.state,
            "policy_version": self._version,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict()`: the next update gives bit-equal weights."""
        names = ("policy", "reference", "optimizer")
        restore = Restore(state={name: state[name] for name in names})
        self._run([restore] * self._config.num_processes, Means())
        if self._acting is not None:
            self._acting.load_state_dict(state.get("acting", state["policy"]))
        self._credit.load_state_dict(state["credit"])
        self._controller.load_state_dict(state["controller"])
        self._reservoir.load_state_dict(state["reservoir"])
        self._rng.bit_generator.state = state["rng"]
        if "schedule" in state:  # checkpoints of earlier versions have none of these
            self._candidate_rng.bit_generator.state = state["candidate_rng"]
            self._schedule.load_state_dict(state["schedule"])
            self._gate.load_state_dict(state["gate"])
            self._critic.load_state_dict(state["critic"])
            self._action_values.load_state_dict(state.get("action_values", {}))
        self._version = state["policy_version"]
