# SPDX-License-Identifier: Apache-2.0
"""`python -m envs.browser.install`: make sure that there is a Chromium, and say what was done.

Where there is one already, its headless shell is tried for as well: episodes are faster with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from envs.browser.discovery import (
    ENVIRONMENT_VARIABLE,
    BrowserNotFoundError,
    find_browser,
    headless_shells,
    is_headless_shell,
)

_INSTALL_TIMEOUT_S = 900.0
_SHELL_TIMEOUT_S = 180.0  # for what is not needed
_PACKAGES = ("chromium", "fonts-noto-cjk")
_SHELL_PACKAGE = "chromium-headless-shell"  # Debian has it, Ubuntu has not


def main() -> int:
    """Exit status: 0 when there is a browser at the end."""
    found = _find()
    if found:
        _say(f"browser: {_with_shell(found)}")
        return 0
    if _is_named():
        _say("the browser that was named is not there; nothing was installed")
        return 1
    for what, commands in _ways():
        _say(f"no browser yet; trying: {what}")
        if all(_run(command) for command in commands):
            found = _find()
            if found:
                _say(f"browser: {_with_shell(found)}")
                return 0
    _say(
        "no browser could be installed; do one of these by hand: "
        "`playwright install --with-deps chromium`; "
        f"as root `apt-get install {' '.join(_PACKAGES)}`; "
        f"or set {ENVIRONMENT_VARIABLE} to the path of a Chromium"
    )
    return 1


def _ways() -> list[tuple[str, list[list[str]]]]:
    """Ways to install, best first; those that cannot work here are left out."""
    ways = [
        (
            "playwright install chromium",
            [[sys.executable, "-m", "playwright", "install", "chromium"]],
        )
    ]
    if _has_apt():
        packages = " ".join(_PACKAGES)
        ways.append(
            (
                f"apt-get install {packages}",
                [["apt-get", "update"], ["apt-get", "install", "-y", *_PACKAGES]],
            )
        )
    return ways


def _with_shell(found: str) -> str:
    """The browser to use: the headless shell if it can be had, else the one found."""
    if is_headless_shell(found) or _is_named() or not _has_apt():
        return found
    _say(f"trying for the headless shell, with which episodes are faster: {_SHELL_PACKAGE}")
    commands = (["apt-get", "update"], ["apt-get", "install", "-y", _SHELL_PACKAGE])
    if not all(_run(command, timeout_s=_SHELL_TIMEOUT_S) for command in commands):
        _say("there is none; the browser that was found does the same, more slowly")
    return _find() or found


def _has_apt() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _is_named() -> bool:
    return bool(os.environ.get(ENVIRONMENT_VARIABLE))


def _find() -> str:
    """The browser that an env would use, or ""."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        bundled = playwright.chromium.executable_path
    try:
        return find_browser(playwright_executable=bundled, shells=headless_shells(bundled))
    except BrowserNotFoundError as error:
        _say(str(error))
        return ""


def _run(command: Sequence[str], *, timeout_s: float = _INSTALL_TIMEOUT_S) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(command, check=True, timeout=timeout_s, env=environment)
    except (OSError, subprocess.SubprocessError) as error:
        _say(f"that failed: {error}")
        return False
    return True


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
