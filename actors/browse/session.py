# SPDX-License-Identifier: Apache-2.0
"""One attempt by a person: show what the agent sees, read a line, act, until the end."""

from __future__ import annotations

from collections.abc import AsyncIterator

from actors.browse.saving import Keeper
from actors.browse.screen import Screen
from actors.browse.words import HELP, Typed, View, parse_line
from envs.driver import InfraError
from envs.plain import Tone
from envs.search_env import SearchEnv
from envs.types import Observation, StopReason, Task


class Session:
    """Runs one attempt on an env that is up."""

    def __init__(self, env: SearchEnv, screen: Screen, keeper: Keeper) -> None:
        self._env = env
        self._screen = screen
        self._keeper = keeper
        self._stop: StopReason | None = None
        self._answer = ""

    async def run(self, task: Task, lines: AsyncIterator[str]) -> StopReason | None:
        """Until an answer, the step limit, a failure of the world, or the end of `lines` (None)."""
        try:
            await self._attempt(task, lines)
        except InfraError as error:
            self._stop = error.stop
            self._screen.say(f"the world broke: {error}", Tone.NOTICE)
        finally:  # also when interrupted: what was done is kept
            is_right = self._keeper.end(self._stop, self._answer)
            self._say_end(task, is_right)
        return self._stop

    async def _attempt(self, task: Task, lines: AsyncIterator[str]) -> None:
        seen = await self._env.reset(task, with_frames=True)
        self._keeper.saw(seen, self._env.frame)
        self._screen.scene(seen)
        self._screen.ask()
        async for line in lines:
            wish = self._understood(line, seen)
            if wish is View.QUIT:
                return
            if isinstance(wish, Typed):
                seen = await self._step(wish)
                if self._stop is not None:
                    return
            elif wish is not None:
                self._show(wish, seen)
            self._screen.ask()

    def _understood(self, line: str, seen: Observation) -> Typed | View | None:
        if not line.strip():
            return None
        try:
            return parse_line(line, seen)
        except ValueError as error:
            self._screen.say(str(error), Tone.NOTICE)
            return None

    async def _step(self, typed: Typed) -> Observation:
        result = await self._env.step(typed.action, own_text=typed.own_text)
        self._keeper.did(typed.action, typed.own_text, result.evidence)
        self._keeper.saw(result.observation, self._env.frame)
        self._stop, self._answer = result.stop, result.evidence.answer
        if result.stop is None:
            self._screen.scene(result.observation)
        return result.observation

    def _show(self, view: View, seen: Observation) -> None:
        match view:
            case View.PAGE:
                self._screen.page(seen)
            case View.MASK:
                self._screen.mask(seen)
            case View.SPANS:
                self._screen.spans(seen)
            case View.TEXT:
                self._screen.say(seen.page_text)
            case View.HELP:
                self._screen.say(HELP)

    def _say_end(self, task: Task, is_right: bool | None) -> None:
        if self._stop is StopReason.ANSWERED:
            accepted = " / ".join(task.truth.answers)
            verdict = "right" if is_right else f"wrong, accepted: {accepted}"
            if is_right is None:
                verdict = "nobody asked"
            self._screen.say(f"answered “{self._answer}”: {verdict}", Tone.HEAD)
        elif self._stop is StopReason.STEP_LIMIT:
            self._screen.say("out of steps", Tone.HEAD)
