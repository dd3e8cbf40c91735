# SPDX-License-Identifier: Apache-2.0
"""A learner goes on from disk bit for bit, and its past states are written once."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

import numpy as np
import pytest

from learner.checkpoint import begin_folder, finish_folder, write_model
from learner.config import LearnerConfig, StepTeacher
from learner.saving import load_learner, save_learner
from learner.types import Group
from learner.update import Learner
from tests.learner.tiny_policy import TinyPolicy, random_group

CONFIG = LearnerConfig(step_replay_updates=3, step_replay_states=8, minibatch_steps=8)


def make_groups(seed: int) -> list[Group]:
    rng = np.random.default_rng(seed)
    return [random_group(rng, f"g{seed}.{i}", policy=TinyPolicy(seed=0)) for i in range(3)]


def _save(learner: Learner, folder: Path, previous: Path | None = None) -> Path:
    state = learner.state_dict()
    partial = begin_folder(folder)
    manifest = write_model(
        partial,
        policy_name="tiny",
        policy_config={},
        policy_version=learner.policy_version,
        weights=learner.weights(),
    )
    files = save_learner(partial, state, previous)
    finish_folder(partial, folder, {**manifest, "sha256": {**manifest["sha256"], **files}})
    return folder


def _fresh(config: LearnerConfig = CONFIG) -> Learner:
    return Learner(TinyPolicy(seed=0), config)


def _resumed(
    folder: Path, damaged: frozenset[str] = frozenset(), config: LearnerConfig = CONFIG
) -> Learner:
    learner = Learner(TinyPolicy(seed=9), dataclasses.replace(config, seed=11))
    learner.load_state_dict(load_learner(folder, damaged))
    return learner


@pytest.mark.parametrize("teacher", [StepTeacher.GRAPH, StepTeacher.VALUES])
def test_a_learner_from_disk_goes_on_bit_for_bit(tmp_path: Path, teacher: StepTeacher) -> None:
    config = dataclasses.replace(CONFIG, step_teacher=teacher)
    straight = _fresh(config)
    for seed in range(3):
        straight.update(make_groups(seed), progress=0.1 * seed)
    resumed = _resumed(_save(straight, tmp_path / "v3"), config=config)
    for seed in range(3, 6):
        reports = [x.update(make_groups(seed), progress=0.1 * seed) for x in (straight, resumed)]
        assert reports[0].metrics == reports[1].metrics
    for name, value in straight.weights().items():
        np.testing.assert_array_equal(resumed.weights()[name], value)


def test_past_states_are_written_once_and_shared(tmp_path: Path) -> None:
    learner, previous = _fresh(), None
    for seed in range(3):
        learner.update(make_groups(seed), progress=0.0)
        previous = _save(learner, tmp_path / f"v{seed}", previous)
    segments = [sorted(f.name for f in (tmp_path / f"v{i}").glob("steps-*")) for i in range(3)]
    assert [len(names) for names in segments] == [1, 2, 3]
    first = segments[0][0]
    assert (tmp_path / "v0" / first).samefile(tmp_path / "v2" / first)
    assert previous is not None
    resumed = _resumed(previous)
    assert len(resumed.state_dict()["reservoir"]["steps"]) == len(
        learner.state_dict()["reservoir"]["steps"]
    )


def test_states_that_left_the_reservoir_leave_the_disk(tmp_path: Path) -> None:
    small = LearnerConfig(step_replay_updates=1, reservoir_bytes=20_000)
    learner, previous = _fresh(small), None
    for seed in range(8):
        learner.update(make_groups(seed), progress=0.0)
        previous = _save(learner, tmp_path / f"v{seed}", previous)
    assert previous is not None
    reservoir = learner.state_dict()["reservoir"]
    assert reservoir["first"] > 0, "some have left"
    names = sorted(f.name for f in previous.glob("steps-*"))
    assert int(names[0].split("-")[1]) <= reservoir["first"]
    assert len(names) < 8
    back = load_learner(previous)["reservoir"]
    assert (back["first"], len(back["steps"])) == (reservoir["first"], len(reservoir["steps"]))


def test_damaged_past_states_are_left_out_loudly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    learner = _fresh()
    learner.update(make_groups(0), progress=0.0)
    first = _save(learner, tmp_path / "v1")
    learner.update(make_groups(1), progress=0.0)
    folder = _save(learner, tmp_path / "v2", first)
    damaged = sorted(f.name for f in folder.glob("steps-*"))[0]
    (folder / damaged).write_bytes(b"rotten")
    with caplog.at_level(logging.WARNING):
        resumed = _resumed(folder, frozenset({damaged}))
    assert "past states are lost" in caplog.text
    kept = resumed.state_dict()["reservoir"]
    whole = learner.state_dict()["reservoir"]
    assert 0 < len(kept["steps"]) < len(whole["steps"])
    assert kept["first"] + len(kept["steps"]) == whole["first"] + len(whole["steps"])
    resumed.update(make_groups(2), progress=0.0)
