# SPDX-License-Identifier: Apache-2.0
"""Held-out page templates: nothing of them was trained on, and no question gives them away."""

import itertools

import pytest
from lxml import html

from agent.forager.words import clue_words, shares_stem, tokens
from envs.config import Templates, WebConfig
from envs.types import Split
from envs.web.mix import KINDS, LANGUAGES
from envs.web.relations import RELATION, Kind
from envs.web.search_index import words_of
from envs.web.task_set import EmbeddedTaskSet
from envs.web.texts import en_further, zh_further
from envs.web.texts.languages import LANGUAGES as SPOKEN
from envs.web.world import build_world
from tests.envs.web.page_reader import get

FURTHER = {"en": en_further.FURTHER, "zh": zh_further.FURTHER}


def _bare(texts: tuple[str, ...]) -> str:
    """Texts without their placeholders."""
    joined = " ".join(texts)
    for slot in "svxyq":
        joined = joined.replace(f"{{{slot}}}", " ")
    return joined


@pytest.mark.parametrize("relation", RELATION)
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_held_out_wording_is_new_and_shares_no_stem_with_a_question(name, relation) -> None:
    trained, held_out = SPOKEN[name].wordings[relation], SPOKEN[name].held_out[relation]
    assert bool(held_out.sentences) == bool(trained.sentences)
    assert not set(held_out.sentences) & set(trained.sentences)
    if relation == "limit":
        return  # a row is headed by its year
    assert len(held_out.headers) >= 2 and not set(held_out.headers) & set(trained.headers)
    asked = _bare(trained.questions + trained.phrases)
    told = _bare(held_out.headers + held_out.sentences)
    if name == "zh":
        pairs = [{p for p in words_of(text) if len(p) == 2} for text in (asked, told)]
        assert not pairs[0] & pairs[1]
        return
    both = itertools.product(clue_words(asked), clue_words(told))
    assert not [pair for pair in both if pair[0] == pair[1] or shares_stem(*pair)]
    assert tokens(told)


@pytest.mark.parametrize("relation", RELATION)
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_further_wording_of_training_shares_no_word_with_a_held_out_one(name, relation) -> None:
    further, held_out = FURTHER[name].get(relation), SPOKEN[name].held_out[relation]
    if further is None:
        assert relation == "limit"
        return
    assert len(further.headers) >= 5
    assert bool(further.sentences) == bool(held_out.sentences)
    texts = [_bare(w.headers + w.sentences) for w in (further, held_out)]
    if name == "zh":
        pairs = [{p for p in words_of(text) if len(p) == 2} for text in texts]
        assert not pairs[0] & pairs[1]
        return
    both = itertools.product(*(clue_words(text) for text in texts))
    assert not [pair for pair in both if pair[0] == pair[1] or shares_stem(*pair)]


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_header_of_one_kind_of_page_stands_for_two_facts(name) -> None:
    for kind in Kind:
        relations = [r for r in RELATION.values() if r.domain is kind and r.name != "limit"]
        headers = [h for r in relations for h in set(SPOKEN[name].wordings[r.name].headers)]
        headers += [header for header, _ in SPOKEN[name].fillers[kind].decoy_rows]
        assert len(headers) == len(set(headers)), kind


def test_templates_change_pages_and_no_fact() -> None:
    trained = build_world(9001, Split.TEST)
    held_out = build_world(9001, Split.TEST, "en", Templates.HELD_OUT)
    assert trained.entities == held_out.entities


def _task_set(templates: Templates) -> EmbeddedTaskSet:
    return EmbeddedTaskSet(WebConfig(kinds=KINDS, templates=templates), max_steps=20)


def test_tasks_of_other_templates_have_other_names_and_pages_another_order() -> None:
    tasks = {templates: _task_set(templates) for templates in Templates}
    ids = {t: [s.task(Split.TEST, i).task_id for i in range(30)] for t, s in tasks.items()}
    assert not set(ids[Templates.TRAIN]) & set(ids[Templates.HELD_OUT])
    assert all("-held_out-" in task_id for task_id in ids[Templates.HELD_OUT])
    order = {}
    for templates, task_set in tasks.items():
        task = next(
            t
            for t in (task_set.task(Split.TEST, i) for i in itertools.count())
            if t.kind == "look_up"
        )
        body = get(task_set.site(task), task.truth.evidence[0].url).body.decode()
        document = html.document_fromstring(body)
        tables = document.xpath("//table[@class='facts']")
        order[templates] = len(tables[0].xpath("preceding::h2"))
    assert order[Templates.TRAIN] == 0 and order[Templates.HELD_OUT] >= 4


def test_no_header_of_a_held_out_page_is_one_of_training() -> None:
    task_set = _task_set(Templates.HELD_OUT)
    trained = {h for w in SPOKEN["en"].wordings.values() for h in w.headers}
    for index in range(24):
        task = task_set.task(Split.TEST, index)
        for item in task.truth.evidence:
            document = html.document_fromstring(get(task_set.site(task), item.url).body.decode())
            assert not trained & set(document.xpath("//table[@class='facts']//th/text()"))
