# SPDX-License-Identifier: Apache-2.0
"""The newest weights that a rollout worker was offered; filled from one thread, read from another.

The control side puts, the work side takes between two steps. Whoever is slow sees only the newest.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np


class WeightBox:
    """One set of weights with its version; arrays are copied in, so a store can drop its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = -1
        self._weights: dict[str, np.ndarray] = {}

    @property
    def version(self) -> int:
        """Version of the weights inside, -1 while it is empty."""
        return self._version

    def put(self, version: int, weights: Mapping[str, np.ndarray]) -> bool:
        """Keep `weights` if they are newer; whether they were."""
        if version <= self._version:
            return False
        copies = {name: np.array(value) for name, value in weights.items()}
        with self._lock:
            if version <= self._version:
                return False
            self._version, self._weights = version, copies
            return True

    def newer_than(self, version: int) -> tuple[int, dict[str, np.ndarray]] | None:
        """The weights with their version, if they are newer than `version`."""
        with self._lock:
            return (self._version, self._weights) if self._version > version else None
