# SPDX-License-Identifier: Apache-2.0
"""Following the teacher's best action solves tasks; its scores have the promised form."""

import dataclasses

import numpy as np
import pytest

from envs.actions import Action, enumerate_actions
from envs.answers import is_accepted
from envs.config import DriverKind, EnvConfig, WebConfig
from envs.search_env import SearchEnv, make_env
from envs.types import EvidenceItem, Note, Observation, Split, StopReason, Task, TaskTruth
from envs.web.guide import is_held, leads_to, missing_items, next_item, query_fit
from envs.web.teacher import WorldGraphTeacher

TEACHER = WorldGraphTeacher()


def _item(subject: str, url: str, needle: str) -> EvidenceItem:
    return EvidenceItem(subject=subject, url=url, needles=(needle,), value=needle)


FIRST = _item("Mara Veldin", "http://wiki.forage.test/wiki/Mara_Veldin", "Orlavia Group")
LAST = _item("Orlavia Group", "http://wiki.forage.test/wiki/Orlavia_Group", "Seat: Calder")
TRUTH = TaskTruth(answers=("Calder",), evidence=(FIRST, LAST), potential={})


def _note(text: str, url: str) -> Note:
    return Note(text=text, url=url, title="", step=0)


def test_evidence_is_held_only_by_a_note_from_its_own_page() -> None:
    text = "Veldin works for Orlavia Group."
    assert is_held(FIRST, [_note(text, FIRST.url + "#life")])
    assert not is_held(FIRST, [_note(text, LAST.url)])
    assert not is_held(FIRST, [_note("Veldin works.", FIRST.url)])


def test_the_next_item_is_the_first_missing_unless_the_page_has_another() -> None:
    first_note, last_note = _note("Orlavia Group", FIRST.url), _note("Seat: Calder", LAST.url)
    assert next_item(TRUTH, [], "http://elsewhere/") == FIRST
    assert next_item(TRUTH, [], LAST.url) == LAST
    assert next_item(TRUTH, [first_note], FIRST.url) == LAST
    assert next_item(TRUTH, [first_note, last_note], LAST.url) is None
    assert next_item(TRUTH, [last_note], LAST.url) is None
    assert missing_items(TRUTH, [last_note]) == (FIRST,)


def test_a_long_document_is_entered_by_any_part_and_then_left_for_the_right_one() -> None:
    first, third = (
        "http://library.forage.test/document/a",
        "http://library.forage.test/document/a?part=3",
    )
    results = "http://search.forage.test/search?q=a"
    assert leads_to(first, third, results) and leads_to(third, third, results)
    assert leads_to(third + "#row", third, first)
    assert not leads_to(first + "?part=2", third, first)
    assert not leads_to(third, third, third)
    assert not leads_to(first + "b", third, results) and not leads_to("", third, results)


def test_the_exact_name_is_the_best_query() -> None:
    question = "In which city is the company that employs Mara Veldin based?"
    fits = [query_fit(text, FIRST) for text in ("Mara Veldin", "Veldin", question, "Calder", "")]
    assert fits[0] == 1.0
    assert fits[0] > fits[1] > fits[3] == fits[4] == 0.0
    assert fits[0] > fits[2] > fits[3]


async def _follow(env: SearchEnv, task: Task) -> tuple[bool, int, StopReason | None]:
    """Take the best action until the end: is the answer right, how many steps, why stopped."""
    observation = await env.reset(task)
    for step in range(1, task.prompt.max_steps + 1):
        actions = enumerate_actions(observation.mask)
        utilities = TEACHER.utilities(task, observation, actions)
        assert utilities.shape == (len(actions),) and utilities.dtype == np.float32
        assert np.isfinite(utilities).all() and np.abs(utilities).max() <= 1.0
        result = await env.step(actions.action(int(np.argmax(utilities))))
        observation = result.observation
        if result.stop is not None:
            right = is_accepted(result.evidence.answer, task.truth.answers)
            return right, step, result.stop
    return False, task.prompt.max_steps, None


@pytest.mark.parametrize("rate", [0.0, 1.0])
async def test_the_best_action_solves_tasks_with_and_without_hazards(rate: float) -> None:
    web = WebConfig(cookie_banner_rate=rate, login_popup_rate=rate, slow_resource_rate=0.0)
    env = make_env(EnvConfig(driver=DriverKind.TWIN, web=web))
    await env.start()
    right, steps = [], []
    for index in range(24):
        outcome = await _follow(env, env.task_set.task(Split.TEST, index))
        right.append(outcome[0])
        steps.append(outcome[1])
    await env.close()
    assert np.mean(right) >= 0.95
    assert np.mean(steps) <= 9


async def _at_start() -> tuple[Task, Observation]:
    env = make_env(EnvConfig(driver=DriverKind.TWIN))
    await env.start()
    task = env.task_set.task(Split.TEST, 1)
    observation = await env.reset(task)
    await env.close()
    return task, observation


async def test_a_wrong_answer_is_worse_than_anything_else() -> None:
    task, observation = await _at_start()
    actions = enumerate_actions(observation.mask)
    utilities = TEACHER.utilities(task, observation, actions)
    answers = [r for r in range(len(actions)) if actions.action(r).type == "answer"]
    others = [r for r in range(len(actions)) if actions.action(r).type != "answer"]
    assert answers and np.allclose(utilities[answers], -0.6)
    assert utilities[others].min() > -0.6


async def test_at_the_start_typing_the_subject_is_best() -> None:
    task, observation = await _at_start()
    actions = enumerate_actions(observation.mask)
    best = actions.action(int(np.argmax(TEACHER.utilities(task, observation, actions))))
    assert best.type == "type"
    assert observation.spans[best.span].text.endswith(task.truth.evidence[0].subject)


async def test_scores_depend_on_the_truth() -> None:
    task, observation = await _at_start()
    actions = enumerate_actions(observation.mask)
    right = observation.spans[0].text
    truth = dataclasses.replace(task.truth, answers=(right,))
    other = dataclasses.replace(task, truth=truth)
    row = actions.row(Action(type="answer", span=0))
    assert TEACHER.utilities(task, observation, actions)[row] == pytest.approx(-0.6)
    assert TEACHER.utilities(other, observation, actions)[row] > 0
