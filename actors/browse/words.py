# SPDX-License-Identifier: Apache-2.0
"""What a person types, as an action or as a wish to see something. Pure."""

from __future__ import annotations

import difflib
import enum
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from envs.actions import ACTION_SPECS, TYPE_INDEX, WAIT_CHOICES_MS, Action, Head
from envs.types import Observation

SHORT = {
    "enter": "press_enter",
    "up": "scroll_up_200px",
    "down": "scroll_down_400px",
    "bottom": "scroll_to_bottom",
    "back": "go_back",
    "open": "open_in_new_tab",
    "tab": "switch_tab",
    "close": "close_tab",
    "wait": "wait_ms",
    "extract": "extract_text",
    "select": "select_option",
}
_SPAN = re.compile(r"s(\d+)")

HELP = """\
click ROW         hover ROW         open ROW (in a new tab)      extract ROW (note its text)
type ROW TEXT     clear ROW         select ROW OPTION            enter
up  down  bottom  back              tab NUMBER    close          wait 100|500|2000
answer TEXT       ends the attempt; TEXT is a span such as s3, or words of your own
page  all rows    mask  legal actions    spans  texts to choose from    text  the page as text
help  this        quit  leave, as the end of the input does"""


class View(enum.Enum):
    """What a person wants to see; takes no step."""

    PAGE = "page"
    MASK = "mask"
    SPANS = "spans"
    TEXT = "text"
    HELP = "help"
    QUIT = "quit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Typed:
    """An action, and the text that it types or answers if that is no span."""

    action: Action
    own_text: str = ""


def parse_line(line: str, seen: Observation) -> Typed | View:
    """What `line` asks for; `ValueError` for what is no command or not legal here."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"expected closed quotes, got {line!r}: {error}") from None
    if not words:
        raise ValueError("expected a command; help lists them")
    name, rest = SHORT.get(words[0], words[0]), words[1:]
    if name in {view.value for view in View}:
        return View(name)
    if name not in TYPE_INDEX:
        names = [*SHORT, *TYPE_INDEX, *(view.value for view in View)]
        near = difflib.get_close_matches(words[0], names, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; help lists them"
        raise ValueError(f"expected a command, got {words[0]!r}{hint}")
    typed = _typed(name, rest, seen)
    _check_legal(typed, seen)
    return typed


def _typed(name: str, words: Sequence[str], seen: Observation) -> Typed:
    """The action with its arguments; the text takes the rest of the line."""
    chosen: dict[str, int] = {}
    own_text = ""
    left = list(words)
    heads = ACTION_SPECS[TYPE_INDEX[name]].heads
    for head in heads:
        if not left:
            needs = " and ".join(_ARGUMENTS[each] for each in heads)
            raise ValueError(f"{name}: expected {needs}, got {' '.join(words) or 'nothing'}")
        if head is Head.SPAN:
            text, left = " ".join(left), []
            span = _SPAN.fullmatch(text)
            if span and int(span[1]) < len(seen.spans):
                chosen[head.value] = int(span[1])
            else:
                own_text = text
        elif head is Head.OPTION:
            text, left = " ".join(left), []
            chosen[head.value] = _option(text, seen, chosen[Head.ELEMENT.value])
        else:
            chosen[head.value] = _number(left.pop(0), name, head, seen)
    if left:
        raise ValueError(f"{name}: expected nothing after it, got {' '.join(left)!r}")
    return Typed(action=Action(type=name, **chosen), own_text=own_text)


_ARGUMENTS = {
    Head.ELEMENT: "a row",
    Head.SPAN: "a text",
    Head.OPTION: "an option",
    Head.TAB: "a tab's number",
    Head.WAIT: f"one of {WAIT_CHOICES_MS} ms",
}


def _number(word: str, name: str, head: Head, seen: Observation) -> int:
    if head is Head.WAIT:
        if word not in map(str, WAIT_CHOICES_MS):
            raise ValueError(f"{name}: expected {_ARGUMENTS[head]}, got {word!r}")
        return WAIT_CHOICES_MS.index(int(word))
    count = len(seen.elements) if head is Head.ELEMENT else len(seen.tabs)
    if not (word.isdecimal() and len(word) < 6 and int(word) < count):
        raise ValueError(f"{name}: expected {_ARGUMENTS[head]} in 0..{count - 1}, got {word!r}")
    return int(word)


def _option(text: str, seen: Observation, row: int) -> int:
    labels = seen.elements.options[row]
    if text in labels:
        return labels.index(text)
    if text.isdecimal() and len(text) < 6 and int(text) < len(labels):
        return int(text)
    raise ValueError(f"select: expected an option of {list(labels)} or its number, got {text!r}")


def _check_legal(typed: Typed, seen: Observation) -> None:
    """`ValueError` for what the agent could not have chosen either, but for texts of one's own."""
    action, kind = typed.action, TYPE_INDEX[typed.action.type]
    spec = ACTION_SPECS[kind]
    if Head.ELEMENT in spec.heads and not seen.mask.element[kind, action.element]:
        rows = ", ".join(map(str, np.flatnonzero(seen.mask.element[kind]))) or "none"
        raise ValueError(f"{spec.name} {action.element}: not legal here; its legal rows are {rows}")
    if typed.own_text:
        if not typed.own_text.isprintable():
            raise ValueError(f"expected a text without control characters, got {typed.own_text!r}")
        return
    if not seen.mask.allows(action):
        raise ValueError(f"{spec.name}: not legal here; mask lists what is")
