# SPDX-License-Identifier: Apache-2.0
"""A job from its start to its end, to an interrupt or to a failure that a person can read."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

EXIT_FAILED, EXIT_USAGE = 1, 2


def supervise(work: Callable[[Callable[[], None]], Coroutine[Any, Any, object]]) -> int:
    """Run a job to its end, to an interrupt or to a failure that a person can read."""
    from actors.interrupts import Interrupts

    interrupts = Interrupts()

    async def supervised() -> None:
        await work(interrupts.install)

    try:
        asyncio.run(supervised())
    except (asyncio.CancelledError, KeyboardInterrupt):
        logger.info("interrupted")
        return interrupts.exit_code() or 130
    except BaseExceptionGroup as group:
        return _report_failure(_first(group))
    except Exception as error:
        return _report_failure(error)
    return 0


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _report_failure(error: BaseException) -> int:
    logger.error("failed: %s", error, exc_info=error if os.environ.get("FORAGERL_TRACE") else None)
    logger.error("set FORAGERL_TRACE=1 to see where")
    return EXIT_FAILED


def log_to(path: Path) -> None:
    """Show on the terminal and keep in the run's folder."""
    form = logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S")
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
    from actors.live import terminal_handler

    for fresh in (terminal_handler(sys.stderr), logging.FileHandler(path, encoding="utf-8")):
        fresh.setFormatter(form)
        root.addHandler(fresh)
    root.setLevel(logging.INFO)


def save_config(path: Path, values: dict[str, Any]) -> None:
    """Write the resolved config as YAML."""
    from omegaconf import OmegaConf

    path.write_text(OmegaConf.to_yaml(OmegaConf.create(values)), encoding="utf-8")
