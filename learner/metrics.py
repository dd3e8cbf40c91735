# SPDX-License-Identifier: Apache-2.0
"""Numbers gathered over the samples and minibatches of one update; no torch needed to import it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


class Means:
    """Means, maxima and totals by metric key."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, float]] = {}
        self._maxima: dict[str, float] = {}
        self._totals: dict[str, float] = {}

    def add(self, key: str, value: float, count: float = 1) -> None:
        """Add `value`, the sum of `count` observations, to the mean of `key`."""
        total, number = self._sums.get(key, (0.0, 0))
        self._sums[key] = (total + value, number + count)

    def add_tensor(self, key: str, values: Tensor) -> None:
        """Add every entry of `values` to the mean of `key`."""
        self.add(key, float(values.detach().sum()), values.numel())

    def add_max(self, key: str, value: float) -> None:
        """Keep the largest value of `key`."""
        self._maxima[key] = max(self._maxima.get(key, value), float(value))

    def add_total(self, key: str, value: float) -> None:
        """Add to the total of `key`."""
        self._totals[key] = self._totals.get(key, 0.0) + float(value)

    def absorb(self, other: Means) -> None:
        """Take in what another process saw of the same update.

        Its totals are left out: they count what all processes do alike.
        """
        for key, (value, count) in other._sums.items():
            self.add(key, value, count)
        for key, value in other._maxima.items():
            self.add_max(key, value)

    def mean(self, key: str) -> float:
        """The mean of `key` so far; NaN without observations."""
        total, number = self._sums.get(key, (0.0, 0))
        return total / number if number else float("nan")

    def as_dict(self) -> dict[str, float]:
        """Everything that has at least one observation."""
        means = {key: self.mean(key) for key, (_, number) in self._sums.items() if number}
        return {**means, **self._maxima, **self._totals}
