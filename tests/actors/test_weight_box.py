# SPDX-License-Identifier: Apache-2.0
"""The weight box hands out only what is newer, and owns its arrays."""

from __future__ import annotations

import numpy as np

from actors.weight_box import WeightBox


def test_an_empty_box_has_nothing_newer():
    assert WeightBox().newer_than(-1) is None


def test_only_newer_weights_are_kept_and_handed_out():
    box = WeightBox()
    assert box.put(3, {"w": np.ones(2)})
    assert not box.put(2, {"w": np.zeros(2)}), "late, older weights are not taken"
    newer = box.newer_than(2)
    assert newer is not None
    assert newer[0] == 3
    np.testing.assert_array_equal(newer[1]["w"], np.ones(2))
    assert box.newer_than(3) is None


def test_the_box_keeps_copies():
    weights = {"w": np.ones(2)}
    box = WeightBox()
    box.put(0, weights)
    weights["w"][:] = 5.0
    newer = box.newer_than(-1)
    assert newer is not None
    np.testing.assert_array_equal(newer[1]["w"], np.ones(2))
