# SPDX-License-Identifier: Apache-2.0
"""Every attempt is somewhere, once; the books agree under random traffic and after a restore."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from actors.config import RolloutConfig
from actors.ledger import Fate, Ledger, NumberSet, Place
from actors.pipeline import Pipeline
from actors.task_source import LossOutcome, TaskSource
from actors.types import AttemptOrder, AttemptReport, LostAttempt, Published
from envs.types import StopReason
from tests.actors.test_task_source import make_task

GROUP_SIZE, GROUPS_PER_UPDATE = 3, 2


def test_the_identity_holds_at_every_event_of_a_life() -> None:
    ledger = Ledger()
    for name in ("a", "b", "c", "d", "e"):
        ledger.handed_out("g0", name)
    ledger.lost("a")
    for name in ("b", "c", "d"):
        ledger.finished(name, num_steps=4)
    ledger.refused("b", Fate.UNSCORED)
    ledger.refused("c", Fate.QUARANTINED)
    ledger.held("d")
    assert ledger.num_steps_scoring() == 0
    counts = ledger.counts()
    assert (counts["handed_out"], counts["in_flight"]) == (5, 2)
    assert (counts["running"], counts["scoring"], counts["held"]) == (1, 0, 1)
    ledger.lost("e")
    ledger.group_ended("g0", Fate.TRAINED)
    counts = ledger.counts()
    assert counts["in_flight"] == 0
    assert {fate: counts[fate.value] for fate in Fate} == {
        Fate.TRAINED: 1,
        Fate.FILTERED: 0,
        Fate.EXPIRED: 0,
        Fate.INFRA_FAILED: 2,
        Fate.UNSCORED: 1,
        Fate.QUARANTINED: 1,
    }


def test_what_happens_twice_or_out_of_turn_is_an_error() -> None:
    ledger = Ledger()
    ledger.handed_out("g0", "a")
    with pytest.raises(RuntimeError, match="twice"):
        ledger.handed_out("g0", "a")
    with pytest.raises(RuntimeError, match="expected it to be scoring, got running"):
        ledger.held("a")
    with pytest.raises(RuntimeError, match="open"):
        ledger.group_ended("g0", Fate.TRAINED)
    ledger.finished("a", 1)
    ledger.held("a")
    ledger.group_ended("g0", Fate.TRAINED)
    with pytest.raises(RuntimeError, match="twice"):
        ledger.group_ended("g0", Fate.TRAINED)
    with pytest.raises(RuntimeError, match="after its group ended"):
        ledger.handed_out("g0", "b")
    with pytest.raises(RuntimeError, match="no such attempt"):
        ledger.lost("a")


def test_a_missing_entry_breaks_the_identity() -> None:
    ledger = Ledger()
    ledger.handed_out("g0", "a")
    del ledger._group_of["a"]
    with pytest.raises(RuntimeError, match="!="):
        ledger.check()


def test_ids_of_ended_groups_take_no_room() -> None:
    numbers = NumberSet()
    order = np.random.default_rng(0).permutation(200)
    for number in order[:-1]:
        numbers.add(f"g{number}")
    assert f"g{order[-1]}" not in numbers and f"g{order[0]}" in numbers
    numbers.add(f"g{order[-1]}")
    assert numbers.state_list() == [200, []]
    assert len(numbers) == 200


# --- The pipeline under random traffic -----------------------------------------------------------


class Replay:
    """What replay would hold: scored members by group, until the group is complete and leaves."""

    def __init__(self) -> None:
        self.members: dict[str, dict[str, bool]] = {}  # group -> attempt -> whether it is held

    def settle(self, group_id: str, name: str, is_held: bool) -> None:
        self.members.setdefault(group_id, {})[name] = is_held

    def held(self) -> dict[str, tuple[str, ...]]:
        return {g: tuple(n for n, is_held in m.items() if is_held) for g, m in self.members.items()}

    def complete(self) -> list[str]:
        return [g for g, members in self.members.items() if len(members) == GROUP_SIZE]


class Traffic:
    """Random but legal events on a pipeline, with an independent record of what was trained on."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.replay = Replay()
        self.pipeline = self._fresh()
        self.running: list[AttemptOrder] = []
        self.scoring: list[AttemptOrder] = []
        self.ended: list[str] = []  # groups, as they ended
        self.fates: Counter[str] = Counter()
        self.num_restored = 0

    def _fresh(self) -> Pipeline:
        source = TaskSource(
            make_task,
            rollout=RolloutConfig(admission_window=1, max_reissues=1),
            group_size=GROUP_SIZE,
            groups_per_update=GROUPS_PER_UPDATE,
            seed=7,
        )
        return Pipeline(source)

    def event(self) -> None:
        roll = self.rng.random()
        if roll < 0.35:
            order = self.pipeline.next_order()
            if order is not None:
                self.running.append(order)
        elif roll < 0.60 and self.running:
            self._end_attempt(self.running.pop(self._any(self.running)))
        elif roll < 0.85 and self.scoring:
            self._score(self.scoring.pop(self._any(self.scoring)))
        elif roll < 0.97:
            self._end_groups()
        else:
            self._die()
        counts = self.pipeline.attempts()
        self.pipeline.groups()
        assert counts["running"] == len(self.running)
        assert counts["scoring"] == len(self.scoring)
        assert counts["held"] == sum(len(names) for names in self.replay.held().values())
        assert {fate.value: counts[fate.value] for fate in Fate} == {
            fate.value: self.fates[fate.value] for fate in Fate
        }

    def _any(self, items: list[AttemptOrder]) -> int:
        return int(self.rng.integers(len(items)))

    def _end_attempt(self, order: AttemptOrder) -> None:
        if self.rng.random() < 0.25:
            loss = LostAttempt(order=order, stop=StopReason.INFRA_BROWSER, detail="", num_steps=1)
            self.fates["infra_failed"] += 1
            if self.pipeline.lost(loss) is LossOutcome.GIVEN_UP and self.rng.random() < 0.8:
                # Now and then the word to replay is lost with a crash.
                self._give_up(order.group_id, order.trajectory_id)
            return
        self.pipeline.finished(report_of(order))
        self.scoring.append(order)

    def _give_up(self, group_id: str, name: str) -> None:
        self.replay.settle(group_id, name, is_held=False)
        self._drop_void()

    def _drop_void(self) -> None:
        for group_id in self.replay.complete():
            if not any(self.replay.members[group_id].values()):
                del self.replay.members[group_id]
                self.pipeline.ended_in_replay({group_id: "void"})
                self.ended.append(group_id)

    def _score(self, order: AttemptOrder) -> None:
        if self.rng.random() < 0.1:
            self.pipeline.refused(order.trajectory_id, Fate.UNSCORED)
            self.fates["unscored"] += 1
            self._give_up(order.group_id, order.trajectory_id)
        else:
            self.replay.settle(order.group_id, order.trajectory_id, is_held=True)
            self.pipeline.held(order.trajectory_id)

    def _end_groups(self) -> None:
        for member in self.pipeline.given_up():  # what a controller says when it starts
            if member.trajectory_id not in self.replay.members.get(member.group_id, {}):
                self._give_up(member.group_id, member.trajectory_id)
        ready = self.replay.complete()[:GROUPS_PER_UPDATE]
        for group_id in ready:
            names = self.replay.held()[group_id]
            del self.replay.members[group_id]
            self.ended.append(group_id)
            how = self.rng.choice(["trained", "trained", "trained", "expired", "evicted"])
            self.fates[{"evicted": "filtered"}.get(how, how)] += len(names)
            if how == "trained":
                version = self.pipeline.totals.policy_version + 1
                self.pipeline.trained(published(version), [group_id])
            else:
                self.pipeline.ended_in_replay({group_id: str(how)})

    def _die(self) -> None:
        """The driver is killed and goes on from what it saved just before."""
        state = json.loads(json.dumps(self.pipeline.capture(self.replay.held(), {})))
        steps = self.pipeline.totals.env_steps
        in_flight = {o.trajectory_id: o.seed for o in (*self.running, *self.scoring)}
        self.pipeline = self._fresh()
        self.pipeline.restore(state)
        assert self.pipeline.totals.env_steps == steps - 3 * len(self.scoring)
        self.running, self.scoring = [], []
        again = [self.pipeline.next_order() for _ in in_flight]
        assert {o.trajectory_id: o.seed for o in again if o} == in_flight, "the same draws again"
        self.running = [order for order in again if order is not None]
        self.num_restored += bool(in_flight)


