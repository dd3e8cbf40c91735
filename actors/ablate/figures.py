# SPDX-License-Identifier: Apache-2.0
"""What one training run reached: its success, its curve, and how long a level took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from actors.ablate.plan import Run
from actors.run_folder import RunFolder
from actors.show.curves import read_rows
from actors.validation import VALIDATION

LEVEL = 0.45  # success on validation tasks; the article's claim of 12 against 27 rounds is about it


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A version that was tried on validation tasks."""

    updates: int
    env_steps: int
    success: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFigures:
    """The figures of one finished run; success on held-out tasks, in [0, 1]."""

    variant: str
    seed: int
    success: float
    low: float  # of Wilson's 95 % interval
    high: float
    num_tasks: int
    by_kind: Mapping[str, float]
    env_steps: int  # of training
    updates: int
    minutes: float  # of training, by the machine it ran on
    curve: tuple[Point, ...]  # by updates

    def first_at(self, level: float) -> Point | None:
        """The first validated version with at least `level`; None when none had."""
        return next((point for point in self.curve if point.success >= level), None)


def read_figures(run: Run, folder: RunFolder) -> RunFigures:
    """The figures of a finished run; `ValueError` when it was not evaluated."""
    summary: dict[str, Any] = orjson.loads(folder.summary.read_bytes())
    if "success_trained" not in summary:
        raise ValueError(
            f"{folder.summary}: expected success_trained, got none; ablations need "
            "evaluation.num_tasks > 0"
        )
    low, high = summary["success_trained_ci95"]
    return RunFigures(
        variant=run.variant,
        seed=run.seed,
        success=summary["success_trained"],
        low=low,
        high=high,
        num_tasks=summary["num_tasks_trained"],
        by_kind=summary["success_trained_by_kind"],
        env_steps=summary["env_steps"],
        updates=summary["policy_version"],
        minutes=summary["minutes_training"],
        curve=_curve(read_rows(folder.metrics)),
    )


def _curve(rows: Sequence[Mapping[str, Any]]) -> tuple[Point, ...]:
    """Validated versions; what a restored run did again counts as it went the last time."""
    version = "learner/policy_version"
    steps_at = {row[version]: row["train/env_steps"] for row in rows if row["event"] == "update"}
    success_at = {
        row[version]: row["eval/success"]
        for row in rows
        if row["event"] == "evaluation" and row.get("name") == VALIDATION
    }
    return tuple(
        Point(updates=updates, env_steps=steps_at[updates], success=success_at[updates])
        for updates in sorted(success_at)
        if updates in steps_at
    )
