# SPDX-License-Identifier: Apache-2.0
"""Connections to targets: checked, bounded in time, and counted by the domain's breaker.

A name is resolved once for each connection, and the very addresses that were checked are connected
to: a name that means another address a moment later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from envs.egress.address import Address
from envs.egress.breaker import Breakers
from envs.egress.channel import BUFFER_BYTES, Channel
from envs.egress.config import EgressConfig
from envs.egress.policy import EgressPolicy
from envs.egress.refusal import Reason, RefusedError
from envs.egress.resolver import ResolveError, Resolver
from envs.egress.target import Target

_LOG = logging.getLogger(__name__)

_MAX_ADDRESSES = 4  # tried of one host
_SITE_ADDRESS = "127.0.0.1"


class UnreachableError(Exception):
    """The target is not there: no address, or nobody listens."""


class NoAnswerError(Exception):
    """The target did not answer in time."""


class Dialer:
    """Opens channels to targets; `second` is asked once a breaker has opened, if there is one."""

    def __init__(self, config: EgressConfig, *, first: Resolver, second: Resolver | None) -> None:
        self._config = config
        self._first = first
        self._second = second
        self.policy = EgressPolicy(config)
        self.breakers = Breakers(
            num_timeouts=config.breaker_timeouts, pause_s=config.breaker_pause_s
        )
        self.site_port = 0  # of the server behind every site of the task

    async def dial(self, target: Target) -> Channel:
        """A connection to `target`; raises `RefusedError`, `UnreachableError`, `NoAnswerError`."""
        if self.policy.is_site(target):
            return await self._connect_site()
        reason = self.policy.refusal_of_target(target)
        if reason is None and not self.breakers.admit(target.domain, _now_s()):
            reason = Reason.BREAKER_OPEN
        if reason is not None:
            raise RefusedError(reason, target.authority)
        try:
            return await self._try(target)
        except TimeoutError:
            has_opened = self._is_late(target)
        if has_opened and self._second is not None:
            try:
                return await self._try(target)  # by the other resolver, whose turn it is now
            except TimeoutError:
                self._is_late(target)
        raise NoAnswerError(f"{target.authority}: neither address nor connection in time")

    def answered(self, target: Target) -> None:
        """The target has sent something."""
        if not self.policy.is_site(target):
            self.breakers.answered(target.domain, _now_s())

    def timed_out(self, target: Target) -> None:
        """The target was connected to and then sent nothing."""
        if not self.policy.is_site(target):
            self._is_late(target)

    def _is_late(self, target: Target) -> bool:
        """Count a timeout; whether it has opened the breaker."""
        has_opened = self.breakers.timed_out(target.domain, _now_s())
        if has_opened:
            _LOG.warning(
                "%s did not answer in time again: it is closed off for %s s",
                target.domain,
                self._config.breaker_pause_s,
            )
        return has_opened

    async def _try(self, target: Target) -> Channel:
        """One attempt; raises `TimeoutError` when resolver or host do not answer in time."""
        try:
            addresses = await self._resolve(target)
            reason = self.policy.refusal_of_addresses(target, addresses)
            if reason is not None:
                raise RefusedError(reason, target.authority)
            return await self._connect(addresses, target.port)
        except (RefusedError, UnreachableError):
            self.breakers.answered(target.domain, _now_s())
            raise

    async def _resolve(self, target: Target) -> Sequence[Address]:
        if not isinstance(target.host, str):
            return (target.host,)
        resolver = self._first
        if self._second is not None and self.breakers.prefers_second(target.domain):
            resolver = self._second
            self.breakers.asked_second(target.domain, _now_s())
        try:
            async with asyncio.timeout(self._config.connect_timeout_s):
                return await resolver.addresses(target.host)
        except ResolveError as error:
            raise UnreachableError(str(error)) from error

    async def _connect(self, addresses: Sequence[Address], port: int) -> Channel:
        """A connection to the first address that takes one; each has its share of the time."""
        addresses = addresses[:_MAX_ADDRESSES]
        share_s = self._config.connect_timeout_s / max(1, len(addresses))
        failures: list[str] = []
        is_late = False
        for address in addresses:
            try:
                return await self._open(str(address), port, share_s)
            except TimeoutError:
                is_late = True
            except OSError as error:
                failures.append(f"{address}: {error}")
        if is_late:
            raise TimeoutError
        raise UnreachableError("; ".join(failures) or "no address")

    async def _connect_site(self) -> Channel:
        try:
            return await self._open(_SITE_ADDRESS, self.site_port, self._config.connect_timeout_s)
        except OSError as error:
            raise UnreachableError(f"the site server: {error}") from error

    async def _open(self, address: str, port: int, timeout_s: float) -> Channel:
        async with asyncio.timeout(timeout_s):
            # An address in digits is not resolved again.
            reader, writer = await asyncio.open_connection(address, port, limit=BUFFER_BYTES)
        return Channel(reader, writer, self._config.idle_timeout_s)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
