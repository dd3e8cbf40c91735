# SPDX-License-Identifier: Apache-2.0
"""One `DOMSnapshot.captureSnapshot` to `DomNode` rows: every frame, absolute boxes, styles.

The snapshot is columns of integers that point into one table of strings. Documents are nested where
their iframe stands. The box of a node in a frame is, in the main document's coordinates,
`box of the iframe + its border + its padding - scroll offset of the frame + box in the frame`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from envs.dom import DEFAULT_STYLE, Box, DomNode, NodeStyle, fold

_STYLES = (
    "visibility",
    "font-size",
    "font-weight",
    "cursor",
    "color",
    "position",
    "border-left-width",
    "border-top-width",
    "padding-left",
    "padding-top",
)
_VISIBILITY = _STYLES.index("visibility")
_FRAME_INSETS = slice(_STYLES.index("border-left-width"), len(_STYLES))
SNAPSHOT_PARAMS: dict[str, Any] = {"computedStyles": list(_STYLES)}

_ELEMENT, _TEXT, _DOCUMENT, _FRAGMENT = 1, 3, 9, 11
# Never an element, and often most of a document's bytes.
_DROPPED_TAGS = frozenset({"SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD"})
# A page with more is cut off: half a second of work, and no agent looks that far.
MAX_NODES = 20_000
_REF_SHIFT = 32
_NUMBERS = re.compile(r"[\d.]+")
_BOLD_WEIGHT = 600
_NO_BOX: Box = (0.0, 0.0, 0.0, 0.0)
_DROPPED = -2
# Rec. 709 weights of red, green and blue.
_LUMINANCE_WEIGHTS = (0.2126, 0.7152, 0.0722)


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodedPage:
    """A page as rows; `nodes` in document order, frames nested in place."""

    nodes: list[DomNode]
    title: str
    scroll_x_px: float
    scroll_y_px: float
    height_px: float
    is_truncated: bool  # `MAX_NODES` cut rows off


def node_ref(generation: int, backend_id: int) -> int:
    """Handle of a node: backend ids are used again in other documents, generations are not."""
    return generation << _REF_SHIFT | backend_id


def split_ref(ref: int) -> tuple[int, int]:
    """Generation and backend id of a handle."""
    return ref >> _REF_SHIFT, ref & ((1 << _REF_SHIFT) - 1)


def decode(answer: dict[str, Any], *, generation: int, focused: int) -> DecodedPage:
    """Rows of a snapshot; `focused` is the backend id of the node with the focus, or 0."""
    documents, strings = answer["documents"], answer["strings"]
    main = documents[0]
    decoder = _Decoder(documents, strings, generation, focused)
    decoder.add_document(0, parent=-1, origin=(0.0, 0.0))
    return DecodedPage(
        nodes=decoder.nodes,
        title=strings[main["title"]] if main["title"] >= 0 else "",
        scroll_x_px=float(main.get("scrollOffsetX", 0.0)),
        scroll_y_px=float(main.get("scrollOffsetY", 0.0)),
        height_px=float(main.get("contentHeight", 0.0)),
        is_truncated=len(decoder.nodes) >= MAX_NODES,
    )


@dataclass(slots=True)
class _Decoder:
    documents: list[dict[str, Any]]
    strings: list[str]
    generation: int
    focused: int
    nodes: list[DomNode] = field(default_factory=list)
    num_frames: int = 0
    styles: dict[tuple[int, ...], NodeStyle] = field(default_factory=dict)
    tags: dict[int, str] = field(default_factory=dict)

    def add_document(self, index: int, *, parent: int, origin: tuple[float, float]) -> None:
        """Append a document's rows, frames in it included; `origin` is added to every box."""
        document = self.documents[index]
        base_url = self.strings[document["baseURL"]] if document["baseURL"] >= 0 else ""
        frame = _Frame.of(document, slot=self.num_frames, base_url=base_url)
        self.num_frames += 1
        strings, frames = self.strings, frame.content_documents
        rows: list[int] = []  # by index in the document; _DROPPED for what has no row
        for i, kind in enumerate(frame.kinds):
            if len(self.nodes) >= MAX_NODES:
                return
            above = rows[frame.parents[i]] if frame.parents[i] >= 0 else parent
            if above == _DROPPED or i in frame.hidden:
                rows.append(_DROPPED)
            elif kind in (_DOCUMENT, _FRAGMENT):
                rows.append(above)
            elif kind == _TEXT:
                rows.append(self._add_text(frame, i, above, origin))
            elif kind == _ELEMENT and strings[frame.names[i]].upper() not in _DROPPED_TAGS:
                rows.append(self._add_element(frame, i, above, origin))
                if i in frames:
                    inner = self._inner_origin(frame, i, origin, frames[i])
                    self.add_document(frames[i], parent=rows[i], origin=inner)
            else:
                rows.append(_DROPPED)

    def _add_text(self, frame: _Frame, i: int, parent: int, origin: tuple[float, float]) -> int:
        text_index = frame.values[i]
        text = self.strings[text_index] if text_index >= 0 else ""
        layout = frame.layout_of.get(i)
        # Blanks between two words of one line are laid out, those between blocks are not.
        if not text or (layout is None and text.isspace()):
            return _DROPPED
        self.nodes.append(
            DomNode(
                parent=parent,
                tag="#text",
                attributes={},
                text=text,
                box=_moved(frame.bounds[layout], origin) if layout is not None else _NO_BOX,
                is_rendered=layout is not None and self._is_visible(frame.styles[layout]),
                node_ref=node_ref(self.generation, frame.backend_ids[i]),
                frame_slot=frame.slot,
            )
        )
        return len(self.nodes) - 1

    def _add_element(self, frame: _Frame, i: int, parent: int, origin: tuple[float, float]) -> int:
        strings = self.strings
        name, pairs = frame.names[i], frame.attributes[i]
        tag = self.tags.get(name)
        if tag is None:
            tag = self.tags[name] = strings[name].lower()
        layout = frame.layout_of.get(i)
        backend_id = frame.backend_ids[i]
        attributes = {
            strings[pairs[k]]: strings[pairs[k + 1]] if pairs[k + 1] >= 0 else ""
            for k in range(0, len(pairs), 2)
        }
        self.nodes.append(
            DomNode(
                parent=parent,
                tag=tag,
                attributes=attributes,
                text="",
                box=_moved(frame.bounds[layout], origin) if layout is not None else _NO_BOX,
                is_rendered=layout is not None and self._is_visible(frame.styles[layout]),
                node_ref=node_ref(self.generation, backend_id),
                frame_slot=frame.slot,
                base_url=frame.base_url,
                style=self._style(frame.styles[layout]) if layout is not None else DEFAULT_STYLE,
                value=self._value(frame, i, tag, attributes),
                is_checked=i in frame.checked,
                is_focused=backend_id == self.focused,
                has_listener=i in frame.clickable,
            )
        )
        return len(self.nodes) - 1

    def _value(self, frame: _Frame, i: int, tag: str, attributes: dict[str, str]) -> str:
        if tag == "select":
            return self._selected_label(frame, i)
        if attributes.get("type") in ("checkbox", "radio"):
            return attributes.get("value", "")  # not the "on" that the browser makes up
        index = frame.input_values.get(i, -1)
        return self.strings[index] if index >= 0 else ""

    def _selected_label(self, frame: _Frame, select: int) -> str:
        """What a person reads in the box: the label of its first selected option."""
        at = bisect_right(frame.selected, select)
        if at == len(frame.selected):
            return ""
        option = frame.selected[at]
        above = frame.parents[option]
        while above > select:
            above = frame.parents[above]
        if above != select:
            return ""
        texts = []
        for i in range(option + 1, len(frame.kinds)):
            if frame.parents[i] < option:
                break
            if frame.kinds[i] == _TEXT and frame.values[i] >= 0:
                texts.append(self.strings[frame.values[i]])
        return fold(" ".join(texts))

    def _is_visible(self, styles: list[int]) -> bool:
        return not styles or self.strings[styles[_VISIBILITY]] == "visible"

    def _style(self, styles: list[int]) -> NodeStyle:
        key = tuple(styles)
        style = self.styles.get(key)
        if style is None:
            style = self.styles[key] = _parse_style([self.strings[s] for s in styles])
        return style

    def _inner_origin(
        self, frame: _Frame, i: int, origin: tuple[float, float], document: int
    ) -> tuple[float, float]:
        """What to add to the boxes of the document in iframe `i`."""
        layout = frame.layout_of.get(i)
        if layout is None:
            return origin
        left, top, _, _ = _moved(frame.bounds[layout], origin)
        insets = [self.strings[s] for s in frame.styles[layout][_FRAME_INSETS]]
        border_left, border_top, padding_left, padding_top = (_number(text) for text in insets)
        child = self.documents[document]
        return (
            left + border_left + padding_left - float(child.get("scrollOffsetX", 0.0)),
            top + border_top + padding_top - float(child.get("scrollOffsetY", 0.0)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Frame:
    """Columns of one document [N nodes, L layout boxes]; sparse columns as dicts and sets."""

    slot: int
    base_url: str
    kinds: list[int]  # [N] DOM node types
    parents: list[int]  # [N] -1 at the root
    names: list[int]  # [N] string indices, as are the next two
    values: list[int]  # [N]
    attributes: list[list[int]]  # [N] name, value, name, value, ...
    backend_ids: list[int]  # [N]
    layout_of: dict[int, int]  # node -> row of the next two; an inline node keeps its first
    bounds: list[list[float]]  # [L]
    styles: list[list[int]]  # [L] string indices in the order of _STYLES
    hidden: set[int]  # pseudo-elements: their text is the style sheet's, not the page's
    clickable: set[int]
    checked: set[int]
    selected: list[int]  # ascending
    input_values: dict[int, int]
    content_documents: dict[int, int]

    @classmethod
    def of(cls, document: dict[str, Any], *, slot: int, base_url: str) -> _Frame:
        nodes, layout = document["nodes"], document["layout"]
        layout_of: dict[int, int] = {}
        for row, node in enumerate(layout["nodeIndex"]):
            layout_of.setdefault(node, row)
        inputs = _sparse(nodes, "inputValue")
        inputs.update(_sparse(nodes, "textValue"))
        return cls(
            slot=slot,
            base_url=base_url,
            kinds=nodes["nodeType"],
            parents=nodes["parentIndex"],
            names=nodes["nodeName"],
            values=nodes["nodeValue"],
            attributes=nodes["attributes"],
            backend_ids=nodes["backendNodeId"],
            layout_of=layout_of,
            bounds=layout["bounds"],
            styles=layout["styles"],
            hidden=set(nodes.get("pseudoType", {}).get("index", ())),
            clickable=set(nodes.get("isClickable", {}).get("index", ())),
            checked=set(nodes.get("inputChecked", {}).get("index", ())),
            selected=sorted(nodes.get("optionSelected", {}).get("index", ())),
            input_values=inputs,
            content_documents=_sparse(nodes, "contentDocumentIndex"),
        )


def _sparse(nodes: dict[str, Any], name: str) -> dict[int, int]:
    column = nodes.get(name, {})
    return dict(zip(column.get("index", ()), column.get("value", ()), strict=True))


def _moved(bounds: list[float], origin: tuple[float, float]) -> Box:
    return (bounds[0] + origin[0], bounds[1] + origin[1], bounds[2], bounds[3])


def _parse_style(values: list[str]) -> NodeStyle:
    _, font_size, weight, cursor, color, position = values[:6]
    return NodeStyle(
        font_size_px=_number(font_size),
        is_bold=_number(weight) >= _BOLD_WEIGHT,
        is_pointer=cursor == "pointer",
        luminance=_luminance(color),
        is_fixed=position == "fixed",
    )


def _number(text: str) -> float:
    match = _NUMBERS.match(text)
    return float(match.group()) if match else 0.0


def _luminance(color: str) -> float:
    """Relative luminance in [0, 1] of "rgb(r, g, b)" or "rgba(...)", without gamma."""
    channels = [float(part) / 255.0 for part in _NUMBERS.findall(color)[:3]]
    if len(channels) < 3:
        return 0.0
    total = sum(w * c for w, c in zip(_LUMINANCE_WEIGHTS, channels, strict=True))
    return min(1.0, total)
