# SPDX-License-Identifier: Apache-2.0
"""Which actions are legal at an observation: those that can do something on the page as seen."""

from __future__ import annotations

import dataclasses

import numpy as np

from envs.actions import (
    MAX_OPTIONS,
    MAX_TABS,
    NUM_TYPES,
    TYPE_INDEX,
    ActionMask,
)
from envs.driver import PageSnapshot
from envs.types import ElementFlag, ElementTable, Role

_IS_TEXT = np.array([role.is_text() for role in Role], dtype=bool)  # by role
_OPENABLE_SCHEMES = ("http://", "https://")
# Subpixel rounding leaves a page that is scrolled to its end short of it by less than this.
_SCROLL_SLACK_PX = 2.0


def make_mask(table: ElementTable, num_spans: int, snapshot: PageSnapshot) -> ActionMask:
    """Two-level mask of one observation."""
    option = _option_mask(table)
    element = _element_mask(table, len(snapshot.tabs), option)
    tab = np.zeros(MAX_TABS, dtype=bool)
    for index, open_tab in enumerate(snapshot.tabs[:MAX_TABS]):
        tab[index] = not open_tab.active
    kind: np.ndarray = np.asarray(element.any(axis=1))
    kind[TYPE_INDEX["type"]] &= num_spans > 0
    kind[TYPE_INDEX["answer"]] = num_spans > 0
    kind[TYPE_INDEX["press_enter"]] = _can_press_enter(table)
    below = snapshot.page_height_px - snapshot.viewport[1] - snapshot.scroll_y_px
    kind[TYPE_INDEX["scroll_up_200px"]] = snapshot.scroll_y_px > 0
    kind[TYPE_INDEX["scroll_down_400px"]] = below > _SCROLL_SLACK_PX
    kind[TYPE_INDEX["scroll_to_bottom"]] = below > _SCROLL_SLACK_PX
    kind[TYPE_INDEX["go_back"]] = snapshot.can_go_back
    kind[TYPE_INDEX["switch_tab"]] = bool(tab.any())
    kind[TYPE_INDEX["close_tab"]] = len(snapshot.tabs) > 1
    kind[TYPE_INDEX["wait_ms"]] = True
    return ActionMask(
        type=kind, element=element, span=_span_mask(num_spans), option=option, tab=tab
    )


def masked_anew(mask: ActionMask, table: ElementTable, num_spans: int, num_tabs: int) -> ActionMask:
    """The mask of the same page with other spans and notes."""
    element = _element_mask(table, num_tabs, mask.option)
    kind = mask.type.copy()
    for name in ("type", "extract_text"):
        kind[TYPE_INDEX[name]] = element[TYPE_INDEX[name]].any()
    kind[TYPE_INDEX["type"]] &= num_spans > 0
    kind[TYPE_INDEX["answer"]] = num_spans > 0
    return dataclasses.replace(mask, type=kind, element=element, span=_span_mask(num_spans))


def _span_mask(num_spans: int) -> np.ndarray:
    """Legal spans by type, bool [NUM_TYPES, S]: every text may be typed or answered."""
    span = np.zeros((NUM_TYPES, num_spans), dtype=bool)
    span[[TYPE_INDEX["type"], TYPE_INDEX["answer"]]] = True
    return span


def _element_mask(table: ElementTable, num_tabs: int, option: np.ndarray) -> np.ndarray:
    """Legal elements by type, bool [NUM_TYPES, E]."""
    flags = table.flags
    role = table.role
    free = ~flags[:, ElementFlag.OCCLUDED] & ~flags[:, ElementFlag.DISABLED]
    clickable = free & flags[:, ElementFlag.CLICKABLE] & (role != Role.SELECT)
    typable = free & flags[:, ElementFlag.TYPABLE]
    has_value = np.array([bool(v) for v in table.value], dtype=bool)
    opens = np.array([href.startswith(_OPENABLE_SCHEMES) for href in table.href], dtype=bool)
    is_text = _IS_TEXT[role]
    has_text = np.array([bool(text) for text in table.text], dtype=bool)
    mask = np.zeros((NUM_TYPES, len(table)), dtype=bool)
    mask[TYPE_INDEX["click"]] = clickable & ~(typable & flags[:, ElementFlag.FOCUSED])
    mask[TYPE_INDEX["hover"]] = clickable & flags[:, ElementFlag.IN_VIEW]
    mask[TYPE_INDEX["type"]] = typable
    mask[TYPE_INDEX["clear"]] = typable & has_value
    mask[TYPE_INDEX["select_option"]] = free & option.any(axis=1)
    mask[TYPE_INDEX["open_in_new_tab"]] = (
        clickable & opens & (role == Role.LINK) & (num_tabs < MAX_TABS)
    )
    mask[TYPE_INDEX["extract_text"]] = free & is_text & has_text & ~flags[:, ElementFlag.EXTRACTED]
    return mask


def _option_mask(table: ElementTable) -> np.ndarray:
    """Options that are not the chosen one already, bool [E, MAX_OPTIONS]."""
    mask = np.zeros((len(table), MAX_OPTIONS), dtype=bool)
    for row, labels in enumerate(table.options):
        for option, label in enumerate(labels[:MAX_OPTIONS]):
            mask[row, option] = label != table.value[row]
    return mask


def _can_press_enter(table: ElementTable) -> bool:
    """Whether Enter would do something: a filled field, or a control, has the focus."""
    for row in np.flatnonzero(table.flags[:, ElementFlag.FOCUSED]):
        if table.flags[row, ElementFlag.OCCLUDED]:
            continue
        if table.role[row] == Role.TEXTBOX:
            return bool(table.value[row])
        return bool(table.flags[row, ElementFlag.CLICKABLE])
    return False
