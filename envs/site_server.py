# SPDX-License-Identifier: Apache-2.0
"""Serves the site of the present task on loopback, inside the env's own event loop.

Chromium resolves every site host to this server's port, so the Host header says which site a
request is for. Answers come from `Site.respond`, a pure function; only the delay is the server's.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from aiohttp import web

from envs.site import PageResponse, Site, answer, error_page, page_request

_ASSET_MAX_AGE_S = 3600
# A hanging page is still "being served" when the server closes: nobody waits for its answer.
_SHUTDOWN_TIMEOUT_S = 0.1


class SiteServer:
    """HTTP server on 127.0.0.1; the port is chosen by `start` and kept until `close`."""

    def __init__(self) -> None:
        self._site: Site | None = None
        self._runner: web.ServerRunner | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The port listened on; 0 while not started."""
        return self._port

    def set_site(self, site: Site | None) -> None:
        """Serve `site` from the next request on; None serves nothing."""
        self._site = site

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
            refusal = "Sites of a task answer GET only."
            return _sent(error_page(HTTPStatus.METHOD_NOT_ALLOWED, refusal))
        if self._site is None:
            return _sent(error_page(HTTPStatus.BAD_GATEWAY, "There is no task."))
        target = request.rel_url.raw_path_qs
        response = answer(self._site, page_request(host, target, request.cookies))
        if response.delay_s > 0.0:
            await asyncio.sleep(response.delay_s)
        return _sent(response)


def _sent(response: PageResponse) -> web.Response:
    headers = dict(response.headers)
    headers["Content-Type"] = response.content_type
    if response.location:
        headers["Location"] = response.location
    if "Cache-Control" not in headers:
        # "Back" must ask again: what a page shows may depend on a cookie set since.
        is_page = response.status != HTTPStatus.OK or response.content_type.startswith("text/html")
        headers["Cache-Control"] = "no-store" if is_page else f"max-age={_ASSET_MAX_AGE_S}"
    return web.Response(status=response.status, body=response.body, headers=headers)
