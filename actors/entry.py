# SPDX-License-Identifier: Apache-2.0
"""The way into the command line from a script; says so where the packages are missing.

Imports nothing but the standard library before it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

# What the project's own packages import, by the names that Python knows them by.
_NEEDED = frozenset(
    "PIL aiohttp bm25s cv2 gymnasium hydra lxml markdown_it numpy omegaconf orjson playwright "
    "psutil ray rich torch torchvision wandb wordllama".split()
)


def run(arguments: Sequence[str]) -> int:
    """Run `foragerl` with these arguments; its exit code, or 1 where a package is missing."""
    try:
        from actors.cli import main

        return main(arguments)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _NEEDED:
            raise
    sys.stderr.write(
        f"error: {sys.executable} has no package {name!r}; `make setup` installs all packages into "
        ".venv, `. .venv/bin/activate` enters it\n"
    )
    return 1
