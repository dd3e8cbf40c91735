# SPDX-License-Identifier: Apache-2.0
"""`ForageEnv`: the env as Gymnasium has it, synchronous, with arrays of fixed sizes."""

from __future__ import annotations

import weakref
from typing import Any

import cv2
import gymnasium
import numpy as np
from gymnasium import spaces

from envs.actions import Action
from envs.answers import is_accepted
from envs.config import DriverKind
from envs.driver import InfraError
from envs.gym.action_index import ActionIndex
from envs.gym.arrays import observation_space, to_arrays
from envs.gym.core_thread import CoreThread
from envs.gym.settings import env_config
from envs.plain import plain_text
from envs.search_env import Frame
from envs.types import Observation, Split, StopReason, Task

Arrays = dict[str, np.ndarray]
Step = tuple[Arrays, float, bool, bool, dict[str, Any]]

# Tasks without end are drawn from the first so many.
ENDLESS = 1 << 20
_OPTIONS = ("task_index",)


class ForageEnv(gymnasium.Env[Arrays, np.int64]):
    """Question answering in a browser; keys, shapes and units are in docs/GYMNASIUM.md.

    The reward is 1.0 for a right final answer, else 0.0. `terminated` means answered, `truncated`
    out of steps or, with `info["infra_error"]`, that the world broke. The browser comes up at the
    first reset and goes with `close`, with the object, or with the process.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self, *, split: str = "train", render_mode: str | None = None, **settings: Any
    ) -> None:
        """`settings` are those of `env.*`, such as `driver="twin"` or `web={"hazards": 1.0}`.

        Pictures are taken for `render_mode="rgb_array"` only, unless `screenshot` asks for them.
        """
        self.config = env_config({"screenshot": "never", **settings})
        self._split = _split(split)
        if self.config.driver is DriverKind.TWIN:
            self.metadata = {
                "render_modes": ["ansi"],
                "render_fps": 2,
            }  # there is nothing to take a picture of
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            modes = self.metadata["render_modes"]
            raise ValueError(
                f"render_mode: expected one of {modes} with driver={self.config.driver.value}, "
                f"got {render_mode!r}"
            )
        self.render_mode = render_mode
        self.actions = ActionIndex(self.config.max_elements)
        self.action_space = spaces.Discrete(self.actions.num_actions)
        self.observation_space = observation_space(self.actions, self.config.max_elements)
        self._thread = CoreThread(self.config)
        # Also at the end of the process; the thread knows nothing of this object.
        self._finalizer = weakref.finalize(self, self._thread.close)
        self._task: Task | None = None
        self._task_index = -1
        self._seen: Observation | None = None
        self._frame: Frame | None = None
        self._is_over = True

    @property
    def task(self) -> Task:
        """The task at hand, with its accepted answers: not for the agent."""
        if self._task is None:
            raise gymnasium.error.ResetNeeded("expected reset() first; no task has begun")
        return self._task

    @property
    def seen(self) -> Observation:
        """The whole observation behind the arrays, its texts uncut."""
        if self._seen is None:
            raise gymnasium.error.ResetNeeded("expected reset() first; nothing was seen yet")
        return self._seen

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Begin a task: `options["task_index"]`, else one drawn from the generator of `seed`.

        Raises `InfraError` when no browser could be brought up, and then once more.
        """
        super().reset(seed=seed)
        self._is_over = True
        self._task_index = self._chosen_index(options or {})
        begun = self._thread.reset(
            self._split, self._task_index, with_frames=self.render_mode == "rgb_array"
        )
        self._task, self._seen, self._frame = begun.task, begun.observation, begun.frame
        self._is_over = False
        return self._arrays(), self._info()

    def _chosen_index(self, options: dict[str, Any]) -> int:
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise ValueError(f"reset options: expected some of {_OPTIONS}, got {unknown}")
        num = self._thread.num_tasks(self._split)
        if "task_index" in options:
            index = int(options["task_index"])
            if index < 0 or (num is not None and index >= num):
                most = "" if num is None else f"..{num - 1}"
                raise ValueError(f"task_index: expected 0{most} or more, got {index}")
            return index
        return int(self.np_random.integers(ENDLESS if num is None else num))

    def step(self, action: np.int64 | int) -> Step:
        """Carry out one action of `action_space`; an illegal one does nothing and says so."""
        return self.step_action(self.actions.action(int(action)))

    def step_action(self, action: Action, *, own_text: str = "") -> Step:
        """As `step`; `own_text` is typed or answered instead of a span, see `SearchEnv.step`."""
        if self._is_over:
            raise gymnasium.error.ResetNeeded("expected reset() first; no attempt goes on")
        try:
            result, self._frame = self._thread.step(action, own_text=own_text)
        except InfraError as error:
            self._is_over = True
            broken = {"infra_error": error.stop.value, "infra_detail": error.detail}
            return self._arrays(), 0.0, False, True, {**self._info(), **broken}
        self._seen = result.observation
        evidence = result.evidence
        info = self._info(settle_ms=evidence.settle_ms, refusals=evidence.refusals)
        is_truncated = result.stop is not None and result.stop.is_truncated()
        reward = 0.0
        if result.stop is not None:
            self._is_over = True
            info["stop"] = result.stop.value
        if result.stop is StopReason.ANSWERED:
            info["answer"] = result.evidence.answer
            reward = float(is_accepted(result.evidence.answer, self.task.truth.answers))
        return self._arrays(), reward, result.stop is StopReason.ANSWERED, is_truncated, info

    def action_masks(self) -> np.ndarray:
        """Which actions are legal now, bool [A]; the name that maskable PPO looks for."""
        return self.actions.legal(self.seen.mask).astype(bool)

    def render(self) -> Any:
        """The page now: text for "ansi", uint8 [height, width, 3] at half size for "rgb_array"."""
        if self.render_mode is None:
            return None
        if self.render_mode == "ansi":
            return plain_text(self.seen)
        if self._frame is None or not self._frame.jpeg:
            raise gymnasium.error.ResetNeeded("expected reset() first; there is no picture yet")
        return picture(self._frame.jpeg)

    def close(self) -> None:
        """Give the browser back; twice is once."""
        self._finalizer()

    def _arrays(self) -> Arrays:
        return to_arrays(self.seen, self.actions, self.config.max_elements)

    def _info(self, *, settle_ms: float = 0.0, refusals: tuple[str, ...] = ()) -> dict[str, Any]:
        seen, task = self.seen, self.task
        return {
            "action_mask": self.actions.legal(seen.mask),
            "task_id": task.task_id,
            "task_index": self._task_index,
            "kind": task.kind,
            "question": seen.question,
            "url": seen.url,
            "title": seen.title,
            "effect": seen.last_effect,
            "settle_ms": settle_ms,
            "refusals": refusals,
            "page_state": seen.page_state.value,
            "num_restarts": self._thread.num_restarts,
        }


def picture(jpeg: bytes) -> np.ndarray:
    """The picture as uint8 [height, width, 3], red first."""
    decoded = cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR_RGB)
    if decoded is None:
        raise ValueError(f"expected a JPEG, got {len(jpeg)} bytes that are none")
    return decoded


def _split(name: str) -> Split:
    names = [split.value for split in Split]
    if name not in names:
        raise ValueError(f"split: expected one of {names}, got {name!r}")
    return Split(name)
