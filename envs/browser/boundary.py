# SPDX-License-Identifier: Apache-2.0
"""The boundary around one browser: what it may reach, and what a step hears of refusals.

Without a proxy the browser's resolver rules are the boundary: nothing but the task's sites
resolves. With one, `envs.egress` judges every connection. What no proxy can see is judged by the
tab: the scheme of the document that it shows.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from envs.browser.tab import Tab
from envs.driver import PAGE_REFUSED, Effect
from envs.egress.config import EgressConfig, EgressMode
from envs.egress.proxy import EgressProxy
from envs.egress.target import HTTP_PORT, Target, parse_authority

_HTTPS_PORT = 443
# Beyond that many a refused page is still refused, but its step does not say so.
_MAX_REMEMBERED = 1024


class Boundary:
    """Owns the proxy, if the config asks for one; lives as long as its driver."""

    def __init__(self, config: EgressConfig) -> None:
        self.proxy = None if config.mode is EgressMode.OFF else EgressProxy(config)
        self._refused: set[str] = set()  # authorities, of this episode
        self._untold: list[str] = []  # refusals that no effect has told of

    @property
    def port(self) -> int:
        """The proxy's port; 0 without one."""
        return 0 if self.proxy is None else self.proxy.port

    async def start(self, site_port: int) -> None:
        """Listen, if there is a proxy, in front of the site server at `site_port`."""
        if self.proxy is not None:
            await self.proxy.start(site_port)

    async def close(self) -> None:
        """Give the port back."""
        if self.proxy is not None:
            await self.proxy.close()

    def begin_episode(self) -> None:
        """Nothing of the last episode is told."""
        self._refused.clear()
        self._untold.clear()
        if self.proxy is not None:
            self.proxy.begin_episode()

    def told(self, effect: Effect, tab: Tab | None) -> Effect:
        """`effect` with what was refused since the last one, and whether `tab` shows that."""
        self._collect(tab)
        refusals, self._untold = tuple(self._untold), []
        if effect.reason == "navigation_failed" and tab is not None and self.is_refused(tab):
            effect = replace(effect, reason=PAGE_REFUSED)
        if any(text.endswith(" document") for text in refusals):
            effect = replace(effect, reason=PAGE_REFUSED)
        return replace(effect, refusals=refusals) if refusals else effect

    def is_refused(self, tab: Tab) -> bool:
        """Whether the tab shows the browser's error page in place of one that was refused."""
        self._collect(tab)
        return tab.is_failed and _authority(tab.url) in self._refused

    def _collect(self, tab: Tab | None) -> None:
        if self.proxy is not None:
            for refusal in self.proxy.take_refusals():
                self._untold.append(str(refusal))
                if refusal.authority and len(self._refused) < _MAX_REMEMBERED:
                    self._refused.add(refusal.authority)
        if tab is not None:
            self._untold += [f"{scheme}: document" for scheme in tab.refused_schemes]
            tab.refused_schemes.clear()


def _authority(url: str) -> str:
    """Canonical "host:port" of a URL; "" when it has none."""
    try:
        parts = urlsplit(url)
        port = _HTTPS_PORT if parts.scheme in ("https", "wss") else HTTP_PORT
        host, port = parse_authority(parts.netloc, default_port=port)
    except ValueError:
        return ""
    return Target(host=host, port=port).authority
