# SPDX-License-Identifier: Apache-2.0
"""The reservoir keeps to its bytes, forgets the oldest first, and draws by seed."""

from __future__ import annotations

import numpy as np
import pytest

from learner.reservoir import StepReservoir
from tests.learner.tiny_policy import random_step


def _steps(count: int):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    return [random_step(rng, version=index) for index in range(count)]


def test_bytes_stay_under_the_bound_and_the_oldest_leave() -> None:
    steps = _steps(50)
    bound = sum(step.num_bytes() for step in steps[:10])
    reservoir = StepReservoir(bound)
    for step in steps:
        reservoir.add(step)
        assert reservoir.num_bytes <= bound
    kept = [s.policy_version for s in reservoir.state_dict()["steps"]]
    assert kept == list(range(50 - len(kept), 50))
    assert reservoir.num_bytes == sum(s.num_bytes() for s in reservoir.state_dict()["steps"])
    drawn = [s.policy_version for s in reservoir.sample(1000, np.random.default_rng(1))]
    assert sorted(drawn) == kept


def test_a_step_larger_than_the_bound_is_not_kept() -> None:
    reservoir = StepReservoir(10)
    reservoir.add(_steps(1)[0])
    assert len(reservoir) == 0
    assert reservoir.num_bytes == 0
    assert reservoir.sample(4, np.random.default_rng(0)) == []


def test_draws_repeat_by_seed_also_after_a_round_trip() -> None:
    reservoir, again = StepReservoir(10**7), StepReservoir(10**7)
    for step in _steps(30):
        reservoir.add(step)
    again.load_state_dict(reservoir.state_dict())
    draws = [
        [s.policy_version for s in r.sample(8, np.random.default_rng(5))]
        for r in (reservoir, again)
    ]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 8


def test_what_is_kept_shares_no_memory_with_what_came() -> None:
    step = _steps(1)[0]
    reservoir = StepReservoir(10**7)
    reservoir.add(step)
    (kept,) = reservoir.sample(1, np.random.default_rng(0))
    for a, b in ((kept.inputs.element, step.inputs.element), (kept.mask.type, step.mask.type)):
        np.testing.assert_array_equal(a, b)
        assert not np.shares_memory(a, b)


def test_a_step_without_utilities_is_refused() -> None:
    step = random_step(np.random.default_rng(0), with_utilities=False)
    with pytest.raises(ValueError, match="utilities"):
        StepReservoir(10**7).add(step)
