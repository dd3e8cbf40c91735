# SPDX-License-Identifier: Apache-2.0
"""What pages state against what is asked: kinds of values, numbers compared, learnt scores."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from agent.config import PolicyConfig
from agent.forager.clues import question_view
from agent.forager.features import model_inputs
from agent.forager.hops import NUM_HOPS
from agent.forager.matching import (
    EXPLAINED_SIZE,
    MATCH_SIZE,
    NUM_FIXED,
    NUM_READINGS,
    Matches,
    QuestionMatch,
    best_of,
    rows_of,
)
from agent.forager.quantities import asked_bound, crossings, more_than_other, quantities_of
from agent.forager.relations import ASKED_SIZE, RELATION_SIZE
from agent.forager.scene import scene_of
from agent.forager.values import SHAPE_COLUMNS, value_endings, value_shape, values_of
from agent.policy import PolicyBatch, collate
from agent.policy_agent import build_policy
from envs.spans import draw_spans
from envs.types import Note, Observation
from tests.agent.test_forager import observations
from tests.envs.small_site import ANN, ORLA


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1984", {"is_year", "is_one_word"}),
        ("48,210", {"is_number", "is_one_word"}),
        ("$342", {"is_money", "is_one_word"}),
        ("56.2 tonnes", {"has_unit", "is_two_words", "is_lower"}),
        ("ZK-2971", {"is_code", "is_one_word", "is_capitalised"}),
        ("Ann Bell", {"is_two_words", "is_capitalised"}),
        ("Thorembmoor Safety Board", {"is_longer", "is_capitalised"}),
        ("林远航", {"is_han", "is_three_han"}),
        ("", set()),
    ],
)
def test_the_shape_of_a_value(text: str, says: set[str]):
    shape = dict(zip(SHAPE_COLUMNS, value_shape(text).tolist(), strict=True))
    assert {name for name, value in shape.items() if value} == says


def test_names_of_one_kind_end_alike():
    first, second = value_endings("Nembia Holdings"), value_endings("Meitia Holdings")
    assert np.array_equal(first, second) and first.all()
    assert value_endings("Stemford")[0] == value_endings("Rumford")[0]
    assert value_endings("鹿怀省")[0] == value_endings("广宏省")[0]
    assert not value_endings("12").any()


def test_a_row_states_its_value_and_a_sentence_its_names_but_not_its_subject():
    assert values_of("Employer", "Employer: Orla Works", "Ann Bell") == ("Orla Works",)
    sentence = "Ann Bell works for Orla Works, whose office is near Vardo."
    assert values_of(sentence, sentence, "Ann Bell") == ("Orla Works", "Vardo")


def test_numbers_of_one_kind_are_compared_and_a_bound_is_crossed_once():
    assert [q.kind for q in quantities_of("$342 in 1984 for 48,210 people")] == [
        "money", "year", "number",
    ]  # fmt: skip
    rows = ["2012: 80 kg", "2010: 90 kg", "2014: 60 kg", "Topic: 12"]
    assert crossings(rows, 85.0) == ([True, False, False, False], [False, True, False, False])
    assert crossings(rows, 95.0) == crossings(rows, None) == ([False] * 4, [False] * 4)
    assert asked_bound(question_view("In which year did it first fall below 85 kg?")) == 85.0
    assert asked_bound(question_view("What limit did it set in 2012?")) is None


def test_of_two_pages_asked_about_one_has_more():
    seen = observations()[0]
    question = "Which city has more inhabitants, Vardo or Stemford?"
    notes = (
        Note(text="Population: 48,210", url=ANN, title="Vardo - Encyclopedia", step=0),
        Note(text="In 1900 Stemford had 9,100 people.", url=ORLA, title="Stemford", step=1),
    )
    one = scene_of(dataclasses.replace(seen, question=question, notes=notes[:1]))
    both = scene_of(dataclasses.replace(seen, question=question, notes=notes))
    assert more_than_other(one) == {}
    assert more_than_other(both) == {"vardo": 1.0, "stemford": -1.0}


def batch_of(seen: Sequence[Observation]) -> PolicyBatch:
    return collate([model_inputs(s) for s in seen], [s.mask for s in seen])


def matches_of(match: QuestionMatch, batch: PolicyBatch) -> Matches:
    state, asked = batch.state.split([batch.state.shape[1] - ASKED_SIZE, ASKED_SIZE], dim=-1)
    return match(state, asked, batch)


def scores_of(
    match: QuestionMatch, batch: PolicyBatch, state: int, statement: int, weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What is said and its kind of one statement, under `weights` [Q] of the words asked."""
    ids = batch.question_word[state, :, 0]
    told, own = batch.statement[state, statement], batch.question_vector[state]
    words = [w for w in batch.statement_word[state, statement].tolist() if w]
    vector = sum((match.word.weight[w] for w in words), torch.zeros(24))
    vector = vector / max(1, len(words)) ** 0.5
    query = weights @ (own + match.asked_word(own))
    said = (told + match.told(told)) @ query + vector @ (weights @ match.word.weight[ids])
    wanted = weights @ match.kind_asked.weight[ids]
    kinds = [
        match.shape(batch.value_shape[state, v - 1])
        + match.ending.weight[batch.value_ending[state, v - 1]].sum(dim=0)
        for v in batch.statement_value[state, statement].tolist()
        if v
    ]
    return said, max((kind @ wanted for kind in kinds), default=torch.tensor(0.0))


