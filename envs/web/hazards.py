# SPDX-License-Identifier: Apache-2.0
"""What makes a task's web hard beside its pages; drawn from the task's seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from envs.config import WebConfig
from envs.web.draw import Draw
from envs.web.texts.languages import LANGUAGES, page_texts

# Labels of the button that closes the login pop-up, in every language.
DISMISS_LABELS = tuple(label for each in LANGUAGES.values() for label in each.page.dismiss_labels)
_MIN_DELAY_S, _MAX_DELAY_S = 0.3, 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Hazards:
    """The hazards of one episode's sites."""

    banner_label: str  # of the cookie banner's button; "" without a banner
    popup_host: str  # host whose pages open the login pop-up until it is closed; "" without one
    popup_label: str
    slow_suffix: str  # resources whose path ends so come late; "" without a slow resource
    delay_s: float
    advert_seed: int

    def delay_of(self, path: str) -> float:
        """Seconds that the server waits before it sends a resource."""
        return self.delay_s if self.slow_suffix and path.endswith(self.slow_suffix) else 0.0

    def shows_banner(self, host: str, cookies: Mapping[str, str]) -> bool:
        """Whether a page of `host` carries the cookie banner."""
        return bool(self.banner_label) and banner_cookie(host) not in cookies

    def shows_popup(self, host: str, cookies: Mapping[str, str]) -> bool:
        """Whether a page of `host` is covered by the login pop-up."""
        return host == self.popup_host and popup_cookie(host) not in cookies


def banner_cookie(host: str) -> str:
    """Name of the cookie that keeps the banner away; each host has its own."""
    return f"consent_{host.split('.')[0]}"


def popup_cookie(host: str) -> str:
    """Name of the cookie that keeps the pop-up away; each host has its own."""
    return f"popup_{host.split('.')[0]}"


def draw_hazards(
    config: WebConfig, task_seed: int, content_hosts: tuple[str, ...], language: str = "en"
) -> Hazards:
    """The hazards of a task; the pop-up opens on one of `content_hosts`."""
    texts = page_texts(language)
    draw = Draw("hazards", task_seed)
    has_banner = draw.chance(config.cookie_banner_rate)
    has_popup = draw.chance(config.login_popup_rate)
    is_slow = draw.chance(config.slow_resource_rate)
    delay_s = _MIN_DELAY_S + draw.fraction() * (_MAX_DELAY_S - _MIN_DELAY_S)
    banner_label, popup_label = draw.pick(texts.banner_labels), draw.pick(texts.dismiss_labels)
    popup_host, slow_suffix = draw.pick(content_hosts), draw.pick((".svg", ".css"))
    return Hazards(
        banner_label=banner_label if has_banner else "",
        popup_host=popup_host if has_popup else "",
        popup_label=popup_label,
        slow_suffix=slow_suffix if is_slow else "",
        delay_s=delay_s,
        advert_seed=draw.below(1 << 30),
    )


NO_HAZARDS = Hazards(
    banner_label="",
    popup_host="",
    popup_label=DISMISS_LABELS[0],
    slow_suffix="",
    delay_s=0.0,
    advert_seed=0,
)
