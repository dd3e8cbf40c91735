# SPDX-License-Identifier: Apache-2.0
"""All hosts of the embedded web as one `Site`: a pure function from request to response."""

from __future__ import annotations

from collections.abc import Callable

from envs.site import PageRequest, PageResponse
from envs.web.article import Link
from envs.web.hazards import Hazards
from envs.web.sites import advert, policy, search, wiki
from envs.web.sites.pictures import draw_picture
from envs.web.sites.shell import (
    ASSET_TYPES,
    Frame,
    Visit,
    anchor,
    asset,
    not_found,
    page,
    resource,
)
from envs.web.world import World

_SITES: dict[str, tuple[Callable[[Visit], PageResponse], Frame]] = {
    search.HOST: (search.respond, search.FRAME),
    wiki.HOST: (wiki.respond, wiki.FRAME),
    policy.HOST: (policy.respond, policy.FRAME),
    advert.HOST: (advert.respond, advert.FRAME),
}
CONTENT_HOSTS = (wiki.HOST, policy.HOST)


class EmbeddedSite:
    """The web of one world under one task's hazards."""

    def __init__(self, world: World, hazards: Hazards) -> None:
        self._world = world
        self._hazards = hazards

    def hosts(self) -> tuple[str, ...]:
        """Host names served."""
        return tuple(_SITES)

    def respond(self, request: PageRequest) -> PageResponse:
        """Answer one request; unknown pages are a 404 page."""
        visit = Visit(world=self._world, hazards=self._hazards, request=request)
        known = _SITES.get(request.host)
        if known is None:
            return PageResponse(status=404, content_type="text/plain", body=b"unknown host")
        respond, frame = known
        delay_s = self._hazards.delay_of(request.path)
        if request.path in ASSET_TYPES:
            return asset(request.path, delay_s=delay_s)
        if request.path.startswith("/img/"):
            style, _, name = request.path.removeprefix("/img/").partition("/")
            picture = draw_picture(style, name.removesuffix(".svg"))
            if picture is None:
                return not_found(visit, frame)
            return resource("image/svg+xml", picture, delay_s=delay_s)
        if request.path == "/sign-in":
            return page(visit, frame, "Sign in", _sign_in(frame))
        return respond(visit)


def _sign_in(frame: Frame) -> str:
    home = Link(text="Back to the start page", url=frame.home)
    return (
        "<h1>Check your mail</h1><p>If the address is known, a letter with a link is on its "
        f"way.</p><p>{anchor(home)}</p>"
    )
