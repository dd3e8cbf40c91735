# SPDX-License-Identifier: Apache-2.0
"""Where to point at a node, and the mouse and keyboard events that act there.

Calls are posted back to back and handled in order: one round trip to find the point, one for the
hit test, one for the events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from envs.browser.cdp import CdpError, Params
from envs.browser.snapshot import split_ref
from envs.browser.tab import Tab
from envs.dom import DomNode

# Tried in turn, as shares of the box: something small may lie over the centre only.
_SPOTS = ((0.5, 0.5), (0.2, 0.5), (0.8, 0.5))
_MIN_AREA_PX = 1.0
_CENTRE = "function () { this.scrollIntoView({block: 'center', behavior: 'instant'}); }"
_HOLDS = "function (inner) { return this.contains(inner); }"
_CONTROL_KEY = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A place in the viewport, CSS px."""

    x: float
    y: float


class NotReachable(Exception):
    """The node cannot be pointed at; `reason` goes into the effect."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def find_point(
    tab: Tab, backend_id: int, nodes: Sequence[DomNode], viewport: tuple[int, int]
) -> Point:
    """Scroll the node into view and return a point where a click hits it.

    `nodes` are the rows of the last snapshot: they say what lies inside the node. Raises
    `NotReachable` ("target_gone", "not_visible", "occluded").
    """
    family = _Family(tab, backend_id, nodes)
    points = await _candidates(tab, backend_id, viewport)
    for attempt in range(2):
        for point in points:
            if await family.is_hit(point):
                return point
        if attempt == 0:  # from under a bar that sticks to the window's edge
            await _run_on(tab, backend_id, _CENTRE)
            points = await _candidates(tab, backend_id, viewport)
    raise NotReachable("occluded")


async def _candidates(tab: Tab, backend_id: int, viewport: tuple[int, int]) -> list[_Spot]:
    node = {"backendNodeId": backend_id}
    calls = (
        tab.post("DOM.scrollIntoViewIfNeeded", node),
        tab.post("DOM.getContentQuads", node),
        tab.post("Page.getLayoutMetrics"),
    )
    try:
        _, answer, metrics = await tab.wait(*calls)
    except CdpError as error:
        raise NotReachable(_lost_reason(error)) from None
    view = metrics["cssLayoutViewport"]
    spots = []
    for quad in answer["quads"]:
        left, right = max(0.0, min(quad[0::2])), min(viewport[0], max(quad[0::2]))
        top, bottom = max(0.0, min(quad[1::2])), min(viewport[1], max(quad[1::2]))
        if right > left and bottom > top and (right - left) * (bottom - top) >= _MIN_AREA_PX:
            spots += [
                _Spot(
                    x=left + across * (right - left),
                    y=top + down * (bottom - top),
                    scroll_x=view["pageX"],
                    scroll_y=view["pageY"],
                )
                for across, down in _SPOTS
            ]
    if not spots:
        raise NotReachable("not_visible")
    return spots


@dataclass(frozen=True, kw_only=True, slots=True)
class _Spot(Point):
    """A point with the scroll offset it was found at: hit tests take document coordinates."""

    scroll_x: float
    scroll_y: float


class _Family:
    """A node and all that counts as hitting it: what is inside it, and its label."""

    def __init__(self, tab: Tab, backend_id: int, nodes: Sequence[DomNode]) -> None:
        self._tab = tab
        self._backend_id = backend_id
        self._nodes = nodes
        self._rows: dict[int, int] | None = None

    async def is_hit(self, spot: _Spot) -> bool:
        place = {"x": round(spot.x + spot.scroll_x), "y": round(spot.y + spot.scroll_y)}
        try:
            answer = await self._tab.call("DOM.getNodeForLocation", place)
        except CdpError:  # nothing there
            return False
        hit = int(answer["backendNodeId"])
        return hit == self._backend_id or await self._holds(hit)

    async def _holds(self, hit: int) -> bool:
        if self._rows is None:
            self._rows = {split_ref(n.node_ref)[1]: i for i, n in enumerate(self._nodes)}
        target, row = self._rows.get(self._backend_id, -1), self._rows.get(hit, -1)
        if target < 0 or row < 0:
            return await self._holds_new(hit)
        name = self._nodes[target].attributes.get("id", "")
        while row >= 0:
            node = self._nodes[row]
            is_own_label = node.tag == "label" and (
                (name and node.attributes.get("for") == name) or self._is_above(row, target)
            )
            if row == target or is_own_label:
                return True
            row = node.parent
        return False

    def _is_above(self, row: int, below: int) -> bool:
        while below > row:
            below = self._nodes[below].parent
        return below == row

    async def _holds_new(self, hit: int) -> bool:
        """Ask the page about a node that came after the snapshot."""
        try:
            inner = await self._tab.call("DOM.resolveNode", {"backendNodeId": hit})
            outer = await self._tab.call("DOM.resolveNode", {"backendNodeId": self._backend_id})
            answer = await self._tab.call(
                "Runtime.callFunctionOn",
                {
                    "objectId": outer["object"]["objectId"],
                    "functionDeclaration": _HOLDS,
                    "arguments": [{"objectId": inner["object"]["objectId"]}],
                    "returnByValue": True,
                },
            )
        except CdpError:
            return False
        return bool(answer["result"].get("value", False))


async def run_on_node(tab: Tab, backend_id: int, function: str, *arguments: object) -> Params:
    """Run a function with the node as `this`; raises `NotReachable` when the node is gone."""
    try:
        return await _run_on(tab, backend_id, function, *arguments)
    except CdpError as error:
        raise NotReachable(_lost_reason(error)) from None


async def _run_on(tab: Tab, backend_id: int, function: str, *arguments: object) -> Params:
    node = await tab.call("DOM.resolveNode", {"backendNodeId": backend_id})
    return await tab.run(function, *arguments, object_id=node["object"]["objectId"])


def _lost_reason(error: CdpError) -> str:
    """A node that exists but has no box is not visible; any other refusal means it is gone."""
    has_no_box = "layout object" in error.message or "box model" in error.message
    return "not_visible" if has_no_box else "target_gone"


# --- Events ----------------------------------------------------------------------------------


def post_hover(tab: Tab, point: Point) -> list[asyncio.Future[Params]]:
    """Move the mouse."""
    return [_post_mouse(tab, "mouseMoved", point)]


def post_click(tab: Tab, point: Point) -> list[asyncio.Future[Params]]:
    """Move the mouse and click."""
    press = {"button": "left", "clickCount": 1}
    return [
        _post_mouse(tab, "mouseMoved", point),
        _post_mouse(tab, "mousePressed", point, buttons=1, **press),
        _post_mouse(tab, "mouseReleased", point, **press),
    ]


def post_replace(tab: Tab, text: str) -> list[asyncio.Future[Params]]:
    """Select all that the focused field holds and put `text` in its place, as a keyboard would."""
    select_all = {
        "type": "rawKeyDown",
        "key": "a",
        "code": "KeyA",
        "windowsVirtualKeyCode": 65,
        "modifiers": _CONTROL_KEY,
        "commands": ["selectAll"],
    }
    calls = [
        tab.post("Input.dispatchKeyEvent", select_all),
        tab.post("Input.dispatchKeyEvent", {**select_all, "type": "keyUp", "commands": []}),
    ]
    if text:
        return [*calls, tab.post("Input.insertText", {"text": text})]
    return calls + _post_key(tab, "Delete", 46)


def post_enter(tab: Tab) -> list[asyncio.Future[Params]]:
    """Press Enter."""
    return _post_key(tab, "Enter", 13, text="\r")


def _post_mouse(tab: Tab, kind: str, point: Point, **more: object) -> asyncio.Future[Params]:
    params = {"type": kind, "x": point.x, "y": point.y, "pointerType": "mouse", **more}
    return tab.post("Input.dispatchMouseEvent", params)


def _post_key(tab: Tab, key: str, code: int, *, text: str = "") -> list[asyncio.Future[Params]]:
    params = {"key": key, "code": key, "windowsVirtualKeyCode": code}
    down = {**params, "type": "keyDown" if text else "rawKeyDown", "text": text}
    return [
        tab.post("Input.dispatchKeyEvent", down),
        tab.post("Input.dispatchKeyEvent", {**params, "type": "keyUp"}),
    ]
