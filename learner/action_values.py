# SPDX-License-Identifier: Apache-2.0
"""Step utilities where no world graph is: action values learnt from scored attempts.

Shape letters: B states, A legal actions, L reward layers, T steps.

A small network predicts what each action of a state returns in each layer, from the returns of the
actions that were executed:

    Q_l(o, a) ~ E[G_l | o, a],     u(a) = sum_l w_l t_l (Q_l(o, a) - mean_b Q_l(o, b)) / s_l

with the layers' weights w and running scales s of the outcome term. The trust t_l in [0, 1] is the
share that the action's own value takes off the error of the state's mean value, on attempts that
the network has not been fitted to:

    t_l = max(0, 1 - sum (G - Q(o, a))^2 / sum (G - mean_b Q(o, b))^2)

so that a network that cannot tell actions apart says nothing.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agent.policy import PolicyBatch
from agent.types import StepRecord
from envs.actions import NUM_TYPES, Head, types_with
from envs.types import LAYERS
from learner.config import LearnerConfig
from learner.metrics import Means
from learner.reservoir import copied
from learner.returns import discounted_returns
from learner.side_network import SideNetwork
from learner.types import Group, Member

_TRUST_DECAY = 0.9  # of the running sums of squared errors
_MIN_ERROR = 1e-8


class ActionValueNet(nn.Module):
    """`PolicyBatch` -> values [B, A, L]; zero everywhere at initialisation.

    Of an action it reads its type, its element and its span or tab, beside the state.
    """

    def __init__(self, batch: PolicyBatch, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.state = nn.Linear(batch.state.shape[1], width)
        self.kind = nn.Linear(NUM_TYPES, width, bias=False)
        self.element = nn.Linear(batch.element.shape[2], width, bias=False)
        self.span = nn.Linear(batch.span.shape[2], width, bias=False)
        self.tab = nn.Linear(batch.tab.shape[2], width, bias=False)
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, len(LAYERS))
        with torch.no_grad():
            for layer in (self.state, self.kind, self.element, self.span, self.tab, self.hidden):
                bound = layer.in_features**-0.5
                layer.weight.uniform_(-bound, bound, generator=generator)
                if layer.bias is not None:
                    layer.bias.zero_()
            self.out.weight.zero_()
            self.out.bias.zero_()

    def forward(self, batch: PolicyBatch) -> Tensor:
        """Values [B, A, L] in units of the layers' returns; of padding they mean nothing."""
        kind, argument = batch.flat_type, batch.flat_argument
        parts = self.state(batch.state)[:, None] + self.kind.weight.T[kind]
        parts = parts + _rows(self.element(batch.element), batch.flat_element)
        for head, rows in ((Head.SPAN, self.span(batch.span)), (Head.TAB, self.tab(batch.tab))):
            of_head = torch.isin(kind, torch.tensor(sorted(types_with(head)), device=kind.device))
            parts = parts + _rows(rows, torch.where(of_head, argument, -1))
        values: Tensor = self.out(torch.relu(self.hidden(torch.relu(parts))))
        return values


