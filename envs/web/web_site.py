# SPDX-License-Identifier: Apache-2.0
"""All hosts of the embedded web as one `Site`: a pure function from request to response."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

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
from envs.web.texts.shapes import PageTexts
from envs.web.world import World

_SITES: dict[str, tuple[Callable[[Visit], PageResponse], Callable[[Visit], Frame]]] = {
    search.HOST: (search.respond, search.frame),
    wiki.HOST: (wiki.respond, wiki.frame),
    policy.HOST: (policy.respond, policy.frame),
    advert.HOST: (advert.respond, advert.frame),
}
CONTENT_HOSTS = (wiki.HOST, policy.HOST)


class EmbeddedSite:
    """The web of one world under one task's hazards."""

    def __init__(self, world: World, hazards: Hazards, *, has_permits: bool = False) -> None:
        self._world = world
        self._has_permits = has_permits
        self._hazards = hazards

    def hosts(self) -> tuple[str, ...]:
        """Host names served."""
        return tuple(_SITES)

    def respond(self, request: PageRequest) -> PageResponse:
        """Answer one request; unknown pages are a 404 page."""
        visit = Visit(
            world=self._world,
            hazards=self._hazards,
            request=request,
            has_permits=self._has_permits,
        )
        known = _SITES.get(request.host)
        if known is None:
            return PageResponse(status=404, content_type="text/plain", body=b"unknown host")
        respond, frame = known
        delay_s = self._hazards.delay_of(request.path)
        if request.path in ASSET_TYPES:
            return asset(request.path, delay_s=delay_s)
        if request.path.startswith("/img/"):
            if self._hazards.is_broken(request.path):
                return PageResponse(status=404, content_type="text/plain", body=b"no picture")
            style, _, name = request.path.removeprefix("/img/").partition("/")
            picture = draw_picture(style, name.removesuffix(".svg"))
            if picture is None:
                return not_found(visit, frame(visit))
            return resource("image/svg+xml", picture, delay_s=delay_s)
        if request.path == "/sign-in":
            look = frame(visit)
            return page(visit, look, visit.texts.sign_in, _sign_in(look, visit.texts))
        return respond(visit)


def _sign_in(look: Frame, texts: PageTexts) -> str:
    home = Link(text=texts.to_start, url=look.home)
    return (
        f"<h1>{escape(texts.signed_in_heading)}</h1><p>{escape(texts.signed_in_text)}</p>"
        f"<p>{anchor(home)}</p>"
    )
