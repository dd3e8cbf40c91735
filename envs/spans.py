# SPDX-License-Identifier: Apache-2.0
"""The texts that an agent may type or answer: drawn from question and notes, in a fixed order.

Spans are copies, so a policy needs no vocabulary: capitalised runs, quoted phrases, whole dates,
numbers with their unit, Chinese between function words, the value of a "Header: value" row, and
short whole notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envs.actions import MAX_SPANS
from envs.han import han_chunks, han_length, has_han
from envs.types import Note, Span, SpanSource

MAX_QUESTION_SPANS = 16
MAX_SPANS_PER_NOTE = 14
MAX_SPANS_PER_HAN_NOTE = 28  # without capitals more of a text may be a name
MAX_WHOLE_NOTE_WORDS = 8
MAX_HEADER_WORDS = 6  # of a "Header: value" row
MAX_HAN_CHUNK_CHARS = 12
_HAN_CHARS_PER_WORD = 2

# Words that start a sentence with a capital but name nothing.
_FUNCTION_WORDS = frozenset(
    """
    a an and are as at by did do does for from has have he her his how if in into is it
    its of on or she that the their there these they this to was were what when where
    which who whom whose why will with you your name give tell find according please
    between
    """.split()
)
_CONNECTORS = r"(?:of|the|and|for|on|de|la|du|von|van|in)"
_CAPITALISED = r"(?:[A-ZÀ-Þ][\w’'\-]*|\d+[A-Z][\w\-]*)"
_RUN = re.compile(rf"{_CAPITALISED}(?:[ ]+(?:{_CONNECTORS}[ ]+)?(?:{_CAPITALISED}|\d[\w\-./]*))*")
_CONNECTOR_SPLIT = re.compile(rf"[ ]+{_CONNECTORS}[ ]+")
_QUOTED = re.compile(r"[\"“”]([^\"“”]{2,80})[\"“”]")
_NUMBER = re.compile(
    r"(?:[$€£]\s?)?\d[\d,]*(?:\.\d+)?(?:\s?(?:%|‰|[a-zA-Zµ°]{1,3}(?:/[a-zA-Z]{1,3})?\b|[a-z]{4,12}\b))?"
)
_BARE_NUMBER = re.compile(r"(?:[$€£]\s?)?\d[\d,]*(?:\.\d+)?")
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DATE = re.compile(
    rf"\b(?:\d{{1,2}} {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}, \d{{4}})\b"
    r"|\d{4}年\d{1,2}月(?:\d{1,2}日)?"
)
_WORD = re.compile(r"\w[\w’'\-]*")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")


def draw_spans(question: str, notes: Sequence[Note]) -> tuple[Span, ...]:
    """At most `MAX_SPANS` spans, no two alike; the question's first, then the newest note's."""
    spans: list[Span] = []
    seen: set[str] = set()

    def add(texts: Iterator[tuple[str, str]], source: SpanSource, note: int, limit: int) -> None:
        added = 0
        for text, context in texts:
            key = text.casefold()
            if len(spans) == MAX_SPANS or added == limit:
                return
            says_something = len(text) >= 2 or text.isdigit()
            if says_something and key not in seen and key not in _FUNCTION_WORDS:
                seen.add(key)
                spans.append(Span(text=text, source=source, note=note, context=context))
                added += 1

    add(_question_texts(question), SpanSource.QUESTION, -1, MAX_QUESTION_SPANS)
    for index in reversed(range(len(notes))):
        text = notes[index].text
        limit = MAX_SPANS_PER_HAN_NOTE if has_han(text) else MAX_SPANS_PER_NOTE
        add(_note_texts(text), SpanSource.NOTE, index, limit)
    return tuple(spans)


def _question_texts(question: str) -> Iterator[tuple[str, str]]:
    for match in _QUOTED.finditer(question):
        yield match.group(1).strip(), question
    for text in _capitalised_runs(question):
        yield text, question
    for text in _han_names(question):
        yield text, question
    for match in _BARE_NUMBER.finditer(question):
        yield match.group().strip(), question
    keywords = [w for w in _WORD.findall(question) if w.casefold() not in _FUNCTION_WORDS]
    yield " ".join(keywords), question


def header_and_value(text: str) -> tuple[str, str]:
    """Both parts of a "Header: value" row; "" and the text itself if it is none."""
    header, colon, value = text.partition(": ")
    return (header, value) if colon and len(header.split()) <= MAX_HEADER_WORDS else ("", text)


def sentence_parts(text: str) -> list[str]:
    """The sentences of a text and the blanks between them, which together are the text."""
    return [part for part in re.split(f"({_SENTENCE_END.pattern})", text) if part]


def _note_texts(text: str) -> Iterator[tuple[str, str]]:
    header, value = header_and_value(text)
    if header:
        yield value.strip(), text
        for part in re.split(r" \| |, (?=[A-Z])|、", value):
            yield part.strip(), text
    if _num_words(text) <= MAX_WHOLE_NOTE_WORDS:
        yield text.strip(" .。"), text
    for sentence in _SENTENCE_END.split(text):
        for value in sentence_values(sentence):
            yield value, sentence


def sentence_values(sentence: str) -> Iterator[str]:
    """What a sentence may state: its dates, names and numbers, in this order."""
    for match in _DATE.finditer(sentence):
        yield match.group()
    yield from _capitalised_runs(sentence)
    yield from _han_names(sentence)
    yield from _numbers(sentence)


def _han_names(text: str) -> Iterator[str]:
    """Chinese between function words, where names stand."""
    for chunk in han_chunks(text):
        if len(chunk) <= MAX_HAN_CHUNK_CHARS:
            yield chunk


def _num_words(text: str) -> int:
    """Words of a text; some Chinese characters count as one."""
    num_han = han_length(text)
    return len(text.split()) + num_han // _HAN_CHARS_PER_WORD - bool(num_han)


def _numbers(sentence: str) -> Iterator[str]:
    """Numbers with their unit, then bare; the one-digit day of a date says nothing by itself."""
    dates = [match.span() for match in _DATE.finditer(sentence)]
    for match in _NUMBER.finditer(sentence):
        number = match.group().strip(" ,.")
        if len(number) == 1 and any(first <= match.start() < end for first, end in dates):
            continue
        yield number
        bare = _BARE_NUMBER.match(match.group())
        if bare:
            yield bare.group().strip(" ,.")


def _capitalised_runs(text: str) -> Iterator[str]:
    """Runs of capitalised words; a run joined by a connector also in its parts."""
    for match in _RUN.finditer(text):
        words = match.group().split()
        while words and words[0].casefold() in _FUNCTION_WORDS:
            words.pop(0)
        run = _without_possessive(" ".join(words))
        if not run:
            continue
        yield run
        parts = _CONNECTOR_SPLIT.split(run)
        if len(parts) > 1:
            yield from (_without_possessive(part) for part in parts if part)


def _without_possessive(text: str) -> str:
    return re.sub(r"[’']s?$", "", text).strip(" .,;:'’")
