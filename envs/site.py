# SPDX-License-Identifier: Apache-2.0
"""What a task set provides: tasks, and the sites that an env serves while it runs one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from envs.actions import FlatActions
from envs.types import Observation, Split, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class PageRequest:
    """One HTTP GET as a site sees it."""

    host: str  # e.g. "search.forage.test", without port
    path: str  # decoded, starts with "/"
    query: Mapping[str, str]
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

    Pages may use only two behaviours in script, so that the twin can follow them without one:
    a click on `[data-dismiss="ID"]` removes the element ID and, if the attribute `data-cookie` is
    present, sets that cookie; everything else is links and GET forms.
    """

    def hosts(self) -> tuple[str, ...]:
        """Host names served; every other host is unreachable."""

    def respond(self, request: PageRequest) -> PageResponse:
        """Answer one request; unknown pages are a 404 page, never an exception."""


class TaskSet(Protocol):
    """A deterministic sequence of tasks per split, and the site of each."""

    def task(self, split: Split, index: int) -> Task:
        """Task `index` (>= 0, without end) of a split; the same on every machine."""

    def site(self, task: Task) -> Site:
        """The site on which `task` is worked on."""


class Teacher(Protocol):
    """Scores actions with knowledge that no agent may have; injected by `actors`."""

    def utilities(self, task: Task, observation: Observation, actions: FlatActions) -> np.ndarray:
        """Utility of every legal action, float32 [A] in [-1, 1]; higher is better.

        [0] for a task that the teacher knows nothing of; the step term leaves such states out.
        """
