# SPDX-License-Identifier: Apache-2.0
"""Which browser is found, how it is started, and what becomes of profiles of dead processes."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from envs.browser import profile
from envs.browser.cdp import CdpConnection
from envs.browser.discovery import (
    BrowserNotFoundError,
    find_browser,
    headless_shells,
    is_headless_shell,
)
from envs.browser.launch import LaunchedBrowser, command_line
from envs.browser.tab import Tab
from envs.config import BrowserConfig
from envs.driver import InfraError


def program(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_search_takes_setting_then_variable_then_playwright_then_installed_then_path(tmp_path):
    names = ("setting", "variable", "playwright", "installed", "chromium")
    setting, variable, bundled, installed, on_path = (program(tmp_path, n) for n in names)
    environment = {"FORAGERL_BROWSER": variable, "PATH": str(tmp_path)}
    rest = {"playwright_executable": bundled, "installed": (installed,)}
    assert find_browser(setting, environment=environment, **rest) == setting
    assert find_browser("", environment=environment, **rest) == variable
    environment["FORAGERL_BROWSER"] = ""
    assert find_browser("", environment=environment, **rest) == bundled
    rest["playwright_executable"] = str(tmp_path / "missing")
    assert find_browser("", environment=environment, **rest) == installed
    rest["installed"] = ()
    assert find_browser("", environment=environment, **rest) == on_path


def test_a_named_browser_that_is_missing_is_an_error_and_no_reason_to_look_further(tmp_path):
    good = (program(tmp_path, "installed"),)
    with pytest.raises(BrowserNotFoundError, match="FORAGERL_BROWSER"):
        find_browser("", environment={"FORAGERL_BROWSER": "/no/such"}, installed=good)
    with pytest.raises(BrowserNotFoundError, match=r"env\.browser\.executable"):
        find_browser("/no/such", environment={}, installed=good)


def test_headless_shells_come_before_every_browser_that_nobody_named(tmp_path):
    on_path = program(tmp_path, "chromium-headless-shell")
    installed = program(tmp_path, "installed-shell")
    folders = [tmp_path / "chromium-7", tmp_path / "chromium_headless_shell-7" / "linux"]
    for folder in folders:
        folder.mkdir(parents=True)
    bundled, own = program(folders[0], "chrome"), program(folders[1], "chrome-headless-shell")
    environment = {"PATH": str(tmp_path)}
    shells = headless_shells(bundled, environment=environment, installed=(installed,))
    assert shells == (own, installed, on_path)
    assert headless_shells(bundled, environment={}, installed=("/no/such",)) == (own,)
    assert headless_shells(environment={"PATH": "/no"}, installed=()) == ()
    rest = {"playwright_executable": bundled, "installed": (), "shells": shells}
    assert find_browser("", environment={}, **rest) == own
    named = program(tmp_path, "named")
    assert find_browser(named, environment={}, **rest) == named
    assert find_browser("", environment={"FORAGERL_BROWSER": named}, **rest) == named
    assert all(map(is_headless_shell, (own, on_path)))
    assert not is_headless_shell(bundled)


def test_no_browser_at_all_is_an_error_that_names_the_fixes(tmp_path):
    with pytest.raises(BrowserNotFoundError) as error:
        find_browser("", environment={"PATH": str(tmp_path)}, installed=())
    for fix in ("envs.browser.install", "playwright install", "apt-get", "FORAGERL_BROWSER"):
        assert fix in str(error.value)


def test_the_command_line_disables_features_once_and_maps_only_the_sites():
    flags = command_line(BrowserConfig(), profile=Path("/p"), site_port=1234)
    disabled = [f for f in flags if f.startswith("--disable-features")]
    assert len(disabled) == 1
    for feature in ("WebUIOmniboxPopup", "site-per-process", "HttpsUpgrades", "PaintHolding"):
        assert feature in disabled[0].removeprefix("--disable-features=").split(",")
    names = [f.partition("=")[0] for f in flags]
    assert len(names) == len(set(names))
    rules = next(f for f in flags if f.startswith("--host-resolver-rules="))
    assert rules.endswith("MAP *.forage.test 127.0.0.1:1234, MAP * ~NOTFOUND")
    assert "--user-data-dir=/p" in flags


def test_with_a_proxy_nothing_resolves_but_the_proxy_and_loopback_goes_through_it_too():
    flags = command_line(BrowserConfig(), profile=Path("/p"), site_port=1234, proxy_port=5678)
    assert "--proxy-server=http://egress.invalid:5678" in flags
    assert "--proxy-bypass-list=<-loopback>" in flags
    rules = next(f for f in flags if f.startswith("--host-resolver-rules="))
    assert rules.endswith("=MAP egress.invalid 127.0.0.1:5678, MAP * ~NOTFOUND")
    names = [f.partition("=")[0] for f in flags]
    assert len(names) == len(set(names))
    without = command_line(BrowserConfig(), profile=Path("/p"), site_port=1234)
    assert not any("proxy" in f.partition("=")[0] for f in without)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_running_browser_has_the_flags_once(driver):
    command = psutil.Process(driver.browser_pid).cmdline()
    for flag in ("--disable-features=", "--host-resolver-rules=", "--user-data-dir="):
        assert sum(argument.startswith(flag) for argument in command) == 1


def test_profiles_of_dead_processes_are_swept_and_those_of_the_living_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(profile.tempfile, "tempdir", str(tmp_path))
    mine = profile.make_profile()
    assert mine.stat().st_mode & 0o777 == 0o700
    script = "from envs.browser.profile import make_profile; print(make_profile())"
    dead = subprocess.run(
        [sys.executable, "-c", script],
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    used_again = profile.profiles_root() / f"{psutil.Process().pid}-1"
    used_again.mkdir()
    assert set(profile.sweep_dead_profiles()) == {Path(dead).parent, used_again}
    assert not Path(dead).exists()
    assert mine.is_dir()
    profile.remove_profile(mine)
    assert not profile.profiles_root().exists()


def test_the_installer_reports_the_browser_it_finds(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "envs.browser.install"],
        env={"FORAGERL_BROWSER": program(tmp_path, "mine"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, str(tmp_path / "mine") in done.stdout) == (0, True)


def test_a_frozen_browser_whose_process_is_gone_is_ended_by_the_sweep(tmp_path, monkeypatch):
    monkeypatch.setattr(profile.tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    owner = profile.profiles_root() / f"{gone.pid}-1"
    gone.wait()
    folder = owner / "profile-x"
    folder.mkdir(parents=True)
    other = tmp_path / "profile-x"
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    frozen = subprocess.Popen([*sleep, f"--user-data-dir={folder}"])
    stranger = subprocess.Popen([*sleep, f"--user-data-dir={other}"])
    try:
        frozen.send_signal(signal.SIGSTOP)
        assert profile.sweep_dead_profiles() == [owner]
        frozen.wait(timeout=5)
        assert stranger.poll() is None
        assert not owner.exists()
    finally:
        for process in (frozen, stranger):
            process.kill()
            process.wait()


def test_profiles_of_a_process_that_is_about_to_die_are_swept_once_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(profile.tempfile, "tempdir", str(tmp_path))
    script = "from envs.browser.profile import make_profile; make_profile(); print(); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        assert profile.sweep_profiles_of([owner.pid], timeout_s=0.1) == []
        ending = threading.Timer(0.2, owner.kill)  # nobody reaps it yet: it stays as a zombie
        ending.start()
        [swept] = profile.sweep_profiles_of([owner.pid], timeout_s=30.0)
        assert swept.name.startswith(f"{owner.pid}-")
        ending.join()


async def test_a_browser_that_freezes_while_it_comes_up_leaves_neither_process_nor_folder(tmp_path):
    fake = tmp_path / "chromium"
    fake.write_text("#!/bin/sh\nkill -STOP $$\n")
    fake.chmod(0o755)
    browser = LaunchedBrowser(BrowserConfig(executable=str(fake), launch_timeout_s=3.0))
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    profiles = set(profile.profiles_root().glob("*/*"))
    with pytest.raises(InfraError, match="did not start"):
        await browser.start(1)
    left = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not [p.cmdline() for p in left if p.status() != psutil.STATUS_ZOMBIE]
    mine = set(profile.process_folder().glob("*"))
    assert mine <= profiles


async def test_a_wait_that_is_cancelled_in_the_moment_it_is_over_ends():
    connection = CdpConnection(call_timeout_s=60.0)
    tab = Tab(connection, BrowserConfig(), target_id="t", session="s")
    connection._is_open = True  # nothing to connect to is needed to wait
    loop = asyncio.get_running_loop()
    waiting = asyncio.ensure_future(tab.wait_for_change(loop.time() + 60.0))
    await asyncio.sleep(0)
    tab.wake()  # the event and the cancellation arrive in the same turn of the loop
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_the_end_of_the_document_before_does_not_end_a_navigation_that_was_asked_for():
    connection = CdpConnection(call_timeout_s=60.0)
    tab = Tab(connection, BrowserConfig(), target_id="t", session="s")
    answer = asyncio.get_running_loop().create_future()
    tab.expect_navigation(answer)
    tab.on_event("Page.frameStoppedLoading", {"frameId": "t"})  # late: of the document before
    assert tab.is_navigating
    begun = {"frameId": "t", "navigationType": "differentDocument"}
    tab.on_event("Page.frameStartedNavigating", begun)
    tab.on_event("Page.frameStoppedLoading", {"frameId": "t"})
    assert not tab.is_navigating
