# SPDX-License-Identifier: Apache-2.0
"""The folder that a run leaves behind.

runs/20260101-120000-train/   config.yaml  run.log  metrics.jsonl  checkpoints/  episodes/
                              quarantine/  summary.json  report.html
runs/latest                   a link to the newest training run
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from learner.checkpoint import MANIFEST, newest_checkpoint

LATEST = "latest"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFolder:
    """Paths inside one run's folder."""

    path: Path

    @property
    def config(self) -> Path:
        """The resolved config."""
        return self.path / "config.yaml"

    @property
    def log(self) -> Path:
        """What was shown on the terminal."""
        return self.path / "run.log"

    @property
    def metrics(self) -> Path:
        """JSON lines."""
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """One folder for each kept checkpoint; absent in an evaluation."""
        return self.path / "checkpoints"

    @property
    def episodes(self) -> Path:
        """Archived attempts, see `actors.archive`; absent without any."""
        return self.path / "episodes"

    @property
    def quarantine(self) -> Path:
        """Learner batches without a finite gradient, see `learner.quarantine`; absent without."""
        return self.path / "quarantine"

    @property
    def report(self) -> Path:
        """The run as one page."""
        return self.path / "report.html"

    @property
    def trace(self) -> Path:
        """Spans for Perfetto, with `trace=true`."""
        return self.path / "trace.json"

    @property
    def tensorboard(self) -> Path:
        """Event files, with `logger=tensorboard`."""
        return self.path / "tensorboard"

    @property
    def bench(self) -> Path:
        """The figures of Forage-Bench, see docs/BENCH.md; absent where it was not run."""
        return self.path / "bench.json"

    @property
    def summary(self) -> Path:
        """The figures at the end; absent for a run that did not reach it."""
        return self.path / "summary.json"


def make_run_folder(runs_dir: Path, run_name: str, *, is_latest: bool) -> RunFolder:
    """A new folder under `runs_dir`; linked as `latest` if it is that of a training run."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    runs_dir.mkdir(parents=True, exist_ok=True)
    for suffix in ("", *(f"-{number}" for number in range(2, 1000))):
        path = runs_dir / f"{stamp}-{run_name}{suffix}"
        try:
            path.mkdir()
        except FileExistsError:
            continue
        folder = RunFolder(path=path)
        if is_latest:
            folder.checkpoints.mkdir()
            link_latest(runs_dir, path)
        return folder
    raise RuntimeError(f"{runs_dir}: no free name for a run at {stamp}")


def link_latest(runs_dir: Path, target: Path) -> None:
    """Point `runs/latest` to the run at `target`, which lies in `runs_dir`."""
    partial = runs_dir / f".{LATEST}-{os.getpid()}"
    partial.unlink(missing_ok=True)
    partial.symlink_to(target.name)
    os.replace(partial, runs_dir / LATEST)


def find_checkpoint(path: Path) -> Path:
    """The checkpoint at `path`, or the newest one of the run at `path`; else `ValueError`."""
    if (path / MANIFEST).is_file():
        return path
    newest = newest_checkpoint(RunFolder(path=path).checkpoints)
    if newest is None:
        raise ValueError(
            f"checkpoint: expected a run's folder or a checkpoint's folder, got {path}; "
            "`python train.py` makes one, the newest is runs/latest"
        )
    return newest
