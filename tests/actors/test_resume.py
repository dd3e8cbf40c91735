# SPDX-License-Identifier: Apache-2.0
"""Which run is gone on with, and which checkpoint: only what is whole, ours, and nobody else's."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actors.checkpoints import CheckpointStore, read_pipeline
from actors.cli import EXIT_USAGE, main
from actors.config import LoggerConfig, TrainJob
from actors.metrics import MetricsLog
from actors.resume import RunStart, settings_of, start_run
from learner.checkpoint import write_model
from tests.actors.jobs import SMALL


def job_in(runs_dir: Path, resume: str, **changes: Any) -> TrainJob:
    logger_config = LoggerConfig(runs_dir=str(runs_dir))
    return dataclasses.replace(SMALL, resume=resume, logger=logger_config, **changes)


def save(store: CheckpointStore, version: int, job: TrainJob = SMALL) -> Path:
    """A checkpoint with the driver's part, and a small model."""
    partial = store.begin(version)
    manifest = write_model(
        partial,
        policy_name="tiny",
        policy_config={},
        policy_version=version,
        weights={"w": np.full(3, float(version))},
    )
    return store.publish(partial, manifest, {"settings": settings_of(job), "version": version})


def interrupted(runs_dir: Path, *versions: int) -> Path:
    """The folder of a run that nobody works on any more."""
    start = start_run(job_in(runs_dir, "never"))
    for version in versions:
        save(CheckpointStore(start.folder.checkpoints, keep=0), version)
    start.close()
    return start.folder.path


def taken(start: RunStart) -> tuple[Path, str]:
    """Folder and checkpoint, and the lock is given back."""
    start.close()
    return start.folder.path, start.checkpoint.name if start.checkpoint else ""


# --- Which run -----------------------------------------------------------------------------------


def test_never_begins_anew_and_auto_goes_on_with_the_newest_unfinished(tmp_path: Path) -> None:
    assert taken(start_run(job_in(tmp_path, "auto")))[1] == "", "nothing to go on with"
    first, second = interrupted(tmp_path, 1, 2), interrupted(tmp_path, 3)
    assert taken(start_run(job_in(tmp_path, "never")))[0] not in (first, second)
    (tmp_path / "latest").unlink()
    assert taken(start_run(job_in(tmp_path, "auto"))) == (second, "v000003")
    assert (tmp_path / "latest").resolve() == second.resolve()
    (second / "summary.json").write_text("{}")
    assert taken(start_run(job_in(tmp_path, "auto"))) == (first, "v000002")


def test_a_run_that_is_worked_on_is_not_taken_over(tmp_path: Path) -> None:
    path = interrupted(tmp_path, 1)
    holder = start_run(job_in(tmp_path, "auto"))
    assert holder.folder.path == path
    assert taken(start_run(job_in(tmp_path, "auto")))[0] != path
    with pytest.raises(ValueError, match="no process works on"):
        start_run(job_in(tmp_path, str(path)))
    holder.close()
    assert taken(start_run(job_in(tmp_path, str(path)))) == (path, "v000001")


def test_auto_passes_over_other_settings_and_a_path_only_over_incompatible_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = interrupted(tmp_path, 1)
    other_rate = dataclasses.replace(SMALL.algo, learning_rate=1e-3)
    with caplog.at_level(logging.WARNING):
        assert taken(start_run(job_in(tmp_path, "auto", algo=other_rate)))[0] != path
        assert taken(start_run(job_in(tmp_path, str(path), algo=other_rate)))[0] == path
    assert "is passed over" in caplog.text
    assert "going on with other values of algo.learning_rate" in caplog.text
    with pytest.raises(ValueError, match=r"seed=0 \(now 4\)"):
        start_run(job_in(tmp_path, str(path), seed=4))
    longer = dataclasses.replace(SMALL.train, max_env_steps=10_000)
    assert taken(start_run(job_in(tmp_path, "auto", train=longer)))[0] == path


def test_one_checkpoint_goes_on_in_a_folder_of_its_own(tmp_path: Path) -> None:
    path = interrupted(tmp_path, 1, 2)
    folder, name = taken(start_run(job_in(tmp_path, str(path / "checkpoints" / "v000001"))))
    assert folder != path
    assert name == "v000001"