def test_what_is_said_and_the_kind_of_value_are_inner_products_with_each_reading():
    match = build_policy(PolicyConfig(width=16), seed=3).relation
    batch = batch_of(observations())
    found = matches_of(match, batch)
    assert found.element.shape[-1] == found.span.shape[-1] == MATCH_SIZE
    assert found.explained.shape[-1] == EXPLAINED_SIZE and found.direction.abs().max() < 1
    _, asked = batch.state.split([batch.state.shape[1] - ASKED_SIZE, ASKED_SIZE], dim=-1)
    num_checked = 0
    for state in range(len(batch)):
        for row in range(batch.span_statement.shape[1]):
            statement = int(batch.span_statement[state, row, 0]) - 1
            if statement < 0:
                assert not found.span[state, row].any()
                continue
            for reading in range(NUM_FIXED):
                weights = batch.question_weight[state, :, reading]
                said, kind = scores_of(match, batch, state, statement, weights)
                part = slice(reading * RELATION_SIZE, (reading + 1) * RELATION_SIZE)
                told = batch.statement[state, statement]
                said = said + (told + match.told(told)) @ match.asked(asked[state])[part]
                assert torch.allclose(found.span[state, row, reading], said, atol=1e-4)
                own = found.span[state, row, NUM_READINGS + reading]
                assert torch.allclose(own, kind, atol=1e-4)
                num_checked += 1
    assert num_checked > 10


def test_pages_and_notes_are_held_against_the_reading_of_their_own_hop():
    match = build_policy(PolicyConfig(width=16), seed=3).relation
    batch = batch_of(observations())
    found, (hops, plan) = matches_of(match, batch), match.plan(batch)
    is_found = torch.full((len(batch), NUM_HOPS), -torch.inf)
    for state in range(len(batch)):
        here = hops[state, int(batch.page_hop[state, 0, 0])]
        for row, statements in enumerate(batch.element_statement[state].tolist()):
            both = [scores_of(match, batch, state, r - 1, here) for r in statements if r]
            for column, scores in enumerate(zip(*both, strict=True)):
                got = found.element[state, row, 2 * NUM_READINGS + column]
                assert torch.allclose(got, max(scores), atol=1e-4)
        for row, (hop,) in enumerate(batch.span_hop[state].tolist()):
            got = found.span[state, row, 2 * NUM_READINGS :]
            if not hop:
                assert not got.any(), "the question's own words and what is off the chain"
                continue
            statement = int(batch.span_statement[state, row, 0]) - 1
            both = torch.stack(scores_of(match, batch, state, statement, hops[state, hop - 1]))
            assert torch.allclose(got, both, atol=1e-4)
            is_found[state, hop - 1] = torch.maximum(is_found[state, hop - 1], both.sum())
    expected = torch.where(is_found.isinf(), torch.zeros_like(is_found), is_found.tanh())
    by_hop = found.explained[:, NUM_READINGS : NUM_READINGS + NUM_HOPS]
    assert torch.allclose(by_hop, expected, atol=1e-4) and expected.any()
    assert torch.equal(found.explained[:, NUM_READINGS + NUM_HOPS :], plan)


def test_what_notes_explain_moves_the_learnt_readings_and_nothing_else_is_explained():
    match = build_policy(PolicyConfig(width=16), seed=3).relation
    seen = observations()
    explained = matches_of(match, batch_of(seen)).explained[:, : NUM_READINGS + NUM_HOPS]
    has_notes = torch.tensor([bool(s.notes) for s in seen])
    assert not explained[~has_notes].any() and explained[has_notes, :NUM_READINGS].all()


def test_names_say_nothing_of_more_or_less_and_other_words_do() -> None:
    match = build_policy(PolicyConfig(width=16), seed=3).relation
    seen = observations()[0]
    turned = {}
    for question in ("Is Ann Bell cheaper?", "Is Ann Ravo cheaper?", "Is Ann Bell dearer?"):
        spans = draw_spans(question, ())
        asked = dataclasses.replace(seen, question=question, spans=spans)
        turned[question] = matches_of(match, batch_of([asked])).direction.item()
    first, other_name, other_word = turned.values()
    assert first == other_name != other_word


def test_rows_count_from_one():
    values = torch.arange(12.0).reshape(2, 3, 2)
    rows = torch.tensor([[[1, 3]], [[2, 0]]])
    assert rows_of(values, rows).tolist() == [[[[0, 1], [4, 5]]], [[[8, 9], [6, 7]]]]


def test_an_owner_has_the_best_score_of_its_statements():
    score = torch.tensor([[[1.0, -4.0], [3.0, -5.0], [2.0, -6.0]]])
    rows = torch.tensor([[[1, 2, 0], [3, 0, 0], [0, 0, 0]]])
    assert best_of(score, rows).tolist() == [[[3.0, -4.0], [2.0, -6.0], [0.0, 0.0]]]
