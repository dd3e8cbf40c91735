# SPDX-License-Identifier: Apache-2.0
"""The action types, the arguments each takes, and the mask that says which are legal.

An action is a type plus one index for each of the type's heads, in the order of the heads. Indices
refer to the observation that the action answers. A policy factors over the same heads:
`log pi(a) = log pi(type) + sum over heads of log pi(argument | type, earlier arguments)`.

A later tool is a new row of `ACTION_SPECS`; rows are never reordered, and checkpoints store names.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

WAIT_CHOICES_MS = (100, 500, 2000)
MAX_SPANS = 64
MAX_TABS = 5
MAX_OPTIONS = 16


class Head(enum.Enum):
    """An argument that a type of action takes: what its index points into."""

    ELEMENT = "element"  # row of `Observation.elements`
    SPAN = "span"  # entry of `Observation.spans`
    OPTION = "option"  # option of the chosen element's select box
    TAB = "tab"  # entry of `Observation.tabs`
    WAIT = "wait"  # entry of `WAIT_CHOICES_MS`


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionSpec:
    """One type of action: its name, its heads in order, and the weight of its KL term."""

    name: str
    heads: tuple[Head, ...]
    kl_multiplier: float  # c_k of the action-aware KL: how strongly this type is held back


def _spec(name: str, kl_multiplier: float, *heads: Head) -> ActionSpec:
    return ActionSpec(name=name, heads=heads, kl_multiplier=kl_multiplier)


ACTION_SPECS: tuple[ActionSpec, ...] = (
    _spec("click", 0.3, Head.ELEMENT),
    _spec("hover", 0.3, Head.ELEMENT),
    _spec("type", 0.8, Head.ELEMENT, Head.SPAN),
    _spec("clear", 0.3, Head.ELEMENT),
    _spec("select_option", 0.3, Head.ELEMENT, Head.OPTION),
    _spec("press_enter", 0.3),
    _spec("scroll_up_200px", 0.05),
    _spec("scroll_down_400px", 0.05),
    _spec("scroll_to_bottom", 0.05),
    _spec("go_back", 0.3),
    _spec("open_in_new_tab", 0.3, Head.ELEMENT),
    _spec("switch_tab", 0.3, Head.TAB),
    _spec("close_tab", 0.3),
    _spec("wait_ms", 0.05, Head.WAIT),
    _spec("extract_text", 0.3, Head.ELEMENT),
    _spec("answer", 0.8, Head.SPAN),
)
NUM_TYPES = len(ACTION_SPECS)
TYPE_INDEX: dict[str, int] = {spec.name: i for i, spec in enumerate(ACTION_SPECS)}


def types_with(head: Head) -> frozenset[int]:
    """The types, as indices, that take an argument for `head`."""
    return frozenset(kind for kind, spec in enumerate(ACTION_SPECS) if head in spec.heads)


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One action; an argument that its type does not take is -1."""

    type: str  # a name of `ACTION_SPECS`
    element: int = -1
    span: int = -1
    option: int = -1
    tab: int = -1
    wait: int = -1

    def argument(self, head: Head) -> int:
        """Index chosen for `head`, or -1."""
        return int(getattr(self, head.value))


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionMask:
    """What is legal at one observation, made by the env from the snapshot that the policy saw.

    A type is legal exactly when it takes no argument and applies, or at least one of its arguments
    is legal, so no head is ever all-masked under a legal type. `wait_ms` is always legal.
    """

    type: np.ndarray  # bool [NUM_TYPES]
    element: np.ndarray  # bool [NUM_TYPES, E]; rows of types without an element head are False
    span: np.ndarray  # bool [NUM_TYPES, S]; rows of types without a span head are False
    option: np.ndarray  # bool [E, MAX_OPTIONS]
    tab: np.ndarray  # bool [MAX_TABS]

    def allows(self, action: Action) -> bool:
        """Whether every part of `action` is legal."""
        kind = TYPE_INDEX[action.type]
        if not self.type[kind]:
            return False
        for head in ACTION_SPECS[kind].heads:
            index = action.argument(head)
            legal = _legal_arguments(self, kind, head, action.element)
            if not (0 <= index < len(legal) and legal[index]):
                return False
        return True


def _legal_arguments(mask: ActionMask, kind: int, head: Head, element: int) -> np.ndarray:
    """Legal indices of one head as bool [n]; `element` is the element chosen before it."""
    if head is Head.ELEMENT:
        return mask.element[kind]
    if head is Head.SPAN:
        return mask.span[kind]
    if head is Head.OPTION:
        return mask.option[element]
    if head is Head.TAB:
        return mask.tab
    return np.ones(len(WAIT_CHOICES_MS), dtype=bool)


@dataclass(frozen=True, kw_only=True, slots=True)
class FlatActions:
    """Every legal action of one state, one row each, in a fixed order: type, then arguments.

    Teachers score these rows, the policy is a distribution over them, and a stored choice is a row.
    """

    type: np.ndarray  # int16 [A] index into ACTION_SPECS
    element: np.ndarray  # int16 [A] or -1
    argument: np.ndarray  # int16 [A] span, option, tab or wait index, or -1

    def __len__(self) -> int:
        return len(self.type)

    def action(self, row: int) -> Action:
        """The action of one row."""
        spec = ACTION_SPECS[int(self.type[row])]
        chosen: dict[str, int] = {}
        for head in spec.heads:
            source = self.element if head is Head.ELEMENT else self.argument
            chosen[head.value] = int(source[row])
        return Action(type=spec.name, **chosen)

    def row(self, action: Action) -> int:
        """The row of `action`; `ValueError` when it is not legal here."""
        spec = ACTION_SPECS[TYPE_INDEX[action.type]]
        second = next((h for h in spec.heads if h is not Head.ELEMENT), None)
        argument = action.argument(second) if second else -1
        hits = np.flatnonzero(
            (self.type == TYPE_INDEX[action.type])
            & (self.element == action.element)
            & (self.argument == argument)
        )
        if len(hits) != 1:
            raise ValueError(f"expected a legal action of this state, got {action}")
        return int(hits[0])


def enumerate_actions(mask: ActionMask) -> FlatActions:
    """All legal actions under `mask`; the order depends on the mask alone."""
    types: list[np.ndarray] = []
    elements: list[np.ndarray] = []
    arguments: list[np.ndarray] = []
    for kind in np.flatnonzero(mask.type):
        element, argument = _arguments_of(mask, int(kind))
        types.append(np.full(len(element), kind, dtype=np.int16))
        elements.append(element.astype(np.int16))
        arguments.append(argument.astype(np.int16))
    return FlatActions(
        type=np.concatenate(types),
        element=np.concatenate(elements),
        argument=np.concatenate(arguments),
    )


def _arguments_of(mask: ActionMask, kind: int) -> tuple[np.ndarray, np.ndarray]:
    """Element and second-argument columns of one legal type."""
    heads = ACTION_SPECS[kind].heads
    if not heads:
        return np.array([-1]), np.array([-1])
    if heads == (Head.ELEMENT,):
        element = np.flatnonzero(mask.element[kind])
        return element, np.full(len(element), -1)
    if heads == (Head.ELEMENT, Head.OPTION):
        return np.nonzero(mask.option & mask.element[kind][:, None])  # type: ignore[return-value]
    if heads == (Head.ELEMENT, Head.SPAN):
        element = np.flatnonzero(mask.element[kind])
        span = np.flatnonzero(mask.span[kind])
        return np.repeat(element, len(span)), np.tile(span, len(element))
    argument = np.flatnonzero(_legal_arguments(mask, kind, heads[0], -1))
    return np.full(len(argument), -1), argument
