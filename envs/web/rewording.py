# SPDX-License-Identifier: Apache-2.0
"""What a page states, in words that say nothing: the values stay, and what kind they are.

A policy that learns from the wordings of a few page templates trusts their words alone, and stands
helpless before the same fact in other words. In a *reworded* observation the headers and sentences
that state a fact have other words of the language in their place; names, numbers, links and
controls stay. What is asked can then only be told from the kind of value, from what stands beside
it and from what is left when all else is known.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from functools import lru_cache

from envs.han import han_chunks, has_han
from envs.spans import header_and_value, sentence_parts
from envs.types import Observation, Role
from envs.web.draw import Draw
from envs.web.texts.languages import LANGUAGES

_HOLDS_TOGETHER_CHARS = 3  # shorter words of a Latin script are articles, prepositions and "was"
_MAX_HEADER_WORDS = 3  # of a new header
_MAX_HAN_HEADER_CHARS = 5
_WORD = re.compile(r"[^\W\d_][\w’'\-]*")
_YEAR_ENDING = "年"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What pages tell of one entity."""

    values: tuple[str, ...]  # of its facts, as pages write them
    names: tuple[str, ...]  # of the entity itself


class Rewording:
    """Puts other words into statements; the same ones for the same words of one observation."""

    def __init__(self, language: str, *seed: object) -> None:
        self._language = language
        self._seed = seed
        self._by_word: dict[str, str] = {}

    def observation(
        self, observation: Observation, here: Told | None, of_notes: Sequence[Told | None]
    ) -> Observation:
        """The observation reworded: its page tells `here`, its notes `of_notes`.

        Its spans keep their texts, and it its mask.
        """
        table = observation.elements
        texts, contexts = table.text, table.context
        if here is not None:
            texts = tuple(
                self.text(text, here) if Role(role).is_text() else text
                for text, role in zip(texts, table.role.tolist(), strict=True)
            )
            contexts = tuple(self.text(context, here) for context in contexts)
        notes = tuple(
            note if told is None else dataclasses.replace(note, text=self.text(note.text, told))
            for note, told in zip(observation.notes, of_notes, strict=True)
        )
        spans = tuple(
            span
            if span.note < 0 or (told := of_notes[span.note]) is None
            else dataclasses.replace(span, context=self.text(span.context, told))
            for span in observation.spans
        )
        return dataclasses.replace(
            observation,
            elements=dataclasses.replace(table, text=texts, context=contexts),
            notes=notes,
            spans=spans,
        )

    def text(self, text: str, told: Told) -> str:
        """A row with another header, or a text whose stating sentences have other words."""
        if not any(value in text for value in told.values):
            return text
        header, value = header_and_value(text)
        if header:
            return text if header[:1].isdigit() else f"{self._header(header)}: {value}"
        return "".join(
            self._sentence(part, told) if any(v in part for v in told.values) else part
            for part in sentence_parts(text)
        )

    def _header(self, header: str) -> str:
        """Other words for a row's header."""
        draw = Draw("header", *self._seed, header)
        if has_han(header):
            return self._word("header " + header, draw.between(2, _MAX_HAN_HEADER_CHARS))
        words = [self._word(f"{header} {i}", 0) for i in range(draw.between(1, _MAX_HEADER_WORDS))]
        return " ".join(words).capitalize()

    def _sentence(self, sentence: str, told: Told) -> str:
        """The sentence with other words between its names and values."""
        kept = sorted({*told.values, *told.names}, key=len, reverse=True)
        # A year keeps the word for it, which Chinese writes without a gap.
        pattern = "|".join(re.escape(text) + f"{_YEAR_ENDING}?" for text in kept)
        parts = re.split(f"({pattern})", sentence)
        is_kept = False
        for i, part in enumerate(parts):
            if not is_kept:
                is_first = not "".join(parts[:i])
                parts[i] = self._han(part) if has_han(part) else self._latin(part, is_first)
            is_kept = not is_kept
        return "".join(parts)

    def _latin(self, part: str, is_first: bool) -> str:
        def other(match: re.Match[str]) -> str:
            word = match.group()
            begins = is_first and match.start() == 0
            is_name = word[:1].isupper() and not begins
            if is_name or len(word) <= _HOLDS_TOGETHER_CHARS:
                return word
            new = self._word(word.lower(), 0)
            return new.capitalize() if word[:1].isupper() else new

        return _WORD.sub(other, part)

    def _han(self, part: str) -> str:
        done = []
        for chunk in han_chunks(part):
            before, _, part = part.partition(chunk)
            done += [before, self._word(chunk, len(chunk))]
        return "".join([*done, part])

    def _word(self, word: str, num_chars: int) -> str:
        """What stands for `word`; of Chinese that many characters."""
        found = self._by_word.get(word)
        if found is None:
            draw = Draw("rewording", *self._seed, word)
            vocabulary = _vocabulary(self._language)
            found = "".join(draw.pick(vocabulary) for _ in range(num_chars or 1))
            self._by_word[word] = found
        return found


@lru_cache(maxsize=len(LANGUAGES))
def _vocabulary(language: str) -> tuple[str, ...]:
    """Words, or Chinese characters, of the sentences that state nothing."""
    texts = [text for f in LANGUAGES[language].fillers.values() for text in f.sentences]
    words = [w for text in texts for w in _WORD.findall(re.sub(r"\{\w\}", " ", text))]
    if any(has_han(word) for word in words):
        return tuple(sorted({c for word in words for chunk in han_chunks(word) for c in chunk}))
    return tuple(sorted({w for w in words if w.islower() and len(w) > _HOLDS_TOGETHER_CHARS}))
