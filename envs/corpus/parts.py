# SPDX-License-Identifier: Apache-2.0
"""Cuts a document's blocks so that an agent sees all of it. Pure.

An observation has a bounded number of elements, a bounded text per element and a bounded number of
spans per note. So long paragraphs are cut at the ends of sentences, long tables and lists between
rows, and what is left is dealt out over the parts of a document, each a page.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence

from lxml import html

from envs.dom import MAX_TEXT_CHARS

# A note of this length rarely has more spans than `envs.spans.MAX_SPANS_PER_NOTE`.
MAX_PARAGRAPH_CHARS = 300
_COUNTED = ("p", "li", "dt", "dd", "tr", "a", "img", "blockquote", "pre", "h2", "h3", "h4")
# Latin marks end a sentence before a space, Chinese ones anywhere.
_SENTENCE = re.compile(
    r".*?(?:[.!?;]+[\"”’)\]]*(?:\s+|$)|[。！？；]+[”’）」』]*\s*)|.+?$", re.DOTALL
)
_SENTENCE_END = re.compile(r"[.!?;。！？；][\"”’)\]）」』]*\s*$")
_WRAPPED = re.compile(
    rf".{{1,{MAX_PARAGRAPH_CHARS}}}(?:\s+|$)|.{{{MAX_PARAGRAPH_CHARS}}}", re.DOTALL
)


def pack(blocks: Sequence[html.HtmlElement], max_elements: int) -> list[list[html.HtmlElement]]:
    """The parts of a document, at least one; none has more than `max_elements` where cutting helps.

    A row or item that alone has more stays whole.
    """
    parts: list[list[html.HtmlElement]] = [[]]
    room = max_elements
    for block in blocks:
        for piece in _cut(block, max_elements):
            size = num_elements(piece)
            if size > room and parts[-1]:
                parts.append([])
                room = max_elements
            parts[-1].append(piece)
            room -= size
    return parts


def num_elements(block: html.HtmlElement) -> int:
    """About as many rows as the block has in the element table."""
    return sum(1 for _ in block.iter(*_COUNTED))


def sentences(text: str) -> list[str]:
    """A text cut behind the ends of its sentences, long ones also within; joined they are it."""
    return [piece for whole in _SENTENCE.findall(text) for piece in _WRAPPED.findall(whole)]


def _cut(block: html.HtmlElement, max_elements: int) -> Iterator[html.HtmlElement]:
    if block.tag == "p":
        yield from _cut_paragraph(block)
    elif num_elements(block) <= max_elements:
        yield block
    elif block.tag == "table":
        yield from _cut_table(block, max_elements)
    elif block.tag in ("ul", "ol", "dl", "blockquote"):
        yield from _cut_list(block, max_elements)
    else:
        yield block


def _cut_paragraph(block: html.HtmlElement) -> Iterator[html.HtmlElement]:
    """Paragraphs of about `MAX_PARAGRAPH_CHARS`, cut between sentences of the own text."""
    if len(block.text_content()) <= MAX_PARAGRAPH_CHARS:
        yield block
        return
    now = html.Element("p")
    num_chars = 0
    for piece in _pieces(block):
        length = len(piece if isinstance(piece, str) else piece.text_content())
        total = num_chars + length
        # Behind a sentence, as a link belongs to the words before it; else before text is lost.
        if num_chars and (
            total > MAX_TEXT_CHARS
            or (total > MAX_PARAGRAPH_CHARS and _SENTENCE_END.search(now.text_content()))
        ):
            yield now
            now, num_chars = html.Element("p"), 0
        if not isinstance(piece, str):
            now.append(piece)
        elif len(now):
            now[-1].tail = (now[-1].tail or "") + piece
        else:
            now.text = (now.text or "") + piece
        num_chars += length
    if num_chars:
        yield now


def _pieces(block: html.HtmlElement) -> Iterator[str | html.HtmlElement]:
    yield from sentences(block.text or "")
    for child in list(block):
        tail, child.tail = child.tail, None
        yield child
        yield from sentences(tail or "")


def _cut_table(table: html.HtmlElement, max_elements: int) -> Iterator[html.HtmlElement]:
    """Tables of fewer rows, each with the head and the caption of the first."""
    rows = list(table.iter("tr"))
    num_head = 1 if rows and all(cell.tag == "th" for cell in rows[0]) else 0
    head, body = rows[:num_head], rows[num_head:]
    room = max_elements - sum(num_elements(row) for row in head)
    for group in _groups(body, max(1, room)):
        piece = html.Element("table", dict(table.attrib))
        piece.extend(copy.deepcopy(caption) for caption in table.findall("caption"))
        piece.extend(copy.deepcopy(row) for row in head)
        piece.extend(group)
        yield piece


def _cut_list(block: html.HtmlElement, max_elements: int) -> Iterator[html.HtmlElement]:
    lead = block.text  # a quote may begin with text
    for group in _groups(list(block), max_elements):
        piece = html.Element(block.tag, dict(block.attrib))
        piece.text, lead = lead, None
        piece.extend(group)
        yield piece


def _groups(
    children: Sequence[html.HtmlElement], max_elements: int
) -> Iterator[list[html.HtmlElement]]:
    group: list[html.HtmlElement] = []
    room = max_elements
    for child in children:
        size = num_elements(child)
        if group and size > room:
            yield group
            group, room = [], max_elements
        group.append(child)
        room -= size
    if group:
        yield group
