# SPDX-License-Identifier: Apache-2.0
"""Every language has all that a world needs, and its pages speak no other."""

import itertools
import re
from collections.abc import Iterator

import pytest

from envs.answers import is_accepted
from envs.config import WebConfig
from envs.han import FUNCTION_WORDS, han_chunks
from envs.spans import draw_spans
from envs.types import Note, Split
from envs.web.guide import states
from envs.web.mix import KINDS, LANGUAGES
from envs.web.relations import RELATION, Kind, ValueType
from envs.web.sites.results import results_url
from envs.web.task_set import EmbeddedTaskSet
from envs.web.texts import languages
from envs.web.world import build_world
from tests.envs.web.page_reader import elements, get

SPOKEN = languages.LANGUAGES
WIKI, POLICY, DEALS = (f"http://{h}.forage.test/" for h in ("wiki", "policy", "deals"))


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_words_every_relation_and_every_kind_of_entity(name: str) -> None:
    language = SPOKEN[name]
    assert set(language.wordings) == set(RELATION)
    assert set(language.fillers) == set(language.describing) == set(Kind)
    assert set(language.comparing) == set(SPOKEN["en"].comparing)
    for relation, wording in language.wordings.items():
        assert wording.headers and wording.questions
        assert bool(wording.phrases) == (RELATION[relation].value_type is ValueType.ENTITY)
        assert all("{x}" in text for text in wording.questions + wording.phrases)
        assert all("{v}" in text for text in wording.sentences)
    for kind, describing in language.describing.items():
        assert all(RELATION[relation].domain is kind for relation in describing.clauses)
        assert all(c.count("{v}") + c.count("{d}") for c in sum(describing.clauses.values(), ()))
    for comparing in language.comparing.values():
        assert all("{a}" in t and "{b}" in t for t in comparing.more + comparing.less)
    assert all(len(filler.sentences) >= 10 for filler in language.fillers.values())


def test_chinese_names_hold_no_function_word_and_splits_share_none() -> None:
    names = {}
    for split, seed in ((Split.TRAIN, 1), (Split.VALIDATION, 5001), (Split.TEST, 9001)):
        world = build_world(seed, split, "zh")
        names[split] = {entity.name for entity in world.entities}
        names[split] |= {f.text for e in world.entities for f in e.facts if f.relation == "river"}
        assert len(names[split]) >= len(world.entities)
        assert not [n for n in names[split] if any(w in n for w in FUNCTION_WORDS)]
    for one, other in itertools.combinations(names.values(), 2):
        assert not one & other


def _zh_templates() -> Iterator[tuple[str, str]]:
    """Every Chinese template, and the placeholder in it that a name stands for."""
    chinese = SPOKEN["zh"]
    for relation, wording in chinese.wordings.items():
        if RELATION[relation].value_type in (ValueType.ENTITY, ValueType.NAME):
            told = wording.sentences + chinese.held_out[relation].sentences
            yield from ((text, "{v}") for text in told)
        yield from ((text, "{x}") for text in wording.questions + wording.phrases)
    for comparing in chinese.comparing.values():
        yield from ((t, slot) for t in comparing.more + comparing.less for slot in ("{a}", "{b}"))
    yield from ((text, "{x}") for text in chinese.below)
    for describing in chinese.describing.values():
        for clause in sum(describing.clauses.values(), ()):
            if "{v}" in clause:
                yield describing.with_two.replace("{a}", clause).replace("{b}", clause), "{v}"


def test_what_is_filled_into_a_chinese_template_can_be_told_from_what_is_around_it() -> None:
    for template, slot in _zh_templates():
        filled = re.sub(r"\{\w+\}", "甲", template.replace(slot, "丙丁戊"))
        assert "丙丁戊" in han_chunks(filled), template


def test_no_word_of_another_language_is_left_on_chinese_pages() -> None:
    rates = dict.fromkeys(("cookie_banner_rate", "login_popup_rate"), 1.0)
    tasks = EmbeddedTaskSet(WebConfig(kinds=KINDS, languages=("zh",), **rates), max_steps=20)
    drawn = (tasks.task(Split.TEST, index) for index in itertools.count())
    of_one_world = (task for task in drawn if task.world_seed == 9001)
    for task in itertools.islice(of_one_world, 5):
        site = tasks.site(task)
        urls = [task.prompt.start_url, results_url(task.prompt.question), WIKI, POLICY, DEALS]
        urls += [WIKI + "categories", POLICY + "years", POLICY + "permits", WIKI + "wiki/x"]
        urls += [f"{POLICY}permits/find?holder=12", POLICY + "sign-in", results_url("12")]
        urls += [item.url for item in task.truth.evidence]
        for url in urls:
            for row in elements(get(site, url), url):
                text = re.sub(r"\S*\.forage\.test( › \S+)*|[A-Z]{2}-\d{4}", "", row.text)
                assert not re.search("[A-Za-z]{2}", text), (url, row.text)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_provable_and_its_answer_is_a_span(kind: str, language: str) -> None:
    rates = dict.fromkeys(("cookie_banner_rate", "login_popup_rate", "slow_resource_rate"), 0.0)
    tasks = EmbeddedTaskSet(WebConfig(kinds=(kind,), languages=(language,), **rates), max_steps=20)
    for index in range(8):
        task = tasks.task(Split.TRAIN, index)
        assert (task.kind, task.language) == (kind, language)
        question, notes = task.prompt.question, []
        assert "{" not in question
        for step, item in enumerate(task.truth.evidence):
            rows = elements(get(tasks.site(task), item.url), item.url)
            stating = [r for r in rows if r.role.is_text() and states(item, r.text)]
            assert 1 <= len(stating) <= 2, (question, item)
            assert item.value.casefold() not in question.casefold()
            note = Note(text=stating[0].text, url=item.url, title=item.subject, step=step)
            notes.append(note)
        spans = draw_spans(question, notes)
        assert any(is_accepted(span.text, task.truth.answers) for span in spans), question
        first = task.truth.evidence[0]
        assert (first.subject.casefold() in question.casefold()) == (kind != "fuzzy")
