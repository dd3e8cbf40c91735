# SPDX-License-Identifier: Apache-2.0
"""Line charts as SVG text; pure. Colours come from the classes `c0`, `c1`, ... of `show.style`."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_Position = Callable[[float], float]  # from a value to a place in the drawing
NUM_COLOURS = 6
MAX_POINTS = 240  # of one line; a phone shows fewer
_WIDTH, _HEIGHT = 420.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 12.0, 10.0, 34.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One line, or the points of it alone."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]  # as long as `x`; points that are not finite are left out
    is_points: bool = False  # separate measurements: dots, not a line
    colour: int = -1  # of the palette; -1 takes the next


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A title, its lines and its axes."""

    title: str
    x_label: str
    series: tuple[Series, ...]
    y_range: tuple[float, float] | None = None  # None fits the lines
    is_x_whole: bool = False  # x counts something: no ticks between whole numbers


def svg_chart(chart: Chart) -> str:
    """The chart as a `<figure>`; a chart without points says so."""
    lines = [(s, _points(s)) for s in chart.series]
    everything = [point for _, points in lines for point in points]
    title = f"<figcaption>{html.escape(chart.title)}</figcaption>"
    if not everything:
        return f'<figure class="chart">{title}<p class="quiet">no data</p></figure>'
    x_low, x_high = _widened(min(x for x, _ in everything), max(x for x, _ in everything))
    y_low, y_high = chart.y_range or _widened(
        min(y for _, y in everything), max(y for _, y in everything)
    )
    to_x = _scale(x_low, x_high, _LEFT, _WIDTH - _RIGHT)
    to_y = _scale(y_low, y_high, _HEIGHT - _BOTTOM, _TOP)
    parts = [_grid(nice_ticks(y_low, y_high), to_y), _x_axis(x_low, x_high, to_x, chart)]
    for number, (series, points) in enumerate(lines):
        parts.append(_drawn(series, points, _colour(series, number), to_x, to_y))
    body = "".join(parts)
    return (
        f'<figure class="chart">{title}{_legend(chart.series)}'
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
        f'aria-label="{html.escape(chart.title, quote=True)}">{body}</svg></figure>'
    )


def nice_ticks(low: float, high: float, count: int = 4) -> list[float]:
    """About `count` round numbers within [low, high].

    >>> nice_ticks(0.0, 1.0)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    step = _nice_step((high - low) / count)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _nice_step(raw: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(raw))
    return next(m * magnitude for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * magnitude >= raw * 0.999)


def _widened(low: float, high: float) -> tuple[float, float]:
    """A range that is not empty."""
    if high > low:
        return low, high
    margin = abs(low) * 0.1 or 1.0
    return low - margin, high + margin


def _scale(low: float, high: float, start: float, end: float) -> _Position:
    def position(value: float) -> float:
        return start + (min(max(value, low), high) - low) / (high - low) * (end - start)

    return position


def _points(series: Series) -> list[tuple[float, float]]:
    """The finite points, thinned; the last one stays."""
    pairs = zip(series.x, series.y, strict=True)
    finite = [(x, y) for x, y in pairs if math.isfinite(x) and math.isfinite(y)]
    every = math.ceil(len(finite) / MAX_POINTS) or 1
    return finite[::-every][::-1] if every > 1 else finite


def _colour(series: Series, number: int) -> int:
    return (number if series.colour < 0 else series.colour) % NUM_COLOURS


def _drawn(
    series: Series,
    points: Sequence[tuple[float, float]],
    colour: int,
    to_x: _Position,
    to_y: _Position,
) -> str:
    name = html.escape(series.name)
    where = [(to_x(x), to_y(y)) for x, y in points]
    if series.is_points or len(where) == 1:
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"><title>{name}: {label:.3g}</title></circle>'
            for (x, y), (_, label) in zip(where, points, strict=True)
        )
        return f'<g class="dots c{colour}">{dots}</g>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
    return f'<polyline class="line c{colour}" points="{path}"><title>{name}</title></polyline>'


def _grid(ticks: Sequence[float], to_y: _Position) -> str:
    parts = []
    for tick in ticks:
        y = to_y(tick)
        parts.append(
            f'<line class="grid" x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(
            f'<text x="{_LEFT - 6:g}" y="{y + 3.5:.1f}" text-anchor="end">{short(tick)}</text>'
        )
    return "".join(parts)


def _x_axis(low: float, high: float, to_x: _Position, chart: Chart) -> str:
    bottom = _HEIGHT - _BOTTOM
    ticks = "".join(
        f'<text x="{to_x(tick):.1f}" y="{bottom + 14:g}" text-anchor="middle">{short(tick)}</text>'
        for tick in nice_ticks(low, high)
        if not chart.is_x_whole or tick == int(tick)
    )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    name = html.escape(chart.x_label)
    return (
        f'<line class="axis" x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" y1="{bottom:g}" '
        f'y2="{bottom:g}"/>{ticks}'
        f'<text class="label" x="{middle:g}" y="{_HEIGHT - 4:g}" text-anchor="middle">{name}</text>'
    )


def short(value: float) -> str:
    """A number for an axis: 1200 as 1.2k, 0.00002 as 2e-05."""
    if abs(value) >= 1000:
        return f"{value / 1000:.3g}k"
    return f"{value:.3g}"


def _legend(series: Sequence[Series]) -> str:
    if len(series) < 2:
        return ""
    items = "".join(
        f'<li class="c{_colour(s, number)}">{html.escape(s.name)}</li>'
        for number, s in enumerate(series)
    )
    return f'<ul class="legend">{items}</ul>'
