# SPDX-License-Identifier: Apache-2.0
"""`foragerl ablate` on two tiny variants of real training runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from actors.ablate.figures import read_figures
from actors.ablate.plan import read_plan
from actors.ablate.running import finished, folder_of
from actors.cli import main

T = TypeVar("T")

TINY = Path(__file__).with_name("tiny.yaml")


@pytest.mark.timeout(300)
def test_variants_are_trained_compared_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plan, out = read_plan(TINY), tmp_path / "out"
    command = ["ablate", "--plan", str(TINY), "--out", str(out), "--jobs", "2"]
    assert main(command) == 0
    for run in plan.runs():
        folder = finished(out, run)
        assert folder is not None, (folder_of(out, run) / "output.log").read_text()
        figures = read_figures(run, folder)
        assert figures.env_steps >= 150 and figures.num_tasks == 3
        assert figures.curve and figures.curve[-1].updates <= figures.updates
        config = folder.config.read_text()
        assert ("step_weight: 0.0" in config) == (run.variant == "outcome_only")
    first = (out / "ablations.md").read_text()
    assert "| full | **" in first and "| outcome_only | **" in first

    before = sorted(out.rglob("*"))
    (out / "ablations.md").unlink()
    assert main(command) == 0
    assert sorted(out.rglob("*")) == before, "finished runs are not run again"
    assert (out / "ablations.md").read_text() == first

    assert main([*command, "env.max_steps=5"]) == 2
    told = capsys.readouterr().err
    assert "env.max_steps=5" in told and "--out" in told


def test_a_run_that_fails_is_named_and_the_others_are_still_compared(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    plan = tmp_path / "plan.yaml"
    # Each setting is right by itself, so that only the run finds out.
    held_out = "variants:\n  broken: [env.web.templates=held_out]\n"
    plan.write_text(f"seeds: [0]\nbase: [env=web_fast]\n{held_out}")
    with caplog.at_level("INFO"):
        assert main(["ablate", "--plan", str(plan), "--out", str(tmp_path / "out")]) == 1
    assert "broken seed 0: failed with exit code 2" in caplog.text
    assert "env.web.templates: expected train" in caplog.text
    assert "broken: 1 of its runs" in (tmp_path / "out" / "ablations.md").read_text()


@pytest.mark.timeout(180)
def test_runs_end_with_the_command_also_when_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "actors.cli", "ablate", "--plan", str(TINY), "--jobs", "2"]
    parent = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out"), "train.max_env_steps=100000"],
        cwd=Path(__file__).resolve().parents[3],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        own = psutil.Process(parent.pid)
        children = _waited_for(lambda: [c for c in own.children() if _is_training(c)], least=2)
        # Each has made its folder: it is past the imports, where a signal would just end it.
        _waited_for(lambda: list((tmp_path / "out").glob("*/seed-*/*/metrics.jsonl")), least=2)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    gone, alive = psutil.wait_procs(children, timeout=60)
    for process in alive:
        process.kill()
    assert len(gone) == 2 and not alive


def _is_training(process: psutil.Process) -> bool:
    return "actors.ablate.child" in process.cmdline()


def _waited_for(look: Callable[[], list[T]], *, least: int, timeout_s: float = 60.0) -> list[T]:
    """What `look` finds, once that is enough."""
    deadline = time.monotonic() + timeout_s
    while len(found := look()) < least:
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s for {least}, got {found}"
        time.sleep(0.2)
    return found
