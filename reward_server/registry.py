# SPDX-License-Identifier: Apache-2.0
"""Names to reward parts, resolved lazily.

A part is a pure function `(episode, config) -> float32 [T]`. To add one: write it in a file, add a
line here, and name it in a layer of `RewardConfig`. What the scorer guarantees for every part is
in `reward_server.scorer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from envs.registry import check_name, resolve
from envs.types import Episode

if TYPE_CHECKING:  # the config asks here which names there are
    from reward_server.config import RewardConfig

Part = Callable[[Episode, "RewardConfig"], np.ndarray]

PARTS: dict[str, str] = {
    "new_page": "reward_server.layers:new_page",
    "images": "reward_server.layers:images",
    "blank_page": "reward_server.layers:blank_page",
    "invalid_action": "reward_server.layers:invalid_action",
    "evidence_visit": "reward_server.layers:evidence_visit",
    "potential": "reward_server.layers:potential",
    "evidence_extracted": "reward_server.layers:evidence_extracted",
    "answer": "reward_server.layers:answer",
}


def check_part(name: str, *, key: str) -> None:
    """`ValueError` for a part that is not there; `key` is the setting that names it."""
    check_name(name, PARTS, what=key)


def resolve_part(name: str) -> Part:
    """The part registered under `name`; `ValueError` with the nearest name for an unknown one."""
    part: Part = resolve(name, PARTS, what="reward part")
    return part
