# SPDX-License-Identifier: Apache-2.0
"""A value network beside the policy, for the PPO baseline: one value per reward layer.

Shape letters: B states, L reward layers. It reads the policy's stored inputs: the state's features,
and mean and maximum of those of the elements and spans that an action can use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agent.policy import PolicyBatch
from agent.types import StepRecord
from envs.types import LAYERS
from learner.config import LearnerConfig, ObjectiveConfig, ValueTarget
from learner.metrics import Means
from learner.side_network import SideNetwork
from learner.types import Group
from learner.values import generalised_advantages, vtrace


class ValueNet(nn.Module):
    """`PolicyBatch` -> values [B, L]; zero everywhere at initialisation."""

    def __init__(self, batch: PolicyBatch, width: int, generator: torch.Generator) -> None:
        super().__init__()
        num_features = summary(batch).shape[1]
        self.hidden = nn.Linear(num_features, width)
        self.out = nn.Linear(width, len(LAYERS))
        bound = 1 / math.sqrt(num_features)
        with torch.no_grad():
            self.hidden.weight.uniform_(-bound, bound, generator=generator)
            self.hidden.bias.zero_()
            self.out.weight.zero_()
            self.out.bias.zero_()

    def forward(self, batch: PolicyBatch) -> Tensor:
        """Values [B, L] in units of the layers' returns."""
        values: Tensor = self.out(torch.tanh(self.hidden(summary(batch))))
        return values


def summary(batch: PolicyBatch) -> Tensor:
    """State features and pooled rows, [B, F]."""
    parts = [batch.state]
    for rows, mask in ((batch.element, batch.element_mask), (batch.span, batch.span_mask)):
        usable = mask.any(dim=1)[..., None]  # [B, N, 1]
        count = usable.sum(dim=1).clamp(min=1)
        parts.append(torch.where(usable, rows, 0.0).sum(dim=1) / count)
        highest = rows.masked_fill(~usable, -math.inf).amax(dim=1)
        parts.append(torch.where(usable.any(dim=1), highest, 0.0))
    return torch.cat(parts, dim=1)


class Critic:
    """A `ValueNet` and its training.

    Loss: mean squared error against the targets that the caller gives.
    """

    def __init__(self, config: LearnerConfig) -> None:
        self._config = config
        self._net: SideNetwork[ValueNet] = SideNetwork(config, ValueNet, name="critic")
        self._rng = self._first_draws()

    def values(self, records: Sequence[StepRecord]) -> np.ndarray:
        """float64 [len(records), L], without gradient."""
        size = self._config.minibatch_steps
        with torch.no_grad():
            parts = [
                self._net(self._net.collate(records[start : start + size]))
                for start in range(0, len(records), size)
            ]
        return torch.cat(parts).double().cpu().numpy()

    def fit(self, records: Sequence[StepRecord], targets: np.ndarray, means: Means) -> None:
        """As many passes over the steps as the policy makes; `targets` [len(records), L]."""
        wanted = torch.from_numpy(targets).float().to(self._config.device)
        for _ in range(self._config.epochs):
            order = self._rng.permutation(len(records))
            count = -(-len(records) // self._config.minibatch_steps)
            for part in np.array_split(order, count):
                predicted = self._net(self._net.collate([records[i] for i in part]))
                self._net.minimise((predicted - wanted[part]).square().mean(), means)

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimizer and random state; empty before the first batch."""
        state = self._net.state_dict()
        return {**state, "rng": self._rng.bit_generator.state} if state else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`."""
        self._net.load_state_dict(state)
        self._rng = self._first_draws()
        if state:
            self._rng.bit_generator.state = state["rng"]

    def _first_draws(self) -> np.random.Generator:
        return np.random.default_rng([self._config.seed, 2])


def critic_credit(
    groups: Sequence[Group],
    critic: Critic,
    log_ratios: Callable[[Sequence[StepRecord]], np.ndarray],
    config: ObjectiveConfig,
) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """Advantages [T, L] of every member by group, and the critic's targets [N, L] in that order.

    `log_ratios` gives `log pi - log mu` [N] of the executed actions; only V-trace asks for it.
    """
    members = [member for group in groups for member in group.members]
    records = [step for member in members for step in member.trajectory.steps]
    if not records:
        return [[np.zeros((0, len(LAYERS))) for _ in g.members] for g in groups], np.zeros((0, 3))
    is_vtrace = config.value_target is ValueTarget.VTRACE
    ratios = np.exp(log_ratios(records)) if is_vtrace else np.ones(len(records))
    values = critic.values(records)
    results, start = [], 0
    for member in members:
        stop = start + len(member.trajectory.steps)
        rewards, own = member.score.rewards.astype(np.float64), values[start:stop]
        if is_vtrace:
            pair = vtrace(rewards, own, ratios[start:stop], config.discounts, config.gae_lambda)
        else:
            gains = generalised_advantages(rewards, own, config.discounts, config.gae_lambda)
            pair = (gains, gains + own)
        results.append(pair)
        start = stop
    advantages = iter([gains for gains, _ in results])
    by_group = [[next(advantages) for _ in group.members] for group in groups]
    return by_group, np.concatenate([targets for _, targets in results])
