# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.benchmarks.twin_step`: how fast the fast twin steps on one core; a line of JSON.

The env alone (site, document, element table, observation, mask), without any policy's time, over
episodes of a training mix with hazards. Half of them belong to the random masked agent, and half
to the wanderer, which neither answers nor waits.
- `steps_per_s`: steps per second of processor time of the env, its resets included: what one core
  does that has nothing else to do; `wall_steps_per_s`: by the wall clock
- `step_ms`: processor time per step; `reset_ms`: likewise per episode
- `navigating_share`: steps that loaded a page
- `floor_ms`: parsing the HTML of the loaded pages and nothing else, per step
- `world_s`: what the first search in a world takes, which builds the world and its index
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import orjson
from lxml import html

from agent.scripted.random_agent import RandomAgent
from agent.scripted.wanderer import WandererAgent
from envs.config import DriverKind, EnvConfig, ScreenshotMode, WebConfig
from envs.search_env import SearchEnv, make_driver
from envs.site import PageRequest, PageResponse, Site
from envs.types import Split, Task
from envs.web.sites.shell import SEARCH_HOST
from envs.web.task_set import EmbeddedTaskSet

CONFIG = EnvConfig(
    driver=DriverKind.TWIN,
    screenshot=ScreenshotMode.NEVER,
    max_steps=24,
    web=WebConfig(
        num_train_worlds=2,
        kinds=("look_up", "two_hop", "three_hop", "fuzzy:2", "comparison", "cross_site"),
        languages=("en:4", "zh"),
        hazards=0.5,
    ),
)
T = TypeVar("T")
AGENTS = (RandomAgent(), WandererAgent())


@dataclass(frozen=True, slots=True)
class KeepingSite:
    """A site that keeps the documents it answers with."""

    site: Site
    bodies: list[bytes]

    def hosts(self) -> tuple[str, ...]:
        return self.site.hosts()

    def respond(self, request: PageRequest) -> PageResponse:
        response = self.site.respond(request)
        if response.content_type.startswith("text/html"):
            self.bodies.append(response.body)
        return response


class KeepingTaskSet(EmbeddedTaskSet):
    """The tasks of the benchmark, and the documents that were loaded for them."""

    def __init__(self) -> None:
        super().__init__(CONFIG.web, max_steps=CONFIG.max_steps)
        self.bodies: list[bytes] = []

    def site(self, task: Task) -> Site:
        return KeepingSite(super().site(task), self.bodies)


@dataclass(kw_only=True, slots=True)
class Clock:
    """Time spent in the env."""

    wall_s: float = 0.0
    cpu_s: dict[str, float] = field(default_factory=lambda: {"reset": 0.0, "step": 0.0})

    async def time(self, what: str, call: Awaitable[T]) -> T:
        begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
        result = await call
        self.cpu_s[what] += time.process_time() - begin_cpu_s
        self.wall_s += time.perf_counter() - begin_s
        return result


class Walk:
    """Episodes, one after the other."""

    def __init__(self, env: SearchEnv) -> None:
        self.env = env
        self.clock = Clock()
        self.num_steps = 0
        self.num_navigations = 0
        self.num_episodes = 0

    async def play(self, task: Task) -> None:
        observation = await self.clock.time("reset", self.env.reset(task))
        agent = AGENTS[self.num_episodes % len(AGENTS)]
        self.num_episodes += 1
        is_over = False
        while not is_over:
            decision = await agent.act(observation, seed=self.num_steps)
            result = await self.clock.time("step", self.env.step(decision.action))
            self.num_steps += 1
            self.num_navigations += bool(result.observation.diff.navigated)
            observation, is_over = result.observation, result.stop is not None


def prepare(task_set: EmbeddedTaskSet, num_episodes: int) -> tuple[list[Task], float]:
    """The tasks, each world searched once; and the seconds that it took per world."""
    begin_s = time.perf_counter()
    tasks = [task_set.task(Split.TRAIN, index) for index in range(num_episodes)]
    first = {(task.world_seed, task.language): task for task in tasks}
    query = {"q": "city"}
    for task in first.values():
        request = PageRequest(host=SEARCH_HOST, path="/search", query=query, cookies={})
        task_set.site(task).respond(request)
    task_set.bodies.clear()
    return tasks, (time.perf_counter() - begin_s) / len(first)


def parsing_s(bodies: Sequence[bytes]) -> float:
    """Processor time of parsing documents."""
    begin_s = time.process_time()
    for body in bodies:
        html.document_fromstring(body or b"<html></html>")
    return time.process_time() - begin_s


async def measure(num_episodes: int) -> dict[str, object]:
    """The figures of the module's docstring."""
    task_set = KeepingTaskSet()
    tasks, world_s = prepare(task_set, num_episodes)
    walk = Walk(SearchEnv(make_driver(CONFIG), task_set, CONFIG))
    await walk.env.start()
    for task in tasks:
        await walk.play(task)
    await walk.env.close()
    clock, num_steps = walk.clock, walk.num_steps
    return {
        "benchmark": "twin_step",
        "num_steps": num_steps,
        "steps_per_s": round(num_steps / sum(clock.cpu_s.values())),
        "wall_steps_per_s": round(num_steps / clock.wall_s),
        "step_ms": round(1000 * clock.cpu_s["step"] / num_steps, 2),
        "reset_ms": round(1000 * clock.cpu_s["reset"] / num_episodes, 2),
        "navigating_share": round(walk.num_navigations / num_steps, 2),
        "floor_ms": round(1000 * parsing_s(task_set.bodies) / num_steps, 2),
        "world_s": round(world_s, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=80)
    figures = asyncio.run(measure(parser.parse_args().episodes))
    print(orjson.dumps(figures).decode())


if __name__ == "__main__":
    main()
