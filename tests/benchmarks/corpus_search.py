# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.benchmarks.corpus_search`: indexing and searching a large corpus; one JSON line.

Passages are drawn from a seed; where FORAGERL_DATA has `ottqa/passages.jsonl.gz`, its real ones are
measured too. Per corpus:
- `index_s`, `index_peak_mb`: building the cached index, and the most memory that took (resident)
- `index_disk_mb`, `text_mb`: size of the index, and of `documents.jsonl`
- `open_s`, `open_mb`: a second process opens the cached index: time, and memory after its searches
- `search_ms`, `page_ms`: median and 95th percentile of the ranking alone, and of a whole page of
  results with snippets, for queries of 1 to 12 words drawn from the passages
"""

from __future__ import annotations

import argparse
import gzip
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import orjson
import psutil

from envs.corpus.library import open_library
from envs.corpus.pages import SEARCH_HOST, CorpusSite
from envs.site import PageRequest

SEED = 1
NUM_WORDS = 300_000
WORDS_PER_PASSAGE = 105
ZIPF_EXPONENT = 1.07
NUM_QUERIES = 400


def synthetic_passages(count: int) -> Iterator[dict[str, str]]:
    """Passages of words that are as unevenly common as in a language (Zipf)."""
    rng = np.random.default_rng(SEED)
    weights = 1.0 / np.arange(1, NUM_WORDS + 1) ** ZIPF_EXPONENT
    cumulative = np.cumsum(weights / weights.sum())
    for number in range(count):
        length = int(rng.integers(WORDS_PER_PASSAGE // 2, WORDS_PER_PASSAGE * 3 // 2))
        ids = np.minimum(np.searchsorted(cumulative, rng.random(length)), NUM_WORDS - 1)
        words = [f"w{i:x}" for i in ids]
        title = " ".join(words[:3]).title()
        yield {"id": str(number), "title": title, "text": " ".join(words).capitalize() + "."}


def real_passages(path: Path, count: int) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rb") as file:
        for line, _ in zip(file, range(count), strict=False):
            row = orjson.loads(line)
            name = row["id"].rpartition("/wiki/")[2]
            yield {"id": name, "title": name.replace("_", " ") or "-", "text": row["text"]}


def draw_queries(folder: Path) -> list[str]:
    """Runs of words out of passages, of the lengths that people and questions have."""
    rng = np.random.default_rng(SEED + 1)
    library = open_library(folder, cache_dir=str(folder / "cache"), skip_bad=False)
    queries = []
    for _ in range(NUM_QUERIES):
        words = library.document(int(rng.integers(len(library)))).text.split()
        length, start = int(rng.integers(1, 13)), int(rng.integers(max(1, len(words) - 12)))
        queries.append(" ".join(words[start : start + length]) or "nothing")
    return queries


def build(folder: Path, results: Connection) -> None:
    """In a process of its own, so that memory is its own too."""
    begin_s = time.perf_counter()
    open_library(folder, cache_dir=str(folder / "cache"), skip_bad=False)
    spent_s = time.perf_counter() - begin_s
    results.send({"index_s": round(spent_s, 1), "index_peak_mb": _peak_mb()})


def search(folder: Path, queries: list[str], results: Connection) -> None:
    begin_s = time.perf_counter()
    library = open_library(folder, cache_dir=str(folder / "cache"), skip_bad=False)
    open_s = time.perf_counter() - begin_s
    site = CorpusSite(library, language="en", max_elements=160)
    rank_ms, page_ms = [], []
    for query in queries:
        begin_s = time.perf_counter()
        library.search(query)
        middle_s = time.perf_counter()
        site.respond(PageRequest(host=SEARCH_HOST, path="/search", query={"q": query}, cookies={}))
        rank_ms.append((middle_s - begin_s) * 1000)
        page_ms.append((time.perf_counter() - middle_s) * 1000)
    memory = psutil.Process().memory_full_info()
    results.send(
        {
            "open_s": round(open_s, 2),
            "open_mb": round(memory.uss / 1e6),
            "search_ms": _percentiles(rank_ms),
            "page_ms": _percentiles(page_ms),
        }
    )


def measure(name: str, rows: Iterator[dict[str, str]], folder: Path) -> dict[str, object]:
    folder.mkdir()
    path = folder / "documents.jsonl"
    num_passages = 0
    with path.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            num_passages += 1
    figures = {"corpus": name, "num_passages": num_passages}
    figures |= {"text_mb": round(path.stat().st_size / 1e6)}
    figures |= _in_process(build, folder)
    cached = sum(file.stat().st_size for file in (folder / "cache").rglob("*") if file.is_file())
    figures |= {"index_disk_mb": round(cached / 1e6)}
    return figures | _in_process(search, folder, draw_queries(folder))


def _in_process(function, *arguments) -> dict:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=function, args=(*arguments, there))
    process.start()
    there.close()
    try:
        return here.recv()
    finally:
        process.join()


def _peak_mb() -> int:
    """The most memory that this process had (Linux counts kilobytes)."""
    import resource

    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)


def _percentiles(values_ms: list[float]) -> dict[str, float]:
    median, high = np.percentile(values_ms, [50, 95])
    return {"median": round(float(median), 2), "p95": round(float(high), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=180_000)
    count = parser.parse_args().passages
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        corpora = [measure("synthetic", synthetic_passages(count), root / "synthetic")]
        data = os.environ.get("FORAGERL_DATA", "")
        real = Path(data) / "ottqa" / "passages.jsonl.gz"
        if data and real.is_file():
            corpora.append(measure("ottqa", real_passages(real, count), root / "ottqa"))
    print(orjson.dumps({"benchmark": "corpus_search", "corpora": corpora}).decode())


if __name__ == "__main__":
    main()
