# SPDX-License-Identifier: Apache-2.0
"""Which used groups are replayed, and what corrects for the choice; pure functions, no torch.

Lengths: N groups that may be replayed, M draws among them.

Proportional prioritised replay (Schaul et al. 2016, arXiv 1511.05952) with groups as the unit and
age as a decay (FreshPER, arXiv 2604.16918):

    p_g = (c_A mean|A| + c_R max(0, mean return) + c_L length / longest + floor)^a
          * exp(-age / tau),                               P_g = p_g / sum p
    w_g = (N P_g)^-b, divided by its mean over the draws, then capped

A priority of the return alone would hardly ever replay a failure; the advantage is large wherever
the attempts of a group differ, whichever way. The floor keeps every group reachable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learner.config import ReplayConfig
from learner.types import Group


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupFacts:
    """What the priority of one used group is made of."""

    advantage: float  # mean absolute advantage when it was last trained on
    mean_return: float  # of its members, summed over steps and weighted layers
    num_steps: float  # mean over its members
    age: int  # versions since its newest step


def group_facts(group: Group, advantage: float, age: int) -> GroupFacts:
    """What counts of `group`."""
    returns = [m.score.rewards.sum(axis=0) @ m.trajectory.layer_weights for m in group.members]
    return GroupFacts(
        advantage=advantage,
        mean_return=float(np.mean(returns)),
        num_steps=float(np.mean([len(m.trajectory.steps) for m in group.members])),
        age=age,
    )


def sampling_probabilities(groups: Sequence[GroupFacts], config: ReplayConfig) -> np.ndarray:
    """float64 [N], summing to 1."""
    longest = max(group.num_steps for group in groups)
    sizes = np.array(
        [
            config.priority_advantage * group.advantage
            + config.priority_return * max(0.0, group.mean_return)
            + config.priority_length * group.num_steps / longest
            + config.priority_floor
            for group in groups
        ],
        dtype=np.float64,
    )
    ages = np.array([group.age for group in groups], dtype=np.float64)
    # Only the differences of the ages matter; the youngest has decay 1, so the sum is never 0.
    decay = np.exp(-(ages - ages.min()) / config.age_decay_versions)
    weights = sizes**config.priority_exponent * decay
    total: float = weights.sum()
    return weights / total


def importance_weights(probabilities: np.ndarray, exponent: float) -> np.ndarray:
    """`(N P)^-b`, float64 [N]; with b = 1 a weighted draw has the uniform mean as expectation."""
    scaled: np.ndarray = (len(probabilities) * probabilities) ** -exponent
    return scaled


def draw(
    probabilities: np.ndarray, num_draws: int, config: ReplayConfig, rng: np.random.Generator
) -> dict[int, float]:
    """Index of each group drawn -> its weight in the outcome term.

    Draws are independent, as the correction assumes; a group that is drawn twice comes once, with
    twice the weight. Weights are divided by their mean over the draws and then capped.
    """
    picks = rng.choice(len(probabilities), size=num_draws, p=probabilities).tolist()
    weights = importance_weights(probabilities, config.importance_exponent)
    mean = float(np.mean(weights[picks]))
    return {
        pick: min(picks.count(pick) * float(weights[pick]) / mean, config.max_importance_weight)
        for pick in sorted(set(picks))
    }
