# SPDX-License-Identifier: Apache-2.0
"""Trees of records as one file of plain arrays; nothing is ever unpickled. No torch.

A tree is made of None, bools, numbers, strings, arrays, lists, tuples, dicts, and of the
dataclasses and enums that the caller names. The file is an uncompressed `.npz` with one flat array
per dtype and, in `tree`, the JSON that says where each array lies:

    {"$a": [dtype, offset, shape]}   {"$t": [...]} a tuple   {"$d": [[key, value], ...]}
    {"$o": [class, [field values]]}  {"$e": [enum, value]}

Fields are stored by name once per file, so that a class may gain a field with a default later.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

_TREE, _FIELDS = "tree", "fields"
_PLAIN_KINDS = "biuf"


class StorageError(ValueError):
    """The file is not one of ours, or holds what this version does not know."""


def write_tree(path: Path, tree: Any, types: Iterable[type] = ()) -> str:
    """Write `tree` to a new file, synced to disk; its sha256.

    Raises `TypeError` for what has no plain form, `OSError` when the disk fails.
    """
    writer = _Writer(types)
    text = json.dumps({_TREE: writer.encode(tree), _FIELDS: writer.fields})
    flat = {name: np.concatenate(parts) for name, parts in writer.parts.items()}
    document = np.frombuffer(text.encode(), dtype=np.uint8)
    with open(path, "xb") as file:
        # savez wants names as keywords, so that they must not clash with its own parameters.
        np.savez(file, **{_TREE: document, **flat})  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    return sha256(path)


def read_tree(path: Path, types: Iterable[type] = ()) -> Any:
    """Read what `write_tree` wrote; arrays are writable and independent of each other."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            flat = {name: archive[name] for name in archive.files}
        document = json.loads(flat.pop(_TREE).tobytes())
        return _Reader(types, document[_FIELDS], flat).decode(document[_TREE])
    except StorageError:
        raise
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise StorageError(f"{path}: expected a file of plain arrays ({error!r})") from error


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Writer:
    """Turns a tree into JSON values and gathers its arrays."""

    def __init__(self, types: Iterable[type]) -> None:
        self._names = {kind: kind.__name__ for kind in types}
        self._sizes: dict[str, int] = {}
        self.parts: dict[str, list[np.ndarray]] = {}
        self.fields: dict[str, list[str]] = {}

    def encode(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if isinstance(value, np.ndarray):
            return {"$a": self._array(value)}
        if isinstance(value, np.generic):
            return self.encode(value.item())
        if kind is list:
            return [self.encode(item) for item in value]
        if kind is tuple:
            return {"$t": [self.encode(item) for item in value]}
        if isinstance(value, dict):
            return self._dict(value)
        if kind in self._names and isinstance(value, enum.Enum):
            return {"$e": [self._names[kind], self.encode(value.value)]}
        if kind in self._names:
            return {"$o": self._record(value)}
        raise TypeError(f"expected plain values and known classes, got {kind.__name__}: {value!r}")

    def _array(self, value: np.ndarray) -> list[Any]:
        if value.dtype.kind not in _PLAIN_KINDS:
            raise TypeError(f"expected an array of numbers, got {value.dtype}")
        name = value.dtype.str.lstrip("<>|=")
        offset = self._sizes.get(name, 0)
        self._sizes[name] = offset + value.size
        self.parts.setdefault(name, []).append(np.ravel(value))
        return [name, offset, list(value.shape)]

    def _dict(self, value: dict[Any, Any]) -> Any:
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: self.encode(item) for key, item in value.items()}
        return {"$d": [[self.encode(key), self.encode(item)] for key, item in value.items()]}

    def _record(self, value: Any) -> list[Any]:
        name = self._names[type(value)]
        if name not in self.fields:
            self.fields[name] = [field.name for field in dataclasses.fields(value)]
        return [name, [self.encode(getattr(value, field)) for field in self.fields[name]]]


class _Reader:
    """The way back."""

    def __init__(
        self, types: Iterable[type], fields: dict[str, list[str]], flat: dict[str, np.ndarray]
    ) -> None:
        self._types: dict[str, Any] = {kind.__name__: kind for kind in types}
        self._fields = fields
        self._flat = flat

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) != 1 or not next(iter(value), "").startswith("$"):
            return {key: self.decode(item) for key, item in value.items()}
        ((mark, content),) = value.items()
        if mark == "$a":
            name, offset, shape = content
            size = int(np.prod(shape, dtype=np.int64))
            part = self._flat[name][offset : offset + size]
            if len(part) != size:
                raise StorageError(f"expected {size} values of {name}, got {len(part)}")
            return part.reshape(shape).copy()
        if mark == "$t":
            return tuple(self.decode(item) for item in content)
        if mark == "$d":
            return {self.decode(key): self.decode(item) for key, item in content}
        if mark == "$e":
            return self._kind(content[0])(content[1])
        if mark == "$o":
            name, values = content
            pairs = zip(self._fields[name], values, strict=True)
            return self._kind(name)(**{field: self.decode(item) for field, item in pairs})
        raise StorageError(f"expected a known mark, got {mark!r}")

    def _kind(self, name: str) -> Any:
        if name not in self._types:
            raise StorageError(f"expected one of {sorted(self._types)}, got {name!r}")
        return self._types[name]
