# SPDX-License-Identifier: Apache-2.0
"""What the last action changed, as numbers: the inputs of the diff stream. No torch."""

from __future__ import annotations

import numpy as np

from envs.types import ElementFlag, Observation, PageState

MAX_COUNT = 40  # of added, changed and removed elements; more count as as many
# Why actions do nothing, in words of `Effect.reason`; other reasons share the last column.
_EFFECTS = ("ok", "illegal", "target_gone", "navigation_failed", "navigation_timeout")
CHANGE_COLUMNS = (
    "is_first_step",
    "is_navigation",
    "num_added",
    "share_added",
    "num_changed",
    "num_removed",
    "is_still",
    "has_new_layer",
    "is_layer_open",
    "is_blocked",
    "has_new_value",
    "has_new_focus",
    *(f"effect_{reason}" for reason in _EFFECTS),
    "effect_other",
    *(f"page_{state.value}" for state in PageState),
)
NUM_CHANGE_KINDS = 2  # added, changed


def change_columns(observation: Observation) -> np.ndarray:
    """What the last action did to the page, float16 [len(CHANGE_COLUMNS)]."""
    diff, flags = observation.diff, observation.elements.flags
    value = observation.elements.value
    num_added, num_changed = len(diff.added), len(diff.changed)
    is_still = not (diff.navigated or num_added or num_changed or diff.removed)
    effect = observation.last_effect
    columns = [
        effect == "",
        diff.navigated,
        _count(num_added),
        num_added / max(1, len(observation.elements)),
        _count(num_changed),
        _count(diff.removed),
        is_still,
        flags[diff.added, ElementFlag.IN_DIALOG].any(),
        flags[:, ElementFlag.IN_DIALOG].any(),
        flags[:, ElementFlag.OCCLUDED].any(),
        any(value[row] for row in diff.changed),
        flags[diff.changed, ElementFlag.FOCUSED].any(),
        *(effect == reason for reason in _EFFECTS),
        effect not in ("", *_EFFECTS),
        *(observation.page_state is state for state in PageState),
    ]
    return np.array(columns, dtype=np.float16)


def element_changes(observation: Observation) -> np.ndarray:
    """Which elements were added and which were changed, uint8 [E, NUM_CHANGE_KINDS]."""
    changes = np.zeros((len(observation.elements), NUM_CHANGE_KINDS), dtype=np.uint8)
    changes[observation.diff.added, 0] = 1
    changes[observation.diff.changed, 1] = 1
    return changes


def _count(number: int) -> float:
    return min(number, MAX_COUNT) / MAX_COUNT
