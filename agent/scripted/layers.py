# SPDX-License-Identifier: Apache-2.0
"""What scripted agents do about a layer that lies over the page."""

from __future__ import annotations

from envs.actions import Action
from envs.types import ElementFlag, Observation, Role

# A person closes a layer in their way by one of these rather than by signing in.
_CLOSING_WORDS = ("close", "not now", "no thanks", "later", "skip", "without", "×", "accept")
_CLOSING_WORDS_ZH = ("关闭", "暂不", "不用", "不登录", "以后", "接受", "知道了", "同意")


def is_layer_open(seen: Observation) -> bool:
    """Whether a layer catches every click on the page."""
    return bool(seen.elements.flags[:, ElementFlag.OCCLUDED].any())


def close_layer(seen: Observation) -> Action:
    """Click the button that closes the layer; wait if there is none."""
    table = seen.elements
    for row in range(len(table)):
        inside = (
            table.flags[row, ElementFlag.IN_DIALOG] and not (table.flags[row, ElementFlag.OCCLUDED])
        )
        label = table.text[row].casefold()
        if (
            inside
            and table.role[row] == Role.BUTTON
            and any(w in label for w in _CLOSING_WORDS + _CLOSING_WORDS_ZH)
        ):
            return Action(type="click", element=row)
    return Action(type="wait_ms", wait=0)
