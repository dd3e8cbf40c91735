# SPDX-License-Identifier: Apache-2.0
"""Starts one Chromium through Playwright and ends it, whatever state it or Playwright is in.

Playwright keeps the process: it launches with a pipe, and Chromium exits when that pipe closes,
so a killed env leaves no browser. Pages live in browser contexts that Playwright does not know and
therefore lets go of; they are driven over `envs.browser.cdp`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from pathlib import Path

import psutil
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Playwright, async_playwright

from envs.browser.discovery import find_browser, headless_shells
from envs.browser.profile import (
    DRIVER_ARGUMENT,
    browsers_of,
    make_profile,
    remove_profile,
    sweep_dead_profiles,
)
from envs.config import BrowserConfig
from envs.driver import InfraError
from envs.site import HOST_SUFFIX
from envs.types import StopReason

_LOG = logging.getLogger(__name__)

_CLOSE_TIMEOUT_S = 3.0
_KILL_TIMEOUT_S = 5.0
_KILL_POLL_S = 0.01
_PORT_FILE = "DevToolsActivePort"

# One flag only: a second --disable-features silently replaces the first.
_DISABLED_FEATURES = (
    # As in Playwright 1.65.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    # A renderer of its own for pop-ups that nobody sees.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    # One process per page, so that one snapshot holds every frame; the profile is thrown away and
    # holds no credentials.
    "IsolateOrigins",
    "site-per-process",
    "IsolateSandboxedIframes",
    "Translate",
    # A frame of its own for every document of one site: a fifth of what a navigation costs.
    "RenderDocument",
)
# Playwright 1.65's defaults, spelled out so that another Playwright changes nothing, without
# --disable-popup-blocking: pop-ups that no click asked for stay blocked.
_FLAGS = (
    "--disable-field-trial-config",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-back-forward-cache",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--no-default-browser-check",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies",
    "--allow-pre-commit-input",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-prompt-on-repost",
    "--disable-renderer-backgrounding",
    "--force-color-profile=srgb",
    "--metrics-recording-only",
    "--no-first-run",
    "--password-store=basic",
    "--use-mock-keychain",
    "--no-service-autorun",
    "--export-tagged-pdf",
    "--disable-search-engine-choice-screen",
    "--unsafely-disable-devtools-self-xss-warnings",
    "--disable-infobars",
    "--disable-sync",
    "--disable-quic",
    # WebRTC sends to addresses, past resolver and proxy. The shell knows the first of these flags,
    # the browser the second.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-smooth-scrolling",
    "--disable-site-isolation-trials",
    "--no-startup-window",
    "--remote-debugging-pipe",
    "--remote-debugging-port=0",
)
# A name that only the browser's own rules resolve: no exception for loopback is needed.
_PROXY_HOST = "egress.invalid"
_PROXY_LOOPBACK = "--proxy-bypass-list=<-loopback>"  # loopback goes through the proxy, too
_HEADLESS_FLAGS = (
    "--headless",
    "--hide-scrollbars",
    "--font-render-hinting=none",  # the headless shell's default is another than the browser's
    "--kiosk",  # no toolbar to lay out and paint with every page
    "--mute-audio",
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,"
    "primaryPointerType=4,availablePointerTypes=4",
)


def command_line(
    config: BrowserConfig, *, profile: Path, site_port: int, proxy_port: int = 0
) -> list[str]:
    """Every flag of the browser.

    Only hosts of sites resolve, to the site server; loopback does not resolve either, so that a
    page reaches neither this machine's services nor the debugging port. With a proxy (its port is
    not 0) nothing resolves but the proxy, and everything goes through it, loopback included.
    """
    reachable = (
        f"{_PROXY_HOST} 127.0.0.1:{proxy_port}"
        if proxy_port
        else f"*{HOST_SUFFIX} 127.0.0.1:{site_port}"
    )
    rules = f"MAP {reachable}, MAP * ~NOTFOUND"
    flags = [*_FLAGS, f"--disable-features={','.join(_DISABLED_FEATURES)}"]
    if config.headless:
        flags += _HEADLESS_FLAGS
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium's sandbox refuses to start as root
    if proxy_port:
        flags += [f"--proxy-server=http://{_PROXY_HOST}:{proxy_port}", _PROXY_LOOPBACK]
    return [
        *flags,
        f"--host-resolver-rules={rules}",
        f"--window-size={config.viewport_width_px},{config.viewport_height_px}",
        f"--user-data-dir={profile}",
    ]


class LaunchedBrowser:
    """A running Chromium, the Playwright that keeps it, and its profile folder."""

    def __init__(self, config: BrowserConfig) -> None:
        self._config = config
        self._playwright: Playwright | None = None
        self._node_pid = 0
        self._profile: Path | None = None
        self.browser_pid = 0  # 0 while there is none
        self.devtools_url = ""

    async def start(self, site_port: int, proxy_port: int = 0) -> None:
        """Launch; raises `InfraError`, or `BrowserNotFoundError` when there is no Chromium."""
        for folder in await asyncio.to_thread(sweep_dead_profiles):
            _LOG.info("removed the profiles of a dead process: %s", folder)
        try:
            async with asyncio.timeout(self._config.launch_timeout_s):
                await self._start(site_port, proxy_port)
        except (PlaywrightError, OSError, TimeoutError, psutil.Error) as error:
            await self.close()
            raise InfraError(
                StopReason.INFRA_BROWSER, f"the browser did not start: {error!r}"
            ) from error
        except BaseException:
            await self.close()
            raise

    async def _start(self, site_port: int, proxy_port: int) -> None:
        drivers = _drivers()
        try:
            self._playwright = await async_playwright().start()
        finally:  # one that hangs here must be ended by its pid
            self._node_pid = _only(_drivers() - drivers)
        bundled = self._playwright.chromium.executable_path
        executable = find_browser(
            self._config.executable,
            playwright_executable=bundled,
            shells=headless_shells(bundled) if self._config.headless else (),
        )
        self._profile = make_profile()
        flags = command_line(
            self._config, profile=self._profile, site_port=site_port, proxy_port=proxy_port
        )
        await self._playwright.chromium.launch(
            executable_path=executable,
            args=flags,
            ignore_default_args=True,  # `command_line` is the whole of it
            headless=self._config.headless,
            artifacts_dir=self._profile / "artifacts",
            # A signal to the process group is the env's to handle: it saves first, then closes.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=self._config.launch_timeout_s * 1000,
        )
        self.browser_pid, self._node_pid = _find_browser(self._profile)
        self.devtools_url = _devtools_url(self._profile)

    async def close(self) -> None:
        """End every process and remove the profile; safe after any crash, and to call twice."""
        pid, self.browser_pid = self.browser_pid, 0
        playwright, self._playwright = self._playwright, None
        node_pid, self._node_pid = self._node_pid, 0
        profile, self._profile = self._profile, None
        self.devtools_url = ""
        family = await asyncio.to_thread(_family, node_pid, pid)
        if profile is not None and not pid:  # it was still coming up
            family += await asyncio.to_thread(browsers_of, profile)
        # Nothing in the profile is worth a graceful exit, and a frozen browser has none.
        _kill_group(pid)
        if playwright is not None:
            with contextlib.suppress(PlaywrightError, OSError, TimeoutError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                    await playwright.stop()
        await asyncio.to_thread(_end_all, family)
        if profile is not None:
            await asyncio.to_thread(remove_profile, profile)


def _find_browser(profile: Path) -> tuple[int, int]:
    """Pids of the browser's main process and of its parent, Playwright's node driver."""
    flag = f"--user-data-dir={profile}"
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()
            if flag in command and not any(a.startswith("--type=") for a in command):
                return process.pid, process.ppid()
    raise OSError(f"expected a browser with {flag} below this process, got none")


def _drivers() -> set[int]:
    """Pids of the Playwright drivers of this process."""
    found = set()
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if DRIVER_ARGUMENT in process.cmdline():
                found.add(process.pid)
    return found


def _only(pids: set[int]) -> int:
    """The one pid; 0 when others came up at the same moment, so that it is not known yet."""
    return pids.pop() if len(pids) == 1 else 0


def _devtools_url(profile: Path) -> str:
    port, path = (profile / _PORT_FILE).read_text().split("\n")[:2]
    return f"ws://127.0.0.1:{port}{path}"


def _family(*pids: int) -> list[psutil.Process]:
    """The processes and all below them; taken before a parent dies and its children move."""
    found: dict[int, psutil.Process] = {}
    for pid in pids:
        if pid:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                for member in (*process.children(recursive=True), process):
                    found[member.pid] = member
    return list(found.values())


def _kill_group(pid: int) -> None:
    """Kill the browser with its helpers; Playwright made it the leader of a group of its own."""
    if not pid:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)


def _end_all(family: list[psutil.Process]) -> None:
    """Kill what is left and wait until it is gone."""
    for process in family:
        with contextlib.suppress(psutil.Error):
            process.kill()  # psutil compares start times: a pid used again is left alone
    deadline_s = time.monotonic() + _KILL_TIMEOUT_S
    alive = [p for p in family if _is_alive(p)]
    while alive and time.monotonic() < deadline_s:
        time.sleep(_KILL_POLL_S)
        alive = [p for p in alive if _is_alive(p)]
    if alive:
        _LOG.error("processes that survived SIGKILL: %s", [p.pid for p in alive])


def _is_alive(process: psutil.Process) -> bool:
    """A zombie is gone: its parent, often an init that takes its time, only has to notice."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
