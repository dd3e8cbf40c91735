# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.benchmarks.policy_act`: what one decision of the forager costs; a line of JSON.

Medians in milliseconds of one thread over pages of the embedded web that a search agent saw, each
set of streams in turn at every page, so that all of them meet the same load of the machine:
- `act_ms` by set of streams: features, network and draw, of pictures that were seen before
- `floor_ms`: the same of page and intent alone, the default
- `over_floor_ms`: the median difference from the floor at the same page
- `picture_ms`: what the first sight of a picture adds (`+vision`; every time with `trained`)
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import statistics
import time

import orjson
import torch

from agent.config import DEFAULT_STREAMS, STREAMS, PolicyConfig
from agent.forager.vision import PictureReader
from agent.policy_agent import PolicyAgent
from agent.scripted.bm25_first_hit import Bm25FirstHitAgent
from envs.types import Observation, Split
from tests.agent.pictured_twin import web_pictured_env

FLOOR = "page+intent"
MAX_STEPS_OF_EACH = 12


def configs() -> dict[str, PolicyConfig]:
    """The sets of streams by name, the floor first."""
    seeing = PolicyConfig(vision_weights="random")
    sets = {FLOOR: DEFAULT_STREAMS}
    sets |= {f"+{name}": (*DEFAULT_STREAMS, name) for name in STREAMS[len(DEFAULT_STREAMS) :]}
    sets["all"] = STREAMS
    found = {name: dataclasses.replace(seeing, streams=streams) for name, streams in sets.items()}
    trained = dataclasses.replace(seeing, streams=STREAMS, train_backbone=True)
    return {**found, "all, trained": trained}


async def pages(num_tasks: int) -> list[Observation]:
    """What an agent saw that opens the first hit, picture included."""
    env, agent = web_pictured_env(), Bm25FirstHitAgent()
    await env.start()
    seen = []
    for index in range(num_tasks):
        observation = await env.reset(env.task_set.task(Split.TRAIN, index))
        for step in range(MAX_STEPS_OF_EACH):
            seen.append(observation)
            result = await env.step((await agent.act(observation, seed=step)).action)
            if result.stop is not None:
                break
            observation = result.observation
    return seen


async def measure(num_tasks: int, num_rounds: int) -> dict[str, object]:
    agents = {name: PolicyAgent(config, seed=0) for name, config in configs().items()}
    seen = await pages(num_tasks)
    times: dict[str, list[float]] = {name: [] for name in agents}
    for number in range(1 + num_rounds):  # the first fills the caches
        for page in seen:
            for name, agent in agents.items():
                begin_s = time.perf_counter()
                await agent.act(page, seed=number)
                if number:
                    times[name].append(time.perf_counter() - begin_s)
    over = {
        name: _median_ms([t - f for t, f in zip(own, times[FLOOR], strict=True)])
        for name, own in times.items()
    }
    return {
        "benchmark": "policy_act",
        "num_acts": len(times[FLOOR]),
        "num_elements": statistics.median(len(page.elements) for page in seen),
        "num_queries": statistics.mean(len(page.queries) for page in seen),
        "floor_ms": _median_ms(times[FLOOR]),
        "act_ms": {name: _median_ms(own) for name, own in times.items()},
        "over_floor_ms": over,
        "picture_ms": first_sight_ms(seen),
    }


def first_sight_ms(seen: list[Observation]) -> float:
    """Of pictures that the reader does not know."""
    reader, times = PictureReader("random"), []
    for picture in dict.fromkeys(page.screenshot_jpeg for page in seen):
        begin_s = time.perf_counter()
        reader.read(picture)
        times.append(time.perf_counter() - begin_s)
    return _median_ms(times)


def _median_ms(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(orjson.dumps(asyncio.run(measure(arguments.tasks, arguments.rounds))).decode())


if __name__ == "__main__":
    main()
