# SPDX-License-Identifier: Apache-2.0
"""The figures of a run: `summary.json`, the table at the end, and what produced them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from actors.evaluation import Evaluation
from actors.statistics import paired_gain_ci95

# Keys of the scripted agents in the summary; others are written as `success_<name>`.
_SHORT_NAMES = {"bm25_first_hit": "bm25"}
UNTRAINED, TRAINED = "untrained", "trained"


def success_figures(evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    """`success_<name>` in [0, 1] and its parts by kind, for each evaluation by name."""
    figures: dict[str, Any] = {}
    for name, evaluation in evaluations.items():
        short = _SHORT_NAMES.get(name, name)
        rate = evaluation.rate()
        figures[f"success_{short}"] = round(rate.value, 4)
        figures[f"success_{short}_ci95"] = [round(rate.low, 4), round(rate.high, 4)]
        figures[f"success_{short}_by_kind"] = {
            kind: round(part.value, 4) for kind, part in evaluation.rate_by_kind().items()
        }
        figures[f"num_tasks_{short}"] = rate.num_tasks
        figures[f"num_missing_{short}"] = evaluation.num_missing
    if UNTRAINED in evaluations and TRAINED in evaluations:
        figures.update(_gain_figures(evaluations[UNTRAINED], evaluations[TRAINED]))
    return figures


def _gain_figures(untrained: Evaluation, trained: Evaluation) -> dict[str, Any]:
    """Gain over the tasks that both have an outcome for."""
    before = {outcome.task_id: outcome.is_right for outcome in untrained.outcomes}
    after = {outcome.task_id: outcome.is_right for outcome in trained.outcomes}
    both = [task_id for task_id in before if task_id in after]
    if len(both) < 2:
        return {}
    low, high = paired_gain_ci95([before[t] for t in both], [after[t] for t in both])
    gain = sum(int(after[t]) - int(before[t]) for t in both) / len(both)
    return {"gain": round(gain, 4), "gain_ci95": [round(low, 4), round(high, 4)]}


def table(evaluations: Mapping[str, Evaluation], summary: Mapping[str, Any]) -> str:
    """What a person reads at the end of a run."""
    kinds = sorted({kind for e in evaluations.values() for kind in e.rate_by_kind()})
    lines = [""]
    if evaluations:
        lines.append(f"{'agent':<16}{'tasks':>6}  {'success':>7}  {'95 %':<13}" + _row(kinds))
    for name, evaluation in evaluations.items():
        rate, by_kind = evaluation.rate(), evaluation.rate_by_kind()
        interval = f"{rate.low:.3f}-{rate.high:.3f}"
        parts = _row([f"{by_kind[kind].value:.3f}" if kind in by_kind else "-" for kind in kinds])
        missing = f"  ({evaluation.num_missing} missing)" if evaluation.num_missing else ""
        lines.append(
            f"{name:<16}{rate.num_tasks:>6}  {rate.value:>7.3f}  {interval:<13}{parts}{missing}"
        )
    lines.append("")
    plain = {k: v for k, v in summary.items() if isinstance(v, int | float | str)}
    shown = {k: v for k, v in plain.items() if not k.startswith(("success_", "num_"))}
    if "gain_ci95" in summary:
        low, high = summary["gain_ci95"]
        lines.append(f"gain {summary['gain']:+.3f} (95 % {low:+.3f} to {high:+.3f}, paired)")
    lines.extend(f"{key:<24}{value}" for key, value in shown.items() if key != "gain")
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return "".join(f"{cell:>14}" for cell in cells)


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    """Write `summary` as JSON; the file is whole or not there."""
    partial = path.with_suffix(".partial")
    partial.write_bytes(orjson.dumps(dict(summary), option=orjson.OPT_INDENT_2) + b"\n")
    os.replace(partial, path)


def versions() -> dict[str, str]:
    """What produced the figures."""
    names = ("foragerl", "ray", "torch", "playwright", "numpy")
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"  # a checkout that is run in place
    return found
