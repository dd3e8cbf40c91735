# SPDX-License-Identifier: Apache-2.0
"""A run's metrics (JSON lines) as the charts of its report; pure but for `read_rows`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from actors.show.charts import Chart, Series
from envs.types import LAYERS

_WINDOW = 48  # attempts that success and returns are averaged over
_STEPS, _VERSION, _MINUTES = "environment steps", "policy version", "minutes"
_HELD_OUT_COLOUR, _VALIDATION_COLOUR = 5, 4

Row = Mapping[str, Any]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a metrics file; a last line cut short by a kill is left out."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [orjson.loads(line) for line in lines[:-1] if line]


def charts(rows: Sequence[Row]) -> list[Chart]:
    """What to draw of a run; charts without points are left out."""
    by_event = {
        event: [row for row in rows if row["event"] == event]
        for event in ("attempt", "update", "progress", "evaluation")
    }
    found = [
        _success(by_event["attempt"], by_event["evaluation"], by_event["update"]),
        _returns(by_event["attempt"]),
        *_updates(by_event["update"]),
        *_progress(by_event["progress"]),
    ]
    return [chart for chart in found if any(series.x for series in chart.series)]


def _success(attempts: Sequence[Row], evaluations: Sequence[Row], updates: Sequence[Row]) -> Chart:
    scored = [row for row in _with_steps(attempts) if "is_right" in row]
    kinds = sorted({row["kind"] for row in scored})
    groups = {"all": scored} if len(kinds) != 1 else {}
    groups |= {
        kind.replace("_", " "): [row for row in scored if row["kind"] == kind] for kind in kinds
    }
    series = [
        Series(
            name=name,
            x=tuple(row["x"] for row in some),
            y=rolling_mean([float(row["is_right"]) for row in some], _WINDOW),
        )
        for name, some in groups.items()
    ]
    last = float(scored[-1]["x"]) if scored else 0.0
    at = {"untrained": 0.0, "trained": last}
    tested = [(at[row["name"]], row) for row in evaluations if row.get("name") in at]
    steps_at = {row["learner/policy_version"]: row["train/env_steps"] for row in updates}
    validated = [
        (float(steps_at[row["learner/policy_version"]]), row)
        for row in evaluations
        if row.get("learner/policy_version") in steps_at
    ]
    series += [
        Series(
            name=name,
            x=tuple(x for x, _ in points),
            y=tuple(float(row["eval/success"]) for _, row in points),
            is_points=True,
            colour=colour,
        )
        for name, points, colour in (
            ("held-out", tested, _HELD_OUT_COLOUR),
            ("validation", validated, _VALIDATION_COLOUR),
        )
        if points
    ]
    return Chart(
        title=f"Success, mean of {_WINDOW} attempts",
        x_label=_STEPS,
        series=tuple(series),
        y_range=(0.0, 1.0),
    )


def _returns(attempts: Sequence[Row]) -> Chart:
    scored = [row for row in _with_steps(attempts) if "return_0" in row]
    return Chart(
        title=f"Return by layer, mean of {_WINDOW} attempts",
        x_label=_STEPS,
        series=tuple(
            Series(
                name=layer,
                x=tuple(row["x"] for row in scored),
                y=rolling_mean([float(row[f"return_{number}"]) for row in scored], _WINDOW),
            )
            for number, layer in enumerate(LAYERS)
        ),
    )


def _updates(rows: Sequence[Row]) -> list[Chart]:
    def chart(title: str, **keys: str) -> Chart:
        return _chart(title, rows, "learner/policy_version", _VERSION, 1.0, keys)

    return [
        chart(
            "Lag of trained steps, versions",
            mean="learner/lag_mean_versions",
            largest="learner/lag_max_versions",
        ),
        chart(
            "Entropy, share of the largest possible",
            type="learner/entropy_type_fraction",
            arguments="learner/entropy_argument_fraction",
        ),
        chart(
            "Step loss, nats",
            fresh="learner/step_loss_nats",
            replayed="step_replay/step_loss_nats",
        ),
        chart("Outcome loss", outcome="learner/outcome_loss"),
        chart(
            "KL to the reference, nats",
            plain="learner/kl_reference_nats",
            weighted="learner/kl_weighted_nats",
        ),
    ]


def _progress(rows: Sequence[Row]) -> list[Chart]:
    def chart(title: str, y_range: tuple[float, float] | None = None, **keys: str) -> Chart:
        return _chart(title, rows, "time_s", _MINUTES, 1.0 / 60.0, keys, y_range)

    return [
        chart("Environment steps per second", steps="train/env_steps_per_s"),
        chart("Idle shares", (0.0, 1.0), rollouts="rollout/idle", learner="learner/idle"),
        chart("Memory, GB", memory="system/memory_gb"),
    ]


def _chart(
    title: str,
    rows: Sequence[Row],
    x_key: str,
    x_label: str,
    x_scale: float,
    keys: Mapping[str, str],
    y_range: tuple[float, float] | None = None,
) -> Chart:
    series = []
    for name, key in keys.items():
        some = [row for row in rows if key in row and x_key in row]
        if some:
            x = tuple(float(row[x_key]) * x_scale for row in some)
            series.append(Series(name=name, x=x, y=tuple(float(row[key]) for row in some)))
    return Chart(
        title=title,
        x_label=x_label,
        series=tuple(series),
        y_range=y_range,
        is_x_whole=x_label == _VERSION,
    )


def _with_steps(attempts: Sequence[Row]) -> list[dict[str, Any]]:
    """Attempts with `x`, the steps of all attempts up to them."""
    totals = itertools.accumulate(int(row["steps"]) for row in attempts)
    return [{**row, "x": float(total)} for row, total in zip(attempts, totals, strict=True)]


def rolling_mean(values: Sequence[float], window: int) -> tuple[float, ...]:
    """Mean of the last `window` values at each place, of fewer at the start.

    >>> rolling_mean([1.0, 0.0, 0.0], 2)
    (1.0, 0.5, 0.0)
    """
    sums = [0.0, *itertools.accumulate(values)]
    starts = [max(0, end - window) for end in range(1, len(sums))]
    return tuple(
        (sums[end] - sums[start]) / (end - start)
        for end, start in zip(range(1, len(sums)), starts, strict=True)
    )
