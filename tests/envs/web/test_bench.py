# SPDX-License-Identifier: Apache-2.0
"""Forage-Bench is the same 300 tasks everywhere; nothing of it is trained on or tried elsewhere."""

import hashlib
import json
from collections import Counter

import pytest

from envs.config import EnvConfig, Templates, WebConfig
from envs.search_env import make_task_set
from envs.types import Split, Task
from envs.web.bench import NUM_TASKS, SUB_SCORES, cap, sub_score_of
from envs.web.bench_steps import ORACLE_STEPS
from envs.web.mix import LANGUAGES
from envs.web.names import split_of_word
from envs.web.seeds import BENCH_SEEDS, FIRST_TRAIN_SEED, TEST_SEEDS, VALIDATION_SEEDS
from envs.web.world import build_world
from tests.envs.web.page_reader import get

BENCH = make_task_set(EnvConfig(task_set="forage_bench"))
GOLDEN_TASKS = "8cc465d87b0866be16f4d5a3ad71ac81e74e8f1e64328785e3519f2a570ff7f6"


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return [BENCH.task(Split.TEST, index) for index in range(NUM_TASKS)]


def told(task: Task) -> object:
    prompt, truth = task.prompt, task.truth
    evidence = [[e.subject, e.url, e.needles, e.value, e.clues, e.way] for e in truth.evidence]
    return [
        [task.task_id, task.kind, task.split.value, task.language, task.world_seed, task.task_seed],
        [prompt.question, prompt.start_url, prompt.max_steps],
        [truth.answers, evidence, dict(truth.potential), truth.needs_all, task.layer_weights],
    ]


def test_the_tasks_are_fixed(tasks: list[Task]) -> None:
    text = json.dumps([told(task) for task in tasks])
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN_TASKS
    assert len({task.task_id for task in tasks}) == NUM_TASKS == 300
    assert len({task.prompt.question for task in tasks}) == NUM_TASKS


def test_no_setting_of_the_embedded_web_changes_a_task() -> None:
    web = WebConfig(kinds=("look_up",), languages=("zh",), hazards=0.0, cookie_banner_rate=0.0)
    other = make_task_set(EnvConfig(task_set="forage_bench", max_steps=5, web=web))
    for index in (0, 7, 299):
        task = BENCH.task(Split.TEST, index)
        assert other.task(Split.TEST, index) == task
        pages = [get(each.site(task), task.prompt.start_url) for each in (BENCH, other)]
        assert pages[0] == pages[1]


def test_every_sub_score_has_a_hundred_tasks_and_every_kind_its_share(tasks: list[Task]) -> None:
    assert Counter(sub_score_of(task.kind) for task in tasks) == dict.fromkeys(SUB_SCORES, 100)
    by_kind = Counter(task.kind for task in tasks)
    assert by_kind == {kind: 100 // len(kinds) for kinds in SUB_SCORES.values() for kind in kinds}
    in_chinese = Counter(task.kind for task in tasks if task.language == "zh")
    assert in_chinese == {kind: count // 5 for kind, count in by_kind.items()}
    assert Counter(sub_score_of(task.kind) for task in tasks[:6]) == dict.fromkeys(SUB_SCORES, 2)


def test_its_worlds_are_of_seeds_that_no_split_of_the_embedded_set_has(tasks: list[Task]) -> None:
    assert {task.world_seed for task in tasks} == set(BENCH_SEEDS)
    assert not set(BENCH_SEEDS) & {*VALIDATION_SEEDS, *TEST_SEEDS}
    assert min(BENCH_SEEDS) > FIRST_TRAIN_SEED + 1_000_000


@pytest.mark.parametrize("language", LANGUAGES)
def test_its_worlds_share_no_name_with_those_of_any_split(language: str) -> None:
    bench = {
        name
        for seed in BENCH_SEEDS
        for entity in build_world(seed, Split.TEST, language, Templates.HELD_OUT).entities
        for name in (entity.name, entity.short_name)
    }
    elsewhere = [(Split.TEST, seed) for seed in TEST_SEEDS]
    elsewhere += [(Split.VALIDATION, seed) for seed in VALIDATION_SEEDS]
    elsewhere += [(Split.TRAIN, FIRST_TRAIN_SEED + number) for number in range(4)]
    for split, seed in elsewhere:
        world = build_world(seed, split, language)
        names = {name for e in world.entities for name in (e.name, e.short_name)}
        assert not names & bench, (split, seed)
    # A training run may have more worlds: none of them has these words, whatever its seed.
    people = build_world(BENCH_SEEDS[0], Split.TEST, language, Templates.HELD_OUT).entities[:200]
    assert {split_of_word(entity.short_name) for entity in people} == {Split.TEST}


def test_hazards_and_held_out_templates_are_on(tasks: list[Task]) -> None:
    bodies = [get(BENCH.site(task), task.truth.evidence[-1].url).body.decode() for task in tasks]
    assert 0.1 < sum("data-late" in body for body in bodies) / NUM_TASKS < 0.6
    assert 0.1 < sum("data-dismiss" in body for body in bodies) / NUM_TASKS < 0.7
    world = build_world(tasks[0].world_seed, Split.TEST, tasks[0].language, Templates.HELD_OUT)
    person = world.entities[0]
    assert world.page_wording(person.facts[0].relation) in world.words.held_out.values()


def test_caps_follow_from_the_steps_of_the_oracle(tasks: list[Task]) -> None:
    assert [cap(steps) for steps in (1, 6, 7, 16, 66, 67, 200)] == [20, 20, 21, 48, 198, 200, 200]
    assert len(ORACLE_STEPS) == NUM_TASKS
    assert [task.prompt.max_steps for task in tasks] == [cap(steps) for steps in ORACLE_STEPS]


@pytest.mark.parametrize("split", [Split.TRAIN, Split.VALIDATION])
def test_there_is_nothing_to_train_or_to_tune_on(split: Split) -> None:
    with pytest.raises(
        ValueError, match=f"forage_bench has the test split alone, got '{split.value}'"
    ):
        BENCH.num_tasks(split)
    with pytest.raises(ValueError, match="test split alone"):
        BENCH.task(split, 0)


@pytest.mark.parametrize("index", [-1, 300])
def test_an_index_beyond_its_tasks_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match=r"expected 0\.\.299"):
        BENCH.task(Split.TEST, index)
