# SPDX-License-Identifier: Apache-2.0
"""The search engine's index: BM25 over the pages of all other sites, titles counted more."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import bm25s
import numpy as np

from envs.han import has_han, split_han

MAX_HITS = 100
TITLE_WEIGHT = 3  # a title's words count as often
_SNIPPET_CHARS = 170
_SNIPPET_LEAD_CHARS = 60  # shown before the first word of the query
_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    "a an and are as at be by for from has have in is it its of on or that the this to was were "
    "which who whom what when where how did does do".split()
)


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexedPage:
    """A page as the search engine knows it."""

    url: str
    title: str
    text: str


def words_of(text: str) -> list[str]:
    """Lower-case words that count for the ranking; of Chinese, pairs of characters."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]
    if not has_han(text):
        return words
    return [part for word in words for part in _parts(word)]


# Sentences without a name of their own stand on many pages.
@lru_cache(maxsize=1 << 15)
def _parts(word: str) -> tuple[str, ...]:
    return tuple(split_han(word))


class SearchIndex:
    """Ranks pages for a query; equal scores keep the order of the pages."""

    def __init__(self, pages: Sequence[IndexedPage]) -> None:
        self.pages = tuple(pages)
        # The package sets its logger to DEBUG when it is imported.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._model = bm25s.BM25(method="lucene", backend="numpy")
        self._model.index(
            [words_of(page.title) * TITLE_WEIGHT + words_of(page.text) for page in pages],
            show_progress=False,
        )

    def search(self, query: str) -> tuple[IndexedPage, ...]:
        """Up to `MAX_HITS` pages that share a word with the query, best first."""
        words = [word for word in words_of(query) if word in self._model.vocab_dict]
        if not words:
            return ()
        scores = self._model.get_scores(words)
        order = np.argsort(-scores, kind="stable")[:MAX_HITS]
        return tuple(self.pages[i] for i in order if scores[i] > 0)


def snippet(text: str, query: str) -> str:
    """A stretch of the line that has most words of the query; longer lines win a draw.

    A line that is too short to say much is followed by the page's longest one.
    """
    wanted = set(words_of(query))
    lines = text.split("\n")
    best = best_line(lines, wanted)
    longest = max(lines, key=len)
    if len(best) < _SNIPPET_LEAD_CHARS and best != longest:
        best = f"{best} · {longest}"
    hits = [best.lower().find(word) for word in wanted if word in best.lower()]
    start = max(0, min(min(hits, default=0) - _SNIPPET_LEAD_CHARS, len(best) - _SNIPPET_CHARS))
    has_blanks = not has_han(best)
    if has_blanks:
        start = best.find(" ", start) + 1 if start else 0
    end = len(best)
    if end - start > _SNIPPET_CHARS:
        end = start + _SNIPPET_CHARS
        if has_blanks:
            end = best.rfind(" ", start, end)
    return ("… " if start else "") + best[start:end] + (" …" if end < len(best) else "")


def best_line(lines: Sequence[str], wanted: set[str]) -> str:
    """The first of the longest lines among those with most of the `wanted` words."""
    best, best_rank = lines[0], (-1, -1)
    for line in lines:
        # A word of a line is part of it in lower case: few lines need to be taken apart.
        lower = line.lower()
        most = sum(word in lower for word in wanted)
        if (most, len(line)) <= best_rank:
            continue
        rank = (len(wanted.intersection(words_of(line))) if most else 0, len(line))
        if rank > best_rank:
            best, best_rank = line, rank
    return best
