# SPDX-License-Identifier: Apache-2.0
"""Forage-Bench as a command and at the end of a training run, on the fast twin."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from actors.archive import archived_paths, read_head
from actors.bench import agents_of
from actors.bench_figures import agent_figures, bench_table, headline
from actors.cli import EXIT_USAGE, main
from actors.config import EvaluateJob, EvaluationConfig, TrainJob
from actors.evaluation import Evaluation, TaskOutcome
from actors.launch_inprocess import InProcessLauncher
from actors.run_folder import RunFolder
from envs.config import EnvConfig
from envs.search_env import make_task_set
from envs.types import Split, Task
from envs.web.bench import SUB_SCORES
from tests.actors.jobs import SMALL, rows, run_job, without_evaluation

HEADLINE = {"score", *SUB_SCORES, "untrained", "bm25", "oracle"}


@pytest.fixture
def keeps_logging() -> Iterator[None]:
    """The commands log to a run's folder and to the terminal; afterwards all is as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in [each for each in root.handlers if each not in handlers]:
        root.removeHandler(handler)
        handler.close()
    root.handlers[:], root.level = handlers, level


def bench_json(runs_dir: Path) -> dict[str, Any]:
    (path,) = runs_dir.glob("*-bench/bench.json")
    return orjson.loads(path.read_bytes())


def command(runs_dir: Path, *arguments: str) -> int:
    fixed = ("--driver", "twin", "launch=inprocess", f"logger.runs_dir={runs_dir}")
    return main(["bench", *arguments, *fixed])


def tasks_of_bench(number: int) -> list[Task]:
    task_set = make_task_set(EnvConfig(task_set="forage_bench"))
    return [task_set.task(Split.TEST, index) for index in range(number)]


@pytest.mark.usefixtures("keeps_logging")
def test_the_scripted_agents_are_benched_without_a_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert command(tmp_path, "--agents", "oracle,bm25_first_hit", "--tasks", "6") == 0
    found = bench_json(tmp_path)
    assert found["checkpoint"] is None and found["driver"] == "twin"
    assert list(found["agents"]) == ["oracle", "bm25_first_hit"]
    oracle = found["agents"]["oracle"]
    assert oracle["score"] == 100.0 and oracle["num_tasks"] == 6 and oracle["num_missing"] == 0
    assert oracle["ci95"][0] < 100.0 and oracle["ci95"][1] == 100.0
    assert {
        name: part["num_tasks"] for name, part in oracle["sub_scores"].items()
    } == dict.fromkeys(SUB_SCORES, 2)
    assert oracle["mean_steps"] > 4.0 and oracle["invalid_share"] == 0.0
    shown = capsys.readouterr().err
    assert "cross_page" in shown and "100.0 (61.0-100.0)" in shown
    folder = RunFolder(path=next(tmp_path.glob("*-bench")))
    heads = [read_head(path) for path in archived_paths(folder.path)]
    assert {head.phase for head in heads} == {"bench_oracle", "bench_bm25_first_hit"}
    assert len(heads) == 12
    assert [row["name"] for row in rows(folder, "evaluation")] == [
        "bench_oracle",
        "bench_bm25_first_hit",
    ]


@pytest.mark.usefixtures("keeps_logging")
def test_a_run_benches_at_its_end_and_its_checkpoint_can_be_benched_again(tmp_path: Path):
    evaluation = dataclasses.replace(
        without_evaluation(SMALL).evaluation, bench=True, bench_tasks=3
    )
    train = dataclasses.replace(SMALL.train, max_env_steps=24)
    job = dataclasses.replace(SMALL, evaluation=evaluation, train=train)
    launcher = InProcessLauncher(job.worker_configs())
    summary, folder = asyncio.run(run_job(job, tmp_path, launcher))
    assert set(summary["forage_bench"]) == HEADLINE | {"num_missing"}
    assert summary["forage_bench"]["num_missing"] == 0
    assert summary["forage_bench"]["oracle"] == 100.0
    assert orjson.loads(folder.summary.read_bytes())["forage_bench"] == summary["forage_bench"]
    found = orjson.loads(folder.bench.read_bytes())
    assert found["policy_version"] == summary["policy_version"] > 0
    heads = [read_head(path) for path in archived_paths(folder.path)]
    acted = {head.phase: head.policy_version for head in heads if head.phase.startswith("bench_")}
    assert acted["bench_policy"] == summary["policy_version"]
    assert acted["bench_untrained"] == 0, "the weights of before, though they are older"

    again = tmp_path / "again"
    assert command(again, str(folder.path), "--agents", "policy", "--tasks", "3") == 0
    repeated = bench_json(again)["agents"]["policy"]
    once = found["agents"]["policy"]
    for figures in (once, repeated):
        figures.pop("duration_s")
    assert repeated == once, "the same checkpoint, seed and tasks"


