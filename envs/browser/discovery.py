# SPDX-License-Identifier: Apache-2.0
"""Finds a Chromium to run: setting, environment, Playwright's own build, then installed ones."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

ENVIRONMENT_VARIABLE = "FORAGERL_BROWSER"

# Debian's /usr/bin/chromium is a shell script that adds flags of its own: the real binary first.
_INSTALLED = (
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
)
_NAMES_ON_PATH = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


class BrowserNotFoundError(RuntimeError):
    """There is no Chromium on this machine; the message names the fixes."""


def find_browser(
    setting: str = "",
    *,
    environment: Mapping[str, str] = os.environ,
    playwright_executable: str | None = None,
    installed: tuple[str, ...] = _INSTALLED,
) -> str:
    """Path of the browser to launch.

    `setting` (`env.browser.executable`) and FORAGERL_BROWSER are taken at their word: if one is
    given and is not an executable file, that is an error and not a reason to look further.
    `playwright_executable` is where the running Playwright keeps its own build, if known.

    Raises `BrowserNotFoundError`.
    """
    for name, path in (
        ("env.browser.executable", setting),
        (ENVIRONMENT_VARIABLE, environment.get(ENVIRONMENT_VARIABLE, "")),
    ):
        if path:
            if _is_executable(path):
                return path
            raise BrowserNotFoundError(f"{name}: expected an executable file, got {path!r}")
    candidates = [playwright_executable] if playwright_executable else []
    candidates += installed
    for candidate in candidates:
        if _is_executable(candidate):
            return candidate
    for name in _NAMES_ON_PATH:
        found = shutil.which(name, path=environment.get("PATH"))
        if found:
            return found
    raise BrowserNotFoundError(
        "expected a Chromium, got none; run `python -m envs.browser.install`, or install one "
        "(`playwright install chromium`, `apt-get install chromium`), or name one with "
        f"{ENVIRONMENT_VARIABLE}=/path/to/chromium or env.browser.executable"
    )


def _is_executable(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)
