# SPDX-License-Identifier: Apache-2.0
"""Settings of the objective, the learner and the replay; composed into the run's config by `conf`.

`LearnerConfig` is the group `algo`, `ReplayConfig` the group `replay`. The defaults are the tried
settings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field


def _require(prefix: str, config: object, names: Iterable[str], low: float, high: float) -> None:
    """Raise `ValueError` with the full key for a field outside [low, high] or not finite."""
    for name in names:
        value = getattr(config, name)
        if not (math.isfinite(value) and low <= value <= high):
            expected = f"{low:g}..{high:g}" if math.isfinite(high) else f">= {low:g}"
            raise ValueError(f"{prefix}.{name}: expected {expected}, got {value}")


def _require_positive(prefix: str, config: object, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(config, name)
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{prefix}.{name}: expected > 0, got {value}")


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig:
    """What is minimised: `outcome_weight * L_out + step_weight * L_step + lam * KL - entropy`."""

    outcome_weight: float = 1.0  # of the group-relative outcome term; 0 leaves the step term alone
    step_weight: float = 1.0  # of the listwise teacher term; 0 is outcome-only learning

    discount_base: float = 0.90  # per step; a loaded page answers the action just taken
    discount_nav: float = 0.97
    discount_semantic: float = 1.0  # episodes are short and finite: an answer is never discounted
    scale_decay: float = 0.9  # of the running layer scales and of the running mean length
    min_scale: float = 0.1  # reward units; floor of a layer's scale, so that noise is not blown up
    max_advantage: float = 5.0  # advantages are clipped to +- this

    clip_low: float = 0.2  # the policy ratio is clipped to [1 - clip_low, 1 + clip_high]
    clip_high: float = 0.28
    dual_clip: float = 3.0  # largest ratio that a negative advantage is multiplied with
    max_importance_ratio: float = 5.0  # prox / behaviour beyond it masks the step, and is counted

    step_anchor: float = 1.0  # b_h: how strongly the step term holds on to the reference
    step_temperature: float = 0.1  # tau_u, in units of the teacher's utility

    kl_initial: float = 0.05  # lam, weight of the action-aware KL to the reference
    kl_min: float = 1e-4  # lam stays within [kl_min, kl_max]
    kl_max: float = 1.0
    kl_target_nats: float = 0.5  # per decision; what the controller steers the mean KL towards

    entropy_type: float = 0.01  # weight of the type entropy, as a fraction of its maximum
    entropy_argument: float = 0.003  # weight of the argument entropies, likewise

    def __post_init__(self) -> None:
        key = "algo.objective"
        weights = ("outcome_weight", "step_weight", "entropy_type", "entropy_argument")
        _require(key, self, weights, 0.0, math.inf)
        discounts = ("discount_base", "discount_nav", "discount_semantic")
        _require(key, self, discounts, 0.0, 1.0)
        _require(key, self, ("scale_decay", "clip_low"), 0.0, 1.0)
        _require(key, self, ("clip_high",), 0.0, math.inf)
        _require(key, self, ("dual_clip", "max_importance_ratio"), 1.0, math.inf)
        positive = ("min_scale", "max_advantage", "step_anchor", "step_temperature", "kl_min")
        _require_positive(key, self, (*positive, "kl_target_nats"))
        _require(key, self, ("kl_max",), self.kl_min, math.inf)
        _require(key, self, ("kl_initial",), self.kl_min, self.kl_max)

    @property
    def discounts(self) -> tuple[float, float, float]:
        """One discount per reward layer, in the order of `envs.types.LAYERS`."""
        return (self.discount_base, self.discount_nav, self.discount_semantic)


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """How the objective is optimised."""

    group_size: int = 4  # attempts at one task that are compared with each other
    groups_per_update: int = 2  # groups in one learner batch; few, so that new states are seen soon

    learning_rate: float = 2e-3  # Adam, at progress 0
    final_learning_rate: float = 2e-4  # at progress 1, linear in between
    max_grad_norm: float = 1.0
    epochs: int = 2  # passes over the fresh steps
    minibatch_steps: int = 128  # states in a minibatch of fresh steps

    step_replay_updates: int = 16  # step-term updates from the reservoir after each learner batch
    step_replay_states: int = 64  # states in each of them
    reservoir_bytes: int = 400_000_000  # bound of the stored steps; the oldest leave first

    reference_rate: float = 0.1  # EMA rate of the reference, once per learner batch
    seed: int = 0  # of the minibatch order and of the replay draws
    device: str = "cpu"  # where the policy is trained
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)

    def __post_init__(self) -> None:
        key = "algo"
        counts = ("group_size", "groups_per_update", "epochs", "minibatch_steps")
        _require(key, self, (*counts, "step_replay_states"), 1, math.inf)
        _require(key, self, ("step_replay_updates", "reservoir_bytes"), 0, math.inf)
        _require_positive(key, self, ("learning_rate", "max_grad_norm"))
        _require(key, self, ("final_learning_rate",), 0.0, self.learning_rate)
        _require(key, self, ("reference_rate",), 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class ReplayConfig:
    """How finished attempts wait for the learner, and which of them it sees again."""

    max_lag: int = 8  # versions; older steps carry no policy-gradient loss, replayed or not
    max_bytes: int = 500_000_000  # of all groups held; beyond it used ones leave, then ready ones

    # Used groups come back to the outcome term only where this is above 0. The fresh groups of a
    # batch are never fewer than the replayed ones.
    replayed_groups: int = 0  # added to each batch
    max_uses: int = 3  # times that a group is trained on, the first one included
    priority_advantage: float = 1.0  # of a group's mean absolute advantage
    priority_return: float = 0.1  # of its mean return, where that is positive
    priority_length: float = 0.1  # of its mean length, as a share of the longest group's
    priority_floor: float = 0.01  # so that every group can be drawn
    priority_exponent: float = 0.6  # 0 draws uniformly
    age_decay_versions: float = 8.0  # a priority falls by e over so many versions
    importance_exponent: float = 1.0  # 1 corrects fully for the priorities, 0 not at all
    max_importance_weight: float = 10.0

    def __post_init__(self) -> None:
        key = "replay"
        _require(key, self, ("max_lag", "replayed_groups"), 0, math.inf)
        _require(key, self, ("max_bytes", "max_uses", "max_importance_weight"), 1, math.inf)
        parts = ("priority_advantage", "priority_return", "priority_length")
        _require(key, self, parts, 0.0, math.inf)
        _require(key, self, ("priority_exponent", "importance_exponent"), 0.0, 1.0)
        _require_positive(key, self, ("priority_floor", "age_decay_versions"))
