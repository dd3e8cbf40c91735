# SPDX-License-Identifier: Apache-2.0
"""A finished run with pictures, made once in a real Chromium, and a page to look at it with."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, async_playwright

from actors.launch_inprocess import InProcessLauncher
from actors.run_folder import RunFolder
from envs.browser.discovery import find_browser
from envs.config import EnvConfig
from tests.actors.jobs import SMALL, run_job


@pytest.fixture(scope="session")
def chromium_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A short run in Chromium with archived attempts, its metrics, summary and report."""
    evaluation = dataclasses.replace(
        SMALL.evaluation,
        num_tasks=2,
        num_baseline_tasks=2,
        baselines=("oracle",),
        validation_tasks=1,
        validate_every_versions=1,
    )
    job = dataclasses.replace(
        SMALL,
        env=EnvConfig(max_steps=8),
        train=dataclasses.replace(SMALL.train, max_env_steps=80),
        evaluation=evaluation,
        trace=True,
    )
    runs_dir = tmp_path_factory.mktemp("runs")
    launcher = InProcessLauncher(job.worker_configs())
    return asyncio.run(run_job(job, runs_dir, launcher))[1]


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """An empty page of a real browser; whatever it reports as an error fails the test."""
    errors: list[str] = []
    async with async_playwright() as playwright:
        executable = find_browser(playwright_executable=playwright.chromium.executable_path)
        browser = await playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox"]
        )
        try:
            fresh = await browser.new_page()
            fresh.on("pageerror", lambda error: errors.append(str(error)))
            fresh.on(
                "console",
                lambda message: errors.append(message.text) if message.type == "error" else None,
            )
            yield fresh
        finally:
            await browser.close()
    assert not errors
