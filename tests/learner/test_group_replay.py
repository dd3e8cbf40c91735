# SPDX-License-Identifier: Apache-2.0
"""Groups are joined, handed out once, and every one of them ends in one counted fate."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from agent.types import StepRecord, Trajectory
from envs.types import StopReason
from learner.config import ReplayConfig
from learner.replay import GroupReplay
from learner.types import Group, GroupState
from tests.learner.tiny_policy import random_step, scored, trajectory

_STEPS = [random_step(np.random.default_rng(seed)) for seed in range(4)]


def _step(version: int, index: int = 0) -> StepRecord:
    return dataclasses.replace(_STEPS[index % len(_STEPS)], policy_version=version)


def _trajectory(group: str, member: int, versions: tuple[int, ...] = (0, 0)) -> Trajectory:
    steps = [_step(version, index) for index, version in enumerate(versions)]
    return trajectory(steps, f"{group}/{member}", group)


def _score(group: str, member: int, num_steps: int = 2):  # type: ignore[no-untyped-def]
    return scored(np.full((num_steps, 3), 0.1 * member), f"{group}/{member}")


def _fill(replay: GroupReplay, group: str, size: int = 2, versions: tuple[int, ...] = (0, 0)):  # type: ignore[no-untyped-def]
    replay.open(group, f"task of {group}", size)
    for member in range(size):
        replay.add_trajectory(_trajectory(group, member, versions))
        replay.add_score(group, _score(group, member, len(versions)))


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_halves_join_by_trajectory_id_in_any_order() -> None:
    replay = GroupReplay(ReplayConfig())
    replay.open("g", "task", 2)
    replay.add_score("g", _score("g", 1))
    replay.add_trajectory(_trajectory("g", 0))
    replay.add_trajectory(_trajectory("g", 1))
    assert replay.ready() == 0
    replay.add_score("g", _score("g", 0))
    (group,) = replay.take(1, 0, _rng())
    assert group.state is GroupState.COMPLETE
    for index, member in enumerate(group.members):
        assert member.trajectory.trajectory_id == member.score.trajectory_id == f"g/{index}"
        assert member.score.rewards[0, 0] == np.float32(0.1 * index)


def test_a_dropped_member_leaves_a_partial_group_and_never_a_reward() -> None:
    replay = GroupReplay(ReplayConfig())
    replay.open("g", "task", 3)
    replay.add_trajectory(_trajectory("g", 0))
    replay.add_score("g", _score("g", 0))
    replay.drop_member("g", "g/1", "infra_browser")
    replay.add_trajectory(_trajectory("g", 2))
    replay.drop_member("g", "g/2", "unscored: deadline")
    (group,) = replay.take(1, 0, _rng())
    assert group.state is GroupState.PARTIAL
    assert [m.trajectory.trajectory_id for m in group.members] == ["g/0"]
    replay.confirm({"g": 0.0})
    assert replay.num_bytes == 0
    assert replay.counts()["dropped_members"] == 2


def test_a_group_without_any_member_left_is_void() -> None:
    replay = GroupReplay(ReplayConfig())
    replay.open("g", "task", 1)
    replay.drop_member("g", "g/0", "infra_actor")
    assert replay.ready() == 0
    assert replay.counts()["void"] == 1


def test_infra_failures_and_scores_that_do_not_fit_are_refused() -> None:
    replay = GroupReplay(ReplayConfig())
    replay.open("g", "task", 2)
    broken = trajectory([_step(0)], "g/0", "g", stop=StopReason.INFRA_TIMEOUT)
    with pytest.raises(ValueError, match="use drop_member"):
        replay.add_trajectory(broken)
    unscored = dataclasses.replace(_step(0), utilities=np.array([np.inf], dtype=np.float16))
    with pytest.raises(ValueError, match="finite utilities"):
        replay.add_trajectory(trajectory([unscored], "g/0", "g"))
    replay.add_trajectory(_trajectory("g", 0))
    with pytest.raises(ValueError, match=r"shape \(2, 3\), got \(5, 3\)"):
        replay.add_score("g", _score("g", 0, num_steps=5))
    with pytest.raises(ValueError, match="finite"):
        replay.add_score("g", scored(np.full((2, 3), np.nan), "g/0"))
    assert replay.ready() == 0


def test_a_third_attempt_in_a_group_of_two_is_a_broken_contract() -> None:
    replay = GroupReplay(ReplayConfig())
    replay.open("g", "task", 2)
    replay.add_trajectory(_trajectory("g", 0))
    replay.add_score("g", _score("g", 1))
    with pytest.raises(RuntimeError, match="expected 2 attempts"):
        replay.add_trajectory(_trajectory("g", 2))
    with pytest.raises(ValueError, match="new id"):
        replay.open("g", "task", 2)


def test_late_and_repeated_arrivals_are_counted_and_change_nothing() -> None:
    replay = GroupReplay(ReplayConfig())
    replay.open("g", "task", 2)
    for _ in range(2):
        replay.add_trajectory(_trajectory("g", 0))
        replay.add_score("g", _score("g", 0))
    replay.drop_member("g", "g/0", "too late to drop")
    replay.add_trajectory(_trajectory("g", 1))
    replay.add_score("g", _score("g", 1))
    replay.add_score("g", _score("g", 1))
    replay.add_trajectory(_trajectory("never opened", 0))
    counts = replay.counts()
    assert (counts["duplicates"], counts["late"], counts["ready"]) == (3, 2, 1)
    (group,) = replay.take(1, 0, _rng())
    assert len(group.members) == 2


def test_in_order_the_oldest_ready_groups_are_taken_and_nothing_is_drawn() -> None:
    replay = GroupReplay(ReplayConfig())
    for number in (10, 9, 2, 1):
        name = f"g{number}"
        replay.open(name, "task", 1)
        replay.add_trajectory(_trajectory(name, 0))
        replay.add_score(name, _score(name, 0))
    assert replay.ready_ids() == ("g1", "g2", "g9", "g10")
    rng = _rng()
    taken = replay.take(3, 0, rng, in_order=True)
    assert [group.group_id for group in taken] == ["g1", "g2", "g9"]
    assert rng.random() == _rng().random(), "the draws of another mode are left alone"
    assert replay.ready_ids() == ("g10",)


def test_only_groups_whose_every_step_is_too_old_expire() -> None:
    replay = GroupReplay(ReplayConfig(max_lag=2))
    _fill(replay, "old", versions=(0, 1))
    _fill(replay, "long", versions=(0, 3))
    assert replay.take(2, 5, _rng()) == ()
    counts = replay.counts()
    assert (counts["expired"], counts["expired_steps"], counts["ready"]) == (1, 4, 1)
    (group,) = replay.take(1, 5, _rng())
    assert group.group_id == "long"


def test_taking_is_all_or_nothing_and_each_group_once() -> None:
    replay = GroupReplay(ReplayConfig())
    for index in range(5):
        _fill(replay, f"g{index}")
    assert replay.take(6, 0, _rng()) == ()
    rng = _rng()
    taken = [*replay.take(2, 0, rng), *replay.take(3, 0, rng)]
    assert sorted(g.group_id for g in taken) == [f"g{i}" for i in range(5)]
    replay.confirm({group.group_id: 1.0 for group in taken})
    assert replay.num_bytes == 0


def test_every_ready_group_is_as_likely_as_any_other() -> None:
    full = GroupReplay(ReplayConfig())
    for index in range(4):
        _fill(full, f"g{index}")
    rng, hits = _rng(), dict.fromkeys((f"g{i}" for i in range(4)), 0)
    state = full.state_dict()
    for _ in range(400):
        replay = GroupReplay(ReplayConfig())
        replay.load_state_dict(state)
        for group in replay.take(2, 0, rng):
            hits[group.group_id] += 1
    # 400 draws of 2 out of 4: mean 200, standard deviation 10; five of them.
    assert all(150 <= count <= 250 for count in hits.values()), hits


def test_beyond_its_bytes_the_oldest_ready_group_leaves() -> None:
    one_group = 2 * _trajectory("g", 0).num_bytes()
    replay = GroupReplay(ReplayConfig(max_bytes=2 * one_group))
    for index in range(3):
        _fill(replay, f"g{index}")
    assert replay.num_bytes <= 2 * one_group
    assert replay.counts()["evicted"] == 1
    assert "g0" not in replay
    assert "g1" in replay and "g2" in replay


def test_state_survives_pickling() -> None:
    replay = GroupReplay(ReplayConfig())
    _fill(replay, "ready")
    replay.open("open", "task", 2)
    replay.add_trajectory(_trajectory("open", 0))
    replay.drop_member("open", "open/1", "infra_actor")
    again = GroupReplay(ReplayConfig())
    again.load_state_dict(pickle.loads(pickle.dumps(replay.state_dict())))
    assert again.counts() == replay.counts()
    assert again.num_bytes == replay.num_bytes
    again.add_score("open", _score("open", 0))
    assert {g.group_id for g in again.take(2, 0, _rng())} == {"ready", "open"}


class _Storm:
    """Random but legal traffic, with its own simple record of what must be true."""

    def __init__(self, seed: int, replayed_groups: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        config = ReplayConfig(max_lag=3, max_bytes=60_000, replayed_groups=replayed_groups)
        self.replay = GroupReplay(config)
        self.version = 0
        self.pending: list[tuple[str, str, int, int]] = []  # what may still arrive
        self.delivered: set[tuple[str, str]] = set()  # half, trajectory id
        self.dropped: set[str] = set()
        self.taken: list[str] = []
        self.unconfirmed: list[str] = []
        self.uses: dict[str, int] = {}  # group -> times that it was replayed
        self.num_opened = 0

    def event(self) -> None:
        roll = self.rng.random()
        if roll < 0.12 or not self.pending:
            self._open()
        elif roll < 0.85:
            self._arrive()
        elif roll < 0.92:
            self._take()
        elif roll < 0.96:
            self.version += 1
            self.replay.confirm({name: self.rng.random() for name in self.unconfirmed})
            self.unconfirmed = []
        else:
            self._drop()

    def _open(self) -> None:
        group, size = f"g{self.num_opened}", int(self.rng.integers(1, 5))
        self.num_opened += 1
        self.replay.open(group, "task", size)
        version = self.version
        for member in range(size):
            self.pending += [(half, group, member, version) for half in ("trajectory", "score")]

    def _arrive(self) -> None:
        index = int(self.rng.integers(len(self.pending)))
        # Now and then something is delivered twice.
        repeat = self.rng.random() < 0.05
        half, group, member, version = self.pending[index] if repeat else self.pending.pop(index)
        self.delivered.add((half, f"{group}/{member}"))
        if half == "trajectory":
            self.replay.add_trajectory(_trajectory(group, member, (version, version + member % 2)))
        else:
            self.replay.add_score(group, _score(group, member))

    def _drop(self) -> None:
        _, group, member, _ = self.pending[int(self.rng.integers(len(self.pending)))]
        self.pending = [p for p in self.pending if p[1:3] != (group, member)]
        self.replay.drop_member(group, f"{group}/{member}", "infra_actor")
        halves = {(half, f"{group}/{member}") for half in ("trajectory", "score")}
        if not halves <= self.delivered:  # a complete member stays
            self.dropped.add(f"{group}/{member}")

    def _take(self) -> None:
        if self.unconfirmed:
            return  # one batch at a time
        groups = self.replay.take(int(self.rng.integers(1, 4)), self.version, self.rng)
        fresh = [group for group in groups if not group.is_replayed]
        assert 2 * len(fresh) >= len(groups)
        for group in groups:
            self._check(group)
            if group.is_replayed:
                assert group.group_id in self.taken
                self.uses[group.group_id] = self.uses.get(group.group_id, 0) + 1
                assert self.uses[group.group_id] < ReplayConfig().max_uses
        self.taken += [group.group_id for group in fresh]
        self.unconfirmed = [group.group_id for group in fresh]

    def _check(self, group: Group) -> None:
        names = [m.trajectory.trajectory_id for m in group.members]
        assert names == [m.score.trajectory_id for m in group.members]
        assert len(set(names)) == len(names) > 0
        newest = max(s.policy_version for m in group.members for s in m.trajectory.steps)
        assert self.version - newest <= 3
        for member in group.members:
            assert member.score.rewards.shape == (len(member.trajectory.steps), 3)
            assert member.trajectory.trajectory_id not in self.dropped


@pytest.mark.parametrize("replayed_groups", [0, 2])
def test_the_books_balance_under_two_thousand_random_events(replayed_groups: int) -> None:
    storm = _Storm(seed=7, replayed_groups=replayed_groups)
    for _ in range(2000):
        storm.event()
        counts = storm.replay.counts()  # asserts that the fates add up
        assert counts["opened"] == storm.num_opened
        assert counts["taken"] == len(storm.taken) == len(set(storm.taken))
        assert counts["replayed"] == sum(storm.uses.values())
        held = storm.replay.state_dict()
        in_open = [t for g in held["open"] for t in g[3].values()]
        closed = [*held["ready"], *(group for group, _, _ in held["used"])]
        in_closed = [m.trajectory for g in closed for m in g.members]
        assert storm.replay.num_bytes == sum(t.num_bytes() for t in (*in_open, *in_closed))
        must_stay = len(held["ready"]) == counts["at_learner"] and not held["used"]
        assert storm.replay.num_bytes <= 60_000 or must_stay
    # The storm reached every branch, or it proved nothing.
    reached = ("taken", "expired", "evicted", "void", "partial", "complete", "late", "duplicates")
    assert all(counts[name] > 0 for name in reached), counts
    assert (counts["replayed"] > 0 and counts["retired"] > 0) == (replayed_groups > 0)


def test_the_same_events_give_the_same_groups() -> None:
    storms = [_Storm(seed=3), _Storm(seed=3)]
    for storm in storms:
        for _ in range(500):
            storm.event()
    assert storms[0].taken == storms[1].taken
    assert storms[0].replay.counts() == storms[1].replay.counts()


def test_a_group_at_the_learner_is_saved_as_one_that_it_has_not_seen() -> None:
    replay = GroupReplay(ReplayConfig())
    for index in range(3):
        _fill(replay, f"g{index}")
    replay.confirm({g.group_id: 0.5 for g in replay.take(1, 0, _rng())})
    (taken,) = replay.take(1, 0, _rng())
    again = GroupReplay(ReplayConfig())
    again.load_state_dict(replay.state_dict())
    assert (replay.counts()["taken"], again.counts()["taken"]) == (2, 1)
    assert again.num_bytes == replay.num_bytes
    assert taken.group_id in {g.group_id for g in again.take(2, 0, _rng())}
    assert replay.held_ids().keys() == again.held_ids().keys()


def test_what_is_drawn_does_not_depend_on_the_order_of_arrival() -> None:
    draws = []
    for order in ((2, 0, 11, 1), (11, 1, 2, 0)):
        replay = GroupReplay(ReplayConfig())
        for index in order:
            _fill(replay, f"g{index}")
        draws.append([group.group_id for group in replay.take(3, 0, _rng())])
    assert draws[0] == draws[1] == sorted(draws[0], key=lambda name: int(name[1:]))
