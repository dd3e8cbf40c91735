# SPDX-License-Identifier: Apache-2.0
"""What a group's right attempts tell all its members, and that nothing else is read."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from agent.situation import pack_situation, unpack_situation
from agent.types import StepRecord
from learner.config import LearnerConfig, ObjectiveConfig, StepTeacher
from learner.siblings import with_sibling_utilities
from learner.update import Learner
from tests.learner.reading import (
    ADA,
    BOREL,
    FACT,
    HOME,
    PLACE,
    RESULTS,
    Page,
    attempt,
    group_of,
    right_attempt,
)
from tests.learner.tiny_policy import TinyPolicy


def _told(*steps: StepRecord, others: list[list[StepRecord]] | None = None) -> list[np.ndarray]:
    """Utilities of a failed member's steps, beside the right attempt."""
    failed = [attempt(steps, "failed", is_right=False)]
    failed += [attempt(o, f"other {i}", is_right=False) for i, o in enumerate(others or [])]
    group = group_of(attempt(right_attempt(), "right", is_right=True), *failed)
    member = with_sibling_utilities(group).members[1]
    return [step.utilities for step in member.trajectory.steps]


def _scored(group_utilities: np.ndarray, page: Page, *action: object) -> float:
    return float(group_utilities[page.row(*action)])  # type: ignore[arg-type]


def test_a_group_without_a_right_answer_teaches_nothing() -> None:
    group = group_of(*(attempt(right_attempt(), str(i), is_right=False) for i in range(2)))
    for member in with_sibling_utilities(group).members:
        assert all(len(step.utilities) == 0 for step in member.trajectory.steps)


def test_the_right_path_is_told_without_its_detours() -> None:
    group = with_sibling_utilities(group_of(attempt(right_attempt(), "right", is_right=True)))
    steps = group.members[0].trajectory.steps
    utilities = [step.utilities for step in steps]
    home = Page(HOME)
    assert _scored(utilities[0], home, "type", 0, "Ada") == 1.0
    assert _scored(utilities[0], home, "click", 1) == 0.0  # the about page led nowhere
    waiting = Page(HOME, typed=("Ada",))
    assert _scored(utilities[3], waiting, "press_enter") == 1.0
    assert _scored(utilities[3], waiting, "scroll_down_400px") == 0.0
    useless = [utilities[6][Page(ADA).row("extract_text", row)] for row in (0, 1)]
    assert useless == [1.0, 0.0]  # the note about tea was never used
    # Every other executed step is its state's best.
    for place in (2, 4, 5, 7, 8, 9, 10):
        assert utilities[place][steps[place].chosen] == utilities[place].max() == 1.0


def test_a_failed_member_is_told_the_missed_fact_on_the_page_it_stood_on() -> None:
    """It came by another way, with another query sent, so no state of its path is equal."""
    page = Page(ADA, queries=("Ada Cluny",), typed=("x",))
    (utilities,) = _told(page.step("go_back"))
    assert _scored(utilities, page, "extract_text", 0) == pytest.approx(0.9, abs=1e-3)
    assert _scored(utilities, page, "extract_text", 1) == 0.0
    assert _scored(utilities, page, "answer", -1, "Ada") == pytest.approx(-0.6, abs=1e-3)
    # The link belongs to the stage after the fact, which is not held yet.
    assert _scored(utilities, page, "click", 2) == 0.0


def test_what_is_told_depends_on_what_is_held() -> None:
    page = Page(ADA, notes=(FACT,), queries=("elsewhere",), typed=("x",))
    (utilities,) = _told(page.step("go_back"))
    assert _scored(utilities, page, "extract_text", 0) == 0.0
    assert _scored(utilities, page, "click", 2) == pytest.approx(0.7, abs=1e-3)
    blocked = dataclasses.replace(page, is_blocked=True)
    (utilities,) = _told(blocked.step("go_back"))
    assert _scored(utilities, blocked, "click", 2) == pytest.approx(0.7, abs=1e-3)


def test_a_text_with_the_answer_is_worth_extracting_by_hindsight() -> None:
    other = ("http://wiki/map", ("Cluny lies here.", "Nothing."), ("", ""))
    page = Page(other)
    (utilities,) = _told(page.step("go_back"))
    assert _scored(utilities, page, "extract_text", 0) == pytest.approx(0.7, abs=1e-3)
    assert _scored(utilities, page, "extract_text", 1) == 0.0


