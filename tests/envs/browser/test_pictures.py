# SPDX-License-Identifier: Apache-2.0
"""When an env takes pictures, and that fewer of them leave the base layer's verdict as it is."""

from __future__ import annotations

import numpy as np
import pytest

from envs.actions import Action
from envs.browser.driver import ChromiumDriver
from envs.config import EnvConfig, ScreenshotMode
from envs.search_env import SearchEnv
from envs.types import Episode, Split, StepEvidence, StopReason, Task, TaskPrompt, TaskTruth
from reward_server.config import RewardConfig
from reward_server.layers import blank_page
from tests.envs.browser.sites import PathSite, url

SQUARE = "<svg width=200 height=200><rect width=99 height=99 /></svg>"
PAGES = {
    "/words": "<p>Words</p>",
    "/field": "<input name=q>",
    "/nothing": "<!doctype html><title>Nothing</title>",
    "/far": "<p style='margin-top:2000px'>Far below</p>",
    "/hidden": "<p style='visibility:hidden'>Words</p>",
    "/covered": "<p>Words</p><div style='position:fixed;inset:0;background:white'></div>",
    "/drawing": SQUARE,
}
HOME = " ".join(f"<a href={path}>{path.strip('/')}</a>" for path in PAGES)
BLANK = ("/nothing", "/far", "/hidden", "/covered")


class Pages:
    """Tasks that start on a page with a link to every other."""

    def num_tasks(self, split: Split) -> None:
        """Without end."""

    def site(self, task: Task) -> PathSite:
        return PathSite({"/": HOME, **PAGES})

    def task(self, split: Split, index: int) -> Task:
        return Task(
            task_id=f"pictures-{index}",
            kind="pictures",
            split=split,
            language="en",
            world_seed=0,
            task_seed=index,
            prompt=TaskPrompt(question="Who?", start_url=url("/"), max_steps=50),
            truth=TaskTruth(answers=("nobody",), evidence=(), potential={}),
        )


async def walk(driver: ChromiumDriver, mode: ScreenshotMode) -> list[StepEvidence]:
    """Every page, each from the first and back, then once more to one that is known."""
    env = SearchEnv(driver, Pages(), EnvConfig(screenshot=mode))
    page = await env.reset(env.task_set.task(Split.TRAIN, 0))
    steps = []
    for path in (*PAGES, BLANK[0]):
        row = page.elements.text.index(path.strip("/"))
        for action in (Action(type="click", element=row), Action(type="go_back")):
            result = await env.step(action)
            page = result.observation
            steps.append(result.evidence)
    return steps


def verdict(steps: list[StepEvidence]) -> np.ndarray:
    task = Pages().task(Split.TRAIN, 0)
    episode = Episode(
        trajectory_id="t",
        group_id="g",
        task=task,
        steps=tuple(steps),
        final_answer="",
        stop=StopReason.STEP_LIMIT,
    )
    return blank_page(episode, RewardConfig(base_cap=100.0))


@pytest.mark.asyncio(loop_scope="module")
async def test_pictures_of_empty_pages_alone_find_the_same_blank_pages(driver):
    of_new, of_empty = [
        await walk(driver, mode) for mode in (ScreenshotMode.NEW_PAGE, ScreenshotMode.EMPTY_PAGE)
    ]
    assert [step.url for step in of_new] == [step.url for step in of_empty]
    assert np.array_equal(verdict(of_new), verdict(of_empty))
    blank = [step.url for step, value in zip(of_empty, verdict(of_empty), strict=True) if value]
    assert blank == [url(path) for path in BLANK]
    pictures = [step.url for step in of_empty if step.screenshot_jpeg]
    assert pictures == [url(path) for path in (*BLANK, "/drawing")]
