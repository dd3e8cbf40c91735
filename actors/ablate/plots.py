# SPDX-License-Identifier: Apache-2.0
"""The figures of ablations as plots: one picture for Markdown, one page with all; pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from html import escape

from actors.ablate.figures import LEVEL, RunFigures
from actors.ablate.table import by_variant, mean
from actors.show.charts import Chart, Series, nice_ticks, svg_chart
from actors.show.style import page

_WIDTH, _LEFT, _RIGHT = 720.0, 170.0, 60.0
_TOP, _ROW_HEIGHT, _BOTTOM = 12.0, 44.0, 40.0
_SEED_SPREAD = 8.0  # between the lines of two seeds, px
# A picture that stands alone has no style sheet around it.
_STYLE = """
.ablations { font: 13px system-ui, sans-serif; background: #fff; max-width: 100%; height: auto;
  --a: #2a78d6; --b: #d8590b;
  --ink: #1b1e24; --quiet: #626a76; --line: #dde1e7; }
@media (prefers-color-scheme: dark) { .ablations { background: #14171c; --a: #6aa9f4;
  --b: #ff9a57; --ink: #e7e9ee; --quiet: #9aa3b2; --line: #343a45; } }
.ablations text { fill: var(--ink); } .ablations .tick { fill: var(--quiet); }
.ablations .grid { stroke: var(--line); }
.ablations .whisker { stroke: var(--a); stroke-width: 2; } .ablations .seed { fill: var(--a); }
.ablations .mean { stroke: var(--b); stroke-width: 3; }
"""


def success_svg(figures: Sequence[RunFigures]) -> str:
    """Success of every run with its interval, a row for each variant; a bar marks the mean."""
    variants = by_variant(figures)
    height = _TOP + _ROW_HEIGHT * len(variants) + _BOTTOM
    bottom = height - _BOTTOM
    parts = []
    for tick in nice_ticks(0.0, 100.0):
        x = _place(tick / 100)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP:g}" y2="{bottom:g}"/>'
            f'<text class="tick" x="{x:.1f}" y="{bottom + 16:g}" text-anchor="middle">'
            f"{tick:g}</text>"
        )
    for row, (name, runs) in enumerate(variants.items()):
        parts.append(_row(name, runs, _TOP + _ROW_HEIGHT * (row + 0.5)))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    label = "success on held-out tasks, points: each seed with its 95 % interval, and the mean"
    parts.append(
        f'<text class="tick" x="{middle:g}" y="{height - 6:g}" text-anchor="middle">{label}</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ablations" '
        f'viewBox="0 0 {_WIDTH:g} {height:g}" '
        f'width="{_WIDTH:g}" height="{height:g}" role="img" aria-label="{label}">'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>\n"
    )


def _place(share: float) -> float:
    return _LEFT + share * (_WIDTH - _RIGHT - _LEFT)


def _row(name: str, runs: Sequence[RunFigures], y: float) -> str:
    parts = [f'<text x="{_LEFT - 12:g}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>']
    for number, run in enumerate(runs):
        at = y + _SEED_SPREAD * (number - (len(runs) - 1) / 2)
        low, high, middle = _place(run.low), _place(run.high), _place(run.success)
        title = f"seed {run.seed}: {100 * run.success:.0f}"
        parts.append(
            f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<circle class="seed" cx="{middle:.1f}" cy="{at:.1f}" r="3.5">'
            f"<title>{title}</title></circle>"
        )
    average = mean(runs, lambda run: run.success)
    x = _place(average)
    half = _ROW_HEIGHT * 0.3
    parts.append(
        f'<line class="mean" x1="{x:.1f}" x2="{x:.1f}" y1="{y - half:.1f}" y2="{y + half:.1f}"/>'
        f'<text x="{_WIDTH - _RIGHT + 8:g}" y="{y + 4:.1f}">{100 * average:.1f}</text>'
    )
    return "".join(parts)


def curve_charts(figures: Sequence[RunFigures]) -> list[Chart]:
    """A chart for each variant beside the first one: success on validation tasks by steps."""
    variants = by_variant(figures)
    first = next(iter(variants), "")
    charts = []
    for name, runs in variants.items():
        series = [_mean_curve(first, variants[first], 0)]
        if name != first:
            series.append(_mean_curve(name, runs, 1))
        series += [_seed_points(run) for run in runs]
        charts.append(
            Chart(
                title=name,
                x_label="environment steps",
                series=tuple(series),
                y_range=(0.0, 1.0),
            )
        )
    return charts


def _mean_curve(name: str, runs: Sequence[RunFigures], colour: int) -> Series:
    """Mean over the seeds at the versions that all of them had tried."""
    shared = [
        points
        for points in zip(*(run.curve for run in runs), strict=False)
        if len({point.updates for point in points}) == 1
    ]
    return Series(
        name=name,
        x=tuple(statistics.fmean(point.env_steps for point in points) for points in shared),
        y=tuple(statistics.fmean(point.success for point in points) for points in shared),
        colour=colour,
    )


def _seed_points(run: RunFigures) -> Series:
    return Series(
        name=f"seed {run.seed}",
        x=tuple(float(point.env_steps) for point in run.curve),
        y=tuple(point.success for point in run.curve),
        is_points=True,
        colour=2 + run.seed,
    )


def plots_page(figures: Sequence[RunFigures]) -> str:
    """All plots on one page."""
    charts = "".join(svg_chart(chart) for chart in curve_charts(figures))
    body = (
        f"<h1>Ablations</h1><div class='card'>{success_svg(figures)}</div>"
        "<h2>Success on validation tasks</h2><p class='quiet'>A line is the mean of a variant's "
        f"seeds, a dot one seed; {100 * LEVEL:.0f} points are the level of the table.</p>"
        f"<div class='charts'>{charts}</div>"
    )
    return page("ForageRL · Ablations", body)
