# SPDX-License-Identifier: Apache-2.0
"""Both resolvers, against a name server on loopback and the system's own."""

from __future__ import annotations

import asyncio
import struct

import pytest

from envs.egress.dns import TYPE_A
from envs.egress.resolver import DnsResolver, ResolveError, SystemResolver
from tests.envs.egress.wire import LOOPBACK, num_sockets, until


class _NameServer(asyncio.DatagramProtocol):
    """Says 127.0.0.5 for every A question, after a forged packet; other kinds it ignores."""

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        if data[-4:-2] != struct.pack("!H", TYPE_A):
            return
        head = struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
        record = b"\xc0\x0c" + struct.pack("!HHIH", TYPE_A, 1, 60, 4)
        forged = struct.pack("!H", (data[0] * 256 + data[1] + 1) % 65536)
        self.transport.sendto(forged + head + data[12:] + record + bytes([127, 0, 0, 9]), addr)
        self.transport.sendto(data[:2] + head + data[12:] + record + bytes([127, 0, 0, 5]), addr)


async def test_a_dns_server_is_asked_over_udp():
    before = num_sockets()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(_NameServer, local_addr=(LOOPBACK, 0))
    try:
        resolver = DnsResolver(transport.get_extra_info("sockname"))
        assert [str(a) for a in await resolver.addresses("any.example")] == ["127.0.0.5"]
    finally:
        transport.close()
    await until(lambda: num_sockets() == before)


async def test_a_dns_server_that_is_silent_or_away_leaves_no_socket():
    before = num_sockets()
    loop = asyncio.get_running_loop()
    silent, _ = await loop.create_datagram_endpoint(
        asyncio.DatagramProtocol, local_addr=(LOOPBACK, 0)
    )
    server = silent.get_extra_info("sockname")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await DnsResolver(server).addresses("any.example")
    silent.close()
    await until(lambda: num_sockets() == before)
    with pytest.raises(ResolveError):
        async with asyncio.timeout(2.0):
            await DnsResolver(server).addresses("any.example")
    await until(lambda: num_sockets() == before)


async def test_the_system_resolves_names_and_says_when_there_is_none():
    resolver = SystemResolver()
    try:
        assert LOOPBACK in [str(address) for address in await resolver.addresses("localhost")]
        with pytest.raises(ResolveError):
            await resolver.addresses("nothing.invalid")
    finally:
        resolver.close()
        resolver.close()
