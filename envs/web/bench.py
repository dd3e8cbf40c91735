# SPDX-License-Identifier: Apache-2.0
"""Forage-Bench: 300 fixed tasks that nothing trains on; see docs/BENCH.md.

No setting changes them. Every third index is of the same sub-score, so that any run of tasks has
all sub-scores alike, and likewise their kinds and languages.
"""

from __future__ import annotations

from envs.config import EnvConfig, Templates, WebConfig
from envs.site import Site
from envs.types import Split, Task
from envs.web.bench_steps import ORACLE_STEPS
from envs.web.draw import Draw, stable_hash
from envs.web.hazards import draw_hazards
from envs.web.seeds import BENCH_SEEDS
from envs.web.task_set import draw_task
from envs.web.web_site import CONTENT_HOSTS, EmbeddedSite
from envs.web.world import World, build_world

SUB_SCORES: dict[str, tuple[str, ...]] = {  # each of 100 tasks, its kinds alike
    "multi_hop": ("two_hop", "three_hop"),
    "fuzzy": ("fuzzy",),
    "cross_page": ("comparison", "cross_site"),
}
TASKS_PER_SUB_SCORE = 100
NUM_TASKS = TASKS_PER_SUB_SCORE * len(SUB_SCORES)
LEAST_CAP, MOST_CAP = 20, 200  # steps
_STEPS_PER_ORACLE_STEP = 3
# Of five tasks of each kind one is in Chinese.
_LANGUAGES = ("en", "zh", "en", "en", "en")
_HAZARDS = WebConfig(
    cookie_banner_rate=0.3, login_popup_rate=0.3, slow_resource_rate=0.15, hazards=0.5
)


def from_config(config: EnvConfig) -> ForageBench:
    """The benchmark, whatever the settings."""
    return ForageBench()


def sub_score_of(kind: str) -> str:
    """The sub-score that tasks of `kind` count for."""
    return next(name for name, kinds in SUB_SCORES.items() if kind in kinds)


def cap(oracle_steps: int) -> int:
    """Steps that an attempt may take, by those that the oracle needs."""
    return min(MOST_CAP, max(LEAST_CAP, _STEPS_PER_ORACLE_STEP * oracle_steps))


class ForageBench:
    """A `TaskSet` of the test split alone."""

    def task(self, split: Split, index: int) -> Task:
        """Task `index` in 0..299; the same on every machine and under all settings."""
        if not 0 <= index < self.num_tasks(split):
            raise ValueError(f"task index: expected 0..{NUM_TASKS - 1}, got {index}")
        number, which = divmod(index, len(SUB_SCORES))
        kinds = list(SUB_SCORES.values())[which]
        kind = kinds[number % len(kinds)]
        language = _LANGUAGES[number // 2 % len(_LANGUAGES)]
        task_seed = stable_hash("forage_bench", index) % (1 << 31)
        draw = Draw("question", task_seed)
        world_seed = draw.pick(BENCH_SEEDS)
        return draw_task(
            _world(world_seed, language),
            kind,
            draw,
            task_id=f"bench-{world_seed}-{language}-{kind}-{index}",
            task_seed=task_seed,
            max_steps=cap(ORACLE_STEPS[index]),
        )

    def num_tasks(self, split: Split) -> int:
        """300 of the test split; `ValueError` for the others, which a benchmark has not."""
        if split is not Split.TEST:
            raise ValueError(
                f"env.task_set: forage_bench has the test split alone, got {split.value!r}; "
                "train on another task set, such as embedded"
            )
        return NUM_TASKS

    def site(self, task: Task) -> Site:
        """The site on which `task` is worked on."""
        hazards = draw_hazards(_HAZARDS, task.task_seed, CONTENT_HOSTS, task.language)
        return EmbeddedSite(_world(task.world_seed, task.language), hazards, has_permits=True)


def _world(seed: int, language: str) -> World:
    return build_world(seed, Split.TEST, language, Templates.HELD_OUT)
