# SPDX-License-Identifier: Apache-2.0
"""Breakers and caps, told the time by the test."""

from __future__ import annotations

from envs.egress.breaker import BreakerChange, Breakers
from envs.egress.caps import Caps

OPENED, SECOND = BreakerChange.OPENED, BreakerChange.SECOND_RESOLVER
HALF_OPEN, CLOSED = BreakerChange.HALF_OPEN, BreakerChange.CLOSED


def breakers(**settings: float) -> Breakers:
    return Breakers(**({"num_timeouts": 3, "pause_s": 10.0} | settings))


def changes(board: Breakers) -> list[tuple[str, BreakerChange, float]]:
    return [(event.domain, event.change, event.time_s) for event in board.events]


def test_three_timeouts_in_a_row_open_the_breaker_of_that_domain_only():
    board = breakers()
    assert [board.timed_out("a", float(t)) for t in range(3)] == [False, False, True]
    assert not board.admit("a", 2.5)
    assert board.admit("b", 2.5)
    assert changes(board) == [("a", OPENED, 2.0)]


def test_an_answer_ends_the_row():
    board = breakers()
    for t in range(10):
        assert not board.timed_out("a", float(t))
        if t % 2:
            board.answered("a", float(t))
    assert board.admit("a", 10.0)
    assert changes(board) == []


def test_after_the_pause_one_request_tries_and_its_answer_closes():
    board = breakers()
    for _ in range(3):
        board.timed_out("a", 0.0)
    assert not board.admit("a", 9.9)
    assert board.admit("a", 10.0)
    assert not board.admit("a", 10.1)  # the trial is under way
    board.answered("a", 11.0)
    assert board.admit("a", 11.0)
    assert [change for _, change, _ in changes(board)] == [OPENED, HALF_OPEN, CLOSED]
    assert not board.timed_out("a", 12.0)  # the row begins anew


def test_a_trial_that_times_out_opens_again_at_once_for_a_whole_pause():
    board = breakers()
    for _ in range(3):
        board.timed_out("a", 0.0)
    assert board.admit("a", 10.0)
    assert board.timed_out("a", 14.0)
    assert not board.admit("a", 23.9)
    assert board.admit("a", 24.0)


def test_a_trial_of_which_nothing_is_heard_does_not_keep_the_domain_out_for_ever():
    board = breakers()
    for _ in range(3):
        board.timed_out("a", 0.0)
    assert board.admit("a", 10.0)
    assert not board.admit("a", 19.9)
    assert board.admit("a", 20.0)


def test_each_opening_hands_over_to_the_other_resolver():
    board = breakers()
    assert not board.prefers_second("a")
    for _ in range(3):
        board.timed_out("a", 0.0)
    assert board.prefers_second("a")
    board.asked_second("a", 0.0)
    assert changes(board)[-1] == ("a", SECOND, 0.0)
    board.answered("a", 1.0)
    assert board.prefers_second("a")  # what works is kept
    for _ in range(3):
        board.timed_out("a", 2.0)
    assert not board.prefers_second("a")


def test_breakers_remember_a_bounded_number_of_domains_and_events():
    board = breakers(max_domains=10)
    for number in range(1000):
        for _ in range(3):
            board.timed_out(f"d{number}", 0.0)
    assert len(board._domains) == 10
    assert len(board.events) == 256
    assert board.num_opened == 1000
    assert not board.admit("d999", 1.0)


def caps(**settings: float) -> Caps:
    fields = {"max_per_s": 2.0, "max_burst": 4, "max_domain_bytes": 100, "max_total_bytes": 250}
    return Caps(**(fields | settings))


def test_a_burst_is_allowed_and_then_the_rate():
    used = caps()
    assert [used.take_request("a", 0.0) for _ in range(6)] == [True] * 4 + [False] * 2
    assert used.take_request("b", 0.0)
    assert [used.take_request("a", 1.0) for _ in range(3)] == [True, True, False]
    assert [used.take_request("a", 100.0) for _ in range(5)] == [True] * 4 + [False]


def test_a_clock_that_stands_still_or_jumps_back_gives_nothing():
    used = caps()
    for _ in range(4):
        used.take_request("a", 5.0)
    assert not used.take_request("a", 4.0)
    assert not used.take_request("a", 5.0)


def test_bytes_are_capped_by_domain_and_in_total_until_the_next_episode():
    used = caps()
    for domain in "abc":
        assert used.take_request(domain, 0.0)
        assert used.has_bytes(domain)
    assert used.take_bytes("a", 100)
    assert not used.has_bytes("a")
    assert not used.take_bytes("a", 1)
    assert used.take_bytes("b", 100)
    assert not used.take_bytes("c", 50)  # 251 of 250
    assert not used.has_bytes("c")
    used.begin_episode()
    assert used.has_bytes("a")
    assert used.take_bytes("a", 100)


def test_many_domains_do_not_escape_the_total():
    used = caps(max_domains=5)
    for number in range(25):
        used.take_request(f"d{number}", 0.0)
        assert used.take_bytes(f"d{number}", 10)
    assert len(used._usage) == 5
    used.take_request("fresh", 0.0)
    assert not used.has_bytes("fresh")
