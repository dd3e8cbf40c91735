# SPDX-License-Identifier: Apache-2.0
"""Which kind of task, or which language, comes at an index when several are mixed by weight."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence

KINDS = ("look_up", "two_hop", "three_hop", "comparison", "fuzzy", "cross_site")
LANGUAGES = ("en", "zh")
# Steps of two sequences that fill [0, 1) evenly and independently of each other.
KIND_STEP = (math.sqrt(5) - 1) / 2
LANGUAGE_STEP = math.sqrt(2) - 1


def parse_mix(entries: Sequence[str], known: Sequence[str], *, key: str) -> dict[str, float]:
    """Share of each name in a mix such as ("look_up", "fuzzy:2"); `ValueError` names `key`.

    An entry is a name or "name:weight"; a name alone weighs 1. Shares sum to 1.
    """
    weights: dict[str, float] = {}
    for entry in entries:
        name, colon, text = entry.partition(":")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{key}: expected some of {list(known)}, got {name!r}{hint}")
        if name in weights:
            raise ValueError(f"{key}: expected each name once, got {name!r} again")
        weights[name] = _weight(text, key) if colon else 1.0
    if not weights:
        raise ValueError(f"{key}: expected at least one of {list(known)}, got none")
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def _weight(text: str, key: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0.0 < weight < math.inf:
        raise ValueError(f"{key}: expected a weight > 0 behind the colon, got {text!r}")
    return weight


def name_at(index: int, shares: dict[str, float], step: float) -> str:
    """The name at `index`; any run of n tasks has each name's share within about one task."""
    place = (0.5 + index * step) % 1.0
    *others, last = shares
    for name in others:
        place -= shares[name]
        if place < 0:
            return name
    return last
