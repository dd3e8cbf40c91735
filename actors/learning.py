# SPDX-License-Identifier: Apache-2.0
"""The learner worker: one `learner.update.Learner` and its state as it was published.

`update` is long and blocking; `save` writes the state of a version that was published, so it may be
called from another thread while an update runs and never sees half of one. The version before the
last is kept too: whoever asks may not yet have heard of the last.

A learner of several processes that loses one of them is lost as a whole: `WorkerLost`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from actors.types import WorkerHealth, WorkerLost
from agent.config import PolicyConfig
from agent.policy_agent import build_policy
from learner.checkpoint import damaged_files, read_manifest, write_model
from learner.config import LearnerConfig, ReplayConfig
from learner.quarantine import Quarantine
from learner.saving import load_learner, save_learner
from learner.team import ProcessesLost
from learner.types import Group
from learner.update import Learner, UpdateReport

Weights = dict[str, np.ndarray]


class LearnerWorker:
    """Trains one policy."""

    def __init__(
        self,
        *,
        policy: PolicyConfig,
        algo: LearnerConfig,
        replay: ReplayConfig,
        quarantine_dir: str = "",
    ) -> None:
        torch.set_num_threads(1)  # rollouts share the cores
        self._policy_config = policy
        network = build_policy(policy, seed=algo.seed)
        quarantine = Quarantine(Path(quarantine_dir)) if quarantine_dir else None
        try:
            self._learner = Learner(network, algo, max_lag=replay.max_lag, quarantine=quarantine)
        except ProcessesLost as loss:
            raise WorkerLost(str(loss)) from loss
        self._num_done = 0
        self._published: tuple[int, Weights] = (0, {})
        self._damaged_base: Path | None = None  # what it was restored from, if not all of that
        self._states: tuple[dict[str, Any], ...] = ()  # of the last versions, the newest first
        self._note_published()

    def publish(self) -> tuple[int, Weights]:
        """Version and weights as they were published last."""
        return self._published

    def update(
        self, groups: Sequence[Group], progress: float, validation_score: float | None = None
    ) -> tuple[Weights, UpdateReport]:
        """Train on one batch; the weights of the new version, and what the update did."""
        try:
            report = self._learner.update(
                groups, progress=progress, validation_score=validation_score
            )
        except ProcessesLost as loss:
            raise WorkerLost(str(loss)) from loss
        self._note_published()
        self._num_done += 1
        return self._published[1], report

    def save(self, folder: Path, policy_version: int, previous: Path | None) -> dict[str, Any]:
        """Write the state of `policy_version` into `folder`; the manifest's entries.

        Files of `previous` are shared, unless this learner was restored from it with some missing.
        """
        states = {state["policy_version"]: state for state in self._states}
        if policy_version not in states:
            raise ValueError(
                f"policy_version: expected one of {list(states)}, got {policy_version}"
            )
        state = states[policy_version]
        acting = state.get("acting", state["policy"])  # as they were published and evaluated
        manifest = write_model(
            folder,
            policy_name=self._policy_config.name,
            policy_config=dataclasses.asdict(self._policy_config),
            policy_version=policy_version,
            weights={name: value.detach().cpu().numpy() for name, value in acting.items()},
        )
        shared = None if previous == self._damaged_base else previous
        files = save_learner(folder, state, shared)
        return {**manifest, "sha256": {**manifest["sha256"], **files}}

    def restore(self, folder: Path) -> tuple[int, Weights]:
        """Continue from what `save` wrote."""
        damaged = frozenset(damaged_files(folder, read_manifest(folder)))
        self._learner.load_state_dict(load_learner(folder, damaged))
        self._damaged_base = folder if damaged else None
        self._states = ()
        self._note_published()
        return self._published

    def close(self) -> None:
        """Give the learner's further processes back."""
        self._learner.close()

    def health(self) -> WorkerHealth:
        """That the worker's process answers."""
        return WorkerHealth(
            pid=os.getpid(), num_done=self._num_done, policy_version=self._published[0]
        )

    def _note_published(self) -> None:
        self._states = (self._learner.state_dict(), *self._states[:1])
        self._published = (self._learner.policy_version, self._learner.weights())
