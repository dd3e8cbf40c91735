# SPDX-License-Identifier: Apache-2.0
"""What the returns of a group's members are compared with. No torch.

Lengths: n members of a group, T steps of a member, L reward layers. Every function takes n arrays
[T_i, L] of returns and gives deviations of the same shapes, exactly 0 where all members are equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from learner.config import Baseline
from learner.returns import leave_one_out_deviations

_ANCHOR_PRIOR = 2.0  # an anchor baseline of n_a entries weighs n_a / (n_a + this)
_STD_EPS = 1e-6


def group_deviations(
    kind: Baseline, returns: Sequence[np.ndarray], situations: Sequence[Sequence[str]]
) -> list[np.ndarray]:
    """Deviations under a baseline made of the group itself.

    `situations` [n][T_i] name what was observed, "" where that is unknown; read by ANCHORED alone.
    """
    if kind is Baseline.LEAVE_ONE_OUT:
        return leave_one_out_deviations(returns)
    if kind is Baseline.ANCHORED:
        return anchored_deviations(returns, situations)
    if kind is Baseline.MEAN:
        return mean_deviations(returns)
    if kind is Baseline.MEAN_STD:
        return standardised_deviations(returns, ddof=1)
    raise ValueError(f"kind: expected a baseline of the group itself, got {kind.value}")


def anchored_deviations(
    returns: Sequence[np.ndarray], situations: Sequence[Sequence[str]]
) -> list[np.ndarray]:
    """Leave-one-out baselines, mixed with others' returns from the same situation.

        b = (1 - w) b_time + w b_anchor,   w = n_a / (n_a + 2)

    with b_anchor the mean over the n_a entries of *other* members from a step with the same
    situation, at any time. Like GiGPO's step groups (arXiv 2505.10978), but without a member's own
    visits: a return from an earlier visit contains what the present action led to.
    """
    by_situation: dict[str, list[tuple[int, np.ndarray]]] = defaultdict(list)
    for member, (values, names) in enumerate(zip(returns, situations, strict=True)):
        for value, name in zip(values, names, strict=True):
            if name:
                by_situation[name].append((member, value))
    result = []
    for member, deviations in enumerate(leave_one_out_deviations(returns)):
        mixed = deviations.copy()
        for step, name in enumerate(situations[member]):
            others = [value for owner, value in by_situation.get(name, ()) if owner != member]
            if others:
                weight = len(others) / (len(others) + _ANCHOR_PRIOR)
                # Differences first: what is equal then deviates by exactly 0.
                gap = np.mean([returns[member][step] - other for other in others], axis=0)
                mixed[step] = (1 - weight) * deviations[step] + weight * gap
        result.append(mixed)
    return result


def mean_deviations(returns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Minus the mean of all members: leave-one-out times (n - 1) / n, for any mix of versions."""
    shrink = (len(returns) - 1) / len(returns)
    return [shrink * deviation for deviation in leave_one_out_deviations(returns)]


def standardised_deviations(returns: Sequence[np.ndarray], *, ddof: int) -> list[np.ndarray]:
    """Minus the mean, over the standard deviation of the group's returns at the first step.

    GRPO (arXiv 2402.03300), by layer. `ddof` 0 is the population's deviation, 1 the sample's. For
    comparison: hard and easy tasks, which hardly differ within a group, weigh too much.
    """
    deviations = mean_deviations(returns)
    if len(returns) == 1:
        return deviations
    spread = np.std([member[0] for member in returns], axis=0, ddof=ddof)
    return [np.where(spread > 0, d / (spread + _STD_EPS), 0.0) for d in deviations]
