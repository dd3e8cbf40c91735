# SPDX-License-Identifier: Apache-2.0
"""The one writer of a run's metrics: JSON lines, each complete on disk when it is written.

Rows of different events have clocks of their own (`learner/policy_version`, `train/env_steps`);
`time_s` since the start of the run is common to all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import orjson

from actors.types import AttemptReport

Value = float | int | str


class Sink(Protocol):
    """Somewhere else that rows go to, see `actors.loggers`."""

    run_id: str  # that the tracker goes on with after a restart; "" if it needs none

    def write(self, event: str, time_s: float, values: Mapping[str, Value]) -> None:
        """Take one row."""

    def close(self) -> None:
        """Keep all that was taken."""


class MetricsLog:
    """Appends rows to one file, and hands them on to `sinks`."""

    def __init__(self, path: Path, sinks: Sequence[Sink] = ()) -> None:
        self._sinks = tuple(sinks)
        self._path = path
        self._file = path.open("ab", buffering=0)
        self._start_s = time.monotonic()

    def write(self, event: str, values: Mapping[str, Value]) -> None:
        """Append one row of `event` ("progress", "update", "attempt", ...)."""
        time_s = round(time.monotonic() - self._start_s, 3)
        row = {"event": event, "time_s": time_s, **values}
        self._file.write(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
        for sink in self._sinks:
            sink.write(event, time_s, values)

    def tracker_id(self) -> str:
        """What the tracker knows this run by; "" without one that needs it."""
        return next((sink.run_id for sink in self._sinks if sink.run_id), "")

    def position(self) -> tuple[int, float]:
        """Bytes written, and seconds since the start."""
        return os.fstat(self._file.fileno()).st_size, time.monotonic() - self._start_s

    def rewind(self, num_bytes: int, time_s: float) -> None:
        """Go back to a `position`: the run goes on from there.

        What was written since is kept in a file beside, since it belongs to no curve any more.
        """
        num_bytes = min(num_bytes, self.position()[0])
        with self._path.open("rb") as file:
            file.seek(num_bytes)
            tail = file.read()
        if tail:
            with self._path.with_suffix(".lost.jsonl").open("ab") as lost:
                lost.write(tail)
        os.ftruncate(self._file.fileno(), num_bytes)
        self._start_s = time.monotonic() - time_s

    def close(self) -> None:
        """Close the file and the sinks; safe to call twice."""
        self._file.close()
        sinks, self._sinks = self._sinks, ()
        for sink in sinks:
            sink.close()


def attempt_row(report: AttemptReport) -> dict[str, Value]:
    """What a row of event "attempt" says before its score is known."""
    return {
        "kind": report.kind,
        "stop": report.stop.value,
        "steps": report.num_steps,
        "wall_s": round(report.wall_s, 3),
        "act_s": round(report.act_s, 3),
        "env_s": round(report.env_s, 3),
        "bytes": report.num_bytes,
        "first_version": report.first_version,
        "last_version": report.last_version,
    }
