# SPDX-License-Identifier: Apache-2.0
"""Where a link stands among those that a page offers: named columns.

A network that scores elements one by one cannot count them. A search engine puts the best hit
first, and what stands beside a hit tells more of it than its name does.
"""

from __future__ import annotations

import numpy as np

from agent.forager.scene import Scene, share_named
from agent.forager.words import folded_text
from envs.observe import page_key
from envs.types import ElementFlag


def link_ranks(scene: Scene) -> dict[str, np.ndarray]:
    """Reciprocal ranks [E] of the hits that were not visited yet; 0 of all other elements."""
    observation, question = scene.observation, scene.question
    table, here = observation.elements, page_key(observation.url)
    is_new = ~table.flags[:, ElementFlag.VISITED] & np.array(
        [bool(href) and page_key(href) != here for href in table.href], dtype=bool
    )
    # A hit is a name with its text behind it. An advert calls itself after what was searched for,
    # and what leads to more hits repeats the query, so that neither may be ranked by its words.
    is_hit = is_new & np.array(
        [
            bool(text)
            and context.startswith(text)
            and len(context) > len(text)
            and not _names_itself_after(scene.query, folded_text(text))
            for text, context in zip(table.text, table.context, strict=True)
        ],
        dtype=bool,
    )
    # A hit's name is left out: what stands beside it tells whether it is meant.
    beside = [
        context[len(text) :] if hit else ""
        for text, context, hit in zip(table.text, table.context, is_hit, strict=True)
    ]
    named = np.array([share_named(scene.asked_names, text) for text in beside])
    return {
        "rank_on_page": reciprocal_ranks(np.zeros(len(table)), is_hit),
        "rank_by_names": reciprocal_ranks(named, is_hit & (named > 0)),
        "rank_by_context": reciprocal_ranks(question.coverages(beside).mean(axis=1), is_hit),
    }


def reciprocal_ranks(scores: np.ndarray, is_ranked: np.ndarray) -> np.ndarray:
    """1 for the best score [E] of those that are ranked, 1/2 for the second, ...; 0 for the others.

    Of equal scores the first on the page ranks higher.
    """
    ranks = np.zeros(len(scores))
    rows = np.flatnonzero(is_ranked)
    ordered = rows[np.argsort(-scores[rows], kind="stable")]
    ranks[ordered] = 1.0 / np.arange(1, len(ordered) + 1)
    return ranks


def _names_itself_after(query: str, folded: str) -> bool:
    """Whether a text is a query and more, as adverts are; a page's own name may be the query."""
    return bool(query) and folded != query and f" {query} " in f" {folded} "