def test_a_damaged_checkpoint_that_is_named_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = interrupted(tmp_path, 1)
    checkpoint = path / "checkpoints" / "v000001"
    weights = checkpoint / "weights.npz"
    weights.write_bytes(weights.read_bytes()[:-7] + b"damaged")
    with pytest.raises(ValueError, match="use another checkpoint"):
        start_run(job_in(tmp_path, str(checkpoint)))
    assert checkpoint.is_dir()


def test_a_damaged_checkpoint_is_not_evaluated_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = interrupted(tmp_path / "runs", 1)
    weights = path / "checkpoints" / "v000001" / "weights.npz"
    weights.write_bytes(weights.read_bytes()[:-7] + b"damaged")
    new = tmp_path / "new"
    assert main(["evaluate", f"checkpoint={path}", f"logger.runs_dir={new}"]) == EXIT_USAGE
    assert "the file is damaged, use another checkpoint" in capsys.readouterr().err
    assert not new.exists()


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    empty = interrupted(tmp_path)
    for path, message in ((tmp_path / "nowhere", "never, auto, or"), (empty, "that is whole")):
        with pytest.raises(ValueError, match=message):
            start_run(job_in(tmp_path, str(path)))


# --- Which checkpoint ----------------------------------------------------------------------------


def test_the_oldest_are_pruned_and_the_pointer_names_the_newest(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=2)
    for version in (0, 0, 3, 7):
        path = save(store, version)
        assert (tmp_path / "newest").read_text().strip() == path.name
    assert sorted(f.name for f in tmp_path.glob("v*")) == ["v000003", "v000007"]
    assert store.newest() == tmp_path / "v000007"


def test_the_same_version_may_be_saved_again(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=0)
    assert [save(store, 5).name for _ in range(3)] == ["v000005", "v000005-2", "v000005-3"]
    newest = store.newest()
    assert newest is not None and newest.name == "v000005-3"


@pytest.mark.parametrize("damage", ["flip", "truncate", "missing", "manifest", "empty manifest"])
def test_each_kind_of_damage_falls_back_loudly(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = CheckpointStore(tmp_path, keep=0)
    older, newer = save(store, 1), save(store, 2)
    target = newer / ("manifest.json" if "manifest" in damage else "weights.npz")
    content = target.read_bytes()
    if damage == "missing":
        target.unlink()
    elif damage == "flip":
        target.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    else:
        target.write_bytes(b"" if damage == "empty manifest" else content[: len(content) // 2])
    with caplog.at_level(logging.ERROR):
        assert store.newest() == older
    assert "CHECKPOINT DAMAGED" in caplog.text
    assert save(store, 2).name == "v000002", "its name is free again"
    assert read_pipeline(tmp_path / "v000002")["version"] == 2


def test_what_a_killed_writer_left_is_no_checkpoint(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=0)
    older = save(store, 1)
    store.begin(2)  # killed while it wrote
    beyond = save(store, 3)  # killed between putting it in place and moving the pointer
    (tmp_path / "newest").write_text("v000001\n")
    shutil.copytree(older, tmp_path / "v000009")  # killed while it was pruned
    (tmp_path / "v000009" / "manifest.json").unlink()
    assert store.newest() == older
    assert not beyond.exists()
    assert [f.name for f in tmp_path.iterdir() if f.is_dir()] == ["v000001"]


def test_a_folder_that_a_node_does_not_share_is_named(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=0)
    partial = store.begin(1)
    manifest = {"format_version": 1, "policy_version": 1, "sha256": {"learner.npz": "0" * 64}}
    with pytest.raises(OSError, match=r"learner.npz.*all nodes share"):
        store.publish(partial, manifest, {})


# --- Metrics -------------------------------------------------------------------------------------


def test_rows_after_the_checkpoint_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path)
    log.write("a", {"n": 1})
    num_bytes, time_s = log.position()
    log.write("a", {"n": 2})
    log.rewind(num_bytes, time_s + 100.0)
    log.write("a", {"n": 3})
    log.close()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["n"] for row in rows] == [1, 3]
    assert rows[1]["time_s"] >= 100.0, "time goes on from the checkpoint"
    assert json.loads(path.with_suffix(".lost.jsonl").read_text())["n"] == 2
    assert os.path.getsize(path) > num_bytes
