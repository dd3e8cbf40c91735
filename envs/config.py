# SPDX-License-Identifier: Apache-2.0
"""Settings of an env; composed into the run's config by `conf`."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, field

from envs.egress.config import EgressConfig, EgressMode
from envs.registry import TASK_SETS, check_name
from envs.web.mix import KINDS, LANGUAGES, parse_mix

MAX_ELEMENTS = 4096  # rows of an element table are int16; 26 times the default is slow already


class ScreenshotMode(enum.Enum):
    """When a step takes a screenshot (15-30 ms of CPU each)."""

    NEVER = "never"
    # Of a new page that shows nothing in the window: all that can be blank, and so the base layer's
    # evidence without the cost of the others.
    EMPTY_PAGE = "empty_page"
    NEW_PAGE = "new_page"  # once per new page: evidence for the base layer
    EVERY_STEP = "every_step"


class DriverKind(enum.Enum):
    """Which browser runs the pages."""

    CHROMIUM = "chromium"
    TWIN = "twin"  # plain HTML, no browser


class Templates(enum.Enum):
    """Which wordings and layouts the articles of the embedded web use."""

    TRAIN = "train"
    HELD_OUT = "held_out"  # never seen where training used the others


@dataclass(frozen=True, kw_only=True)
class BrowserConfig:
    """Settings of one Chromium."""

    executable: str = ""  # "" looks in the usual places, see `envs.browser.discovery`
    headless: bool = True
    viewport_width_px: int = 1280
    viewport_height_px: int = 720
    quiet_ms: int = 50  # no event for this long counts as settled
    settle_cap_ms: int = 600  # a step waits no longer than this for quiet
    call_timeout_s: float = 5.0  # deadline of one call to the browser
    navigation_timeout_s: float = 8.0  # until a navigation has committed and its DOM is parsed
    launch_timeout_s: float = 30.0
    episodes_per_browser: int = 200  # a fresh browser after this many; contexts leak memory
    egress: EgressConfig = field(default_factory=EgressConfig)  # docs/SECURITY.md

    def __post_init__(self) -> None:
        for name in (
            "quiet_ms",
            "settle_cap_ms",
            "call_timeout_s",
            "navigation_timeout_s",
            "launch_timeout_s",
            "episodes_per_browser",
            "viewport_width_px",
            "viewport_height_px",
        ):
            if not getattr(self, name) > 0:  # nor a NaN
                raise ValueError(f"env.browser.{name}: expected > 0, got {getattr(self, name)}")
        limit_s = self.egress.first_byte_timeout_s
        if self.egress.mode is not EgressMode.OFF and limit_s >= self.navigation_timeout_s:
            # The browser would leave first, and the breaker never hear of it.
            raise ValueError(
                f"env.browser.egress.first_byte_timeout_s: expected less than "
                f"env.browser.navigation_timeout_s ({self.navigation_timeout_s}), got {limit_s}"
            )


@dataclass(frozen=True, kw_only=True)
class WebConfig:
    """Settings of the embedded web and its tasks."""

    num_train_worlds: int = 4  # training tasks are spread over this many worlds
    two_hop_share: float = 0.5  # of the tasks; the rest are look-ups; only without `kinds`
    # Names of `envs.web.mix.KINDS`, each "name" or "name:weight"; () leaves `two_hop_share` to say.
    kinds: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)  # of `envs.web.mix.LANGUAGES`, written likewise
    templates: Templates = Templates.TRAIN  # how articles are worded and laid out
    cookie_banner_rate: float = 0.25  # share of episodes whose sites show a cookie banner
    login_popup_rate: float = 0.15  # share of episodes in which a login pop-up opens once
    slow_resource_rate: float = 0.15  # share of episodes in which images or styles come late
    # Intensity of the further hazards: share of episodes with adverts among the hits, likewise with
    # broken images and with articles that come after their page; each is drawn by itself.
    hazards: float = 0.0

    def __post_init__(self) -> None:
        if self.kinds:
            parse_mix(self.kinds, KINDS, key="env.web.kinds")
        parse_mix(self.languages, LANGUAGES, key="env.web.languages")
        if self.num_train_worlds < 1:
            raise ValueError(
                f"env.web.num_train_worlds: expected >= 1, got {self.num_train_worlds}"
            )
        for name in (
            "two_hop_share",
            "cookie_banner_rate",
            "login_popup_rate",
            "slow_resource_rate",
            "hazards",
        ):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"env.web.{name}: expected 0..1, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """Settings of a task set made from files; see docs/CORPUS.md."""

    skip_bad: bool = False  # count bad rows instead of refusing the corpus
    cache_dir: str = ""  # of the search index; "" is ~/.cache/foragerl/corpus
    language: str = "en"  # of the pages around the documents, BCP 47

    def __post_init__(self) -> None:
        if not self.language:
            raise ValueError("env.corpus.language: expected a language such as 'en', got ''")


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """Settings of the env around a driver."""

    task_set: str = "embedded"  # a name of `envs.registry.TASK_SETS`, or "module:function"
    path: str = ""  # folder of a task set made from files; made absolute, as actors work elsewhere
    driver: DriverKind = DriverKind.CHROMIUM
    max_steps: int = 20
    max_elements: int = 160
    page_text_chars: int = 4000
    screenshot: ScreenshotMode = ScreenshotMode.NEW_PAGE
    step_timeout_s: float = 15.0  # deadline of one whole step; beyond it the browser counts as hung
    reset_timeout_s: float = 60.0
    browser: BrowserConfig = field(default_factory=BrowserConfig)
    web: WebConfig = field(default_factory=WebConfig)
    corpus: CorpusConfig = field(default_factory=CorpusConfig)

    def __post_init__(self) -> None:
        check_name(self.task_set, TASK_SETS, what="env.task_set")
        if self.task_set == "corpus" and not self.path:
            raise ValueError(
                "env.path: expected a folder with documents.jsonl and questions.jsonl, got "
                "nothing; give env.path=DIR"
            )
        if self.path:
            object.__setattr__(self, "path", os.path.abspath(os.path.expanduser(self.path)))
        if not 1 <= self.max_steps <= 200:
            raise ValueError(f"env.max_steps: expected 1..200, got {self.max_steps}")
        if not 1 <= self.max_elements <= MAX_ELEMENTS:
            raise ValueError(
                f"env.max_elements: expected 1..{MAX_ELEMENTS}, got {self.max_elements}"
            )
        for name in ("page_text_chars", "step_timeout_s", "reset_timeout_s"):
            if not getattr(self, name) > 0:  # nor a NaN
                raise ValueError(f"env.{name}: expected > 0, got {getattr(self, name)}")
