# SPDX-License-Identifier: Apache-2.0
"""The weight box hands out only what is newer, and owns its arrays."""

from __future__ import annotations

import numpy as np

from actors.weight_box import NOTHING, WeightBox


def test_an_empty_box_has_nothing_newer():
    assert WeightBox().newer_than(NOTHING) is None


def test_only_newer_weights_are_kept_and_handed_out():
    box = WeightBox()
    assert box.put(3, {"w": np.ones(2)})
    assert not box.put(2, {"w": np.zeros(2)}), "late, older weights are not taken"
    newer = box.newer_than((0, 2))
    assert newer is not None
    assert newer[0] == (0, 3)
    np.testing.assert_array_equal(newer[1]["w"], np.ones(2))
    assert box.newer_than((0, 3)) is None


def test_the_box_keeps_copies():
    weights = {"w": np.ones(2)}
    box = WeightBox()
    box.put(0, weights)
    weights["w"][:] = 5.0
    newer = box.newer_than(NOTHING)
    assert newer is not None
    np.testing.assert_array_equal(newer[1]["w"], np.ones(2))


def test_an_earlier_version_of_a_later_generation_is_newer():
    box = WeightBox()
    assert box.put(7, {"w": np.ones(1)})
    assert box.put(5, {"w": np.zeros(1)}, generation=1), "the run went back to version 5"
    assert not box.put(8, {"w": np.ones(1)}), "late, from before it went back"
    newer = box.newer_than((0, 7))
    assert newer is not None
    assert newer[0] == (1, 5)
    assert box.version == 5
