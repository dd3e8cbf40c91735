# SPDX-License-Identifier: Apache-2.0
"""What an agent sees at one step, as lines of text for a person. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from envs.actions import ACTION_SPECS, MAX_TABS, TYPE_INDEX, WAIT_CHOICES_MS, Head
from envs.types import ElementFlag, Observation, Role, SpanSource

WIDTH_CHARS = 100
# What may be done with an element, in few letters: in the table's column "can".
_CAN = {
    "click": "click",
    "type": "type",
    "clear": "clear",
    "select_option": "select",
    "open_in_new_tab": "open",
    "extract_text": "extract",
    "hover": "hover",
}
_CAN_WIDTH = 24


class Tone(enum.Enum):
    """What a line is about, for who paints it."""

    HEAD = "head"
    PLAIN = "plain"
    FAR = "far"  # an element out of view or under a layer
    NEW = "new"  # an element that came with the last step
    CHANGED = "changed"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line."""

    text: str
    tone: Tone = Tone.PLAIN


def plain_text(seen: Observation, *, width: int = WIDTH_CHARS) -> str:
    """All of it, as text."""
    lines = [*head_lines(seen), *element_lines(seen), *mask_lines(seen), *span_lines(seen)]
    return "\n".join(cut(line.text, width) for line in lines)


def cut(text: str, width: int) -> str:
    """The text on one line of at most `width` characters."""
    line = " ".join(text.split()) if "\n" in text else text
    return line if len(line) <= width else line[: width - 1] + "…"


def head_lines(seen: Observation) -> Iterator[Line]:
    """Question, page, what the last action did, and the difference to the step before."""
    effect = {"": "", "ok": " · done"}.get(seen.last_effect, f" · nothing done: {seen.last_effect}")
    tone = Tone.NOTICE if seen.last_effect not in ("", "ok") else Tone.HEAD
    yield Line(text=seen.question, tone=Tone.HEAD)
    yield Line(text=f"step {seen.step_index}, {seen.steps_left} left{effect}", tone=tone)
    state = "" if seen.page_state.value == "idle" else f" ({seen.page_state.value})"
    yield Line(text=f"{seen.title or '(no title)'} · {seen.url}{state}")
    bottom = min(seen.scroll_y_px + seen.viewport[1], seen.page_height_px)
    tabs = [f"{'*' if tab.active else ''}{i} {tab.title}" for i, tab in enumerate(seen.tabs)]
    tabs_text = f" · tabs: {', '.join(tabs)}" if len(tabs) > 1 else ""
    yield Line(
        text=f"in view: {seen.scroll_y_px:.0f} to {bottom:.0f} of {seen.page_height_px:.0f} px"
        f"{tabs_text}"
    )
    yield Line(text=_difference(seen))
    for query in seen.queries:
        yield Line(text=f"query at step {query.step}: {query.text}")
    for number, note in enumerate(seen.notes):
        yield Line(text=f"note {number}: {note.text}")


def _difference(seen: Observation) -> str:
    diff = seen.diff
    if diff.navigated:
        return f"another page: {len(seen.elements)} elements"
    counts = (len(diff.added), len(diff.changed), diff.removed)
    if not any(counts):
        return "difference: none"
    return "difference: {} added (+), {} changed (~), {} gone".format(*counts)


def element_lines(seen: Observation, *, whole_page: bool = True) -> Iterator[Line]:
    """The element table; without `whole_page` only what is in view."""
    table, flags = seen.elements, seen.elements.flags
    added = set() if seen.diff.navigated else set(seen.diff.added.tolist())
    changed = set(seen.diff.changed.tolist())
    yield Line(text=f"   row  {'role':<10}{'can':<{_CAN_WIDTH}}text", tone=Tone.HEAD)
    num_hidden = 0
    for row in range(len(table)):
        is_far = not flags[row, ElementFlag.IN_VIEW]
        if is_far and not whole_page:
            num_hidden += 1
            continue
        is_under = bool(flags[row, ElementFlag.OCCLUDED])
        mark = "+" if row in added else "~" if row in changed else "·" if is_far else " "
        tone = Tone.FAR if is_far or is_under else Tone.PLAIN
        tone = Tone.NEW if row in added else Tone.CHANGED if row in changed else tone
        role = Role(int(table.role[row])).name.lower()
        yield Line(
            text=f" {mark} {row:>3}  {role:<10}{_can(seen, row):<{_CAN_WIDTH}}{_text(seen, row)}",
            tone=tone,
        )
    if num_hidden:
        yield Line(text=f"   {num_hidden} more are out of view", tone=Tone.FAR)


def _can(seen: Observation, row: int) -> str:
    words = [word for name, word in _CAN.items() if seen.mask.element[TYPE_INDEX[name], row]]
    return cut(" ".join(words), _CAN_WIDTH - 1)


def _text(seen: Observation, row: int) -> str:
    table, flags = seen.elements, seen.elements.flags
    # What is said of it first: long texts are cut at their end.
    parts = [f"({word})" for flag, word in _SAID.items() if flags[row, flag]]
    parts.append(table.text[row] or "(no text)")
    if table.value[row]:
        parts.append(f"= {table.value[row]}")
    if table.options[row]:
        parts.append("[" + ", ".join(f"{i} {o}" for i, o in enumerate(table.options[row])) + "]")
    return " ".join(" ".join(parts).split())


_SAID = {
    ElementFlag.OCCLUDED: "under a layer",
    ElementFlag.FOCUSED: "focused",
    ElementFlag.DISABLED: "disabled",
    ElementFlag.CHECKED: "checked",
    ElementFlag.VISITED: "visited",
    ElementFlag.EXTRACTED: "noted",
    ElementFlag.IN_DIALOG: "in a dialog",
}


def mask_lines(seen: Observation) -> Iterator[Line]:
    """The legal types and their legal arguments."""
    yield Line(text="legal actions", tone=Tone.HEAD)
    for kind in np.flatnonzero(seen.mask.type):
        spec = ACTION_SPECS[int(kind)]
        yield Line(text=f"   {spec.name:<18}{_arguments(seen, int(kind))}".rstrip())


def _arguments(seen: Observation, kind: int) -> str:
    words = []
    for head in ACTION_SPECS[kind].heads:
        if head is Head.ELEMENT:
            words.append("element " + _ranges(np.flatnonzero(seen.mask.element[kind])))
        elif head is Head.SPAN:
            words.append("span " + _ranges(np.flatnonzero(seen.mask.span[kind])))
        elif head is Head.OPTION:
            words.append("an option that is not chosen")
        elif head is Head.TAB:
            words.append("tab " + _ranges(np.flatnonzero(seen.mask.tab[:MAX_TABS])))
        else:
            words.append("ms " + ", ".join(str(ms) for ms in WAIT_CHOICES_MS))
    return "; ".join(words)


def _ranges(rows: np.ndarray) -> str:
    """[1, 2, 3, 7] -> "1-3, 7"."""
    if not len(rows):
        return "none"
    runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)


def span_lines(seen: Observation) -> Iterator[Line]:
    """The texts that may be typed or answered."""
    yield Line(text="spans, to type or to answer", tone=Tone.HEAD)
    for number, span in enumerate(seen.spans):
        source = "question" if span.source is SpanSource.QUESTION else f"note {span.note}"
        yield Line(text=f"   s{number:<3} {span.text}   ({source})")
