# SPDX-License-Identifier: Apache-2.0
"""What a task set provides: tasks, and the sites that an env serves while it runs one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qsl, unquote

import numpy as np

from envs.actions import FlatActions
from envs.types import Observation, Split, Task

HOST_SUFFIX = ".forage.test"  # of every site; no other host resolves


@dataclass(frozen=True, kw_only=True, slots=True)
class PageRequest:
    """One HTTP GET as a site sees it."""

    host: str  # e.g. "search.forage.test", without port
    path: str  # decoded, starts with "/"
    query: Mapping[str, str]  # decoded; the first value of a key that comes twice
    cookies: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class PageResponse:
    """What a site answers."""

    status: int
    content_type: str
    body: bytes
    delay_s: float = 0.0  # a slow resource: the server waits this long before the first byte
    location: str = ""  # target of a redirect (status 302)
    headers: Mapping[str, str] = field(default_factory=dict)


class Site(Protocol):
    """The web of one task: a pure function from request to response.

    Pages may use only these behaviours in script, so that the twin can follow them without one:
    a click on `[data-dismiss="ID"]` removes the element ID and, if the attribute `data-cookie` is
    present, sets that cookie; `[data-late="MS"]` swaps its attribute `hidden` MS milliseconds after
    the page was read, so that late content comes and what held its place goes. Everything else is
    links and GET forms. Text fields say `autocomplete="off"`: Chromium would fill the others again
    on the way back.
    """

    def hosts(self) -> tuple[str, ...]:
        """Host names served; every other host is unreachable."""

    def respond(self, request: PageRequest) -> PageResponse:
        """Answer one request; unknown pages are a 404 page, never an exception."""


def page_request(host: str, target: str, cookies: Mapping[str, str]) -> PageRequest:
    """The request for `target`: a path with its query, as it stands on the request line."""
    path, _, text = target.partition("?")
    query: dict[str, str] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        query.setdefault(key, value)
    return PageRequest(host=host, path=unquote(path) or "/", query=query, cookies=cookies)


def answer(site: Site, request: PageRequest) -> PageResponse:
    """What `site` answers; an error page when none of its hosts is asked."""
    if request.host in site.hosts():
        return site.respond(request)
    return error_page(HTTPStatus.BAD_GATEWAY, f"No site of this task is called {request.host}.")


def error_page(status: HTTPStatus, text: str) -> PageResponse:
    """A page that says what is wrong with a request."""
    head = f"<!doctype html><title>{status.value}</title>"
    body = f"{head}<h1>{status.phrase}</h1><p>{escape(text)}</p>"
    return PageResponse(status=status, content_type="text/html; charset=utf-8", body=body.encode())


class TaskSet(Protocol):
    """A deterministic sequence of tasks per split, and the site of each."""

    def task(self, split: Split, index: int) -> Task:
        """Task `index` (>= 0) of a split; the same on every machine.

        Raises `ValueError` beyond `num_tasks`.
        """

    def num_tasks(self, split: Split) -> int | None:
        """How many tasks a split has; None without end."""

    def site(self, task: Task) -> Site:
        """The site on which `task` is worked on."""


class Teacher(Protocol):
    """Scores actions with knowledge that no agent may have; injected by `actors`."""

    def utilities(self, task: Task, observation: Observation, actions: FlatActions) -> np.ndarray:
        """Utility of every legal action, float32 [A] in [-1, 1]; higher is better.

        [0] for a task that the teacher knows nothing of; the step term leaves such states out.
        """
