# SPDX-License-Identifier: Apache-2.0
"""What `learner.replay` holds of a group, from its first member to its last use. No torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.types import Trajectory
from envs.types import LAYERS, Scored
from learner.types import Group


@dataclass(kw_only=True, slots=True)
class OpenGroup:
    """A group with slots that have not ended; halves of members wait here for each other."""

    group_id: str
    task_id: str
    size: int
    trajectories: dict[str, Trajectory] = field(default_factory=dict)
    scores: dict[str, Scored] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)  # trajectory id -> reason

    def member_ids(self) -> list[str]:
        """Ids of which both halves are here, sorted: arrival order must not matter."""
        return sorted(self.trajectories.keys() & self.scores.keys())

    def num_slots_used(self) -> int:
        """Slots that ended or have one half."""
        return len(self.trajectories.keys() | self.scores.keys() | self.dropped.keys())

    def is_finished(self) -> bool:
        """Whether every slot has ended."""
        return len(self.member_ids()) + len(self.dropped) == self.size

    def num_bytes(self) -> int:
        """Bytes of the trajectories."""
        return sum(t.num_bytes() for t in self.trajectories.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadyGroup:
    """A closed group that waits for the learner."""

    group: Group
    newest_version: int  # of any of its steps
    num_bytes: int


@dataclass(kw_only=True, slots=True)
class UsedGroup:
    """A group that was trained on and may be again."""

    entry: ReadyGroup
    advantage: float  # mean absolute one, when it was last trained on
    num_uses: int


def ready_group(group: Group) -> ReadyGroup:
    """`group`, which has steps, with what is asked of it again and again."""
    trajectories = [member.trajectory for member in group.members]
    return ReadyGroup(
        group=group,
        newest_version=max(step.policy_version for t in trajectories for step in t.steps),
        num_bytes=sum(t.num_bytes() for t in trajectories),
    )


def check_fit(trajectory: Trajectory, score: Scored) -> None:
    """Rewards and steps belong to the same attempt."""
    expected, got = (len(trajectory.steps), len(LAYERS)), score.rewards.shape
    if got != expected:
        raise ValueError(
            f"score of {score.trajectory_id!r}: expected rewards of shape {expected}, got {got}"
        )
