# SPDX-License-Identifier: Apache-2.0
"""Settings of the egress proxy: what a browser may reach, and how much of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from envs.egress.address import is_metadata
from envs.egress.target import parse_authority, parse_resolver


class EgressMode(enum.Enum):
    """What a browser can reach besides the sites of its task."""

    OFF = "off"  # nothing: no other host resolves, and there is no proxy
    LISTED = "listed"  # through the proxy: `allow` only
    PUBLIC = "public"  # through the proxy: every public address, and `allow`


@dataclass(frozen=True, kw_only=True)
class EgressConfig:
    """Settings of one proxy; see docs/SECURITY.md."""

    mode: EgressMode = EgressMode.OFF
    allow: tuple[str, ...] = ()  # "host:port" that may have any address but a metadata service's
    # "ADDRESS" or "ADDRESS:PORT" of a DNS server that is asked once a domain has timed out too
    # often; "" asks none.
    second_resolver: str = ""
    connect_timeout_s: float = 3.0  # resolving and connecting, each
    first_byte_timeout_s: float = 6.0  # from the request to the answer; below navigation_timeout_s
    idle_timeout_s: float = 30.0  # a connection on which nothing moves
    breaker_timeouts: int = 3  # that many in a row close a domain ...
    breaker_pause_s: float = 30.0  # ... for this long; then one request tries again
    max_requests_per_s: float = 50.0  # of one domain
    max_request_burst: int = 300  # of one domain, after a pause
    max_domain_bytes: int = 64 << 20  # of one domain in one episode, both ways
    max_total_bytes: int = 256 << 20  # of all domains in one episode
    max_connections: int = 256

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, int | float) and not value > 0:  # nor a NaN
                raise ValueError(f"env.browser.egress.{name}: expected > 0, got {value}")
        if self.mode is EgressMode.OFF and self.allow:
            raise ValueError(
                "env.browser.egress.allow: expected nothing with mode=off, which has no proxy; "
                "give env.browser.egress.mode=listed"
            )
        for entry in self.allow:
            try:
                host, _ = parse_authority(entry)
            except ValueError as error:
                raise ValueError(f"env.browser.egress.allow: {error}") from None
            if is_metadata(host):
                raise ValueError(
                    f"env.browser.egress.allow: expected no metadata service, got {entry!r}"
                )
        if self.second_resolver:
            try:
                parse_resolver(self.second_resolver)
            except ValueError as error:
                raise ValueError(f"env.browser.egress.second_resolver: {error}") from None
