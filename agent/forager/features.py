# SPDX-License-Identifier: Apache-2.0
"""An observation as the network's numbers: how everything on the page matches what is asked.

Every feature is a named column, so that a test can say which one moves. Nothing here knows the
task's truth: question, page, notes and queries are all an agent sees.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from agent.config import DEFAULT_STREAMS
from agent.forager.change import change_columns, element_changes
from agent.forager.clues import page_name
from agent.forager.element_columns import element_columns
from agent.forager.history import query_features
from agent.forager.hops import NO_HOP, NUM_HOPS, question_tokens
from agent.forager.relations import (
    MAX_STATEMENTS,
    StatementTable,
    asked_vector,
    asked_words,
    statements_of,
)
from agent.forager.scene import (
    Scene,
    in_any,
    relation_text,
    scene_of,
    share_in,
    share_named,
)
from agent.forager.span_columns import MORE_COLUMN, span_columns
from agent.forager.values import values_of
from agent.forager.words import folded_text
from agent.types import ModelInputs
from envs.actions import MAX_OPTIONS, MAX_TABS
from envs.types import (
    ElementFlag,
    Observation,
    Role,
    SpanSource,
)

CLUE_COLUMNS = (
    "position",
    "is_name",
    "in_title",
    "leads_here",
    "in_notes",
    "is_number",
    "is_question_word",
)
OPTION_COLUMNS = ("question_coverage", "open_coverage", "in_question")
TAB_COLUMNS = ("is_open", "is_active", "name_in_question", "name_in_notes")
# What is left with `policy.match_features=false`: names of columns, or what they begin with.
STATE_WITHOUT_MATCHES = (
    *("step", "is_modal_open", "is_dialog_open", "has_textbox", "has_other_box", "has_typed"),
    *("is_focused", "last_had_effect", "is_loading", "can_scroll_up", "wants_", "num_"),
)
ELEMENT_WITHOUT_MATCHES = (
    *("role_", "flag_", "closes_layer", "is_search_box", "is_header_row", "text_length"),
    *("is_empty", "has_value"),
)
SPAN_WITHOUT_MATCHES = (
    *("from_note", "from_newest_note", "is_row_value", "is_capitalised", "has_digit", "num_words"),
    *("is_single_word", "rank_in_source"),
)
_TABS_WITHOUT_MATCHES = np.array([1, 1, 0, 0], dtype=np.float16)
MAX_LOADING_CHARS = 40
_LOADING = re.compile(r"\b(loading|please wait|one moment)\b|加载|载入|稍候|请等", re.IGNORECASE)
NUM_COUNTS = 4  # counts are one-hot 0, 1, 2, 3 or more


def model_inputs(
    observation: Observation,
    streams: Collection[str] = DEFAULT_STREAMS,
    *,
    has_matches: bool = True,
) -> ModelInputs:
    """Features of one observation: match columns, and what is asked and stated in words.

    And what the streams `diff` and `history` read, if they are among `streams`. Without matches
    all columns are 0 that hold a text against the question, the notes or what was typed, and no
    statement is one of an element or a span.
    """
    scene = scene_of(observation)
    element = element_columns(scene)
    span = span_columns(scene)
    state = _state_columns(scene, element, span)
    asked = asked_vector(scene.question)
    if not has_matches:
        state = _kept(state, STATE_WITHOUT_MATCHES)
        element = _kept(element, ELEMENT_WITHOUT_MATCHES)
        span = _kept(span, SPAN_WITHOUT_MATCHES)
    table = StatementTable()
    of_elements, of_spans = _element_statements(scene, table), _span_statements(scene, table)
    clues, options, tabs = _clue_features(scene), _option_features(scene), _tab_features(scene)
    if not has_matches:
        of_elements, of_spans = of_elements * 0, of_spans * 0
        clues, options, tabs = clues * 0, options * 0, tabs * _TABS_WITHOUT_MATCHES
    return ModelInputs(
        state=np.concatenate([list(state.values()), asked]).astype(np.float16),
        element=_stack(element, len(observation.elements)),
        span=_stack(span, len(observation.spans)),
        option=options,
        tab=tabs,
        element_statement=of_elements,
        span_statement=of_spans,
        question_clue=clues,
        **table.inputs(),
        **asked_words(scene.question),
        **_hop_inputs(scene, has_matches),
        **_of_streams(scene, state, streams),
    )


def _of_streams(
    scene: Scene, state: Mapping[str, float], streams: Collection[str]
) -> dict[str, Any]:
    """Fields of `ModelInputs` that single streams read."""
    fields: dict[str, Any] = {}
    if "diff" in streams:
        fields["change"] = change_columns(scene.observation)
        fields["element_change"] = element_changes(scene.observation)
    if "history" in streams:
        fields["query"] = query_features(scene, state)
    return fields


# --- The question -------------------------------------------------------------------------------


def _clue_features(scene: Scene) -> np.ndarray:
    """How each word asked is explained so far, float16 [words asked, CLUE_COLUMNS]."""
    question, chains = scene.question, scene.chains
    num_clues = len(question.clues)
    features = np.zeros((num_clues + len(question.asking), len(CLUE_COLUMNS)), dtype=np.float16)
    best = chains.coverage.max(axis=0) if len(chains.coverage) else np.zeros(num_clues)
    features[:num_clues] = np.stack(
        [
            np.arange(num_clues) / max(1, num_clues - 1),
            question.near + question.far == 0,
            question.coverage(scene.here),
            scene.here_coverage,
            best,
            [clue.isdigit() for clue in question.clues],
            np.zeros(num_clues),
        ],
        axis=1,
    )
    features[num_clues:, -1] = 1.0
    return features


def _hop_inputs(scene: Scene, has_matches: bool) -> dict[str, np.ndarray]:
    """The fields of `ModelInputs` about the order of what is asked."""
    hops, here = scene.hops, scene.here_hop
    of_spans = [1 + hops.of_notes[s.note] if s.note >= 0 else 0 for s in scene.observation.spans]
    return {
        "question_token": question_tokens(scene.question, scene.asked_names),
        "page_hop": np.array([[hops.next if here == NO_HOP else here]], dtype=np.int16)
        * has_matches,
        "span_hop": np.array(of_spans, dtype=np.int16).reshape(-1, 1) * has_matches,
    }


# --- Statements -----------------------------------------------------------------------------------


def _element_statements(scene: Scene, statements: StatementTable) -> np.ndarray:
    """What each element says of its subject, int16 [E, MAX_STATEMENTS]."""
    table = scene.observation.elements
    found = np.zeros((len(table), MAX_STATEMENTS), dtype=np.int16)
    for row in range(len(table)):
        text, around = table.text[row], table.context[row]
        if Role(table.role[row]).is_text():
            told = [(s, values_of(s, text, scene.here)) for s in statements_of(text)]
        else:
            # A control says what the block around it says, its sentence if it stands in one, and
            # is itself the value.
            near = [s for s in statements_of(around) if text in s] or statements_of(around)
            told = [(s, (text,)) for s in near]
        found[row] = statements.rows(told, MAX_STATEMENTS)
    return found


def _span_statements(scene: Scene, statements: StatementTable) -> np.ndarray:
    """The row or sentence around each noted span, int16 [S, 1]."""
    spans = scene.observation.spans
    found = np.zeros((len(spans), 1), dtype=np.int16)
    for row, span in enumerate(spans):
        if span.source is SpanSource.NOTE:
            found[row] = statements.rows([(relation_text(span.context), (span.text,))], 1)
    return found


# --- State --------------------------------------------------------------------------------------


def _state_columns(
    scene: Scene, element: Mapping[str, np.ndarray], span: Mapping[str, np.ndarray]
) -> dict[str, float]:
    observation, question, chains = scene.observation, scene.question, scene.chains
    flags = observation.elements.flags
    is_text = element["role_paragraph"] | element["role_table_row"] | element["role_list_item"]
    fresh = is_text & ~element["flag_extracted"]
    state: dict[str, float] = {
        "step": observation.step_index / max(1, observation.step_index + observation.steps_left),
        "steps_left": min(1.0, observation.steps_left / 20),
        "is_modal_open": float(flags[:, ElementFlag.OCCLUDED].any()),
        "is_dialog_open": float(flags[:, ElementFlag.IN_DIALOG].any()),
        "has_textbox": float(element["role_textbox"].any()),
        "has_other_box": _masked_max(
            ~element["is_search_box"] & ~element["flag_occluded"], element["role_textbox"]
        ),
        "has_typed": float(bool(scene.typed)),
        "typed_is_sent": float(bool(scene.typed) and scene.typed in scene.queried),
        "typed_in_question": share_in(scene.typed, question.folded),
        "typed_in_notes": float(in_any(scene.typed, chains.folded)),
        "is_focused": float(flags[:, ElementFlag.FOCUSED].any()),
        "best_chain": chains.best(),
        "share_open": float(chains.open.mean()),
        "near_open": float(scene.near(chains.open)),
        "far_open": float(scene.far(chains.open)),
        "num_relation_clues": min(1.0, float((question.near + question.far > 0).sum()) / 8),
        "best_near": _masked_max(element["near_coverage"], fresh),
        "best_far": _masked_max(element["far_coverage"], fresh),
        "here_coverage": float(scene.here_coverage.mean()),
        "here_gain": float(scene.gain(scene.here_coverage)),
        "here_in_question": float(question.names(scene.here)),
        "here_in_notes": float(in_any(scene.here_folded, chains.folded)),
        "here_is_query": float(bool(scene.here_folded) and scene.here_folded == scene.query),
        "here_is_noted": float(scene.here_folded in chains.names),
        "query_in_question": share_in(scene.query, question.folded),
        "query_in_notes": float(in_any(scene.query, chains.folded)),
        "last_had_effect": float(observation.last_effect in ("", "ok")),
        "is_loading": float(any(_says_loading(t) for t in observation.elements.text)),
        "can_scroll_up": float(observation.scroll_y_px > 0),
        "wants_number": float(question.wants_number),
        "wants_year": float(question.wants_year),
        "names_here": share_named(scene.asked_names, f"{scene.here} {observation.page_text}"),
        "names_noted": _share_in(scene.asked_names, chains.names),
        "num_names": min(1.0, len(scene.asked_names) / 4),
        "is_compared": float(span[MORE_COLUMN].any()),
        "is_crossed": float(span["is_first_below"].any()),
        "crosses_here": float(element["is_first_below"].any()),
        "num_tabs": len(observation.tabs) / MAX_TABS,
        "best_chain_gain": _masked_max(element["chain_gain"], fresh),
        "best_open_coverage": _masked_max(element["open_coverage"], fresh),
        "best_link_match": _masked_max(element["text_in_query"], element["role_link"]),
        "has_query_link": float((element["equals_query"] & element["role_link"]).any()),
        "best_span_chain": _masked_max(span["fit_and_chain"], span["from_note"]),
        "has_new_name": float(span["is_new_name"].any()),
        "num_links": min(1.0, float(element["role_link"].sum()) / 60),
        "num_rows": min(1.0, float(element["role_table_row"].sum()) / 10),
    }
    for hop in range(NUM_HOPS):
        state[f"here_hop_{hop}"] = float(scene.here_hop == hop)
        state[f"next_hop_{hop}"] = float(scene.hops.next == hop)
    for name, count in (("notes", len(observation.notes)), ("queries", len(observation.queries))):
        for bucket in range(NUM_COUNTS):
            state[f"num_{name}_{bucket}"] = float(min(count, NUM_COUNTS - 1) == bucket)
    return state


# --- Options and tabs ---------------------------------------------------------------------------


def _option_features(scene: Scene) -> np.ndarray:
    table = scene.observation.elements
    if not any(table.options):
        return np.zeros((0, MAX_OPTIONS, len(OPTION_COLUMNS)), dtype=np.float16)
    features = np.zeros((len(table), MAX_OPTIONS, len(OPTION_COLUMNS)), dtype=np.float16)
    for row, labels in enumerate(table.options):
        for option, label in enumerate(labels[:MAX_OPTIONS]):
            coverage = scene.question.coverage(label)
            features[row, option] = (
                coverage.mean(),
                float(scene.share_open(coverage)),
                scene.question.names(label),
            )
    return features


def _tab_features(scene: Scene) -> np.ndarray:
    features = np.zeros((MAX_TABS, len(TAB_COLUMNS)), dtype=np.float16)
    for row, tab in enumerate(scene.observation.tabs[:MAX_TABS]):
        name = page_name(tab.title)
        features[row] = (
            1.0,
            tab.active,
            scene.question.names(name),
            in_any(folded_text(name), scene.chains.folded),
        )
    return features


# --- Small parts --------------------------------------------------------------------------------


def _says_loading(text: str) -> bool:
    """Whether a short text says that something is still to come."""
    return len(text) <= MAX_LOADING_CHARS and _LOADING.search(text) is not None


def _share_in(names: Collection[str], among: Collection[str]) -> float:
    return sum(name in among for name in names) / len(names) if names else 0.0


def _kept(columns: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The columns with 0 in all but those of `names`."""
    return {name: c if name.startswith(tuple(names)) else c * 0 for name, c in columns.items()}


def _masked_max(values: np.ndarray, mask: np.ndarray) -> float:
    chosen = np.asarray(values)[np.asarray(mask, dtype=bool)]
    return float(chosen.max()) if len(chosen) else 0.0


def _stack(columns: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    """Columns side by side, float16 [rows, columns]."""
    stacked = [np.asarray(c, dtype=np.float16).reshape(rows) for c in columns.values()]
    return np.stack(stacked, axis=1)
