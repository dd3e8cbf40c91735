# SPDX-License-Identifier: Apache-2.0
"""The proxy's server: listens on loopback inside the env's own event loop, one task a client.

It consumes connections of a browser and produces refusals (`take_refusals`, for the step that
caused them) and events of breakers. Nothing waits without a deadline; `close` ends every task.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence

from envs.egress.breaker import BreakerEvent
from envs.egress.caps import Caps
from envs.egress.channel import BUFFER_BYTES, Channel
from envs.egress.config import EgressConfig
from envs.egress.dialer import Dialer
from envs.egress.refusal import Reason, Refusal
from envs.egress.resolver import DnsResolver, Resolver, SystemResolver
from envs.egress.session import Session
from envs.egress.target import parse_resolver

_LOG = logging.getLogger(__name__)

_MAX_REFUSALS = 64  # kept until they are taken; more are counted only


class EgressProxy:
    """Proxy on 127.0.0.1; the port is chosen by `start` and kept until `close`.

    Caps of bytes hold for an episode, breakers and rates for the proxy's life, `close` included.
    """

    def __init__(
        self,
        config: EgressConfig,
        *,
        first: Resolver | None = None,
        second: Resolver | None = None,
    ) -> None:
        self._config = config
        self._first = first or SystemResolver()
        if second is None and config.second_resolver:
            second = DnsResolver(parse_resolver(config.second_resolver))
        self._second = second
        self._dialer = Dialer(config, first=self._first, second=second)
        self._caps = Caps(
            max_per_s=config.max_requests_per_s,
            max_burst=config.max_request_burst,
            max_domain_bytes=config.max_domain_bytes,
            max_total_bytes=config.max_total_bytes,
        )
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusals: deque[Refusal] = deque(maxlen=_MAX_REFUSALS)
        self.num_refused = 0
        self.port = 0  # listened on; 0 while not started

    @property
    def num_open(self) -> int:
        """Connections of clients that are open."""
        return len(self._tasks)

    @property
    def breaker_events(self) -> Sequence[BreakerEvent]:
        """The newest changes of breakers, oldest first; times are of the event loop."""
        return tuple(self._dialer.breakers.events)

    async def start(self, site_port: int) -> None:
        """Listen, with the server behind every site at `site_port`; a second call does nothing."""
        if self._server is not None:
            return
        self._dialer.site_port = site_port
        self._server = await asyncio.start_server(
            self._on_client, "127.0.0.1", 0, limit=BUFFER_BYTES
        )
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Give back the port and every connection; safe to call twice."""
        server, self._server, self.port = self._server, None, 0
        if server is not None:
            server.close()
        while self._tasks:  # one may be accepted while the others end
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
        self._first.close()
        if self._second is not None:
            self._second.close()

    def begin_episode(self) -> None:
        """What the last episode used and was refused is forgotten."""
        self._caps.begin_episode()
        self._refusals.clear()

    def take_refusals(self) -> tuple[Refusal, ...]:
        """Refusals since the last call, each once, oldest first."""
        taken = tuple(dict.fromkeys(self._refusals))
        self._refusals.clear()
        return taken

    def _on_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Not a coroutine: asyncio's own task for one reports its cancellation as an error.
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Channel(reader, writer, self._config.idle_timeout_s)
        session = Session(client, self._dialer, self._caps, self._config, self._record)
        try:
            if len(self._tasks) > self._config.max_connections:
                await session.refuse(Reason.BUSY)
            else:
                await session.run()
        finally:
            client.abort()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("a connection ended in an error of ours", exc_info=task.exception())

    def _record(self, refusal: Refusal) -> None:
        self.num_refused += 1
        self._refusals.append(refusal)
        _LOG.info("refused: %s", refusal)
