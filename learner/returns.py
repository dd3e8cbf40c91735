# SPDX-License-Identifier: Apache-2.0
"""From layer rewards to advantages: returns, leave-one-out baselines and layer scales. No torch.

Lengths: n members of a group, T steps of a member, L reward layers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def discounted_returns(rewards: np.ndarray, discounts: Sequence[float]) -> np.ndarray:
    """Rewards to go of every layer, each with its own discount; [T, L] -> float64 [T, L].

    `G^l_t = sum_{k >= t} gamma_l^(k - t) r^l_k`. By linearity the policy gradient of the weighted
    sum is the weighted sum of the layers' own gradients. Left out, as everywhere in practice: the
    prefactor `gamma_l^t` of the exact discounted gradient.
    """
    gammas = np.asarray(discounts, dtype=np.float64)
    if rewards.ndim != 2 or rewards.shape[1] != len(gammas):
        raise ValueError(f"rewards: expected shape [T, {len(gammas)}], got {rewards.shape}")
    returns = np.zeros(rewards.shape, dtype=np.float64)
    later = np.zeros(len(gammas))
    for step in range(len(rewards) - 1, -1, -1):
        later = rewards[step] + gammas * later
        returns[step] = later
    return returns


def leave_one_out_deviations(returns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns minus a baseline made of the *other* members; n arrays [T_i, L] -> the same shapes.

    `b_{i,t} = 1/(n-1) * sum_{j != i} G_{j,t}`, time-aligned, with `G_{j,t} = 0` once member j has
    ended: averaging over the members still alive would bias the gradient. The baseline does not
    depend on the member's own actions, so the gradient stays exact, also when the members come
    from different policy versions. A group of one has no baseline and deviates by 0, never by its
    raw return. RLOO (arXiv 2402.14740) per step and layer; without the division by the group's
    standard deviation, as in Dr. GRPO (arXiv 2503.20783).
    """
    if len(returns) == 1:
        return [np.zeros_like(returns[0])]
    longest = max(len(member) for member in returns)
    padded = np.zeros((len(returns), longest, returns[0].shape[1]))
    for row, member in zip(padded, returns, strict=True):
        row[: len(member)] = member
    # Differences first: members that are equal then deviate by exactly 0, not by rounding noise.
    deviations = [(own - padded).sum(axis=0) / (len(returns) - 1) for own in padded]
    return [d[: len(member)] for d, member in zip(deviations, returns, strict=True)]


class LayerScales:
    """Running size of each layer's deviations, so that layers are comparable before weighting.

    `s_l` is an EMA of the batch RMS of `G^l - b^l`. Layers are scaled apart (GDPO, arXiv
    2601.05242), over the batch and never by a group's own deviation, which would blow up groups
    that hardly differ.
    """

    def __init__(self, num_layers: int, *, decay: float, min_scale: float) -> None:
        self._decay = decay
        self._min_scale = min_scale
        self._rms = np.zeros(num_layers)
        self._seen = np.zeros(num_layers, dtype=bool)

    @property
    def scales(self) -> np.ndarray:
        """float64 [L], what deviations are divided by; 1 for a layer that never varied."""
        return np.where(self._seen, np.maximum(self._rms, self._min_scale), 1.0)

    def update(self, groups: Sequence[Sequence[np.ndarray]]) -> None:
        """Take in the deviations of one batch: groups of members of arrays [T, L].

        Groups that vary in no layer are left out, and a layer that varies nowhere in the batch
        keeps its scale: neither says anything about size.
        """
        varied = [g for g in groups if any(np.any(member) for member in g)]
        if not varied:
            return
        steps = np.concatenate([member for group in varied for member in group])
        rms = np.sqrt(np.mean(np.square(steps), axis=0))
        measured = rms > 0
        blended = np.where(self._seen, self._decay * self._rms + (1 - self._decay) * rms, rms)
        self._rms = np.where(measured, blended, self._rms)
        self._seen = self._seen | measured

    def state_dict(self) -> dict[str, list[float]]:
        """Plain values."""
        return {"rms": self._rms.tolist(), "seen": self._seen.astype(float).tolist()}

    def load_state_dict(self, state: dict[str, list[float]]) -> None:
        """Continue from `state_dict()`."""
        self._rms = np.array(state["rms"])
        self._seen = np.array(state["seen"]) > 0


def advantages(
    deviations: np.ndarray,
    *,
    layer_weights: Sequence[float],
    scales: np.ndarray,
    max_advantage: float,
) -> np.ndarray:
    """One number per step: `clip(sum_l w_l * deviation^l_t / s_l, +-max)`; [T, L] -> float64 [T].

    Weights apply after the scaling, so a layer counts by its weight alone.
    """
    weighted = deviations * (np.asarray(layer_weights, dtype=np.float64) / scales)
    return np.clip(weighted.sum(axis=1), -max_advantage, max_advantage)
