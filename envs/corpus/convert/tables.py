# SPDX-License-Identifier: Apache-2.0
"""OTT-QA and HybridQA: questions over a table whose cells link to passages.

Inputs may hold, in any order and file: question rows (`question_id`, `question`, `table_id`,
`answer-text`, `answer-node`: [cell text, [row, column], link, "table" or "passage"] each), table
rows (`uid`, `url`, `title`, `header`, `data`, `section_title`, `section_text`, `intro`; a cell is
[text, [link, ...]]), passage rows (`id`, `text`), and objects of links to passages or of ids to
tables. All tables of one page and the passage on its subject become one document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from envs.corpus.convert.reading import SourceRow, rows_in
from envs.corpus.convert.rows_out import Converted, JsonRow
from envs.corpus.rows import BadRows, RowError

_LINK = "/wiki/"
_MAX_NEEDLE_CHARS = 100
_SPACE_BEFORE = re.compile(r" ([,.;:!?%)\]}]|'s\b|n't\b)")
_SPACE_BEHIND = re.compile(r"([(\[{$£€]) ")


def convert(inputs: Sequence[Path], bad: BadRows) -> Converted:
    """Pages with their tables, all other passages, and the questions; goes through inputs twice."""
    pages = _Pages()
    asked: list[SourceRow] = []
    for row in rows_in(inputs, bad):
        with bad.catching():
            if "question_id" in row.values:
                asked.append(row)
            elif not _passages(row):
                for table in _tables(row):
                    pages.add(table)
    questions: list[JsonRow] = []
    for row in asked:
        with bad.catching():
            questions.append(_question(row, pages))
    return Converted(documents=_documents(pages, inputs, bad), questions=questions)


def detokenised(text: str) -> str:
    """A text without the spaces that a tokeniser put around its marks.

    "Robert , played by ( Bob )" -> "Robert, played by (Bob)".
    """
    joined = text.replace("`` ", '"').replace(" ''", '"')
    return _SPACE_BEHIND.sub(r"\1", _SPACE_BEFORE.sub(r"\1", joined)).strip()


def _name(link: str) -> str:
    """A page's name: of "/wiki/A_b" or a full address, "A_b"."""
    return unquote(link.rpartition(_LINK)[2])


def _title(name: str) -> str:
    return name.replace("_", " ")


# --- Questions ---------------------------------------------------------------------------------


def _question(row: SourceRow, pages: _Pages) -> JsonRow:
    answer = detokenised(row.get("answer-text", str, "a text"))
    table = pages.by_uid.get(row.get("table_id", str, "a table's id"))
    if table is None:
        got = row.values["table_id"]
        raise RowError(row.path, row.line, "table_id", "a table of the inputs", got)
    nodes = row.get("answer-node", list, "a list of nodes")
    try:
        _, (line, column), link, where = nodes[0][:4]
        cell = table.values["data"][line][column]
    except (IndexError, TypeError, ValueError) as error:
        expected = "[cell text, [row, column], link, 'table' or 'passage'] with a cell of the table"
        raise RowError(row.path, row.line, "answer-node", expected, nodes) from error
    page_name = _name_of_table(table.values["uid"])
    evidence: list[JsonRow] = [{"document": page_name, "needles": [_needle(table, cell)]}]
    if where == "passage" and link and _name(str(link)) != page_name:
        evidence.append({"document": _name(str(link)), "needles": [answer]})
    else:
        evidence[0]["needles"] = [answer]
    return {
        "id": row.get("question_id", str, "an id"),
        "question": detokenised(row.get("question", str, "a text")),
        "answers": [answer],
        "evidence": evidence,
        "kind": "linked_passage" if len(evidence) == 2 else "table_cell",
    }


def _needle(table: SourceRow, cell: Any) -> str:
    """The beginning of what a cell shows."""
    label = _labels(table, cell)[0][1][:_MAX_NEEDLE_CHARS].strip()
    if not label:
        raise RowError(table.path, table.line, "data", "a cell that says something", cell)
    return label


def _name_of_table(table_id: str) -> str:
    """Tables are named after their page and numbered: "Dinky_Toys_0"."""
    return table_id.rpartition("_")[0]


# --- Tables and passages -----------------------------------------------------------------------


