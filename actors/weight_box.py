# SPDX-License-Identifier: Apache-2.0
"""The newest weights that a rollout worker was offered; filled from one thread, read from another.

The control side puts, the work side takes between two steps. Whoever is slow sees only the newest.
Newer means a higher generation, or a higher version of the same: a run that went back to an
earlier state publishes versions again, as another generation.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

Stamp = tuple[int, int]  # generation, version
NOTHING: Stamp = (-1, -1)


class WeightBox:
    """One set of weights with its version; arrays are copied in, so a store can drop its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stamp = NOTHING
        self._weights: dict[str, np.ndarray] = {}

    @property
    def version(self) -> int:
        """Version of the weights inside, -1 while it is empty."""
        return self._stamp[1]

    def put(self, version: int, weights: Mapping[str, np.ndarray], *, generation: int = 0) -> bool:
        """Keep `weights` if they are newer; whether they were."""
        stamp = (generation, version)
        if stamp <= self._stamp:
            return False
        copies = {name: np.array(value) for name, value in weights.items()}
        with self._lock:
            if stamp <= self._stamp:
                return False
            self._stamp, self._weights = stamp, copies
            return True

    def newer_than(self, stamp: Stamp) -> tuple[Stamp, dict[str, np.ndarray]] | None:
        """The weights with their generation and version, if they are newer than `stamp`."""
        with self._lock:
            return (self._stamp, self._weights) if self._stamp > stamp else None
