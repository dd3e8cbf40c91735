# SPDX-License-Identifier: Apache-2.0
"""Validations steer the schedule of a run: each score is observed by one update, in its order."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from actors.checkpoints import CheckpointStore
from actors.config import EvaluationConfig, RolloutConfig, TrainJob
from actors.launch_inprocess import InProcessLauncher, LocalLearner
from actors.pipeline import Pipeline
from actors.run_folder import RunFolder
from actors.task_source import TaskSource
from actors.training import train
from actors.types import Published, Ref, WorkerLost
from learner.config import ObjectiveConfig, Schedule
from learner.schedule import ScheduleState
from tests.actors.jobs import SMALL, rows, run_job, without_evaluation

OBJECTIVE = ObjectiveConfig(schedule=Schedule.VALIDATION, outcome_weight=0.3, step_weight_final=0.1)
STEERED = dataclasses.replace(
    without_evaluation(SMALL),
    env=dataclasses.replace(SMALL.env, max_steps=4),
    algo=dataclasses.replace(SMALL.algo, objective=OBJECTIVE, groups_per_update=1),
    evaluation=EvaluationConfig(
        num_tasks=0,
        num_baseline_tasks=0,
        baselines=(),
        validation_tasks=1,
        validate_every_versions=1,
    ),
    train=dataclasses.replace(
        SMALL.train, max_env_steps=60, max_minutes=3.0, checkpoint_every_versions=2
    ),
)


class _LosesItsLearner(InProcessLauncher):
    """Once, after an update that observed a score, before anybody hears of it."""

    num_learners = 0
    num_observed = 0

    async def start_learner(self) -> LocalLearner:
        plain, launcher = await super().start_learner(), self
        self.num_learners += 1

        class Breaking(LocalLearner):
            async def update(
                self, groups: Ref, progress: float, validation_score: float | None
            ) -> Published:
                published = await super().update(groups, progress, validation_score)
                launcher.num_observed += validation_score is not None
                if launcher.num_observed == 3 and launcher.num_learners == 1:
                    raise WorkerLost("the test killed it")
                return published

        return Breaking(plain._worker)


def assert_each_score_was_observed_once(folder: RunFolder) -> int:
    """By the rows of evaluations and updates; the number of stages that the schedule went on."""
    told = [row["eval/success"] for row in rows(folder, "evaluation")]
    schedule, observed, stages = ScheduleState(OBJECTIVE), [], 0
    for row in rows(folder, "update"):
        score = row.get("learner/validation_score")
        if score is not None:
            schedule.observe(score)
            observed.append(score)
        stages = schedule.state_dict()["stage"]
        expected = schedule.weights(0.0)
        assert row.get("learner/step_weight", OBJECTIVE.step_weight) == expected.step
        assert row.get("learner/outcome_weight", OBJECTIVE.outcome_weight) == expected.outcome
    assert observed == told[: len(observed)]
    assert len(told) - len(observed) <= 2, "but for those that no further update came after"
    return int(stages)


async def test_scores_move_the_weights_also_when_the_learner_is_lost_and_the_run_resumed(
    tmp_path: Path,
):
    launcher = _LosesItsLearner(STEERED.worker_configs())
    summary, folder = await run_job(STEERED, tmp_path, launcher)
    assert (summary["restores"], launcher.num_learners) == (1, 2)
    assert_each_score_was_observed_once(folder)
    longer = dataclasses.replace(STEERED.train, max_env_steps=150)
    job: TrainJob = dataclasses.replace(STEERED, train=longer)
    checkpoint = CheckpointStore(folder.checkpoints, keep=0).newest()
    resumed = InProcessLauncher(job.worker_configs())
    await train(job, folder, resumed, on_started=lambda: None, checkpoint=checkpoint)
    versions = [row["learner/policy_version"] for row in rows(folder, "update")]
    assert versions == list(range(1, len(versions) + 1))
    assert assert_each_score_was_observed_once(folder) >= 1, "the schedule went on"


def make_pipeline() -> Pipeline:
    source = TaskSource(
        lambda number: pytest.fail("no task is asked for"),
        rollout=RolloutConfig(),
        group_size=2,
        groups_per_update=2,
        seed=0,
        keeps_weights=False,
    )
    return Pipeline(source)


def published(version: int) -> Published:
    return Published(policy_version=version, weights={}, metrics={})


def test_a_score_waits_in_the_books_for_the_update_that_observes_it() -> None:
    books = make_pipeline()
    assert books.score_to_observe() is None and books.tried_version == 0
    books.trained(published(1), [])
    books.validated(1, 0.25)
    assert books.score_to_observe() == 0.25
    books.validated(2, 0.5)  # while an update is under way that observes the one before
    again = make_pipeline()
    again.restore(books.capture({}, {}))  # as if that update had been lost
    for pipeline in (books, again):
        assert pipeline.tried_version == 2
        assert pipeline.score_to_observe() == 0.25
        pipeline.trained(published(2), [], has_observed=True)
        assert pipeline.score_to_observe() == 0.5
        pipeline.trained(published(3), [], has_observed=True)
        assert pipeline.score_to_observe() is None


def test_a_score_that_comes_during_an_update_without_one_is_kept() -> None:
    books = make_pipeline()
    books.validated(1, 0.25)
    books.trained(published(2), [], has_observed=False)
    assert books.score_to_observe() == 0.25


def test_a_validation_that_steers_nothing_is_noted_without_its_score() -> None:
    books = make_pipeline()
    books.validated(4, None)
    assert books.tried_version == 4 and books.score_to_observe() is None


def test_books_of_earlier_checkpoints_try_the_next_version_that_is_due() -> None:
    books = make_pipeline()
    books.trained(published(7), [])
    state = books.capture({}, {})
    del state["validation"]
    again = make_pipeline()
    again.restore(state)
    assert again.tried_version == 7 and again.score_to_observe() is None


async def test_a_run_of_another_schedule_tells_its_learner_nothing(tmp_path: Path):
    algo = dataclasses.replace(STEERED.algo, objective=ObjectiveConfig())
    job = dataclasses.replace(STEERED, algo=algo)
    _, folder = await run_job(job, tmp_path, InProcessLauncher(job.worker_configs()))
    assert rows(folder, "evaluation")
    assert not [row for row in rows(folder, "update") if "learner/validation_score" in row]


def test_the_schedule_needs_validations() -> None:
    evaluation = dataclasses.replace(STEERED.evaluation, validation_tasks=0)
    with pytest.raises(ValueError, match=r"algo\.objective\.schedule.*validation_tasks=0"):
        dataclasses.replace(STEERED, evaluation=evaluation)
