# SPDX-License-Identifier: Apache-2.0
"""Hindsight in groups where no answer was right."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from learner.config import SiblingGuides
from learner.relevance import relevance
from learner.siblings import with_sibling_utilities
from learner.types import Group
from tests.learner.reading import ADA, BOREL, FACT, HOME, RESULTS, Page, attempt, group_of

LOST = ("http://wiki/tea", ("Tea is grown in the hills.", "Is it?"), ("", ""))


def _failed_group() -> Group:
    """One attempt reads what Ada works at and answers wrongly, two get lost."""
    reads = [
        Page(HOME).step("type", 0, "Ada"),
        Page(HOME, typed=("Ada",)).step("press_enter"),
        Page(RESULTS, typed=("Ada",), queries=("Ada",)).step("click", 1),
        Page(ADA, queries=("Ada",)).step("extract_text", 0),
        Page(ADA, queries=("Ada",), notes=(FACT,)).step("answer", span="Ada"),
    ]
    lost = [Page(HOME).step("click", 1), Page(LOST).step("extract_text", 0)]
    return group_of(
        *(attempt(steps, name, is_right=False) for steps, name in
          ((reads, "reads"), (lost, "lost"), (lost[:1], "at once")))
    )  # fmt: skip


def test_rare_words_of_the_question_count_and_an_echo_counts_half() -> None:
    pages = [Page(HOME), Page(RESULTS, typed=("Ada",), queries=("Ada",)), Page(ADA), Page(LOST)]
    (values,) = relevance([[page.situation() for page in pages]])
    plain = Page(RESULTS).situation()
    (alone,) = relevance([[*(page.situation() for page in pages), plain]])
    assert values[0] == 0.0
    assert values[2] > values[3] > 0.0  # "is" is in the question's words, and on other pages
    assert values[1] == pytest.approx(0.5 * alone[-1])
    noted = Page(LOST, notes=(FACT,)).situation()
    (with_note,) = relevance([[*(page.situation() for page in pages), noted]])
    assert with_note[-1] > with_note[3]


def test_nothing_is_relevant_to_a_question_without_words_that_tell() -> None:
    (values,) = relevance([[Page(HOME).situation()]])
    assert not values.any()
    assert relevance([[]])[0].shape == (0,)


def test_the_way_to_the_most_relevant_reading_is_worth_half() -> None:
    group = with_sibling_utilities(_failed_group())
    steps = group.members[0].trajectory.steps
    for step in steps[:4]:
        assert step.utilities[step.chosen] == step.utilities.max() == 0.5
    lost = group.members[1].trajectory.steps[0]  # at home, where the reader typed
    assert lost.utilities[Page(HOME).row("type", 0, "Ada")] == 0.5
    assert lost.utilities[lost.chosen] == 0.0


def test_answers_that_nobody_tried_are_worth_a_try_once_its_notes_are_held() -> None:
    group = with_sibling_utilities(_failed_group())
    utilities = group.members[0].trajectory.steps[4].utilities
    page = Page(ADA, queries=("Ada",), notes=(FACT,))
    assert utilities[page.row("answer", span="Borel")] == 0.25
    assert utilities[page.row("answer", span="Ada")] == 0.0  # tried, and in the question
    early = group.members[0].trajectory.steps[3].utilities
    assert all(early[Page(ADA).row("answer", span=s)] == 0.0 for s in ("Ada",))


def test_answers_alone_may_guide_and_a_right_one_silences_relevance() -> None:
    without = with_sibling_utilities(_failed_group(), SiblingGuides.ANSWERS)
    assert all(len(s.utilities) == 0 for m in without.members for s in m.trajectory.steps)
    right = [Page(BOREL, notes=(FACT, BOREL[1][0])).step("answer", span="Cluny")]
    group = _failed_group()
    members = (*group.members, attempt(right, "right", is_right=True))
    with_right = with_sibling_utilities(dataclasses.replace(group, members=members))
    reader = with_right.members[0].trajectory.steps[0]
    assert len(reader.utilities) == 0 or reader.utilities.max() <= 0.0


def test_where_no_attempt_stands_out_nothing_is_told() -> None:
    lost = [Page(HOME).step("click", 1), Page(LOST).step("go_back")]
    group = group_of(*(attempt(lost, str(i), is_right=False) for i in range(3)))
    told = with_sibling_utilities(group)
    assert not any(np.any(s.utilities) for m in told.members for s in m.trajectory.steps)
