# SPDX-License-Identifier: Apache-2.0
"""A reward worker: one scorer. Imports neither torch nor ray, so that it fits on a small board."""

from __future__ import annotations

import os

from actors.types import WorkerHealth
from envs.types import Episode, Scored, Unscored
from reward_server.config import RewardConfig
from reward_server.scorer import Scorer


class RewardWorker:
    """Scores episodes one by one."""

    def __init__(self, *, reward: RewardConfig) -> None:
        self._scorer = Scorer(reward)
        self._num_done = 0

    def score(self, episode: Episode) -> Scored | Unscored:
        """The rewards of one attempt; never raises for what is in it."""
        result = self._scorer.score(episode)
        self._num_done += 1
        return result

    def health(self) -> WorkerHealth:
        """That the worker's process answers."""
        return WorkerHealth(pid=os.getpid(), num_done=self._num_done, policy_version=-1)