def outcome(task: Task, *, is_right: bool, num_steps: int, num_invalid: int) -> TaskOutcome:
    return TaskOutcome(
        task_id=task.task_id,
        kind=task.kind,
        is_right=is_right,
        num_steps=num_steps,
        num_invalid=num_invalid,
    )


def made_by_hand(tasks: list[Task]) -> Evaluation:
    """Right on every even task in 4 steps, wrong on the others in 8, of which 2 did nothing."""
    outcomes = [
        outcome(task, is_right=True, num_steps=4, num_invalid=0)
        if index % 2 == 0
        else outcome(task, is_right=False, num_steps=8, num_invalid=2)
        for index, task in enumerate(tasks)
    ]
    return Evaluation(
        agent="policy", outcomes=tuple(outcomes), num_missing=1, env_steps=40, duration_s=1.0
    )


def test_points_steps_and_invalid_share_by_sub_score():
    figures = agent_figures(made_by_hand(tasks_of_bench(6)), tasks_of_bench(6))
    assert (figures["score"], figures["mean_steps"]) == (50.0, 6.0)
    assert figures["invalid_share"] == pytest.approx(6 / 36, abs=1e-4)
    assert figures["num_missing"] == 1
    # Indices 0 and 3 are multi-hop, 1 and 4 fuzzy, 2 and 5 cross-page.
    assert {name: part["score"] for name, part in figures["sub_scores"].items()} == dict.fromkeys(
        SUB_SCORES, 50.0
    )
    assert figures["by_kind"]["two_hop"]["score"] == 100.0
    assert figures["by_kind"]["three_hop"]["score"] == 0.0
    assert figures["by_language"]["en"]["num_tasks"] == 6
    low, high = figures["ci95"]
    assert (low, high) == (18.76, 81.24), "Wilson (1927) for 3 of 6"
    assert "50.0 (18.8-81.2)" in bench_table({"policy": figures})
    assert "(1 missing)" in bench_table({"policy": figures})


def test_a_sub_score_that_was_not_tried_has_no_figures():
    tasks = tasks_of_bench(1)
    figures = agent_figures(made_by_hand(tasks), tasks)
    assert figures["sub_scores"]["fuzzy"]["num_tasks"] == 0
    assert figures["sub_scores"]["fuzzy"]["mean_steps"] is None
    assert "-" in bench_table({"policy": figures}).splitlines()[-1].split()


def test_the_summary_of_a_run_has_points_of_all_that_the_figure_is_held_against():
    figures = agent_figures(made_by_hand(tasks_of_bench(6)), tasks_of_bench(6))
    agents = dict.fromkeys(("policy", "untrained", "bm25_first_hit", "oracle"), figures)
    missing = agents["policy"]["num_missing"]
    assert headline(agents) == {**dict.fromkeys(HEADLINE, 50.0), "num_missing": missing}


def test_agents_by_default_and_by_name():
    assert agents_of("", has_checkpoint=False) == ("random", "bm25_first_hit", "oracle")
    assert agents_of("", has_checkpoint=True)[0] == "policy"
    assert agents_of("oracle,untrained,oracle", has_checkpoint=False) == ("oracle", "untrained")
    with pytest.raises(ValueError, match=r"--agents: .*did you mean 'oracle'"):
        agents_of("orcale", has_checkpoint=True)
    with pytest.raises(ValueError, match="expected a checkpoint for policy"):
        agents_of("policy", has_checkpoint=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["env.web.hazards=0"], "env.web.hazards=0: expected a setting that the benchmark leaves"),
        (["env.max_steps=200"], "env.max_steps=200: expected a setting"),
        (["+env.task_set=embedded"], "expected a setting that the benchmark leaves open"),
        (["--tasks", "301"], "evaluation.bench_tasks: expected 1..300, got 301"),
        (["--tasks", "0"], "evaluation.bench_tasks: expected 1..300, got 0"),
        (["a", "b"], "expected one checkpoint at most"),
        (["env.max_elementz=3"], "did you mean 'env.max_elements'"),
        (["no/such/run"], "expected a run's folder or a checkpoint's folder"),
    ],
)
def test_a_wrong_command_line_is_refused_before_anything_starts(
    tmp_path: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["bench", *arguments, f"logger.runs_dir={tmp_path}/runs"]) == EXIT_USAGE
    assert says in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_an_evaluation_of_its_own_does_not_bench_and_nothing_trains_on_the_benchmark():
    with pytest.raises(ValueError, match=r"evaluation\.bench: .*foragerl bench"):
        EvaluateJob(checkpoint="x", evaluation=EvaluationConfig(bench=True))
    with pytest.raises(ValueError, match=r"env\.task_set: .*forage_bench"):
        TrainJob(env=EnvConfig(task_set="forage_bench"))
