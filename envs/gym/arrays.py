# SPDX-License-Identifier: Apache-2.0
"""An observation as arrays of fixed sizes, for policies that take tensors. Pure.

Rows beyond the page's are padding: 0, or -1 where 0 means something. Texts are UTF-8 bytes, cut
between characters and padded with 0. E is `EnvConfig.max_elements`, A the number of actions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gymnasium import spaces

from envs.actions import MAX_OPTIONS, MAX_SPANS, MAX_TABS, NUM_TYPES
from envs.gym.action_index import ActionIndex
from envs.types import NUM_ELEMENT_FLAGS, Observation, Role, SpanSource, StyleColumn

MAX_NOTES = 16
MAX_QUERIES = 8
MAX_SELECTS = 8
MAX_EPISODE_STEPS = 200  # of any task, see `EnvConfig.max_steps`
QUESTION_BYTES = 512
URL_BYTES = 256
TITLE_BYTES = 96
ELEMENT_BYTES = 128
VALUE_BYTES = 64
SPAN_BYTES = 96
NOTE_BYTES = 256
OPTION_BYTES = 32
EFFECT_BYTES = 32
MAX_PX = 1e6  # pages beyond it are cut to it


def observation_space(index: ActionIndex, max_elements: int) -> spaces.Dict:
    """The space of `to_arrays`; docs/GYMNASIUM.md says what each key holds."""
    num = max_elements
    return spaces.Dict(
        {
            "question": _text(QUESTION_BYTES),
            "step_index": _count(MAX_EPISODE_STEPS),
            "steps_left": _count(MAX_EPISODE_STEPS),
            "last_effect": _text(EFFECT_BYTES),
            "url": _text(URL_BYTES),
            "title": _text(TITLE_BYTES),
            "viewport_px": _real(0, 2),
            "scroll_y_px": _real(0, 1),
            "page_height_px": _real(0, 1),
            "num_elements": _count(num),
            "element_role": spaces.Box(-1, int(max(Role)), (num,), np.int8),
            "element_box_px": _real(-MAX_PX, num, 4),
            "element_frame": spaces.Box(-1, int(np.iinfo(np.int16).max), (num,), np.int16),
            "element_flags": spaces.MultiBinary((num, NUM_ELEMENT_FLAGS)),
            "element_style": _real(0, num, len(StyleColumn)),
            "element_text": _text(num, ELEMENT_BYTES),
            "element_context": _text(num, ELEMENT_BYTES),
            "element_value": _text(num, VALUE_BYTES),
            "element_href": _text(num, ELEMENT_BYTES),
            "element_is_added": spaces.MultiBinary(num),
            "element_is_changed": spaces.MultiBinary(num),
            "num_removed": _count(int(np.iinfo(np.int16).max)),
            "has_navigated": spaces.MultiBinary(1),
            "select_element": spaces.Box(-1, num - 1, (MAX_SELECTS,), np.int16),
            "select_option_text": _text(MAX_SELECTS, MAX_OPTIONS, OPTION_BYTES),
            "num_spans": _count(MAX_SPANS),
            "span_text": _text(MAX_SPANS, SPAN_BYTES),
            "span_source": spaces.Box(-1, int(max(SpanSource)), (MAX_SPANS,), np.int8),
            "num_notes": _count(MAX_EPISODE_STEPS),
            "note_text": _text(MAX_NOTES, NOTE_BYTES),
            "num_queries": _count(MAX_EPISODE_STEPS),
            "query_text": _text(MAX_QUERIES, SPAN_BYTES),
            "num_tabs": _count(MAX_TABS),
            "tab_title": _text(MAX_TABS, TITLE_BYTES),
            "tab_is_active": spaces.MultiBinary(MAX_TABS),
            "mask_type": spaces.MultiBinary(NUM_TYPES),
            "mask_element": spaces.MultiBinary((NUM_TYPES, num)),
            "mask_span": spaces.MultiBinary((NUM_TYPES, MAX_SPANS)),
            "mask_option": spaces.MultiBinary((num, MAX_OPTIONS)),
            "mask_tab": spaces.MultiBinary(MAX_TABS),
            "action_mask": spaces.MultiBinary(index.num_actions),
        }
    )


def to_arrays(seen: Observation, index: ActionIndex, max_elements: int) -> dict[str, np.ndarray]:
    """The observation as a member of `observation_space`."""
    return {
        "question": _bytes(seen.question, QUESTION_BYTES),
        "step_index": _number(seen.step_index),
        "steps_left": _number(seen.steps_left),
        "last_effect": _bytes(seen.last_effect, EFFECT_BYTES),
        "url": _bytes(seen.url, URL_BYTES),
        "title": _bytes(seen.title, TITLE_BYTES),
        "viewport_px": _pixels(seen.viewport),
        "scroll_y_px": _pixels([seen.scroll_y_px]),
        "page_height_px": _pixels([seen.page_height_px]),
        **_elements(seen, max_elements),
        **_selects(seen),
        "num_spans": _number(len(seen.spans)),
        "span_text": _rows([span.text for span in seen.spans], MAX_SPANS, SPAN_BYTES),
        "span_source": _padded(np.array([s.source for s in seen.spans], np.int8), (MAX_SPANS,), -1),
        "num_notes": _number(len(seen.notes)),
        "note_text": _rows([note.text for note in reversed(seen.notes)], MAX_NOTES, NOTE_BYTES),
        "num_queries": _number(len(seen.queries)),
        "query_text": _rows([q.text for q in reversed(seen.queries)], MAX_QUERIES, SPAN_BYTES),
        "num_tabs": _number(len(seen.tabs)),
        "tab_title": _rows([tab.title for tab in seen.tabs], MAX_TABS, TITLE_BYTES),
        "tab_is_active": _bits(np.array([tab.active for tab in seen.tabs]), (MAX_TABS,)),
        "mask_type": seen.mask.type.astype(np.int8),
        "mask_element": _bits(seen.mask.element, (NUM_TYPES, max_elements)),
        "mask_span": _bits(seen.mask.span, (NUM_TYPES, MAX_SPANS)),
        "mask_option": _bits(seen.mask.option, (max_elements, MAX_OPTIONS)),
        "mask_tab": seen.mask.tab.astype(np.int8),
        "action_mask": index.legal(seen.mask),
    }


def text_of(row: np.ndarray) -> str:
    """The text of one padded row of bytes."""
    return bytes(row).rstrip(b"\0").decode("utf-8")


def _elements(seen: Observation, num: int) -> dict[str, np.ndarray]:
    table, diff = seen.elements, seen.diff
    added, changed = np.zeros(num, dtype=np.int8), np.zeros(num, dtype=np.int8)
    added[diff.added], changed[diff.changed] = 1, 1
    return {
        "num_elements": _number(len(table)),
        "element_role": _padded(table.role, (num,), -1),
        "element_box_px": _padded(np.clip(table.box, -MAX_PX, MAX_PX), (num, 4)),
        "element_frame": _padded(table.frame_slot, (num,), -1),
        "element_flags": _bits(table.flags, (num, NUM_ELEMENT_FLAGS)),
        "element_style": _padded(np.clip(table.style, 0, MAX_PX), (num, len(StyleColumn))),
        "element_text": _rows(table.text, num, ELEMENT_BYTES),
        "element_context": _rows(table.context, num, ELEMENT_BYTES),
        "element_value": _rows(table.value, num, VALUE_BYTES),
        "element_href": _rows(table.href, num, ELEMENT_BYTES),
        "element_is_added": added,
        "element_is_changed": changed,
        "num_removed": _number(diff.removed),
        "has_navigated": np.array([diff.navigated], dtype=np.int8),
    }


def _selects(seen: Observation) -> dict[str, np.ndarray]:
    """The first select boxes of the page: their rows and the labels of their options."""
    rows = [row for row, labels in enumerate(seen.elements.options) if labels][:MAX_SELECTS]
    labels = np.zeros((MAX_SELECTS, MAX_OPTIONS, OPTION_BYTES), dtype=np.uint8)
    for at, row in enumerate(rows):
        labels[at] = _rows(seen.elements.options[row][:MAX_OPTIONS], MAX_OPTIONS, OPTION_BYTES)
    return {
        "select_element": _padded(np.array(rows, dtype=np.int16), (MAX_SELECTS,), -1),
        "select_option_text": labels,
    }


def _text(*shape: int) -> spaces.Box:
    return spaces.Box(0, 255, shape, np.uint8)


def _count(most: int) -> spaces.Box:
    return spaces.Box(0, most, (1,), np.int32)


def _real(low: float, *shape: int) -> spaces.Box:
    return spaces.Box(low, MAX_PX, shape, np.float32)


def _number(value: int) -> np.ndarray:
    return np.array([value], dtype=np.int32)


def _pixels(values: Sequence[float]) -> np.ndarray:
    return np.clip(np.array(values, dtype=np.float32), 0, MAX_PX)


def _bits(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return _padded(values.astype(np.int8), shape)


def _padded(values: np.ndarray, shape: tuple[int, ...], padding: int = 0) -> np.ndarray:
    array = np.full(shape, padding, dtype=values.dtype)
    array[tuple(slice(size) for size in values.shape)] = values
    return array


def _bytes(text: str, size: int) -> np.ndarray:
    encoded = text.encode("utf-8", errors="replace")
    if len(encoded) > size:  # never half a character
        encoded = encoded[:size].decode("utf-8", errors="ignore").encode("utf-8")
    return np.frombuffer(encoded.ljust(size, b"\0"), dtype=np.uint8).copy()


def _rows(texts: Sequence[str], num: int, size: int) -> np.ndarray:
    array = np.zeros((num, size), dtype=np.uint8)
    for row, text in enumerate(texts[:num]):
        if text:
            array[row] = _bytes(text, size)
    return array
