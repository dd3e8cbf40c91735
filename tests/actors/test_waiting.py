# SPDX-License-Identifier: Apache-2.0
"""What the report of a waiting run says, and when a run counts as standing still."""

from __future__ import annotations

import pytest

from actors.waiting import Waiting, standstill


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_report_names_items_deadlines_queues_and_workers(clock: Clock):
    waiting = Waiting(clock)
    waiting.show("replay", lambda: "3 groups")
    waiting.sign("rollout worker 0", "pid 7")
    with waiting.on("rollout worker 0", "attempt a", 30.0), waiting.on("learner", "4 groups"):
        clock.now_s += 12.0
        waiting.sign("reward worker 0", "pid 8")
        waiting.moved("attempt")
        clock.now_s += 1.0
        lines = waiting.report().splitlines()
    for line in (
        "nothing has ended for 1 s",
        "  attempt last 1 s ago",
        "  rollout worker 0: attempt a, for 13 s, deadline in 17 s",
        "  learner: 4 groups, for 13 s, no deadline",
        "  replay: 3 groups",
        "  rollout worker 0: answered 13 s ago; pid 7",
        "  reward worker 0: answered 1 s ago; pid 8",
    ):
        assert line in lines
    assert "attempt a" not in waiting.report(), "what has ended is not in flight"


def test_what_has_a_deadline_is_no_wait_and_two_of_a_kind_end_apart(clock: Clock):
    waiting = Waiting(clock)
    with waiting.on("learner", "update", 5.0):
        assert waiting.waits() == {}
    with waiting.on("a caller", "x"):
        with waiting.on("a caller", "y"):
            pass
        assert waiting.waits() == {"a caller": "x"}


def test_a_worker_that_is_written_off_gives_no_more_signs(clock: Clock):
    waiting = Waiting(clock)
    waiting.sign("rollout worker 0", "pid 7")
    waiting.gone("rollout worker 0")
    waiting.gone("rollout worker 0")
    assert "pid 7" not in waiting.report()


def test_an_exception_ends_what_was_in_flight(clock: Clock):
    waiting = Waiting(clock)
    with pytest.raises(ValueError), waiting.on("a", "b"):
        raise ValueError
    assert waiting.waits() == {}


def test_a_run_stands_still_without_any_move_or_without_an_update(clock: Clock):
    waiting = Waiting(clock)
    clock.now_s += 1000.0  # an evaluation before training takes its time
    start_s = clock.now_s

    def reason() -> str:
        return standstill(waiting, start_s=start_s, stall_timeout_s=10.0, no_update_timeout_s=30.0)

    waiting.moved("attempt")
    for _ in range(6):
        assert reason() == ""
        clock.now_s += 5.0
        waiting.moved("attempt")
    clock.now_s += 1.0
    assert "no learner step for 31 s" in reason()
    waiting.moved("update")
    assert reason() == ""
    clock.now_s += 11.0
    assert "train.stall_timeout_s=10" in reason()
