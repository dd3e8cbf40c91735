# SPDX-License-Identifier: Apache-2.0
"""The one writer of a run's metrics: JSON lines, each complete on disk when it is written.

Rows of different events have clocks of their own (`learner/policy_version`, `train/env_steps`);
`time_s` since the start of the run is common to all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import orjson

Value = float | int | str


class Sink(Protocol):
    """Somewhere else that rows go to, see `actors.loggers`."""

    def write(self, event: str, time_s: float, values: Mapping[str, Value]) -> None:
        """Take one row."""

    def close(self) -> None:
        """Keep all that was taken."""


class MetricsLog:
    """Appends rows to one file, and hands them on to `sinks`."""

    def __init__(self, path: Path, sinks: Sequence[Sink] = ()) -> None:
        self._sinks = tuple(sinks)
        self._file = path.open("ab", buffering=0)
        self._start_s = time.monotonic()

    def write(self, event: str, values: Mapping[str, Value]) -> None:
        """Append one row of `event` ("progress", "update", "attempt", ...)."""
        time_s = round(time.monotonic() - self._start_s, 3)
        row = {"event": event, "time_s": time_s, **values}
        self._file.write(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
        for sink in self._sinks:
            sink.write(event, time_s, values)

    def close(self) -> None:
        """Close the file and the sinks; safe to call twice."""
        self._file.close()
        sinks, self._sinks = self._sinks, ()
        for sink in sinks:
            sink.close()
