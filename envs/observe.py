# SPDX-License-Identifier: Apache-2.0
"""From a page snapshot and what the episode has seen so far to an `Observation`. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urldefrag

import numpy as np

from envs.dom import page_text
from envs.driver import PageSnapshot
from envs.mask import make_mask, masked_anew
from envs.spans import draw_spans
from envs.types import (
    NUM_ELEMENT_FLAGS,
    ElementFlag,
    ElementTable,
    Note,
    Observation,
    PageDiff,
    Query,
    StyleColumn,
    Task,
)


@dataclass(kw_only=True, slots=True)
class EpisodeMemory:
    """What the env remembers of one episode; the only mutable state behind an observation."""

    task: Task
    step: int = 0
    notes: list[Note] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)  # URLs without fragment
    last_effect: str = ""
    is_page_refused: bool = False  # the present page stands in place of one that was refused
    last: Observation | None = None


def page_key(url: str) -> str:
    """A URL without its fragment: what counts as one page."""
    return urldefrag(url).url if "#" in url else url


def observe(snapshot: PageSnapshot, memory: EpisodeMemory, *, page_text_chars: int) -> Observation:
    """Build the observation of the present page."""
    table = _element_table(snapshot, memory)
    prompt = memory.task.prompt
    notes = tuple(memory.notes)
    last = memory.last
    spans = last.spans if last and last.notes == notes else draw_spans(prompt.question, notes)
    return Observation(
        question=prompt.question,
        step_index=memory.step,
        steps_left=prompt.max_steps - memory.step,
        url=snapshot.url,
        title=snapshot.title,
        elements=table,
        page_text=page_text(snapshot.elements, page_text_chars),
        scroll_y_px=snapshot.scroll_y_px,
        page_height_px=snapshot.page_height_px,
        viewport=snapshot.viewport,
        diff=_diff(last, snapshot, table),
        queries=tuple(memory.queries),
        notes=notes,
        spans=spans,
        tabs=snapshot.tabs,
        mask=make_mask(table, len(spans), snapshot),
        page_state=snapshot.state,
        last_effect=memory.last_effect,
        screenshot_jpeg=snapshot.screenshot_jpeg,
        screenshot_scale=snapshot.screenshot_scale,
    )


def asked_anew(
    observation: Observation, question: str, notes: tuple[Note, ...], queries: tuple[Query, ...]
) -> Observation:
    """The same page under another question, with these of its notes and queries."""
    table, spans = observation.elements, draw_spans(question, notes)
    noted = _noted_texts(notes, observation.url)
    flags = table.flags.copy()
    flags[:, ElementFlag.EXTRACTED] &= np.array([text in noted for text in table.text], dtype=bool)
    table = replace(table, flags=flags)
    return replace(
        observation,
        question=question,
        elements=table,
        notes=notes,
        queries=queries,
        spans=spans,
        mask=masked_anew(observation.mask, table, len(spans), len(observation.tabs)),
    )


def _noted_texts(notes: Sequence[Note], url: str) -> frozenset[str]:
    """What was noted on the page at `url`."""
    return frozenset(note.text for note in notes if note.url == page_key(url))


def _element_table(snapshot: PageSnapshot, memory: EpisodeMemory) -> ElementTable:
    elements = snapshot.elements
    extracted = _noted_texts(memory.notes, snapshot.url)
    visited = memory.visited
    columns = {
        ElementFlag.IN_VIEW: [e.is_in_view for e in elements],
        ElementFlag.OCCLUDED: [e.is_occluded for e in elements],
        ElementFlag.FOCUSED: [e.is_focused for e in elements],
        ElementFlag.DISABLED: [e.is_disabled for e in elements],
        ElementFlag.CHECKED: [e.is_checked for e in elements],
        ElementFlag.CLICKABLE: [e.is_clickable for e in elements],
        ElementFlag.TYPABLE: [e.is_typable for e in elements],
        ElementFlag.VISITED: [bool(e.href) and page_key(e.href) in visited for e in elements],
        ElementFlag.EXTRACTED: [e.text in extracted and e.role.is_text() for e in elements],
        ElementFlag.IN_DIALOG: [e.is_in_dialog for e in elements],
    }
    flags = np.zeros((len(elements), NUM_ELEMENT_FLAGS), dtype=bool)
    for flag, column in columns.items():
        flags[:, flag] = column
    looks = (e.style for e in elements)
    style = [(s.font_size_px, s.is_bold, s.is_pointer, s.luminance) for s in looks]
    return ElementTable(
        role=np.array([e.role for e in elements], dtype=np.int8),
        box=np.array([e.box for e in elements], dtype=np.float32).reshape(-1, 4),
        frame_slot=np.array([e.frame_slot for e in elements], dtype=np.int16),
        flags=flags,
        style=np.array(style, dtype=np.float32).reshape(-1, len(StyleColumn)),
        text=tuple(e.text for e in elements),
        context=tuple(e.context for e in elements),
        value=tuple(e.value for e in elements),
        href=tuple(e.href for e in elements),
        options=tuple(e.options for e in elements),
        node_ref=np.array([e.node_ref for e in elements], dtype=np.int64),
    )


def _diff(last: Observation | None, snapshot: PageSnapshot, table: ElementTable) -> PageDiff:
    """Compare by role, text and context, so that moved elements do not count."""
    every = np.arange(len(table), dtype=np.int16)
    if last is None or page_key(last.url) != page_key(snapshot.url):
        return PageDiff(
            navigated=True,
            added=every,
            changed=every[:0],
            removed=len(last.elements) if last else 0,
        )
    left = Counter(_keys(last.elements))
    states = Counter(zip(_keys(last.elements), _states(last.elements), strict=True))
    added: list[int] = []
    changed: list[int] = []
    for row, (key, state) in enumerate(zip(_keys(table), _states(table), strict=True)):
        if left[key] == 0:
            added.append(row)
            continue
        left[key] -= 1
        if states[(key, state)] == 0:
            changed.append(row)
        else:
            states[(key, state)] -= 1
    return PageDiff(
        navigated=False,
        added=np.array(added, dtype=np.int16),
        changed=np.array(changed, dtype=np.int16),
        removed=sum(left.values()),
    )


def _keys(table: ElementTable) -> list[tuple[int, str, str]]:
    return list(zip(table.role.tolist(), table.text, table.context, strict=True))


# Scrolling is no change of an element.
_STATE_FLAGS = [flag for flag in ElementFlag if flag is not ElementFlag.IN_VIEW]


def _states(table: ElementTable) -> list[tuple[str, bytes]]:
    flags = table.flags[:, _STATE_FLAGS]
    return [(value, flags[row].tobytes()) for row, value in enumerate(table.value)]
