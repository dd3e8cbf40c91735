# SPDX-License-Identifier: Apache-2.0
"""The live view of a run on a terminal; elsewhere the same as plain lines.

A logging handler: whoever reports progress logs `Progress.line()` with the `Progress` itself as the
record's attribute `progress`. On a terminal such a record redraws the view at the bottom, and all
others are printed above it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import IO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors.progress import Progress

RECORD_ATTRIBUTE = "progress"
_BAR_WIDTH = 24
_BYTES_PER_MB = 1e6


def terminal_handler(stream: IO[str]) -> logging.Handler:
    """A handler for `stream`: the live view on a terminal, plain lines elsewhere."""
    is_terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return LiveHandler(stream) if is_terminal else logging.StreamHandler(stream)


class LiveHandler(logging.Handler):
    """Shows the latest progress at the bottom of a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self._console = Console(file=stream, force_terminal=True, highlight=False)
        self._live: Live | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Redraw the view, or print a line above it."""
        try:
            progress = getattr(record, RECORD_ATTRIBUTE, None)
            if progress is None:
                self._console.print(Text(self.format(record)))
                return
            if self._live is None:
                # Redrawn with each report only: a thread that redraws would take a core's time.
                self._live = Live(
                    console=self._console,
                    auto_refresh=False,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                self._live.start()
            self._live.update(view(progress), refresh=True)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Leave the last view on the screen and give the cursor back; safe to call twice."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()
        super().close()


def view(progress: Progress) -> RenderableType:
    """What the bottom of the terminal shows."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("steps", _steps(progress))
    grid.add_row("success", _shares(progress.success, progress.success_by_kind))
    if progress.held_out:
        grid.add_row("held-out", _held_out(progress.held_out))
    grid.add_row(
        "policy",
        f"version {progress.policy_version}  lag {progress.lag_mean:.1f} (max {progress.lag_max})  "
        f"{progress.episodes} attempts",
    )
    grid.add_row("idle", _idle(progress))
    grid.add_row(
        "system",
        f"queues {progress.queue_bytes / _BYTES_PER_MB:.1f} MB  "
        f"memory {progress.memory_gb:.1f} GB  "
        f"restarts {progress.restarts}",
    )
    for who, what in progress.waits.items():
        grid.add_row("waits", Text(f"{who} for {what}", style="dim"))
    for alarm in progress.alarms:
        grid.add_row(Text("alarm", style="bold red"), Text(alarm, style="red"))
    return Group(Text(""), grid)


def _steps(progress: Progress) -> RenderableType:
    row = Table.grid(padding=(0, 2))
    done = min(progress.env_steps, progress.max_env_steps)
    row.add_row(
        ProgressBar(total=max(1, progress.max_env_steps), completed=done, width=_BAR_WIDTH),
        f"{progress.env_steps}/{progress.max_env_steps}",
        f"{progress.env_steps_per_s:.1f} steps/s",
        f"left {progress.left()}",
    )
    return row


def _shares(overall: float, by_kind: Mapping[str, float]) -> Text:
    text = Text(f"{overall:.0%}", style="bold")
    for kind, share in by_kind.items():
        text.append(f"  {kind.replace('_', ' ')} {share:.0%}", style="not bold")
    return text


def _held_out(by_name: Mapping[str, float]) -> str:
    return "  ".join(f"{name.replace('_', ' ')} {share:.0%}" for name, share in by_name.items())


def _idle(progress: Progress) -> Text:
    text = Text()
    for name, share in (("rollouts", progress.rollout_idle), ("learner", progress.learner_idle)):
        text.append(f"{name} {share:.0%}  ")
    return text