def report_of(order: AttemptOrder) -> AttemptReport:
    return AttemptReport(
        trajectory_id=order.trajectory_id,
        group_id=order.group_id,
        task_id=order.task.task_id,
        kind="look_up",
        stop=StopReason.ANSWERED,
        detail="",
        num_steps=3,
        num_bytes=10,
        layer_weights=order.task.layer_weights,
        fingerprint=order.trajectory_id,
        wall_s=1.0,
        act_s=0.5,
        env_s=0.5,
        first_version=0,
        last_version=0,
    )


def published(version: int) -> Published:
    return Published(policy_version=version, weights={}, metrics={})


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_or_doubled_under_random_events_and_deaths(seed: int) -> None:
    traffic = Traffic(seed)
    for _ in range(1500):
        traffic.event()
    assert traffic.num_restored > 10
    assert len(set(traffic.ended)) == len(traffic.ended) > 50, "no group ends twice"
    opened = {f"g{number}" for number in range(traffic.pipeline.groups().opened)}
    open_now = {
        entry[0]
        for entry in traffic.pipeline.capture(traffic.replay.held(), {})["source"]["groups"]
    }
    assert opened == set(traffic.ended) | {f"g{number}" for number in open_now}, "none is lost"
    assert all(traffic.fates[fate.value] for fate in Fate if fate is not Fate.QUARANTINED)


def test_an_answer_of_replay_that_never_arrived_is_made_up_for() -> None:
    traffic = Traffic(0)
    pipeline = traffic.pipeline
    orders = [pipeline.next_order() for _ in range(2 * GROUP_SIZE)]
    for order in orders:
        assert order is not None
        pipeline.finished(report_of(order))
    for order in orders[:GROUP_SIZE]:
        assert order is not None
        pipeline.held(order.trajectory_id)
    names = [order.trajectory_id for order in orders if order is not None]
    # Replay let go of g0 and took the first of g1, and nobody heard of either.
    state = pipeline.capture({"g1": (names[GROUP_SIZE],)}, {"g0": "evicted", "g77": "void"})
    restored = traffic._fresh()
    restored.restore(state)
    counts = restored.attempts()
    assert (counts["filtered"], counts["held"], counts["in_flight"]) == (3, 1, 1)
    assert restored.totals.episodes == GROUP_SIZE + 1
    again = [restored.next_order() for _ in range(GROUP_SIZE - 1)]
    assert [o.trajectory_id for o in again if o] == names[GROUP_SIZE + 1 :]


def test_replay_that_lacks_what_it_was_given_is_noticed() -> None:
    pipeline = Traffic(0).pipeline
    order = pipeline.next_order()
    assert order is not None
    pipeline.finished(report_of(order))
    pipeline.held(order.trajectory_id)
    with pytest.raises(RuntimeError, match="expected replay to hold"):
        pipeline.capture({}, {})
    assert pipeline._ledger.where(order.group_id, order.trajectory_id) is Place.HELD
