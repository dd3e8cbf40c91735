# SPDX-License-Identifier: Apache-2.0
"""Scores every legal action with knowledge of the task's truth.

This is dense privileged supervision, close to on-policy distillation from the world graph; the
environment's own ground truth, as a reward is, and no demonstrated trajectory. Agents never see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qs, urlsplit

import numpy as np

from envs.actions import ACTION_SPECS, FlatActions
from envs.answers import is_accepted
from envs.types import ElementFlag, EvidenceItem, Observation, Role, Task
from envs.web.guide import (
    is_at_form,
    leads_to,
    next_item,
    same_page,
    states,
    stops,
)
from envs.web.hazards import DISMISS_LABELS
from envs.web.search_fit import search_fit
from envs.web.sites.shell import SEARCH_HOME
from envs.web.texts.languages import (
    LOADING_LABELS,
    NEXT_LABELS,
    PERMIT_LABELS,
    SEARCH_LABELS,
    SUBMIT_LABELS,
)

_BEST = 1.0
_NEW_TAB = 0.6  # as good as a click, but the tab has to be managed
_SWITCH_TAB = 0.9
_SUBMIT_BUTTON = 0.9  # Enter does the same without looking for the button
_LONGER_WAY = 0.6  # searching for a page that a link in sight leads to
_EARLY_ANSWER = 0.5  # right before its evidence is held: lucky, not wrong
_NEXT_RESULTS = 0.4
_TO_SEARCH = 0.7  # a page without a search box: back to the engine
_BACK = 0.2
_RETYPE = 0.1  # of the fit, while a query as good waits to be sent
_USELESS = -0.1
_WASTEFUL = -0.2
_WRONG_ANSWER = -0.6
_GUESS = -0.2  # right, but only because one of the two that the question names has to be
_ALWAYS_USELESS = ("hover", "clear", "select_option")
# Of each choice of `WAIT_CHOICES_MS`, while the evidence is still on its way.
_WAITS = np.array([0.3, 0.6, _BEST])
_SCROLLS = ("scroll_up_200px", "scroll_down_400px", "scroll_to_bottom")


# How well a query finds the page of an item of a task, in [0, 1].
QueryFit = Callable[[str, EvidenceItem, Task], float]


class WorldGraphTeacher:
    """Utilities from the evidence still missing; depends on task and observation alone."""

    def __init__(self, fit: QueryFit = search_fit) -> None:
        self._fit = fit

    def utilities(self, task: Task, observation: Observation, actions: FlatActions) -> np.ndarray:
        """Utility of every legal action, float32 [A] in [-1, 1]."""
        situation = _Situation(task=task, observation=observation, fit=self._fit)
        out = np.zeros(len(actions), dtype=np.float32)
        for kind in np.unique(actions.type):
            rows = np.flatnonzero(actions.type == kind)
            element, argument = actions.element[rows], actions.argument[rows]
            out[rows] = _score(situation, ACTION_SPECS[int(kind)].name, element, argument)
        return out


def _score(
    situation: _Situation, name: str, element: np.ndarray, argument: np.ndarray
) -> np.ndarray:
    """Utilities of the actions of one type, float32 [n]."""
    if name == "answer":
        return situation.answer[argument]
    if name in _ALWAYS_USELESS:
        return np.full(len(element), _USELESS)
    if name == "wait_ms":
        return _WAITS[argument] if situation.is_loading else np.full(len(element), _USELESS)
    if name in _SCROLLS:
        return np.full(len(element), _USELESS / 2)
    if name == "close_tab":
        return np.full(len(element), _WASTEFUL)
    if name == "click":
        return situation.click[element]
    if name == "extract_text":
        return situation.extract[element]
    if situation.item is None:
        return np.full(len(element), _USELESS)
    if name == "type":
        is_box = situation.is_box[element]
        return np.where(is_box, situation.type_query[argument], _USELESS)
    if name == "press_enter":
        return np.full(len(element), situation.press_enter)
    if name == "open_in_new_tab":
        return np.where(situation.leads_on[element], _NEW_TAB, 0.0)
    if name == "switch_tab":
        return situation.switch_tab[argument]
    if name == "go_back":
        stuck = not situation.is_search_box.any() and not situation.is_on_evidence
        return np.full(len(element), _BACK if stuck else 0.0)
    return np.zeros(len(element))


def _among(texts: Sequence[str], labels: frozenset[str]) -> np.ndarray:
    """bool [E]: texts that are one of `labels`."""
    return np.array([text in labels for text in texts], dtype=bool)


@dataclass(kw_only=True)
class _Situation:
    """What the truth says about one observation; each table is computed when first asked for."""

    task: Task
    observation: Observation
    fit: QueryFit

    @cached_property
    def item(self) -> EvidenceItem | None:
        """The evidence to get next; None when the answer is held."""
        return next_item(self.task.truth, self.observation.notes, self.observation.url)

    @cached_property
    def is_on_evidence(self) -> bool:
        return self.item is not None and same_page(self.observation.url, self.item.url)

    @cached_property
    def is_loading(self) -> bool:
        """Whether the evidence is still to come on this page, which says that something is."""
        item, texts = self.item, self.observation.elements.text
        if item is None or not self.is_on_evidence or LOADING_LABELS.isdisjoint(texts):
            return False
        return not any(states(item, text) for text in texts)

    @cached_property
    def is_search_box(self) -> np.ndarray:
        """bool [E]: free fields of the search engine's form."""
        table = self.observation.elements
        return np.array(
            [
                role == Role.TEXTBOX
                and ("search" in text.lower() or text in SEARCH_LABELS)
                and not occluded
                for role, text, occluded in zip(
                    table.role, table.text, self._flag(ElementFlag.OCCLUDED), strict=True
                )
            ],
            dtype=bool,
        )

    @cached_property
    def is_at_form(self) -> bool:
        """Whether this page has the form that alone leads to the evidence."""
        return self.item is not None and is_at_form(self.item, self.observation.url)

    @cached_property
    def is_box(self) -> np.ndarray:
        """bool [E]: free fields in which a query for the next evidence belongs."""
        if self.item is None or not self.item.way:
            return self.is_search_box
        table = self.observation.elements
        if not self.is_at_form:
            return np.zeros(len(table), dtype=bool)
        is_free = ~self._flag(ElementFlag.OCCLUDED)
        return (table.role == Role.TEXTBOX) & ~_among(table.text, SEARCH_LABELS) & is_free

    @cached_property
    def leads_on(self) -> np.ndarray:
        """bool [E]: links to the page of the next evidence, else to the next stop on its way."""
        table, item = self.observation.elements, self.item
        out = np.zeros(len(table), dtype=bool)
        if item is None or self.is_on_evidence:
            return out
        here = self.observation.url
        for stop in stops(item):
            if same_page(stop, here):
                break
            out = np.array([leads_to(h, stop, here) for h in table.href], dtype=bool)
            if out.any():
                break
        return out

    @cached_property
    def answer(self) -> np.ndarray:
        """float [S]: a wrong answer is never worth a try."""
        early = _GUESS if self.task.truth.needs_all else _EARLY_ANSWER
        right = _BEST if self.item is None else early
        answers = self.task.truth.answers
        return np.array(
            [
                right if is_accepted(s.text, answers) else _WRONG_ANSWER
                for s in self.observation.spans
            ]
        )

    @cached_property
    def extract(self) -> np.ndarray:
        """float [E]: the element that states the fact, when it is on this page."""
        table = self.observation.elements
        out = np.full(len(table), _USELESS)
        if self.item is not None and self.is_on_evidence:
            out[[states(self.item, text) for text in table.text]] = _BEST
        out[self._flag(ElementFlag.EXTRACTED)] = _WASTEFUL
        return out

    @cached_property
    def click(self) -> np.ndarray:
        """float [E]: links that lead on, the submit button, the way out of a dialog."""
        table = self.observation.elements
        out = np.zeros(len(table)) if self.item is not None else np.full(len(table), _USELESS)
        is_button = table.role == Role.BUTTON
        if self.item is not None and not self.is_on_evidence:
            if self._has_sent_query:
                out[_among(table.text, NEXT_LABELS)] = _NEXT_RESULTS
            if not self.item.way and not self.is_search_box.any():
                out[[same_page(href, SEARCH_HOME) for href in table.href]] = _TO_SEARCH
            sends = PERMIT_LABELS if self.item.way else SUBMIT_LABELS
            out[is_button & _among(table.text, sends)] = _SUBMIT_BUTTON * self._waiting_fit
            out[self.leads_on] = _BEST
        occluded = self._flag(ElementFlag.OCCLUDED)
        if occluded.any():
            out[occluded] = _USELESS
            closes = np.array([text in DISMISS_LABELS for text in table.text], dtype=bool)
            out[is_button & self._flag(ElementFlag.IN_DIALOG) & closes] = _BEST
        return out

    @cached_property
    def fits(self) -> np.ndarray:
        """float [S]: how well each span works as a query for the next evidence."""
        item = self.item
        assert item is not None
        return np.array([self.fit(span.text, item, self.task) for span in self.observation.spans])

    @cached_property
    def type_query(self) -> np.ndarray:
        """float [S]: typing each span into a search box."""
        if self.is_on_evidence:
            return np.full(len(self.observation.spans), _USELESS)
        scale = _LONGER_WAY if self.leads_on.any() else 1.0
        fits = self.fits * scale
        # A query that is waiting, or was sent, is not improved by typing one that is no better.
        known = max(self._waiting_fit, self._sent_fit)
        out = np.where(self.fits > known, fits, fits * _RETYPE)
        return np.where(out > 0, out, _USELESS)

    @cached_property
    def press_enter(self) -> float:
        """Sending the query that the focused box holds."""
        if self.is_on_evidence:
            return _USELESS
        focused = self._flag(ElementFlag.FOCUSED) & self.is_box
        fit = self._waiting_fit if focused.any() else 0.0
        return fit * (_LONGER_WAY if self.leads_on.any() else _BEST) if fit else _USELESS

    @cached_property
    def switch_tab(self) -> np.ndarray:
        """float [tabs]: an open tab may already show the evidence."""
        item = self.item
        return np.array(
            [
                _SWITCH_TAB
                if item
                and not tab.active
                and not self.is_on_evidence
                and same_page(tab.url, item.url)
                else _USELESS
                for tab in self.observation.tabs
            ]
        )

    @cached_property
    def _sent_query(self) -> str:
        """The query whose results this page shows, or ""."""
        parts = urlsplit(self.observation.url)
        if parts.path != "/search":
            return ""
        return parse_qs(parts.query).get("q", [""])[0]

    @cached_property
    def _has_sent_query(self) -> bool:
        return bool(self._sent_query)

    @cached_property
    def _sent_fit(self) -> float:
        """Fit of the query whose results are shown, if they have the evidence or come close."""
        return self.fit(self._sent_query, self.item, self.task) if self.item is not None else 0.0

    @cached_property
    def _waiting_fit(self) -> float:
        """Best fit among the queries that stand in a box and were not sent."""
        if self.item is None:
            return 0.0
        table = self.observation.elements
        values = [table.value[i] for i in np.flatnonzero(self.is_box)]
        waiting = [value for value in values if value and value != self._sent_query]
        return max((self.fit(value, self.item, self.task) for value in waiting), default=0.0)

    def _flag(self, flag: ElementFlag) -> np.ndarray:
        return self.observation.elements.flags[:, flag]
