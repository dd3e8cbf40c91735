# SPDX-License-Identifier: Apache-2.0
"""A document as rows, and the element table's rows made from it.

Both drivers produce `DomNode` rows (Chromium from one `DOMSnapshot`, the twin from the HTML), so
one rule decides what counts as an element, what its text is and what surrounds it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urljoin

from envs.types import Role

MAX_TEXT_CHARS = 600
MAX_CONTEXT_CHARS = 300
# A fixed layer over this share of the viewport catches every click, whatever it is called.
MODAL_VIEWPORT_SHARE = 0.6

# A web address with a host: seen from another web page, only that page's scheme matters.
_HAS_HOST = re.compile(r"https?://[^/?#]")
_MAX_URLS_KEPT = 4096
_SKIPPED_TAGS = frozenset(
    {"script", "style", "noscript", "template", "head", "title", "meta", "link"}
)
_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCK_ROLES = {
    **dict.fromkeys(_HEADING_TAGS, Role.HEADING),
    **dict.fromkeys(("p", "blockquote", "pre", "figcaption", "label"), Role.PARAGRAPH),
    **dict.fromkeys(("li", "dt", "dd"), Role.LIST_ITEM),
    "tr": Role.TABLE_ROW,
}
_CONTAINER_TAGS = frozenset({"div", "section", "main", "aside", "td", "span", "header", "footer"})
_CONTEXT_TAGS = frozenset({"p", "li", "tr", "article", "dd", "blockquote", "figure"})
_INPUT_BUTTONS = frozenset({"submit", "button", "reset", "image"})
_INPUT_CHECKS = frozenset({"checkbox", "radio"})
_INPUT_UNSEEN = frozenset({"hidden", "file"})


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeStyle:
    """The part of a node's computed style that elements are made from."""

    font_size_px: float = 16.0
    is_bold: bool = False
    is_pointer: bool = False
    luminance: float = 0.0
    is_fixed: bool = False


DEFAULT_STYLE = NodeStyle()
Box = tuple[float, float, float, float]  # x, y, width, height; CSS px, document coordinates


@dataclass(frozen=True, kw_only=True, slots=True)
class DomNode:
    """One node in document order; text nodes have the tag "#text"."""

    parent: int  # row of the parent, always smaller than the own row; -1 at the root
    tag: str  # lower case
    attributes: Mapping[str, str]
    text: str  # of a text node, else ""
    box: Box
    is_rendered: bool  # has a layout box and is not visibility: hidden
    node_ref: int  # the driver's handle
    frame_slot: int = 0
    base_url: str = ""  # that links in it start from; "" is the page's
    style: NodeStyle = DEFAULT_STYLE
    value: str = ""  # current value of a field
    is_checked: bool = False
    is_focused: bool = False
    has_listener: bool = False  # a script listens for clicks on it


@dataclass(frozen=True, kw_only=True, slots=True)
class PageElement:
    """One row of the element table before the env adds what it knows of the episode."""

    node_ref: int
    role: Role
    text: str
    context: str
    value: str
    href: str
    options: tuple[str, ...]
    box: Box
    frame_slot: int
    is_in_view: bool
    is_occluded: bool
    is_focused: bool
    is_disabled: bool
    is_checked: bool
    is_clickable: bool
    is_typable: bool
    is_in_dialog: bool
    style: NodeStyle


def fold(text: str) -> str:
    """White space folded to single spaces, ends trimmed."""
    return " ".join(text.split())


def absolute_url(base_url: str, url: str) -> str:
    """`url` as seen from `base_url`; "" for what is no URL, as pages may write anything there."""
    scheme, mark, _ = base_url.partition("://")
    is_from_anywhere = mark and _HAS_HOST.match(url)
    return _joined(f"{scheme}://" if is_from_anywhere else base_url, url)


@lru_cache(maxsize=_MAX_URLS_KEPT)
def _joined(base_url: str, url: str) -> str:
    try:
        return urljoin(base_url, url)
    except ValueError:
        return ""


