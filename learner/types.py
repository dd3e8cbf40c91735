# SPDX-License-Identifier: Apache-2.0
"""What replay hands to the learner; no torch."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from agent.types import Trajectory
from envs.types import Scored


class GroupState(enum.Enum):
    """Life of a group."""

    OPEN = "open"  # members still missing
    COMPLETE = "complete"  # every member trained with its score
    PARTIAL = "partial"  # closed with fewer members: the others are unscored or infra failures
    EXPIRED = "expired"  # older than the max lag before it was used


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One scored attempt of a group."""

    trajectory: Trajectory
    score: Scored


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The scored attempts at one task that GRPO compares; replay -> learner."""

    group_id: str
    task_id: str
    members: tuple[Member, ...]
    state: GroupState  # COMPLETE or PARTIAL when handed to the learner
    is_replayed: bool = False  # whether the learner has seen it before
    outcome_weight: float = 1.0  # in the outcome term; corrects for the choice of replayed groups
