# SPDX-License-Identifier: Apache-2.0
"""Which addresses are public, and what a host is called however it is written. Pure.

The networks are IANA's special-purpose registries (IPv4 and IPv6), spelled out here because
`ipaddress.is_global` differs between versions of Python and calls multicast global.
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
)

Address = IPv4Address | IPv6Address

_NOT_PUBLIC_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, ORCHID, benchmarking
        "2001:db8::/32",
        "2002::/16",  # 6to4: any IPv4 address inside, through a relay of anybody
        "3fff::/20",
    )
)
# IPv6 forms of an IPv4 address, of which the last 32 bits are judged.
_CARRIERS = tuple(
    IPv6Network(text)
    for text in (
        "::ffff:0:0/96",  # mapped
        "::ffff:0:0:0/96",  # translated (SIIT)
        "64:ff9b::/96",  # NAT64, what DNS64 makes of public IPv4 addresses
    )
)

# Services that tell a cloud's machine its credentials. One of them has a public address.
_METADATA_ADDRESSES: frozenset[Address] = frozenset(
    {
        IPv4Address("169.254.169.254"),
        IPv4Address("169.254.170.2"),
        IPv4Address("169.254.170.23"),
        IPv4Address("100.100.100.200"),
        IPv4Address("168.63.129.16"),
        IPv4Address("192.0.0.192"),
        IPv6Address("fd00:ec2::254"),
        IPv6Address("fd00:ec2::23"),
        IPv6Address("fd20:ce::254"),
    }
)
_METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.goog"})

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_MAX_NAME_CHARS = 253
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")


def canonical_host(text: str) -> str | Address:
    """The host that `text` means: an address in whatever form, or a lower-case ASCII name.

    IPv4 is read as browsers do: one to four parts, each decimal, octal or hexadecimal. Raises
    `ValueError` for what is no host: zone ids, percent signs, a number that is no address.
    """
    if text.startswith("[") and text.endswith("]"):
        return _plain(_parse_v6(text[1:-1]))
    name = unicodedata.normalize("NFKC", text).replace("\u3002", ".").lower()
    if ":" in name:
        return _plain(_parse_v6(name))
    name = name.removesuffix(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError as error:
            raise ValueError(f"expected a host name, got {text!r}: {error}") from None
    labels = name.split(".")
    if labels and _NUMBER.fullmatch(labels[-1]):
        return _parse_v4(labels)
    if len(name) > _MAX_NAME_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"expected a host name or an IP address, got {text!r}")
    return name


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet; carried IPv4 addresses are looked at."""
    address = _plain(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_V4)
    return address in _GLOBAL_UNICAST_V6 and not any(
        address in network for network in _NOT_PUBLIC_V6
    )


def is_metadata(host: str | Address) -> bool:
    """Whether a canonical host, or an address, is that of a cloud's metadata service."""
    if isinstance(host, str):
        return host in _METADATA_NAMES
    return _plain(host) in _METADATA_ADDRESSES


def host_text(host: str | Address) -> str:
    """A canonical host as it stands in a URL: IPv6 in brackets."""
    return f"[{host}]" if isinstance(host, IPv6Address) else str(host)


def _plain(address: Address) -> Address:
    """The IPv4 address that an IPv6 address carries, else the address itself."""
    if isinstance(address, IPv6Address) and any(address in carrier for carrier in _CARRIERS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _parse_v6(text: str) -> IPv6Address:
    if "%" in text:
        raise ValueError(f"expected an IPv6 address without a zone, got {text!r}")
    return IPv6Address(text)


def _parse_v4(labels: list[str]) -> IPv4Address:
    """`inet_aton`: the last part fills the bytes that the others leave."""
    shown = ".".join(labels)
    if len(labels) > 4 or not all(_NUMBER.fullmatch(label) for label in labels):
        raise ValueError(f"expected an IPv4 address, got {shown!r}")
    *heads, last = (_parse_number(label) for label in labels)
    if any(head > 255 for head in heads) or last >= 256 ** (4 - len(heads)):
        raise ValueError(f"expected an IPv4 address, got {shown!r}: a part is too large")
    value = last
    for place, head in enumerate(heads):
        value += head << (8 * (3 - place))
    return IPv4Address(value)


def _parse_number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if len(label) > 1 and label.startswith("0") else int(label)
