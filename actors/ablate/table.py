# SPDX-License-Identifier: Apache-2.0
"""The figures of ablations as Markdown; pure. Success in points of 100."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from actors.ablate.figures import LEVEL, RunFigures

NONE = "–"


def by_variant(figures: Sequence[RunFigures]) -> dict[str, list[RunFigures]]:
    """The runs of each variant, in the order of the figures."""
    found: dict[str, list[RunFigures]] = {}
    for run in figures:
        found.setdefault(run.variant, []).append(run)
    return found


def mean(runs: Sequence[RunFigures], value: Callable[[RunFigures], float]) -> float:
    """Mean over the seeds of a variant."""
    return statistics.fmean(value(run) for run in runs)


def points(share: float) -> str:
    """A share in points of 100."""
    return f"{100 * share:.0f}"


def markdown(figures: Sequence[RunFigures], missing: Mapping[str, int]) -> str:
    """All tables; `missing` counts the runs of a variant without figures."""
    variants = by_variant(figures)
    names = [*variants, *(name for name in missing if name not in variants)]
    seeds = sorted({run.seed for run in figures})
    kinds = sorted({kind for run in figures for kind in run.by_kind})
    lines = ["# Ablations", "", _what(figures), ""]
    lines += _table(
        ["variant", "mean", *(f"seed {seed}" for seed in seeds), "steps", "updates", "minutes"],
        [_success_row(name, variants.get(name, []), seeds) for name in names],
    )
    lines += ["", "## By kind of task", "", "Mean over the seeds, points.", ""]
    lines += _table(["variant", *kinds], [_kind_row(n, variants.get(n, []), kinds) for n in names])
    level = points(LEVEL)
    lines += [
        "",
        f"## Updates to {level} points",
        "",
        f"Of each seed, the first validated version with at least {level} points on validation "
        f"tasks, in updates and in environment steps; {NONE} for a seed that never had.",
        "",
    ]
    lines += _table(
        ["variant", "updates", "environment steps", "seeds"],
        [_level_row(name, variants.get(name, [])) for name in names],
    )
    for name, count in missing.items():
        lines += ["", f"{name}: {count} of its runs did not come to their end."]
    return "\n".join(lines) + "\n"


def _what(figures: Sequence[RunFigures]) -> str:
    tasks = sorted({run.num_tasks for run in figures})
    told = " or ".join(str(number) for number in tasks) or "no"
    return (
        f"Success on {told} held-out tasks, points of 100; in brackets each run's 95 % interval "
        "(Wilson). The mean is over the seeds, with the lowest and the highest seed. Steps, "
        "updates and minutes are means, of training alone."
    )


def _success_row(name: str, runs: Sequence[RunFigures], seeds: Sequence[int]) -> list[str]:
    if not runs:
        return [name, NONE, *(NONE for _ in seeds), NONE, NONE, NONE]
    of_seed = {run.seed: run for run in runs}
    cells = [
        f"{points(run.success)} ({points(run.low)}–{points(run.high)})" if run else NONE
        for run in map(of_seed.get, seeds)
    ]
    reached = [run.success for run in runs]
    spread = f" ({points(min(reached))}–{points(max(reached))})" if len(runs) > 1 else ""
    return [
        name,
        f"**{100 * mean(runs, lambda run: run.success):.1f}**{spread}",
        *cells,
        f"{mean(runs, lambda run: run.env_steps):,.0f}",
        f"{mean(runs, lambda run: run.updates):,.0f}",
        f"{mean(runs, lambda run: run.minutes):.1f}",
    ]


def _kind_row(name: str, runs: Sequence[RunFigures], kinds: Sequence[str]) -> list[str]:
    cells = []
    for kind in kinds:
        known = [run.by_kind[kind] for run in runs if kind in run.by_kind]
        cells.append(points(statistics.fmean(known)) if known else NONE)
    return [name, *cells]


def _level_row(name: str, runs: Sequence[RunFigures]) -> list[str]:
    first = [run.first_at(LEVEL) for run in runs]
    reached = [point for point in first if point is not None]
    return [
        name,
        ", ".join(f"{p.updates:,}" if p else NONE for p in first) or NONE,
        ", ".join(f"{p.env_steps:,}" if p else NONE for p in first) or NONE,
        f"{len(reached)} of {len(runs)}",
    ]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    return [line(header), line(["---"] * len(header)), *(line(row) for row in rows)]
