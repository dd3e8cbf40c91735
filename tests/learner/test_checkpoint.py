# SPDX-License-Identifier: Apache-2.0
"""A checkpoint is whole and undamaged, or it is refused with the reason."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from envs.actions import ACTION_SPECS, NUM_TYPES
from learner.checkpoint import (
    Checkpoint,
    CheckpointError,
    begin_folder,
    finish_folder,
    fit_weights,
    load_checkpoint,
    newest_checkpoint,
    write_model,
)

NAMES = tuple(spec.name for spec in ACTION_SPECS)


def _weights(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "head.weight": rng.normal(size=(NUM_TYPES, 4)).astype(np.float32),
        "body/deep.bias": rng.normal(size=7).astype(np.float32),
        "file": np.array(3, dtype=np.int64),
    }


def _save(folder: Path, version: int = 5) -> None:
    partial = begin_folder(folder)
    manifest = write_model(
        partial,
        policy_name="forager",
        policy_config={"width": 96},
        policy_version=version,
        weights=_weights(),
    )
    finish_folder(partial, folder, manifest)


def test_weights_and_manifest_come_back_as_they_were(tmp_path: Path) -> None:
    _save(tmp_path / "runs" / "v5")
    checkpoint = load_checkpoint(tmp_path / "runs" / "v5")
    assert checkpoint.policy_name == "forager"
    assert checkpoint.policy_config == {"width": 96}
    assert checkpoint.policy_version == 5
    assert checkpoint.action_names == NAMES
    assert checkpoint.weights.keys() == _weights().keys()
    for name, value in _weights().items():
        np.testing.assert_array_equal(checkpoint.weights[name], value)
        assert checkpoint.weights[name].dtype == value.dtype


def test_every_damaged_byte_of_the_weights_is_noticed(tmp_path: Path) -> None:
    _save(tmp_path / "v5")
    path = tmp_path / "v5" / "weights.npz"
    whole = path.read_bytes()
    for position in (0, len(whole) // 2, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(bytes(damaged))
        with pytest.raises(CheckpointError, match="damaged"):
            load_checkpoint(tmp_path / "v5")
    path.unlink()
    with pytest.raises(CheckpointError, match="no file"):
        load_checkpoint(tmp_path / "v5")


def test_a_folder_without_a_whole_manifest_is_no_checkpoint(tmp_path: Path) -> None:
    _save(tmp_path / "v5")
    manifest = tmp_path / "v5" / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text[: len(text) // 2])
    with pytest.raises(CheckpointError, match="manifest"):
        load_checkpoint(tmp_path / "v5")
    manifest.unlink()
    with pytest.raises(CheckpointError, match="manifest"):
        load_checkpoint(tmp_path / "v5")
    assert newest_checkpoint(tmp_path) is None


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    _save(tmp_path / "v5")
    manifest = tmp_path / "v5" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format_version": 99}))
    with pytest.raises(CheckpointError, match="format_version 1, got 99"):
        load_checkpoint(tmp_path / "v5")


def test_there_is_no_checkpoint_when_the_last_move_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OSError, match="disk full"):
        _save(tmp_path / "v5")
    assert not (tmp_path / "v5").exists()
    assert newest_checkpoint(tmp_path) is None


def test_a_process_killed_while_it_writes_leaves_no_checkpoint(tmp_path: Path) -> None:
    script = (
        "import os, sys, time, pathlib, numpy as np\n"
        "from learner import checkpoint\n"
        "def stop(*_):\n"
        "    pathlib.Path(sys.argv[2]).touch()\n"
        "    time.sleep(60)\n"
        "os.rename = stop\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "partial = checkpoint.begin_folder(folder)\n"
        "manifest = checkpoint.write_model(partial, policy_name='p', policy_config={},"
        " policy_version=1, weights={'w': np.zeros(3)})\n"
        "checkpoint.finish_folder(partial, folder, manifest)\n"
    )
    mark = tmp_path / "mark"
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "v1"), str(mark)])
    while not mark.exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert mark.exists()
    assert not (tmp_path / "v1").exists()
    assert newest_checkpoint(tmp_path) is None
    _save(tmp_path / "v1", version=1)
    assert newest_checkpoint(tmp_path) == tmp_path / "v1"


def test_an_existing_folder_is_never_overwritten(tmp_path: Path) -> None:
    _save(tmp_path / "v5")
    with pytest.raises(FileExistsError, match="v5"):
        _save(tmp_path / "v5", version=6)
    assert load_checkpoint(tmp_path / "v5").policy_version == 5


def test_objects_are_neither_saved_nor_unpickled(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="numbers"):
        write_model(
            tmp_path,
            policy_name="p",
            policy_config={},
            policy_version=1,
            weights={"w": np.array([{}], dtype=object)},
        )
    _save(tmp_path / "v5")
    path, manifest = tmp_path / "v5" / "weights.npz", tmp_path / "v5" / "manifest.json"
    np.savez(path, **{"w/head": np.array([print], dtype=object)})
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    forged = {**json.loads(manifest.read_text()), "sha256": {"weights.npz": digest}}
    manifest.write_text(json.dumps(forged))
    with pytest.raises(CheckpointError, match="plain arrays"):
        load_checkpoint(tmp_path / "v5")


def test_the_newest_is_the_one_with_the_highest_version(tmp_path: Path) -> None:
    for name, version in (("a", 12), ("b", 9)):
        _save(tmp_path / name, version)
    shutil.copytree(tmp_path / "a", tmp_path / ".c.partial-1")
    assert newest_checkpoint(tmp_path) == tmp_path / "a"
    assert newest_checkpoint(tmp_path / "nowhere") is None


def _old_checkpoint(names: tuple[str, ...]) -> Checkpoint:
    rows = [NAMES.index(n) for n in names if n in NAMES]
    weights = _weights()
    weights["head.weight"] = weights["head.weight"][rows]
    return Checkpoint(
        policy_name="p",
        policy_config={},
        action_names=names,
        policy_version=1,
        weights=weights,
    )


def test_rows_of_an_older_checkpoint_go_to_the_types_of_the_same_name() -> None:
    names = tuple(n for n in NAMES if n not in ("hover", "answer"))
    fresh = _weights(seed=1)
    fitted = fit_weights(_old_checkpoint(names), fresh)
    for row, name in enumerate(NAMES):
        source = _weights() if name in names else fresh
        np.testing.assert_array_equal(fitted["head.weight"][row], source["head.weight"][row])
    np.testing.assert_array_equal(fitted["body/deep.bias"], _weights()["body/deep.bias"])


def test_weights_that_cannot_be_fitted_are_refused_with_the_reason() -> None:
    with pytest.raises(CheckpointError, match="fly"):
        fit_weights(_old_checkpoint((*NAMES, "fly")), _weights())
    with pytest.raises(CheckpointError, match="in this order"):
        fit_weights(_old_checkpoint(NAMES[::-1]), _weights())
    wider = {**_weights(), "body/deep.bias": np.zeros(8, dtype=np.float32)}
    with pytest.raises(CheckpointError, match=r"body/deep.bias: expected shape \(8,\)"):
        fit_weights(_old_checkpoint(NAMES), wider)
    with pytest.raises(CheckpointError, match="extra"):
        fit_weights(_old_checkpoint(NAMES), {**_weights(), "extra": np.zeros(1)})
