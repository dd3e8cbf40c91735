# SPDX-License-Identifier: Apache-2.0
"""The active page as a `PageSnapshot`: one capture, the history, the focus, maybe a screenshot."""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence

from envs.browser.cdp import CdpError, Params
from envs.browser.snapshot import SNAPSHOT_PARAMS, DecodedPage, decode
from envs.browser.tab import Tab
from envs.config import BrowserConfig
from envs.dom import DomNode, elements_from_dom
from envs.driver import InfraError, PageSnapshot
from envs.types import PageState, StopReason
from envs.types import Tab as TabInfo

_LOG = logging.getLogger(__name__)

_SCREENSHOT_SCALE = 0.5
_JPEG_QUALITY = 80
_BLANK = "about:blank"

# The element with the focus, through frames and shadow roots; null when it is the page itself.
FOCUSED = """() => {
  let node = document.activeElement;
  while (node && node.contentDocument && node.contentDocument.activeElement)
    node = node.contentDocument.activeElement;
  while (node && node.shadowRoot && node.shadowRoot.activeElement)
    node = node.shadowRoot.activeElement;
  return node && node.localName != 'body' && node.localName != 'html' ? node : null;
}"""


async def read_page(
    tab: Tab,
    tabs: Sequence[Tab],
    config: BrowserConfig,
    *,
    max_elements: int,
    with_screenshot: bool,
) -> tuple[PageSnapshot, Sequence[DomNode]]:
    """The page of `tab`, one of `tabs`, and its rows.

    Raises `CdpError` when the document went away meanwhile, and `InfraError`.
    """
    generation = tab.generation
    captured = tab.post("DOMSnapshot.captureSnapshot", SNAPSHOT_PARAMS)
    history = tab.post("Page.getNavigationHistory")
    focused = await _focused_backend_id(tab)
    answer, entries = await tab.wait(captured, history)
    if generation != tab.generation:
        raise CdpError("DOMSnapshot.captureSnapshot", 0, "the document changed meanwhile")
    page = decode(answer, generation=generation, focused=focused)
    state = PageState.IDLE if tab.is_loaded else PageState.LOADING
    screenshot = await _screenshot(tab, page, config) if with_screenshot else b""
    tab.title = page.title
    viewport = (config.viewport_width_px, config.viewport_height_px)
    elements, is_cut_off = elements_from_dom(
        page.nodes,
        base_url=tab.url,
        viewport=viewport,
        scroll_y_px=page.scroll_y_px,
        max_elements=max_elements,
    )
    snapshot = PageSnapshot(
        url=tab.url,
        title=page.title,
        elements=elements,
        is_truncated=is_cut_off or page.is_truncated,
        scroll_y_px=page.scroll_y_px,
        page_height_px=page.height_px,
        viewport=viewport,
        tabs=tuple(TabInfo(url=t.url, title=t.title, active=t is tab) for t in tabs),
        can_go_back=entry_before(entries) is not None,
        state=state,
        screenshot_jpeg=screenshot,
        screenshot_scale=_SCREENSHOT_SCALE if screenshot else 0.0,
    )
    return snapshot, page.nodes


def entry_before(history: Params) -> Params | None:
    """The history entry that "back" leads to; the blank page a tab starts with is not one."""
    index = int(history["currentIndex"]) - 1
    entry: Params | None = history["entries"][index] if index >= 0 else None
    return None if entry is None or entry["url"] == _BLANK else entry


async def _focused_backend_id(tab: Tab) -> int:
    node = await tab.run(FOCUSED, by_value=False)
    if "objectId" not in node:
        return 0
    described = await tab.call("DOM.describeNode", {"objectId": node["objectId"]})
    tab.post("Runtime.releaseObject", {"objectId": node["objectId"]})
    return int(described["node"]["backendNodeId"])


async def _screenshot(tab: Tab, page: DecodedPage, config: BrowserConfig) -> bytes:
    """The viewport at half size; b"" of a page that loads and is not painted in a call's time."""
    clip = {  # in document coordinates
        "x": page.scroll_x_px,
        "y": page.scroll_y_px,
        "width": config.viewport_width_px,
        "height": config.viewport_height_px,
        "scale": _SCREENSHOT_SCALE,
    }
    params: Params = {"format": "jpeg", "quality": _JPEG_QUALITY, "clip": clip}
    try:
        answer = await tab.call("Page.captureScreenshot", params)
    except InfraError as error:
        # Chromium paints nothing, and so takes no picture, before the style sheets are in.
        if error.stop is StopReason.INFRA_TIMEOUT and not tab.is_loaded:
            _LOG.debug("no picture of %s: %s", tab.url, error)
            return b""
        raise
    return base64.b64decode(answer["data"])
