# SPDX-License-Identifier: Apache-2.0
"""Following the teacher's best action solves every kind of task in every language."""

import numpy as np
import pytest

from envs.actions import Action, enumerate_actions
from envs.answers import is_accepted
from envs.config import DriverKind, EnvConfig, WebConfig
from envs.search_env import make_env
from envs.types import EvidenceItem, SpanSource, Split
from envs.web.guide import is_at_form, query_fit, stops
from envs.web.mix import KINDS, LANGUAGES
from envs.web.teacher import WorldGraphTeacher

HOME, POLICY = "http://search.forage.test/", "http://policy.forage.test/"
PERMIT = EvidenceItem(
    subject="Orlavia Group",
    url=POLICY + "permit/Orlavia_Group",
    needles=("x",),
    value="x",
    way=(HOME, POLICY, POLICY + "permits"),
)
DESCRIBED = EvidenceItem(
    subject="Mara Veldin",
    url="http://wiki.forage.test/wiki/Mara_Veldin",
    needles=("x",),
    value="x",
    clues=("Orlavia Group", "Botanist"),
)


def test_the_way_to_a_form_is_gone_back_from_the_page_it_leads_to() -> None:
    assert stops(PERMIT) == (PERMIT.url, POLICY + "permits", POLICY, HOME)
    assert is_at_form(PERMIT, POLICY + "permits")
    assert is_at_form(PERMIT, POLICY + "permits/find?holder=no")
    assert not is_at_form(PERMIT, POLICY) and not is_at_form(PERMIT, PERMIT.url)
    assert not is_at_form(DESCRIBED, POLICY + "permits")


def test_all_clues_together_are_the_best_query_for_a_page_that_nothing_names() -> None:
    queries = (
        "Orlavia Group botanist",
        "botanist Orlavia Group city born",
        "Orlavia Group",
        "city",
    )
    fits = [query_fit(query, DESCRIBED) for query in queries]
    assert fits == sorted(fits, reverse=True) and fits[2] > fits[3] == 0.0
    assert query_fit("Mara Veldin", DESCRIBED) == 1.0 > fits[0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
async def test_the_best_action_solves_each_kind(kind: str, language: str) -> None:
    web = WebConfig(kinds=(kind,), languages=(language,), hazards=0.5)
    env = make_env(EnvConfig(driver=DriverKind.TWIN, web=web))
    await env.start()
    right = []
    for index in range(5):
        task = env.task_set.task(Split.TRAIN, index)
        observation, answer = await env.reset(task), ""
        for _ in range(task.prompt.max_steps):
            actions = enumerate_actions(observation.mask)
            utilities = WorldGraphTeacher().utilities(task, observation, actions)
            assert np.isfinite(utilities).all() and np.abs(utilities).max() <= 1.0
            result = await env.step(actions.action(int(np.argmax(utilities))))
            observation, answer = result.observation, result.evidence.answer
            if result.stop is not None:
                break
        right.append(is_accepted(answer, task.truth.answers))
    assert all(right)


async def test_a_guess_between_two_named_ones_is_worth_less_than_looking() -> None:
    env = make_env(EnvConfig(driver=DriverKind.TWIN, web=WebConfig(kinds=("comparison",))))
    await env.start()
    task = next(
        t
        for t in (env.task_set.task(Split.TRAIN, i) for i in range(20))
        if not t.truth.answers[0].isdigit()
    )
    observation = await env.reset(task)
    actions = enumerate_actions(observation.mask)
    utilities = WorldGraphTeacher().utilities(task, observation, actions)
    named = next(
        i
        for i, span in enumerate(observation.spans)
        if span.source is SpanSource.QUESTION and is_accepted(span.text, task.truth.answers)
    )
    guess = float(utilities[actions.row(Action(type="answer", span=named))])
    assert -0.6 < guess < 0 < utilities.max()