class _Document:
    """Children, texts, controls and ancestors of a row list."""

    def __init__(self, nodes: Sequence[DomNode]) -> None:
        self.nodes = nodes
        self.children: list[list[int]] = [[] for _ in nodes]
        for row, node in enumerate(nodes):
            if node.parent >= 0:
                self.children[node.parent].append(row)
        self.controls = [_interactive_role(node) for node in nodes]
        self._texts: dict[int, str] = {}

    def text(self, row: int) -> str:
        """Rendered text below a row, folded."""
        found = self._texts.get(row)
        if found is None:
            found = self._texts[row] = fold(self._raw_text(row))
        return found

    def is_below(self, tops: Collection[int]) -> list[bool]:
        """Of each row, whether it is one of `tops` or stands below one."""
        found: list[bool] = []
        for row, node in enumerate(self.nodes):
            found.append(row in tops or (node.parent >= 0 and found[node.parent]))
        return found

    def is_above(self, rows: Collection[int]) -> list[bool]:
        """Of each row, whether one of `rows` stands below it."""
        found = [False] * len(self.nodes)
        for row in reversed(range(len(self.nodes))):
            parent = self.nodes[row].parent
            if parent >= 0 and (found[row] or row in rows):
                found[parent] = True
        return found

    def _raw_text(self, row: int) -> str:
        """Texts below a row in order; a stack, because pages nest deeper than Python may."""
        parts: list[str] = []
        stack: list[int | str] = [row]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
                continue
            node = self.nodes[item]
            tag = node.tag
            if tag == "#text":
                if node.is_rendered:
                    parts.append(node.text)
            elif tag == "tr":
                parts.append(
                    _row_text([(self.nodes[c].tag, self.text(c)) for c in self.children[item]])
                )
            elif tag not in _TEXTLESS_TAGS:
                if tag not in _INLINE_TAGS:
                    parts.append(" ")
                    stack.append(" ")
                stack.extend(reversed(self.children[item]))
        return "".join(parts)

    def ancestors(self, row: int) -> list[int]:
        """Rows from the parent up to the root."""
        found = []
        row = self.nodes[row].parent
        while row >= 0:
            found.append(row)
            row = self.nodes[row].parent
        return found


_TEXTLESS_TAGS = _SKIPPED_TAGS | {"select", "textarea"}
_INLINE_TAGS = frozenset(
    {"a", "b", "i", "em", "strong", "span", "small", "sup", "sub", "mark", "u"}
)


def _row_text(cells: Sequence[tuple[str, str]]) -> str:
    """A table row: "Header: value" when it starts with a header cell, else cells joined by bars."""
    texts = [(tag, text) for tag, text in cells if tag in ("th", "td") and text]
    if len(texts) >= 2 and texts[0][0] == "th" and texts[1][0] == "td":
        return f"{texts[0][1]}: " + " | ".join(text for _, text in texts[1:])
    return " | ".join(text for _, text in texts)


def elements_from_dom(
    nodes: Sequence[DomNode],
    *,
    base_url: str,
    viewport: tuple[int, int],
    scroll_y_px: float,
    max_elements: int,
) -> tuple[tuple[PageElement, ...], bool]:
    """Rows of the element table in document order, and whether `max_elements` cut some off."""
    document = _Document(nodes)
    blocks = {row for row, node in enumerate(nodes) if _is_text_block(document, row, node)}
    has_block = document.is_above(blocks)
    in_table_row = document.is_below({row for row, node in enumerate(nodes) if node.tag == "tr"})
    dialogs, modals = _layers(nodes, viewport)
    in_dialog, in_modal = document.is_below(dialogs), document.is_below(modals)
    elements: list[PageElement] = []
    heading = ""
    for row, node in enumerate(nodes):
        if not node.is_rendered or node.tag == "#text":
            continue
        if node.tag in _HEADING_TAGS:
            heading = document.text(row)[:MAX_CONTEXT_CHARS]
        role = document.controls[row]
        is_text = role is None
        if is_text:
            if row not in blocks or (has_block[row] and node.tag != "tr"):
                continue
            if node.tag != "tr" and _only_repeats_a_control(document, row):
                continue
            if node.parent >= 0 and in_table_row[node.parent]:
                continue
            role = _BLOCK_ROLES.get(node.tag, Role.PARAGRAPH)
        assert role is not None
        if len(elements) == max_elements:
            return tuple(elements), True
        elements.append(
            PageElement(
                node_ref=node.node_ref,
                role=role,
                text=_label(document, row, role),
                context=heading if is_text else _context(document, row) or heading,
                value=node.value,
                href=_target(node, base_url) if role is Role.LINK else "",
                options=_options(document, row) if role is Role.SELECT else (),
                box=node.box,
                frame_slot=node.frame_slot,
                is_in_view=meets_viewport(node.box, viewport, scroll_y_px),
                is_occluded=bool(modals) and not in_modal[row],
                is_focused=node.is_focused,
                is_disabled="disabled" in node.attributes,
                is_checked=node.is_checked,
                is_clickable=node.has_listener or not (is_text or role is Role.IMAGE),
                is_typable=role is Role.TEXTBOX and "readonly" not in node.attributes,
                is_in_dialog=in_dialog[row],
                style=node.style,
            )
        )
    return tuple(elements), False


