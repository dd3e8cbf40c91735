# SPDX-License-Identifier: Apache-2.0
"""Which used groups come again, how often, and that their weights correct for the choice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from learner.config import ReplayConfig
from learner.priority import GroupFacts, draw, importance_weights, sampling_probabilities
from learner.replay import GroupReplay
from learner.types import Group
from tests.learner.tiny_policy import random_step, scored, trajectory

# mean |A|, mean return, steps, age in versions
FACTS = [
    GroupFacts(advantage=a, mean_return=r, num_steps=t, age=age)
    for a, r, t, age in ((0.0, 0.0, 4, 0), (1.2, 2.0, 8, 1), (0.4, -0.5, 20, 3), (0.8, 0.1, 2, 9))
]
PRIORITY_ONLY_ADVANTAGE = ReplayConfig(priority_return=0.0, priority_length=0.0)


def _by_hand(config: ReplayConfig) -> list[float]:
    """The formula of the module, once more and slowly."""
    values = []
    for fact in FACTS:
        size = config.priority_advantage * fact.advantage
        size += config.priority_return * max(0.0, fact.mean_return)
        size += config.priority_length * fact.num_steps / 20 + config.priority_floor
        values.append(
            size**config.priority_exponent * np.exp(-fact.age / config.age_decay_versions)
        )
    return [value / sum(values) for value in values]


@pytest.mark.parametrize(
    "config", [ReplayConfig(), PRIORITY_ONLY_ADVANTAGE, ReplayConfig(priority_exponent=1.0)]
)
def test_probabilities_are_those_of_the_formula(config: ReplayConfig) -> None:
    np.testing.assert_allclose(sampling_probabilities(FACTS, config), _by_hand(config), rtol=1e-12)


def test_draws_come_as_often_as_their_probabilities_say() -> None:
    config, rng = ReplayConfig(), np.random.default_rng(0)
    chances, num_draws = sampling_probabilities(FACTS, config), 20_000
    hits = np.zeros(len(FACTS))
    for _ in range(num_draws):
        for index in draw(chances, 1, config, rng):
            hits[index] += 1
    deviation = np.sqrt(num_draws * chances * (1 - chances))
    assert np.all(np.abs(hits - num_draws * chances) < 4 * deviation), hits


def test_each_part_alone_raises_a_priority() -> None:
    base = GroupFacts(advantage=0.5, mean_return=0.5, num_steps=5, age=2)
    for change in ({"advantage": 1.0}, {"mean_return": 1.0}, {"num_steps": 10}, {"age": 1}):
        values = {"advantage": 0.5, "mean_return": 0.5, "num_steps": 5, "age": 2, **change}
        chances = sampling_probabilities([base, GroupFacts(**values)], ReplayConfig())
        assert chances[1] > chances[0], change


def test_very_old_groups_still_have_probabilities() -> None:
    ancient = [GroupFacts(advantage=0.0, mean_return=0.0, num_steps=1, age=10**6)] * 2
    np.testing.assert_allclose(sampling_probabilities(ancient, ReplayConfig()), [0.5, 0.5])


# OBJECTIVE T16: with the full correction the expected gradient is the uniform one.
@pytest.mark.parametrize(("exponent", "is_uniform"), [(1.0, True), (0.4, False), (0.0, False)])
def test_only_the_full_correction_gives_the_uniform_gradient(
    exponent: float, is_uniform: bool
) -> None:
    gradients = np.random.default_rng(0).normal(size=(len(FACTS), 3))
    chances = sampling_probabilities(FACTS, ReplayConfig())
    weights = importance_weights(chances, exponent)
    expected = np.zeros(3)
    for first, second in itertools.product(range(len(FACTS)), repeat=2):  # every pair of draws
        mean = (weights[first] * gradients[first] + weights[second] * gradients[second]) / 2
        expected += chances[first] * chances[second] * mean
    error = np.abs(expected - gradients.mean(axis=0)).max()
    assert (error < 1e-12) == is_uniform
    assert is_uniform or error > 0.05


def test_weights_have_mean_one_over_the_draws_and_a_cap() -> None:
    config, rng = ReplayConfig(max_importance_weight=10.0), np.random.default_rng(3)
    chances = sampling_probabilities(FACTS, config)
    for _ in range(200):
        drawn = draw(chances, 5, config, rng)
        assert sum(drawn.values()) <= 5 + 1e-9
        if max(drawn.values()) < config.max_importance_weight:
            assert sum(drawn.values()) == pytest.approx(5)
    rare = np.array([1e-6, 1 - 1e-6])
    capped = [draw(rare, 40, ReplayConfig(), np.random.default_rng(s)) for s in range(3)]
    assert all(max(weights.values()) <= 40 for weights in capped)
    lopsided = draw(np.array([0.001, 0.999]), 2000, ReplayConfig(), np.random.default_rng(0))
    assert lopsided[0] == 10.0 == lopsided[1], "multiplicities count, up to the cap"


# --- In the replay ------------------------------------------------------------------------------

_STEPS = [random_step(np.random.default_rng(seed), version=0) for seed in range(4)]


def _replay(**settings: float) -> GroupReplay:
    values: dict = {"replayed_groups": 2, "max_lag": 4, **settings}
    return GroupReplay(ReplayConfig(**values))


def _fill(replay: GroupReplay, name: str) -> None:
    replay.open(name, "task", 1)
    replay.add_trajectory(trajectory(_STEPS[:2], f"{name}/0", name))
    replay.add_score(name, scored(np.zeros((2, 3)), f"{name}/0"))


def _take(replay: GroupReplay, num: int, version: int, seed: int = 0) -> tuple[Group, ...]:
    groups = replay.take(num, version, np.random.default_rng(seed))
    replay.confirm({group.group_id: 0.5 for group in groups})
    return groups


def test_a_group_is_fresh_once_before_it_is_replayed_and_never_in_a_majority() -> None:
    replay = _replay()
    for index in range(6):
        _fill(replay, f"g{index}")
    first = replay.take(2, 0, np.random.default_rng(0))
    assert not any(group.is_replayed for group in first)
    assert not any(g.is_replayed for g in replay.take(1, 0, np.random.default_rng(0))), (
        "what is not confirmed is not replayed"
    )
    replay.confirm({group.group_id: 1.0 for group in first})
    third = replay.take(1, 1, np.random.default_rng(0))
    assert [group.is_replayed for group in third] == [False, True]
    assert third[1].group_id in {group.group_id for group in first}
    assert third[1].outcome_weight > 0


def test_replay_is_off_unless_asked_for() -> None:
    replay = _replay(replayed_groups=0)
    for index in range(4):
        _fill(replay, f"g{index}")
    for version in range(4):
        assert [g.is_replayed for g in _take(replay, 1, version)] == [False]
    assert (replay.num_bytes, replay.counts()["used"]) == (0, 0)


def test_a_group_is_retired_after_its_uses_and_when_it_is_too_old() -> None:
    replay = _replay(max_uses=3, replayed_groups=1)
    for index in range(6):
        _fill(replay, f"g{index}")
    for version in range(4):
        _take(replay, 1, version, seed=version)
    uses = replay.counts()
    assert uses["replayed"] == 3
    assert max(n for _, _, n in replay.state_dict()["used"]) <= 2
    _take(replay, 1, 5)
    assert replay.counts()["used"] == 0, "steps of version 0 are older than the max lag at 5"


def test_used_groups_make_room_before_fresh_ones() -> None:
    one = trajectory(_STEPS[:2], "g/0", "g").num_bytes()
    replay = _replay(max_bytes=2 * one)
    _fill(replay, "g0")
    _take(replay, 1, 0)
    _fill(replay, "g1")
    assert replay.counts()["used"] == 1
    _fill(replay, "g2")
    counts = replay.counts()
    assert (counts["used"], counts["retired"], counts["ready"], counts["evicted"]) == (0, 1, 2, 0)


def test_uses_and_advantages_survive_a_round_trip() -> None:
    replay = _replay()
    for index in range(6):
        _fill(replay, f"g{index}")
    for version in range(2):
        _take(replay, 2, version, seed=version)
    again = _replay()
    again.load_state_dict(replay.state_dict())
    assert again.chances(2) == replay.chances(2) != {}
    assert [g.group_id for g in _take(again, 1, 2)] == [g.group_id for g in _take(replay, 1, 2)]
