# SPDX-License-Identifier: Apache-2.0
"""A page or two as situations with actions, for what compares attempts by what they read.

The question names Ada; her page says that she works at Borel, Borel's page that it is in Cluny.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from agent.situation import Situation, pack_situation
from agent.types import MAX_HEADS, StepRecord
from envs.actions import (
    MAX_OPTIONS,
    MAX_TABS,
    NUM_TYPES,
    TYPE_INDEX,
    Action,
    ActionMask,
    enumerate_actions,
)
from learner.types import Group, GroupState, Member
from tests.learner.tiny_policy import random_inputs, scored, trajectory

QUESTION = "Where is the place that Ada works at?"
HOME = ("http://search/", ("Search box", "About us"), ("", "http://search/about"))
ADA = (
    "http://wiki/ada",
    ("Ada works at Borel.", "Ada likes tea.", "Borel"),
    ("", "", "http://wiki/borel"),
)
BOREL = ("http://wiki/borel", ("Borel is in Cluny.", "Borel is old."), ("", ""))
RESULTS = ("http://search/?q=Ada", ("Search box", "Ada"), ("", "http://wiki/ada"))
FACT, PLACE = ADA[1][0], BOREL[1][0]


@dataclass(frozen=True)
class Page:
    """A page with what the agent knows by then."""

    page: tuple[str, tuple[str, ...], tuple[str, ...]]
    notes: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    is_blocked: bool = False

    def situation(self) -> Situation:
        url, texts, hrefs = self.page
        spans = ["Ada"]
        spans += ["Borel"] if FACT in self.notes else []
        spans += ["Cluny", "old Cluny"] if PLACE in self.notes else []
        return Situation(
            question=QUESTION,
            url=url,
            is_blocked=self.is_blocked,
            queries=self.queries,
            notes=self.notes,
            texts=texts,
            hrefs=hrefs,
            typed=self.typed,
            spans=tuple(spans),
        )

    def mask(self) -> ActionMask:
        """Boxes are typed into, links clicked, other texts extracted; spans may be answered."""
        situation = self.situation()
        size, spans = len(situation.texts), len(situation.spans)
        element = np.zeros((NUM_TYPES, size), dtype=bool)
        span = np.zeros((NUM_TYPES, spans), dtype=bool)
        is_box = np.array([text == "Search box" for text in situation.texts])
        is_link = np.array([bool(href) for href in situation.hrefs])
        element[TYPE_INDEX["type"]] = is_box
        element[TYPE_INDEX["click"]] = is_link
        element[TYPE_INDEX["extract_text"]] = ~is_box & ~is_link
        span[TYPE_INDEX["type"]] = span[TYPE_INDEX["answer"]] = True
        legal = element.any(axis=1)
        legal[
            [TYPE_INDEX[n] for n in ("answer", "press_enter", "scroll_down_400px", "go_back")]
        ] = True
        return ActionMask(
            type=legal,
            element=element,
            span=span,
            option=np.zeros((size, MAX_OPTIONS), dtype=bool),
            tab=np.zeros(MAX_TABS, dtype=bool),
        )

    def row(self, name: str, element: int = -1, span: str = "") -> int:
        """Row of an action; spans by their text."""
        number = self.situation().spans.index(span) if span else -1
        action = Action(type=name, element=element, span=number)
        return enumerate_actions(self.mask()).row(action)

    def step(self, name: str, element: int = -1, span: str = "") -> StepRecord:
        """The record of taking one action here."""
        mask = self.mask()
        return StepRecord(
            inputs=random_inputs(np.random.default_rng(crc32(repr(self).encode())), mask),
            mask=mask,
            chosen=self.row(name, element, span),
            log_prob_by_head=np.zeros(MAX_HEADS, dtype=np.float32),
            policy_version=0,
            utilities=np.zeros(0, dtype=np.float16),
            is_exogenous=False,
            situation=pack_situation(self.situation()),
        )


def attempt(
    steps: Sequence[StepRecord], name: str, *, is_right: bool, group_id: str = "g"
) -> Member:
    """A member whose answer was right or wrong."""
    rewards = np.zeros((len(steps), 3))
    rewards[-1, 2] = is_right
    score = replace(scored(rewards, name), is_right=is_right)
    return Member(trajectory=trajectory(list(steps), name, group_id), score=score)


def group_of(*members: Member) -> Group:
    return Group(group_id="g", task_id="task", members=members, state=GroupState.COMPLETE)


def right_attempt() -> list[StepRecord]:
    """With detours: a scroll, a look at the about page, a useless note."""
    tea = ADA[1][1]
    known = (tea, FACT)
    about = ("http://search/about", ("We search.",), ("",))
    asked = ("Ada",)
    return [
        Page(HOME).step("click", 1),
        Page(about).step("go_back"),
        Page(HOME).step("type", 0, "Ada"),
        Page(HOME, typed=("Ada",)).step("scroll_down_400px"),
        Page(HOME, typed=("Ada",)).step("press_enter"),
        Page(RESULTS, queries=asked, typed=("Ada",)).step("click", 1),
        Page(ADA, queries=asked).step("extract_text", 1),
        Page(ADA, queries=asked, notes=(tea,)).step("extract_text", 0),
        Page(ADA, queries=asked, notes=known).step("click", 2),
        Page(BOREL, queries=asked, notes=known).step("extract_text", 0),
        Page(BOREL, queries=asked, notes=(*known, PLACE)).step("answer", span="Cluny"),
    ]
