# SPDX-License-Identifier: Apache-2.0
"""What the controller did when, as a Chrome trace: open it in Perfetto or chrome://tracing.

The format is the JSON array of trace events (one event a line, so that a file cut short by a kill
still opens): https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
Tracks are named; times are microseconds since the run began. The file is bounded: when it is full,
later spans are counted and left out.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from actors.types import Attempt, LostAttempt

_PROCESS = 1
_US_PER_S = 1e6
Arguments = Mapping[str, float | int | str]


class Trace:
    """Spans and counters of one run; `NO_TRACE` keeps none."""

    def __init__(self, path: Path | None, *, limit_bytes: int = 64_000_000) -> None:
        """`path` None makes a trace that writes nothing."""
        self._start_s = time.monotonic()
        self._limit_bytes = limit_bytes
        self._tracks: dict[str, int] = {}
        self._num_bytes = 0
        self.num_left_out = 0
        self._file = path.open("wb", buffering=0) if path is not None else None
        if self._file is not None:
            self._file.write(b"[\n")

    @contextlib.contextmanager
    def span(self, track: str, name: str, arguments: Arguments | None = None) -> Iterator[None]:
        """One span on `track` around a block, an exception included."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            self.add(track, name, began_s, arguments)

    def add(
        self,
        track: str,
        name: str,
        began_s: float,
        arguments: Arguments | None = None,
    ) -> None:
        """A span from `began_s` of the monotonic clock until now."""
        self._write(
            {
                "ph": "X",
                "name": name,
                "pid": _PROCESS,
                "tid": self._track(track),
                "ts": self._us(began_s),
                "dur": self._us(time.monotonic()) - self._us(began_s),
                "args": dict(arguments or {}),
            }
        )

    def count(self, name: str, values: Mapping[str, float]) -> None:
        """Values of a counter from now on."""
        self._write(
            {
                "ph": "C",
                "name": name,
                "pid": _PROCESS,
                "ts": self._us(time.monotonic()),
                "args": dict(values),
            }
        )

    def close(self) -> None:
        """Say what was left out, and end the file; safe to call twice."""
        file, self._file = self._file, None
        if file is not None:
            last = {"ph": "M", "name": "process_name", "pid": _PROCESS}
            name = (
                f"foragerl ({self.num_left_out} spans left out)"
                if self.num_left_out
                else "foragerl"
            )
            file.write(orjson.dumps({**last, "args": {"name": name}}) + b"\n]\n")
            file.close()

    def _track(self, track: str) -> int:
        """The track's number; a new track is named in the file."""
        if track not in self._tracks:
            self._tracks[track] = len(self._tracks) + 1
            self._write(
                {
                    "ph": "M",
                    "name": "thread_name",
                    "pid": _PROCESS,
                    "tid": self._tracks[track],
                    "args": {"name": track},
                }
            )
        return self._tracks[track]

    def _us(self, at_s: float) -> int:
        return max(0, round((at_s - self._start_s) * _US_PER_S))

    def _write(self, event: dict[str, object]) -> None:
        if self._file is None:
            return
        line = orjson.dumps(event, option=orjson.OPT_SERIALIZE_NUMPY) + b",\n"
        if self._num_bytes + len(line) > self._limit_bytes:
            self.num_left_out += event["ph"] != "M"
            return
        self._num_bytes += len(line)
        self._file.write(line)


NO_TRACE = Trace(None)


def attempt_facts(result: Attempt | LostAttempt) -> Arguments:
    """What a span of an attempt tells: its end, and how its time was spent."""
    if isinstance(result, LostAttempt):
        return {"stop": result.stop.value, "steps": result.num_steps, "detail": result.detail}
    report = result.report
    return {
        "stop": report.stop.value,
        "kind": report.kind,
        "steps": report.num_steps,
        "act_s": round(report.act_s, 3),
        "env_s": round(report.env_s, 3),
    }
