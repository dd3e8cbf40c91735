# SPDX-License-Identifier: Apache-2.0
"""Intervals for success rates and for paired gains; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z95 = 1.959963984540054  # 97.5 % point of the standard normal distribution


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """A fraction of right answers with its 95 % interval."""

    num_right: int
    num_tasks: int
    value: float
    low: float
    high: float


def wilson(num_right: int, num_tasks: int) -> Rate:
    """Wilson's score interval (Wilson 1927); [0, 1] and a value of 0 without tasks."""
    if not 0 <= num_right <= num_tasks:
        raise ValueError(f"expected 0 <= num_right <= num_tasks, got {num_right} of {num_tasks}")
    if num_tasks == 0:
        return Rate(num_right=0, num_tasks=0, value=0.0, low=0.0, high=1.0)
    share, z2 = num_right / num_tasks, Z95**2
    centre = (share + z2 / (2 * num_tasks)) / (1 + z2 / num_tasks)
    spread = share * (1 - share) / num_tasks + z2 / (4 * num_tasks**2)
    half = Z95 * math.sqrt(spread) / (1 + z2 / num_tasks)
    return Rate(
        num_right=num_right,
        num_tasks=num_tasks,
        value=share,
        # Exact at the ends, where rounding would leave them just inside.
        low=0.0 if num_right == 0 else centre - half,
        high=1.0 if num_right == num_tasks else centre + half,
    )


def paired_gain_ci95(before: Sequence[bool], after: Sequence[bool]) -> tuple[float, float]:
    """95 % interval of mean(after - before) over the same tasks, normal approximation.

    `mean +- z * sd / sqrt(n)` with the sample standard deviation (n - 1) of the differences;
    `ValueError` for fewer than two pairs.
    """
    if len(before) != len(after) or len(before) < 2:
        raise ValueError(f"expected pairs, at least two, got {len(before)} and {len(after)}")
    differences = [int(a) - int(b) for b, a in zip(before, after, strict=True)]
    mean = sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / (len(differences) - 1)
    half = Z95 * math.sqrt(variance / len(differences))
    return mean - half, mean + half
