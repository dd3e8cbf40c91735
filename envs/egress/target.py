# SPDX-License-Identifier: Apache-2.0
"""Where a request wants to go: a canonical host and a port. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from envs.egress.address import Address, canonical_host, host_text

HTTP_PORT = 80
_DNS_PORT = 53


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A place that a client asks for."""

    host: str | Address  # canonical: a lower-case name, or an address
    port: int

    @property
    def domain(self) -> str:
        """What breaker and caps count by: the whole host name, since no list says who owns it."""
        return str(self.host)

    @property
    def authority(self) -> str:
        """Canonical "host:port"."""
        return f"{host_text(self.host)}:{self.port}"


def parse_authority(text: str, *, default_port: int | None = None) -> tuple[str | Address, int]:
    """Canonical host and port of "host:port"; `ValueError` for anything else, user names too."""
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):  # "[::1]" has colons and no port
        host, port = text, "" if default_port is None else str(default_port)
    elif not port and default_port is not None:
        port = str(default_port)
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= 65535):
        raise ValueError(f"expected host:port, got {text!r}")
    if ":" in host and not host.startswith("["):
        raise ValueError(f"expected [IPv6]:port, got {text!r}")
    return canonical_host(host), int(port)


def parse_resolver(text: str) -> tuple[str, int]:
    """Address and port of a DNS server; `ValueError` unless it is an IP address."""
    try:
        return str(ip_address(text.strip("[]"))), _DNS_PORT
    except ValueError:
        host, port = parse_authority(text)
        if isinstance(host, str):
            raise ValueError(
                f"expected the IP address of a DNS server, got the name {text!r}"
            ) from None
        return str(host), port
