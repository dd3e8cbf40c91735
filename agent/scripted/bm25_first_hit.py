# SPDX-License-Identifier: Apache-2.0
"""The search baseline: send the question, open the first hit, read the best row, answer from it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agent.forager.clues import page_name, question_view, type_fit
from agent.scripted.layers import close_layer, is_layer_open
from agent.types import MAX_HEADS, Decision
from envs.actions import TYPE_INDEX, Action
from envs.types import Observation, Role, SpanSource

MIN_SNIPPET_CHARS = 40
_ADVERT_WORDS = ("sponsored", "赞助")


class Bm25FirstHitAgent:
    """Deterministic; sees only the observation."""

    async def act(self, observation: Observation, *, seed: int) -> Decision:
        """Take the next step of the fixed routine."""
        return Decision(
            action=_choose(observation),
            inputs=None,
            log_prob_by_head=np.zeros(MAX_HEADS, dtype=np.float32),
            policy_version=-1,
        )


def _choose(observation: Observation) -> Action:
    if observation.notes:
        return _answer(observation)
    if is_layer_open(observation):
        return close_layer(observation)
    if not observation.queries:
        return _send_question(observation)
    if not _is_result_page(observation):
        return _extract(observation)
    hit = _first(observation, "click", lambda row: _is_hit(observation, row))
    return hit or Action(type="wait_ms", wait=0)


def _send_question(observation: Observation) -> Action:
    table = observation.elements
    if any(table.value) and observation.mask.allows(Action(type="press_enter")):
        return Action(type="press_enter")
    longest = max(
        (i for i, s in enumerate(observation.spans) if s.source is SpanSource.QUESTION),
        key=lambda i: len(observation.spans[i].text),
    )
    box = next((i for i, r in enumerate(table.role) if r == Role.TEXTBOX), None)
    action = Action(type="type", element=-1 if box is None else box, span=longest)
    return action if observation.mask.allows(action) else Action(type="wait_ms", wait=0)


def _is_result_page(observation: Observation) -> bool:
    """A page whose search box shows what was sent."""
    return observation.queries[-1].text in observation.elements.value


def _is_hit(observation: Observation, row: int) -> bool:
    """A link with a snippet around it that is no advert."""
    table = observation.elements
    context = table.context[row]
    has_snippet = len(context) > len(table.text[row]) + MIN_SNIPPET_CHARS
    is_advert = any(word in context.lower() for word in _ADVERT_WORDS)
    return bool(table.role[row] == Role.LINK) and has_snippet and not is_advert


def _extract(observation: Observation) -> Action:
    """The block that says most of what the page's own name leaves open."""
    question = question_view(observation.question)
    rows = np.flatnonzero(observation.mask.element[TYPE_INDEX["extract_text"]])
    if not len(rows):
        return Action(type="wait_ms", wait=0)
    still_open = 1.0 - question.coverage(page_name(observation.title))
    texts = observation.elements.text
    best = max(rows, key=lambda r: float((question.coverage(texts[r]) * still_open).sum()))
    return Action(type="extract_text", element=int(best))


def _answer(observation: Observation) -> Action:
    """The first span of the note that is of the kind asked for and does not name the page."""
    question = question_view(observation.question)
    name = page_name(observation.notes[-1].title).casefold()
    noted = [
        i
        for i, s in enumerate(observation.spans)
        if s.source is SpanSource.NOTE and s.text.casefold() not in name
    ]
    fitting = [i for i in noted if type_fit(question, observation.spans[i].text) > 0]
    return Action(type="answer", span=(fitting or noted or [0])[0])


def _first(observation: Observation, kind: str, accepts: Callable[[int], bool]) -> Action | None:
    """The first legal action of `kind` on an element that `accepts`."""
    for row in range(len(observation.elements)):
        action = Action(type=kind, element=row)
        if accepts(row) and observation.mask.allows(action):
            return action
    return None
