# SPDX-License-Identifier: Apache-2.0
"""HTML to `DomNode` rows with a makeshift layout: one line per block, no style sheets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from lxml import etree, html

from envs.dom import DomNode, absolute_url

LINE_HEIGHT_PX = 24.0
PAGE_WIDTH_PX = 1280.0
_BLOCK_TAGS = frozenset(
    {"p", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "form", "dt", "dd", "article", "img"}
)
_UNRENDERED_TAGS = frozenset({"head", "script", "style", "noscript", "template", "title", "option"})


def dom_from_html(document: html.HtmlElement) -> tuple[list[DomNode], float]:
    """Rows in document order, as the page is before anything is done to it, and its height in px.

    `node_ref` is the element's place in `elements_by_ref`.
    """
    walker = _Walker()
    walker.visit(document, parent=-1, is_rendered=True)
    return walker.nodes, walker.bottom_px + LINE_HEIGHT_PX


class _Walker:
    def __init__(self) -> None:
        self.nodes: list[DomNode] = []
        self.bottom_px = 0.0
        self._next_ref = 0

    def visit(self, element: html.HtmlElement, *, parent: int, is_rendered: bool) -> None:
        tag = element.tag
        if not isinstance(tag, str):  # a comment or processing instruction
            return
        ref = self._next_ref
        self._next_ref += 1
        tag = tag.lower()
        attributes: dict[str, str] = dict(element.attrib)
        is_rendered = is_rendered and _is_rendered(tag, attributes)
        if is_rendered and tag in _BLOCK_TAGS:
            self.bottom_px += LINE_HEIGHT_PX
        row = len(self.nodes)
        self.nodes.append(
            DomNode(
                parent=parent,
                tag=tag,
                attributes=attributes,
                text="",
                box=(0.0, self.bottom_px, PAGE_WIDTH_PX / 2, LINE_HEIGHT_PX),
                is_rendered=is_rendered,
                node_ref=ref,
                value=_initial_value(element, tag, attributes),
                is_checked="checked" in attributes,
            )
        )
        self._add_text(element.text, row, is_rendered)
        for child in element:
            self.visit(child, parent=row, is_rendered=is_rendered)
            self._add_text(child.tail, row, is_rendered)

    def _add_text(self, text: str | None, parent: int, is_rendered: bool) -> None:
        if text:  # blanks, too: they part the words of neighbours
            self.nodes.append(
                DomNode(
                    parent=parent,
                    tag="#text",
                    attributes={},
                    text=text,
                    box=(0.0, self.bottom_px, PAGE_WIDTH_PX / 2, LINE_HEIGHT_PX),
                    is_rendered=is_rendered,
                    node_ref=-1,
                )
            )


def _is_rendered(tag: str, attributes: Mapping[str, str]) -> bool:
    if tag in _UNRENDERED_TAGS or "hidden" in attributes:
        return False
    style = attributes.get("style", "").replace(" ", "")
    return "display:none" not in style and "visibility:hidden" not in style


def _initial_value(element: html.HtmlElement, tag: str, attributes: Mapping[str, str]) -> str:
    if tag == "input":
        return attributes.get("value", "")
    if tag == "textarea":
        return element.text or ""
    if tag == "select":
        chosen = chosen_option(element, None)
        return option_label(chosen) if chosen is not None else ""
    return ""


def chosen_option(select: html.HtmlElement, label: str | None) -> html.HtmlElement | None:
    """The option called `label`; for None, and for none so called, the one the page has chosen."""
    options = list(select.iter("option"))
    named = (o for o in options if label is not None and option_label(o) == label)
    selected = (o for o in options if "selected" in o.attrib)
    return next(itertools.chain(named, selected, options), None)


def option_label(option: html.HtmlElement) -> str:
    """What a person reads in a select box."""
    return " ".join((option.text_content() or option.get("value", "")).split())


def parse_html(body: bytes) -> html.HtmlElement:
    """The document; an empty body becomes an empty page."""
    try:
        return html.document_fromstring(body or b"<html></html>")
    except etree.ParserError:
        return html.document_fromstring(b"<html><body></body></html>")


def base_url(document: html.HtmlElement, page_url: str) -> str:
    """Where the document's links start from: its first `base`, else its own address."""
    base = document.find(".//base[@href]")
    return (absolute_url(page_url, base.get("href")) if base is not None else "") or page_url


def elements_by_ref(document: html.HtmlElement) -> list[html.HtmlElement]:
    """Elements in the order of their `node_ref`."""
    return [e for e in document.iter() if isinstance(e.tag, str)]
