# SPDX-License-Identifier: Apache-2.0
"""Tasks are deterministic, sound and provable on the pages that their evidence names."""

import collections
import functools

import pytest

from envs.answers import is_accepted
from envs.config import WebConfig
from envs.spans import draw_spans
from envs.types import Note, Split, Task
from envs.web.guide import states
from envs.web.sites.search import index_of
from envs.web.task_set import EmbeddedTaskSet, kind_of_index
from tests.envs.web.page_reader import elements, get

NO_HAZARDS = WebConfig(cookie_banner_rate=0.0, login_popup_rate=0.0, slow_resource_rate=0.0)
NUM_SAMPLED = 150


@functools.cache
def _tasks() -> tuple[Task, ...]:
    tasks = EmbeddedTaskSet(NO_HAZARDS, max_steps=20)
    return tuple(
        tasks.task(split, index) for split in Split for index in range(NUM_SAMPLED // len(Split))
    )


def test_the_same_index_gives_the_same_task_and_byte_equal_pages() -> None:
    for index in (0, 1, 17):
        first, second = (EmbeddedTaskSet(WebConfig(), max_steps=20) for _ in range(2))
        task = first.task(Split.TEST, index)
        assert task == second.task(Split.TEST, index)
        for url in (task.prompt.start_url, task.truth.evidence[-1].url):
            assert get(first.site(task), url) == get(second.site(task), url)


def test_task_ids_are_unique_and_worlds_belong_to_their_split() -> None:
    tasks = _tasks()
    assert len({task.task_id for task in tasks}) == len(tasks)
    seeds = collections.defaultdict(set)
    for task in tasks:
        seeds[task.split].add(task.world_seed)
    assert seeds[Split.TRAIN] == {1, 2, 3, 4}
    assert min(seeds[Split.TEST]) >= 9001
    assert not seeds[Split.TRAIN] & seeds[Split.TEST]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("count", [32, 96])
def test_any_run_of_tasks_has_the_configured_share_of_kinds(share: float, count: int) -> None:
    for start in range(0, 200, 7):
        kinds = [kind_of_index(i, share) for i in range(start, start + count)]
        assert abs(kinds.count("two_hop") - share * count) <= 1


def test_each_world_serves_both_kinds() -> None:
    tasks = EmbeddedTaskSet(WebConfig(), max_steps=20)
    kinds = collections.defaultdict(set)
    for index in range(60):
        task = tasks.task(Split.TRAIN, index)
        kinds[task.world_seed].add(task.kind)
    assert all(found == {"look_up", "two_hop"} for found in kinds.values())


def test_evidence_needles_match_exactly_the_elements_that_state_the_fact() -> None:
    tasks = EmbeddedTaskSet(NO_HAZARDS, max_steps=20)
    for task in _tasks():
        site = tasks.site(task)
        for item in task.truth.evidence:
            rows = elements(get(site, item.url), item.url)
            stating = [row for row in rows if states(item, row.text)]
            blocks = [row for row in stating if row.role.is_text()]
            assert 1 <= len(blocks) <= 2, (task.prompt.question, item)
            assert all(item.value in row.text for row in blocks)
            # Beside the blocks only the link that is the value itself may say it.
            for row in stating:
                assert row in blocks or row.text == item.value


def test_the_question_names_the_first_subject_and_says_neither_answer_nor_bridge() -> None:
    for task in _tasks():
        question = task.prompt.question.casefold()
        assert task.truth.evidence[0].subject.casefold() in question
        assert question.count("{") == 0
        for item in task.truth.evidence:
            assert item.value.casefold() not in question
        assert len(task.truth.evidence) == {"look_up": 1, "two_hop": 2}[task.kind]


def test_two_hop_evidence_leads_from_the_bridge_to_the_answer() -> None:
    for task in _tasks():
        if task.kind == "two_hop":
            first, last = task.truth.evidence
            assert first.value == last.subject
            assert dict(task.truth.potential) == {first.url: 0.5, last.url: 1.0}
        assert is_accepted(task.truth.evidence[-1].value, task.truth.answers)


def test_the_answer_is_a_span_of_the_extracted_element() -> None:
    tasks = EmbeddedTaskSet(NO_HAZARDS, max_steps=20)
    for task in _tasks():
        site = tasks.site(task)
        notes = []
        for step, item in enumerate(task.truth.evidence):
            rows = elements(get(site, item.url), item.url)
            row = next(r for r in rows if r.role.is_text() and states(item, r.text))
            notes.append(Note(text=row.text, url=item.url, title=item.subject, step=step))
            spans = {span.text for span in draw_spans(task.prompt.question, notes)}
            assert any(is_accepted(span, (item.value,)) for span in spans), row.text
        assert any(is_accepted(span, task.truth.answers) for span in spans)


def test_the_search_engine_finds_each_subject_by_its_name() -> None:
    found = []
    for task in _tasks():
        index = index_of(task.world_seed, task.split, task.language)
        for item in task.truth.evidence:
            found.append(item.url in [page.url for page in index.search(item.subject)[:10]])
    assert sum(found) / len(found) >= 0.95


def test_a_negative_index_is_refused() -> None:
    with pytest.raises(ValueError, match="expected >= 0"):
        EmbeddedTaskSet(WebConfig(), max_steps=20).task(Split.TRAIN, -1)
