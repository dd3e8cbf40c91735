# SPDX-License-Identifier: Apache-2.0
"""Settings of the policy; composed into the run's config by `conf`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from agent.registry import POLICIES
from envs.registry import check_name

# What the forager can look at, in the order of the gate's rows; `docs/POLICY.md`.
STREAMS = ("page", "intent", "diff", "history", "vision")
DEFAULT_STREAMS = ("page", "intent")
# `policy.vision_weights` that are no file.
NO_WEIGHTS, RANDOM_WEIGHTS, DOWNLOADED_WEIGHTS = "none", "random", "download"
_WORDS = (NO_WEIGHTS, RANDOM_WEIGHTS, DOWNLOADED_WEIGHTS)


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Which policy is trained, its size and what it looks at."""

    # A name of `agent.registry.POLICIES`, or "module:name" of a class or function that is called
    # without arguments and gives an `agent.policy.PolicyFamily`.
    name: str = "forager"
    width: int = 64  # of every hidden layer
    streams: tuple[str, ...] = DEFAULT_STREAMS  # of STREAMS; kept in that order
    # Of the picture's encoder: a file of torchvision's MobileNetV3-Large, `download` for
    # torchvision's own, `random` for fixed random ones; `none` leaves the vision stream off.
    vision_weights: str = NO_WEIGHTS
    train_backbone: bool = False  # train the picture's encoder, too; then steps keep the JPEG
    # Whether texts are held against question and notes; off, only what they look like is left.
    match_features: bool = True

    def __post_init__(self) -> None:
        check_name(self.name, POLICIES, what="policy.name")
        if self.width < 8:
            raise ValueError(f"policy.width: expected >= 8, got {self.width}")
        self._check_streams()
        object.__setattr__(self, "streams", tuple(s for s in STREAMS if s in self.streams))
        self._check_vision()

    def _check_streams(self) -> None:
        for name in self.streams:
            if name not in STREAMS:
                near = difflib.get_close_matches(str(name), STREAMS, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(
                    f"policy.streams: expected names of {list(STREAMS)}, got {name!r}{hint}"
                )
        if not self.streams or len(set(self.streams)) < len(self.streams):
            raise ValueError(
                "policy.streams: expected at least one name and each once, got "
                f"{list(self.streams)}"
            )

    def _check_vision(self) -> None:
        if self.vision_weights not in _WORDS and not Path(self.vision_weights).is_file():
            raise ValueError(
                f"policy.vision_weights: expected one of {list(_WORDS)} or a file, got "
                f"{self.vision_weights!r}, which is none"
            )
        if not self.active_streams():
            raise ValueError(
                "policy.streams: expected a stream that is on, got vision alone, which is off "
                "with policy.vision_weights=none"
            )
        if self.train_backbone and "vision" not in self.active_streams():
            raise ValueError(
                "policy.train_backbone: expected vision among policy.streams and "
                f"policy.vision_weights other than none, got {list(self.streams)} and "
                f"{self.vision_weights!r}"
            )

    def active_streams(self) -> tuple[str, ...]:
        """The streams that are built: without weights there is no vision."""
        has_weights = self.vision_weights != NO_WEIGHTS
        return tuple(name for name in self.streams if name != "vision" or has_weights)
