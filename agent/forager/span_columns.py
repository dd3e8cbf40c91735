# SPDX-License-Identifier: Apache-2.0
"""What is known of each text that may be typed or answered: named columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agent.forager.clues import type_fit
from agent.forager.hops import NO_HOP, NUM_HOPS
from agent.forager.quantities import asked_bound, crossings, more_than_other
from agent.forager.scene import Scene, link_texts_of, relation_text, row_value
from agent.forager.words import folded_text
from envs.types import Observation, Span, SpanSource

MORE_COLUMN = "more_than_other"  # the first of a span's; the network turns it by more or less


def span_columns(scene: Scene) -> dict[str, np.ndarray]:
    """Columns [S]."""
    observation, question, chains = scene.observation, scene.question, scene.chains
    spans = observation.spans
    folded = [folded_text(span.text) for span in spans]
    own = question.coverages([s.text for s in spans])
    context = question.coverages([s.context for s in spans])
    relation = question.coverages([relation_text(s.context) for s in spans])
    # A note's spans rest on its chain; a question's spans rest on nothing yet.
    chain = np.array(
        [
            chains.coverage[s.note] if s.source is SpanSource.NOTE else np.zeros_like(chains.open)
            for s in spans
        ]
    ).reshape(len(spans), len(question.clues))
    link_texts = link_texts_of(observation)
    from_note = np.array([s.source is SpanSource.NOTE for s in spans], dtype=bool)
    is_value = np.array(
        [folded_text(row_value(s.context)) == f for s, f in zip(spans, folded, strict=True)],
        dtype=bool,
    )
    is_title = np.array([f in chains.names for f in folded], dtype=bool)
    is_queried = np.array([f in scene.queried for f in folded], dtype=bool)
    fit = np.array([type_fit(question, s.text) for s in spans], dtype=float)
    chain_coverage = chain.mean(axis=1)
    best = chains.best()
    signs = more_than_other(scene)
    noted_below, _ = crossings([n.text for n in observation.notes], asked_bound(question))
    hops = scene.hops
    name_hops = np.array([hops.of(f) for f in folded])
    note_hops = np.array([hops.of_notes[s.note] if s.note >= 0 else NO_HOP for s in spans])
    return {
        MORE_COLUMN: np.array([signs.get(f, 0.0) for f in folded]),
        "is_first_below": np.array(
            [s.note >= 0 and noted_below[s.note] and s.context.startswith(s.text) for s in spans],
            dtype=bool,
        ),
        "from_note": from_note,
        "from_newest_note": from_note
        & np.array([s.note == len(chains.names) - 1 for s in spans], dtype=bool),
        "from_best_chain": from_note & (chain_coverage >= best - 1e-6),
        "is_row_value": is_value & from_note,
        "own_coverage": own.mean(axis=1),
        "own_open_coverage": scene.share_open(own),
        "context_coverage": context.mean(axis=1),
        "chain_coverage": chain_coverage,
        "chain_coverage_squared": chain_coverage**2,
        "chain_far_coverage": scene.far(chain),
        "chain_near_coverage": scene.near(chain),
        "relation_far_coverage": scene.far(relation) * from_note,
        "relation_near_coverage": scene.near(relation) * from_note,
        "fit_and_far": fit * scene.far(chain),
        "note_is_of_entity": np.array(
            [s.note >= 0 and question.names(chains.names[s.note]) for s in spans], dtype=bool
        ),
        "is_next_hop": name_hops == hops.next,
        "name_hop": (1 + name_hops) / NUM_HOPS,
        **{f"note_hop_{hop}": note_hops == hop for hop in range(NUM_HOPS)},
        "in_question": np.array([question.names(f) for f in folded], dtype=bool) & from_note,
        "is_queried": is_queried,
        "is_noted_page": is_title,
        "is_new_name": from_note & ~is_title & ~is_queried & _capitalised(spans),
        "equals_here": np.array([f == scene.here_folded for f in folded], dtype=bool),
        "equals_typed": np.array([f == scene.typed for f in folded], dtype=bool),
        "is_link_here": np.array([f in link_texts for f in folded], dtype=bool),
        "is_capitalised": _capitalised(spans),
        "has_digit": np.array([any(c.isdigit() for c in s.text) for s in spans], dtype=bool),
        "type_fit": fit,
        "fit_and_chain": fit * chain_coverage,
        "num_words": np.array([min(1.0, len(f.split()) / 8) for f in folded]),
        "is_single_word": np.array([len(f.split()) == 1 for f in folded], dtype=bool),
        "rank_in_source": _rank_in_source(observation),
    }


def _rank_in_source(observation: Observation) -> np.ndarray:
    """0 for the first span of the question or of a note, rising to 1."""
    seen: dict[int, int] = {}
    ranks = []
    for span in observation.spans:
        ranks.append(min(1.0, seen.get(span.note, 0) / 8))
        seen[span.note] = seen.get(span.note, 0) + 1
    return np.array(ranks)


def _capitalised(spans: Sequence[Span]) -> np.ndarray:
    return np.array([s.text[:1].isupper() for s in spans], dtype=bool)
