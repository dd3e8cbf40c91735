# SPDX-License-Identifier: Apache-2.0
"""A run as one self-contained page: figures, results, learning curves and a few attempts.

Reads what the run left in its folder (`summary.json`, `metrics.jsonl`, `episodes/`) and needs none
of it: a run that was interrupted has a report too.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import orjson

from actors.archive import Head, archived_paths, read_episode, read_frame, read_head
from actors.run_folder import RunFolder
from actors.show.charts import svg_chart
from actors.show.curves import charts, read_rows
from actors.show.film import gif, smaller_jpeg
from actors.show.scenes import head_html, strip_html
from actors.show.style import page

MAX_EPISODES = 6
_MAX_SCENES = 24  # of one film strip; a longer attempt is cut, the viewer has all of it
_FRAME_WIDTH_PX = 560
_LAST = ("untrained", "trained")  # rows of the table, below the scripted agents
_PHASES = ("trained", "untrained")  # scripted agents are left to the viewer
_FIGURES = (  # key of the summary, what a person calls it, how it is written
    ("success_untrained", "success untrained", "{:.1%}"),
    ("success_trained", "success trained", "{:.1%}"),
    ("env_steps_per_s", "steps per second", "{:.1f}"),
    ("env_steps", "environment steps", "{:,}"),
    ("episodes", "training attempts", "{:,}"),
    ("policy_version", "policy versions", "{}"),
    ("lag_max", "largest lag, versions", "{}"),
    ("restarts", "restarts", "{}"),
    ("peak_memory_gb", "peak memory, GB", "{:.1f}"),
    ("minutes", "minutes in all", "{:.1f}"),
)


def write_report(folder: RunFolder) -> Path:
    """Write the run's `report.html`; the file is whole or not there."""
    partial = folder.report.with_suffix(".partial")
    partial.write_text(report_html(folder), encoding="utf-8")
    os.replace(partial, folder.report)
    return folder.report


def report_html(folder: RunFolder) -> str:
    """The page of a run."""
    summary = orjson.loads(folder.summary.read_bytes()) if folder.summary.exists() else {}
    rows = read_rows(folder.metrics)
    name = escape(folder.path.resolve().name)
    drawn = "".join(svg_chart(chart) for chart in charts(rows))
    sections = (
        f"<h1>{name}</h1><p class='quiet'>{_origin(summary)}</p>{_figures(summary)}",
        f"<h2>Results on held-out tasks</h2>{_results(summary, rows)}",
        f"<h2>Learning curves</h2><div class='charts'>{drawn}</div>" if drawn else "",
        f"<h2>Attempts</h2>{_episodes(folder.path)}",
    )
    return page(f"ForageRL · {name}", "".join(sections))


def _origin(summary: Mapping[str, Any]) -> str:
    if not summary:
        return "no summary: the run has not ended, or was interrupted"
    versions = summary.get("versions", {})
    shown = ", ".join(f"{key} {value}" for key, value in versions.items())
    return escape(
        f"driver {summary.get('driver')}, launch {summary.get('launch')}, "
        f"seed {summary.get('seed')}; {shown}"
    )


def _figures(summary: Mapping[str, Any]) -> str:
    items = [
        f"<li><b>{form.format(summary[key])}</b><span>{label}</span></li>"
        for key, label, form in _FIGURES
        if key in summary
    ]
    if "gain_ci95" in summary:
        low, high = summary["gain_ci95"]
        gain = f"<li><b>{summary['gain']:+.3f}</b><span>gain, 95 % {low:+.3f} to {high:+.3f}</span>"
        items.insert(2, f"{gain}</li>")
    return f"<ul class='figures'>{''.join(items)}</ul>" if items else ""


# --- The results table -------------------------------------------------------------------------


