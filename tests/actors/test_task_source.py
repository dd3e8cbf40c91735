# SPDX-License-Identifier: Apache-2.0
"""The task source under random traffic: the window holds, no member is lost or handed out twice."""

from __future__ import annotations

import numpy as np
import pytest

from actors.config import RolloutConfig
from actors.task_source import LossOutcome, TaskSource
from actors.types import AttemptOrder
from envs.types import Split, StopReason, Task, TaskPrompt, TaskTruth

GROUP_SIZE = 3
GROUPS_PER_UPDATE = 4


def make_task(number: int) -> Task:
    return Task(
        task_id=f"task-{number}",
        kind="look_up",
        split=Split.TRAIN,
        language="en",
        world_seed=0,
        task_seed=number,
        prompt=TaskPrompt(question="?", start_url="http://a.test/", max_steps=5),
        truth=TaskTruth(answers=("x",), evidence=(), potential={}),
    )


def make_source(*, window: int, max_reissues: int = 2) -> TaskSource:
    return TaskSource(
        make_task,
        rollout=RolloutConfig(admission_window=window, max_reissues=max_reissues),
        group_size=GROUP_SIZE,
        groups_per_update=GROUPS_PER_UPDATE,
        seed=7,
    )


def take_all(source: TaskSource) -> list[AttemptOrder]:
    orders = []
    while (order := source.next_order()) is not None:
        orders.append(order)
    return orders


@pytest.mark.parametrize("window", [0, 1, 2])
def test_hands_out_exactly_the_window_and_then_waits_for_a_version(window: int):
    source = make_source(window=window)
    orders = take_all(source)
    assert len(orders) == (window + 1) * GROUPS_PER_UPDATE * GROUP_SIZE

    for order in orders:
        source.member_done(order.trajectory_id)
    assert source.next_order() is None, "finished attempts hold their slots until publication"

    source.batch_published([f"g{number}" for number in range(GROUPS_PER_UPDATE)])
    assert len(take_all(source)) == GROUPS_PER_UPDATE * GROUP_SIZE


def test_every_member_of_a_group_gets_the_same_task_and_draws_of_its_own():
    orders = take_all(make_source(window=0))
    by_group: dict[str, list[AttemptOrder]] = {}
    for order in orders:
        by_group.setdefault(order.group_id, []).append(order)
    assert all(len(members) == GROUP_SIZE for members in by_group.values())
    assert all(len({m.task.task_id for m in members}) == 1 for members in by_group.values())
    assert len({order.seed for order in orders}) == len(orders)
    assert [o.seed for o in orders] == [o.seed for o in take_all(make_source(window=0))]


def test_a_lost_member_comes_again_first_and_is_given_up_after_its_reissues():
    source = make_source(window=0, max_reissues=2)
    order = source.next_order()
    assert order is not None
    seen = [order.trajectory_id]
    for _ in range(2):
        outcome = source.member_lost(order.trajectory_id, StopReason.INFRA_BROWSER)
        assert outcome is LossOutcome.REISSUED
        again = source.next_order()
        assert again is not None
        assert (again.group_id, again.task.task_id) == (order.group_id, order.task.task_id)
        order = again
        seen.append(order.trajectory_id)
    assert len(set(seen)) == 3, "each attempt has an id of its own"
    outcome = source.member_lost(order.trajectory_id, StopReason.INFRA_ACTOR)
    assert outcome is LossOutcome.GIVEN_UP
    assert source.counts().lost_by_stop == {"infra_browser": 2, "infra_actor": 1}


def test_an_attempt_that_ends_twice_is_a_broken_contract():
    source = make_source(window=0)
    order = source.next_order()
    assert order is not None
    source.member_done(order.trajectory_id)
    with pytest.raises(RuntimeError, match="ended twice"):
        source.member_lost(order.trajectory_id, StopReason.INFRA_ACTOR)


