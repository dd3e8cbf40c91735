# SPDX-License-Identifier: Apache-2.0
"""The rows of `documents.jsonl` and `questions.jsonl`, and what is wrong with a bad one. Pure."""

from __future__ import annotations

import contextlib
import enum
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import orjson

from envs.types import Split

DOCUMENTS_FILE = "documents.jsonl"
QUESTIONS_FILE = "questions.jsonl"
MAX_ID_CHARS = 500
_MAX_SHOWN_CHARS = 60
_MAX_LOGGED = 5

logger = logging.getLogger(__name__)


class Format(enum.Enum):
    """How a document's text is written."""

    TEXT = "text"  # paragraphs separated by blank lines
    MARKDOWN = "markdown"  # CommonMark with tables
    HTML = "html"


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentLink:
    """A link from a document to another, beside those in its text."""

    target: str  # the other document's id or URL
    text: str  # "" shows the target's title


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One row of `documents.jsonl`."""

    id: str  # unique in the file
    title: str
    text: str
    format: Format
    url: str  # the document's own address, by which links may name it; "" without one
    links: tuple[DocumentLink, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceRow:
    """A document that an answer rests on."""

    document: str  # its id
    needles: tuple[str, ...]  # texts that its proving block holds; () where the row names none


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One row of `questions.jsonl`."""

    id: str  # unique in the file
    question: str
    answers: tuple[str, ...]  # accepted ones, the canonical one first
    evidence: tuple[EvidenceRow, ...]  # in the order in which it is found; the last has the answer
    split: Split | None  # None: drawn from the id
    kind: str
    language: str
    line: int  # of the file, from 1


class RowError(ValueError):
    """A row that cannot be used: file, line and field."""

    def __init__(self, path: Path, line: int, field_name: str, expected: str, got: object) -> None:
        shown = got if isinstance(got, Shown) else repr(got)
        if len(shown) > _MAX_SHOWN_CHARS:
            shown = shown[:_MAX_SHOWN_CHARS] + "…"
        super().__init__(f"{path}:{line}: {field_name}: expected {expected}, got {shown}")


class Shown(str):
    """A description that an error shows as it is."""


@dataclass(kw_only=True)
class BadRows:
    """What to do with bad rows: raise at the first, or count them."""

    skip: bool
    count: int = 0
    messages: list[str] = field(default_factory=list)  # the first few

    def meet(self, error: RowError) -> None:
        """Raise `error`, or count it."""
        if not self.skip:
            raise error
        self.count += 1
        if len(self.messages) < _MAX_LOGGED:
            self.messages.append(str(error))
            logger.warning("skipped a bad row: %s", error)

    @contextlib.contextmanager
    def catching(self) -> Iterator[None]:
        """A block that deals with one row; it ends where a `RowError` is met."""
        try:
            yield
        except RowError as error:
            self.meet(error)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a JSON-lines file that is not empty."""

    number: int  # from 1
    offset_bytes: int
    data: bytes


def lines_of(path: Path) -> Iterator[Line]:
    """The lines of a file; `ValueError` if there is no such file."""
    if not path.is_file():
        raise ValueError(f"expected the file {path}, found none; docs/CORPUS.md says what it holds")
    offset = 0
    with path.open("rb") as file:
        for number, data in enumerate(file, start=1):
            if data.strip():
                yield Line(number=number, offset_bytes=offset, data=data)
            offset += len(data)


def document_from(path: Path, line: Line) -> Document:
    """The document of a line; `RowError` for a bad row."""
    row = _Row.parse(path, line)
    key = row.text("id")
    if len(key) > MAX_ID_CHARS or key in (".", ".."):
        row.fail("id", f"at most {MAX_ID_CHARS} characters that are no '.' or '..'")
    return Document(
        id=key,
        title=row.text("title"),
        text=row.text("text", may_be_empty=True),
        format=Format(row.choice("format", [member.value for member in Format], default="text")),
        url=row.text("url", default="", may_be_empty=True),
        links=tuple(_link(row, item) for item in row.items("links")),
    )


def question_from(path: Path, line: Line) -> Question:
    """The question of a line; `RowError` for a bad row."""
    row = _Row.parse(path, line)
    split = row.choice("split", [member.value for member in Split], default="")
    return Question(
        id=row.text("id"),
        question=row.text("question"),
        answers=row.texts("answers"),
        evidence=tuple(_evidence(row, item) for item in row.items("evidence")),
        split=Split(split) if split else None,
        kind=row.text("kind", default="question"),
        language=row.text("language", default="en"),
        line=line.number,
    )


def _link(row: _Row, item: object) -> DocumentLink:
    if isinstance(item, str) and item:
        return DocumentLink(target=item, text="")
    inner = row.inner("links", item, "an id, or an object with 'to'")
    text = inner.text("text", default="", may_be_empty=True)
    return DocumentLink(target=inner.text("to"), text=text)


def _evidence(row: _Row, item: object) -> EvidenceRow:
    if isinstance(item, str) and item:
        return EvidenceRow(document=item, needles=())
    inner = row.inner("evidence", item, "a document's id, or an object with 'document'")
    needles = inner.texts("needles") if "needles" in inner.values else ()
    return EvidenceRow(document=inner.text("document"), needles=needles)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Row:
    """Reads checked fields of one JSON object."""

    path: Path
    line: int
    values: Mapping[str, Any]
    prefix: str

    @classmethod
    def parse(cls, path: Path, line: Line) -> _Row:
        try:
            values = orjson.loads(line.data)
        except orjson.JSONDecodeError as error:
            raise RowError(path, line.number, "row", "JSON", Shown(error)) from error
        if not isinstance(values, dict):
            raise RowError(path, line.number, "row", "a JSON object", values)
        return cls(path=path, line=line.number, values=values, prefix="")

    def fail(self, name: str, expected: str) -> NoReturn:
        """Raise for a field of this row."""
        got = self.values.get(name, Shown("nothing"))
        raise RowError(self.path, self.line, self.prefix + name, expected, got)

    def text(self, name: str, *, default: str | None = None, may_be_empty: bool = False) -> str:
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not (may_be_empty or value.strip()):
            self.fail(name, "a text" if may_be_empty else "a text that is not empty")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name)
        items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        if not items or any(not isinstance(item, str) or not item.strip() for item in items):
            self.fail(name, "a text or a list of texts, none empty")
        return tuple(items)

    def choice(self, name: str, choices: list[str], *, default: str) -> str:
        value = self.text(name, default=default)
        if value and value not in choices:
            self.fail(name, f"one of {choices}")
        return value

    def items(self, name: str) -> list[Any]:
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fail(name, "a list")
        return value

    def inner(self, name: str, item: object, expected: str) -> _Row:
        if not isinstance(item, dict):
            raise RowError(self.path, self.line, self.prefix + name, expected, item)
        return _Row(path=self.path, line=self.line, values=item, prefix=f"{name}.")
