# SPDX-License-Identifier: Apache-2.0
"""A learner on disk: everything that its next update depends on.

`learner.npz` holds weights, reference, optimizer, scales, KL controller, random state and version.
The reservoir is by far the largest part and only ever gains steps at one end and loses them at the
other, so it lies in segments that never change: a checkpoint links those that the one before has
already written.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agent.types import ModelInputs, StepRecord
from envs.actions import ActionMask
from learner.checkpoint import CheckpointError, read_manifest
from learner.storage import StorageError, read_tree, write_tree

logger = logging.getLogger(__name__)

_LEARNER = "learner.npz"
_SEGMENT = re.compile(r"steps-(\d+)-(\d+)\.npz")
_MAX_SEGMENT_STEPS = 2000  # so that old steps leave the disk soon after they left the reservoir
_RECORDS = (StepRecord, ModelInputs, ActionMask)


def save_learner(folder: Path, state: Mapping[str, Any], previous: Path | None) -> dict[str, str]:
    """Write `Learner.state_dict()` into `folder`; file name -> sha256.

    `previous` is an earlier checkpoint of the same run, whose segments are shared.
    """
    reservoir = state["reservoir"]
    first, steps = reservoir["first"], reservoir["steps"]
    stop = first + len(steps)
    files = _link_segments(folder, previous, first, stop)
    written = max([first, *(_range(name)[1] for name in files)])
    for start in range(written, stop, _MAX_SEGMENT_STEPS):
        end = min(stop, start + _MAX_SEGMENT_STEPS)
        name = f"steps-{start:09d}-{end:09d}.npz"
        files[name] = write_tree(folder / name, steps[start - first : end - first], _RECORDS)
    rest = {**state, "reservoir": {"first": first, "num_steps": len(steps)}}
    files[_LEARNER] = write_tree(folder / _LEARNER, _arrays(rest), _RECORDS)
    return files


def load_learner(folder: Path, damaged: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The state that `save_learner` wrote; `CheckpointError` when it cannot be read.

    Segments among the `damaged` files are left out, with a warning: they are shared with older
    checkpoints, and the step term can do without some of its past states.
    """
    try:
        state: dict[str, Any] = read_tree(folder / _LEARNER, _RECORDS)
        steps: list[StepRecord] = []
        first, num_steps = state["reservoir"]["first"], state["reservoir"]["num_steps"]
        for name in sorted(filter(_SEGMENT.fullmatch, read_manifest(folder)["sha256"])):
            if name in damaged:
                logger.warning("%s is damaged: its past states are lost", folder / name)
                continue
            start, _ = _range(name)
            steps += read_tree(folder / name, _RECORDS)[max(0, first - start) :]
    except StorageError as error:
        raise CheckpointError(f"{folder}: {error}") from error
    # With steps missing at an end, serial numbers stay those of the newest steps.
    state["reservoir"] = {"first": first + num_steps - len(steps), "steps": steps}
    for name in ("policy", "reference", "optimizer", "acting"):
        if name in state:
            state[name] = _tensors(state[name])
    state["critic"] = _tensors(state.get("critic", {}))  # there since checkpoints have had one
    values = state.get("action_values", {})
    values.update({name: _tensors(values[name]) for name in ("net", "optimizer") if name in values})
    return state


def is_expendable(name: str) -> bool:
    """Whether a checkpoint can do without the file."""
    return _SEGMENT.fullmatch(name) is not None


def _link_segments(folder: Path, previous: Path | None, first: int, stop: int) -> dict[str, str]:
    """Share the segments of `previous` that hold steps of [first, stop)."""
    if previous is None or not previous.is_dir():
        return {}
    known = read_manifest(previous)["sha256"]
    names = [name for name in sorted(known) if _SEGMENT.fullmatch(name)]
    wanted = [name for name in names if _range(name)[1] > first]
    if wanted and (_range(wanted[0])[0] > first or _range(wanted[-1])[1] > stop):
        return {}  # of another lineage, or with a gap: write everything anew
    for name in wanted:
        try:
            os.link(previous / name, folder / name)
        except OSError:  # a file system without links
            shutil.copyfile(previous / name, folder / name)
    return {name: known[name] for name in wanted}


def _range(name: str) -> tuple[int, int]:
    found = _SEGMENT.fullmatch(name)
    assert found is not None, name
    return int(found[1]), int(found[2])


def _arrays(value: Any) -> Any:
    """Tensors as arrays, all through a tree."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, dict):
        return {key: _arrays(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_arrays(item) for item in value)
    return value


def _tensors(value: Any) -> Any:
    """Arrays as tensors, all through a tree."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, dict):
        return {key: _tensors(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_tensors(item) for item in value)
    return value
