# SPDX-License-Identifier: Apache-2.0
"""Visited states asked anew: what is asked fits the page, and nothing of the old question stays."""

import asyncio

import numpy as np
import pytest

from agent.scripted.oracle import OracleAgent
from envs.actions import TYPE_INDEX, enumerate_actions
from envs.config import DriverKind, EnvConfig, WebConfig
from envs.observe import asked_anew, page_key
from envs.search_env import make_env
from envs.types import ElementFlag, Observation, Split, Task
from envs.web.guide import is_held, same_page
from envs.web.hindsight import from_config
from envs.web.mix import KINDS
from envs.web.task_set import EmbeddedTaskSet
from envs.web.teacher import WorldGraphTeacher

CONFIG = EnvConfig(
    driver=DriverKind.TWIN, web=WebConfig(kinds=tuple(KINDS), languages=("en", "zh"), hazards=0.5)
)


def walks(config: EnvConfig, count: int) -> list[tuple[Task, list[Observation]]]:
    """What the oracle saw on its way through the first training tasks."""

    async def run() -> list[tuple[Task, list[Observation]]]:
        env = make_env(config)
        await env.start()
        found = []
        for index in range(count):
            task, oracle = env.task_set.task(Split.TRAIN, index), OracleAgent()
            oracle.begin(task)
            seen = [await env.reset(task)]
            while True:
                decision = await oracle.act(seen[-1], seed=0)
                result = await env.step(decision.action)
                if result.stop is not None:
                    break
                seen.append(result.observation)
            found.append((task, seen))
        await env.close()
        return found

    return asyncio.run(run())


@pytest.fixture(scope="module")
def walked() -> list[tuple[Task, list[Observation]]]:
    return walks(CONFIG, 12)


def test_a_state_asked_anew_is_of_the_same_world_and_page_and_repeats(walked):
    hindsight = from_config(CONFIG)
    kinds = set()
    for task, seen in walked:
        for observation in seen:
            other = hindsight.task(task, observation, seed=3)
            if other is None:
                continue
            assert other == hindsight.task(task, observation, seed=3)
            assert other.prompt.question != task.prompt.question
            assert (other.world_seed, other.language) == (task.world_seed, task.language)
            anew = hindsight.observation(other, observation, seed=3)
            assert anew.question == other.prompt.question and anew.url == observation.url
            assert anew.elements.text == observation.elements.text
            kinds.add(other.kind)
    assert kinds == set(KINDS)


def test_on_the_page_of_an_entity_the_new_question_begins_or_goes_on_there(walked):
    hindsight, on_evidence, total = from_config(CONFIG), 0, 0
    for task, seen in walked:
        pages = {item.url for item in task.truth.evidence}
        for observation in seen:
            other = hindsight.task(task, observation, seed=5)
            if other is None or page_key(observation.url) not in pages or observation.notes:
                continue
            total += 1
            # A company's permit is another page about the same entity.
            on_evidence += any(
                same_page(observation.url, item.url) or item.subject in observation.title
                for item in other.truth.evidence
            )
    assert on_evidence == total > 5


def test_a_note_that_answers_the_new_question_is_kept_and_the_answer_is_best(walked):
    hindsight, teacher, answered = from_config(CONFIG), WorldGraphTeacher(), 0
    for task, seen in walked:
        for observation in seen:
            for seed in range(4):
                other = hindsight.task(task, observation, seed=seed)
                if other is None or not is_held(other.truth.evidence[-1], observation.notes):
                    continue
                if other.truth.needs_all:
                    continue
                anew = hindsight.observation(other, observation, seed=seed)
                assert anew.notes == observation.notes
                actions = enumerate_actions(anew.mask)
                utilities = teacher.utilities(other, anew, actions)
                best = actions.action(int(np.argmax(utilities)))
                if utilities.max() == 1.0 and best.type == "answer":
                    answered += anew.spans[best.span].text in other.truth.answers
    assert answered > 3


def test_only_kinds_of_the_run_are_asked():
    config = EnvConfig(driver=DriverKind.TWIN)
    hindsight = from_config(config)
    kinds = {
        other.kind
        for task, seen in walks(config, 4)
        for observation in seen
        for seed in range(3)
        if (other := hindsight.task(task, observation, seed=seed)) is not None
    }
    assert kinds == {"look_up", "two_hop"}


def test_what_was_noted_can_be_extracted_again_once_its_note_is_gone(walked):
    def extracted(seen: Observation) -> np.ndarray:
        return seen.elements.flags[:, ElementFlag.EXTRACTED]

    observation = next(o for _, seen in walked for o in seen if extracted(o).any())
    anew = asked_anew(observation, "Who founded Orla Works?", (), ())
    rows = extracted(observation)
    extract = TYPE_INDEX["extract_text"]
    assert not observation.mask.element[extract][rows].any() and not extracted(anew).any()
    assert anew.mask.element[extract][rows].all() and anew.mask.type[extract]
    assert anew.notes == () and all(span.note == -1 for span in anew.spans)
    assert anew.mask.span.shape[1] == len(anew.spans)
    same = asked_anew(observation, observation.question, observation.notes, observation.queries)
    assert same.spans == observation.spans
    for field in ("type", "element", "span", "option", "tab"):
        assert np.array_equal(getattr(same.mask, field), getattr(observation.mask, field))


def test_a_rare_language_is_asked_more_often_and_all_together_once() -> None:
    web = WebConfig(languages=("en:4", "zh"))
    hindsight = from_config(EnvConfig(driver=DriverKind.TWIN, web=web))
    tasks = EmbeddedTaskSet(web, max_steps=20)
    weights = {"en": 0.0, "zh": 0.0}
    for index in range(500):
        task = tasks.task(Split.TRAIN, index)
        weights[task.language] += hindsight.weight(task) / 500
    # Of 0.8 and 0.2 the square roots are in the ratio of two to one.
    assert weights["en"] == pytest.approx(2 / 3, abs=0.01)
    assert weights["zh"] == pytest.approx(1 / 3, abs=0.01)
