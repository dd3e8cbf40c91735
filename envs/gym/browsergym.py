# SPDX-License-Identifier: Apache-2.0
"""Observations and actions in BrowserGym's shape (0.14), for agents that were written for it.

`to_browsergym` is the pure adapter, `BidEnv` the env around it. docs/GYMNASIUM.md lists the keys
and says how they differ from BrowserGym's own.
"""

from __future__ import annotations

import time
from typing import Any

import cv2
import gymnasium
import numpy as np
from gymnasium import spaces

from envs.actions import TYPE_INDEX, Action
from envs.config import DriverKind
from envs.gym.bid_actions import Meant, describe_actions, parse_action
from envs.gym.forage_env import ForageEnv
from envs.types import ElementFlag, ElementTable, Observation, Role, Task

# Role -> name in the accessibility tree, and tag in the document.
_NAMES: dict[Role, tuple[str, str]] = {
    Role.LINK: ("link", "a"),
    Role.BUTTON: ("button", "button"),
    Role.TEXTBOX: ("textbox", "input"),
    Role.SELECT: ("combobox", "select"),
    Role.CHECKBOX: ("checkbox", "input"),
    Role.HEADING: ("heading", "h2"),
    Role.PARAGRAPH: ("paragraph", "p"),
    Role.LIST_ITEM: ("listitem", "li"),
    Role.TABLE_ROW: ("row", "tr"),
    Role.IMAGE: ("image", "img"),
    Role.OTHER: ("generic", "div"),
}
_ELEMENT, _TEXT, _DOCUMENT = 1, 3, 9  # node types of the DOM
MAX_ELAPSED_S = 1e9
_ROOT_ID = "root"
_NO_EFFECT = Action(type="click")  # of nothing: a step in which nothing is done


def to_browsergym(
    seen: Observation,
    *,
    last_action: str = "",
    last_action_error: str = "",
    answer: str = "",
    elapsed_s: float = 0.0,
    screenshot: np.ndarray | None = None,
) -> dict[str, Any]:
    """The observation under BrowserGym's keys; without a picture there is no `screenshot`.

    A bid is the row of an element as text, valid until the next step.
    """
    said = [("user", seen.question)] + ([("assistant", answer)] if answer else [])
    focused = np.flatnonzero(seen.elements.flags[:, ElementFlag.FOCUSED])
    shaped: dict[str, Any] = {
        "chat_messages": tuple(
            {"role": role, "timestamp": 0.0, "message": text} for role, text in said
        ),
        "goal": seen.question,
        "goal_object": ({"type": "text", "text": seen.question},),
        "open_pages_urls": tuple(tab.url for tab in seen.tabs),
        "open_pages_titles": tuple(tab.title for tab in seen.tabs),
        "active_page_index": np.array([[tab.active for tab in seen.tabs].index(True)]),
        "url": seen.url,
        "dom_object": _dom(seen),
        "axtree_object": _axtree(seen),
        "extra_element_properties": _properties(seen),
        "focused_element_bid": str(focused[0]) if len(focused) else "",
        "last_action": last_action,
        "last_action_error": last_action_error,
        "elapsed_time": np.array([elapsed_s]),
    }
    if screenshot is not None:
        shaped["screenshot"] = screenshot
    return shaped


def _axtree(seen: Observation) -> dict[str, Any]:
    """An accessibility tree of one level: the root and the table's elements in order."""
    table = seen.elements
    ids = [str(row) for row in range(len(table))]
    root = {
        "nodeId": _ROOT_ID,
        "ignored": False,
        "role": {"type": "internalRole", "value": "RootWebArea"},
        "name": {"type": "computedString", "value": seen.title},
        "properties": [],
        "childIds": ids,
    }
    return {"nodes": [root, *(_ax_node(table, row) for row in range(len(table)))]}


