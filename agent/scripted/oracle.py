# SPDX-License-Identifier: Apache-2.0
"""The scripted oracle: knows where the evidence is, but gets it only through what the page offers.

It chooses from elements and spans alone and never looks at the mask, so that a test can hold the
mask against it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agent.scripted.layers import close_layer, is_layer_open
from agent.types import MAX_HEADS, Decision
from envs.actions import Action
from envs.answers import is_accepted
from envs.types import ElementFlag, EvidenceItem, Observation, Role, Span, SpanSource, Task
from envs.web.guide import (
    is_at_form,
    leads_to,
    next_item,
    query_fit,
    same_page,
    states,
    stops,
)
from envs.web.texts.languages import NEXT_LABELS, SEARCH_LABELS

_WAIT = Action(type="wait_ms", wait=0)
_WAIT_FOR_CONTENT = Action(type="wait_ms", wait=2)  # nothing that a page shows comes later


class OracleAgent:
    """Deterministic; told the task by the episode loop."""

    def __init__(self) -> None:
        self._task: Task | None = None

    def begin(self, task: Task) -> None:
        """Start working on `task`."""
        self._task = task

    async def act(self, observation: Observation, *, seed: int) -> Decision:
        """Take the next step towards the evidence, then answer."""
        if self._task is None:
            raise RuntimeError("expected begin(task) before act(); run it through run_episode")
        return Decision(
            action=_choose(self._task, observation),
            inputs=None,
            log_prob_by_head=np.zeros(MAX_HEADS, dtype=np.float32),
            policy_version=-1,
        )


def _choose(task: Task, seen: Observation) -> Action:
    if is_layer_open(seen):
        return close_layer(seen)
    item = next_item(task.truth, seen.notes, seen.url)
    if item is None:
        accepted = [i for i, s in enumerate(seen.spans) if is_accepted(s.text, task.truth.answers)]
        return Action(type="answer", span=accepted[0]) if accepted else _WAIT
    if same_page(item.url, seen.url):
        return _read(seen, item)
    for stop in stops(item):
        if same_page(stop, seen.url):
            break
        link = _link_to(seen, stop)
        if link is not None:
            return link
    return _fill_form(seen, item) if item.way else _search(seen, item)


def _link_to(seen: Observation, stop: str) -> Action | None:
    """Click the first link that leads to `stop`."""
    hrefs = seen.elements.href
    return _on_element(seen, "click", lambda row: leads_to(hrefs[row], stop, seen.url))


def _fill_form(seen: Observation, item: EvidenceItem) -> Action:
    """Enter the subject's name where nothing but the form leads to its page."""
    table = seen.elements
    box = _row(
        seen,
        lambda row: table.role[row] == Role.TEXTBOX and table.text[row] not in SEARCH_LABELS,
    )
    worth, index = max((query_fit(s.text, item), -i) for i, s in enumerate(seen.spans))
    if box is None or not worth or not is_at_form(item, seen.url):
        return Action(type="go_back")
    return _enter(seen, box, -index)


def _enter(seen: Observation, box: int, span: int) -> Action:
    """Type a span into a box, or send what was typed."""
    is_typed = seen.elements.value[box] == seen.spans[span].text
    if is_typed and seen.elements.flags[box, ElementFlag.FOCUSED]:
        return Action(type="press_enter")
    return Action(type="type", element=box, span=span)


def _read(seen: Observation, item: EvidenceItem) -> Action:
    """Extract the shortest block that states the fact."""
    rows = [
        row
        for row, text in enumerate(seen.elements.text)
        if Role(seen.elements.role[row]).is_text() and states(item, text)
    ]
    if not rows:
        return _WAIT_FOR_CONTENT
    shortest = min(rows, key=lambda row: len(seen.elements.text[row]))
    return Action(type="extract_text", element=shortest)


def _search(seen: Observation, item: EvidenceItem) -> Action:
    """Send the best query not sent yet; after the last one, look through further results.

    Where no text names the page, the longest text of the question says most about it.
    """
    sent = {query.text.casefold() for query in seen.queries}
    worths = [query_fit(span.text, item) for span in seen.spans]
    if not any(worths):
        worths = [_worth_as_clue(span) for span in seen.spans]
    unsent = [
        (worth, -index)
        for index, (span, worth) in enumerate(zip(seen.spans, worths, strict=True))
        if span.text.casefold() not in sent
    ]
    box = _row(seen, lambda row: seen.elements.role[row] == Role.TEXTBOX)
    best_worth, index = max(unsent, default=(0.0, 0))
    if box is not None and best_worth > 0.0:
        return _enter(seen, box, -index)
    texts = seen.elements.text
    further = _on_element(
        seen,
        "click",
        lambda row: texts[row] in NEXT_LABELS or texts[row].casefold().startswith("next"),
    )
    return further or Action(type="go_back")


def _worth_as_clue(span: Span) -> float:
    """The more of the question a text has, the surer it finds a page that no text names."""
    return float(len(span.text.split())) if span.source is SpanSource.QUESTION else 0.0


def _row(seen: Observation, accepts: Callable[[int], bool]) -> int | None:
    return next((row for row in range(len(seen.elements)) if accepts(row)), None)


def _on_element(seen: Observation, kind: str, accepts: Callable[[int], bool]) -> Action | None:
    row = _row(seen, accepts)
    return None if row is None else Action(type=kind, element=row)
