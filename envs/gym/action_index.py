# SPDX-License-Identifier: Apache-2.0
"""Every action of an env as one whole number, so that a mask of one dimension is exact.

Types follow each other in the order of `ACTION_SPECS`. A type takes as many numbers as its heads
have combinations, the last head running fastest: with E elements `click` of element e is e, and
`type` of span s into element e is `offset + e * MAX_SPANS + s`.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import prod

import numpy as np

from envs.actions import (
    ACTION_SPECS,
    MAX_OPTIONS,
    MAX_SPANS,
    MAX_TABS,
    NUM_TYPES,
    TYPE_INDEX,
    WAIT_CHOICES_MS,
    Action,
    ActionMask,
    Head,
)


class ActionIndex:
    """The numbering for tables of at most `max_elements` rows."""

    def __init__(self, max_elements: int) -> None:
        sizes = {
            Head.ELEMENT: max_elements,
            Head.SPAN: MAX_SPANS,
            Head.OPTION: MAX_OPTIONS,
            Head.TAB: MAX_TABS,
            Head.WAIT: len(WAIT_CHOICES_MS),
        }
        self._shapes = [tuple(sizes[head] for head in spec.heads) for spec in ACTION_SPECS]
        self._offsets = [0, *accumulate(prod(shape) for shape in self._shapes)]

    @property
    def num_actions(self) -> int:
        """How many numbers there are, legal or not."""
        return self._offsets[-1]

    def index(self, action: Action) -> int:
        """The number of an action; `ValueError` when an argument is outside of its head."""
        kind = TYPE_INDEX[action.type]
        arguments = tuple(action.argument(head) for head in ACTION_SPECS[kind].heads)
        shape = self._shapes[kind]
        if not all(0 <= at < size for at, size in zip(arguments, shape, strict=True)):
            raise ValueError(f"expected arguments within {shape}, got {action}")
        within = int(np.ravel_multi_index(arguments, shape)) if shape else 0
        return self._offsets[kind] + within

    def action(self, index: int) -> Action:
        """The action of a number; `ValueError` when there is none of it."""
        if not 0 <= index < self.num_actions:
            raise ValueError(f"expected an action in 0..{self.num_actions - 1}, got {index}")
        kind = int(np.searchsorted(self._offsets, index, side="right")) - 1
        shape, spec = self._shapes[kind], ACTION_SPECS[kind]
        within = index - self._offsets[kind]
        arguments = np.unravel_index(within, shape) if shape else ()
        chosen = {head.value: int(at) for head, at in zip(spec.heads, arguments, strict=True)}
        return Action(type=spec.name, **chosen)

    def legal(self, mask: ActionMask) -> np.ndarray:
        """Which numbers are legal, int8 [num_actions] of 0 and 1; at least `wait_ms` is."""
        flat = np.zeros(self.num_actions, dtype=np.int8)
        for kind, (first, end) in zip(range(NUM_TYPES), pairwise(self._offsets), strict=True):
            if mask.type[kind]:
                flat[first:end] = self._block(mask, kind).ravel()
        return flat

    def _block(self, mask: ActionMask, kind: int) -> np.ndarray:
        """Legal combinations of one legal type, bool in the shape of its heads."""
        shape, heads = self._shapes[kind], ACTION_SPECS[kind].heads
        if not heads or heads == (Head.WAIT,):
            return np.ones(shape, dtype=bool)
        element = mask.element[kind]
        if heads == (Head.ELEMENT,):
            legal = element
        elif heads == (Head.ELEMENT, Head.OPTION):
            legal = mask.option & element[:, None]
        elif heads == (Head.ELEMENT, Head.SPAN):
            legal = element[:, None] & mask.span[kind][None, :]
        elif heads == (Head.SPAN,):
            legal = mask.span[kind]
        else:
            legal = mask.tab
        block = np.zeros(shape, dtype=bool)
        block[tuple(slice(size) for size in legal.shape)] = legal
        return block
