# SPDX-License-Identifier: Apache-2.0
"""The replay worker: groups between rollouts and learner, on `learner.replay`. Imports no torch."""

from __future__ import annotations

import numpy as np

from actors.types import ReplayState
from agent.types import Trajectory
from envs.types import Scored
from learner.config import ReplayConfig
from learner.replay import GroupReplay
from learner.types import Group


class ReplayWorker:
    """Opens a group when the first of its members arrives, and says which groups are gone."""

    def __init__(self, *, replay: ReplayConfig, group_size: int, seed: int) -> None:
        self._replay = GroupReplay(replay)
        self._group_size = group_size
        self._rng = np.random.default_rng(seed)
        self._held: dict[str, None] = {}  # ids of open and ready groups, oldest first

    def add_member(self, trajectory: Trajectory, score: Scored) -> ReplayState:
        """Add both halves of a scored attempt."""
        self._open(trajectory.group_id, trajectory.task_id)
        self._replay.add_trajectory(trajectory)
        self._replay.add_score(trajectory.group_id, score)
        return self._state()

    def give_up_member(
        self, group_id: str, task_id: str, trajectory_id: str, reason: str
    ) -> ReplayState:
        """The group goes on without this member."""
        self._open(group_id, task_id)
        self._replay.drop_member(group_id, trajectory_id, reason)
        return self._state()

    def take(
        self, max_groups: int, policy_version: int
    ) -> tuple[tuple[Group, ...], tuple[str, ...], ReplayState]:
        """Up to `max_groups` groups that are young enough, their ids, and what is left."""
        self._replay.expire(policy_version)
        count = min(max_groups, self._replay.ready())
        groups = self._replay.take(count, policy_version, self._rng) if count else ()
        group_ids = tuple(group.group_id for group in groups)
        for group_id in group_ids:
            del self._held[group_id]
        return groups, group_ids, self._state()

    def _open(self, group_id: str, task_id: str) -> None:
        if group_id not in self._held:
            self._replay.open(group_id, task_id, self._group_size)
            self._held[group_id] = None

    def _state(self) -> ReplayState:
        dropped = tuple(group_id for group_id in self._held if group_id not in self._replay)
        for group_id in dropped:
            del self._held[group_id]
        return ReplayState(
            num_ready=self._replay.ready(),
            num_open=len(self._held) - self._replay.ready(),
            num_bytes=self._replay.num_bytes,
            dropped=dropped,
        )
