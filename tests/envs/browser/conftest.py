# SPDX-License-Identifier: Apache-2.0
"""One browser for the tests of a file; what a test does to it stays in the test's own context."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from envs.browser.driver import ChromiumDriver
from envs.config import BrowserConfig

# Short deadlines: what hangs in these tests hangs for ever.
CONFIG = BrowserConfig(call_timeout_s=3.0, navigation_timeout_s=2.0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def driver() -> AsyncIterator[ChromiumDriver]:
    running = ChromiumDriver(CONFIG, max_elements=200)
    await running.start()
    yield running
    await running.close()


@pytest.fixture
def config() -> BrowserConfig:
    return CONFIG
