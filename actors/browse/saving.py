# SPDX-License-Identifier: Apache-2.0
"""An episode of a person in a folder: `episode.jsonl`, written as it goes, and `episode.gif`.

Lines of `episode.jsonl`, told apart by `what`:

    task    first: id, kind, question, start page, driver
    scene   what was seen before a step, or after the last (`agent.recording.Scene`)
    move    what was done and what came of it (`agent.recording.Move`)
    end     last: why it ended, the answer, and whether it was right
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from actors.show.film import gif
from agent.recording import MAX_TEXT_CHARS, Recorder
from agent.types import MAX_HEADS, Decision
from envs.actions import Action
from envs.answers import is_accepted
from envs.search_env import Frame
from envs.types import Observation, StepEvidence, StopReason, Task

JSON_LINES, GIF = "episode.jsonl", "episode.gif"
QUIT = "quit"  # the stop of an attempt that the person left


class Keeper:
    """Keeps one attempt."""

    def __init__(self, folder: Path, task: Task, driver: str) -> None:
        self._folder = folder
        self._task = task
        self._recorder = Recorder(task.task_id)
        self._file = (folder / JSON_LINES).open("wb")
        self._put(
            "task",
            {
                "task_id": task.task_id,
                "kind": task.kind,
                "question": task.prompt.question,
                "start_url": task.prompt.start_url,
                "driver": driver,
            },
        )

    def saw(self, observation: Observation, frame: Frame) -> None:
        """What is shown now."""
        self._recorder.saw(observation, frame)
        self._put("scene", dataclasses.asdict(self._recorder.recording().scenes[-1]))

    def did(self, action: Action, own_text: str, evidence: StepEvidence) -> None:
        """The step that was taken."""
        decision = Decision(
            action=action,
            inputs=None,
            log_prob_by_head=np.zeros(MAX_HEADS, dtype=np.float32),
            policy_version=-1,
        )
        self._recorder.did(decision, evidence)
        move = self._recorder.recording().moves[-1]
        if own_text:
            move = dataclasses.replace(move, text=own_text[:MAX_TEXT_CHARS])
        self._put("move", dataclasses.asdict(move))

    def end(self, stop: StopReason | None, answer: str) -> bool | None:
        """Finish both files; whether the answer is right, None without one or without a task's."""
        accepted = self._task.truth.answers
        is_right = is_accepted(answer, accepted) if answer and accepted else None
        reason = QUIT if stop is None else stop.value
        self._put("end", {"stop": reason, "answer": answer, "is_right": is_right})
        self._file.close()
        recording = self._recorder.recording()
        picture = gif(recording.scenes, recording.moves, recording.frames)
        if picture:
            (self._folder / GIF).write_bytes(picture)
        return is_right

    def _put(self, what: str, values: dict[str, Any]) -> None:
        self._file.write(orjson.dumps({"what": what, **values}) + b"\n")
        self._file.flush()
