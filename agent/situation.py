# SPDX-License-Identifier: Apache-2.0
"""What could be read at one step, as texts: for teachers that compare attempts with each other.

A policy never sees it. It is recorded only where a run asks for it, packed into bytes, about 3 kB a
step. No torch.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from envs.types import ElementFlag, Observation, Role

_FAST = 1  # zlib level; higher ones save a fifth and cost several times as much


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """The texts of one observation. Lengths: E elements, S spans."""

    question: str
    url: str
    is_blocked: bool  # a modal layer lies over the page
    queries: tuple[str, ...]  # sent so far, oldest first
    notes: tuple[str, ...]  # extracted so far, oldest first
    texts: tuple[str, ...]  # [E]
    hrefs: tuple[str, ...]  # [E] "" for what is no link
    typed: tuple[str, ...]  # what stands in text boxes
    spans: tuple[str, ...]  # [S]


def situation_of(observation: Observation) -> Situation:
    """The texts of `observation`."""
    table = observation.elements
    boxes = np.flatnonzero(table.role == Role.TEXTBOX)
    return Situation(
        question=observation.question,
        url=observation.url,
        is_blocked=bool(table.flags[:, ElementFlag.OCCLUDED].any()),
        queries=tuple(query.text for query in observation.queries),
        notes=tuple(note.text for note in observation.notes),
        texts=table.text,
        hrefs=table.href,
        typed=tuple(table.value[row] for row in boxes if table.value[row]),
        spans=tuple(span.text for span in observation.spans),
    )


def pack_situation(situation: Situation) -> np.ndarray:
    """`situation` as bytes; uint8 [*]."""
    text = json.dumps(dataclasses.asdict(situation), ensure_ascii=False)
    return np.frombuffer(zlib.compress(text.encode(), _FAST), dtype=np.uint8).copy()


def unpack_situation(packed: np.ndarray) -> Situation:
    """What `pack_situation` packed; `ValueError` for an empty array."""
    if not len(packed):
        raise ValueError(
            "expected a recorded situation, got none: the rollouts must record situations where "
            "algo.step_teacher=siblings or algo.objective.baseline=anchored"
        )
    content = json.loads(zlib.decompress(packed.tobytes()))
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    return Situation(**fields)


def situation_name(situation: Situation) -> str:
    """Equal for steps at which the same page shows the same with the same things known."""
    parts = (situation.url, situation.queries, situation.notes, situation.typed)
    return repr((*parts, situation.is_blocked))
