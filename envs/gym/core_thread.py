# SPDX-License-Identifier: Apache-2.0
"""One async `SearchEnv` on an event loop of its own thread, for callers without a loop or in one.

The thread runs what `reset` and `step` hand over and waits to be told to stop; then it gives the
browser back and ends. Every call has a deadline, also when the loop itself hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from envs.actions import Action
from envs.config import EnvConfig
from envs.driver import InfraError
from envs.search_env import CLOSE_TIMEOUT_S, Frame, SearchEnv, StepResult, make_env
from envs.types import Observation, Split, StopReason, Task

logger = logging.getLogger(__name__)

MAX_RESET_TRIES = 2
# The env's own deadlines come first; this one is for a loop that no longer looks at them.
GRACE_S = 5.0

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """An episode that begins."""

    task: Task
    observation: Observation
    frame: Frame


class CoreThread:
    """See the module's docstring. Its methods may be called from one thread at a time."""

    def __init__(self, config: EnvConfig) -> None:
        self._config = config
        self._core = make_env(config)
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(
            target=_serve,
            args=(self._loop, self._core, self._stopping),
            name="foragerl-env",
            daemon=True,
        )
        self._is_up = False  # the browser was brought up
        self._is_fit = True  # nothing has gone wrong since
        self._is_closed = False
        self._under_way: Future[Any] | None = None  # the last call
        self.num_restarts = 0  # of the browser, after infra failures

    def num_tasks(self, split: Split) -> int | None:
        """Of the task set; None without end."""
        return self._core.task_set.num_tasks(split)

    def reset(self, split: Split, index: int, *, with_frames: bool) -> Begun:
        """Begin a task; a browser that broke is replaced first. `InfraError` if that fails too."""
        a_try_s = CLOSE_TIMEOUT_S + 2 * self._config.reset_timeout_s
        return self._call(
            lambda: self._reset(split, index, with_frames),
            MAX_RESET_TRIES * a_try_s + GRACE_S,
            "reset",
        )

    async def _reset(self, split: Split, index: int, with_frames: bool) -> Begun:
        task = self._core.task_set.task(split, index)
        for is_last in [False] * (MAX_RESET_TRIES - 1) + [True]:
            try:
                await self._bring_up()
                observation = await self._core.reset(task, with_frames=with_frames)
            except (InfraError, TimeoutError) as error:  # the latter from closing
                self._is_fit = False
                if is_last:
                    raise
                logger.warning("reset failed, trying with a fresh browser: %s", error)
            else:
                return Begun(task=task, observation=observation, frame=self._core.frame)
        raise AssertionError("the last try returns or raises")

    async def _bring_up(self) -> None:
        if self._is_up and self._is_fit:
            return
        if self._is_up:
            self.num_restarts += 1
            await self._core.recover()
        else:
            self._is_up = True
            await self._core.start()
        self._is_fit = True

    def step(self, action: Action, *, own_text: str = "") -> tuple[StepResult, Frame]:
        """One step and the picture after it; `InfraError` when the world broke."""
        return self._call(
            lambda: self._step(action, own_text),
            self._config.step_timeout_s + GRACE_S,
            f"step {action.type}",
        )

    async def _step(self, action: Action, own_text: str) -> tuple[StepResult, Frame]:
        result = await self._core.step(action, own_text=own_text)
        return result, self._core.frame

    def _call(self, work: Callable[[], Coroutine[Any, Any, _T]], timeout_s: float, what: str) -> _T:
        """Run `work` on the loop and wait; whatever goes wrong, the next reset starts afresh."""
        if self._is_closed:
            raise RuntimeError("expected an env that is open, got one after close(); make another")
        if threading.current_thread() is self._thread:
            raise RuntimeError(f"{what}: expected a call from outside of the env's own loop")
        if self._thread.ident is None:
            self._thread.start()
        future = self._under_way = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return future.result(timeout_s)
        except BaseException as cause:
            future.cancel()
            self._is_fit = False
            if isinstance(cause, TimeoutError):
                text = f"{what} took longer than {timeout_s} s"
                raise InfraError(StopReason.INFRA_TIMEOUT, text) from cause
            raise

    def close(self) -> None:
        """Give back the browser and the thread; from any thread, twice, and from a finaliser."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._thread.ident is None:
            self._loop.close()
            return
        if self._under_way is not None:
            self._under_way.cancel()  # nothing where it has ended
        with contextlib.suppress(RuntimeError):  # the thread ended by itself, its loop is closed
            self._loop.call_soon_threadsafe(self._stopping.set)
        # The garbage collector may call from the loop's own thread, which cannot wait for itself.
        if threading.current_thread() is not self._thread:
            self._thread.join(CLOSE_TIMEOUT_S + GRACE_S)
            if self._thread.is_alive():
                logger.warning("the env's thread hangs; its browser is swept by the next start")


def _serve(loop: asyncio.AbstractEventLoop, core: SearchEnv, stopping: asyncio.Event) -> None:
    """The thread: a loop until told to stop."""
    asyncio.set_event_loop(loop)
    loop.set_default_executor(_LastingExecutor(thread_name_prefix="foragerl-env"))
    try:
        loop.run_until_complete(_until_stopped(core, stopping))
    finally:
        loop.close()


async def _until_stopped(core: SearchEnv, stopping: asyncio.Event) -> None:
    await stopping.wait()
    # Other tasks of the loop are Playwright's and the sites': they end by being closed, and one
    # that is cancelled leaves its process' pipes to the garbage collector.
    try:
        await core.close()
    except Exception as error:
        logger.warning("the env did not close cleanly: %s", error or type(error).__name__)


class _LastingExecutor(ThreadPoolExecutor):
    """Also works while the interpreter ends, when Python starts no more threads for it.

    An env that nobody closed is closed then, and ends the browser's processes through it.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            done: Future[Any] = Future()
            try:
                done.set_result(fn(*args, **kwargs))
            except Exception as error:
                done.set_exception(error)
            return done
