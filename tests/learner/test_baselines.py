# SPDX-License-Identifier: Apache-2.0
"""Group baselines by enumeration over whole groups of a two-armed bandit and of a small MDP."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from learner.baselines import (
    anchored_deviations,
    group_deviations,
    mean_deviations,
    standardised_deviations,
)
from learner.config import Baseline
from learner.returns import leave_one_out_deviations

P, REWARDS = 0.3, (0.2, 0.9)
EXACT = P * (1 - P) * (REWARDS[1] - REWARDS[0])


def _gradient(deviate, size: int, rewards: tuple[float, float] = REWARDS) -> float:  # type: ignore[no-untyped-def]
    """Expected slope on the logit of arm 1 per member, over all groups of `size`."""
    total = 0.0
    for arms in itertools.product((0, 1), repeat=size):
        chance = math.prod(P if arm else 1 - P for arm in arms)
        deviations = deviate([np.array([[rewards[arm]]]) for arm in arms])
        slopes = [(arm - P) * d[0, 0] for arm, d in zip(arms, deviations, strict=True)]
        total += chance * sum(slopes) / size
    return total


@pytest.mark.parametrize(("size", "share"), [(2, 0.5), (4, 0.75), (8, 0.875)])
def test_a_mean_that_includes_oneself_shrinks_the_exact_gradient(size: int, share: float) -> None:
    assert _gradient(mean_deviations, size) == pytest.approx(share * EXACT, abs=1e-12)
    plain = [lambda r: [own - np.mean(r, axis=0) for own in r]]
    assert _gradient(plain[0], size) == pytest.approx(share * EXACT, abs=1e-12)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_dividing_by_the_standard_deviation_has_the_known_gradient(size: int) -> None:
    """`E_k sqrt(k/G (1 - k/G))`, k ~ Bin(G, p): affine-invariant, so no reward size is left."""
    expected = sum(
        math.comb(size, k) * P**k * (1 - P) ** (size - k) * math.sqrt(k / size * (1 - k / size))
        for k in range(size + 1)
    )
    for rewards in ((0.0, 1.0), (-3.0, 5.0)):
        population = _gradient(lambda r: standardised_deviations(r, ddof=0), size, rewards)
        assert population == pytest.approx(expected, abs=1e-5)
        sample = _gradient(lambda r: standardised_deviations(r, ddof=1), size, rewards)
        assert sample == pytest.approx(expected * math.sqrt((size - 1) / size), abs=1e-5)


@pytest.mark.parametrize("kind", [k for k in Baseline if k is not Baseline.CRITIC])
def test_equal_members_and_lone_ones_deviate_by_exactly_zero(kind: Baseline) -> None:
    for size in (1, 2, 3, 8):
        returns = [np.full((3, 3), 0.7) for _ in range(size)]
        for deviation in group_deviations(kind, returns, [["a", "b", "a"]] * size):
            assert not np.any(deviation)


def test_a_critic_is_no_baseline_of_the_group() -> None:
    with pytest.raises(ValueError, match="critic"):
        group_deviations(Baseline.CRITIC, [np.zeros((1, 3))], [["a"]])


# --- Anchors --------------------------------------------------------------------------------------


def test_an_anchor_mixes_in_what_others_got_from_the_same_situation() -> None:
    returns = [np.array([[4.0], [2.0]]), np.array([[1.0], [6.0]]), np.array([[3.0]])]
    names = [["start", "page"], ["start", "start"], ["page"]]
    got = anchored_deviations(returns, names)
    # Member 0, step 1: time baseline (6 + 0) / 2; one anchor, 3.0 of member 2; weight 1 / 3.
    assert got[0][1, 0] == pytest.approx(2 / 3 * (2 - 3) + 1 / 3 * (2 - 3))
    # Step 0: two anchors of member 1, its own visits never count; weight 2 / 4.
    assert got[0][0, 0] == pytest.approx(0.5 * (4 - 2) + 0.5 * (4 - 3.5))
    assert got[1][1, 0] == pytest.approx(2 / 3 * (6 - 1) + 1 / 3 * (6 - 4))


def test_without_a_known_situation_it_is_leave_one_out() -> None:
    rng = np.random.default_rng(0)
    returns = [rng.normal(size=(n, 3)) for n in (3, 1, 4)]
    blank = [[""] * len(r) for r in returns]
    apart = [[f"{i}.{t}" for t in range(len(r))] for i, r in enumerate(returns)]
    for names in (blank, apart):
        pairs = zip(
            anchored_deviations(returns, names), leave_one_out_deviations(returns), strict=True
        )
        for a, b in pairs:
            np.testing.assert_array_equal(a, b)


def test_anchors_leave_the_gradient_exact() -> None:
    """Two steps, the second state known by name: what is mixed in depends on others alone."""
    go, rewards = (0.4, 0.7), {(0, 0): 0.1, (0, 1): 0.9, (1, 0): -0.5, (1, 1): 0.3}
    episodes = [
        (math.prod(g if a else 1 - g for g, a in zip(go, actions, strict=True)), actions)
        for actions in itertools.product((0, 1), repeat=2)
    ]

    def returns_of(actions: tuple[int, int]) -> np.ndarray:
        return np.full((2, 1), rewards[actions])

    def slope(actions: tuple[int, int], values: np.ndarray) -> np.ndarray:
        return np.array([(a - g) * v for a, g, v in zip(actions, go, values[:, 0], strict=True)])

    exact = sum((p * slope(a, returns_of(a)) for p, a in episodes), np.zeros(2))
    total = np.zeros(2)
    for group in itertools.product(episodes, repeat=3):
        names = [["start", f"after {actions[0]}"] for _, actions in group]
        deviations = anchored_deviations([returns_of(a) for _, a in group], names)
        chance = math.prod(p for p, _ in group)
        for (_, actions), deviation in zip(group, deviations, strict=True):
            total += chance * slope(actions, deviation) / 3
    np.testing.assert_allclose(total, exact, atol=1e-12)
