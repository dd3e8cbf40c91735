# SPDX-License-Identifier: Apache-2.0
"""A loaded document of the twin: what was done to it, and its element table.

Rows and boxes follow from the document alone, so they are read once and kept until it changes;
what was typed, where the focus is and how far the page is scrolled is put over them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lxml import html

from envs.dom import PageElement, elements_from_dom, fold, meets_viewport
from envs.twin.html_dom import base_url, dom_from_html, elements_by_ref

VIEWPORT = (1280, 720)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What follows from a document alone, untouched and at its top."""

    url: str  # where it was read
    title: str
    base_url: str
    by_ref: list[html.HtmlElement]  # in the order of their `node_ref`
    elements: tuple[PageElement, ...]
    is_truncated: bool  # there are more than `max_elements`
    height_px: float


@dataclass(kw_only=True, slots=True)
class Page:
    """A document, where it was visited and what was done to it.

    Whoever changes `document` says so by `changed`.
    """

    urls: list[str]  # the places in it that were visited, oldest first
    document: html.HtmlElement
    max_elements: int
    values: dict[int, str] = field(default_factory=dict)  # what was typed or chosen, by node_ref
    focused: int = -1
    scroll_y_px: float = 0.0
    is_failed: bool = False  # nothing answered
    late: list[tuple[float, html.HtmlElement]] = field(default_factory=list)  # when it swaps
    _reading: Reading | None = None

    @property
    def url(self) -> str:
        """Where the page stands."""
        return self.urls[-1]

    @property
    def host(self) -> str:
        """Whose cookies it has."""
        return urlsplit(self.url).hostname or ""

    def reading(self) -> Reading:
        """The document as read, from memory if nothing changed it."""
        if self._reading is None or self._reading.url != self.url:
            self._reading = self._read()
        return self._reading

    def elements(self) -> tuple[PageElement, ...]:
        """The element table as it is now."""
        return tuple(self._now(element) for element in self.reading().elements)

    def element(self, node_ref: int) -> html.HtmlElement | None:
        """The element behind a handle."""
        by_ref = self.reading().by_ref
        return by_ref[node_ref] if 0 <= node_ref < len(by_ref) else None

    def typed(self) -> dict[html.HtmlElement, str]:
        """Values of the fields that were touched."""
        by_ref = self.reading().by_ref
        return {by_ref[ref]: value for ref, value in self.values.items()}

    def changed(self) -> None:
        """The document is another than it was read."""
        self._reading = None

    def swap_late(self, now_ms: float) -> None:
        """Let come and go what is due; see `envs.site.Site`."""
        due = [element for due_ms, element in self.late if due_ms <= now_ms]
        if not due:
            return
        for element in due:
            if element.attrib.pop("hidden", None) is None:
                element.set("hidden", "")
        self.late = [(due_ms, element) for due_ms, element in self.late if due_ms > now_ms]
        self.changed()

    def remove(self, layer: html.HtmlElement) -> None:
        """Drop an element; fields keep their values although the rows behind it move up."""
        held, focused = self.typed(), self.element(self.focused)
        layer.drop_tree()
        self.changed()
        refs = {element: ref for ref, element in enumerate(self.reading().by_ref)}
        self.values = {refs[e]: value for e, value in held.items() if e in refs}
        self.focused = -1 if focused is None else refs.get(focused, -1)

    def _read(self) -> Reading:
        links_from = base_url(self.document, self.url)
        nodes, height_px = dom_from_html(self.document)
        elements, is_truncated = elements_from_dom(
            nodes,
            base_url=links_from,
            viewport=VIEWPORT,
            scroll_y_px=0.0,
            max_elements=self.max_elements,
        )
        return Reading(
            url=self.url,
            title=fold(self.document.findtext(".//title") or ""),
            base_url=links_from,
            by_ref=elements_by_ref(self.document),
            elements=elements,
            is_truncated=is_truncated,
            height_px=height_px,
        )

    def _now(self, element: PageElement) -> PageElement:
        ref = element.node_ref
        value = self.values.get(ref, element.value)
        is_focused = ref == self.focused
        is_in_view = meets_viewport(element.box, VIEWPORT, self.scroll_y_px)
        if (value, is_focused, is_in_view) == (element.value, False, element.is_in_view):
            return element
        return dataclasses.replace(
            element, value=value, is_focused=is_focused, is_in_view=is_in_view
        )
