# SPDX-License-Identifier: Apache-2.0
"""Action strings in BrowserGym's words, such as `click('12')`, to actions. Pure.

A string is read, never executed: one call of a known function with plain values. A bid is the
row of an element in the observation that the string answers.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from envs.actions import WAIT_CHOICES_MS, Action
from envs.types import ElementFlag, Observation, Role

MAX_NUMBER = 1e9
TO_BOTTOM_PX = 2000.0  # scrolls beyond it mean the end of the page


@dataclass(frozen=True, kw_only=True, slots=True)
class Meant:
    """What a string asks for."""

    action: Action
    own_text: str = ""  # typed or answered, see `SearchEnv.step`


def parse_action(text: str, seen: Observation) -> Meant:
    """The action that `text` asks for; `ValueError` says what was expected."""
    name, arguments, keywords = _call(text)
    if name not in ACTIONS:
        near = difflib.get_close_matches(name, ACTIONS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"expected one of {sorted(ACTIONS)}, got {name!r}{hint}")
    function = ACTIONS[name]
    try:
        inspect.signature(function).bind(seen, *arguments, **keywords)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None
    return function(seen, *arguments, **keywords)


def describe_actions() -> str:
    """The functions as a prompt may list them, one per line."""
    lines = []
    for name, function in ACTIONS.items():
        parameters = list(inspect.signature(function).parameters.values())[1:]
        shown = ", ".join(
            each.name if each.default is each.empty else f"{each.name}={each.default!r}"
            for each in parameters
        )
        lines.append(f"{name}({shown})  {(function.__doc__ or '').strip()}")
    return "\n".join(lines)


def _call(text: str) -> tuple[str, list[object], dict[str, object]]:
    """Name and arguments of the one call that `text` is."""
    try:
        body = ast.parse(text.strip()).body
        (statement,) = body
        assert isinstance(statement, ast.Expr)
        call = statement.value
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        arguments = [ast.literal_eval(each) for each in call.args]
        keywords = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (SyntaxError, ValueError, TypeError, AssertionError, RecursionError, MemoryError):
        raise ValueError(
            f"expected one call with plain values, such as click('12'), got {text[:200]!r}"
        ) from None
    return call.func.id, arguments, keywords


def _row(seen: Observation, bid: object) -> int:
    if not (isinstance(bid, str | int) and str(bid).isdecimal() and int(bid) < len(seen.elements)):
        raise ValueError(f"expected a bid of this observation, got {bid!r}")
    return int(bid)


def _string(value: object, what: str) -> str:
    text = " ".join(str(value).split())
    if not (isinstance(value, str | int | float) and text and text.isprintable()):
        raise ValueError(f"{what}: expected a text, got {value!r}")
    return text


def _number(value: object, what: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or abs(value) > MAX_NUMBER:  # type: ignore[arg-type]
        raise ValueError(f"{what}: expected a number, got {value!r}")
    return float(value)  # type: ignore[arg-type]


def _noop(seen: Observation, wait_ms: object = 1000) -> Meant:
    """Wait; the nearest duration that there is."""
    asked_ms = _number(wait_ms, "noop")
    distances = [abs(ms - asked_ms) for ms in WAIT_CHOICES_MS]
    return Meant(action=Action(type="wait_ms", wait=int(np.argmin(distances))))


def _click(seen: Observation, bid: object, button: object = "left") -> Meant:
    """Click an element."""
    if button != "left":
        raise ValueError(f"click: expected button='left', got {button!r}")
    return Meant(action=Action(type="click", element=_row(seen, bid)))


def _hover(seen: Observation, bid: object) -> Meant:
    """Move the mouse over an element."""
    return Meant(action=Action(type="hover", element=_row(seen, bid)))


def _fill(seen: Observation, bid: object, value: object) -> Meant:
    """Replace what a field holds."""
    row = _row(seen, bid)
    if value == "":
        return Meant(action=Action(type="clear", element=row))
    return Meant(action=Action(type="type", element=row), own_text=_string(value, "fill"))


def _clear(seen: Observation, bid: object) -> Meant:
    """Empty a field."""
    return Meant(action=Action(type="clear", element=_row(seen, bid)))


def _check(seen: Observation, bid: object) -> Meant:
    """Check a box; nothing is done when it is checked."""
    return _set_box(seen, bid, is_checked=True)


def _uncheck(seen: Observation, bid: object) -> Meant:
    """Uncheck a box; nothing is done when it is not checked."""
    return _set_box(seen, bid, is_checked=False)


def _set_box(seen: Observation, bid: object, *, is_checked: bool) -> Meant:
    row = _row(seen, bid)
    if seen.elements.role[row] != Role.CHECKBOX:
        raise ValueError(f"expected the bid of a checkbox, got {bid!r}")
    if bool(seen.elements.flags[row, ElementFlag.CHECKED]) == is_checked:
        return Meant(action=Action(type="wait_ms", wait=0))
    return Meant(action=Action(type="click", element=row))


def _select_option(seen: Observation, bid: object, options: object) -> Meant:
    """Choose one option of a select box by its label."""
    row = _row(seen, bid)
    wanted = options[0] if isinstance(options, list) and len(options) == 1 else options
    labels = seen.elements.options[row]
    if wanted not in labels:
        raise ValueError(f"select_option: expected one of {list(labels)}, got {options!r}")
    return Meant(action=Action(type="select_option", element=row, option=labels.index(str(wanted))))


def _press(seen: Observation, bid: object, key_comb: object) -> Meant:
    """Press Enter in the element that has the focus."""
    row = _row(seen, bid)
    if not seen.elements.flags[row, ElementFlag.FOCUSED]:
        raise ValueError(f"press: expected the element with the focus, got {bid!r}; fill it first")
    return _keyboard_press(seen, key_comb)


def _keyboard_press(seen: Observation, key: object) -> Meant:
    """Press Enter."""
    if key != "Enter":
        raise ValueError(f"expected the key 'Enter', got {key!r}")
    return Meant(action=Action(type="press_enter"))


def _scroll(seen: Observation, delta_x: object, delta_y: object) -> Meant:
    """Scroll by about a half of the window; 2000 and more goes to the end of the page."""
    dx_px, dy_px = _number(delta_x, "scroll"), _number(delta_y, "scroll")
    if dx_px or not dy_px:
        raise ValueError(f"scroll: expected 0 and then up (< 0) or down, got {dx_px}, {dy_px}")
    if dy_px < 0:
        return Meant(action=Action(type="scroll_up_200px"))
    down = "scroll_to_bottom" if dy_px >= TO_BOTTOM_PX else "scroll_down_400px"
    return Meant(action=Action(type=down))


def _go_back(seen: Observation) -> Meant:
    """The page before."""
    return Meant(action=Action(type="go_back"))


def _tab_close(seen: Observation) -> Meant:
    """Close the tab that is shown."""
    return Meant(action=Action(type="close_tab"))


def _tab_focus(seen: Observation, index: object) -> Meant:
    """Show another tab."""
    return Meant(action=Action(type="switch_tab", tab=int(_number(index, "tab_focus"))))


def _open_in_new_tab(seen: Observation, bid: object) -> Meant:
    """Open a link in a new tab and show it."""
    return Meant(action=Action(type="open_in_new_tab", element=_row(seen, bid)))


def _extract_text(seen: Observation, bid: object) -> Meant:
    """Note the text of an element."""
    return Meant(action=Action(type="extract_text", element=_row(seen, bid)))


def _send_msg_to_user(seen: Observation, text: object) -> Meant:
    """Give the final answer, as short as it can be said; the attempt ends."""
    return Meant(action=Action(type="answer"), own_text=_string(text, "send_msg_to_user"))


ACTIONS: dict[str, Callable[..., Meant]] = {
    "noop": _noop,
    "click": _click,
    "hover": _hover,
    "fill": _fill,
    "clear": _clear,
    "check": _check,
    "uncheck": _uncheck,
    "select_option": _select_option,
    "press": _press,
    "keyboard_press": _keyboard_press,
    "scroll": _scroll,
    "go_back": _go_back,
    "tab_close": _tab_close,
    "tab_focus": _tab_focus,
    "open_in_new_tab": _open_in_new_tab,
    "extract_text": _extract_text,
    "send_msg_to_user": _send_msg_to_user,
}
