# SPDX-License-Identifier: Apache-2.0
"""How hard each kind of task is, in every language: for the oracle, by chance, by search alone."""

import asyncio
import itertools
from collections import defaultdict

import numpy as np

from agent.episode import Attempt, run_episode
from agent.registry import AGENTS
from agent.scripted.oracle import OracleAgent
from agent.types import Agent, Decision
from envs.answers import is_accepted
from envs.config import DriverKind, EnvConfig, Templates, WebConfig
from envs.registry import resolve
from envs.search_env import make_env
from envs.types import Observation, Split
from envs.web.mix import KINDS, LANGUAGES

HARD = WebConfig(
    kinds=KINDS,
    languages=LANGUAGES,
    cookie_banner_rate=0.3,
    login_popup_rate=0.3,
    hazards=0.5,
    templates=Templates.HELD_OUT,
)
NUM_TASKS = 48


class MaskCheckingOracle(OracleAgent):
    """The oracle, which counts how often its choice was masked."""

    def __init__(self) -> None:
        super().__init__()
        self.masked: list[str] = []

    async def act(self, observation: Observation, *, seed: int) -> Decision:
        decision = await super().act(observation, seed=seed)
        if not observation.mask.allows(decision.action):
            self.masked.append(f"{decision.action} at {observation.url}")
        return decision


def run_tasks(agent: Agent, web: WebConfig, num_tasks: int) -> list[Attempt]:
    async def run() -> list[Attempt]:
        env = make_env(EnvConfig(driver=DriverKind.TWIN, web=web))
        await env.start()
        tasks = [env.task_set.task(Split.TEST, index) for index in range(num_tasks)]
        return [
            await run_episode(env, agent, t, trajectory_id=t.task_id, group_id="g", seed=index)
            for index, t in enumerate(tasks)
        ]

    return asyncio.run(run())


def success(attempts: list[Attempt]) -> dict[tuple[str, str], list[bool]]:
    """Right or not, by language and kind."""
    right = defaultdict(list)
    for attempt in attempts:
        task = attempt.episode.task
        is_right = is_accepted(attempt.episode.final_answer, task.truth.answers)
        right[task.language, task.kind].append(is_right)
    return right


def test_the_oracle_solves_every_kind_in_every_language_under_all_that_makes_it_hard():
    oracle = MaskCheckingOracle()
    attempts = run_tasks(oracle, HARD, NUM_TASKS)
    right = success(attempts)
    assert set(right) == {(language, kind) for language in LANGUAGES for kind in KINDS}
    assert min(np.mean(of_one) for of_one in right.values()) >= 0.95, right
    assert oracle.masked == []
    assert max(len(attempt.episode.steps) for attempt in attempts) <= 20


def test_search_alone_solves_at_most_three_in_ten():
    agent = resolve("bm25_first_hit", AGENTS, what="agent")()
    right = success(run_tasks(agent, WebConfig(kinds=KINDS, languages=LANGUAGES), 36))
    assert 0.0 < np.mean(list(itertools.chain(*right.values()))) <= 0.3


def test_chance_solves_next_to_nothing_where_the_question_does_not_name_the_answer():
    web = WebConfig(kinds=("look_up", "two_hop", "three_hop"), languages=LANGUAGES)
    agent = resolve("random", AGENTS, what="agent")()
    assert np.mean(list(itertools.chain(*success(run_tasks(agent, web, 30)).values()))) <= 0.05
