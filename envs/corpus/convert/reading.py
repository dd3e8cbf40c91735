# SPDX-License-Identifier: Apache-2.0
"""JSON objects from files as question sets come in: a JSON array, JSON lines, gzip, a folder."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from envs.corpus.rows import BadRows, RowError, Shown

_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceRow:
    """One JSON object and where it stands."""

    path: Path
    line: int  # of a file of JSON lines, else the position in the array; from 1
    values: dict[str, Any]

    def get(self, name: str, kind: type, expected: str) -> Any:
        """A field of a type; `RowError` if it is missing or of another."""
        value = self.values.get(name)
        if not isinstance(value, kind):
            got = value if name in self.values else Shown("nothing")
            raise RowError(self.path, self.line, name, expected, got)
        return value


def rows_in(inputs: Sequence[Path], bad: BadRows) -> Iterator[SourceRow]:
    """All objects of the inputs in order; `ValueError` for a missing file."""
    for path in files_in(inputs):
        yield from _rows_of_file(path, bad)


def files_in(inputs: Sequence[Path]) -> list[Path]:
    """The files themselves, and the JSON files of folders by name."""
    files: list[Path] = []
    for path in inputs:
        if path.is_dir():
            files += sorted(file for file in path.iterdir() if file.name.endswith(_ENDINGS))
        elif path.is_file():
            files.append(path)
        else:
            raise ValueError(f"expected a file or folder, got {path}, which does not exist")
    return files


def _rows_of_file(path: Path, bad: BadRows) -> Iterator[SourceRow]:
    """An array's items, or an object a line, or one object over several lines."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        first = file.readline()
        while first and not first.strip():
            first = file.readline()
        if first.lstrip().startswith(b"[") or not _is_json(first):
            yield from _rows_of_whole(path, first + file.read(), bad)
            return
        file.seek(0)
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield from _row(path, number, line, bad)


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


def _rows_of_whole(path: Path, data: bytes, bad: BadRows) -> Iterator[SourceRow]:
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        bad.meet(RowError(path, 1, "row", "JSON", Shown(error)))
        return
    for number, item in enumerate(whole if isinstance(whole, list) else [whole], start=1):
        yield from _checked(path, number, item, bad)


def _row(path: Path, number: int, line: bytes, bad: BadRows) -> Iterator[SourceRow]:
    try:
        item = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        bad.meet(RowError(path, number, "row", "JSON", Shown(error)))
        return
    yield from _checked(path, number, item, bad)


def _checked(path: Path, number: int, item: object, bad: BadRows) -> Iterator[SourceRow]:
    if isinstance(item, dict):
        yield SourceRow(path=path, line=number, values=item)
    else:
        bad.meet(RowError(path, number, "row", "a JSON object", item))