def test_the_right_answer_is_best_once_what_it_rests_on_is_held() -> None:
    early, late = Page(BOREL, notes=(PLACE,)), Page(BOREL, notes=(FACT, PLACE))
    utilities = _told(early.step("go_back"), late.step("answer", span="old Cluny"))
    assert _scored(utilities[0], early, "answer", -1, "Cluny") == 0.5
    assert _scored(utilities[1], late, "answer", -1, "Cluny") == 1.0
    assert _scored(utilities[1], late, "answer", -1, "old Cluny") == pytest.approx(-0.6, abs=1e-3)


def test_what_failed_members_did_in_a_state_of_the_right_path_is_worth_less() -> None:
    page = Page(RESULTS, queries=("Ada",), typed=("Ada",))
    (alone,) = _told(page.step("go_back"))
    (warned,) = _told(page.step("go_back"), others=[[page.step("scroll_down_400px")]])
    assert _scored(alone, page, "click", 1) == 1.0
    assert _scored(alone, page, "scroll_down_400px") == 0.0
    for name in ("go_back", "scroll_down_400px"):
        assert _scored(warned, page, name) == pytest.approx(-0.2, abs=1e-3)


def test_a_query_that_was_sent_is_not_told_again() -> None:
    page = Page(HOME, queries=("Ada",), is_blocked=True)
    (utilities,) = _told(page.step("go_back"))
    assert _scored(utilities, page, "type", 0, "Ada") == 0.0


def test_where_nothing_is_known_there_are_no_utilities() -> None:
    """A page that the right attempt never saw, with no answer to be given."""
    page = Page(("http://wiki/elsewhere", ("Nothing.",), ("",)))
    step = page.step("go_back")
    mask = dataclasses.replace(page.mask(), span=np.zeros_like(page.mask().span))
    mask.type[15] = False
    (utilities,) = _told(dataclasses.replace(step, mask=mask, chosen=0))
    assert len(utilities) == 0


def test_an_answer_that_the_question_names_makes_every_note_count() -> None:
    """A choice between two: no later text shows which notes were needed."""
    steps = [
        Page(ADA).step("extract_text", 1),
        Page(ADA, notes=(ADA[1][1],)).step("answer", span="Ada"),
    ]
    group = with_sibling_utilities(group_of(attempt(steps, "right", is_right=True)))
    utilities = group.members[0].trajectory.steps[0].utilities
    assert _scored(utilities, Page(ADA), "extract_text", 1) == 1.0
    assert _scored(utilities, Page(ADA), "answer", -1, "Ada") == 0.5


def test_only_the_verdict_of_a_score_is_read() -> None:
    members = [
        attempt(right_attempt(), "right", is_right=True),
        attempt([Page(ADA).step("go_back")], "failed", is_right=False),
    ]
    plain = with_sibling_utilities(group_of(*members))
    noisy = [
        dataclasses.replace(
            m, score=dataclasses.replace(m.score, rewards=m.score.rewards + 0.3, parts={})
        )
        for m in members
    ]
    for a, b in zip(plain.members, with_sibling_utilities(group_of(*noisy)).members, strict=True):
        for one, other in zip(a.trajectory.steps, b.trajectory.steps, strict=True):
            np.testing.assert_array_equal(one.utilities, other.utilities)


def test_a_learner_with_siblings_raises_the_right_path_and_keeps_no_texts() -> None:
    config = LearnerConfig(
        step_teacher=StepTeacher.SIBLINGS,
        learning_rate=0.02,
        objective=ObjectiveConfig(outcome_weight=0.0),
    )
    policy = TinyPolicy()
    learner = Learner(policy, config)
    group = group_of(
        attempt(right_attempt(), "right", is_right=True),
        attempt([Page(ADA).step("go_back")], "failed", is_right=False),
    )
    losses = []
    for _ in range(15):
        metrics = learner.update([group], progress=0.0).metrics
        losses.append(metrics["learner/step_loss_nats"])
    assert metrics["learner/steps_with_utilities"] == 12
    assert losses[-1] < 0.5 * losses[0]
    assert all(len(s.situation) == 0 for s in learner.state_dict()["reservoir"]["steps"])


def test_without_recorded_texts_it_says_what_to_do() -> None:
    bare = [dataclasses.replace(s, situation=np.zeros(0, np.uint8)) for s in right_attempt()]
    with pytest.raises(ValueError, match="step_teacher"):
        with_sibling_utilities(group_of(attempt(bare, "right", is_right=True)))


def test_situations_come_back_as_they_were_packed() -> None:
    situation = Page(ADA, notes=("Zürich – ß 中",), queries=("a", "b"), is_blocked=True).situation()
    packed = pack_situation(situation)
    assert unpack_situation(packed) == situation
    assert packed.dtype == np.uint8
