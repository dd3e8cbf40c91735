# SPDX-License-Identifier: Apache-2.0
"""Why a run waits: who does what, since when and until when, and who gave the last sign of life.

Everything that may take long registers itself here, so that a run which stands still can say what
it stands on, at any time and without asking anybody. Pure bookkeeping over a clock.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Doing:
    """One thing in flight."""

    who: str
    what: str
    since_s: float
    timeout_s: float  # inf: a wait that only something else ends


class Waiting:
    """All that is in flight, the queues, and the workers; times are of one monotonic clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._doing: dict[int, Doing] = {}
        self._next = 0
        self._signs: dict[str, tuple[float, str]] = {}
        self._queues: dict[str, Callable[[], object]] = {}
        self._moves: dict[str, float] = {}
        self._start_s = clock()

    # --- What happens ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def on(self, who: str, what: str, timeout_s: float = math.inf) -> Iterator[None]:
        """`who` is at `what` while the block runs; without a deadline it waits for others."""
        self._next += 1
        key = self._next
        self._doing[key] = Doing(
            who=who, what=what, since_s=self._clock(), timeout_s=float(timeout_s)
        )
        try:
            yield
        finally:
            del self._doing[key]

    def moved(self, what: str) -> None:
        """Something that counts as progress has ended: `what` is its kind."""
        self._moves[what] = self._clock()

    def sign(self, who: str, text: str) -> None:
        """`who` gave a sign of life."""
        self._signs[who] = (self._clock(), text)

    def gone(self, who: str) -> None:
        """`who` is written off."""
        self._signs.pop(who, None)

    def show(self, name: str, read: Callable[[], object]) -> None:
        """A queue or a book that the report shows as `read()` gives it."""
        self._queues[name] = read

    # --- What it says ----------------------------------------------------------------------------

    def still_s(self) -> float:
        """Seconds since anything moved, or since the start."""
        return self._clock() - max(self._moves.values(), default=self._start_s)

    def since_s(self, what: str, start_s: float) -> float:
        """Seconds since `what` moved, counted from `start_s` of the clock at the earliest."""
        return self._clock() - max(self._moves.get(what, start_s), start_s)

    def waits(self) -> dict[str, str]:
        """Who waits for what without a deadline; a deadline ends the rest by itself."""
        return {d.who: d.what for d in self._doing.values() if math.isinf(d.timeout_s)}

    def report(self) -> str:
        """Every queue, item in flight, deadline and worker, for a person; one a line."""
        now_s = self._clock()
        lines = [f"nothing has ended for {self.still_s():.0f} s"]
        lines += [f"  {what} last {now_s - at_s:.0f} s ago" for what, at_s in self._moves.items()]
        lines.append("in flight:")
        lines += [f"  {_line(d, now_s)}" for d in self._doing.values()] or ["  nothing"]
        lines.append("queues:")
        lines += [f"  {name}: {read()}" for name, read in self._queues.items()] or ["  none"]
        lines.append("workers:")
        lines += [
            f"  {who}: answered {now_s - at_s:.0f} s ago; {text}"
            for who, (at_s, text) in sorted(self._signs.items())
        ] or ["  none has answered yet"]
        lines.append("docs/TROUBLESHOOTING.md says what each of these means")
        return "\n".join(lines)


def standstill(
    waiting: Waiting, *, start_s: float, stall_timeout_s: float, no_update_timeout_s: float
) -> str:
    """Why a training run that began at `start_s` should be given up; "" while it goes on."""
    still_s, no_update_s = waiting.still_s(), waiting.since_s("update", start_s)
    if still_s > stall_timeout_s:
        return (
            f"neither an attempt nor an update has ended for {still_s:.0f} s "
            f"(train.stall_timeout_s={stall_timeout_s:g})"
        )
    if no_update_s > no_update_timeout_s:
        return (
            f"no learner step for {no_update_s:.0f} s "
            f"(alarms.no_update_timeout_s={no_update_timeout_s:g})"
        )
    return ""


def _line(doing: Doing, now_s: float) -> str:
    text = f"{doing.who}: {doing.what}, for {now_s - doing.since_s:.0f} s"
    if math.isinf(doing.timeout_s):
        return f"{text}, no deadline"
    return f"{text}, deadline in {doing.since_s + doing.timeout_s - now_s:.0f} s"
