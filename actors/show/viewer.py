# SPDX-License-Identifier: Apache-2.0
"""A server on the loopback to browse the archived attempts of a run, or to compare two runs.

Reads only what lies in the runs' `episodes` folders; a run that goes on may be watched: the list is
read again with each page.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from actors.archive import archived_paths, read_episode, read_frame, read_head
from actors.show.viewer_pages import (
    Entry,
    compare_html,
    episode_html,
    index_html,
    read_filter,
)

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
_SHUTDOWN_TIMEOUT_S = 1.0


class Viewer:
    """The pages of one or two runs; `start` chooses a port when 0 is asked for."""

    def __init__(self, runs: Sequence[Path]) -> None:
        """`runs` are the folders of one or two runs."""
        self._runs = [run.resolve() for run in runs]
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, port: int) -> None:
        """Listen on the loopback; `OSError` when the port is taken."""
        app = web.Application()
        app.router.add_get("/", self._index)
        app.router.add_get("/episode/{run}/{name}", self._episode)
        app.router.add_get("/compare", self._compare)
        app.router.add_get("/frame/{run}/{name}/{number}.jpg", self._frame)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_TIMEOUT_S)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        self.port = int(runner.addresses[0][1])

    async def close(self) -> None:
        """Give the port back; safe to call twice."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def _entries(self) -> list[Entry]:
        return [
            Entry(run=number, run_name=run.name, path=path, head=read_head(path))
            for number, run in enumerate(self._runs)
            for path in archived_paths(run)
        ]

    def _find(self, key: str) -> Entry:
        """The attempt that an address names; only what is listed can be read."""
        for entry in self._entries():
            if entry.key == key:
                return entry
        raise web.HTTPNotFound(text=f"no archived attempt is called {key}")

    async def _index(self, request: web.Request) -> web.Response:
        return _html(index_html(self._entries(), read_filter(request.query)))

    async def _episode(self, request: web.Request) -> web.Response:
        entry = self._find(f"{request.match_info['run']}/{request.match_info['name']}")
        episode = read_episode(entry.path)
        return _html(episode_html(entry, episode, _step(request, len(episode.scenes))))

    async def _compare(self, request: web.Request) -> web.Response:
        entries = [self._find(request.query.get(side, "")) for side in ("a", "b")]
        pair = [(entry, read_episode(entry.path)) for entry in entries]
        step = _step(request, max(len(episode.scenes) for _, episode in pair))
        return _html(compare_html(pair, step, self._entries()))

    async def _frame(self, request: web.Request) -> web.Response:
        entry = self._find(f"{request.match_info['run']}/{request.match_info['name']}")
        number = request.match_info["number"]
        frame = read_frame(entry.path, int(number)) if number.isdecimal() else b""
        if not frame:
            raise web.HTTPNotFound(text="this step has no picture")
        return web.Response(body=frame, content_type="image/jpeg")


def _step(request: web.Request, num_scenes: int) -> int:
    text = request.query.get("step", "0")
    return min(int(text), num_scenes - 1) if text.isdecimal() else 0


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")


def view(runs: Sequence[Path], port: int) -> None:
    """Serve until interrupted; `ValueError` when a run has nothing to see."""
    for run in runs:
        if not archived_paths(run):
            raise ValueError(
                f"expected a run's folder with archived attempts, got {run}; runs of `train` and "
                "`evaluate` have them unless logger.episodes_per_kind is 0"
            )
    asyncio.run(_serve(Viewer(runs), port))


async def _serve(viewer: Viewer, port: int) -> None:
    await viewer.start(port)
    logger.info("http://%s:%d/ (Ctrl-C ends it)", HOST, viewer.port)
    try:
        await asyncio.Event().wait()
    finally:
        await viewer.close()
