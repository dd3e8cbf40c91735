# SPDX-License-Identifier: Apache-2.0
"""Questions become tasks: deterministic, provable on the pages, and unseen by the agent."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

from envs.actions import enumerate_actions
from envs.corpus.evidence import bare_title
from envs.corpus.pages import document_url
from envs.corpus.task_set import split_of_id
from envs.corpus.teacher import CorpusTeacher, evidence_fit
from envs.search_env import SearchEnv, make_env
from envs.types import EvidenceItem, Observation, Split, Task, TaskTruth
from tests.envs.corpus.small_corpus import (
    DOCUMENTS,
    QUESTIONS,
    Row,
    config_of,
    task_set_of,
    write_corpus,
)

PUMP, PERSON = document_url("guide/install.md"), document_url("guide/people.html")
BLANK = TaskTruth(answers=("?",), evidence=(), potential={})


def questions(count: int) -> list[Row]:
    return [{"id": f"q{i}", "question": f"What is {i}?", "answers": ["x"]} for i in range(count)]


def test_a_task_says_what_its_row_says(tmp_path: Path) -> None:
    tasks = task_set_of(write_corpus(tmp_path))
    task = tasks.task(Split.TRAIN, 0)
    assert (task.kind, task.split, task.language) == ("two_hop", Split.TRAIN, "en")
    assert task.prompt.question == QUESTIONS[0]["question"]
    assert task.prompt.start_url == "http://search.forage.test/"
    assert task.truth.potential == {PUMP: 0.5, PERSON: 1.0}
    # No needles in the row: the next document's name proves the first, the answer the last.
    assert [(e.subject, e.url, e.needles) for e in task.truth.evidence] == [
        ("Orlavia Pump", PUMP, ("Mara Veldin",)),
        ("Mara Veldin", PERSON, ("Calder",)),
    ]
    given = tasks.task(Split.TEST, 0).truth
    assert given.evidence[0].needles == ("Weight | 12 kg",)
    assert (given.answers, given.evidence[0].value) == (("12 kg", "12"), "12 kg")


def test_evidence_that_no_block_proves_leaves_a_potential_only(tmp_path: Path) -> None:
    unproven = QUESTIONS[0] | {"answers": ["Atlantis"]}
    tasks = task_set_of(write_corpus(tmp_path, questions=[unproven]))
    truth = tasks.task(Split.TRAIN, 0).truth
    assert truth.evidence == () and truth.potential == {PUMP: 0.5, PERSON: 1.0}
    assert tasks.bad.count == 0


def test_evidence_lies_in_the_part_that_holds_it(tmp_path: Path) -> None:
    rows = "".join(f"<tr><th>r{i}</th><td>value {i}</td></tr>" for i in range(300))
    long = {"id": "long", "title": "Long", "format": "html", "text": f"<table>{rows}</table>"}
    asked = {
        "id": "q", "question": "r280?", "answers": ["value 280"], "evidence": ["long"],
        "split": "train",
    }  # fmt: skip
    task = task_set_of(write_corpus(tmp_path, [long], [asked])).task(Split.TRAIN, 0)
    (item,) = task.truth.evidence
    assert item.url == document_url("long", 3)
    assert task.truth.potential == {document_url("long"): 0.5, item.url: 1.0}


def test_the_same_index_gives_the_same_task_on_every_machine(tmp_path: Path) -> None:
    first, second = (
        task_set_of(write_corpus(tmp_path / name, questions=questions(60))) for name in "ab"
    )
    for split in Split:
        last = 77 if split is Split.TRAIN else first.num_questions(split) - 1
        for index in (0, 1, last):
            assert first.task(split, index) == second.task(split, index)


def test_each_pass_has_every_question_once_in_another_order(tmp_path: Path) -> None:
    tasks = task_set_of(write_corpus(tmp_path, questions=questions(60)))
    count = tasks.num_questions(Split.TRAIN)
    passes = [
        [tasks.task(Split.TRAIN, r * count + i).prompt.question for i in range(count)]
        for r in range(2)
    ]
    assert set(passes[0]) == set(passes[1]) and len(set(passes[0])) == count
    assert passes[0] != passes[1]
    ids = [tasks.task(Split.TRAIN, i).task_id for i in range(3 * count)]
    for split in (Split.VALIDATION, Split.TEST):
        ids += [tasks.task(split, i).task_id for i in range(tasks.num_questions(split))]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("split", [Split.VALIDATION, Split.TEST])
def test_no_evaluation_counts_a_question_twice(tmp_path: Path, split: Split) -> None:
    tasks = task_set_of(write_corpus(tmp_path, questions=questions(60)))
    count = tasks.num_questions(split)
    asked = {tasks.task(split, i).prompt.question for i in range(count)}
    assert len(asked) == count > 1
    with pytest.raises(ValueError, match=rf"at most {count} tasks .*set evaluation\.num_tasks"):
        tasks.task(split, count)


def test_splits_are_drawn_from_the_id_eighty_ten_ten() -> None:
    drawn = Counter(split_of_id(f"question {i}") for i in range(4000))
    assert abs(drawn[Split.TRAIN] / 4000 - 0.8) < 0.03
    assert abs(drawn[Split.VALIDATION] / 4000 - 0.1) < 0.02
    assert split_of_id("q1") is Split.TRAIN and split_of_id("q8") is split_of_id("q8")


def test_a_split_without_questions_says_so(tmp_path: Path) -> None:
    tasks = task_set_of(write_corpus(tmp_path, questions=QUESTIONS[:1]))
    with pytest.raises(ValueError, match="expected questions of the split 'test', found none"):
        tasks.task(Split.TEST, 0)
    with pytest.raises(ValueError, match="expected >= 0"):
        tasks.task(Split.TRAIN, -1)


# --- With an env -------------------------------------------------------------------------------


async def follow(env: SearchEnv, task: Task, guide: Task) -> list[Observation]:
    """What is seen on `task` when the teacher's best action for `guide` is taken."""
    teacher = CorpusTeacher()
    seen = [await env.reset(task)]
    for _ in range(task.prompt.max_steps):
        actions = enumerate_actions(seen[-1].mask)
        best = int(teacher.utilities(guide, seen[-1], actions).argmax())
        result = await env.step(actions.action(best))
        if result.stop is not None:
            assert result.evidence.answer in task.truth.answers or task.truth == BLANK
            return seen
        seen.append(result.observation)
    raise AssertionError("expected an answer")


