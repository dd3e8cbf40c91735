# SPDX-License-Identifier: Apache-2.0
"""A read-only map from text to a number that lives in two files rather than in memory.

Texts are stored as their 64-bit hashes: two of n texts collide with probability n² / 2^65 (a
millionth of a percent for a million), which whoever must be certain checks against the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

_HASH_BYTES = 8


def text_hash(text: str) -> int:
    """A 64-bit number that depends on the text alone."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES)
    return int.from_bytes(digest.digest(), "little")


class HashedKeys:
    """Sorted hashes and their numbers; both arrays may be mapped from disk."""

    def __init__(self, hashes: np.ndarray, numbers: np.ndarray) -> None:
        self._hashes = hashes  # uint64 [K], sorted
        self._numbers = numbers  # int32 [K]

    @classmethod
    def build(cls, hashes: Iterable[int], numbers: Iterable[int]) -> HashedKeys:
        """From pairs in any order; of equal hashes the first one given wins."""
        raw = np.fromiter(hashes, dtype=np.uint64)
        unique, first = np.unique(raw, return_index=True)
        return cls(unique, np.fromiter(numbers, dtype=np.int32)[first])

    def __len__(self) -> int:
        return len(self._hashes)

    def get(self, text: str) -> int | None:
        """The number of a text, or None."""
        key = np.uint64(text_hash(text))
        place = int(np.searchsorted(self._hashes, key))
        if place == len(self._hashes) or self._hashes[place] != key:
            return None
        return int(self._numbers[place])

    def save(self, folder: Path, name: str) -> None:
        """Write both arrays."""
        np.save(folder / f"{name}_hashes.npy", self._hashes)
        np.save(folder / f"{name}_numbers.npy", self._numbers)

    @classmethod
    def load(cls, folder: Path, name: str) -> HashedKeys:
        """Map both arrays from disk."""
        return cls(
            np.load(folder / f"{name}_hashes.npy", mmap_mode="r"),
            np.load(folder / f"{name}_numbers.npy", mmap_mode="r"),
        )
