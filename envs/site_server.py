# SPDX-License-Identifier: Apache-2.0
"""Serves the site of the present task on loopback, inside the env's own event loop.

Chromium resolves every site host to this server's port, so the Host header says which site a
request is for. Answers come from `Site.respond`, a pure function; only the delay is the server's.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus

from aiohttp import web

from envs.site import PageRequest, PageResponse, Site

_LOG = logging.getLogger(__name__)

_ASSET_MAX_AGE_S = 3600
# A hanging page is still "being served" when the server closes: nobody waits for its answer.
_SHUTDOWN_TIMEOUT_S = 0.1


class SiteServer:
    """HTTP server on 127.0.0.1; the port is chosen by `start` and kept until `close`."""

    def __init__(self) -> None:
        self._site: Site | None = None
        self._hosts: frozenset[str] = frozenset()
        self._runner: web.ServerRunner | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The port listened on; 0 while not started."""
        return self._port

    def set_site(self, site: Site | None) -> None:
        """Serve `site` from the next request on; None serves nothing."""
        self._site = site
        self._hosts = frozenset(site.hosts()) if site is not None else frozenset()

    async def start(self) -> None:
        """Listen; a second call does nothing."""
        if self._runner is not None:
            return
        # Without cancellation a handler would sleep on after its client has gone.
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_TIMEOUT_S)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        self._port = int(runner.addresses[0][1])

    async def close(self) -> None:
        """Give the port back; safe to call twice."""
        runner, self._runner = self._runner, None
        self._port = 0
        if runner is not None:
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        host = request.host.rpartition(":")[0] or request.host
        if request.method not in ("GET", "HEAD"):
            return _error(HTTPStatus.METHOD_NOT_ALLOWED, "Sites of a task answer GET only.")
        if self._site is None or host not in self._hosts:
            return _error(HTTPStatus.BAD_GATEWAY, f"No site of this task is called {host}.")
        answer = self._site.respond(
            PageRequest(
                host=host, path=request.path, query=_query(request), cookies=request.cookies
            )
        )
        if answer.delay_s > 0.0:
            await asyncio.sleep(answer.delay_s)
        return _response(answer)


def _query(request: web.BaseRequest) -> dict[str, str]:
    """The first value of each key."""
    query: dict[str, str] = {}
    for key, value in request.query.items():
        query.setdefault(key, value)
    return query


def _response(answer: PageResponse) -> web.Response:
    headers = dict(answer.headers)
    headers["Content-Type"] = answer.content_type
    if answer.location:
        headers["Location"] = answer.location
    if "Cache-Control" not in headers:
        # "Back" must ask again: what a page shows may depend on a cookie set since.
        is_page = answer.status != HTTPStatus.OK or answer.content_type.startswith("text/html")
        headers["Cache-Control"] = "no-store" if is_page else f"max-age={_ASSET_MAX_AGE_S}"
    return web.Response(status=answer.status, body=answer.body, headers=headers)


def _error(status: HTTPStatus, text: str) -> web.Response:
    body = f"<!doctype html><title>{status.value}</title><h1>{status.phrase}</h1><p>{text}</p>"
    return web.Response(status=status, text=body, content_type="text/html")