def page_text(elements: Sequence[PageElement], max_chars: int) -> str:
    """Text blocks joined by newlines, capped."""
    return "\n".join(e.text for e in elements if e.role.is_text())[:max_chars]


def _layers(nodes: Sequence[DomNode], viewport: tuple[int, int]) -> tuple[set[int], set[int]]:
    """Rows of dialogs and fixed layers, and of those that catch every click."""
    dialogs: set[int] = set()
    modals: set[int] = set()
    area = viewport[0] * viewport[1]
    for row, node in enumerate(nodes):
        if not node.is_rendered:
            continue
        is_named = node.attributes.get("role") in ("dialog", "alertdialog")
        covers = node.box[2] * node.box[3] >= MODAL_VIEWPORT_SHARE * area
        if is_named or node.style.is_fixed:
            dialogs.add(row)
        if node.attributes.get("aria-modal") == "true" or (node.style.is_fixed and covers):
            modals.add(row)
    return dialogs, modals


def _interactive_role(node: DomNode) -> Role | None:
    """Role of a control, or None for anything else."""
    if node.tag == "#text":
        return None
    if node.tag == "a" and "href" in node.attributes:
        return Role.LINK
    if node.tag == "button" or node.attributes.get("role") == "button":
        return Role.BUTTON
    if node.tag == "textarea":
        return Role.TEXTBOX
    if node.tag == "select":
        return Role.SELECT
    if node.tag == "input":
        kind = node.attributes.get("type", "text").lower()
        if kind in _INPUT_UNSEEN:
            return None
        if kind in _INPUT_BUTTONS:
            return Role.BUTTON
        return Role.CHECKBOX if kind in _INPUT_CHECKS else Role.TEXTBOX
    if node.tag == "img" and node.attributes.get("alt"):
        return Role.IMAGE
    return None


def _is_text_block(document: _Document, row: int, node: DomNode) -> bool:
    if not node.is_rendered or node.tag == "input":
        return False
    if node.tag in _BLOCK_ROLES:
        return bool(document.text(row))
    if node.tag in _CONTAINER_TAGS and node.tag != "span":
        return any(
            document.nodes[c].tag == "#text" and document.text(c) for c in document.children[row]
        )
    return False


def _only_repeats_a_control(document: _Document, row: int) -> bool:
    """Whether the block's whole text is the text of the controls in it (a link in a list item)."""
    stack, control_texts = list(reversed(document.children[row])), []
    while stack:
        child = stack.pop()
        if document.controls[child] is not None:
            control_texts.append(document.text(child))
        else:
            stack.extend(reversed(document.children[child]))
    return bool(control_texts) and fold(" ".join(control_texts)) == document.text(row)


def _label(document: _Document, row: int, role: Role) -> str:
    """What a person would call the element."""
    attributes = document.nodes[row].attributes
    shown = document.text(row)
    if not shown and role is Role.BUTTON:
        shown = attributes.get("value", "")
    if not shown:
        shown = next(
            (
                attributes[k]
                for k in ("aria-label", "placeholder", "alt", "title", "name")
                if attributes.get(k)
            ),
            "",
        )
    return fold(shown)[:MAX_TEXT_CHARS]


def _context(document: _Document, row: int) -> str:
    """Text of the nearest enclosing block that says more than the element itself, else ""."""
    own = document.text(row)
    for ancestor in document.ancestors(row):
        if document.nodes[ancestor].tag in _CONTEXT_TAGS and document.text(ancestor) != own:
            return document.text(ancestor)[:MAX_CONTEXT_CHARS]
    return ""


def _target(link: DomNode, base_url: str) -> str:
    return absolute_url(link.base_url or base_url, link.attributes["href"])


def _options(document: _Document, row: int) -> tuple[str, ...]:
    """Labels of a select box's options, groups flattened."""
    labels = []
    for child in range(row + 1, len(document.nodes)):
        if row not in document.ancestors(child):
            break
        if document.nodes[child].tag == "option":
            texts = (document.nodes[c].text for c in document.children[child])
            labels.append(
                fold(" ".join(texts)) or document.nodes[child].attributes.get("value", "")
            )
    return tuple(labels)


def meets_viewport(box: Box, viewport: tuple[int, int], scroll_y_px: float) -> bool:
    """Whether part of a box can be seen."""
    top = box[1] - scroll_y_px
    return box[2] > 0 and box[3] > 0 and top < viewport[1] and top + box[3] > 0
