# SPDX-License-Identifier: Apache-2.0
"""How well a query finds a page that the question only describes: asked of the search engine."""

from __future__ import annotations

from functools import lru_cache

from envs.types import EvidenceItem, Split, Task
from envs.web.guide import query_fit
from envs.web.sites.search import index_of

_FIRST = 0.9  # as the first hit; a name is surer, whatever else the query says
_HALVED_AT = 5  # hits before it that halve the worth
_MAX_CACHED_QUERIES = 20_000


def search_fit(query: str, item: EvidenceItem, task: Task) -> float:
    """How well a query finds the item's page, in [0, 1].

    By its subject's name (`query_fit`); a page without one by its rank among the hits, because
    words of a description find other pages as well: the page of the one name in it comes first.
    The hits are those of the training pages.
    """
    if not item.clues:
        return query_fit(query, item)
    by_name = query_fit(query, item, use_clues=False)
    rank = _rank(task.world_seed, task.split, task.language, query, item.url)
    return max(by_name, _FIRST / (1 + rank / _HALVED_AT) if rank >= 0 else 0.0)


@lru_cache(maxsize=_MAX_CACHED_QUERIES)
def _rank(seed: int, split: Split, language: str, query: str, url: str) -> int:
    """Number of hits before the page; -1 if the query does not find it."""
    hits = index_of(seed, split, language).search(query)
    return next((place for place, hit in enumerate(hits) if hit.url == url), -1)
