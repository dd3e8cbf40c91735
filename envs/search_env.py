# SPDX-License-Identifier: Apache-2.0
"""The environment: one browser, one task at a time, sixteen actions.

`step` never raises for what the agent did. What the world did (`InfraError`) is raised to the
episode loop, which ends the attempt as an infra failure; `recover` then brings up a fresh browser.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from envs.actions import WAIT_CHOICES_MS, Action
from envs.config import DriverKind, EnvConfig, ScreenshotMode
from envs.driver import PAGE_REFUSED, Effect, InfraError, PageDriver, PageSnapshot
from envs.mask import masked_anew
from envs.observe import EpisodeMemory, observe, page_key
from envs.registry import TASK_SETS, resolve
from envs.site import TaskSet
from envs.types import (
    Note,
    Observation,
    Query,
    Role,
    Span,
    SpanSource,
    StepEvidence,
    StopReason,
    Task,
)

SCROLL_UP_PX = -200
SCROLL_DOWN_PX = 400
SCROLL_BOTTOM_PX = 10_000_000  # beyond the end of any page
CLOSE_TIMEOUT_S = 20.0

_T = TypeVar("_T")
_NOTHING = Effect(reason="ok", navigated=False, settle_ms=0.0, settled_by="quiet")


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """What a step led to; env -> episode loop."""

    observation: Observation
    evidence: StepEvidence
    stop: StopReason | None  # None while the attempt goes on


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """A picture of the page for people; no agent and no scorer sees it."""

    jpeg: bytes  # b"" when none was taken
    scale: float  # image px per CSS px; 0.0 without a picture


_NO_FRAME = Frame(jpeg=b"", scale=0.0)


def make_task_set(config: EnvConfig) -> TaskSet:
    """The task set that the config names."""
    build = resolve(config.task_set, TASK_SETS, what="env.task_set")
    task_set: TaskSet = build(config)
    return task_set


def make_driver(config: EnvConfig) -> PageDriver:
    """The driver that the config names; Chromium is imported only where it is used."""
    if config.driver is DriverKind.TWIN:
        from envs.twin.driver import TwinDriver

        return TwinDriver(max_elements=config.max_elements)
    from envs.browser.driver import ChromiumDriver

    return ChromiumDriver(config.browser, max_elements=config.max_elements)


def make_env(config: EnvConfig) -> SearchEnv:
    """An env as configured, not yet started."""
    return SearchEnv(make_driver(config), make_task_set(config), config)


class SearchEnv:
    """Runs one task at a time on a `PageDriver`."""

    def __init__(self, driver: PageDriver, task_set: TaskSet, config: EnvConfig) -> None:
        self.driver = driver
        self.task_set = task_set
        self._config = config
        self._memory: EpisodeMemory | None = None
        self._with_frames = False
        self.frame = _NO_FRAME  # of the last observation, in episodes that asked for frames

    async def start(self) -> None:
        """Bring the browser up."""
        await self._within(self.driver.start(), self._config.reset_timeout_s, "start")

    async def close(self) -> None:
        """Give everything back."""
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await self.driver.close()

    async def recover(self) -> None:
        """A fresh browser after an infra failure."""
        await self.close()
        await self.start()

    async def reset(self, task: Task, *, with_frames: bool = False) -> Observation:
        """Begin `task` on its start page, with nothing left of the episode before.

        `with_frames` takes a picture at every step of this episode, found in `frame`. Observations
        and evidence hold the pictures that `EnvConfig.screenshot` asks for, with it or without.
        """
        self._with_frames = with_frames
        return await self._within(self._reset(task), self._config.reset_timeout_s, "reset")

    async def _reset(self, task: Task) -> Observation:
        memory = EpisodeMemory(task=task)
        await self.driver.reset(self.task_set.site(task))
        await self.driver.open(task.prompt.start_url)
        self._memory = memory
        return await self._observe(memory, navigated=True)

    async def step(self, action: Action, *, own_text: str = "") -> StepResult:
        """Carry out one action that answers the last observation.

        `own_text` is typed or answered instead of the text of `action.span`, which then points at
        nothing: for people and for agents that write; policies choose among the spans.
        """
        return await self._within(
            self._step(action, own_text), self._config.step_timeout_s, f"step {action.type}"
        )

    async def _step(self, action: Action, own_text: str) -> StepResult:
        memory = self._memory
        if memory is None or memory.last is None:
            raise RuntimeError("expected reset() before step(); call reset(task) first")
        before = memory.last
        if own_text:
            before, action = _with_own_text(before, action, own_text)
        evidence = _blank_evidence(action)
        if not before.mask.allows(action):
            effect = dataclasses.replace(_NOTHING, reason="illegal")
        elif action.type == "answer":
            effect = _NOTHING
            evidence = dataclasses.replace(evidence, answer=before.spans[action.span].text)
        elif action.type == "extract_text":
            effect = _NOTHING
            evidence = self._extract(memory, before, action)
        else:
            effect = await self._apply(before, action)
            self._remember_query(memory, before, action, effect)
        memory.step += 1
        memory.last_effect = effect.reason
        visited = set(memory.visited)
        observation = await self._observe(memory, navigated=effect.navigated)
        is_refused = memory.is_page_refused and effect.navigated
        is_new_page = (
            effect.navigated and not is_refused and page_key(observation.url) not in visited
        )
        evidence = dataclasses.replace(
            evidence,
            effect=effect.reason,
            url=observation.url,
            title=observation.title,
            is_new_page=is_new_page,
            num_images=effect.num_images if is_new_page else 0,
            num_images_failed=effect.num_images_failed if is_new_page else 0,
            settle_ms=effect.settle_ms,
            screenshot_jpeg=observation.screenshot_jpeg if is_new_page else b"",
            is_exogenous=is_refused or effect.reason == PAGE_REFUSED,
            refusals=effect.refusals,
        )
        return StepResult(
            observation=observation, evidence=evidence, stop=_stop(action, effect, observation)
        )

    async def _observe(self, memory: EpisodeMemory, *, navigated: bool) -> Observation:
        is_wanted = self._wants_screenshot(navigated=navigated)
        snapshot = await self.driver.snapshot(with_screenshot=is_wanted or self._with_frames)
        is_new = navigated and page_key(snapshot.url) not in memory.visited
        if self._config.screenshot is ScreenshotMode.EMPTY_PAGE and is_new and _is_empty(snapshot):
            is_wanted = True
            snapshot = await self.driver.snapshot(with_screenshot=True)
        self.frame = _NO_FRAME
        if self._with_frames:
            self.frame = Frame(jpeg=snapshot.screenshot_jpeg, scale=snapshot.screenshot_scale)
        if not is_wanted:
            snapshot = dataclasses.replace(snapshot, screenshot_jpeg=b"", screenshot_scale=0.0)
        memory.visited.add(page_key(snapshot.url))
        memory.is_page_refused = snapshot.is_refused
        memory.last = observe(snapshot, memory, page_text_chars=self._config.page_text_chars)
        return memory.last

    async def _apply(self, before: Observation, action: Action) -> Effect:
        """Hand the action to the driver."""
        driver = self.driver
        ref = int(before.elements.node_ref[action.element]) if action.element >= 0 else -1
        match action.type:
            case "click":
                return await driver.click(ref)
            case "hover":
                return await driver.hover(ref)
            case "type":
                return await driver.type_text(ref, before.spans[action.span].text)
            case "clear":
                return await driver.clear(ref)
            case "select_option":
                return await driver.select_option(ref, action.option)
            case "press_enter":
                return await driver.press_enter()
            case "scroll_up_200px":
                return await driver.scroll_by(SCROLL_UP_PX)
            case "scroll_down_400px":
                return await driver.scroll_by(SCROLL_DOWN_PX)
            case "scroll_to_bottom":
                return await driver.scroll_by(SCROLL_BOTTOM_PX)
            case "go_back":
                return await driver.go_back()
            case "open_in_new_tab":
                return await driver.open_in_new_tab(ref)
            case "switch_tab":
                return await driver.switch_tab(action.tab)
            case "close_tab":
                return await driver.close_tab()
            case "wait_ms":
                return await driver.wait(WAIT_CHOICES_MS[action.wait])
        raise ValueError(f"expected an action of ACTION_SPECS that acts on the page, got {action}")

    def _extract(self, memory: EpisodeMemory, before: Observation, action: Action) -> StepEvidence:
        """Note the text of an element; the browser is not asked again, what was seen counts."""
        text = before.elements.text[action.element]
        url = page_key(before.url)
        memory.notes.append(Note(text=text, url=url, title=before.title, step=memory.step))
        return dataclasses.replace(_blank_evidence(action), extracted_text=text, extracted_url=url)

    @staticmethod
    def _remember_query(
        memory: EpisodeMemory, before: Observation, action: Action, effect: Effect
    ) -> None:
        """A filled field counts as a query once the page was left by Enter or a button."""
        if not effect.navigated or action.type not in ("press_enter", "click"):
            return
        if action.type == "click" and before.elements.href[action.element]:
            return
        rows = np.flatnonzero(before.elements.role == Role.TEXTBOX)
        values = [before.elements.value[row] for row in rows if before.elements.value[row]]
        if values:
            memory.queries.append(Query(text=values[0], step=memory.step))

    def _wants_screenshot(self, *, navigated: bool) -> bool:
        mode = self._config.screenshot
        return mode is ScreenshotMode.EVERY_STEP or (mode is ScreenshotMode.NEW_PAGE and navigated)

    @staticmethod
    async def _within(call: Awaitable[_T], timeout_s: float, what: str) -> _T:
        # Not `wait_for`: up to Python 3.11 it may swallow the cancellation of its caller.
        try:
            async with asyncio.timeout(timeout_s):
                result = await call
                await asyncio.sleep(0)  # a driver that never waits must let others run
                return result
        except TimeoutError as cause:
            raise InfraError(
                StopReason.INFRA_TIMEOUT, f"{what} took longer than {timeout_s} s"
            ) from cause


def _with_own_text(before: Observation, action: Action, text: str) -> tuple[Observation, Action]:
    """The observation with `text` as its only span, and the action that chooses it.

    Text with control characters or halves of one is no text: its action is illegal.
    """
    span = Span(text=text, source=SpanSource.QUESTION, note=-1, context=text)
    mask = masked_anew(before.mask, before.elements, num_spans=1, num_tabs=len(before.tabs))
    return (
        dataclasses.replace(before, spans=(span,), mask=mask),
        dataclasses.replace(action, span=0 if text.isprintable() else -1),
    )


def _is_empty(snapshot: PageSnapshot) -> bool:
    """Whether the window shows nothing that the element table tells of."""
    return not any(e.is_in_view and not e.is_occluded for e in snapshot.elements)


def _stop(action: Action, effect: Effect, observation: Observation) -> StopReason | None:
    if action.type == "answer" and effect.reason == "ok":
        return StopReason.ANSWERED
    return StopReason.STEP_LIMIT if observation.steps_left <= 0 else None


def _blank_evidence(action: Action) -> StepEvidence:
    return StepEvidence(
        action_type=action.type,
        effect="ok",
        url="",
        title="",
        is_new_page=False,
        num_images=0,
        num_images_failed=0,
        settle_ms=0.0,
        extracted_text="",
        extracted_url="",
        answer="",
        is_exogenous=False,
        screenshot_jpeg=b"",
    )
