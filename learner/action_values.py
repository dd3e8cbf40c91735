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

so that a network that cannot tell actions apart says nothing. Like the critic it shares nothing
with the policy and reads the same stored inputs.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agent.policy import PolicyBatch, collate
from agent.types import StepRecord
from envs.actions import ACTION_SPECS, NUM_TYPES, Head, enumerate_actions
from envs.types import LAYERS
from learner.config import LearnerConfig
from learner.metrics import Means
from learner.returns import discounted_returns
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
            of_head = torch.isin(kind, _types_with(head, kind.device))
            parts = parts + _rows(rows, torch.where(of_head, argument, -1))
        values: Tensor = self.out(torch.relu(self.hidden(torch.relu(parts))))
        return values


class ActionValues:
    """An `ActionValueNet`, the executed steps that it is fitted to, and how far it is trusted."""

    def __init__(self, config: LearnerConfig) -> None:
        self._config = config
        self._net: ActionValueNet | None = None
        self._optimizer: torch.optim.Adam | None = None
        self._rng = np.random.default_rng([config.seed, 3])
        self._memory: deque[tuple[StepRecord, int, np.ndarray]] = deque()
        self._num_bytes = 0
        self._errors = np.zeros((2, len(LAYERS)))  # running: of the action's value, of the mean's

    @property
    def trust(self) -> np.ndarray:
        """float64 [L]; 0 before anything was predicted."""
        of_action, of_mean = self._errors
        return np.where(
            of_mean > _MIN_ERROR,
            np.clip(1.0 - of_action / np.maximum(of_mean, _MIN_ERROR), 0.0, 1.0),
            0.0,
        )

    def with_utilities(
        self, groups: Sequence[Group], scales: np.ndarray, means: Means
    ) -> list[Group]:
        """The groups with utilities [A] at each step, none while nothing is trusted.

        `scales` [L] are what the outcome term divides deviations by. Judges the network on these
        attempts first.
        """
        if self._net is None:
            return list(groups)
        members = [member for group in groups for member in group.members]
        values = iter(self._values([s for m in members for s in m.trajectory.steps]))
        of_members = [[next(values) for _ in m.trajectory.steps] for m in members]
        self._judge(members, of_members)
        for layer, trust in zip(LAYERS, self.trust, strict=True):
            means.add_total(f"learner/action_value_trust_{layer}", float(trust))
        if not self.trust.any():
            return list(groups)
        told = iter([self._told(m, v, scales) for m, v in zip(members, of_members, strict=True)])
        return [
            dataclasses.replace(group, members=tuple(next(told) for _ in group.members))
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

    def _judge(self, members: Sequence[Member], values: Sequence[Sequence[np.ndarray]]) -> None:
        """Blend in the squared errors of attempts that nothing was fitted to yet."""
        errors, count = np.zeros((2, len(LAYERS))), 0
        for member, of_member in zip(members, values, strict=True):
            returns = discounted_returns(member.score.rewards, self._config.objective.discounts)
            for step, own, target in zip(member.trajectory.steps, of_member, returns, strict=True):
                errors += np.square(target - np.stack([own[step.chosen], own.mean(axis=0)]))
                count += 1
        if count:
            decay = _TRUST_DECAY if self._errors.any() else 0.0
            self._errors = decay * self._errors + (1 - decay) * errors / count

    def _told(self, member: Member, values: Sequence[np.ndarray], scales: np.ndarray) -> Member:
        weights = self._config.objective.layer_weights or member.trajectory.layer_weights
        by_layer = np.asarray(weights, dtype=np.float64) * self.trust / scales
        limit = self._config.objective.max_advantage
        steps = tuple(
            dataclasses.replace(
                step,
                utilities=np.clip((own - own.mean(axis=0)) @ by_layer, -limit, limit).astype(
                    np.float16
                ),
            )
            for step, own in zip(member.trajectory.steps, values, strict=True)
        )
        return dataclasses.replace(
            member, trajectory=dataclasses.replace(member.trajectory, steps=steps)
        )

    def _keep(self, member: Member) -> None:
        returns = discounted_returns(member.score.rewards, self._config.objective.discounts)
        for step, target in zip(member.trajectory.steps, returns, strict=True):
            if step.is_exogenous:  # what came of it is not the action's
                continue
            bare = dataclasses.replace(step, situation=step.situation[:0])
            self._memory.append((bare, step.chosen, target.astype(np.float32)))
            self._num_bytes += bare.num_bytes()
        while self._num_bytes > self._config.action_value_bytes and len(self._memory) > 1:
            self._num_bytes -= self._memory.popleft()[0].num_bytes()

    def _values(self, steps: Sequence[StepRecord]) -> list[np.ndarray]:
        """float64 [A, L] of each step, without gradient."""
        found: list[np.ndarray] = []
        size = self._config.minibatch_steps
        with torch.no_grad():
            for start in range(0, len(steps), size):
                part = steps[start : start + size]
                batch = self._collate(part)
                values = self._network(batch)(batch).double().cpu().numpy()
                for step, rows in zip(part, values, strict=True):
                    found.append(rows[: len(enumerate_actions(step.mask))])
        return found

    def _step(self, samples: Sequence[tuple[StepRecord, int, np.ndarray]], means: Means) -> None:
        batch = self._collate([step for step, _, _ in samples])
        net = self._network(batch)
        assert self._optimizer is not None
        chosen = torch.tensor([row for _, row, _ in samples], device=batch.flat_type.device)
        targets = torch.from_numpy(np.stack([target for _, _, target in samples])).to(chosen.device)
        executed = net(batch)[torch.arange(len(samples), device=chosen.device), chosen]
        loss = (executed - targets).square().mean()
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), self._config.max_grad_norm)
        is_finite = bool(torch.isfinite(norm))
        means.add("learner/action_value_loss", loss.item())
        means.add_total("learner/skipped_action_value_steps", not is_finite)
        if is_finite:
            self._optimizer.step()

    def _collate(self, steps: Sequence[StepRecord]) -> PolicyBatch:
        device = self._config.device
        return collate([s.inputs for s in steps], [s.mask for s in steps], device=device)

    def _network(self, batch: PolicyBatch) -> ActionValueNet:
        if self._net is None:
            generator = torch.Generator().manual_seed(self._config.seed)
            net = ActionValueNet(batch, self._config.critic_width, generator)
            self._net = net.to(self._config.device)
            self._optimizer = torch.optim.Adam(
                self._net.parameters(), lr=self._config.critic_learning_rate
            )
        return self._net

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimizer, the kept steps, the running errors and the random state."""
        if self._net is None or self._optimizer is None:
            return {}
        return {
            "net": {name: value.clone() for name, value in self._net.state_dict().items()},
            "optimizer": self._optimizer.state_dict(),
            "memory": list(self._memory),
            "errors": self._errors.copy(),
            "rng": self._rng.bit_generator.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`."""
        if not state:
            return
        self._memory = deque(state["memory"])
        self._num_bytes = sum(step.num_bytes() for step, _, _ in self._memory)
        self._network(self._collate([self._memory[0][0]]))
        assert self._net is not None and self._optimizer is not None
        self._net.load_state_dict(state["net"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._errors = state["errors"].copy()
        self._rng.bit_generator.state = state["rng"]


def _rows(values: Tensor, rows: Tensor) -> Tensor:
    """Rows [B, A, W] of values [B, N, W]; zeros where `rows` [B, A] is -1."""
    index = rows.clamp(min=0)[..., None].expand(-1, -1, values.shape[2])
    return values.gather(1, index) * (rows >= 0)[..., None]


def _types_with(head: Head, device: torch.device) -> Tensor:
    types = [kind for kind, spec in enumerate(ACTION_SPECS) if head in spec.heads]
    return torch.tensor(types, device=device)