def _results(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    evaluated = _from_summary(summary) or _from_rows(rows)
    evaluated.sort(
        key=lambda values: _LAST.index(values["name"]) if values["name"] in _LAST else -1
    )
    if not evaluated:
        return "<p class='quiet'>nothing was evaluated</p>"
    kinds = sorted({kind for values in evaluated for kind in values["by_kind"]})
    head = "".join(f"<th class='number'>{escape(k.replace('_', ' '))}</th>" for k in kinds)
    body = []
    for values in evaluated:
        low, high = values["ci95"]
        cells = "".join(
            f"<td class='number'>{_share(values['by_kind'].get(kind))}</td>" for kind in kinds
        )
        body.append(
            f"<tr><td>{escape(values['name'])}</td><td class='number'>{values['tasks']}</td>"
            f"<td class='number'>{_share(values['success'])}</td>"
            f"<td class='number'>{low:.1%} – {high:.1%}</td>"
            f"<td class='bar'>{_interval_svg(values['success'], low, high)}</td>{cells}</tr>"
        )
    return (
        "<div class='card scroll'><table><thead><tr><th>agent</th><th class='number'>tasks</th>"
        f"<th class='number'>success</th><th class='number'>95 % interval</th>"
        f"<th class='bar'></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _from_summary(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": key.removeprefix("success_").removesuffix("_ci95"),
            "ci95": value,
            "success": summary[key.removesuffix("_ci95")],
            "tasks": summary.get(key.replace("success_", "num_tasks_").removesuffix("_ci95"), ""),
            "by_kind": summary.get(key.replace("_ci95", "_by_kind"), {}),
        }
        for key, value in summary.items()
        if key.startswith("success_") and key.endswith("_ci95")
    ]


def _from_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The evaluations of a run without a summary."""
    own = {"eval/success", "eval/success_low", "eval/success_high"}
    return [
        {
            "name": row["name"],
            "ci95": (row["eval/success_low"], row["eval/success_high"]),
            "success": row["eval/success"],
            "tasks": row["eval/num_tasks"],
            "by_kind": {
                key.removeprefix("eval/success_"): value
                for key, value in row.items()
                if key.startswith("eval/success_") and key not in own
            },
        }
        for row in rows
        if row["event"] == "evaluation"
    ]


def _interval_svg(value: float, low: float, high: float) -> str:
    """Where success and its interval lie between 0 and 1."""
    return (
        f"<svg class='interval' viewBox='0 0 100 10' preserveAspectRatio='none' role='img' "
        f"aria-label='{low:.2f} to {high:.2f}'>"
        f"<rect class='track' y='4' width='100' height='2'/>"
        f"<rect class='reach' x='{low * 100:.1f}' y='2' width='{(high - low) * 100:.1f}' "
        f"height='6'/><rect class='at' x='{value * 98:.1f}' width='2' height='10'/></svg>"
    )


# --- Attempts ----------------------------------------------------------------------------------


def _episodes(run: Path) -> str:
    chosen = choose([(path, read_head(path)) for path in archived_paths(run)])
    if not chosen:
        return "<p class='quiet'>none were archived (logger.episodes_per_kind)</p>"
    note = (
        "<p class='quiet'>Blue boxes could take the chosen type of action, the orange one did; "
        "dashed ones could take another. Below each picture: rewards by layer, and the legal "
        f"types with the number of their elements. <code>foragerl view {escape(run.name)}</code> "
        "steps through all archived attempts.</p>"
    )
    return note + "".join(_episode(path) for path in chosen)


def choose(archived: Sequence[tuple[Path, Head]]) -> list[Path]:
    """A few attempts: of each phase, kind and outcome one, the trained policy's first."""
    chosen: list[Path] = []
    for phase in _PHASES:
        seen: set[tuple[str, bool]] = set()
        for path, head in sorted(archived, key=lambda item: (not item[1].is_right, item[0])):
            if head.phase == phase and (head.kind, head.is_right) not in seen:
                seen.add((head.kind, head.is_right))
                chosen.append(path)
    others = [path for path, head in archived if head.phase not in _PHASES and head.num_steps]
    return (chosen or others)[:MAX_EPISODES]


def _episode(path: Path) -> str:
    episode = read_episode(path)
    shown = range(min(len(episode.scenes), _MAX_SCENES))
    frames = [read_frame(path, number) for number in shown]
    pictures = [
        _data_url(smaller_jpeg(frame, _FRAME_WIDTH_PX), "jpeg") if frame else "" for frame in frames
    ]
    film = gif(episode.scenes[: len(frames)], episode.moves, frames)
    moving = f"<img class='gif' alt='the attempt as a film' src='{_data_url(film, 'gif')}'>"
    cut = len(episode.scenes) - len(frames)
    more = f"<p class='quiet'>{cut} more steps are in the viewer</p>" if cut else ""
    return (
        f"<article class='card episode'><div class='top'><div>{head_html(episode.head)}</div>"
        f"{moving if film else ''}</div>{strip_html(episode, pictures)}{more}"
        "</article>"
    )


def _data_url(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
