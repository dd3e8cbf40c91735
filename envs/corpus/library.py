# SPDX-License-Identifier: Apache-2.0
"""Documents by row, key or query: the file itself stays on disk, its index in a cache folder.

The index is keyed by the content of `documents.jsonl`. Whoever needs it first builds it in a folder
of its own and moves it into place in one step; others wait for that on a lock file, so actors of a
node that start together build it once, and a builder that is killed leaves nothing that counts.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
from array import array
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import bm25s
import numpy as np
import orjson

from envs.corpus.hashed import HashedKeys, text_hash
from envs.corpus.markup import plain_text
from envs.corpus.rows import (
    DOCUMENTS_FILE,
    BadRows,
    Document,
    Line,
    RowError,
    document_from,
    lines_of,
)
from envs.corpus.search import CorpusIndex, IndexBuilder

_LAYOUT_VERSION = 2  # raised when the cached files or the ranking change
_READ_BYTES = 1 << 20
_IDS, _URLS = "ids", "urls"

logger = logging.getLogger(__name__)


def open_library(folder: Path, *, cache_dir: str, skip_bad: bool) -> Library:
    """The library of a corpus folder; builds its index when it is not cached.

    `cache_dir` "" is `foragerl/corpus` in `$XDG_CACHE_HOME`, else in `~/.cache`. Raises
    `ValueError` for a missing or empty file and `RowError` for a bad row unless `skip_bad`.
    """
    path = folder / DOCUMENTS_FILE
    if not path.is_file():
        raise ValueError(
            f"env.path: expected a folder with {DOCUMENTS_FILE}, found none in {folder}; "
            "docs/CORPUS.md says what it holds"
        )
    root = Path(cache_dir).expanduser() if cache_dir else _default_cache_dir()
    root.mkdir(parents=True, exist_ok=True)
    place = root / _key(path, skip_bad)
    if not place.is_dir():
        with _locked(place.with_suffix(".lock")):
            if not place.is_dir():
                _build(path, place, skip_bad=skip_bad)
    return Library(path, place)


class Library:
    """The documents of a corpus; safe to use from several threads."""

    def __init__(self, path: Path, index_folder: Path) -> None:
        self.path = path
        self.num_bad = int(orjson.loads((index_folder / "meta.json").read_bytes())["num_bad"])
        self._file = path.open("rb")
        self._offsets = np.load(index_folder / "offsets.npy", mmap_mode="r")  # int64 [D]
        self._lines = np.load(index_folder / "lines.npy", mmap_mode="r")  # int32 [D]
        self._ids = HashedKeys.load(index_folder, _IDS)
        self._urls = HashedKeys.load(index_folder, _URLS)
        self._index = CorpusIndex(index_folder)

    def __len__(self) -> int:
        return len(self._offsets)

    def document(self, row: int) -> Document:
        """The document of a row, read from disk."""
        offset = int(self._offsets[row])
        line = Line(
            number=int(self._lines[row]), offset_bytes=offset, data=self._line_bytes(offset)
        )
        return document_from(self.path, line)

    def row_of(self, document_id: str) -> int | None:
        """The row of the document with this id, or None."""
        row = self._ids.get(document_id)
        return row if row is not None and self.document(row).id == document_id else None

    def row_of_link(self, source: Document, target: str) -> int | None:
        """The row that a link in `source` leads to, or None.

        A target may be an id or URL as it stands, or relative to the source's own.
        """
        bare = urldefrag(target).url
        if not bare:  # a place on the same page
            return None
        names = (target, bare, _joined(source.id, bare))
        for candidate in dict.fromkeys((*names, *map(unquote, names))):
            row = self.row_of(candidate)
            if row is not None:
                return row
        return self._urls.get(_joined(source.url, bare))

    def search(self, query: str) -> np.ndarray:
        """Rows that match a query, best first; see `CorpusIndex.search`."""
        return self._index.search(query)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def _line_bytes(self, offset: int) -> bytes:
        # pread has no position to share, so threads do not disturb each other.
        pieces: list[bytes] = []
        while True:
            piece = os.pread(self._file.fileno(), _READ_BYTES if pieces else 4096, offset)
            end = piece.find(b"\n")
            pieces.append(piece if end < 0 else piece[:end])
            if end >= 0 or not piece:
                return b"".join(pieces)
            offset += len(piece)


def _joined(base: str, target: str) -> str:
    try:
        return urldefrag(urljoin(base, target)).url
    except ValueError:  # not a URL, e.g. an open bracket
        return ""


# --- The cache ---------------------------------------------------------------------------------


def _default_cache_dir() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "foragerl" / "corpus"


def _key(path: Path, skip_bad: bool) -> str:
    """Names the index of this content, made by this code."""
    digest = hashlib.sha256(f"{_LAYOUT_VERSION} {bm25s.__version__} {skip_bad}".encode())
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            digest.update(chunk)
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process of this machine is inside; the system frees the lock of a dead one."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.info("waiting for another process that builds the index")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(path: Path, place: Path, *, skip_bad: bool) -> None:
    """Read every document once and move the finished index to `place`."""
    for left in place.parent.glob(f"{place.name}.building-*"):  # of builders that were killed
        shutil.rmtree(left)
    logger.info("indexing %s", path)
    folder = place.with_name(f"{place.name}.building-{os.getpid()}")
    folder.mkdir()
    try:
        num_documents, num_bad = _write_index(path, folder, skip_bad=skip_bad)
        os.replace(folder, place)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    logger.info("indexed %d documents, %d bad rows skipped", num_documents, num_bad)


def _write_index(path: Path, folder: Path, *, skip_bad: bool) -> tuple[int, int]:
    """Number of documents and of bad rows."""
    bad, builder = BadRows(skip=skip_bad), IndexBuilder()
    offsets, lines = array("q"), array("i")
    line_of_id: dict[int, int] = {}  # by hash, in the order of the rows
    urls: dict[int, int] = {}
    for line in lines_of(path):
        with bad.catching():
            document = document_from(path, line)
            first = line_of_id.setdefault(text_hash(document.id), line.number)
            if first != line.number:
                raise RowError(path, line.number, "id", f"another than line {first}", document.id)
            if document.url:
                urls.setdefault(text_hash(urldefrag(document.url).url), len(offsets))
            offsets.append(line.offset_bytes)
            lines.append(line.number)
            builder.add(document.title, plain_text(document))
    if not offsets:
        raise ValueError(f"{path}: expected documents, found none ({bad.count} bad rows)")
    np.save(folder / "offsets.npy", np.array(offsets, dtype=np.int64))
    np.save(folder / "lines.npy", np.array(lines, dtype=np.int32))
    HashedKeys.build(line_of_id, range(len(offsets))).save(folder, _IDS)
    HashedKeys.build(urls, urls.values()).save(folder, _URLS)
    builder.save(folder)
    (folder / "meta.json").write_bytes(orjson.dumps({"num_bad": bad.count}))
    return len(offsets), bad.count
