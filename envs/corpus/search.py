# SPDX-License-Identifier: Apache-2.0
"""BM25 over a corpus that need not fit into memory: built once, then mapped from disk.

Ranks as the embedded web's index does (`envs.web.search_index`): the same words, titles counted
three times, equal scores in the order of the rows.
"""

from __future__ import annotations

import logging
from array import array
from pathlib import Path

import bm25s
import numpy as np
from bm25s.tokenization import Tokenized

from envs.corpus.hashed import HashedKeys, text_hash
from envs.web.search_index import MAX_HITS, TITLE_WEIGHT, words_of

_WORDS = "words"  # name of the vocabulary's files
_MODEL_FOLDER = "bm25"


class IndexBuilder:
    """Takes documents one after the other; memory holds word ids (4 bytes each) and the words."""

    def __init__(self) -> None:
        self._ids_of_words: dict[str, int] = {}
        self._documents: list[array[int]] = []

    def add(self, title: str, text: str) -> None:
        """The next document."""
        known = self._ids_of_words
        words = words_of(title) * TITLE_WEIGHT + words_of(text)
        ids = array("i", [known.setdefault(word, len(known)) for word in words])
        self._documents.append(ids)

    def save(self, folder: Path) -> None:
        """Compute the scores and write everything that a search needs into `folder`."""
        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets DEBUG when imported
        vocabulary = self._ids_of_words
        # Without a word there would be no matrix; a corpus of empty documents finds nothing.
        vocabulary.setdefault("", len(vocabulary))
        model = bm25s.BM25(method="lucene", backend="numpy")
        model.index(Tokenized(ids=self._documents, vocab=vocabulary), show_progress=False)
        HashedKeys.build(map(text_hash, vocabulary), vocabulary.values()).save(folder, _WORDS)
        model.vocab_dict = {}  # the hashes replace it
        model.save(folder / _MODEL_FOLDER, show_progress=False)


class CorpusIndex:
    """Searches what an `IndexBuilder` wrote; the scores stay on disk and in the page cache."""

    def __init__(self, folder: Path) -> None:
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._words = HashedKeys.load(folder, _WORDS)
        self._model = bm25s.BM25.load(
            folder / _MODEL_FOLDER, mmap=True, load_vocab=False, show_progress=False
        )

    def search(self, query: str) -> np.ndarray:
        """Rows of up to `MAX_HITS` documents that share a word with the query, best first."""
        ids = [i for word in words_of(query) if (i := self._words.get(word)) is not None]
        if not ids:
            return np.zeros(0, dtype=np.int64)
        scores = self._model.get_scores_from_ids(ids)
        rows = np.flatnonzero(scores > 0)
        if len(rows) > MAX_HITS:
            # Whatever ties with the last hit stays in, so that rows decide among equals.
            least = np.partition(scores[rows], -MAX_HITS)[-MAX_HITS]
            rows = rows[scores[rows] >= least]
        return rows[np.argsort(-scores[rows], kind="stable")][:MAX_HITS]