@pytest.mark.parametrize("split", [Split.TRAIN, Split.TEST])
async def test_the_teachers_best_actions_solve_it_and_nothing_seen_depends_on_the_truth(
    tmp_path: Path, split: Split
) -> None:
    env = make_env(config_of(write_corpus(tmp_path)))
    await env.start()
    task = env.task_set.task(split, 0)
    known = await follow(env, task, task)
    blank = await follow(env, dataclasses.replace(task, truth=BLANK), task)
    assert len(known) == len(blank) >= 4
    for one, other in zip(known, blank, strict=True):
        assert (one.url, one.elements.text, one.spans, one.page_text, one.notes) == (
            other.url, other.elements.text, other.spans, other.page_text, other.notes,
        )  # fmt: skip


async def test_without_proven_evidence_there_are_no_utilities(tmp_path: Path) -> None:
    env = make_env(config_of(write_corpus(tmp_path)))
    await env.start()
    task = env.task_set.task(Split.VALIDATION, 0)
    seen = await env.reset(task)
    actions = enumerate_actions(seen.mask)
    assert CorpusTeacher().utilities(task, seen, actions).shape == (0,)
    scored = CorpusTeacher().utilities(env.task_set.task(Split.TRAIN, 0), seen, actions)
    assert scored.shape == (len(actions),)


def test_a_page_is_found_by_its_name_and_less_surely_by_what_it_says() -> None:
    item = EvidenceItem(
        subject="Doyle Brunson (player)",
        url="http://x/",
        needles=("He wrote Super/System, a book on poker strategy",),
        value="",
    )
    name, said = (
        evidence_fit("Doyle Brunson", item),
        evidence_fit("poker book strategy wrote", item),
    )
    assert 1.0 > name > said > evidence_fit("poker", item) > 0.0
    assert evidence_fit("weather", item) == evidence_fit("", item) == 0.0
    assert bare_title("Doyle Brunson (player)") == "Doyle Brunson"


def test_documents_are_the_same_for_every_task(tmp_path: Path) -> None:
    tasks = task_set_of(write_corpus(tmp_path))
    assert len(tasks.library) == len(DOCUMENTS)
    assert tasks.site(tasks.task(Split.TRAIN, 0)) is tasks.site(tasks.task(Split.TEST, 0))
