# SPDX-License-Identifier: Apache-2.0
"""Which legal actions of each state the step term compares. No torch.

Shape letters: B states, A legal actions (padded), K candidates (padded). Candidate 0 is always the
executed action, so that a run with few candidates still judges what was done.
"""

from __future__ import annotations

import numpy as np

from learner.config import Candidates, ObjectiveConfig


def num_candidates(config: ObjectiveConfig, progress: float) -> int:
    """K at `progress`, linear between the first and the last setting."""
    first = config.num_candidates
    last = config.num_candidates_final or first
    return round(first + (last - first) * progress)


def choose(
    kind: Candidates,
    count: int,
    *,
    chosen: np.ndarray,
    flat_type: np.ndarray,
    flat_mask: np.ndarray,
    log_action: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Columns int64 [B, K] and whether each is one, bool [B, K]; K is at most `count`.

    No action comes twice. `by_type` goes through the legal types in a random order, one action of
    each, again and again: rare types are seen as often as those with hundreds of arguments.
    `policy` draws without repetition from `log_action` (Gumbel top-K, arXiv 1903.06059).
    """
    rows = []
    for row, first in enumerate(chosen.tolist()):
        legal = np.flatnonzero(flat_mask[row])
        others = legal[legal != first]
        if kind is Candidates.BY_TYPE:
            picks = _by_type(others, flat_type[row], count - 1, rng)
        else:
            noisy = log_action[row, others] + rng.gumbel(size=len(others))
            picks = others[np.argsort(-noisy, kind="stable")[: count - 1]]
        rows.append(np.concatenate([[first], picks]))
    longest = max(len(row) for row in rows)
    columns = np.zeros((len(rows), longest), dtype=np.int64)
    exists = np.zeros((len(rows), longest), dtype=bool)
    for index, row_columns in enumerate(rows):
        columns[index, : len(row_columns)] = row_columns
        exists[index, : len(row_columns)] = True
    return columns, exists


def _by_type(
    others: np.ndarray, flat_type: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """At most `count` of `others`, in rounds over their types."""
    shuffled = rng.permutation(others)
    types = flat_type[shuffled]
    rank_in_type = np.zeros(len(shuffled), dtype=np.int64)
    place_of_type = rng.permutation(int(flat_type.max()) + 1)
    for kind in np.unique(types):
        hits = np.flatnonzero(types == kind)
        rank_in_type[hits] = np.arange(len(hits))
    order = np.lexsort((place_of_type[types], rank_in_type))
    return shuffled[order[:count]]
