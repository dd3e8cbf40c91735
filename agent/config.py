# SPDX-License-Identifier: Apache-2.0
"""Settings of the policy; composed into the run's config by `conf`."""

from __future__ import annotations

from dataclasses import dataclass

from agent.registry import POLICIES
from envs.registry import check_name


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Which policy is trained, and its size."""

    # A name of `agent.registry.POLICIES`, or "module:name" of a class or function that is called
    # without arguments and gives an `agent.policy.PolicyFamily`.
    name: str = "forager"
    width: int = 64  # of every hidden layer

    def __post_init__(self) -> None:
        check_name(self.name, POLICIES, what="policy.name")
        if self.width < 8:
            raise ValueError(f"policy.width: expected >= 8, got {self.width}")
