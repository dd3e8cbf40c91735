# SPDX-License-Identifier: Apache-2.0
"""The embedded web in Chromium, and the twin's element table held equal to Chromium's."""

from __future__ import annotations

import random

import pytest

from envs.config import WebConfig
from envs.driver import PageSnapshot
from envs.twin.driver import TwinDriver
from envs.types import Split
from envs.web.task_set import EmbeddedTaskSet

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAX_ELEMENTS = 200  # as the driver of this folder's fixture
NUM_TASKS = 4
NUM_STEPS = 6


def table(page: PageSnapshot) -> list[tuple[object, ...]]:
    """All of the element table but boxes, styles and handles."""
    return [
        (
            e.role,
            e.text,
            e.context,
            e.value,
            e.href,
            e.options,
            e.is_occluded,
            e.is_focused,
            e.is_disabled,
            e.is_checked,
            e.is_clickable,
            e.is_typable,
            e.is_in_dialog,
        )
        for e in page.elements
    ]


async def test_both_drivers_see_the_same_pages_on_a_walk_through_the_embedded_web(driver):
    task_set, twin = EmbeddedTaskSet(WebConfig(), 20), TwinDriver(max_elements=MAX_ELEMENTS)
    draw = random.Random(7)
    for index in range(NUM_TASKS):
        task = task_set.task(Split.TRAIN, index)
        site = task_set.site(task)
        both = (driver, twin)
        for one in both:
            await one.reset(site)
            await one.open(task.prompt.start_url)
        for _ in range(NUM_STEPS):
            pages = [await one.snapshot(with_screenshot=False) for one in both]
            assert (pages[0].url, pages[0].title) == (pages[1].url, pages[1].title)
            assert table(pages[0]) == table(pages[1]), pages[0].url
            rows = range(len(pages[0].elements))
            free = [i for i in rows if not pages[0].elements[i].is_occluded]
            fields = [i for i in free if pages[0].elements[i].is_typable]
            if fields and draw.random() < 0.4:
                word = draw.choice(task.prompt.question.split())
                for one, page in zip(both, pages, strict=True):
                    await one.type_text(page.elements[fields[0]].node_ref, word)
                effects = [await one.press_enter() for one in both]
            else:
                row = draw.choice([i for i in free if pages[0].elements[i].is_clickable])
                effects = [
                    await one.click(page.elements[row].node_ref)
                    for one, page in zip(both, pages, strict=True)
                ]
            seen = [(e.reason, e.navigated, e.num_images, e.num_images_failed) for e in effects]
            assert seen[0] == seen[1]
