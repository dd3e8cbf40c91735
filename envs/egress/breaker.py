# SPDX-License-Identifier: Apache-2.0
"""The circuit breaker of each domain: a state machine that is told the time. Pure.

closed --timeouts in a row--> open --pause--> half open: one request tries; an answer closes the
breaker, a timeout opens it again. An answer is whatever comes in time, errors too.
"""

from __future__ import annotations

import enum
from collections import OrderedDict, deque
from dataclasses import dataclass

_MAX_EVENTS = 256


class BreakerChange(enum.Enum):
    """What happened to a domain's breaker."""

    OPENED = "opened"
    SECOND_RESOLVER = "second_resolver"  # asked for addresses, as those of the first timed out
    HALF_OPEN = "half_open"
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakerEvent:
    """One change."""

    domain: str
    change: BreakerChange
    time_s: float  # of the clock that the breaker is told


@dataclass(slots=True)
class _Domain:
    num_timeouts: int = 0  # in a row
    retry_s: float | None = None  # open until then; None while closed
    prefers_second: bool = False


class Breakers:
    """One breaker a domain, for the `max_domains` that were asked for last."""

    def __init__(self, *, num_timeouts: int, pause_s: float, max_domains: int = 1024) -> None:
        self._num_timeouts = num_timeouts
        self._pause_s = pause_s
        self._max_domains = max_domains
        self._domains: OrderedDict[str, _Domain] = OrderedDict()
        self.events: deque[BreakerEvent] = deque(maxlen=_MAX_EVENTS)  # the newest
        self.num_opened = 0

    def admit(self, domain: str, now_s: float) -> bool:
        """Whether a request may go out; when the pause is over it is the one that tries.

        A trial of which nothing is heard ends with another pause.
        """
        state = self._domains.get(domain)
        if state is None or state.retry_s is None:
            return True
        if now_s < state.retry_s:
            return False
        state.retry_s = now_s + self._pause_s
        self._record(domain, BreakerChange.HALF_OPEN, now_s)
        return True

    def timed_out(self, domain: str, now_s: float) -> bool:
        """A request got no answer in time; True when that has opened the breaker."""
        state = self._domain(domain)
        was_open = state.retry_s is not None
        state.num_timeouts += 1
        if not was_open and state.num_timeouts < self._num_timeouts:
            return False
        state.retry_s = now_s + self._pause_s
        state.prefers_second = not state.prefers_second
        self.num_opened += 1
        self._record(domain, BreakerChange.OPENED, now_s)
        return True

    def answered(self, domain: str, now_s: float) -> None:
        """A request got an answer: the row of timeouts is over."""
        state = self._domains.get(domain)
        if state is None:
            return
        state.num_timeouts = 0
        if state.retry_s is not None:
            state.retry_s = None
            self._record(domain, BreakerChange.CLOSED, now_s)

    def prefers_second(self, domain: str) -> bool:
        """Whether the second resolver's turn has come: each opening hands over to the other."""
        state = self._domains.get(domain)
        return state is not None and state.prefers_second

    def asked_second(self, domain: str, now_s: float) -> None:
        """Record that the second resolver was asked."""
        self._record(domain, BreakerChange.SECOND_RESOLVER, now_s)

    def _domain(self, domain: str) -> _Domain:
        state = self._domains.setdefault(domain, _Domain())
        self._domains.move_to_end(domain)
        while len(self._domains) > self._max_domains:
            self._domains.popitem(last=False)
        return state

    def _record(self, domain: str, change: BreakerChange, now_s: float) -> None:
        self.events.append(BreakerEvent(domain=domain, change=change, time_s=now_s))
