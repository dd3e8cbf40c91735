# SPDX-License-Identifier: Apache-2.0
"""Pages that hang are effects; a browser that is gone or hangs is an infra failure, and heals."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal

import psutil
import pytest

from envs.browser.driver import ChromiumDriver
from envs.browser.profile import process_folder
from envs.config import BrowserConfig
from envs.driver import InfraError, PageDriver
from envs.types import StopReason
from tests.envs.browser.sites import HANG_S, PathSite, element, html, url

CONFIG = BrowserConfig(call_timeout_s=1.5, navigation_timeout_s=1.0)
HOME = "<h1>Home</h1><a href=/hang>Hang</a><a href=/next>Next</a>"


def site() -> PathSite:
    return PathSite(
        {
            "/": HOME,
            "/next": "<h1>Arrived</h1>",
            "/hang": html("never", delay_s=HANG_S),
            "/refresh": f"<meta http-equiv=refresh content='0;url=/hang'>{HOME}",
            "/script": f"<script src=/hang></script>{HOME}",
            "/busy": "<button onclick='for (;;);'>Spin</button>",
        }
    )


@contextlib.asynccontextmanager
async def running(config: BrowserConfig = CONFIG):
    driver = ChromiumDriver(config, max_elements=50)
    await driver.start()
    try:
        await driver.reset(site())
        await driver.open(url("/"))
        yield driver
    finally:
        await driver.close()


def own_processes() -> list[str]:
    """Living descendants; a zombie waits for its parent and holds nothing."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {process.name()}")
    return found


async def assert_heals(driver: ChromiumDriver) -> None:
    await driver.close()
    assert (driver.browser_pid, driver.site_port) == (0, 0)
    await driver.start()
    await driver.reset(site())
    assert (await driver.open(url("/next"))).reason == "ok"
    assert element(await driver.snapshot(with_screenshot=True), "Arrived")


async def test_a_page_that_never_answers_is_a_failed_navigation():
    async with running() as driver:
        before = await driver.snapshot(with_screenshot=False)
        effect = await driver.click(element(before, "Hang").node_ref)
        assert (effect.reason, effect.navigated) == ("navigation_timeout", False)
        page = await driver.snapshot(with_screenshot=False)
        assert page.url == url("/")
        assert (await driver.click(element(page, "Next").node_ref)).navigated
        effect = await driver.open(url("/hang"))
        assert (effect.reason, effect.navigated) == ("navigation_timeout", False)
        assert (await driver.snapshot(with_screenshot=False)).url == url("/next")


async def test_a_page_that_goes_to_one_that_never_answers_can_still_be_read():
    async with running() as driver:
        await driver.open(url("/refresh"))
        page = await driver.snapshot(with_screenshot=False)
        assert (await driver.click(element(page, "Next").node_ref)).reason == "ok"
        assert (await driver.snapshot(with_screenshot=False)).url == url("/next")


async def test_a_script_that_never_comes_leaves_the_page_usable():
    async with running() as driver:
        effect = await driver.open(url("/script"))
        assert (effect.reason, effect.settled_by) == ("ok", "cap")
        assert (await driver.open(url("/next"))).reason == "ok"


async def test_a_page_that_spins_is_an_infra_failure_and_heals():
    async with running() as driver:
        await driver.open(url("/busy"))
        page = await driver.snapshot(with_screenshot=False)
        with pytest.raises(InfraError) as failure:
            await driver.click(element(page, "Spin").node_ref)
        assert failure.value.stop is StopReason.INFRA_TIMEOUT
        await assert_heals(driver)


async def test_a_killed_browser_is_an_infra_failure_and_heals():
    async with running() as driver:
        os.kill(driver.browser_pid, signal.SIGKILL)
        with pytest.raises(InfraError) as failure:
            while True:
                await driver.snapshot(with_screenshot=False)
        assert failure.value.stop is StopReason.INFRA_BROWSER
        with pytest.raises(InfraError):
            await driver.reset(site())
        await assert_heals(driver)


