# SPDX-License-Identifier: Apache-2.0
"""The scorer keeps its bounds, never turns a failure into a zero, and pays nothing for time."""

from __future__ import annotations

import dataclasses
import logging
import pickle

import numpy as np
import pytest

from envs.types import LAYERS, Episode, Scored, StopReason, Unscored
from reward_server import registry
from reward_server.config import RewardConfig
from reward_server.scorer import Scorer
from tests.reward_server.episodes import (
    BRIDGE,
    BRIDGE_TEXT,
    GOAL,
    GOAL_TEXT,
    RESULTS,
    answer,
    episode,
    extract,
    random_episode,
    step,
    visit,
)

CONFIG = RewardConfig()
SOLVED = (
    visit(RESULTS, is_new_page=True),
    visit(BRIDGE, is_new_page=True),
    extract(BRIDGE_TEXT, BRIDGE),
    visit(GOAL, is_new_page=True),
    extract(GOAL_TEXT, GOAL),
    answer("Orlavia", url=GOAL),
)


def score(attempt: Episode, config: RewardConfig = CONFIG) -> Scored:
    scored = Scorer(config).score(attempt)
    assert isinstance(scored, Scored), scored
    return scored


# Parts for the tests of the boundary; named to the scorer as "module:function".


def part_of_ones(attempt: Episode, config: RewardConfig) -> np.ndarray:
    return np.ones(len(attempt.steps))


def part_too_short(attempt: Episode, config: RewardConfig) -> np.ndarray:
    return np.zeros(len(attempt.steps) - 1)


def part_not_finite(attempt: Episode, config: RewardConfig) -> np.ndarray:
    return np.full(len(attempt.steps), np.nan)


def part_that_raises(attempt: Episode, config: RewardConfig) -> np.ndarray:
    raise KeyError("no such evidence")


def test_a_solved_task_earns_what_its_events_are_worth():
    scored = score(episode(*SOLVED))
    expected = [
        [0.2, 0.1, 0.0],
        [0.2, 0.5 + 0.1, 0.0],
        [0.0, 0.0, 0.3],
        [0.2, 0.5 + 0.2, 0.0],
        [0.0, 0.0, 0.3],
        [0.0, 0.0, 1.0],
    ]
    np.testing.assert_allclose(scored.rewards, expected, atol=1e-6)
    assert scored.rewards.dtype == np.float32
    assert scored.is_right
    assert scored.trajectory_id == "trajectory-1"


def test_a_wrong_answer_is_not_right_and_is_still_scored():
    scored = score(episode(*SOLVED[:-1], answer("Elsewhere")))
    assert not scored.is_right
    assert scored.rewards[-1, LAYERS.index("semantic")] == 0.0


def test_two_hundred_waits_earn_nothing():
    scored = score(episode(*[step() for _ in range(200)]))
    assert scored.rewards.shape == (200, 3)
    assert not scored.rewards.any()
    assert not scored.is_right


def test_waiting_on_the_goal_earns_nothing_more():
    there = score(episode(visit(GOAL, is_new_page=True)))
    waiting = score(episode(visit(GOAL, is_new_page=True), *[step(url=GOAL) for _ in range(199)]))
    np.testing.assert_array_equal(waiting.rewards.sum(axis=0), there.rewards.sum(axis=0))


def test_going_back_and_forth_earns_nothing_more():
    once = [visit(RESULTS, is_new_page=True), visit(BRIDGE, is_new_page=True)]
    again = [visit(RESULTS), visit(BRIDGE)] * 50
    rewards = score(episode(*once, *again)).rewards
    assert rewards[:2].any()
    assert not rewards[2:].any()


@pytest.mark.parametrize("discount", [1.0, 0.97])
def test_rewards_stay_in_bounds_whatever_happens(discount: float):
    config = RewardConfig(
        wrong_answer=-1.0, potential=1.0, evidence_visit=1.0, potential_discount=discount
    )
    scorer = Scorer(config)
    for seed in range(60):
        scored = scorer.score(random_episode(seed))
        assert isinstance(scored, Scored)
        assert np.abs(scored.rewards).max() <= 1.0
        base, nav, semantic = scored.rewards.sum(axis=0, dtype=np.float64)
        # Gains of new pages, losses of images, blanks and actions without effect: each capped.
        assert -3 * config.base_cap - 1e-4 <= base <= config.base_cap + 1e-4
        assert nav <= 2 * config.evidence_visit + config.potential + 1e-4
        assert -1.0 - 1e-4 <= semantic <= 2 * config.evidence_extracted + 1.0 + 1e-4


