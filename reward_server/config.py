# SPDX-License-Identifier: Apache-2.0
"""Settings of the scorer; composed into the run's config by `conf`.

Amounts are per event, before the layer weights of the task. Penalties are written as negative
amounts. The defaults see to it that no amount of waiting, reloading or going back and forth pays,
and the right answer outweighs everything that leads to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from reward_server.registry import check_part


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """Which parts make up each layer, and what their events are worth."""

    # Names of `reward_server.registry.PARTS`, or "module:function".
    base: tuple[str, ...] = ("new_page", "images", "blank_page", "invalid_action")
    nav: tuple[str, ...] = ("evidence_visit", "potential")
    semantic: tuple[str, ...] = ("evidence_extracted", "answer")

    # base: the page works
    new_page: float = 0.2  # a URL finished loading for the first time
    failed_images: float = -0.2  # all images of a new page failed; in proportion for some
    blank_page: float = -0.2  # a new page rendered as an almost uniform picture
    invalid_action: float = -0.2  # an action that had no effect
    base_cap: float = 1.0  # no part of the layer adds up to more than this in one episode
    blank_std: float = 2.0  # grey levels (of 255); a line of text on white has about 10

    # nav: getting closer
    evidence_visit: float = 0.5  # first visit to a page that states evidence
    potential: float = 0.5  # closeness rises from 0 to 1
    potential_discount: float = 1.0  # < 1 makes standing still cost, see `layers.potential`

    # semantic: the answer
    evidence_extracted: float = 0.3  # first extraction of an evidence item
    right_answer: float = 1.0
    wrong_answer: float = 0.0  # below 0, agents learnt never to answer

    def __post_init__(self) -> None:
        for layer in ("base", "nav", "semantic"):  # composed configs bring lists
            object.__setattr__(self, layer, tuple(getattr(self, layer)))
            for part in getattr(self, layer):
                check_part(part, key=f"reward.{layer}")
        names = (*self.base, *self.nav, *self.semantic)
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"reward: expected each part in one layer once, got {repeated} twice")
        for name in ("new_page", "evidence_visit", "potential", "evidence_extracted"):
            self._check_range(name, 0.0, 1.0)
        for name in ("failed_images", "blank_page", "invalid_action", "wrong_answer"):
            self._check_range(name, -1.0, 0.0)
        self._check_range("right_answer", 0.0, 1.0)
        self._check_range("potential_discount", 0.0, 1.0)
        self._check_range("blank_std", 0.0, 255.0)
        if not self.base_cap > 0:
            raise ValueError(f"reward.base_cap: expected > 0, got {self.base_cap}")

    def _check_range(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        if not low <= value <= high:
            raise ValueError(f"reward.{name}: expected {low:g}..{high:g}, got {value}")
