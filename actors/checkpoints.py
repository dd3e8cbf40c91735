# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of one run on disk, each of which holds everything that the run needs to go on.

    checkpoints/v000012/   manifest.json (last)  weights.npz  learner.npz  steps-*.npz
                           replay.npz  pipeline.json
    checkpoints/newest     the name of the one to go on from

Workers write their files into a hidden folder, whose path every node must see; the driver adds its
own and the manifest, puts the folder in place and moves the pointer. A folder that the pointer has
not reached never became a checkpoint.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from learner.checkpoint import (
    MANIFEST,
    CheckpointError,
    begin_folder,
    damaged_files,
    finish_folder,
    read_manifest,
)
from learner.saving import is_expendable
from learner.storage import sha256

logger = logging.getLogger(__name__)

_POINTER = "newest"
_PIPELINE = "pipeline.json"
_UNKNOWN = 1 << 60  # serial of a folder whose manifest cannot be read


class CheckpointStore:
    """Writes, finds and prunes; used by one driver at a time, which holds the run's lock."""

    def __init__(self, parent: Path, *, keep: int) -> None:
        """`keep` of the newest stay, at least 1; 0 keeps all."""
        self._parent = parent
        self._keep = keep

    def begin(self, policy_version: int) -> Path:
        """A hidden folder to write files into."""
        name = f"v{policy_version:06d}"
        taken = {folder.name for folder in self._folders()}
        for candidate in (name, *(f"{name}-{number}" for number in range(2, 10_000))):
            if candidate not in taken:
                return begin_folder(self._parent / candidate)
        raise RuntimeError(f"{self._parent}: no free name for version {policy_version}")

    def publish(
        self, partial: Path, manifest: Mapping[str, Any], pipeline: Mapping[str, Any]
    ) -> Path:
        """Add the driver's part and the manifest, put the folder in place; prunes the oldest."""
        path = partial / _PIPELINE
        path.write_text(json.dumps(pipeline), encoding="utf-8")
        files = {**manifest["sha256"], _PIPELINE: sha256(path)}
        absent = sorted(name for name in files if not (partial / name).is_file())
        if absent:
            raise FileNotFoundError(
                f"{partial}: expected {absent}, which a worker says it wrote, got nothing; "
                "logger.runs_dir must be a path that all nodes share"
            )
        serials = [self._serial(folder) for folder in self._folders()]
        serial = 1 + max([0, *(number for number in serials if number < _UNKNOWN)])
        folder = self._parent / partial.name.removeprefix(".").partition(".partial-")[0]
        finish_folder(partial, folder, {**manifest, "serial": serial, "sha256": files})
        self._point_to(folder)
        self._prune()
        return folder

    def discard(self, partial: Path) -> None:
        """Drop what `begin` made."""
        shutil.rmtree(partial, ignore_errors=True)

    def newest(self) -> Path | None:
        """The newest checkpoint that can be gone on from; None without any.

        Each damaged one that comes before it is set aside under a hidden name, loudly, as are
        folders that the pointer never reached.
        """
        self._discard_leftovers()
        for folder in sorted(self._folders(), key=self._serial, reverse=True):
            reason = damage(folder)
            if reason is None:
                self._point_to(folder)
                return folder
            aside = folder.parent / f".damaged-{folder.name}"
            logger.error(
                "CHECKPOINT DAMAGED: %s: %s; it is set aside as %s and the one before is used",
                folder,
                reason,
                aside.name,
            )
            shutil.rmtree(aside, ignore_errors=True)
            os.rename(folder, aside)
        return None

    # --- Parts -----------------------------------------------------------------------------------

    def _folders(self) -> list[Path]:
        if not self._parent.is_dir():
            return []
        return [f for f in self._parent.iterdir() if f.is_dir() and not f.name.startswith(".")]

    def _serial(self, folder: Path) -> int:
        """Place in the order of writing; unreadable ones come last, to be found damaged first."""
        try:
            return int(read_manifest(folder).get("serial", 0))
        except CheckpointError:
            return _UNKNOWN

    def _point_to(self, folder: Path) -> None:
        partial = self._parent / f".{_POINTER}-{os.getpid()}"
        with open(partial, "w", encoding="utf-8") as file:
            file.write(f"{folder.name}\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, self._parent / _POINTER)

    def _prune(self) -> None:
        serials = {folder: self._serial(folder) for folder in self._folders()}
        whole = sorted((f for f, s in serials.items() if s < _UNKNOWN), key=lambda f: serials[f])
        for folder in whole[: -self._keep] if self._keep else ():
            (folder / MANIFEST).unlink()  # half a checkpoint is none
            shutil.rmtree(folder, ignore_errors=True)

    def _discard_leftovers(self) -> None:
        """Remove what a killed writer left: hidden folders, and one beyond the pointer."""
        for folder in self._parent.glob(".*.partial-*"):
            shutil.rmtree(folder, ignore_errors=True)
        pointer = self._parent / _POINTER
        pointed = self._parent / pointer.read_text().strip() if pointer.is_file() else None
        limit = self._serial(pointed) if pointed is not None and pointed.is_dir() else _UNKNOWN
        for folder in self._folders():
            if not (folder / MANIFEST).is_file() or limit < self._serial(folder) < _UNKNOWN:
                shutil.rmtree(folder, ignore_errors=True)


def read_pipeline(folder: Path) -> dict[str, Any]:
    """The driver's part of a checkpoint."""
    state: dict[str, Any] = json.loads((folder / _PIPELINE).read_text(encoding="utf-8"))
    return state


def damage(folder: Path) -> str | None:
    """Why a run cannot go on from `folder`."""
    try:
        manifest = read_manifest(folder)
    except CheckpointError as error:
        return str(error)
    if _PIPELINE not in manifest["sha256"]:
        return "it holds a model only"
    damaged = [name for name in damaged_files(folder, manifest) if not is_expendable(name)]
    return f"{damaged} are not as they were written" if damaged else None
