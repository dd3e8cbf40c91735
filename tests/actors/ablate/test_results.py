# SPDX-License-Identifier: Apache-2.0
"""Tables and plots of finished runs."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import orjson
import pytest

from actors.ablate.figures import Point, RunFigures, read_figures
from actors.ablate.plan import Run
from actors.ablate.plots import curve_charts, plots_page, success_svg
from actors.ablate.table import markdown
from actors.run_folder import RunFolder
from actors.statistics import wilson


def figures_of(
    variant: str, seed: int, num_right: int, curve: tuple[float, ...] = ()
) -> RunFigures:
    rate = wilson(num_right, 100)
    return RunFigures(
        variant=variant,
        seed=seed,
        success=rate.value,
        low=rate.low,
        high=rate.high,
        num_tasks=100,
        by_kind={"look_up": 0.5 + seed / 10, "fuzzy": 0.25},
        env_steps=1000 + seed,
        updates=40,
        minutes=2.0,
        curve=tuple(
            Point(updates=20 * n, env_steps=500 * n, success=success)
            for n, success in enumerate(curve, start=1)
        ),
    )


RUNS = [
    figures_of("full", 0, 60, (0.2, 0.5, 0.4)),
    figures_of("full", 1, 70, (0.45, 0.5)),
    figures_of("ppo", 0, 0, (0.0, 0.1, 0.44)),
]


def test_the_table_tells_success_kinds_and_updates_to_the_level():
    lines = markdown(RUNS, {"ppo": 1, "sync": 2}).splitlines()
    assert "| full | **65.0** (60–70) | 60 (50–69) | 70 (60–78) | 1,000 | 40 | 2.0 |" in lines
    assert "| ppo | **0.0** | 0 (0–4) | – | 1,000 | 40 | 2.0 |" in lines
    assert "| sync | – | – | – | – | – | – |" in lines
    assert "| variant | fuzzy | look_up |" in lines and "| full | 25 | 55 |" in lines
    assert "| full | 40, 20 | 1,000, 500 | 2 of 2 |" in lines
    assert "| ppo | – | – | 0 of 1 |" in lines
    assert "sync: 2 of its runs did not come to their end." in lines


def test_plots_are_pictures_of_every_run():
    root = ElementTree.fromstring(success_svg(RUNS))
    seeds = [e for e in root.iter() if e.get("class") == "seed"]
    assert len(seeds) == len(RUNS)
    x = [float(e.get("cx", "nan")) for e in seeds]
    assert x[2] < x[0] < x[1]
    page = plots_page(RUNS)
    assert page.count('<figure class="chart">') == 2 and "<svg xmlns" in page


def test_a_variant_is_drawn_beside_the_first_one():
    full, ppo = curve_charts(RUNS)
    assert [series.name for series in full.series] == ["full", "seed 0", "seed 1"]
    assert [series.name for series in ppo.series] == ["full", "ppo", "seed 0"]
    mean = full.series[0]
    assert mean.y == pytest.approx((0.325, 0.5)), "as far as all seeds went"


def test_figures_are_read_from_what_a_run_leaves(tmp_path: Path):
    rows = [
        {"event": "update", "learner/policy_version": 1, "train/env_steps": 90},
        {"event": "update", "learner/policy_version": 2, "train/env_steps": 200},
        _validated(2, 0.1),
        # The run was lost here and went on from version 1.
        {"event": "update", "learner/policy_version": 2, "train/env_steps": 210},
        _validated(2, 0.5),
        _validated(9, 0.9),
        {"event": "evaluation", "name": "trained", "eval/success": 0.75},
    ]
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    summary = {
        "success_trained": 0.75,
        "success_trained_ci95": [0.5, 0.9],
        "success_trained_by_kind": {"look_up": 0.75},
        "num_tasks_trained": 16,
        "env_steps": 210,
        "policy_version": 2,
        "minutes_training": 1.5,
    }
    folder = RunFolder(path=tmp_path)
    folder.summary.write_bytes(orjson.dumps(summary))
    run = Run(variant="full", seed=3, overrides=())
    found = read_figures(run, folder)
    assert (found.success, found.low, found.high, found.seed) == (0.75, 0.5, 0.9, 3)
    assert found.curve == (Point(updates=2, env_steps=210, success=0.5),)
    folder.summary.write_bytes(b"{}")
    with pytest.raises(ValueError, match=r"evaluation\.num_tasks"):
        read_figures(run, folder)


def _validated(version: int, success: float) -> dict[str, object]:
    return {
        "event": "evaluation",
        "name": "validation",
        "learner/policy_version": version,
        "eval/success": success,
    }
