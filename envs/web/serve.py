# SPDX-License-Identifier: Apache-2.0
"""Shows a site, such as the embedded web, to a person's own browser.

That browser cannot resolve `*.forage.test`, but it takes `*.localhost` for this machine, so every
host is served as `X.forage.localhost:PORT` and addresses in the pages are rewritten.
"""

from __future__ import annotations

import asyncio
import re

from aiohttp import web

from envs.config import Templates, WebConfig
from envs.site import PageResponse, Site, answer, page_request
from envs.types import Split
from envs.web.hazards import NO_HAZARDS, draw_hazards
from envs.web.sites.shell import SEARCH_HOST
from envs.web.web_site import CONTENT_HOSTS, EmbeddedSite
from envs.web.world import build_world

_INNER = re.compile(rb"http://([a-z]+)\.forage\.test")
_OUTER_DOMAIN = ".forage.localhost"


def serve_for_person(
    world_seed: int,
    split: Split,
    port: int,
    *,
    language: str = "en",
    templates: Templates = Templates.TRAIN,
    with_hazards: bool = False,
) -> None:
    """Serve a world on 127.0.0.1 until interrupted; `with_hazards` gives it all there are."""
    hazards = NO_HAZARDS
    if with_hazards:
        every = WebConfig(
            cookie_banner_rate=1.0, login_popup_rate=1.0, slow_resource_rate=1.0, hazards=1.0
        )
        hazards = draw_hazards(every, world_seed, CONTENT_HOSTS, language)
    world = build_world(world_seed, split, language, templates)
    serve_site(EmbeddedSite(world, hazards, has_permits=True), port)


def serve_site(site: Site, port: int) -> None:
    """Serve a site on 127.0.0.1 until interrupted; `ValueError` for a port that is none."""
    if not 1 <= port <= 65535:  # 0 would be any, and the pages' links need to know it
        raise ValueError(f"port: expected 1..65535, got {port}")
    app = person_app(site, port)
    web.run_app(app, host="127.0.0.1", port=port, print=lambda _: _announce(port))


def person_app(site: Site, port: int) -> web.Application:
    """The web application; `port` is written into the pages' links."""

    async def handle(http_request: web.Request) -> web.Response:
        host = http_request.host.partition(":")[0]  # browsers leave out port 80
        if not host.endswith(_OUTER_DOMAIN):
            raise web.HTTPFound(start_url(port))
        inner = host.removesuffix(".localhost") + ".test"
        cookies = dict(http_request.cookies)
        response = answer(site, page_request(inner, http_request.raw_path, cookies))
        await asyncio.sleep(response.delay_s)
        return _outward(response, port)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    return app


def start_url(port: int) -> str:
    """Where a person starts."""
    return f"http://{SEARCH_HOST.removesuffix('.test')}.localhost:{port}/"


def _outward(response: PageResponse, port: int) -> web.Response:
    """The response with addresses that a person's browser can resolve."""
    target = rb"http://\1.forage.localhost:" + str(port).encode()
    location = _INNER.sub(target, response.location.encode()).decode()
    headers = dict(response.headers) | ({"Location": location} if location else {})
    # aiohttp wants type and charset apart; the header itself may hold both.
    headers["Content-Type"] = response.content_type
    is_text = response.content_type.startswith("text/")
    body = _INNER.sub(target, response.body) if is_text else response.body
    return web.Response(status=response.status, headers=headers, body=body)


def _announce(port: int) -> None:
    print(f"The site is at {start_url(port)} – press Ctrl-C to stop.")
