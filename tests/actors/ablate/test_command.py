# SPDX-License-Identifier: Apache-2.0
"""`foragerl ablate` on two tiny variants of real training runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.ablate.figures import read_figures
from actors.ablate.plan import read_plan
from actors.ablate.running import finished, folder_of
from actors.cli import main

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