@dataclass(kw_only=True)
class _Pages:
    """Tables by the name of their page, in the order of the files."""

    tables: dict[str, list[SourceRow]] = field(default_factory=dict)
    by_uid: dict[str, SourceRow] = field(default_factory=dict)

    def add(self, row: SourceRow) -> None:
        uid = row.get("uid", str, "an id")
        row.get("title", str, "a title")
        for name in ("header", "data"):
            row.get(name, list, "a list")
        self.by_uid[uid] = row
        self.tables.setdefault(_name_of_table(uid), []).append(row)


def _tables(row: SourceRow) -> Iterator[SourceRow]:
    """The tables of a row: itself, or one for each id."""
    if "header" in row.values:
        yield row
        return
    for uid, value in row.values.items():
        if not isinstance(value, dict) or "header" not in value:
            expected = "a question, a table, a passage, or an object of tables or passages"
            raise RowError(row.path, row.line, "row", expected, row.values)
        yield SourceRow(path=row.path, line=row.line, values={"uid": uid} | value)


def _passages(row: SourceRow) -> dict[str, str]:
    """Passages of a row by their links; {} if it holds none."""
    values = row.values
    if isinstance(values.get("id"), str) and isinstance(values.get("text"), str):
        return {values["id"]: values["text"]}
    if all(k.startswith(_LINK) and isinstance(v, str) for k, v in values.items()):
        return values
    return {}


def _documents(pages: _Pages, inputs: Sequence[Path], bad: BadRows) -> Iterator[JsonRow]:
    """Pages with tables first, then every passage that is no such page, each once."""
    # Bad rows were met when the inputs were read first.
    unseen = BadRows(skip=True)
    passages = ((k, v) for row in rows_in(inputs, unseen) for k, v in _passages(row).items())
    intros: dict[str, str] = {}
    done = set(pages.tables)
    for link, text in passages:
        name = _name(link)
        if name in pages.tables:
            intros.setdefault(name, text)
        elif name and name not in done:
            done.add(name)
            yield {"id": name, "title": _title(name), "text": detokenised(text)}
    for name, tables in pages.tables.items():
        with bad.catching():
            yield _page(name, tables, intros.get(name, ""))


def _page(name: str, tables: Sequence[SourceRow], intro: str) -> JsonRow:
    first = tables[0].values
    parts = [_paragraph(intro or str(first.get("intro") or ""))]
    for table in tables:
        section = str(table.values.get("section_title") or "")
        if section:
            parts.append(f"<h2>{escape(detokenised(section))}</h2>")
        parts.append(_paragraph(str(table.values.get("section_text") or "")))
        parts.append(_table(table))
    return {
        "id": name,
        "title": detokenised(first["title"]),
        "text": "".join(parts),
        "format": "html",
        "url": str(first.get("url") or ""),
    }


def _paragraph(text: str) -> str:
    return f"<p>{escape(detokenised(text))}</p>" if text else ""


def _table(row: SourceRow) -> str:
    head = "".join(f"<th>{_cell(row, cell)}</th>" for cell in row.values["header"])
    lines = []
    for cells in row.values["data"]:
        # The first cell names its row, so that a row reads "name: value | value".
        named = [
            f'<th scope="row">{_cell(row, cell)}</th>' if i == 0 else f"<td>{_cell(row, cell)}</td>"
            for i, cell in enumerate(cells)
        ]
        lines.append(f"<tr>{''.join(named)}</tr>")
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _cell(row: SourceRow, cell: Any) -> str:
    return ", ".join(
        f'<a href="{escape(quote(name))}">{escape(label)}</a>' if name else escape(label)
        for name, label in _labels(row, cell)
    )


def _labels(row: SourceRow, cell: Any) -> list[tuple[str, str]]:
    """(page or "", text) of a cell: its text is its first link, others follow by their titles."""
    try:
        text, links = cell
        names = [_name(link) for link in links]
        shown = detokenised(text)
    except (TypeError, ValueError, AttributeError) as error:
        raise RowError(row.path, row.line, "data", "cells of [text, [links]]", cell) from error
    if not names:
        return [("", shown)]
    return [(names[0], shown or _title(names[0])), *((name, _title(name)) for name in names[1:])]
