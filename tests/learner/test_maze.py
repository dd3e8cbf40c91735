# SPDX-License-Identifier: Apache-2.0
"""Group members that act with weights of up to 33 versions, with and without correction."""

from __future__ import annotations

import numpy as np
import pytest

from tests.learner.maze import Maze

ON_THE_WAY, END, BATCHES, SEEDS = (30, 35, 40, 45), 65, 3, (0, 1, 2)


def _curve(*, is_corrected: bool) -> tuple[float, float]:
    """Success of the newest weights on the way and at the end, means over the seeds."""
    on_the_way, at_end = [], []
    for seed in SEEDS:
        maze = Maze(seed=seed, num_versions=33, is_corrected=is_corrected)
        done = 0
        for update in ON_THE_WAY:
            maze.train(update - done)
            done = update
            on_the_way.append(maze.success(BATCHES))
        maze.train(END - done)
        at_end.append(maze.success(BATCHES))
    return float(np.mean(on_the_way)), float(np.mean(at_end))


@pytest.mark.slow
def test_corrected_ratios_learn_from_33_versions_and_uncorrected_ones_lag_behind() -> None:
    corrected, corrected_end = _curve(is_corrected=True)
    uncorrected, uncorrected_end = _curve(is_corrected=False)
    figures = f"{corrected:.3f} {corrected_end:.3f} {uncorrected:.3f} {uncorrected_end:.3f}"
    assert corrected_end >= 0.95, figures
    assert corrected - uncorrected >= 0.05, figures


def test_on_policy_it_is_learnt_from_almost_nothing() -> None:
    maze = Maze(seed=0, num_versions=1, is_corrected=True)
    before = maze.success()
    maze.train(30)
    assert before < 0.15
    assert maze.success() > 0.85
