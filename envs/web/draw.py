# SPDX-License-Identifier: Apache-2.0
"""Seeded draws that are the same on every machine and every Python version."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def stable_hash(*parts: object) -> int:
    """A 64-bit number that depends on the printed parts alone."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "big")


class Draw:
    """A stream of choices named by its parts.

    Only `Random.random` is used: it is the one method whose sequence Python promises to keep.
    """

    def __init__(self, *parts: object) -> None:
        self.fraction = random.Random(stable_hash(*parts)).random  # uniform in [0, 1)

    def below(self, bound: int) -> int:
        """Uniform in 0..bound-1."""
        return int(self.fraction() * bound)

    def between(self, low: int, high: int) -> int:
        """Uniform in low..high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """True with `probability`."""
        return self.fraction() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of `items`."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Up to `count` different items in random order."""
        pool = list(items)
        for i in range(min(count, len(pool))):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:count]