async def test_a_browser_killed_under_a_call_fails_that_call():
    async with running() as driver:
        opening = asyncio.ensure_future(driver.open(url("/hang")))
        await asyncio.sleep(0.1)
        os.kill(driver.browser_pid, signal.SIGKILL)
        with pytest.raises(InfraError) as failure:
            await opening
        assert failure.value.stop is StopReason.INFRA_BROWSER


async def test_a_frozen_browser_is_an_infra_failure_by_the_deadline_and_heals():
    async with running() as driver:
        os.kill(driver.browser_pid, signal.SIGSTOP)
        with pytest.raises(InfraError) as failure:
            await driver.snapshot(with_screenshot=False)
        assert failure.value.stop is StopReason.INFRA_TIMEOUT
        await assert_heals(driver)


async def test_a_killed_playwright_is_an_infra_failure_and_heals():
    async with running() as driver:
        node = psutil.Process(driver.browser_pid).ppid()
        os.kill(node, signal.SIGKILL)
        with pytest.raises(InfraError) as failure:
            while True:
                await driver.snapshot(with_screenshot=False)
        assert failure.value.stop is StopReason.INFRA_BROWSER
        await assert_heals(driver)


async def test_a_killed_renderer_is_an_infra_failure_and_heals():
    async with running() as driver:
        main = psutil.Process(driver.browser_pid)
        for process in main.children(recursive=True):
            if "--type=renderer" in process.cmdline():
                process.kill()
        with pytest.raises(InfraError) as failure:
            while True:
                await driver.snapshot(with_screenshot=False)
        assert failure.value.stop is StopReason.INFRA_BROWSER
        await assert_heals(driver)


async def test_a_browser_that_refuses_a_new_tab_is_an_infra_failure_and_heals():
    async with running() as driver:
        link = element(await driver.snapshot(with_screenshot=False), "Next")
        driver._strip._context = "gone"  # what a dying browser says, from one that lives
        with pytest.raises(InfraError, match="createTarget") as failure:
            await driver.open_in_new_tab(link.node_ref)
        assert failure.value.stop is StopReason.INFRA_BROWSER
        await assert_heals(driver)


def test_no_method_of_the_driver_lets_an_error_of_the_browser_out():
    names = {
        name for name, member in vars(PageDriver).items() if inspect.iscoroutinefunction(member)
    }
    for name in names - {"close"}:  # which calls nothing in the browser
        assert hasattr(getattr(ChromiumDriver, name), "__wrapped__"), name


async def test_an_old_browser_is_replaced_at_reset():
    config = BrowserConfig(episodes_per_browser=2)
    async with running(config) as driver:
        first = driver.browser_pid
        await driver.reset(site())
        assert driver.browser_pid == first
        await driver.reset(site())
        assert driver.browser_pid != first
        assert (await driver.open(url("/"))).reason == "ok"


@pytest.mark.parametrize("blow", [None, signal.SIGKILL, signal.SIGSTOP])
async def test_close_leaves_no_process_no_folder_and_no_port(blow):
    others = own_processes()
    driver = ChromiumDriver(CONFIG, max_elements=50)
    await driver.start()
    await driver.reset(site())
    port = driver.site_port
    assert len(own_processes()) > len(others)
    assert process_folder().is_dir()
    if blow is not None:
        os.kill(driver.browser_pid, blow)
    await driver.close()
    await driver.close()
    assert own_processes() == others
    assert not process_folder().exists()
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_browser_that_does_not_start_is_reported_and_leaves_nothing(tmp_path):
    fake = tmp_path / "chromium"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    driver = ChromiumDriver(BrowserConfig(executable=str(fake)), max_elements=50)
    others = own_processes()
    with pytest.raises(InfraError) as failure:
        await driver.start()
    assert failure.value.stop is StopReason.INFRA_BROWSER
    assert own_processes() == others
    assert not process_folder().exists()
