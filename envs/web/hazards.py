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
# Longer than a page may take to settle, shorter than the longest wait.
_MIN_LATE_MS, _MAX_LATE_MS = 900, 1700
_LATE_SHARE = 0.7  # of the articles of an episode with late ones
_BROKEN_SHARE = 0.5  # of the pictures of an episode with broken ones


@dataclass(frozen=True, kw_only=True, slots=True)
class Hazards:
    """The hazards of one episode's sites."""

    banner_label: str  # of the cookie banner's button; "" without a banner
    popup_host: str  # host whose pages open the login pop-up until it is closed; "" without one
    popup_label: str
    slow_suffix: str  # resources whose path ends so come late; "" without a slow resource
    delay_s: float
    advert_seed: int
    has_advert_hits: bool = False  # adverts that look like hits stand among them
    breaks_images: bool = False  # part of the pictures cannot be loaded
    late_ms: int = 0  # most articles come so long after their page; 0 for at once

    def is_broken(self, path: str) -> bool:
        """Whether the picture at `path` cannot be loaded."""
        return self.breaks_images and _share("broken", self.advert_seed, path) < _BROKEN_SHARE

    def lateness_of(self, path: str) -> int:
        """Milliseconds that the article at `path` comes after its page."""
        is_late = self.late_ms and _share("late", self.advert_seed, path) < _LATE_SHARE
        return self.late_ms if is_late else 0

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
    further = Draw("further hazards", task_seed)
    has_advert_hits = further.chance(config.hazards)
    breaks_images = further.chance(config.hazards)
    comes_late = further.chance(config.hazards)
    late_ms = further.between(_MIN_LATE_MS, _MAX_LATE_MS)
    return Hazards(
        banner_label=banner_label if has_banner else "",
        popup_host=popup_host if has_popup else "",
        popup_label=popup_label,
        slow_suffix=slow_suffix if is_slow else "",
        delay_s=delay_s,
        advert_seed=draw.below(1 << 30),
        has_advert_hits=has_advert_hits,
        breaks_images=breaks_images,
        late_ms=late_ms if comes_late else 0,
    )


def _share(*parts: object) -> float:
    """A number in [0, 1) that follows from its parts."""
    return Draw(*parts).fraction()


NO_HAZARDS = Hazards(
    banner_label="",
    popup_host="",
    popup_label=DISMISS_LABELS[0],
    slow_suffix="",
    delay_s=0.0,
    advert_seed=0,
)