class ActionValues:
    """An `ActionValueNet`, the executed steps that it is fitted to, and how far it is trusted."""

    def __init__(self, config: LearnerConfig) -> None:
        self._config = config
        self._net: SideNetwork[ActionValueNet] = SideNetwork(
            config, ActionValueNet, name="action_value"
        )
        self._forget()

    def _forget(self) -> None:
        self._rng = np.random.default_rng([self._config.seed, 3])
        self._memory: deque[tuple[StepRecord, np.ndarray]] = deque()  # and its return [L]
        self._num_bytes = 0
        self._errors = np.zeros((2, len(LAYERS)))  # running: of the action's value, of the mean's

    @property
    def trust(self) -> np.ndarray:
        """float64 [L]; 0 before anything was predicted."""
        of_action, of_mean = self._errors
        share = 1.0 - of_action / np.maximum(of_mean, _MIN_ERROR)
        return np.where(of_mean > _MIN_ERROR, np.clip(share, 0.0, 1.0), 0.0)

    def with_utilities(
        self, groups: Sequence[Group], scales: np.ndarray, means: Means
    ) -> list[Group]:
        """The groups with utilities [A] at each step, none while nothing is trusted.

        `scales` [L] are what the outcome term divides deviations by. Judges the network on these
        attempts first.
        """
        if not self._net.is_built:
            return list(groups)
        values = {
            id(member): self._values(member.trajectory.steps)
            for group in groups
            for member in group.members
        }
        self._judge([(m, values[id(m)]) for g in groups if not g.is_replayed for m in g.members])
        for layer, trust in zip(LAYERS, self.trust, strict=True):
            means.add_total(f"learner/action_value_trust_{layer}", float(trust))
        if not self.trust.any():
            return list(groups)
        return [
            dataclasses.replace(
                group, members=tuple(self._told(m, values[id(m)], scales) for m in group.members)
            )
            for group in groups
        ]

    def fit(self, groups: Sequence[Group], means: Means) -> None:
        """Take in fresh attempts, and move the network towards the returns of those kept."""
        for group in groups:
            for member in () if group.is_replayed else group.members:
                self._keep(member)
        if not self._memory:
            return
        for _ in range(self._config.action_value_updates):
            count = min(self._config.step_replay_states, len(self._memory))
            picks = self._rng.choice(len(self._memory), size=count, replace=False)
            self._step([self._memory[int(pick)] for pick in picks], means)

    def _judge(self, fresh: Sequence[tuple[Member, Sequence[np.ndarray]]]) -> None:
        """Blend in the squared errors of attempts that nothing was fitted to yet."""
        pairs = [
            (target, np.stack([own[step.chosen], own.mean(axis=0)]))
            for member, values in fresh
            for step, target, own in zip(
                member.trajectory.steps, self._returns(member), values, strict=True
            )
            if not step.is_exogenous
        ]
        if not pairs:
            return
        errors = np.mean([np.square(target - predicted) for target, predicted in pairs], axis=0)
        decay = _TRUST_DECAY if self._errors.any() else 0.0
        self._errors = decay * self._errors + (1 - decay) * errors

    def _told(self, member: Member, values: Sequence[np.ndarray], scales: np.ndarray) -> Member:
        weights = self._config.objective.layer_weights or member.trajectory.layer_weights
        by_layer = np.asarray(weights, dtype=np.float64) * self.trust / scales
        limit = self._config.objective.max_advantage
        utilities = [
            np.clip((own - own.mean(axis=0)) @ by_layer, -limit, limit).astype(np.float16)
            for own in values
        ]
        steps = tuple(
            dataclasses.replace(step, utilities=of_step)
            for step, of_step in zip(member.trajectory.steps, utilities, strict=True)
        )
        trajectory = dataclasses.replace(member.trajectory, steps=steps)
        return dataclasses.replace(member, trajectory=trajectory)

    def _keep(self, member: Member) -> None:
        for step, target in zip(member.trajectory.steps, self._returns(member), strict=True):
            if step.is_exogenous:  # what came of it is not the action's
                continue
            bare = copied(dataclasses.replace(step, situation=step.situation[:0]))
            self._memory.append((bare, target.astype(np.float32)))
            self._num_bytes += bare.num_bytes()
        while self._num_bytes > self._config.action_value_bytes:
            self._num_bytes -= self._memory.popleft()[0].num_bytes()

    def _returns(self, member: Member) -> np.ndarray:
        """[T, L]"""
        return discounted_returns(member.score.rewards, self._config.objective.discounts)

    def _values(self, steps: Sequence[StepRecord]) -> list[np.ndarray]:
        """float64 [A, L] of each step, without gradient."""
        found: list[np.ndarray] = []
        size = self._config.minibatch_steps
        with torch.no_grad():
            for start in range(0, len(steps), size):
                batch = self._net.collate(steps[start : start + size])
                values = self._net(batch).double().cpu().numpy()
                legal = batch.flat_mask.cpu().numpy()
                found += [rows[mask] for rows, mask in zip(values, legal, strict=True)]
        return found

    def _step(self, samples: Sequence[tuple[StepRecord, np.ndarray]], means: Means) -> None:
        values = self._net(self._net.collate([step for step, _ in samples]))
        chosen = torch.tensor([step.chosen for step, _ in samples], device=values.device)
        targets = torch.from_numpy(np.stack([target for _, target in samples])).to(values.device)
        executed = values[torch.arange(len(samples), device=values.device), chosen]
        self._net.minimise((executed - targets).square().mean(), means)

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimizer, the kept steps, the running errors and the random state."""
        state = self._net.state_dict()
        if not state:
            return {}
        return {
            **state,
            "memory": list(self._memory),
            "errors": self._errors.copy(),
            "rng": self._rng.bit_generator.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`."""
        self._net.load_state_dict(state)
        self._forget()
        if not state:
            return
        self._memory = deque(state["memory"])
        self._num_bytes = sum(step.num_bytes() for step, _ in self._memory)
        self._errors = state["errors"].copy()
        self._rng.bit_generator.state = state["rng"]


def _rows(values: Tensor, rows: Tensor) -> Tensor:
    """Rows [B, A, W] of values [B, N, W]; zeros where `rows` [B, A] is -1."""
    index = rows.clamp(min=0)[..., None].expand(-1, -1, values.shape[2])
    return values.gather(1, index) * (rows >= 0)[..., None]
