# SPDX-License-Identifier: Apache-2.0
"""The queries sent so far and what came of them: the inputs of the history stream. No torch.

A query's *turn* lasts from its step to the next query's. Of earlier turns the observation keeps the
notes that were taken; of the present turn it has the page as well.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agent.forager.relations import RELATION_SIZE, text_vector
from agent.forager.scene import Scene, in_any
from agent.forager.words import folded_text

MAX_QUERIES = 8  # the newest; what a policy knows of its past must not grow with the attempt
MAX_AGE_STEPS = 20
QUERY_COLUMNS = (
    "age",
    "is_newest",
    "is_repeated",
    "coverage",
    "open_coverage",
    "near_coverage",
    "far_coverage",
    "in_question",
    "in_notes",
    "num_notes",
    "chain_gain",
    "led_to_its_name",
    "here_coverage",
    "here_near",
    "here_far",
)
QUERY_SIZE = RELATION_SIZE + len(QUERY_COLUMNS)


def query_features(scene: Scene, state: Mapping[str, float]) -> np.ndarray:
    """The newest queries, oldest first, float16 [Q, QUERY_SIZE]: their words, then the columns.

    `state` has the columns `here_coverage`, `best_near` and `best_far` of the present page.
    """
    queries = scene.observation.queries
    rows = range(max(0, len(queries) - MAX_QUERIES), len(queries))
    features = np.zeros((len(rows), QUERY_SIZE), dtype=np.float16)
    for place, row in enumerate(rows):
        features[place, :RELATION_SIZE] = text_vector(queries[row].text)
        features[place, RELATION_SIZE:] = _columns(scene, state, row)
    return features


def _columns(scene: Scene, state: Mapping[str, float], row: int) -> list[float]:
    """`QUERY_COLUMNS` of one query."""
    observation, question, chains = scene.observation, scene.question, scene.chains
    query = observation.queries[row]
    folded = folded_text(query.text)
    earlier = {folded_text(q.text) for q in observation.queries[:row]}
    is_newest = row == len(observation.queries) - 1
    end_step = observation.step_index if is_newest else observation.queries[row + 1].step
    coverage = question.coverage(query.text)
    first = sum(note.step < query.step for note in observation.notes)
    last = sum(note.step < end_step for note in observation.notes)
    here = [
        state[name] if is_newest else 0.0 for name in ("here_coverage", "best_near", "best_far")
    ]
    return [
        min(observation.step_index - query.step, MAX_AGE_STEPS) / MAX_AGE_STEPS,
        float(is_newest),
        float(folded in earlier),
        float(coverage.mean()),
        float(scene.share_open(coverage)),
        float(scene.near(coverage)),
        float(scene.far(coverage)),
        float(question.names(query.text)),
        float(in_any(folded, chains.folded)),
        min(1.0, (last - first) / 3),
        _best(scene, last) - _best(scene, first),
        float(bool(folded) and folded in chains.names[first:last]),
        *here,
    ]


def _best(scene: Scene, num_notes: int) -> float:
    """Mean coverage of the best chain of the first notes; 0 without any."""
    means = scene.chains.coverage[:num_notes].mean(axis=1)
    return float(means.max()) if len(means) else 0.0
