# SPDX-License-Identifier: Apache-2.0
"""Intervals against closed forms and published values."""

from __future__ import annotations

import math

import pytest

from actors.statistics import Z95, paired_gain_ci95, wilson


def test_wilson_gives_the_textbook_interval_of_eight_in_ten():
    rate = wilson(8, 10)
    assert rate.value == 0.8
    assert rate.low == pytest.approx(0.4901625, abs=1e-6)
    assert rate.high == pytest.approx(0.9433178, abs=1e-6)


@pytest.mark.parametrize(("num_right", "num_tasks"), [(3, 17), (48, 96), (95, 96)])
def test_wilson_ends_are_the_rates_at_which_the_score_test_just_holds(
    num_right: int, num_tasks: int
):
    rate = wilson(num_right, num_tasks)
    for end in (rate.low, rate.high):
        z = (rate.value - end) / math.sqrt(end * (1 - end) / num_tasks)
        assert abs(z) == pytest.approx(Z95, rel=1e-9)


def test_wilson_at_the_ends_has_the_closed_form():
    z2 = Z95**2
    assert wilson(0, 20).low == 0.0
    assert wilson(0, 20).high == pytest.approx(z2 / (20 + z2))
    assert wilson(20, 20).low == pytest.approx(20 / (20 + z2))
    assert wilson(20, 20).high == 1.0


def test_no_tasks_say_nothing():
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


def test_more_right_than_tasks_is_refused():
    with pytest.raises(ValueError, match="5 of 4"):
        wilson(5, 4)


def test_paired_gain_is_mean_and_standard_error_of_the_differences():
    before = [False, False, True, True, False, False] * 6
    after = [True, False, True, False, True, True] * 6
    # Differences 1, 0, 0, -1, 1, 1, six times: mean 1/3, sample variance (24 - 36/9) / 35 = 4/7.
    low, high = paired_gain_ci95(before, after)
    half = Z95 * math.sqrt((4 / 7) / 36)
    assert (low, high) == (pytest.approx(1 / 3 - half), pytest.approx(1 / 3 + half))


def test_pairing_narrows_the_interval_of_equal_answers():
    before = [True, False] * 20
    low, high = paired_gain_ci95(before, [True, True] * 20)
    independent = Z95 * math.sqrt((0.25 + 0.0) / 40)
    assert (high - low) / 2 == pytest.approx(Z95 * math.sqrt(0.25 / 39))
    assert (high - low) / 2 < independent * 1.02


def test_pairs_that_all_did_the_same_are_no_certainty():
    half = Z95 * math.sqrt(2 / 98) / math.sqrt(98)
    assert paired_gain_ci95([True] * 96, [True] * 96) == pytest.approx((-half, half))
    low, high = paired_gain_ci95([False] * 4, [True] * 4)
    assert (low, high) == (pytest.approx(2 / 3 - Z95 * math.sqrt((5 / 9) / 6)), 1.0)
    assert paired_gain_ci95([True] * 4, [False] * 4) == (-high, -low)


@pytest.mark.parametrize("num_pairs", [2, 4, 8, 16, 32, 96])
def test_the_interval_holds_the_true_gain_as_often_as_it_says(num_pairs: int):
    """Exactly, over all outcomes of so many pairs; the plain approximation falls to 4 %."""
    intervals = {
        (gained, lost): paired_gain_ci95(
            [False] * gained + [True] * (num_pairs - gained),
            [True] * (num_pairs - lost) + [False] * lost,
        )
        for gained in range(num_pairs + 1)
        for lost in range(num_pairs + 1 - gained)
    }
    for p, q in ((0.02, 0.0), (0.02, 0.02), (0.1, 0.05), (0.3, 0.05), (0.5, 0.3), (0.9, 0.02)):
        covered = 0.0
        for (gained, lost), (low, high) in intervals.items():
            ways = math.comb(num_pairs, gained) * math.comb(num_pairs - gained, lost)
            chance = ways * p**gained * q**lost * (1 - p - q) ** (num_pairs - gained - lost)
            covered += chance * (low <= p - q <= high)
        assert covered > 0.93, (p, q)


def test_gain_needs_two_pairs():
    with pytest.raises(ValueError, match="at least two"):
        paired_gain_ci95([True], [True])
