# SPDX-License-Identifier: Apache-2.0
"""What several features share at one observation, and the small text questions they ask."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from agent.forager.clues import Chains, Question, chains_of, page_name, question_view
from agent.forager.hops import Hops
from agent.forager.words import folded_text
from envs.han import han_length
from envs.spans import header_and_value
from envs.types import Observation, Role, SpanSource

# Less of the question than this is no open part.
MIN_OPEN = 1e-6
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
MIN_HAN_NAME_CHARS = 3  # shorter words say what is asked


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """What several features share at one observation."""

    observation: Observation
    question: Question
    chains: Chains
    here: str  # page name
    here_folded: str
    here_coverage: np.ndarray  # [C] of the page name and of the chain that leads to it
    query: str  # last sent query, folded
    typed: str  # text in the first filled field, folded
    queried: frozenset[str]  # every sent query, folded
    asked_names: tuple[str, ...]  # what the question names, folded
    hops: Hops
    here_hop: int  # of the page, or `NO_HOP`

    def share_open(self, coverage: np.ndarray) -> np.ndarray:
        """How much of the still open part of the question coverage [..., C] explains, in [0, 1]."""
        weight = float(self.chains.open.sum())
        explained = np.asarray(coverage @ self.chains.open)
        return explained / weight if weight > MIN_OPEN else np.zeros_like(explained)

    def near(self, coverage: np.ndarray) -> np.ndarray:
        """How much coverage [..., C] explains of the relation next to the entity, in [0, 1]."""
        return np.asarray(coverage @ self.question.near)

    def far(self, coverage: np.ndarray) -> np.ndarray:
        """How much coverage [..., C] explains of what is asked in the end, in [0, 1]."""
        return np.asarray(coverage @ self.question.far)

    def gain(self, coverage: np.ndarray) -> np.ndarray:
        """Mean coverage beyond the best chain of the notes, from coverage [..., C]."""
        return np.asarray(coverage.mean(axis=-1)) - self.chains.best()


def scene_of(observation: Observation) -> Scene:
    """Everything that one observation's features start from."""
    question = question_view(observation.question)
    chains = chains_of(question, observation.notes)
    here = page_name(observation.title)
    here_folded = folded_text(here)
    hops = Hops(question, chains)
    queries = [folded_text(q.text) for q in observation.queries]
    return Scene(
        observation=observation,
        question=question,
        chains=chains,
        here=here,
        here_folded=here_folded,
        here_coverage=np.maximum(question.coverage(here), chains.leading_to(here)),
        query=queries[-1] if queries else "",
        typed=folded_text(next((v for v in observation.elements.value if v), "")),
        queried=frozenset(queries),
        asked_names=_asked_names(observation),
        hops=hops,
        here_hop=hops.of(here_folded),
    )


def _asked_names(observation: Observation) -> tuple[str, ...]:
    """The question's spans that are names, none that has another in it."""
    question = observation.question
    texts = [s.text for s in observation.spans if s.source is SpanSource.QUESTION]
    # The last one is all the question's words, and its first word alone is no name.
    names = [
        t
        for t in texts[:-1]
        if han_length(t) >= MIN_HAN_NAME_CHARS
        or (t[:1].isupper() and (" " in t or not question.startswith(t)))
    ]
    return tuple(
        folded_text(t) for t in names if not any(t != other and other in t for other in names)
    )


def row_value(text: str) -> str:
    """What stands behind the colon of a "Header: value" row, else the text itself."""
    return header_and_value(text)[1]


def relation_text(text: str) -> str:
    """The header of a "Header: value" row, else the text itself: what names the relation."""
    return header_and_value(text)[0] or text


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, in order."""
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence]


def in_any(folded: str, texts: Sequence[str]) -> bool:
    """Whether one of `texts` (with blanks at both ends) contains `folded` as whole words."""
    return bool(folded) and any(f" {folded} " in text for text in texts)


def share_in(folded: str, text: str) -> float:
    """Share of the words of `folded` that occur in `text` (with blanks at both ends)."""
    words = folded.split()
    return sum(f" {w} " in text for w in words) / len(words) if words else 0.0


def link_texts_of(observation: Observation) -> frozenset[str]:
    """Folded texts of all links on the page."""
    table = observation.elements
    return frozenset(
        folded_text(t) for t, r in zip(table.text, table.role, strict=True) if r == Role.LINK
    )


def share_named(names: Collection[str], text: str) -> float:
    """Share of the folded names that a text has as whole words."""
    if not names:
        return 0.0
    folded = f" {folded_text(text)} "
    return sum(f" {name} " in folded for name in names) / len(names)
