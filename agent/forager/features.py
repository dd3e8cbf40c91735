# SPDX-License-Identifier: Apache-2.0
"""An observation as the network's numbers: how everything on the page matches what is asked.

Every feature is a named column, so that a test can say which one moves. Nothing here knows the
task's truth: question, page, notes and queries are all an agent sees.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from agent.config import DEFAULT_STREAMS
from agent.forager.change import change_columns, element_changes
from agent.forager.clues import Question, page_name, type_fit
from agent.forager.history import query_features
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
    link_texts_of,
    relation_text,
    row_value,
    scene_of,
    share_in,
)
from agent.forager.words import folded_text
from agent.types import ModelInputs
from envs.actions import MAX_OPTIONS, MAX_TABS
from envs.types import (
    ElementFlag,
    Observation,
    Role,
    Span,
    SpanSource,
)

OPTION_COLUMNS = ("question_coverage", "open_coverage", "in_question")
TAB_COLUMNS = ("is_open", "is_active", "name_in_question", "name_in_notes")
# On the field of a search engine.
_SEARCH_WORDS = frozenset("search find query lookup 搜索 查找 检索".split())
# On the controls that close a banner or a pop-up.
_CLOSING_WORDS = frozenset(
    "close dismiss skip later not no without accept allow got agree ok cancel".split()
)
NUM_COUNTS = 4  # counts are one-hot 0, 1, 2, 3 or more


def model_inputs(
    observation: Observation, streams: Collection[str] = DEFAULT_STREAMS
) -> ModelInputs:
    """Features of one observation: match columns, and what is asked and stated in words.

    And what the streams `diff` and `history` read, if they are among `streams`.
    """
    scene = scene_of(observation)
    element = _element_columns(scene)
    span = _span_columns(scene)
    state = _state_columns(scene, element, span)
    asked = asked_vector(scene.question)
    question_word, question_weight = asked_words(scene.question)
    table = StatementTable()
    of_elements, of_spans = _element_statements(scene, table), _span_statements(scene, table)
    return ModelInputs(
        state=np.concatenate([list(state.values()), asked]).astype(np.float16),
        element=_stack(element, len(observation.elements)),
        span=_stack(span, len(observation.spans)),
        option=_option_features(scene),
        tab=_tab_features(scene),
        statement=table.vectors(),
        statement_word=table.words(),
        element_statement=of_elements,
        span_statement=of_spans,
        question_word=question_word,
        question_weight=question_weight,
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


# --- Elements -----------------------------------------------------------------------------------


def _element_columns(scene: Scene) -> dict[str, np.ndarray]:
    """Columns [E]."""
    table = scene.observation.elements
    question, chains = scene.question, scene.chains
    columns: dict[str, np.ndarray] = {}
    for role in Role:
        columns[f"role_{role.name.lower()}"] = table.role == role
    for flag in ElementFlag:
        columns[f"flag_{flag.name.lower()}"] = table.flags[:, flag]
    folded = [folded_text(text) for text in table.text]
    coverage = _coverages(question, table.text)
    context = _coverages(question, table.context)
    chained = np.maximum(coverage, scene.here_coverage)
    relation = _coverages(question, [relation_text(t) for t in table.text])
    on_entity = question.names(scene.here)
    on_bridge = not on_entity and in_any(scene.here_folded, chains.folded)
    named = np.array([chains.leading_to(t) for t in table.text]).reshape(
        len(table), len(question.clues)
    )
    is_name = np.array([len(f.split()) <= 8 for f in folded], dtype=bool)
    in_notes = np.array([in_any(f, chains.folded) for f in folded], dtype=bool)
    columns |= {
        "question_coverage": coverage.mean(axis=1),
        "open_coverage": scene.share_open(coverage),
        "best_clue": coverage.max(axis=1),
        "near_coverage": scene.near(relation),
        "far_coverage": scene.far(relation),
        "near_on_entity": scene.near(relation) * on_entity,
        "far_on_entity": scene.far(relation) * on_entity,
        "far_on_bridge": scene.far(relation) * on_bridge,
        "closes_layer": table.flags[:, ElementFlag.IN_DIALOG]
        & np.array([_says_close(f) for f in folded], dtype=bool),
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
        "position": np.arange(len(table)) / max(1, len(table) - 1),
        "below_view": _below_view(scene.observation),
    }
    return columns


def _element_statements(scene: Scene, statements: StatementTable) -> np.ndarray:
    """What each element says of its subject, int16 [E, MAX_STATEMENTS]."""
    table = scene.observation.elements
    found = np.zeros((len(table), MAX_STATEMENTS), dtype=np.int16)
    for row in range(len(table)):
        # A control says what the block around it says.
        is_text = Role(table.role[row]).is_text()
        source = table.text[row] if is_text else table.context[row]
        found[row] = statements.rows(statements_of(source), MAX_STATEMENTS)
    return found


def _span_statements(scene: Scene, statements: StatementTable) -> np.ndarray:
    """The row or sentence around each noted span, int16 [S, 1]."""
    spans = scene.observation.spans
    found = np.zeros((len(spans), 1), dtype=np.int16)
    for row, span in enumerate(spans):
        if span.source is SpanSource.NOTE:
            found[row] = statements.rows([relation_text(span.context)], 1)
    return found


def _below_view(observation: Observation) -> np.ndarray:
    """How many windows an element lies below the top of the view, clipped to [-2, 4]."""
    top = observation.elements.box[:, 1] - observation.scroll_y_px
    return np.clip(top / max(1, observation.viewport[1]), -2.0, 4.0)


# --- Spans --------------------------------------------------------------------------------------


def _span_columns(scene: Scene) -> dict[str, np.ndarray]:
    """Columns [S]."""
    observation, question, chains = scene.observation, scene.question, scene.chains
    spans = observation.spans
    folded = [folded_text(span.text) for span in spans]
    own = _coverages(question, [s.text for s in spans])
    context = _coverages(question, [s.context for s in spans])
    relation = _coverages(question, [relation_text(s.context) for s in spans])
    # A note's spans rest on its chain; a question's spans rest on nothing yet.
    chain = np.array(
        [
            chains.coverage[s.note] if s.source is SpanSource.NOTE else np.zeros_like(chains.open)
            for s in spans
        ]
    ).reshape(len(spans), len(question.clues))
    link_texts = link_texts_of(observation)
    from_note = np.array([s.source is SpanSource.NOTE for s in spans], dtype=bool)
    is_value = np.array(
        [folded_text(row_value(s.context)) == f for s, f in zip(spans, folded, strict=True)],
        dtype=bool,
    )
    is_title = np.array([f in chains.names for f in folded], dtype=bool)
    is_queried = np.array([f in scene.queried for f in folded], dtype=bool)
    fit = np.array([type_fit(question, s.text) for s in spans], dtype=float)
    chain_coverage = chain.mean(axis=1)
    best = chains.best()
    return {
        "from_note": from_note,
        "from_newest_note": from_note
        & np.array([s.note == len(chains.names) - 1 for s in spans], dtype=bool),
        "from_best_chain": from_note & (chain_coverage >= best - 1e-6),
        "is_row_value": is_value & from_note,
        "own_coverage": own.mean(axis=1),
        "own_open_coverage": scene.share_open(own),
        "context_coverage": context.mean(axis=1),
        "chain_coverage": chain_coverage,
        "chain_coverage_squared": chain_coverage**2,
        "chain_far_coverage": scene.far(chain),
        "chain_near_coverage": scene.near(chain),
        "relation_far_coverage": scene.far(relation) * from_note,
        "relation_near_coverage": scene.near(relation) * from_note,
        "fit_and_far": fit * scene.far(chain),
        "note_is_of_entity": np.array(
            [s.note >= 0 and question.names(chains.names[s.note]) for s in spans], dtype=bool
        ),
        "in_question": np.array([question.names(f) for f in folded], dtype=bool) & from_note,
        "is_queried": is_queried,
        "is_noted_page": is_title,
        "is_new_name": from_note & ~is_title & ~is_queried & _capitalised(spans),
        "equals_here": np.array([f == scene.here_folded for f in folded], dtype=bool),
        "equals_typed": np.array([f == scene.typed for f in folded], dtype=bool),
        "is_link_here": np.array([f in link_texts for f in folded], dtype=bool),
        "is_capitalised": _capitalised(spans),
        "has_digit": np.array([any(c.isdigit() for c in s.text) for s in spans], dtype=bool),
        "type_fit": fit,
        "fit_and_chain": fit * chain_coverage,
        "num_words": np.array([min(1.0, len(f.split()) / 8) for f in folded]),
        "is_single_word": np.array([len(f.split()) == 1 for f in folded], dtype=bool),
        "rank_in_source": _rank_in_source(observation),
    }


def _rank_in_source(observation: Observation) -> np.ndarray:
    """0 for the first span of the question or of a note, rising to 1."""
    seen: dict[int, int] = {}
    ranks = []
    for span in observation.spans:
        ranks.append(min(1.0, seen.get(span.note, 0) / 8))
        seen[span.note] = seen.get(span.note, 0) + 1
    return np.array(ranks)


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
        "has_typed": float(bool(scene.typed)),
        "typed_is_sent": float(bool(scene.typed) and scene.typed in scene.queried),
        "typed_in_question": float(question.names(scene.typed)),
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
        "query_in_question": float(question.names(scene.query)),
        "query_in_notes": float(in_any(scene.query, chains.folded)),
        "last_had_effect": float(observation.last_effect in ("", "ok")),
        "can_scroll_up": float(observation.scroll_y_px > 0),
        "wants_number": float(question.wants_number),
        "wants_year": float(question.wants_year),
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


def _coverages(question: Question, texts: Sequence[str]) -> np.ndarray:
    """Coverage of each text, float32 [texts, clues]."""
    rows = [question.coverage(text) for text in texts]
    return np.array(rows, dtype=np.float32).reshape(len(texts), len(question.clues))


def _says_close(folded: str) -> bool:
    """Whether a control's label is one that layers are closed by."""
    return not _CLOSING_WORDS.isdisjoint(folded.split())


def _capitalised(spans: Sequence[Span]) -> np.ndarray:
    return np.array([s.text[:1].isupper() for s in spans], dtype=bool)


def _masked_max(values: np.ndarray, mask: np.ndarray) -> float:
    chosen = np.asarray(values)[np.asarray(mask, dtype=bool)]
    return float(chosen.max()) if len(chosen) else 0.0


def _stack(columns: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    """Columns side by side, float16 [rows, columns]."""
    stacked = [np.asarray(c, dtype=np.float16).reshape(rows) for c in columns.values()]
    return np.stack(stacked, axis=1)
