# SPDX-License-Identifier: Apache-2.0
"""The learner worker: one `learner.update.Learner` and its checkpoints.

`update` is long and blocking; `save` writes the weights that were published last, so it may be
called from another thread while an update runs and never sees half of one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from agent.config import PolicyConfig
from agent.policy_agent import build_policy
from learner.checkpoint import save_checkpoint
from learner.config import LearnerConfig, ReplayConfig
from learner.types import Group
from learner.update import Learner

Weights = dict[str, np.ndarray]


class LearnerWorker:
    """Trains one policy."""

    def __init__(self, *, policy: PolicyConfig, algo: LearnerConfig, replay: ReplayConfig) -> None:
        torch.set_num_threads(1)  # rollouts share the cores
        self._policy_config = policy
        network = build_policy(policy, seed=algo.seed)
        self._learner = Learner(network, algo, max_lag=replay.max_lag)
        self._published = (self._learner.policy_version, self._learner.weights())

    def publish(self) -> tuple[int, Weights]:
        """Version and weights as they were published last."""
        return self._published

    def update(self, groups: Sequence[Group], progress: float) -> tuple[int, Weights, Mapping]:
        """Train on one batch; the new version, its weights, and the update's metrics."""
        report = self._learner.update(groups, progress=progress)
        self._published = (report.policy_version, self._learner.weights())
        return report.policy_version, self._published[1], dict(report.metrics)

    def save(self, parent: Path) -> Path:
        """A checkpoint of the weights published last in `parent`; its folder."""
        version, weights = self._published
        folder = parent / f"v{version:06d}"
        if not folder.exists():
            save_checkpoint(
                folder,
                policy_name=self._policy_config.name,
                policy_config=dataclasses.asdict(self._policy_config),
                policy_version=version,
                weights=weights,
            )
        return folder
