# SPDX-License-Identifier: Apache-2.0
"""Which actions the step term compares."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from learner.candidates import choose, num_candidates
from learner.config import Candidates, LearnerConfig, ObjectiveConfig, StepLoss
from learner.update import Learner
from tests.learner.tiny_policy import TinyPolicy, random_group

# Seven legal actions: four of type 0, two of type 1, one of type 3; two columns of padding.
TYPES = np.array([[0, 0, 0, 0, 1, 1, 3, 0, 0]] * 200)
MASK = np.array([[True] * 7 + [False] * 2] * 200)
CHANCES = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.04, 0.01])


def _choose(kind: Candidates, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    padded = np.concatenate([np.log(CHANCES), [-1e9, -1e9]])
    return choose(
        kind,
        count,
        chosen=np.arange(200) % 7,
        flat_type=TYPES,
        flat_mask=MASK,
        log_action=np.tile(padded, (200, 1)),
        rng=np.random.default_rng(seed),
    )


@pytest.mark.parametrize("kind", [Candidates.BY_TYPE, Candidates.POLICY])
@pytest.mark.parametrize("count", [2, 4, 20])
def test_the_executed_action_comes_first_and_no_other_twice(kind: Candidates, count: int) -> None:
    columns, exists = _choose(kind, count)
    assert columns.shape[1] == min(count, 7)
    assert (columns[:, 0] == np.arange(200) % 7).all()
    for row, is_one in zip(columns, exists, strict=True):
        real = row[is_one].tolist()
        assert len(set(real)) == len(real)
        assert max(real) < 7
    again, _ = _choose(kind, count)
    np.testing.assert_array_equal(columns, again)


def test_by_type_takes_every_type_before_any_twice() -> None:
    columns, _ = _choose(Candidates.BY_TYPE, 4)
    for row in columns:
        assert set(TYPES[0, row[1:]]) == {0, 1, 3} or row[0] == 6
    seen = np.bincount(columns[:, 1:].ravel(), minlength=7)
    assert (seen[:7] > 0).all()


def test_from_the_policy_likely_actions_are_drawn_more_often() -> None:
    columns, _ = _choose(Candidates.POLICY, 2)
    not_first = np.arange(200) % 7 != 0
    share = np.mean(columns[not_first, 1] == 0)  # the likeliest one, where it is not candidate 0
    assert 0.4 < share < 0.8


def test_the_number_of_candidates_follows_the_run() -> None:
    assert num_candidates(ObjectiveConfig(num_candidates=8), 1.0) == 8
    config = ObjectiveConfig(num_candidates=2, num_candidates_final=8)
    assert [num_candidates(config, p) for p in (0.0, 0.5, 1.0)] == [2, 5, 8]


@pytest.mark.parametrize("step_loss", list(StepLoss))
@pytest.mark.parametrize("kind", [Candidates.BY_TYPE, Candidates.POLICY])
def test_a_learner_trains_with_each_choice_and_repeats_itself(
    step_loss: StepLoss, kind: Candidates
) -> None:
    objective = ObjectiveConfig(step_loss=step_loss, candidates=kind, outcome_weight=0.0)
    config = LearnerConfig(step_replay_updates=2, objective=objective)
    results = []
    for _ in range(2):
        policy = TinyPolicy()
        group = random_group(np.random.default_rng(0), "g", policy=policy)
        learner = Learner(policy, config)
        reports = [learner.update([group], progress=0.5) for _ in range(2)]
        results.append((reports[-1].metrics, learner.weights()))
    assert results[0][0] == results[1][0]
    assert results[0][0]["learner/step_loss_nats"] > 0
    assert all(np.array_equal(a, results[1][1][n]) for n, a in results[0][1].items())


def test_pairs_of_all_actions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"algo\.objective\.candidates"):
        dataclasses.replace(ObjectiveConfig(), step_loss=StepLoss.BRADLEY_TERRY)
