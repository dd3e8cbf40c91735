# SPDX-License-Identifier: Apache-2.0
"""HotpotQA and 2WikiMultihopQA: questions that bring their paragraphs, and passages beside them.

A question row has `_id`, `question`, `answer`, `context` ([title, [sentence, ...]] each) and
`supporting_facts` ([title, sentence number] each); `type` becomes the kind. `context` and
`supporting_facts` may also be objects of columns. A passage row has `title` and `text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envs.corpus.convert.reading import SourceRow, rows_in
from envs.corpus.convert.rows_out import Converted, JsonRow
from envs.corpus.evidence import bare_title
from envs.corpus.parts import MAX_PARAGRAPH_CHARS, sentences
from envs.corpus.rows import BadRows, RowError
from envs.dom import fold

# Enough of a sentence to know it; its end may lie beyond an element's text.
_MAX_NEEDLE_CHARS = 150


def convert(inputs: Sequence[Path], bad: BadRows) -> Converted:
    """All paragraphs of the inputs as text documents, each once, and their questions."""
    shelf = _Shelf()
    questions: list[JsonRow] = []
    for row in rows_in(inputs, bad):
        with bad.catching():
            if "question" in row.values:
                questions.append(_question(row, shelf))
            else:
                title = row.get("title", str, "a title, or a 'question'")
                text = row.get("text", str, "a text")
                shelf.put(fold(title), [fold(s) for s in sentences(text)])
    return Converted(documents=shelf.documents(), questions=questions)


@dataclass(kw_only=True)
class _Shelf:
    """Documents by what they say; a second text of the same title gets an id of its own."""

    ids: dict[tuple[str, str], str] = field(default_factory=dict)  # (title, text) -> id
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)  # id -> (title, text)

    def put(self, title: str, sentences_: Sequence[str]) -> str:
        """The id of a paragraph's document."""
        text = _as_paragraphs(sentences_)
        known = self.ids.get((title, " ".join(text.split())))
        if known is not None:
            return known
        document_id, number = title, 1
        while document_id in self.texts:
            number += 1
            document_id = f"{title} [{number}]"
        # The same sentences, however they are cut, are the same document.
        self.ids[(title, " ".join(text.split()))] = document_id
        self.texts[document_id] = (title, text)
        return document_id

    def documents(self) -> Iterator[JsonRow]:
        for document_id, (title, text) in self.texts.items():
            yield {"id": document_id, "title": title, "text": text}


def _as_paragraphs(sentences_: Sequence[str]) -> str:
    """Sentences joined to paragraphs that need no further cutting."""
    paragraphs: list[str] = []
    for sentence in sentences_:
        fits = paragraphs and len(paragraphs[-1]) + len(sentence) < MAX_PARAGRAPH_CHARS
        if not sentence:
            continue
        if fits:
            paragraphs[-1] += f" {sentence}"
        else:
            paragraphs.append(sentence)
    return "\n\n".join(paragraphs)


def _question(row: SourceRow, shelf: _Shelf) -> JsonRow:
    question_id = row.get("_id" if "_id" in row.values else "id", str, "an id")
    question, answer = row.get("question", str, "a text"), row.get("answer", str, "a text")
    context = _context(row)
    ids = {title: shelf.put(title, said) for title, said in context.items()}
    facts: dict[str, list[str]] = {}
    for title, number in _facts(row):
        said = context.get(title)
        if said is None:
            raise RowError(row.path, row.line, "supporting_facts", "a title of 'context'", title)
        # Some rows name a sentence that the paragraph does not have: its document still counts.
        facts.setdefault(title, []).extend(said[number : number + 1])
    return {
        "id": question_id,
        "question": question.strip(),
        "answers": [answer.strip()],
        "evidence": [
            {"document": ids[title], "needles": [_needle(said, answer)]}
            if any(said)
            else {"document": ids[title]}
            for title, said in _in_order(facts, question, answer)
        ],
        "kind": str(row.values.get("type") or "question"),
    }


def _in_order(
    facts: dict[str, list[str]], question: str, answer: str
) -> list[tuple[str, list[str]]]:
    """Documents in the order in which they can be found, those that say the answer late.

    The next one is named in the question or by a document before it, as far as there is one.
    """
    left = dict(facts)
    known = question.casefold()
    order: list[tuple[str, list[str]]] = []
    while left:
        places = {
            title: (bare_title(title).casefold() not in known, answer in " ".join(said))
            for title, said in left.items()
        }
        title = min(left, key=places.__getitem__)
        order.append((title, left.pop(title)))
        known += "\n" + " ".join(order[-1][1]).casefold()
    return order


def _needle(said: Sequence[str], answer: str) -> str:
    """The beginning of the sentence that says the answer, else of the first that supports it."""
    best = next((sentence for sentence in said if answer in sentence), said[0])
    return best[:_MAX_NEEDLE_CHARS].strip()


def _context(row: SourceRow) -> dict[str, list[str]]:
    """Sentences by title."""
    pairs = _pairs(row, "context", ("title", "sentences"))
    try:
        return {fold(title): [fold(sentence) for sentence in said] for title, said in pairs}
    except (TypeError, ValueError) as error:
        expected = "pairs of a title and a list of sentences"
        raise RowError(row.path, row.line, "context", expected, pairs) from error


def _facts(row: SourceRow) -> list[tuple[str, int]]:
    """(title, sentence number) of each supporting fact."""
    pairs = _pairs(row, "supporting_facts", ("title", "sent_id"))
    try:
        return [(fold(title), int(number)) for title, number in pairs]
    except (TypeError, ValueError) as error:
        expected = "pairs of a title and a sentence's number"
        raise RowError(row.path, row.line, "supporting_facts", expected, pairs) from error


def _pairs(row: SourceRow, name: str, columns: tuple[str, str]) -> list[Any]:
    """A field that holds pairs, or an object of two columns."""
    value = row.values.get(name)
    if isinstance(value, dict):
        first, second = (value.get(column) for column in columns)
        if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
            return list(zip(first, second, strict=True))
    elif isinstance(value, list):
        return value
    raise RowError(row.path, row.line, name, f"a list of pairs, or columns {columns}", value)
