# SPDX-License-Identifier: Apache-2.0
"""One attempt as a person can follow it: what was seen, what was possible, what was done; no torch.

A `Recorder` is the watcher of an attempt (`agent.episode.Watcher`). It only looks on: an attempt
that is recorded takes the same actions and leaves the same evidence as one that is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agent.types import Decision
from envs.actions import ACTION_SPECS, WAIT_CHOICES_MS, Action, Head
from envs.search_env import Frame
from envs.types import ElementFlag, Observation, Role, StepEvidence

MAX_TEXT_CHARS = 160  # of an element, a span or a note; the picture shows the rest


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownElement:
    """One row of the element table."""

    role: str
    text: str  # cut to MAX_TEXT_CHARS
    value: str  # of a field, else ""
    box: tuple[float, float, float, float]  # x, y, width, height; CSS px, document coordinates
    is_in_view: bool
    is_occluded: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """What the agent saw before one step, or after the last."""

    url: str
    title: str
    elements: tuple[ShownElement, ...]  # [E]
    legal: dict[str, tuple[int, ...]]  # legal type -> its legal rows; () when it takes no element
    spans: tuple[str, ...]  # [S] what may be typed or answered
    queries: tuple[str, ...]
    notes: tuple[str, ...]
    num_tabs: int
    scroll_y_px: float
    page_height_px: float
    viewport: tuple[int, int]  # width, height; CSS px
    page_state: str
    frame_scale: float  # image px per CSS px; 0 without a picture


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """What the agent did in one step, in words, and what came of it."""

    action: str  # the type's name
    element: int  # row of the scene's elements, or -1
    target: str  # text of that element, or ""
    text: str  # typed, answered or extracted text, option, tab or wait; "" when there is none
    effect: str  # "ok", or why nothing happened
    log_prob: float  # of the whole action under the behaviour policy; 0 from scripted agents
    policy_version: int  # -1 from scripted agents
    settle_ms: float

    def words(self) -> str:
        """One line: `type "moon" into textbox "Search"`."""
        name = self.action.replace("_", " ")
        if self.action == "type":
            return f"type “{self.text}” into “{self.target}”"
        parts = [name]
        if self.target:
            parts.append(f"“{self.target}”")
        if self.text and self.text != self.target:
            parts.append(f"→ {self.text}" if self.target else f"“{self.text}”")
        return " ".join(parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """An attempt for people; rollout worker -> archive."""

    trajectory_id: str
    scenes: tuple[Scene, ...]  # [T + 1], or [T] when the world broke during the last step
    moves: tuple[Move, ...]  # [T]
    frames: tuple[bytes, ...]  # JPEG of each scene; b"" from a driver without pictures

    def num_bytes(self) -> int:
        """Bytes of the pictures, which are nearly all of it."""
        return sum(len(frame) for frame in self.frames)


class Recorder:
    """Gathers one attempt; a new one for each."""

    def __init__(self, trajectory_id: str) -> None:
        self._trajectory_id = trajectory_id
        self._seen: list[Observation] = []
        self._scenes: list[Scene] = []
        self._moves: list[Move] = []
        self._frames: list[bytes] = []

    def saw(self, observation: Observation, frame: Frame) -> None:
        """A page as the agent sees it: after the reset and after each step."""
        self._seen = [observation]
        self._scenes.append(_scene(observation, frame.scale))
        self._frames.append(frame.jpeg)

    def did(self, decision: Decision, evidence: StepEvidence) -> None:
        """The step that answered the page seen last."""
        self._moves.append(_move(self._seen[-1], decision, evidence))

    def recording(self) -> Recording:
        """The attempt so far."""
        return Recording(
            trajectory_id=self._trajectory_id,
            scenes=tuple(self._scenes),
            moves=tuple(self._moves),
            frames=tuple(self._frames),
        )


def _scene(observation: Observation, frame_scale: float) -> Scene:
    table, mask = observation.elements, observation.mask
    elements = tuple(
        ShownElement(
            role=Role(int(table.role[row])).name.lower(),
            text=table.text[row][:MAX_TEXT_CHARS],
            value=table.value[row][:MAX_TEXT_CHARS],
            box=tuple(round(float(x), 1) for x in table.box[row]),  # type: ignore[arg-type]
            is_in_view=bool(table.flags[row, ElementFlag.IN_VIEW]),
            is_occluded=bool(table.flags[row, ElementFlag.OCCLUDED]),
        )
        for row in range(len(table))
    )
    legal = {
        ACTION_SPECS[kind].name: tuple(int(row) for row in np.flatnonzero(mask.element[kind]))
        for kind in np.flatnonzero(mask.type)
    }
    return Scene(
        url=observation.url,
        title=observation.title,
        elements=elements,
        legal=legal,
        spans=tuple(span.text[:MAX_TEXT_CHARS] for span in observation.spans),
        queries=tuple(query.text for query in observation.queries),
        notes=tuple(note.text[:MAX_TEXT_CHARS] for note in observation.notes),
        num_tabs=len(observation.tabs),
        scroll_y_px=observation.scroll_y_px,
        page_height_px=observation.page_height_px,
        viewport=observation.viewport,
        page_state=observation.page_state.value,
        frame_scale=frame_scale,
    )


def _move(before: Observation, decision: Decision, evidence: StepEvidence) -> Move:
    action = decision.action
    element = action.element if 0 <= action.element < len(before.elements) else -1
    return Move(
        action=action.type,
        element=element,
        target=_label(before, element) if element >= 0 else "",
        text=_argument(before, action, evidence)[:MAX_TEXT_CHARS],
        effect=evidence.effect,
        log_prob=round(float(decision.log_prob_by_head.sum()), 4),
        policy_version=decision.policy_version,
        settle_ms=round(evidence.settle_ms, 1),
    )


def _label(before: Observation, element: int) -> str:
    text = before.elements.text[element] or before.elements.value[element]
    return text[:MAX_TEXT_CHARS] or Role(int(before.elements.role[element])).name.lower()


def _argument(before: Observation, action: Action, evidence: StepEvidence) -> str:
    """The argument of an action besides its element, as text."""
    if action.type == "extract_text":
        return evidence.extracted_text
    for head, count in ((Head.SPAN, len(before.spans)), (Head.TAB, len(before.tabs))):
        index = action.argument(head)
        if 0 <= index < count:
            return before.spans[index].text if head is Head.SPAN else before.tabs[index].title
    if action.wait >= 0:
        return f"{WAIT_CHOICES_MS[action.wait]} ms"
    if action.option >= 0 and action.element >= 0:
        options = before.elements.options[action.element]
        return options[action.option] if action.option < len(options) else ""
    return ""
