# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: a folder with `weights.npz` and `manifest.json`, complete or not there at all.

The folder is written under a hidden name beside its place, the manifest last, everything is synced
to disk, and a rename puts it there. Nothing in it is ever unpickled. What a run needs to go on
lies in further files of the same folder (`learner.saving`, `actors.checkpoints`); the manifest
holds a hash of each, and whoever wants the model reads only its two files.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from envs.actions import ACTION_SPECS
from learner.storage import sha256

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_WEIGHTS = "weights.npz"


class CheckpointError(ValueError):
    """The folder is not a whole, undamaged checkpoint that this version can read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A policy as it was saved."""

    policy_name: str  # what `policy.name` was
    policy_config: Mapping[str, Any]  # plain values that rebuild the policy
    action_names: tuple[str, ...]  # the action types that the weights know, in their order
    policy_version: int
    weights: Mapping[str, np.ndarray]


def begin_folder(folder: Path) -> Path:
    """A hidden, empty folder beside `folder`, where its content is to be written."""
    if folder.exists():
        raise FileExistsError(f"checkpoint: expected a new folder, got {folder}, which exists")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.parent / f".{folder.name}.partial-{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    return partial


def write_model(
    partial: Path,
    *,
    policy_name: str,
    policy_config: Mapping[str, Any],
    policy_version: int,
    weights: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """Write the weights into `partial`; what the manifest says of the model.

    `policy_config` must be plain JSON values. Raises `TypeError` for weights that are no numbers.
    """
    for name, value in weights.items():
        if value.dtype.hasobject:
            raise TypeError(f"weights[{name!r}]: expected an array of numbers, got {value.dtype}")
    with open(partial / _WEIGHTS, "xb") as file:
        # savez wants names as keywords, so that they must not clash with its own parameters.
        np.savez(file, **{f"w/{name}": value for name, value in weights.items()})  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    return {
        "format_version": FORMAT_VERSION,
        "policy_name": policy_name,
        "policy_config": dict(policy_config),
        "action_names": [spec.name for spec in ACTION_SPECS],
        "policy_version": policy_version,
        "sha256": {_WEIGHTS: sha256(partial / _WEIGHTS)},
    }


def finish_folder(partial: Path, folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, after everything else is there, and put the folder in its place."""
    with open(partial / MANIFEST, "x", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(partial)
    os.rename(partial, folder)
    _sync_folder(folder.parent)


def damaged_files(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Names of the files that are missing, or are not those that the manifest was written for."""
    return [
        name
        for name, expected in manifest["sha256"].items()
        if not (folder / name).is_file() or sha256(folder / name) != expected
    ]


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read and verify a checkpoint; `CheckpointError` says what is wrong with it."""
    manifest = read_manifest(folder)
    path, expected = folder / _WEIGHTS, manifest["sha256"][_WEIGHTS]
    got = sha256(path) if path.is_file() else "no file"
    if got != expected:
        raise CheckpointError(
            f"{path}: expected sha256 {expected}, got {got}; the file is damaged, use another "
            "checkpoint"
        )
    try:
        with np.load(folder / _WEIGHTS, allow_pickle=False) as archive:
            weights = {name.removeprefix("w/"): archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            f"{folder / _WEIGHTS}: expected plain arrays, got something else ({error})"
        ) from error
    return Checkpoint(
        policy_name=manifest["policy_name"],
        policy_config=manifest["policy_config"],
        action_names=tuple(manifest["action_names"]),
        policy_version=manifest["policy_version"],
        weights=weights,
    )


def newest_checkpoint(parent: Path) -> Path | None:
    """The checkpoint in `parent` that was written last; None without any.

    Hidden folders and folders without a manifest never became checkpoints and are passed over; a
    damaged manifest raises `CheckpointError`.
    """
    best: tuple[int, int, str] | None = None
    for folder in parent.iterdir() if parent.is_dir() else ():
        if folder.name.startswith(".") or not (folder / MANIFEST).is_file():
            continue
        manifest = read_manifest(folder)
        entry = (int(manifest.get("serial", 0)), int(manifest["policy_version"]), folder.name)
        best = entry if best is None else max(best, entry)
    return parent / best[2] if best else None


def fit_weights(
    checkpoint: Checkpoint, template: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The checkpoint's weights in the shapes of `template`, a fresh policy's weights.

    A checkpoint from before an action type existed has shorter type axes. Their rows are matched
    by the types' names; types that the checkpoint does not know keep the template's values.
    Raises `CheckpointError` for any other difference.
    """
    if checkpoint.weights.keys() != template.keys():
        differing = sorted(checkpoint.weights.keys() ^ template.keys())
        raise CheckpointError(
            f"weights: expected the policy's arrays, got a difference in {differing}; load it with "
            "the policy that it was saved from"
        )
    known = tuple(spec.name for spec in ACTION_SPECS)
    in_order = [name for name in known if name in checkpoint.action_names]
    if in_order != list(checkpoint.action_names):
        raise CheckpointError(
            f"action types: expected some of {list(known)} in this order, got "
            f"{list(checkpoint.action_names)}; load it with the version that saved it"
        )
    rows = np.array([known.index(name) for name in in_order])
    return {
        name: _fit(name, checkpoint.weights[name], fresh, rows, len(known))
        for name, fresh in template.items()
    }


def _fit(
    name: str, saved: np.ndarray, fresh: np.ndarray, rows: np.ndarray, num_types: int
) -> np.ndarray:
    """`saved`, with the axis that differs from `fresh` spread to `rows` of `num_types`."""
    if saved.shape == fresh.shape:
        return saved.copy()
    different = [n != m for n, m in zip(saved.shape, fresh.shape, strict=False)]
    axis = different.index(True) if saved.ndim == fresh.ndim and sum(different) == 1 else None
    if axis is None or (saved.shape[axis], fresh.shape[axis]) != (len(rows), num_types):
        raise CheckpointError(
            f"{name}: expected shape {fresh.shape}, or one axis of {len(rows)} in place of "
            f"{num_types} action types, got {saved.shape}; load it with the version that saved it"
        )
    fitted = np.moveaxis(fresh.copy(), axis, 0)
    fitted[rows] = np.moveaxis(saved, axis, 0)
    return np.moveaxis(fitted, 0, axis)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest as it was written; `CheckpointError` when it cannot be read."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path}: expected a checkpoint's manifest, got none that can be read ({error})"
        ) from error
    version = manifest.get("format_version") if isinstance(manifest, dict) else None
    if version != FORMAT_VERSION:
        raise CheckpointError(f"{path}: expected format_version {FORMAT_VERSION}, got {version}")
    return manifest


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
