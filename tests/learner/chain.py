# SPDX-License-Identifier: Apache-2.0
"""Tabular worlds for learning curves: a chain that must be walked without one mistake, and others.

Everything that learns is the product's: returns, baselines, scales, outcome and step terms,
schedule. Only the policy is a table, trained by plain gradient steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learner.config import ObjectiveConfig
from learner.objective import outcome_loss
from learner.returns import (
    LayerScales,
    advantages,
    discounted_returns,
    leave_one_out_deviations,
)
from learner.schedule import ScheduleState
from learner.step_terms import bradley_terry_loss

NUM_ACTIONS, EPISODES, REFERENCE_RATE = 4, 32, 0.02


@dataclass(frozen=True, kw_only=True)
class Chain:
    """T states, four actions; success only if the right action (0) is taken in every state."""

    length: int
    misled_at: int = -1  # a state where the evaluator prefers action 1
    noise: float = 0.0  # of the evaluator, in units of the gap between right and wrong

    def utilities(self, rng: np.random.Generator) -> np.ndarray:
        """[T, 4]"""
        table = np.zeros((self.length, NUM_ACTIONS))
        table[:, 0] = 1.0
        if self.misled_at >= 0:
            table[self.misled_at] = [0.0, 1.0, 0.0, 0.0]
        return table + self.noise * rng.normal(size=table.shape)


def train_chain(
    chain: Chain,
    config: ObjectiveConfig,
    *,
    learning_rate: float,
    updates: int,
    seed: int,
    anchor: float = 1.0,
    temperature: float = 0.25,
) -> float:
    """Product over the states of the right action's probability, after training."""
    rng = np.random.default_rng(seed)
    logits = torch.zeros(chain.length, NUM_ACTIONS, dtype=torch.float64, requires_grad=True)
    reference = logits.detach().clone()
    scales = LayerScales(1, decay=config.scale_decay, min_scale=config.min_scale)
    schedule = ScheduleState(config)
    states = np.arange(chain.length)
    for update in range(updates):
        weights = schedule.weights(update / updates)
        log_policy = torch.log_softmax(logits, 1)
        chances = log_policy.detach().exp().numpy()
        cumulative = chances.cumsum(1)[None]
        actions = (rng.random((EPISODES, chain.length, 1)) > cumulative).sum(2).clip(max=3)
        rewards = np.zeros((EPISODES, chain.length, 1))
        rewards[:, -1, 0] = (actions == 0).all(axis=1)
        deviations = leave_one_out_deviations([discounted_returns(r, (1.0,)) for r in rewards])
        scales.update([deviations])
        values = [
            advantages(
                d,
                layer_weights=(1.0,),
                scales=scales.scales,
                max_advantage=config.max_advantage,
            )
            for d in deviations
        ]
        log_chosen = log_policy[np.tile(states, EPISODES), actions.ravel()]
        term = outcome_loss(
            log_chosen,
            log_chosen.detach(),
            log_chosen.detach(),
            torch.from_numpy(np.concatenate(values)),
            torch.ones(EPISODES * chain.length, dtype=torch.bool),
            config=config,
        )
        log_reference = torch.log_softmax(reference, 1)
        step = bradley_terry_loss(
            log_policy,
            log_reference,
            torch.from_numpy(chain.utilities(rng)),
            torch.ones(chain.length, NUM_ACTIONS, dtype=torch.bool),
            anchor=anchor,
            temperature=temperature,
        )
        # Sums over the states: a state's gradient does not depend on how many others there are.
        loss = weights.outcome * term.loss.sum() / EPISODES + weights.step * step.sum()
        (gradient,) = torch.autograd.grad(loss, logits)
        with torch.no_grad():
            logits -= learning_rate * gradient
            reference.lerp_(logits, REFERENCE_RATE)
    return float(torch.softmax(logits.detach(), 1)[:, 0].prod())


# --- Worlds of one state per step -----------------------------------------------------------------

Rewards = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def train_steps(
    rewards_of: Rewards,
    *,
    num_steps: int,
    num_actions: int,
    stop_action: int | None,
    discounts: tuple[float, ...],
    layer_weights: tuple[float, ...],
    learning_rate: float,
    updates: int,
    seed: int,
) -> tuple[Tensor, float]:
    """Chances [T, A] after training, and the mean length at the end; a table by step.

    `rewards_of` gives rewards [T_i, L] of one episode's actions [T_i]. An episode ends with the
    stop action.
    """
    rng = np.random.default_rng(seed)
    config = ObjectiveConfig()
    logits = torch.zeros(num_steps, num_actions, dtype=torch.float64, requires_grad=True)
    scales = LayerScales(len(discounts), decay=0.9, min_scale=config.min_scale)
    lengths: list[int] = []
    for _ in range(updates):
        log_policy = torch.log_softmax(logits, 1)
        cumulative = log_policy.detach().exp().numpy().cumsum(1)
        groups, places, chosen = [], [], []
        lengths = []
        for _ in range(EPISODES // 8):
            returns = []
            for _ in range(8):
                draws = rng.random((num_steps, 1))
                actions = (draws > cumulative).sum(1).clip(max=num_actions - 1)
                if stop_action is not None and (actions == stop_action).any():
                    actions = actions[: int(np.argmax(actions == stop_action)) + 1]
                returns.append(discounted_returns(rewards_of(actions, rng), discounts))
                places.append(np.arange(len(actions)))
                chosen.append(actions)
                lengths.append(len(actions))
            groups.append(leave_one_out_deviations(returns))
        scales.update(groups)
        values = [
            advantages(d, layer_weights=layer_weights, scales=scales.scales, max_advantage=5.0)
            for group in groups
            for d in group
        ]
        log_chosen = log_policy[np.concatenate(places), np.concatenate(chosen)]
        term = outcome_loss(
            log_chosen,
            log_chosen.detach(),
            log_chosen.detach(),
            torch.from_numpy(np.concatenate(values)),
            torch.ones(len(log_chosen), dtype=torch.bool),
            config=config,
        )
        (gradient,) = torch.autograd.grad(term.loss.sum() / EPISODES, logits)
        with torch.no_grad():
            logits -= learning_rate * gradient
    return torch.softmax(logits.detach(), 1), float(np.mean(lengths))
