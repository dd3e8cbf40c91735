# SPDX-License-Identifier: Apache-2.0
"""What is known of each element of a page: named columns."""

from __future__ import annotations

import numpy as np

from agent.forager.clues import type_fit
from agent.forager.hops import NO_HOP, NUM_HOPS
from agent.forager.link_ranks import link_ranks
from agent.forager.quantities import asked_bound, crossings
from agent.forager.scene import (
    Scene,
    in_any,
    relation_text,
    row_value,
    share_in,
    share_named,
)
from agent.forager.words import folded_text
from envs.han import has_han
from envs.types import ElementFlag, Role

# On the field of a search engine.
_SEARCH_WORDS = frozenset("search find query lookup 搜索 查找 检索".split())
# On the controls that close a banner or a pop-up.
_CLOSING_WORDS = frozenset(
    "close dismiss skip later not no without accept allow got agree ok cancel".split()
)
_HAN_CLOSING_WORDS = tuple("关闭 跳过 以后 稍后 暂不 不用 不登录 拒绝 接受 同意 知道 取消".split())


def element_columns(scene: Scene) -> dict[str, np.ndarray]:
    """Columns [E]."""
    table = scene.observation.elements
    question, chains = scene.question, scene.chains
    columns: dict[str, np.ndarray] = {}
    for role in Role:
        columns[f"role_{role.name.lower()}"] = table.role == role
    # Where an element lies is left out: no action but hovering asks for it, and a network that may
    # read it learns where training pages state their facts and misses them in another layout.
    for flag in ElementFlag:
        if flag is not ElementFlag.IN_VIEW:
            columns[f"flag_{flag.name.lower()}"] = table.flags[:, flag]
    folded = [folded_text(text) for text in table.text]
    coverage = question.coverages(table.text)
    context = question.coverages(table.context)
    chained = np.maximum(coverage, scene.here_coverage)
    relation = question.coverages([relation_text(t) for t in table.text])
    on_entity = question.names(scene.here)
    on_bridge = not on_entity and in_any(scene.here_folded, chains.folded)
    named = np.array([chains.leading_to(t) for t in table.text]).reshape(
        len(table), len(question.clues)
    )
    is_name = np.array([len(f.split()) <= 8 for f in folded], dtype=bool)
    in_notes = np.array([in_any(f, chains.folded) for f in folded], dtype=bool)
    first_below, last_above = crossings(table.text, asked_bound(question))
    asked_names = scene.asked_names
    name_hops = np.array(
        [scene.hops.of(f) if n else NO_HOP for f, n in zip(folded, is_name, strict=True)]
    )
    named_around = np.array(
        [
            share_named(asked_names, f"{t} {c}")
            for t, c in zip(table.text, table.context, strict=True)
        ]
    )
    columns |= {
        "is_first_below": np.array(first_below, dtype=bool),
        "is_last_above": np.array(last_above, dtype=bool),
        "names_in_context": named_around,
        "question_coverage": coverage.mean(axis=1),
        "open_coverage": scene.share_open(coverage),
        "best_clue": coverage.max(axis=1),
        "near_coverage": scene.near(relation),
        "far_coverage": scene.far(relation),
        "near_on_entity": scene.near(relation) * on_entity,
        "far_on_entity": scene.far(relation) * on_entity,
        "far_on_bridge": scene.far(relation) * on_bridge,
        "closes_layer": table.flags[:, ElementFlag.IN_DIALOG]
        & np.array(
            [_says_close(t, f) for t, f in zip(table.text, folded, strict=True)], dtype=bool
        ),
        "is_search_box": (table.role == Role.TEXTBOX)
        & np.array([not _SEARCH_WORDS.isdisjoint(f.split()) for f in folded], dtype=bool),
        "context_near_coverage": scene.near(context),
        "context_coverage": context.mean(axis=1),
        "context_open_coverage": scene.share_open(context),
        "chain_coverage": chained.mean(axis=1),
        "chain_gain": scene.gain(chained),
        "named_chain_coverage": np.where(is_name, named.mean(axis=1), 0.0),
        "share_of_text_in_question": np.array([share_in(f, question.folded) for f in folded]),
        "in_question": np.array([question.names(f) for f in folded], dtype=bool) & is_name,
        "in_notes": in_notes & is_name,
        "is_next_hop": name_hops == scene.hops.next,
        "name_hop": (1 + name_hops) / NUM_HOPS,
        "is_noted_page": np.array([f in chains.names for f in folded]),
        "equals_query": np.array([bool(f) and f == scene.query for f in folded], dtype=bool),
        "query_in_text": np.array([share_in(scene.query, f" {f} ") for f in folded]),
        "text_in_query": np.array([share_in(f, f" {scene.query} ") for f in folded]),
        "query_in_context": np.array(
            [share_in(scene.query, f" {folded_text(c)} ") for c in table.context]
        ),
        "equals_here": np.array([bool(f) and f == scene.here_folded for f in folded]),
        "type_fit": np.array([type_fit(question, row_value(t)) for t in table.text]),
        "is_header_row": np.array([": " in t[:40] for t in table.text]),
        "text_length": np.array([min(1.0, len(f.split()) / 40) for f in folded]),
        "is_empty": np.array([not f for f in folded]),
        "has_value": np.array([bool(v) for v in table.value]),
    }
    return columns | link_ranks(scene)


def _says_close(text: str, folded: str) -> bool:
    """Whether a control's label is one that layers are closed by."""
    if has_han(text):
        return any(word in text for word in _HAN_CLOSING_WORDS)
    return not _CLOSING_WORDS.isdisjoint(folded.split())
