# SPDX-License-Identifier: Apache-2.0
"""The replay worker: groups between rollouts and learner, on `learner.replay`. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from actors.config import WorkerConfigs
from actors.types import ReplayState, SavedReplay, WorkerHealth
from agent.types import ModelInputs, StepRecord, Trajectory
from envs.actions import ActionMask
from envs.types import Scored, Split, StopReason
from learner.config import ReplayConfig
from learner.replay import GroupReplay
from learner.storage import read_tree, write_tree
from learner.types import Group, GroupState, Member

_FILE = "replay.npz"
_RECORDS = (
    Group,
    GroupState,
    Member,
    Trajectory,
    Scored,
    StepRecord,
    ModelInputs,
    ActionMask,
    Split,
    StopReason,
)
_MAX_ENDED = 1000  # far more than can end between a lost answer and the next save


def replay_worker(configs: WorkerConfigs) -> ReplayWorker:
    """The worker as configured."""
    return ReplayWorker(
        replay=configs.replay,
        group_size=configs.algo.group_size,
        seed=configs.algo.seed,
        takes_in_order=configs.takes_in_order,
    )


class ReplayWorker:
    """Opens a group when the first of its members arrives, and says how groups ended."""

    def __init__(
        self, *, replay: ReplayConfig, group_size: int, seed: int, takes_in_order: bool = False
    ) -> None:
        self._replay = GroupReplay(replay)
        self._takes_in_order = takes_in_order
        self._group_size = group_size
        self._rng = np.random.default_rng(seed)
        self._ended: dict[str, str] = {}  # the last groups that ended here, oldest first
        self._num_done = 0

    def add_member(self, trajectory: Trajectory, score: Scored) -> ReplayState:
        """Add both halves of a scored attempt; broken data gives the member up."""
        refused = ""
        self._open(trajectory.group_id, trajectory.task_id)
        try:
            self._replay.add_trajectory(trajectory)
            self._replay.add_score(trajectory.group_id, score)
        except ValueError as error:
            refused = str(error)
            self._replay.drop_member(trajectory.group_id, trajectory.trajectory_id, refused)
        return self._state(refused)

    def give_up_member(
        self, group_id: str, task_id: str, trajectory_id: str, reason: str
    ) -> ReplayState:
        """The group goes on without this member; may be said twice."""
        self._open(group_id, task_id)
        self._replay.drop_member(group_id, trajectory_id, reason)
        return self._state()

    def take(
        self, max_groups: int, policy_version: int, confirmed: Mapping[str, float]
    ) -> tuple[tuple[Group, ...], tuple[str, ...], ReplayState]:
        """Up to `max_groups` groups that are young enough and the ids of those, then replayed ones;
        and what is left.
        """
        self._replay.confirm(confirmed)
        self._replay.expire(policy_version)
        count = min(max_groups, self._replay.ready())
        groups: tuple[Group, ...] = ()
        if count:
            groups = self._replay.take(
                count, policy_version, self._rng, in_order=self._takes_in_order
            )
        group_ids = tuple(group.group_id for group in groups if not group.is_replayed)
        return groups, group_ids, self._state()

    def save(self, folder: Path, confirmed: Mapping[str, float]) -> SavedReplay:
        """Write everything that is held."""
        self._replay.confirm(confirmed)
        tree = {"replay": self._replay.state_dict(), "rng": self._rng.bit_generator.state}
        digest = write_tree(folder / _FILE, tree, _RECORDS)
        held = self._replay.held_ids()
        return SavedReplay(files={_FILE: digest}, held=held, ended=dict(self._ended))

    def restore(self, folder: Path) -> ReplayState:
        """Continue from what `save` wrote."""
        tree = read_tree(folder / _FILE, _RECORDS)
        self._replay.load_state_dict(tree["replay"])
        self._rng.bit_generator.state = tree["rng"]
        return self._state()

    def health(self) -> WorkerHealth:
        """That the worker's process answers."""
        return WorkerHealth(pid=os.getpid(), num_done=self._num_done, policy_version=-1)

    def _open(self, group_id: str, task_id: str) -> None:
        if group_id not in self._replay:
            self._replay.open(group_id, task_id, self._group_size)

    def _state(self, refused: str = "") -> ReplayState:
        self._num_done += 1
        dropped = self._replay.pop_ended()
        self._ended = dict([*self._ended.items(), *dropped.items()][-_MAX_ENDED:])
        counts = self._replay.counts()
        return ReplayState(
            ready=self._replay.ready_ids(),
            num_open=counts["open"],
            num_bytes=self._replay.num_bytes,
            dropped=dropped,
            refused=refused,
        )
