# SPDX-License-Identifier: Apache-2.0
"""Advantages from a critic's values, layer by layer. No torch.

Lengths: T steps of one episode, L reward layers. The value after the last step is 0: an episode
ends with an answer or at its step limit, which is part of the task and an input of the policy, so
nothing is bootstrapped. Episodes that the world broke never get here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def generalised_advantages(
    rewards: np.ndarray, values: np.ndarray, discounts: Sequence[float], lam: float
) -> np.ndarray:
    """GAE with one discount per layer; rewards and values [T, L] -> float64 [T, L].

        delta_t = r_t + gamma_l V_{t+1} - V_t,   A_t = delta_t + gamma_l lam A_{t+1}

    Generalised advantage estimation (arXiv 1506.02438). The targets of the values are `A + V`.
    """
    gammas = np.asarray(discounts, dtype=np.float64)
    result = np.zeros(rewards.shape, dtype=np.float64)
    later = np.zeros(len(gammas))
    next_value = np.zeros(len(gammas))
    for step in range(len(rewards) - 1, -1, -1):
        delta = rewards[step] + gammas * next_value - values[step]
        later = delta + gammas * lam * later
        result[step], next_value = later, values[step]
    return result


def vtrace(
    rewards: np.ndarray,
    values: np.ndarray,
    ratios: np.ndarray,
    discounts: Sequence[float],
    lam: float,
) -> tuple[np.ndarray, np.ndarray]:
    """V-trace of IMPALA (arXiv 1802.01561) with both caps at 1; -> advantages and targets [T, L].

        rho_t = min(1, pi / mu),   c_t = lam rho_t
        v_t = V_t + rho_t (r_t + gamma V_{t+1} - V_t) + gamma c_t (v_{t+1} - V_{t+1})
        A_t = r_t + gamma v_{t+1} - V_t

    `ratios` [T] are pi / mu of the executed actions. The advantage comes without its factor rho_t,
    which the outcome term applies as its importance weight. With ratios and lam of 1, v is the
    return to the end of the episode.
    """
    gammas = np.asarray(discounts, dtype=np.float64)
    rho = np.minimum(1.0, ratios)
    targets = np.zeros(rewards.shape, dtype=np.float64)
    advantages = np.zeros(rewards.shape, dtype=np.float64)
    next_value = next_target = np.zeros(len(gammas))
    for step in range(len(rewards) - 1, -1, -1):
        delta = rho[step] * (rewards[step] + gammas * next_value - values[step])
        trace = gammas * lam * rho[step] * (next_target - next_value)
        targets[step] = values[step] + delta + trace
        advantages[step] = rewards[step] + gammas * next_target - values[step]
        next_value, next_target = values[step], targets[step]
    return advantages, targets
