# SPDX-License-Identifier: Apache-2.0
"""`policy.match_features=false`: nothing that holds a text against what is asked is left."""

import dataclasses

import numpy as np
import torch

from agent.config import PolicyConfig
from agent.forager.element_columns import element_columns
from agent.forager.family import ForagerFamily
from agent.forager.features import (
    ELEMENT_WITHOUT_MATCHES,
    SPAN_WITHOUT_MATCHES,
    STATE_WITHOUT_MATCHES,
    _state_columns,
    model_inputs,
)
from agent.forager.relations import ASKED_SIZE
from agent.forager.scene import scene_of
from agent.forager.span_columns import span_columns
from agent.policy import collate
from agent.policy_agent import build_policy
from envs.observe import asked_anew
from envs.types import Observation
from tests.agent.test_forager import observations

# Both ask "who" and name two words, so that nothing but the words differs.
QUESTIONS = ("Who founded Orla Works?", "Who taught Ann Bell?")
WITHOUT = ForagerFamily(PolicyConfig(match_features=False))


def asked(observation: Observation, question: str) -> Observation:
    """Under another question, with the spans as they were: those are texts of their own."""
    anew = asked_anew(observation, question, observation.notes, observation.queries)
    return dataclasses.replace(anew, spans=observation.spans, mask=observation.mask)


def test_no_column_of_element_or_span_depends_on_the_question_and_with_matches_they_do() -> None:
    moved = {"element": False, "span": False}
    for seen in observations():
        one, other = (WITHOUT.model_inputs(asked(seen, q)) for q in QUESTIONS)
        for field in ("element", "span", "option", "element_statement", "span_statement"):
            assert np.array_equal(getattr(one, field), getattr(other, field)), field
        assert np.array_equal(one.state[:-ASKED_SIZE], other.state[:-ASKED_SIZE])
        first, second = (model_inputs(asked(seen, q)) for q in QUESTIONS)
        for field in moved:
            moved[field] |= not np.array_equal(getattr(first, field), getattr(second, field))
    assert all(moved.values())


def test_shapes_stay_and_what_a_text_looks_like_does() -> None:
    for seen in observations():
        without, whole = WITHOUT.model_inputs(seen), model_inputs(seen)
        assert without.element.shape == whole.element.shape
        assert without.span.shape == whole.span.shape and without.state.shape == whole.state.shape
        kept = without.element != 0
        assert np.array_equal(without.element[kept], whole.element[kept])
        assert kept.any() and kept.sum() < (whole.element != 0).sum()


def test_the_network_acts_without_statements_and_without_nan() -> None:
    policy = build_policy(PolicyConfig(match_features=False), seed=0)
    seen = observations()
    batch = collate([WITHOUT.model_inputs(o) for o in seen], [o.mask for o in seen])
    with torch.no_grad():
        log_probs = policy(batch).log_action[batch.flat_mask]
    assert torch.isfinite(log_probs).all()


def test_every_name_that_is_kept_is_that_of_a_column() -> None:

    scene = scene_of(observations()[2])
    columns = (element_columns(scene), span_columns(scene))
    for names, kept in zip(columns, (ELEMENT_WITHOUT_MATCHES, SPAN_WITHOUT_MATCHES), strict=True):
        assert all(any(n.startswith(k) for n in names) for k in kept)
    state = _state_columns(scene, *columns)
    assert all(any(n.startswith(k) for n in state) for k in STATE_WITHOUT_MATCHES)