def _ax_node(table: ElementTable, row: int) -> dict[str, Any]:
    flags = table.flags[row]
    role = Role(int(table.role[row]))
    said: dict[str, object] = {}
    if flags[ElementFlag.FOCUSED]:
        said["focused"] = True
    if flags[ElementFlag.DISABLED]:
        said["disabled"] = True
    if role is Role.CHECKBOX:
        said["checked"] = "true" if flags[ElementFlag.CHECKED] else "false"
    if table.href[row]:
        said["url"] = table.href[row]
    if table.options[row]:
        said["options"] = list(table.options[row])
    node: dict[str, Any] = {
        "nodeId": str(row),
        "parentId": _ROOT_ID,
        "ignored": False,
        "role": {"type": "role", "value": _NAMES[role][0]},
        "name": {"type": "computedString", "value": table.text[row]},
        "properties": [
            {"name": name, "value": {"type": "string", "value": value}}
            for name, value in said.items()
        ],
        "childIds": [],
        "browsergym_id": str(row),
    }
    if table.value[row]:
        node["value"] = {"type": "string", "value": table.value[row]}
    return node


class _Snapshot:
    """Gathers a document in the form of `DOMSnapshot.captureSnapshot`."""

    def __init__(self) -> None:
        self._strings: dict[str, int] = {}
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("nodeType", "nodeName", "nodeValue", "parentIndex", "attributes")
        }

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def add(self, kind: int, name: str, parent: int, *, text: str = "", **attributes: str) -> int:
        """A node; its index."""
        row = {
            "nodeType": kind,
            "nodeName": self._string(name),
            "nodeValue": self._string(text) if kind == _TEXT else -1,
            "parentIndex": parent,
            "attributes": [
                self._string(each) for pair in attributes.items() if pair[1] for each in pair
            ],
        }
        for column, value in row.items():
            self._columns[column].append(value)
        return len(self._columns["nodeType"]) - 1

    def document(self) -> dict[str, Any]:
        """All of it."""
        nodes = {**self._columns, "contentDocumentIndex": {"index": [], "value": []}}
        return {"documents": [{"nodes": nodes}], "strings": list(self._strings)}


def _dom(seen: Observation) -> dict[str, Any]:
    """The elements as a flat document: `html > body > element > text`."""
    table, made = seen.elements, _Snapshot()
    html = made.add(_ELEMENT, "HTML", made.add(_DOCUMENT, "#document", -1))
    title = made.add(_ELEMENT, "TITLE", made.add(_ELEMENT, "HEAD", html))
    made.add(_TEXT, "#text", title, text=seen.title)
    body = made.add(_ELEMENT, "BODY", html)
    for row in range(len(table)):
        role = Role(int(table.role[row]))
        attributes = {"bid": str(row), "href": table.href[row], "value": table.value[row]}
        if role is Role.CHECKBOX:
            attributes["type"] = "checkbox"
        node = made.add(_ELEMENT, _NAMES[role][1].upper(), body, **attributes)
        for label in table.options[row]:
            made.add(_TEXT, "#text", made.add(_ELEMENT, "OPTION", node), text=label)
        if table.text[row]:
            made.add(_TEXT, "#text", node, text=table.text[row])
    return made.document()


def _properties(seen: Observation) -> dict[str, dict[str, Any]]:
    """Of each bid: visibility 0 or 1, box in CSS px of the window, whether it can be acted on."""
    table, mask = seen.elements, seen.mask
    acted_on = [TYPE_INDEX[name] for name in ("click", "type", "select_option")]
    can_act = np.asarray(mask.element[acted_on].any(axis=0))
    properties = {}
    for row in range(len(table)):
        flags = table.flags[row]
        is_seen = bool(flags[ElementFlag.IN_VIEW] and not flags[ElementFlag.OCCLUDED])
        x, y, width, height = (float(side) for side in table.box[row])
        properties[str(row)] = {
            "visibility": float(is_seen),
            "bbox": [x, y - seen.scroll_y_px, width, height],
            "clickable": bool(flags[ElementFlag.CLICKABLE]),
            "set_of_marks": is_seen and bool(can_act[row]),
        }
    return properties


