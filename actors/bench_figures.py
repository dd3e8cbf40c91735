# SPDX-License-Identifier: Apache-2.0
"""The figures of Forage-Bench from outcomes: points by sub-score, steps, invalid actions; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actors.evaluation import Evaluation, TaskOutcome
from actors.statistics import wilson
from actors.summary import UNTRAINED
from envs.types import Task
from envs.web.bench import SUB_SCORES

POLICY, BM25, ORACLE = "policy", "bm25_first_hit", "oracle"
_HEADLINE = {UNTRAINED: "untrained", BM25: "bm25", ORACLE: "oracle"}


def agent_figures(evaluation: Evaluation, tasks: Sequence[Task]) -> dict[str, Any]:
    """What one agent reached, as plain JSON values; `tasks` are those that it was tried on.

    Points are the share of right answers x 100, with Wilson's 95 % interval.
    """
    outcomes = evaluation.outcomes
    language = {task.task_id: task.language for task in tasks}
    kinds = [kind for kinds in SUB_SCORES.values() for kind in kinds]

    def of_kinds(kinds: Sequence[str]) -> list[TaskOutcome]:
        return [outcome for outcome in outcomes if outcome.kind in kinds]

    return {
        **_figures(outcomes),
        "num_missing": evaluation.num_missing,
        "sub_scores": {name: _figures(of_kinds(kinds)) for name, kinds in SUB_SCORES.items()},
        "by_kind": {kind: _figures(of_kinds([kind])) for kind in kinds},
        "by_language": {
            each: _figures([o for o in outcomes if language[o.task_id] == each])
            for each in sorted(set(language.values()))
        },
        "env_steps": evaluation.env_steps,
        "duration_s": round(evaluation.duration_s, 1),
    }


def _figures(outcomes: Sequence[TaskOutcome]) -> dict[str, Any]:
    """Score and interval in points; None where nothing was tried, as are the others."""
    rate = wilson(sum(outcome.is_right for outcome in outcomes), len(outcomes))
    num_steps = sum(outcome.num_steps for outcome in outcomes)
    num_invalid = sum(outcome.num_invalid for outcome in outcomes)
    return {
        "score": round(100.0 * rate.value, 2) if outcomes else None,
        "ci95": [round(100.0 * rate.low, 2), round(100.0 * rate.high, 2)] if outcomes else None,
        "num_tasks": rate.num_tasks,
        "mean_steps": round(num_steps / rate.num_tasks, 2) if rate.num_tasks else None,
        "invalid_share": round(num_invalid / num_steps, 4) if num_steps else None,
    }


def headline(agents: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """What a training run's summary says: points of the policy, by sub-score, and of the others.

    `num_missing` are the policy's tasks that the world broke at every try.
    """
    policy = agents[POLICY]
    found = {"score": policy["score"], "num_missing": policy["num_missing"]}
    found |= {name: policy["sub_scores"][name]["score"] for name in SUB_SCORES}
    return found | {short: agents[name]["score"] for name, short in _HEADLINE.items()}


def bench_table(agents: Mapping[str, Mapping[str, Any]]) -> str:
    """What a person reads at the end: points with 95 % intervals."""
    names = ("score", *SUB_SCORES)
    head = "".join(f"{name:>20}" for name in names)
    lines = ["", f"{'agent':<16}{'tasks':>6}{head}{'steps':>8}{'invalid':>9}"]
    for name, figures in agents.items():
        parts = [figures, *(figures["sub_scores"][each] for each in SUB_SCORES)]
        cells = "".join(f"{_cell(part):>20}" for part in parts)
        missing = f"  ({figures['num_missing']} missing)" if figures["num_missing"] else ""
        steps, invalid = figures["mean_steps"] or 0.0, figures["invalid_share"] or 0.0
        lines.append(
            f"{name:<16}{figures['num_tasks']:>6}{cells}{steps:>8.1f}{invalid:>9.3f}{missing}"
        )
    return "\n".join(lines)


def _cell(figures: Mapping[str, Any]) -> str:
    if not figures["num_tasks"]:
        return "-"
    low, high = figures["ci95"]
    return f"{figures['score']:.1f} ({low:.1f}-{high:.1f})"
