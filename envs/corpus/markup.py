# SPDX-License-Identifier: Apache-2.0
"""From a document's text in any format to safe blocks of HTML. Pure.

Only what is listed here survives: no scripts, styles, event handlers, frames, forms or pictures
from elsewhere. A link stays where `resolve` knows its target and becomes plain text elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from lxml import etree, html
from markdown_it import MarkdownIt

from envs.corpus.rows import Document, Format

# From a link's target as written to the address of its page; "" for an unknown one.
Resolve = Callable[[str], str]

CONTAINERS = frozenset(
    "html body div section article main aside header footer nav center details figure".split()
)
BLOCKS = frozenset("p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre hr figcaption".split())
_INNER = frozenset("li dt dd caption thead tbody tfoot tr th td".split())
_INLINE = frozenset("a b i em strong small sub sup mark u code br img".split())
_KEPT = CONTAINERS | BLOCKS | _INNER | _INLINE
# With everything in them. Not here: `embed`, `source` and `track`, which hold nothing in a browser
# but the rest of the page for this parser.
_DROPPED = frozenset(
    "script style iframe frame frameset object applet noscript template svg math canvas "
    "audio video map area head title meta link base input button select option "
    "optgroup textarea datalist output progress meter dialog portal".split()
)
_KEPT_ATTRIBUTES = {
    "a": ("href",),
    "img": ("src", "alt", "width", "height"),
    "td": ("colspan", "rowspan"),
    "th": ("colspan", "rowspan", "scope"),
    "ol": ("start",),
}
_OWN_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+")
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# What neither XML nor a page may hold.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_BLANK_LINES = re.compile(r"\n\s*\n")


def blocks_of(document: Document, resolve: Resolve) -> list[html.HtmlElement]:
    """The document as safe block elements, in order; containers are dissolved."""
    text = _CONTROL.sub("", document.text)
    if document.format is Format.TEXT:
        paragraphs = (paragraph.strip() for paragraph in _BLANK_LINES.split(text))
        return [_paragraph(paragraph) for paragraph in paragraphs if paragraph]
    if document.format is Format.MARKDOWN:
        text = _markdown().render(text)
    root = _parsed(text)
    if root is None:
        return []
    _clean(root, resolve)
    return list(_flattened(root))


def plain_text(document: Document) -> str:
    """What the document says, a block a line; for the index."""
    if document.format is Format.TEXT:
        return document.text
    return "\n".join(text_of(block) for block in blocks_of(document, lambda _: ""))


def text_of(element: html.HtmlElement) -> str:
    """The text in an element; neighbouring cells and items do not grow together."""
    return " ".join(" ".join(element.itertext()).split())


def _paragraph(text: str) -> html.HtmlElement:
    element = html.Element("p")
    element.text = text
    return element


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable("table")


def _parsed(text: str) -> html.HtmlElement | None:
    """The document's root; None if there is nothing in it."""
    # Bytes, because a text with an encoding declaration of its own would be refused.
    parser = html.HTMLParser(encoding="utf-8")
    try:
        return html.document_fromstring(text.encode(), parser=parser)
    except etree.ParserError:
        return None


# --- Cleaning ----------------------------------------------------------------------------------


def _clean(root: html.HtmlElement, resolve: Resolve) -> None:
    """Remove or dissolve everything that is not on the lists above."""
    for element in list(root.iter()):
        tag = element.tag
        if element is not root and element.getparent() is None:
            continue
        if not isinstance(tag, str) or tag in _DROPPED or _is_hidden(element):
            if element is not root:
                element.drop_tree()
        elif tag == "a":
            _clean_link(element, resolve)
        elif tag == "img" and not _OWN_PICTURE.fullmatch(element.get("src", "")):
            element.text = element.get("alt", "")
            element.drop_tag()
        elif tag not in _KEPT:
            element.drop_tag()
        else:
            _clean_attributes(element)


def _is_hidden(element: html.HtmlElement) -> bool:
    style = element.get("style", "")
    return "hidden" in element.attrib or bool(style and _HIDING_STYLE.search(style))


def _clean_link(element: html.HtmlElement, resolve: Resolve) -> None:
    target = element.get("href", "").strip()
    url = resolve(target) if target and not target.startswith("#") else ""
    if not url:
        element.drop_tag()
        return
    element.attrib.clear()
    element.set("href", url)


def _clean_attributes(element: html.HtmlElement) -> None:
    is_infobox = element.tag == "table" and "infobox" in element.get("class", "").lower()
    allowed = _KEPT_ATTRIBUTES.get(element.tag, ())
    kept = {name: element.get(name) for name in allowed if element.get(name)}
    element.attrib.clear()
    element.attrib.update(kept)
    if is_infobox:
        element.set("class", "infobox")


# --- Flattening --------------------------------------------------------------------------------


def _flattened(container: html.HtmlElement) -> Iterator[html.HtmlElement]:
    """The blocks below a container; text and inline elements between them become paragraphs."""
    run = html.Element("p")
    run.text = container.text
    for child in list(container):
        tail, child.tail = child.tail, None
        if child.tag in CONTAINERS or child.tag in BLOCKS:
            yield from _if_not_empty(run)
            run = html.Element("p")
            run.text = tail
            if child.tag in CONTAINERS:
                yield from _flattened(child)
            else:
                yield from _if_not_empty(_as_block(child))
        elif child.tag in _INNER:  # a stray cell or item
            child.tag = "p"
            yield from _if_not_empty(child)
            _append_text(run, tail)
        else:
            run.append(child)
            child.tail = tail
    yield from _if_not_empty(run)


def _as_block(element: html.HtmlElement) -> html.HtmlElement:
    """The page has one first heading of its own; a caption of a figure is a paragraph."""
    element.tag = {"h1": "h2", "figcaption": "p"}.get(element.tag, element.tag)
    return element


def _append_text(run: html.HtmlElement, text: str | None) -> None:
    if len(run):
        run[-1].tail = (run[-1].tail or "") + (text or "")
    else:
        run.text = (run.text or "") + (text or "")


def _if_not_empty(element: html.HtmlElement) -> Iterator[html.HtmlElement]:
    if element.tag == "hr" or text_of(element) or next(element.iter("img"), None) is not None:
        yield element
