# SPDX-License-Identifier: Apache-2.0
"""The way into the command line from a script; says so where the packages are missing.

Imports nothing but the standard library before it is called.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_OURS = frozenset("actors agent conf envs learner reward_server".split())


def run(arguments: Sequence[str]) -> int:
    """Run `foragerl` with these arguments; its exit code, or 1 where a package is missing."""
    try:
        from actors.cli import main

        return main(arguments)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in _OURS or not _is_asked_for_by_us(error):
            raise
    sys.stderr.write(
        f"error: {sys.executable} has no package {name!r}; `make setup` installs all packages into "
        ".venv, `. .venv/bin/activate` enters it\n"
    )
    return 1


def _is_asked_for_by_us(error: ModuleNotFoundError) -> bool:
    """Whether one of our own files imports what is missing, and not a file of the user's."""
    files = [
        frame.filename
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename
    ]
    asking = Path(files[-1]).resolve()
    return asking.is_relative_to(_ROOT) and asking.relative_to(_ROOT).parts[0] in _OURS
