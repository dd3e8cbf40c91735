# SPDX-License-Identifier: Apache-2.0
"""How much of a domain an episode may have: requests a second, and bytes. Pure; told the time.

Rates are token buckets: `max_burst` requests at once, then `max_per_s`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(slots=True)
class _Usage:
    tokens: float
    refilled_s: float
    num_bytes: int = 0


class Caps:
    """What has been used of each domain, and of all of them together."""

    def __init__(
        self,
        *,
        max_per_s: float,
        max_burst: int,
        max_domain_bytes: int,
        max_total_bytes: int,
        max_domains: int = 1024,
    ) -> None:
        self._max_per_s = max_per_s
        self._max_burst = max_burst
        self._max_domain_bytes = max_domain_bytes
        self._max_total_bytes = max_total_bytes
        self._max_domains = max_domains
        self._usage: OrderedDict[str, _Usage] = OrderedDict()
        self._total_bytes = 0

    def begin_episode(self) -> None:
        """Bytes are counted anew; rates go on, as servers do not know of episodes."""
        self._total_bytes = 0
        for usage in self._usage.values():
            usage.num_bytes = 0

    def take_request(self, domain: str, now_s: float) -> bool:
        """Count one request; False when there are too many, and then it is not counted."""
        usage = self._usage.get(domain)
        if usage is None:
            usage = self._usage[domain] = _Usage(float(self._max_burst), now_s)
            if len(self._usage) > self._max_domains:
                # Its bytes are forgotten here and stay in the total.
                self._usage.popitem(last=False)
        self._usage.move_to_end(domain)
        elapsed_s = max(0.0, now_s - usage.refilled_s)
        usage.tokens = min(self._max_burst, usage.tokens + elapsed_s * self._max_per_s)
        usage.refilled_s = max(usage.refilled_s, now_s)
        if usage.tokens < 1.0:
            return False
        usage.tokens -= 1.0
        return True

    def has_bytes(self, domain: str) -> bool:
        """Whether the domain, and all together, are below their caps."""
        usage = self._usage.get(domain)
        used = 0 if usage is None else usage.num_bytes
        return used < self._max_domain_bytes and self._total_bytes < self._max_total_bytes

    def take_bytes(self, domain: str, num_bytes: int) -> bool:
        """Count bytes of either direction; False when they lead beyond a cap."""
        self._total_bytes += num_bytes
        usage = self._usage.get(domain)
        if usage is not None:
            usage.num_bytes += num_bytes
            if usage.num_bytes > self._max_domain_bytes:
                return False
        return self._total_bytes <= self._max_total_bytes
