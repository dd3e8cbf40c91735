# SPDX-License-Identifier: Apache-2.0
"""What a person sees while a run goes on: on a real pseudo-terminal, and without one."""

from __future__ import annotations

import io
import logging
import os
import pty
import re
from collections.abc import Iterator

import pytest
from rich.console import Console

from actors.live import terminal_handler, view
from actors.progress import Progress

PROGRESS = Progress(
    env_steps=1200,
    max_env_steps=6000,
    episodes=90,
    policy_version=3,
    env_steps_per_s=9.5,
    success=0.4,
    success_by_kind={"look_up": 0.5, "two_hop": 0.25},
    lag_mean=0.8,
    lag_max=2,
    rollout_idle=0.05,
    learner_idle=0.6,
    restarts=1,
    memory_gb=2.4,
    left_s=505.0,
    waits={"learner": "8 ready groups"},
    queue_bytes=2_500_000,
    held_out={"untrained": 0.03, "oracle": 1.0},
    alarms=("entropy has collapsed",),
)
SHOWN = (
    "1200/6000",
    "9.5 steps/s",
    "8:25",
    "40%",
    "look up 50%",
    "two hop 25%",
    "untrained 3%",
    "oracle 100%",
    "lag 0.8 (max 2)",
    "rollouts 5%",
    "learner 60%",
    "queues 2.5 MB",
    "memory 2.4 GB",
    "restarts 1",
    "learner for 8 ready groups",
    "entropy has collapsed",
)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, io.TextIOWrapper]]:
    """The two ends of a pseudo-terminal: what a person reads, and what a program writes to."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    reading, writing = pty.openpty()
    stream = os.fdopen(writing, "w", encoding="utf-8")
    yield reading, stream
    stream.close()
    os.close(reading)


def record(text: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("a", logging.INFO, "f", 1, text, None, None)
    made.__dict__.update(extra)
    return made


def read_all(reading: int) -> str:
    os.set_blocking(reading, False)
    chunks = []
    try:
        while chunk := os.read(reading, 65536):
            chunks.append(chunk)
    except BlockingIOError:
        pass
    return b"".join(chunks).decode()


def test_the_view_shows_everything_a_person_asks_for():
    console = Console(file=io.StringIO(), width=110, force_terminal=False)
    console.print(view(PROGRESS))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert [what for what in SHOWN if what not in text] == []


def test_the_view_fits_a_narrow_terminal():
    console = Console(file=io.StringIO(), width=60, force_terminal=False)
    console.print(view(PROGRESS))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 60


def test_on_a_terminal_progress_is_redrawn_and_other_lines_stay(
    terminal: tuple[int, io.TextIOWrapper],
):
    reading, stream = terminal
    handler = terminal_handler(stream)
    handler.emit(record("starting [bold]up"))
    for _ in range(3):
        handler.emit(record(PROGRESS.line(), progress=PROGRESS))
    handler.emit(record("an event"))
    handler.close()
    raw = read_all(reading)
    assert "\x1b[1A" in raw, "the cursor goes up to redraw"
    assert raw.rindex("\x1b[?25h") > raw.rindex("\x1b[?25l"), "the cursor comes back"
    text = _ESCAPE.sub("", raw)
    assert "starting [bold]up" in text, "text is not taken for markup"
    assert text.count("an event") == 1
    assert [what for what in SHOWN if what not in text] == []
    assert PROGRESS.line() not in text
    handler.close()


def test_without_a_terminal_progress_is_a_plain_line():
    stream = io.StringIO()
    handler = terminal_handler(stream)
    handler.emit(record(PROGRESS.line(), progress=PROGRESS))
    line = stream.getvalue()
    assert line == PROGRESS.line() + "\n" and "\x1b" not in line
    for what in ("1200/6000", "9.5 steps/s", "queues 2.5 MB", "left 8:25", "ALARM entropy"):
        assert what in line
