# SPDX-License-Identifier: Apache-2.0
"""Where a training run begins: in a new folder, or from a checkpoint of an earlier one.

A run's folder is locked by the process that works on it, for as long as that lives, so that a run
that is still going is never taken over.
"""

from __future__ import annotations

import dataclasses
import enum
import fcntl
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.checkpoints import CheckpointStore, damage, read_pipeline
from actors.config import TrainJob
from actors.run_folder import LATEST, RunFolder, link_latest, make_run_folder
from learner.checkpoint import MANIFEST

logger = logging.getLogger(__name__)

NEVER, AUTO = "never", "auto"
_LOCK = ".lock"
# Nothing of a saved run means the same under other values of these.
_FIXED = ("seed", "mode", "policy.", "env.task_set", "env.path", "env.web.", "algo.group_size")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStart:
    """A folder that is ours until `close`, and the checkpoint to go on from."""

    folder: RunFolder
    checkpoint: Path | None
    lock: int  # file descriptor

    def close(self) -> None:
        """Let others have the folder."""
        os.close(self.lock)


def start_run(job: TrainJob) -> RunStart:
    """The folder of `job`, as its `resume` says; `ValueError` when it cannot be gone on with."""
    runs_dir = Path(job.logger.runs_dir)
    if job.resume == NEVER:
        return _new(job)
    if job.resume == AUTO:
        for path in _unfinished(runs_dir):
            start = _go_on(job, path)
            if start is not None:
                return start
        logger.info("resume=auto: no unfinished run of these settings in %s", runs_dir)
        return _new(job)
    path = Path(job.resume)
    if (path / MANIFEST).is_file():
        reason = damage(path)
        if reason is not None:
            raise ValueError(
                f"resume: expected a checkpoint that is whole, got {path}: {reason}; use another "
                "checkpoint, or the run's folder for the newest one that is whole"
            )
        check_settings(job, read_pipeline(path), fixed_only=True)
        return _new(job, checkpoint=path.resolve())
    lock = _lock(path) if RunFolder(path=path).checkpoints.is_dir() else None
    if lock is None:
        raise ValueError(
            f"resume: expected never, auto, or the folder of a run or of a checkpoint that no "
            f"process works on, got {job.resume!r}; runs are in {runs_dir}"
        )
    folder = RunFolder(path=path.resolve())
    try:
        checkpoint = CheckpointStore(folder.checkpoints, keep=0).newest()
        if checkpoint is None:
            raise ValueError(f"resume: expected a run with a checkpoint that is whole, got {path}")
        check_settings(job, read_pipeline(checkpoint), fixed_only=True)
    except BaseException:
        os.close(lock)
        raise
    return RunStart(folder=folder, checkpoint=checkpoint, lock=lock)


def settings_of(job: TrainJob) -> dict[str, Any]:
    """What a run's results depend on, flat and plain: how long, where and how watched left out."""
    parts: dict[str, Any] = {"seed": job.seed, "mode": job.mode.value}
    for name in ("env", "policy", "algo", "reward", "replay"):
        parts.update(_flat(name, dataclasses.asdict(getattr(job, name))))
    return parts


def check_settings(job: TrainJob, pipeline: dict[str, Any], *, fixed_only: bool) -> None:
    """`ValueError` when the saved run was of other settings; if `fixed_only`, of those alone."""
    saved, ours = pipeline["settings"], settings_of(job)
    differing = sorted(k for k in saved.keys() | ours.keys() if saved.get(k) != ours.get(k))
    hard = [key for key in differing if key.startswith(_FIXED)]
    if hard or (differing and not fixed_only):
        shown = ", ".join(
            f"{k}={saved.get(k)} (now {ours.get(k)})" for k in (hard or differing)[:8]
        )
        raise ValueError(f"resume: expected the settings of the saved run, {shown}")
    if differing:
        logger.warning("going on with other values of %s", ", ".join(differing))


# --- Parts ---------------------------------------------------------------------------------------


def _new(job: TrainJob, checkpoint: Path | None = None) -> RunStart:
    runs_dir = Path(job.logger.runs_dir)
    folder = make_run_folder(runs_dir, job.logger.run_name, is_latest=True)
    lock = _lock(folder.path)
    assert lock is not None, "a new folder is nobody else's"
    return RunStart(folder=folder, checkpoint=checkpoint, lock=lock)


def _unfinished(runs_dir: Path) -> Iterator[Path]:
    """Folders of runs that were saved and have no summary, the newest first."""
    for path in sorted(runs_dir.iterdir(), reverse=True) if runs_dir.is_dir() else ():
        folder = RunFolder(path=path)
        if path.name != LATEST and folder.checkpoints.is_dir() and not folder.summary.exists():
            yield path


def _go_on(job: TrainJob, path: Path) -> RunStart | None:
    """Take over the run at `path` if nobody works on it and it is of the same settings."""
    lock = _lock(path)
    if lock is None:
        logger.info("resume=auto: %s is still being worked on", path)
        return None
    folder = RunFolder(path=path.resolve())
    checkpoint = CheckpointStore(folder.checkpoints, keep=0).newest()
    try:
        if checkpoint is not None:
            check_settings(job, read_pipeline(checkpoint), fixed_only=False)
            link_latest(path.parent, path)
            return RunStart(folder=folder, checkpoint=checkpoint, lock=lock)
    except ValueError as error:
        logger.warning("resume=auto: %s is passed over: %s", path, error)
    os.close(lock)
    return None


def _lock(path: Path) -> int | None:
    """Hold the folder until the process ends; None when another process does."""
    descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _flat(prefix: str, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}.{name}", value)
        else:
            yield f"{prefix}.{name}", _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
