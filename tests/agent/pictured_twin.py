# SPDX-License-Identifier: Apache-2.0
"""A twin whose pages have a picture, the boxes of their elements: vision has what to see."""

from __future__ import annotations

import dataclasses

import cv2
import numpy as np

from envs.config import DriverKind, EnvConfig, ScreenshotMode
from envs.driver import PageSnapshot
from envs.search_env import SearchEnv, make_task_set
from envs.twin.driver import TwinDriver
from tests.envs.small_site import SmallTaskSet

SCALE = 0.5


class PicturedTwin(TwinDriver):
    """Draws what it reads."""

    async def snapshot(self, *, with_screenshot: bool) -> PageSnapshot:
        page = await super().snapshot(with_screenshot=with_screenshot)
        if not with_screenshot:
            return page
        return dataclasses.replace(page, screenshot_jpeg=drawn(page), screenshot_scale=SCALE)


def drawn(page: PageSnapshot) -> bytes:
    """Element boxes in grey levels of their roles, as a JPEG."""
    width, height = (round(side * SCALE) for side in page.viewport)
    canvas = np.full((height, width, 3), 255, dtype=np.uint8)
    for element in page.elements:
        x, y, w, h = (round(side * SCALE) for side in element.box)
        y -= round(page.scroll_y_px * SCALE)
        grey = 20 * int(element.role)
        cv2.rectangle(canvas, (x, y), (x + w, y + h), (grey, grey, len(element.text) % 255), -1)
    return cv2.imencode(".jpg", canvas)[1].tobytes()


def small_pictured_env(
    *, max_steps: int = 15, screenshot: ScreenshotMode = ScreenshotMode.EVERY_STEP
) -> SearchEnv:
    """The small site, with pictures."""
    config = EnvConfig(driver=DriverKind.TWIN, max_steps=max_steps, screenshot=screenshot)
    tasks = SmallTaskSet(config.web, max_steps=max_steps, with_modal=False)
    return SearchEnv(PicturedTwin(max_elements=config.max_elements), tasks, config)


def web_pictured_env() -> SearchEnv:
    """The embedded web, with pictures."""
    config = EnvConfig(driver=DriverKind.TWIN, screenshot=ScreenshotMode.EVERY_STEP)
    driver = PicturedTwin(max_elements=config.max_elements)
    return SearchEnv(driver, make_task_set(config), config)
