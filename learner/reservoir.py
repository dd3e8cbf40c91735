# SPDX-License-Identifier: Apache-2.0
"""Past states with a teacher's utilities, for replayed updates of the step term. No torch.

The step term does not care which policy visited a state or which action it took, so states may be
of any age; only bytes bound the store.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from agent.types import StepRecord


class StepReservoir:
    """A ring of steps under a byte bound; the oldest leave first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._steps: dict[int, StepRecord] = {}  # serial number -> step; numbers are contiguous
        self._first = 0  # serial number of the oldest
        self._next = 0
        self._num_bytes = 0

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def num_bytes(self) -> int:
        """Bytes of the stored arrays; never above the bound."""
        return self._num_bytes

    def add(self, step: StepRecord) -> None:
        """Keep a copy of `step`; `ValueError` without utilities.

        The copy matters: arrays that arrive in shared memory would pin it for as long as they are
        kept.
        """
        if len(step.utilities) == 0:
            raise ValueError("StepReservoir.add: expected a step with utilities, got one without")
        self._steps[self._next] = copied(step)
        self._next += 1
        self._num_bytes += step.num_bytes()
        while self._num_bytes > self._max_bytes:
            self._num_bytes -= self._steps.pop(self._first).num_bytes()
            self._first += 1

    def sample(self, num_steps: int, rng: np.random.Generator) -> list[StepRecord]:
        """Uniform draw without repetition; all that there are when they are fewer."""
        count = min(num_steps, len(self._steps))
        if count == 0:
            return []
        picks = rng.choice(len(self._steps), size=count, replace=False)
        return [self._steps[self._first + int(pick)] for pick in picks]

    def state_dict(self) -> dict[str, Any]:
        """The steps, oldest first, and the serial number of the first."""
        return {"first": self._first, "steps": list(self._steps.values())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`; draws with the same generator repeat."""
        self._steps, self._num_bytes = {}, 0
        self._first = self._next = state["first"]
        for step in state["steps"]:
            self.add(step)


def copied(value: Any) -> Any:
    """`value` with every array in nested dataclasses copied, so that it pins no shared memory."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: copied(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return type(value)(**fields)
    return value
