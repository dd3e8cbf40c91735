# SPDX-License-Identifier: Apache-2.0
"""Names to addresses: by the system, or by a DNS server that is asked directly.

Both raise `ResolveError` when the answer is that there is none; the caller has the deadline.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Protocol

from envs.egress.address import Address
from envs.egress.dns import TYPE_A, TYPE_AAAA, decode_answer, encode_question

# A look-up that hangs keeps its thread until the system gives up: a bound of their number.
_NUM_THREADS = 4


class ResolveError(OSError):
    """A name has no address, or the resolver says that it does not know."""


class Resolver(Protocol):
    """Where addresses come from."""

    async def addresses(self, name: str) -> Sequence[Address]:
        """Every address of a canonical name, at least one."""

    def close(self) -> None:
        """Give back what it holds; safe to call twice."""


class SystemResolver:
    """`getaddrinfo`, in threads of its own, so that a hanging look-up blocks no other work."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def addresses(self, name: str) -> Sequence[Address]:
        """Every address of a canonical name, at least one."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_NUM_THREADS, thread_name_prefix="egress-resolver")
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._pool, _look_up, name)
        except (socket.gaierror, UnicodeError) as error:
            raise ResolveError(f"{name}: {error}") from error
        return found

    def close(self) -> None:
        """Let go of the threads; one that still looks up ends when the system gives up."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def _look_up(name: str) -> Sequence[Address]:
    rows = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    found = {ip_address(str(row[4][0]).partition("%")[0]): None for row in rows}
    return tuple(found)


class DnsResolver:
    """One DNS server, asked over UDP for both kinds of addresses at once."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server

    async def addresses(self, name: str) -> Sequence[Address]:
        """Every address of a canonical name, at least one; waits without limit for a silent server.

        One kind is enough: some servers never answer for the other.
        """
        questions = [
            encode_question(name, kind, number=secrets.randbelow(1 << 16))
            for kind in (TYPE_A, TYPE_AAAA)
        ]
        loop = asyncio.get_running_loop()
        transport, exchange = await loop.create_datagram_endpoint(
            lambda: _Exchange(questions), remote_addr=self._server
        )
        try:
            for question in questions:
                transport.sendto(question)
            found = await exchange.answer
        except ValueError as error:
            raise ResolveError(f"{name}: {error}") from error
        finally:
            transport.close()
        if not found:
            raise ResolveError(f"{name}: no address")
        return found

    def close(self) -> None:
        """Nothing is held between two questions."""


# How long the second kind of address may come after the first.
_GRACE_S = 0.2


class _Exchange(asyncio.DatagramProtocol):
    """Collects the answers to two questions."""

    def __init__(self, questions: Sequence[bytes]) -> None:
        self._open = list(questions)
        self._found: list[Address] = []
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[tuple[Address, ...]] = self._loop.create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        for question in self._open:
            try:
                found = decode_answer(data, question)
            except ValueError as error:
                self._end(error)
                return
            if found is None:
                continue
            self._open.remove(question)
            self._found += found
            if not self._open:
                self._end()
            elif self._found:
                self._loop.call_later(_GRACE_S, self._end)
            return

    def error_received(self, exc: Exception) -> None:
        self._end(ResolveError(str(exc)))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(ResolveError("the socket was closed"))

    def _end(self, error: Exception | None = None) -> None:
        if self.answer.done():
            return
        if error is not None:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(tuple(self._found))
