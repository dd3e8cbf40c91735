# SPDX-License-Identifier: Apache-2.0
"""Documents are found by row, id, link and query; the index is built once and never half."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from envs.corpus import library as library_module
from envs.corpus.hashed import HashedKeys, text_hash
from envs.corpus.library import Library, open_library
from envs.web.search_index import MAX_HITS, IndexedPage, SearchIndex
from tests.envs.corpus.small_corpus import DOCUMENTS, Row, write_corpus


def open_at(folder: Path) -> Library:
    return open_library(folder, cache_dir=str(folder / "cache"), skip_bad=False)


def many_documents(count: int, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        {
            "id": f"doc {i}",
            "title": f"Title {i % 7}",
            "text": " ".join(f"w{w}" for w in rng.integers(0, 60, 30)),
        }
        for i in range(count)
    ]


def test_documents_come_back_as_they_were_written(tmp_path: Path) -> None:
    long = {"id": "läng/ß?#%", "title": "Lang", "text": "ü" * 3_000_000}
    library = open_at(write_corpus(tmp_path, [*DOCUMENTS, long]))
    assert len(library) == 4
    for row, written in enumerate([*DOCUMENTS, long]):
        document = library.document(row)
        assert (document.id, document.text) == (written["id"], written["text"])
        assert library.row_of(written["id"]) == row
    assert library.row_of("nothing") is None


def test_links_lead_by_id_by_relative_id_and_by_url(tmp_path: Path) -> None:
    library = open_at(write_corpus(tmp_path))
    pump, person = library.document(0), library.document(1)
    assert library.row_of_link(pump, "rust") == 2
    assert library.row_of_link(pump, "people.html") == 1
    assert library.row_of_link(pump, "../guide/people.html#life") == 1
    assert library.row_of_link(person, "http://firm.example/people.html#x") == 1
    assert library.row_of_link(person, "/people.html") == 1
    for unknown in ("http://evil.example/", "javascript:alert(1)", "http://[", "", "other"):
        assert library.row_of_link(person, unknown) is None


def test_the_ranking_is_that_of_the_embedded_web(tmp_path: Path) -> None:
    documents = many_documents(300)
    library = open_at(write_corpus(tmp_path, documents))
    pages = [IndexedPage(url=d["id"], title=d["title"], text=d["text"]) for d in documents]
    reference = SearchIndex(pages)
    for query in ("w1", "w2 w3 title", "Title 3", "w59 w59 w4", "the of", "absent", ""):
        expected = [page.url for page in reference.search(query)]
        assert [library.document(int(r)).id for r in library.search(query)] == expected
    assert len(library.search("title")) == MAX_HITS


def test_a_second_opening_builds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_corpus(tmp_path)
    first = open_at(folder)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(library_module, "_build", refuse)
    second = open_at(folder)
    assert second.search("rust iron").tolist() == first.search("rust iron").tolist()
    write_corpus(tmp_path, [*DOCUMENTS, {"id": "new", "title": "New", "text": "fresh"}])
    with pytest.raises(AssertionError, match="built again"):
        open_at(folder)


def test_a_build_that_fails_leaves_nothing_that_counts(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path, [*DOCUMENTS, {"id": "bad"}])
    for _ in range(2):
        with pytest.raises(ValueError, match="title"):
            open_at(folder)
    assert [path.suffix for path in (folder / "cache").iterdir()] == [".lock"]


def _open_and_report(folder: Path, results: multiprocessing.Queue) -> None:
    built = []
    original = library_module._build
    library_module._build = lambda *a, **k: (built.append(1), original(*a, **k))
    results.put((len(built), open_at(folder).search("w1").tolist(), len(built)))


def test_processes_that_start_together_build_the_index_once(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path, many_documents(2000))
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    actors = [context.Process(target=_open_and_report, args=(folder, results)) for _ in range(2)]
    for actor in actors:
        actor.start()
    found = [results.get(timeout=60) for _ in actors]
    for actor in actors:
        actor.join()
    assert found[0][1] == found[1][1] != []
    assert sum(built for _, _, built in found) == 1


def _build_for_ever(folder: Path) -> None:
    library_module._write_index = lambda *a, **k: time.sleep(600)
    open_at(folder)


def test_a_killed_builder_does_not_stand_in_the_way(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path)
    builder = multiprocessing.get_context("spawn").Process(target=_build_for_ever, args=(folder,))
    builder.start()
    deadline_s = time.monotonic() + 30
    while not list((folder / "cache").glob("*.building-*")):
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    assert len(open_at(folder)) == len(DOCUMENTS)
    assert not list((folder / "cache").glob("*.building-*"))


def test_hashed_keys_find_every_key_and_nothing_else(tmp_path: Path) -> None:
    words = [f"word {i}" for i in range(5000)]
    HashedKeys.build(map(text_hash, words), range(5000)).save(tmp_path, "keys")
    keys = HashedKeys.load(tmp_path, "keys")
    assert len(keys) == 5000
    assert [keys.get(word) for word in words] == list(range(5000))
    assert keys.get("word 5000") is None and keys.get("") is None
    assert HashedKeys.build([], []).get("word") is None
