# SPDX-License-Identifier: Apache-2.0
"""Scripted agents on the embedded web: what they solve, and the mask held against the oracle."""

import asyncio
from collections import defaultdict

import numpy as np
import pytest

from agent.episode import Attempt, run_episode
from agent.registry import AGENTS
from agent.scripted.oracle import OracleAgent
from agent.types import Agent, Decision
from envs.answers import is_accepted
from envs.config import DriverKind, EnvConfig, WebConfig
from envs.registry import resolve
from envs.search_env import make_env
from envs.types import Observation, Split, StopReason

NUM_TASKS = 48
HAZARDOUS = WebConfig(cookie_banner_rate=0.5, login_popup_rate=0.5, slow_resource_rate=0.5)


def run_tasks(agent: Agent, *, web: WebConfig = HAZARDOUS, num_tasks: int = NUM_TASKS):
    async def run() -> list[Attempt]:
        env = make_env(EnvConfig(driver=DriverKind.TWIN, web=web))
        await env.start()
        attempts = []
        for index in range(num_tasks):
            task = env.task_set.task(Split.TEST, index)
            attempts.append(
                await run_episode(
                    env, agent, task, trajectory_id=str(index), group_id="g", seed=index
                )
            )
        return attempts

    return asyncio.run(run())


def success_by_kind(attempts: list[Attempt]) -> dict[str, float]:
    right = defaultdict(list)
    for attempt in attempts:
        task = attempt.episode.task
        right[task.kind].append(is_accepted(attempt.episode.final_answer, task.truth.answers))
    return {kind: float(np.mean(values)) for kind, values in right.items()}


class MaskCheckingOracle(OracleAgent):
    """The oracle, which counts how often its choice was masked."""

    def __init__(self) -> None:
        super().__init__()
        self.masked: list[str] = []
        self.num_steps = 0

    async def act(self, observation: Observation, *, seed: int) -> Decision:
        decision = await super().act(observation, seed=seed)
        self.num_steps += 1
        if not observation.mask.allows(decision.action):
            self.masked.append(f"{decision.action} at {observation.url}")
        return decision


def test_the_oracle_solves_each_kind_and_is_never_masked():
    oracle = MaskCheckingOracle()
    success = success_by_kind(run_tasks(oracle))
    assert set(success) == {"look_up", "two_hop"}
    assert min(success.values()) >= 0.95, success
    assert oracle.masked == [] and oracle.num_steps > 4 * NUM_TASKS


def test_chance_and_search_alone_do_not_solve_the_tasks():
    random = success_by_kind(run_tasks(resolve("random", AGENTS, what="agent")()))
    first_hit = success_by_kind(run_tasks(resolve("bm25_first_hit", AGENTS, what="agent")()))
    assert np.mean(list(random.values())) <= 0.15
    assert 0.05 <= np.mean(list(first_hit.values())) <= 0.35
    assert first_hit["two_hop"] <= 0.1


def test_the_wanderer_uses_up_its_steps_without_answering():
    attempts = run_tasks(resolve("wanderer", AGENTS, what="agent")(), num_tasks=3)
    assert all(a.episode.stop is StopReason.STEP_LIMIT for a in attempts)
    assert all(len(a.trajectory.steps) == 20 for a in attempts)


def test_an_unknown_agent_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="'oracle'"):
        resolve("orcale", AGENTS, what="agent")