def test_a_group_cannot_close_while_a_member_is_in_flight():
    source = make_source(window=0)
    order = source.next_order()
    assert order is not None
    with pytest.raises(RuntimeError, match="still to come"):
        source.batch_published([order.group_id])


@pytest.mark.parametrize("seed", range(5))
def test_random_traffic_never_breaks_the_window_nor_loses_a_member(seed: int):
    rng = np.random.default_rng(seed)
    source = make_source(window=1, max_reissues=1)
    max_groups = 2 * GROUPS_PER_UPDATE
    in_flight: list[AttemptOrder] = []
    settled: dict[str, int] = {}  # group -> members that are done or given up
    waiting: list[str] = []
    published: set[str] = set()
    for _ in range(2000):
        order = source.next_order() if rng.random() < 0.6 else None
        if order is not None:
            in_flight.append(order)
        elif in_flight:
            order = in_flight.pop(int(rng.integers(len(in_flight))))
            is_settled = True
            if rng.random() < 0.3:
                outcome = source.member_lost(order.trajectory_id, StopReason.INFRA_TIMEOUT)
                is_settled = outcome is LossOutcome.GIVEN_UP
            else:
                source.member_done(order.trajectory_id)
            if is_settled:
                settled[order.group_id] = settled.get(order.group_id, 0) + 1
                if settled[order.group_id] == GROUP_SIZE:
                    waiting.append(order.group_id)
        if len(waiting) >= GROUPS_PER_UPDATE and rng.random() < 0.3:
            batch = [waiting.pop(0) for _ in range(GROUPS_PER_UPDATE)]
            if rng.random() < 0.2:
                source.group_dropped(batch.pop())
            source.batch_published(batch)
            published.update(batch)
        counts = source.counts()
        assert counts.holding <= max_groups
        assert counts.in_flight == len(in_flight)
    assert len(published) > 5 * GROUPS_PER_UPDATE
    assert counts.published == len(published)


def largest_lag(seed: int, *, in_order: bool) -> int:
    """Of 40 updates with a window of 1, over attempts that take very different times."""
    rng = np.random.default_rng(seed)
    source = make_source(window=1)
    version, lag = 0, 0
    running: list[tuple[str, str, int]] = []  # attempt, group, version that it began with
    began: dict[str, list[int]] = {}  # versions of the attempts of each group that have ended
    while version < 40:
        while len(running) < 4 and (order := source.next_order()) is not None:
            running.append((order.trajectory_id, order.group_id, version))
        if running:
            # The first to have begun often takes long.
            pick = 0 if rng.random() < 0.2 else int(rng.integers(len(running)))
            trajectory_id, group_id, first = running.pop(pick)
            source.member_done(trajectory_id)
            began.setdefault(group_id, []).append(first)
        ready = [name for name, ended in began.items() if len(ended) == GROUP_SIZE]
        oldest = source.oldest(GROUPS_PER_UPDATE)
        batch = (oldest if set(oldest) <= set(ready) else ()) if in_order else ready
        if len(batch) >= GROUPS_PER_UPDATE:
            batch = batch[:GROUPS_PER_UPDATE]
            lag = max(lag, *(version - v for name in batch for v in began.pop(name)))
            version += 1
            source.batch_published(batch)
    return lag


def test_batches_in_order_keep_the_lag_within_the_window_and_others_do_not():
    assert [largest_lag(seed, in_order=True) for seed in range(8)] == [1] * 8
    assert max(largest_lag(seed, in_order=False) for seed in range(8)) > 1


def test_the_oldest_groups_are_those_opened_first_of_those_that_hold_a_slot():
    source = make_source(window=1)
    for order in take_all(source):
        source.member_done(order.trajectory_id)
    source.batch_published(["g1"])
    source.group_dropped("g2")
    take_all(source)  # opens g8 and g9
    assert source.oldest(3) == ("g0", "g3", "g4")
    assert source.oldest(99)[-2:] == ("g8", "g9")
