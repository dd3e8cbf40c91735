# SPDX-License-Identifier: Apache-2.0
"""The way into the command line from a script; says so where the packages are missing.

Imports nothing but the standard library before it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

_OURS = frozenset("actors agent conf envs learner reward_server".split())


def run(arguments: Sequence[str]) -> int:
    """Run `foragerl` with these arguments; its exit code, or 1 where a package is missing."""
    try:
        from actors.cli import main

        return main(arguments)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in _OURS:
            raise
    sys.stderr.write(
        f"error: {sys.executable} has no package {name!r}; `make setup` installs all packages into "
        ".venv, `. .venv/bin/activate` enters it\n"
    )
    return 1
