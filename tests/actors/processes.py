# SPDX-License-Identifier: Apache-2.0
"""Finding the processes of a run."""

from __future__ import annotations

import psutil


def browser_of(rollout_pid: int) -> psutil.Process | None:
    """The main process of the actor's browser; its helpers have a `--type`."""
    for process in psutil.Process(rollout_pid).children(recursive=True):
        line = process.cmdline()
        is_helper = any(argument.startswith("--type") for argument in line)
        if any(argument.startswith("--user-data-dir") for argument in line) and not is_helper:
            return process
    return None