class _Of(spaces.Space[Any]):
    """Any value of one type: BrowserGym's texts and objects have no fixed size."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self._kind = kind

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """An empty value."""
        return self._kind()

    def contains(self, x: Any) -> bool:
        """Whether `x` is of the type."""
        return isinstance(x, self._kind)

    @property
    def is_np_flattenable(self) -> bool:
        """No."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Of) and other._kind is self._kind

    def __repr__(self) -> str:
        return f"_Of({self._kind.__name__})"


def _observation_space(*, with_screenshot: bool, size: tuple[int, int]) -> spaces.Dict:
    keys: dict[str, spaces.Space[Any]] = {
        "active_page_index": spaces.Box(0, 255, (1,), np.int64),
        "elapsed_time": spaces.Box(0.0, MAX_ELAPSED_S, (1,), np.float64),
    }
    for name in ("chat_messages", "goal_object", "open_pages_urls", "open_pages_titles"):
        keys[name] = _Of(tuple)
    for name in ("goal", "url", "focused_element_bid", "last_action", "last_action_error"):
        keys[name] = _Of(str)
    for name in ("dom_object", "axtree_object", "extra_element_properties"):
        keys[name] = _Of(dict)
    if with_screenshot:
        keys["screenshot"] = spaces.Box(0, 255, (size[1], size[0], 3), np.uint8)
    return spaces.Dict(keys)


class BidEnv(gymnasium.Env[dict[str, Any], str]):
    """`ForageEnv` with BrowserGym's observations, and actions as strings; see `ACTIONS`.

    Free text may be typed and answered. A string that is no action is a step in which nothing is
    done, with the reason in `last_action_error`; it is never executed as code.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own form

    def __init__(self, *, split: str = "train", **settings: Any) -> None:
        """`settings` as of `ForageEnv`; the picture is taken at every step, but by the twin."""
        self._has_pictures = settings.get("driver") not in ("twin", DriverKind.TWIN)
        self._env = ForageEnv(
            split=split, render_mode="rgb_array" if self._has_pictures else None, **settings
        )
        browser = self._env.config.browser
        self._size = (browser.viewport_width_px, browser.viewport_height_px)
        self.action_space = _Of(str)
        self.observation_space = _observation_space(
            with_screenshot=self._has_pictures, size=self._size
        )
        self._started = 0.0
        self._last_action = ""

    @property
    def task(self) -> Task:
        """The task at hand, with its accepted answers: not for the agent."""
        return self._env.task

    @staticmethod
    def action_description() -> str:
        """The functions, for a prompt."""
        return describe_actions()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """As of `ForageEnv`."""
        super().reset(seed=seed)
        _, info = self._env.reset(seed=seed, options=options)
        self._started = time.monotonic()
        self._last_action = ""
        return self._observation(""), {**info, "task_info": {}}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Read one action and carry it out."""
        self._last_action = action
        error = ""
        try:
            meant = parse_action(action, self._env.seen)
        except ValueError as cause:
            meant, error = Meant(action=_NO_EFFECT), f"ValueError: {cause}"
        start_s = time.time()
        _, reward, terminated, truncated, info = self._env.step_action(
            meant.action, own_text=meant.own_text
        )
        info |= {"action_exec_start": start_s, "action_exec_stop": time.time(), "task_info": {}}
        if not error and info["effect"] != "ok":
            error = f"ActionError: nothing was done, {info['effect']}"
        shaped = self._observation(error, answer=info.get("answer", ""))
        return shaped, reward, terminated, truncated, info

    def _observation(self, error: str, *, answer: str = "") -> dict[str, Any]:
        screenshot = None
        if self._has_pictures:
            # Boxes are in CSS px, and the picture is smaller.
            screenshot = cv2.resize(self._env.render(), self._size, interpolation=cv2.INTER_LINEAR)
        return to_browsergym(
            self._env.seen,
            last_action=self._last_action,
            last_action_error=error,
            answer=answer,
            elapsed_s=time.monotonic() - self._started,
            screenshot=screenshot,
        )

    def close(self) -> None:
        """Give the browser back."""
        self._env.close()
