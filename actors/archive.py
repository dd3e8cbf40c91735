# SPDX-License-Identifier: Apache-2.0
"""Archived attempts in a run's folder: a bounded number that a person can step through afterwards.

    episodes/<phase>.<kind>.<right|wrong>.<number>.zip      one attempt each, written in one move
        head.json     `Head`: the task, how the attempt ended, its rewards by layer
        steps.json    `{"scenes": [Scene], "moves": [Move], "rewards": [[base, nav, semantic]],
                      "parts": {name: [number per step]}}`, see `agent.recording` and docs/REPORT.md
        000.jpg ...   the picture of each scene, if the driver makes pictures

Which attempts: of each phase and kind the first `per_kind` tasks, so that phases and runs can be
compared on the same tasks; after them as many again are recorded, and kept when their outcome is
still rare among those kept.
"""

from __future__ import annotations

import collections
import logging
import os
import threading
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from agent.recording import Move, Recording, Scene, ShownElement
from envs.types import Scored, StopReason, Task

logger = logging.getLogger(__name__)

_BYTES_PER_MB = 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What an archived attempt is about and how it ended; cheap to read."""

    phase: str  # "untrained", "trained" or the name of a scripted agent
    trajectory_id: str
    task_id: str
    kind: str
    split: str
    question: str
    answers: tuple[str, ...]  # accepted, the canonical one first
    final_answer: str  # "" when none was given
    is_right: bool
    stop: str  # a `StopReason`
    num_steps: int
    num_frames: int
    returns: tuple[float, float, float]  # rewards added up, in the order of LAYERS
    policy_version: int  # that took the last step; -1 from scripted agents


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchivedEpisode:
    """All of an archived attempt but its pictures."""

    head: Head
    scenes: tuple[Scene, ...]  # [T + 1], or [T]
    moves: tuple[Move, ...]  # [T]
    rewards: tuple[tuple[float, float, float], ...]  # [T] by layer, in the order of LAYERS
    parts: Mapping[str, tuple[float, ...]]  # [T] by named part of a layer


def archived_paths(run: Path) -> list[Path]:
    """The archived attempts of a run, in the order of their names."""
    return sorted((run / "episodes").glob("*.zip"))


def read_head(path: Path) -> Head:
    """The head of one archived attempt."""
    with zipfile.ZipFile(path) as archive:
        return _head(orjson.loads(archive.read("head.json")))


def read_episode(path: Path) -> ArchivedEpisode:
    """One archived attempt."""
    with zipfile.ZipFile(path) as archive:
        head = _head(orjson.loads(archive.read("head.json")))
        steps = orjson.loads(archive.read("steps.json"))
    return ArchivedEpisode(
        head=head,
        scenes=tuple(_scene(values) for values in steps["scenes"]),
        moves=tuple(Move(**values) for values in steps["moves"]),
        rewards=tuple(tuple(row) for row in steps["rewards"]),
        parts={name: tuple(values) for name, values in steps["parts"].items()},
    )


def read_frame(path: Path, number: int) -> bytes:
    """JPEG of one scene; b"" when there is none."""
    with zipfile.ZipFile(path) as archive:
        try:
            return archive.read(_frame_name(number))
        except KeyError:
            return b""


def write_episode(
    path: Path, *, phase: str, task: Task, stop: StopReason, score: Scored, recording: Recording
) -> int:
    """Write one attempt; the file is whole or not there. Its size in bytes."""
    answers = [move.text for move in recording.moves if move.action == "answer"]
    head = Head(
        phase=phase,
        trajectory_id=recording.trajectory_id,
        task_id=task.task_id,
        kind=task.kind,
        split=task.split.value,
        question=task.prompt.question,
        answers=task.truth.answers,
        final_answer=answers[-1] if answers and stop is StopReason.ANSWERED else "",
        is_right=bool(score.is_right),
        stop=stop.value,
        num_steps=len(recording.moves),
        num_frames=sum(bool(frame) for frame in recording.frames),
        returns=_rounded(score.rewards.sum(axis=0)),  # type: ignore[arg-type]
        policy_version=recording.moves[-1].policy_version if recording.moves else -1,
    )
    steps = {
        "scenes": recording.scenes,
        "moves": recording.moves,
        "rewards": [_rounded(row) for row in score.rewards],
        "parts": {name: _rounded(values) for name, values in sorted(score.parts.items())},
    }
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("head.json", orjson.dumps(head))
        archive.writestr("steps.json", orjson.dumps(steps))
        for number, frame in enumerate(recording.frames):
            if frame:
                archive.writestr(_frame_name(number), frame, zipfile.ZIP_STORED)
    os.replace(partial, path)
    return path.stat().st_size


def _frame_name(number: int) -> str:
    return f"{number:03d}.jpg"


def _rounded(values: Iterable[Any]) -> tuple[float, ...]:
    return tuple(round(float(value), 4) for value in values)


def _head(values: dict[str, Any]) -> Head:
    values["answers"], values["returns"] = tuple(values["answers"]), tuple(values["returns"])
    return Head(**values)


def _scene(values: dict[str, Any]) -> Scene:
    elements = tuple(
        ShownElement(**{**element, "box": tuple(element["box"])}) for element in values["elements"]
    )
    legal = {name: tuple(rows) for name, rows in values["legal"].items()}
    texts = {name: tuple(values[name]) for name in ("spans", "queries", "notes", "viewport")}
    return Scene(**{**values, **texts, "elements": elements, "legal": legal})


# --- Which attempts ----------------------------------------------------------------------------


@dataclass(kw_only=True, slots=True)
class _Tally:
    """One phase and kind."""

    num_asked: int = 0
    always: set[str] = field(default_factory=set)  # tasks that are kept whatever their outcome
    kept: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})  # by is_right


class Archive:
    """Chooses what to record and what to keep, within a number per kind and a size in all."""

    def __init__(self, folder: Path, *, per_kind: int, limit_mb: float) -> None:
        """`folder` is the run's `episodes`; it is made with the first attempt that is kept."""
        self._folder = folder
        self._per_kind = per_kind
        self._limit_bytes = limit_mb * _BYTES_PER_MB
        self._tallies: dict[tuple[str, str], _Tally] = collections.defaultdict(_Tally)
        self.num_bytes = 0
        self.num_refused = 0  # for want of room
        self._offering = threading.Lock()  # offers come from threads, writing takes a while

    def wants(self, phase: str, task: Task) -> bool:
        """Whether the attempt that begins now should be recorded."""
        tally = self._tallies[phase, task.kind]
        if tally.num_asked >= 2 * self._per_kind or self.num_bytes >= self._limit_bytes:
            return False
        if tally.num_asked < self._per_kind:
            tally.always.add(task.task_id)
        tally.num_asked += 1
        return True

    def offer(
        self, phase: str, task: Task, stop: StopReason, score: Scored, recording: Recording
    ) -> Path | None:
        """Keep a recorded attempt if it is one of those to keep; where it lies. Any thread."""
        with self._offering:
            return self._offer(phase, task, stop, score, recording)

    def _offer(
        self, phase: str, task: Task, stop: StopReason, score: Scored, recording: Recording
    ) -> Path | None:
        tally, is_right = self._tallies[phase, task.kind], bool(score.is_right)
        is_rare = tally.kept[is_right] < self._per_kind // 2
        if task.task_id not in tally.always and not is_rare:
            return None
        if self.num_bytes + recording.num_bytes() > self._limit_bytes:
            self.num_refused += 1
            if self.num_refused == 1:
                logger.info("the archive of attempts is full (logger.episodes_mb)")
            return None
        number, outcome = sum(tally.kept.values()), "right" if is_right else "wrong"
        path = self._folder / f"{phase}.{task.kind}.{outcome}.{number:02d}.zip"
        tally.kept[is_right] += 1
        self.num_bytes += write_episode(
            path, phase=phase, task=task, stop=stop, score=score, recording=recording
        )
        return path
