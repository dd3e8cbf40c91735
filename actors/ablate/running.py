# SPDX-License-Identifier: Apache-2.0
"""Runs the training runs of a plan in processes of their own, some at a time; finished ones stay.

Each run has the folder OUT/VARIANT/seed-N, which is its `logger.runs_dir`: an interrupted run goes
on from its checkpoint there, and one with a summary is not run again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from actors.ablate.plan import Run
from actors.run_folder import RunFolder

logger = logging.getLogger(__name__)

_SETTINGS, _OUTPUT = "overrides.json", "output.log"
_ROOT = Path(__file__).resolve().parents[2]
_TOLD_LINES = 3  # of what a failed run said last
# After an interrupt a run saves and closes by deadlines of its own.
_CLOSE_TIMEOUT_S = 120.0


def folder_of(out: Path, run: Run) -> Path:
    """Where the run's own folder lies."""
    return out / run.variant / f"seed-{run.seed}"


def finished(out: Path, run: Run) -> RunFolder | None:
    """The run's folder if it came to its end."""
    paths = sorted(path.parent for path in folder_of(out, run).glob("*/summary.json"))
    return RunFolder(path=paths[-1]) if paths else None


def prepare(out: Path, runs: Sequence[Run]) -> None:
    """Make the runs' folders; `ValueError` for one that was begun with other settings."""
    for run in runs:
        path = folder_of(out, run) / _SETTINGS
        if path.exists():
            begun: list[str] = orjson.loads(path.read_bytes())
            if begun != list(run.overrides):
                other = sorted(set(begun).symmetric_difference(run.overrides))
                raise ValueError(
                    f"{path.parent}: expected the settings it was begun with, got others: "
                    f"{', '.join(other) or 'in another order'}; give another --out or remove it"
                )
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(orjson.dumps(list(run.overrides), option=orjson.OPT_INDENT_2))


async def run_all(out: Path, runs: Sequence[Run], *, num_jobs: int) -> list[Run]:
    """Bring every run to its end, `num_jobs` at a time; those that failed.

    Waits for the processes; cancelled, it interrupts them and waits until they have saved.
    """
    free = asyncio.Semaphore(num_jobs)
    threads = max(1, (os.cpu_count() or 1) // num_jobs)
    failed: list[Run] = []

    async def one(run: Run) -> None:
        async with free:
            if finished(out, run) is None and not await _train(out, run, threads):
                failed.append(run)

    async with asyncio.TaskGroup() as tasks:
        for run in runs:
            tasks.create_task(one(run))
    return failed


async def _train(out: Path, run: Run, threads: int) -> bool:
    """One run in a process; whether it came to its end."""
    folder = folder_of(out, run)
    name = f"{run.variant} seed {run.seed}"
    command = [sys.executable, "-m", "actors.ablate.child", str(os.getpid()), "train"]
    command += [*run.overrides, f"logger.runs_dir={folder.resolve()}", "resume=auto"]
    environment = {"OMP_NUM_THREADS": str(threads), **os.environ}
    logger.info("%s: begins; %s", name, folder / _OUTPUT)
    with (folder / _OUTPUT).open("ab") as output:
        # A session of its own: Ctrl-C reaches the run once, from here.
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=_ROOT,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            code = await process.wait()
        finally:
            await _end(process)
    is_finished = code == 0 and finished(out, run) is not None
    if is_finished:
        logger.info("%s: finished", name)
    else:
        said = (folder / _OUTPUT).read_text(errors="replace").splitlines()[-_TOLD_LINES:]
        logger.error("%s: failed with exit code %d: %s", name, code, " / ".join(said))
    return is_finished


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let a process that still runs save and close."""
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
