# SPDX-License-Identifier: Apache-2.0
"""Profile folders: one per browser, private, and swept when the process that made it is gone.

Layout: <temporary folder>/foragerl-browsers-<uid>/<pid>-<start time>/profile-XXXX. The name of the
per-process folder says who owns it, so no owner file can be missing or half written.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil

_ROOT_NAME = "foragerl-browsers"


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


def sweep_dead_profiles() -> list[Path]:
    """Remove the folders of processes that are gone; returns them."""
    root = profiles_root()
    swept = []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        if not _owner_is_alive(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
            swept.append(folder)
    return swept


def _owner_name(process: psutil.Process) -> str:
    """Pids are used again; with the start time (centiseconds) the name is unique."""
    return f"{process.pid}-{round(process.create_time() * 100)}"


def _owner_is_alive(name: str) -> bool:
    pid = name.partition("-")[0]
    if not pid.isdigit():
        return True  # not one of ours
    try:
        return _owner_name(psutil.Process(int(pid))) == name
    except psutil.NoSuchProcess:
        return False
