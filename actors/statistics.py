# SPDX-License-Identifier: Apache-2.0
"""Intervals for success rates and for paired gains; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Z95 = 1.959963984540054  # 97.5 % point of the standard normal distribution
_MIN_VARIED = 10  # the usual bound of a normal approximation to a binomial


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
    """95 % interval of mean(after - before) over the same tasks; within [-1, 1], never of no width.

    With `_MIN_VARIED` pairs or more that differ from the most frequent difference the normal
    approximation, `mean +- z * sd / sqrt(n)` with the sample deviation (n - 1). With fewer of them
    that deviation is too small, and 0 where all pairs did the same: then the adjusted Wald interval
    of Bonett and Price (2012, J. Educ. Behav. Stat. 37(4), 479-488), which adds one pair that
    gained and one that lost. `ValueError` for fewer than two pairs.
    """
    if len(before) != len(after) or len(before) < 2:
        raise ValueError(f"expected pairs, at least two, got {len(before)} and {len(after)}")
    differences = [int(a) - int(b) for b, a in zip(before, after, strict=True)]
    counts = Counter(differences)
    num_pairs = len(differences)
    if num_pairs - max(counts.values()) >= _MIN_VARIED:
        mean = sum(differences) / num_pairs
        variance = sum((d - mean) ** 2 for d in differences) / (num_pairs - 1)
        half = Z95 * math.sqrt(variance / num_pairs)
        return mean - half, mean + half
    gained, lost = (counts[1] + 1) / (num_pairs + 2), (counts[-1] + 1) / (num_pairs + 2)
    centre = gained - lost
    half = Z95 * math.sqrt((gained + lost - centre**2) / (num_pairs + 2))
    return max(-1.0, centre - half), min(1.0, centre + half)
