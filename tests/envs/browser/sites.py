# SPDX-License-Identifier: Apache-2.0
"""Small sites with what is nasty on the real web, and how tests look at their pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from envs.dom import PageElement
from envs.driver import PageSnapshot
from envs.site import PageRequest, PageResponse

HOST = "site.forage.test"
OTHER_HOST = "other.forage.test"
HANG_S = 60.0


@dataclass
class PathSite:
    """Pages by path; the query and the cookies of each request are kept for the test."""

    pages: Mapping[str, str | PageResponse]
    requests: list[PageRequest] = field(default_factory=list)

    def hosts(self) -> tuple[str, ...]:
        return (HOST, OTHER_HOST)

    def respond(self, request: PageRequest) -> PageResponse:
        self.requests.append(request)
        page = self.pages.get(request.path)
        if page is None:
            return html("Not found", status=404)
        return html(page) if isinstance(page, str) else page

    def asked(self, path: str) -> list[PageRequest]:
        return [r for r in self.requests if r.path == path]


def html(body: str, *, status: int = 200, delay_s: float = 0.0, **headers: str) -> PageResponse:
    head = f"<!doctype html><meta charset=utf-8><title>{status}</title>"
    return PageResponse(
        status=status,
        content_type="text/html; charset=utf-8",
        body=(body if body.startswith("<!doctype") else head + body).encode(),
        delay_s=delay_s,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def url(path: str, host: str = HOST) -> str:
    return f"http://{host}{path}"


def element(snapshot: PageSnapshot, text: str) -> PageElement:
    """The one element whose label is `text`."""
    found = [e for e in snapshot.elements if e.text == text]
    assert len(found) == 1, f"expected one {text!r}, got {[e.text for e in snapshot.elements]}"
    return found[0]
