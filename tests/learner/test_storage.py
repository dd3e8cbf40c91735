# SPDX-License-Identifier: Apache-2.0
"""Trees of records come back as they were, from files that hold nothing but arrays."""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.types import ModelInputs, StepRecord, Trajectory
from envs.actions import ActionMask
from envs.types import Split, StopReason
from learner.storage import StorageError, read_tree, sha256, write_tree
from tests.learner.tiny_policy import random_step, trajectory

RECORDS = (Trajectory, StepRecord, ModelInputs, ActionMask, Split, StopReason)


def same(left: Any, right: Any) -> bool:
    """Equal in type and value, arrays and nested records included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=True)
    if dataclasses.is_dataclass(left):
        fields = [field.name for field in dataclasses.fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in fields)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def test_everything_comes_back_as_it_was(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tree = {
        "plain": [None, True, 3, -0.1, "é", (), [], {}, 2**120],
        "nested": ({"a": (1, 2)}, [np.float32(0.5).item()]),
        7: {"keys that are no text": {(1, 2): 0.25}},
        "$d": "a key that looks like a mark",
        "arrays": [rng.normal(size=(2, 0, 3)), np.array(4), rng.random((3, 2)) < 0.5],
        "half": rng.normal(size=(3, 4)).astype(np.float16).T,
        "records": [trajectory([random_step(rng) for _ in range(3)], "t", "g")],
    }
    digest = write_tree(tmp_path / "x.npz", tree, RECORDS)
    assert digest == sha256(tmp_path / "x.npz")
    assert same(read_tree(tmp_path / "x.npz", RECORDS), tree)


def test_arrays_that_come_back_are_independent(tmp_path: Path) -> None:
    write_tree(tmp_path / "x.npz", [np.zeros(2), np.zeros(2)])
    first, second = read_tree(tmp_path / "x.npz")
    first += 1
    assert not second.any()


class _Unknown(enum.Enum):
    A = 1


@pytest.mark.parametrize("value", [object(), _Unknown.A, np.array([{}], dtype=object), {1, 2}])
def test_what_has_no_plain_form_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        write_tree(tmp_path / "x.npz", [value])
    assert not (tmp_path / "x.npz").exists()


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "pickled.npz", tree=np.array([print], dtype=object))
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").touch()
    write_tree(tmp_path / "record.npz", [random_step(np.random.default_rng(0))], RECORDS)
    for name in ("pickled", "other", "text", "empty", "record", "missing"):
        with pytest.raises(StorageError):
            read_tree(tmp_path / f"{name}.npz")


def test_a_class_may_gain_a_field_with_a_default(tmp_path: Path) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Row:
        a: int

    write_tree(tmp_path / "x.npz", Row(a=3), (Row,))

    @dataclass(frozen=True, kw_only=True)
    class Wider:
        b: str = "new"
        a: int

    Wider.__name__ = "Row"
    row = read_tree(tmp_path / "x.npz", (Wider,))
    assert (row.a, row.b) == (3, "new")
