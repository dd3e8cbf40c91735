# SPDX-License-Identifier: Apache-2.0
"""The tasks of the embedded web, and the site that each is worked on."""

from __future__ import annotations

from envs.config import EnvConfig, Templates, WebConfig
from envs.site import Site
from envs.types import Split, Task, TaskPrompt
from envs.web.draw import Draw, stable_hash
from envs.web.hazards import draw_hazards
from envs.web.mix import (
    KIND_STEP,
    KINDS,
    LANGUAGE_STEP,
    LANGUAGES,
    name_at,
    parse_mix,
)
from envs.web.questions import draw_question
from envs.web.seeds import FIRST_TRAIN_SEED, TEST_SEEDS, VALIDATION_SEEDS
from envs.web.sites.shell import SEARCH_HOME
from envs.web.web_site import CONTENT_HOSTS, EmbeddedSite
from envs.web.world import World, build_world

_DEFAULT_LANGUAGE = "en"  # not told in the task's id


def from_config(config: EnvConfig) -> EmbeddedTaskSet:
    """The task set as configured."""
    return EmbeddedTaskSet(config.web, max_steps=config.max_steps)


class EmbeddedTaskSet:
    """Task `index` of a split; everything follows from the world's and the task's seed."""

    def __init__(self, config: WebConfig, max_steps: int) -> None:
        self._config = config
        self._max_steps = max_steps
        self._kinds = parse_mix(config.kinds, KINDS, key="env.web.kinds") if config.kinds else {}
        self._languages = parse_mix(config.languages, LANGUAGES, key="env.web.languages")
        last = FIRST_TRAIN_SEED + config.num_train_worlds
        self._world_seeds: dict[Split, tuple[int, ...]] = {
            Split.TRAIN: tuple(range(FIRST_TRAIN_SEED, last)),
            Split.VALIDATION: VALIDATION_SEEDS,
            Split.TEST: TEST_SEEDS,
        }

    def task(self, split: Split, index: int) -> Task:
        """Task `index` (>= 0, without end) of a split; the same on every machine."""
        if index < 0:
            raise ValueError(f"task index: expected >= 0, got {index}")
        if self._kinds:
            kind = name_at(index, self._kinds, KIND_STEP)
        else:
            kind = kind_of_index(index, self._config.two_hop_share)
        language = name_at(index, self._languages, LANGUAGE_STEP)
        task_seed = stable_hash("task", split.value, index) % (1 << 31)
        draw = Draw("question", task_seed)
        world_seed = draw.pick(self._world_seeds[split])
        world = build_world(world_seed, split, language, self._config.templates)
        mark = "" if language == _DEFAULT_LANGUAGE else f"{language}-"
        if self._config.templates is not Templates.TRAIN:
            mark += f"{self._config.templates.value}-"
        return draw_task(
            world,
            kind,
            draw,
            task_id=f"embedded-{split.value}-{world_seed}-{mark}{kind}-{index}",
            task_seed=task_seed,
            max_steps=self._max_steps,
        )

    def num_tasks(self, split: Split) -> None:
        """Without end."""

    def site(self, task: Task) -> Site:
        """The site on which `task` is worked on."""
        world = build_world(task.world_seed, task.split, task.language, self._config.templates)
        hazards = draw_hazards(self._config, task.task_seed, CONTENT_HOSTS, task.language)
        return EmbeddedSite(world, hazards, has_permits="cross_site" in self._kinds)


def draw_task(
    world: World, kind: str, draw: Draw, *, task_id: str, task_seed: int, max_steps: int
) -> Task:
    """A task of `kind` in `world`, its question drawn from `draw`."""
    question = draw_question(world, kind, draw)
    return Task(
        task_id=task_id,
        kind=kind,
        split=world.split,
        language=world.language,
        world_seed=world.seed,
        task_seed=task_seed,
        prompt=TaskPrompt(question=question.text, start_url=SEARCH_HOME, max_steps=max_steps),
        truth=question.truth,
    )


def kind_of_index(index: int, two_hop_share: float) -> str:
    """The kind of a task: any run of n tasks has its share of two-hop ones within one task."""
    is_two_hop = int((index + 1) * two_hop_share) > int(index * two_hop_share)
    return "two_hop" if is_two_hop else "look_up"