def test_a_layer_is_the_sum_of_its_parts():
    scorer = Scorer(CONFIG)
    for seed in range(20):
        scored = scorer.score(random_episode(seed))
        assert isinstance(scored, Scored)
        for column, layer in enumerate(LAYERS):
            total = np.sum([scored.parts[name] for name in getattr(CONFIG, layer)], axis=0)
            np.testing.assert_allclose(scored.rewards[:, column], total, atol=1e-6)


def test_parts_shrink_together_where_their_sum_leaves_the_bounds():
    own = f"{__name__}:part_of_ones"
    config = dataclasses.replace(CONFIG, semantic=("answer", own))
    scored = score(episode(step(), answer("Orlavia")), config)
    np.testing.assert_allclose(scored.parts["answer"], [0.0, 0.5])
    np.testing.assert_allclose(scored.parts[own], [1.0, 0.5])
    np.testing.assert_allclose(scored.rewards[:, 2], [1.0, 1.0])


def test_a_layer_without_parts_is_zero():
    scored = score(episode(*SOLVED), dataclasses.replace(CONFIG, base=()))
    assert not scored.rewards[:, 0].any()
    assert scored.rewards[:, 1].any()


def test_exogenous_steps_are_worth_nothing_and_use_up_their_events():
    pushed = visit(GOAL, is_new_page=True, is_exogenous=True)
    rewards = score(episode(pushed, step(url=GOAL), visit(GOAL))).rewards
    assert not rewards.any()


@pytest.mark.parametrize("stop", [reason for reason in StopReason if reason.is_infra_failure()])
def test_an_infra_failure_is_unscored_and_says_which(stop: StopReason):
    result = Scorer(CONFIG).score(episode(*SOLVED, stop=stop))
    assert result == Unscored(trajectory_id="trajectory-1", reason=stop.value)


def test_an_attempt_without_steps_is_unscored():
    assert isinstance(Scorer(CONFIG).score(episode()), Unscored)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (part_that_raises, "no such evidence"),
        (part_too_short, r"expected finite values of shape (2,), got shape (1,)"),
        (part_not_finite, "2 not finite"),
    ],
)
def test_a_part_that_fails_leaves_the_attempt_unscored_with_its_cause(part, reason, caplog):
    name = f"{__name__}:{part.__name__}"
    scorer = Scorer(dataclasses.replace(CONFIG, base=(name,)))
    with caplog.at_level(logging.ERROR):
        result = scorer.score(episode(step(), answer("Orlavia")))
    assert isinstance(result, Unscored)
    assert name in result.reason
    assert reason in result.reason
    assert "trajectory-1" in caplog.text
    assert caplog.records[0].exc_info


def test_an_unknown_part_fails_at_start_with_the_nearest_name():
    with pytest.raises(ValueError, match=r"'potentail'; did you mean 'potential'"):
        Scorer(RewardConfig(nav=("potentail",)))


def test_every_registered_part_resolves_and_meets_the_contract():
    attempt = random_episode(3)
    for name in registry.PARTS:
        values = registry.resolve_part(name)(attempt, CONFIG)
        assert values.shape == (len(attempt.steps),)
        assert values.dtype == np.float32
        assert np.isfinite(values).all()


def test_every_registered_part_is_in_a_layer_by_default():
    assert set(registry.PARTS) == {*CONFIG.base, *CONFIG.nav, *CONFIG.semantic}


def test_scorer_and_score_survive_a_pickle_round_trip():
    scorer = pickle.loads(pickle.dumps(Scorer(CONFIG)))
    scored = scorer.score(pickle.loads(pickle.dumps(episode(*SOLVED))))
    assert isinstance(scored, Scored)
    again = pickle.loads(pickle.dumps(scored))
    np.testing.assert_array_equal(again.rewards, scored.rewards)
    assert again.parts.keys() == scored.parts.keys()
    assert again.scorer_version == Scorer(CONFIG).version


def test_the_version_changes_with_the_settings_and_not_with_their_container():
    lists = RewardConfig(nav=["evidence_visit", "potential"])  # type: ignore[arg-type]
    assert Scorer(lists).version == Scorer(CONFIG).version
    assert Scorer(RewardConfig(new_page=0.1)).version != Scorer(CONFIG).version


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"new_page": 1.5}, r"reward\.new_page: expected 0\.\.1, got 1\.5"),
        ({"wrong_answer": 0.1}, r"reward\.wrong_answer: expected -1\.\.0, got 0\.1"),
        ({"base_cap": 0.0}, r"reward\.base_cap: expected > 0"),
        ({"potential_discount": float("nan")}, r"reward\.potential_discount"),
        ({"nav": ("answer",)}, r"\['answer'\] twice"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        RewardConfig(**changes)
