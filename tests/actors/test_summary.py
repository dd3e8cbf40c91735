# SPDX-License-Identifier: Apache-2.0
"""What is written at the end of a run, from outcomes made by hand."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from actors.evaluation import Evaluation, TaskOutcome
from actors.summary import success_figures, table, write_summary


def evaluation(agent: str, rights: dict[str, bool], *, num_missing: int = 0) -> Evaluation:
    outcomes = tuple(
        TaskOutcome(
            task_id=task_id,
            kind="two_hop" if task_id.startswith("t") else "look_up",
            is_right=is_right,
            num_steps=3,
        )
        for task_id, is_right in rights.items()
    )
    return Evaluation(
        agent=agent,
        outcomes=outcomes,
        num_missing=num_missing,
        env_steps=3 * len(outcomes),
        duration_s=1.0,
    )


def test_success_is_reported_by_name_and_by_kind():
    figures = success_figures(
        {"bm25_first_hit": evaluation("bm25_first_hit", {"l1": True, "l2": False, "t1": False})}
    )
    assert figures["success_bm25"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["success_bm25_by_kind"] == {"look_up": 0.5, "two_hop": 0.0}


def test_gain_is_taken_over_the_tasks_that_both_have():
    untrained = evaluation("policy", {"l1": False, "l2": False, "t1": True, "t2": False})
    trained = evaluation("policy", {"l1": True, "t1": True, "t2": True}, num_missing=1)
    figures = success_figures({"untrained": untrained, "trained": trained})
    assert figures["gain"] == pytest.approx(2 / 3, abs=1e-4)
    low, high = figures["gain_ci95"]
    assert low < 2 / 3 < high
    assert figures["num_missing_trained"] == 1


def test_a_missing_task_is_not_a_failure():
    figures = success_figures({"policy": evaluation("policy", {"l1": True}, num_missing=3)})
    assert figures["success_policy"] == 1.0
    assert figures["num_tasks_policy"] == 1


def test_the_table_shows_every_agent_and_the_gain():
    evaluations = {
        "untrained": evaluation("policy", {"l1": False, "t1": False}),
        "trained": evaluation("policy", {"l1": True, "t1": True}),
    }
    text = table(evaluations, {**success_figures(evaluations), "env_steps_per_s": 9.5})
    assert "look_up" in text and "two_hop" in text
    assert "gain +1.000" in text
    assert "9.5" in text


def test_the_summary_is_whole_json(tmp_path: Path):
    write_summary(tmp_path / "summary.json", {"lag_max": 2, "gain_ci95": [0.1, 0.2]})
    assert orjson.loads((tmp_path / "summary.json").read_bytes())["gain_ci95"] == [0.1, 0.2]
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
