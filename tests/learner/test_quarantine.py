# SPDX-License-Identifier: Apache-2.0
"""Batches whose gradient is not finite are kept to be looked at."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from learner.config import LearnerConfig
from learner.quarantine import Quarantine, read_quarantined
from learner.types import Group
from learner.update import Learner
from tests.learner.tiny_policy import TinyPolicy, random_group

QUICK = LearnerConfig(step_replay_updates=10, step_replay_states=4)


def _poisoned() -> Group:
    group = random_group(np.random.default_rng(0), "g", policy=TinyPolicy())
    members = []
    for member in group.members:
        steps = tuple(
            dataclasses.replace(s, utilities=np.full_like(s.utilities, np.nan))
            for s in member.trajectory.steps
        )
        trajectory = dataclasses.replace(member.trajectory, steps=steps)
        members.append(dataclasses.replace(member, trajectory=trajectory))
    return dataclasses.replace(group, members=tuple(members))


def test_such_a_batch_is_written_whole_and_the_weights_stay(tmp_path: Path) -> None:
    folder = tmp_path / "quarantine"
    learner = Learner(TinyPolicy(), QUICK, quarantine=Quarantine(folder))
    before, group = learner.weights(), _poisoned()
    metrics = learner.update([group], progress=0.0).metrics
    files = sorted(folder.iterdir())
    assert len(files) == min(metrics["learner/skipped_optimizer_steps"], 16) > 0
    assert all(np.array_equal(w, before[n]) for n, w in learner.weights().items())
    facts, samples = read_quarantined(files[0])
    assert facts["policy_version"] == 0
    assert np.isnan(facts["loss"])
    wanted = [s for m in group.members for s in m.trajectory.steps]
    assert len(samples) == len(wanted)
    kept = sorted(s.record.inputs.state.tobytes() for s in samples)
    assert kept == sorted(s.inputs.state.tobytes() for s in wanted)


def test_it_stops_at_some_files_and_a_good_batch_leaves_none(tmp_path: Path) -> None:
    folder = tmp_path / "quarantine"
    good = random_group(np.random.default_rng(0), "g", policy=TinyPolicy())
    Learner(TinyPolicy(), QUICK, quarantine=Quarantine(folder)).update([good], progress=0.0)
    assert not folder.exists()
    learner = Learner(TinyPolicy(), QUICK, quarantine=Quarantine(folder))
    skipped = sum(
        learner.update([_poisoned()], progress=0.0).metrics["learner/skipped_optimizer_steps"]
        for _ in range(3)
    )
    assert skipped > 16
    assert len(list(folder.iterdir())) == 16


def test_a_disk_that_refuses_is_said_and_does_not_end_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    learner = Learner(TinyPolicy(), QUICK, quarantine=Quarantine(blocked / "quarantine"))
    learner.update([_poisoned()], progress=0.0)
    assert "cannot be written" in caplog.text
