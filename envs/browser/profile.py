# SPDX-License-Identifier: Apache-2.0
"""Profile folders: one per browser, private, and swept when the process that made it is gone.

Layout: <temporary folder>/foragerl-browsers-<uid>/<pid>-<start time>/profile-XXXX. The name of the
per-process folder says who owns it, so no owner file can be missing or half written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

import psutil

_ROOT_NAME = "foragerl-browsers"
_PROFILE_FLAG = "--user-data-dir="
DRIVER_ARGUMENT = "run-driver"  # of Playwright's node
_KILL_TIMEOUT_S = 2.0
_POLL_S = 0.05


def profiles_root() -> Path:
    """Folder that holds the folders of every process on this machine that runs browsers."""
    return Path(tempfile.gettempdir()) / f"{_ROOT_NAME}-{os.getuid()}"


def process_folder() -> Path:
    """Folder of this process; exists only while it has a browser."""
    return profiles_root() / _owner_name(psutil.Process())


def make_profile() -> Path:
    """A new empty profile folder (0700) of this process."""
    folder = process_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="profile-", dir=folder))


def remove_profile(profile: Path) -> None:
    """Remove a profile folder, and the process's folder with the last one; never raises."""
    shutil.rmtree(profile, ignore_errors=True)
    for parent in (profile.parent, profile.parent.parent):
        try:
            parent.rmdir()
        except OSError:
            return


def browsers_of(folder: Path) -> list[psutil.Process]:
    """Processes whose profile is `folder` or lies in it, and the drivers that started them."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            flags = [a for a in process.cmdline() if a.startswith(_PROFILE_FLAG)]
            places = [Path(flag.removeprefix(_PROFILE_FLAG)) for flag in flags]
            if not any(place == folder or folder in place.parents for place in places):
                continue
            parent = process.parent()
            if parent is not None and DRIVER_ARGUMENT in parent.cmdline():
                found[parent.pid] = parent
            found[process.pid] = process
    return list(found.values())


def sweep_dead_profiles() -> list[Path]:
    """End the browsers of processes that are gone and remove their folders; returns those.

    A browser notices that its process is gone, but not while it is frozen.
    """
    root = profiles_root()
    swept = []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        if not _owner_is_alive(folder.name):
            browsers = browsers_of(folder)
            for browser in browsers:
                with contextlib.suppress(psutil.Error):
                    browser.kill()
            psutil.wait_procs(browsers, timeout=_KILL_TIMEOUT_S)
            shutil.rmtree(folder, ignore_errors=True)
            swept.append(folder)
    return swept


def sweep_profiles_of(pids: Collection[int], timeout_s: float) -> list[Path]:
    """Sweep once processes that have just been killed are gone, or after `timeout_s`."""
    root, until_s = profiles_root(), time.monotonic() + timeout_s
    while time.monotonic() < until_s and any(
        folder.name.partition("-")[0] in map(str, pids) and _owner_is_alive(folder.name)
        for folder in (root.iterdir() if root.is_dir() else ())
    ):
        time.sleep(_POLL_S)
    return sweep_dead_profiles()


def _owner_name(process: psutil.Process) -> str:
    """Pids are used again; with the start time (centiseconds) the name is unique."""
    return f"{process.pid}-{round(process.create_time() * 100)}"


def _owner_is_alive(name: str) -> bool:
    pid = name.partition("-")[0]
    if not pid.isdigit():
        return True  # not one of ours
    try:
        owner = psutil.Process(int(pid))
        # A zombie is gone: its parent only has to notice.
        return _owner_name(owner) == name and owner.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
