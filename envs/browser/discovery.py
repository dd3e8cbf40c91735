# SPDX-License-Identifier: Apache-2.0
"""Finds a Chromium to run: setting, environment, Playwright's own build, then installed ones.

Chromium comes in two builds. The headless shell has no window around its pages, so that a page
costs a third less processor time; it is preferred where nothing has to be shown.
"""

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
_INSTALLED_SHELLS = ("/usr/lib/chromium/chromium-headless-shell",)
_SHELL_NAMES = ("chromium-headless-shell", "chrome-headless-shell")
# Beside the folder chromium-VERSION of Playwright's own build.
_PLAYWRIGHT_SHELLS = "chromium_headless_shell-{}/*/*headless*shell"
_NAMES_ON_PATH = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


class BrowserNotFoundError(RuntimeError):
    """There is no Chromium on this machine; the message names the fixes."""


def find_browser(
    setting: str = "",
    *,
    environment: Mapping[str, str] = os.environ,
    playwright_executable: str | None = None,
    installed: tuple[str, ...] = _INSTALLED,
    shells: tuple[str, ...] = (),
) -> str:
    """Path of the browser to launch.

    `setting` (`env.browser.executable`) and FORAGERL_BROWSER are taken at their word: if one is
    given and is not an executable file, that is an error and not a reason to look further.
    `playwright_executable` is where the running Playwright keeps its own build, if known. `shells`,
    what `headless_shells` finds, come before every other browser that nobody named.

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
    candidates = [*shells]
    candidates += [playwright_executable] if playwright_executable else []
    candidates += installed
    for candidate in candidates:
        if _is_executable(candidate):
            return candidate
    for name in _NAMES_ON_PATH:
        found = shutil.which(name, path=environment.get("PATH", ""))
        if found:
            return found
    raise BrowserNotFoundError(
        "expected a Chromium, got none; run `python -m envs.browser.install`, or install one "
        "(`playwright install chromium`, `apt-get install chromium`), or name one with "
        f"{ENVIRONMENT_VARIABLE}=/path/to/chromium or env.browser.executable"
    )


def headless_shells(
    playwright_executable: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    installed: tuple[str, ...] = _INSTALLED_SHELLS,
) -> tuple[str, ...]:
    """Headless shells of this machine: Playwright's own, installed ones, then those on the path."""
    found: list[str] = []
    for folder in Path(playwright_executable or "").parents:
        name, _, version = folder.name.partition("-")
        if name == "chromium" and version:
            shells = folder.parent.glob(_PLAYWRIGHT_SHELLS.format(version))
            found += sorted(str(path) for path in shells)
    on_path = (shutil.which(name, path=environment.get("PATH", "")) for name in _SHELL_NAMES)
    candidates = (*found, *installed, *(path for path in on_path if path))
    return tuple(path for path in candidates if _is_executable(path))


def is_headless_shell(executable: str) -> bool:
    """Whether a browser is the build without windows, by its name."""
    return Path(executable).name in (*_SHELL_NAMES, "headless_shell")


def _is_executable(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)
