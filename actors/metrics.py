# SPDX-License-Identifier: Apache-2.0
"""The one writer of a run's metrics: JSON lines, each complete on disk when it is written.

Rows of different events have clocks of their own (`learner/policy_version`, `train/env_steps`);
`time_s` since the start of the run is common to all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import orjson


class MetricsLog:
    """Appends rows to one file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._start_s = time.monotonic()

    def write(self, event: str, values: Mapping[str, float | int | str]) -> None:
        """Append one row of `event` ("progress", "update", "attempt", ...)."""
        row = {"event": event, "time_s": round(time.monotonic() - self._start_s, 3), **values}
        self._file.write(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._file.close()
