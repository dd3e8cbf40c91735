# SPDX-License-Identifier: Apache-2.0
"""From scored groups to training samples: which step gets which advantage, and which gets none.

No torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agent.situation import situation_name, unpack_situation
from agent.types import StepRecord
from envs.types import LAYERS
from learner.baselines import group_deviations
from learner.config import Baseline, ObjectiveConfig
from learner.metrics import Means
from learner.returns import LayerScales, advantages, discounted_returns
from learner.types import Group

Deviations = list[np.ndarray]  # of the members of one group, each [T, L]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One step, with what the learner worked out about it."""

    record: StepRecord
    advantage: float
    in_outcome: bool  # whether it carries policy-gradient loss
    is_current: bool  # whether the learner's present weights took it
    is_replayed: bool  # whether the learner has seen it before
    episode: int = 0  # which of the batch's episodes it belongs to


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """The steps of one learner batch."""

    samples: list[Sample]
    num_episodes: int
    steps_per_unit: float  # steps / (episodes * running mean length); turns a mean over steps into
    # the outcome term, whose denominator knows no episode's own length
    mean_abs_advantages: dict[str, float]  # by group id


def replayed_sample(record: StepRecord) -> Sample:
    """A step from the reservoir: it carries no policy-gradient loss again."""
    return Sample(
        record=record, advantage=0.0, in_outcome=False, is_current=False, is_replayed=True
    )


class CreditAssigner:
    """Keeps the running layer scales and mean episode length, and applies them to each batch."""

    def __init__(self, config: ObjectiveConfig, *, max_lag: int, acting_lag: float = 0.0) -> None:
        """`acting_lag` versions are added to every step's lag: its weights were an average."""
        self._config = config
        self._max_lag = max_lag
        self._acting_lag = acting_lag
        self._layer_scales = LayerScales(
            len(LAYERS), decay=config.scale_decay, min_scale=config.min_scale
        )
        self._mean_steps = 0.0  # 0 before the first batch

    @property
    def scales(self) -> np.ndarray:
        """float64 [3], what each layer's deviations are divided by."""
        return self._layer_scales.scales

    def assign(
        self,
        groups: Sequence[Group],
        *,
        policy_version: int,
        means: Means,
        deviations: Sequence[Deviations] | None = None,
    ) -> Batch:
        """Samples of every step, in the order of the groups; `ValueError` without any step.

        `policy_version` is the learner's present version. Steps older than the max lag and
        exogenous steps are masked out of the outcome term and counted. Replayed groups are judged
        by the present scales, which they do not move, and weigh what their draw corrects for: the
        outcome term is linear in an advantage and its weight, so the weight goes into it.
        `deviations` are a critic's, by group; without, the group itself is the baseline.
        """
        if deviations is None:
            deviations = [self._group_deviations(group) for group in groups]
        fresh = [d for g, d in zip(groups, deviations, strict=True) if not g.is_replayed]
        self._layer_scales.update(fresh)
        samples: list[Sample] = []
        sizes: dict[str, float] = {}
        num_episodes = 0
        for group, of_group in zip(groups, deviations, strict=True):
            of_members = self._of_group(group, of_group, policy_version, num_episodes, means)
            num_episodes += len(of_members)
            flat = np.concatenate([values for values, _ in of_members])
            sizes[group.group_id] = float(np.mean(np.abs(flat))) if len(flat) else 0.0
            samples += [sample for _, part in of_members for sample in part]
        if not samples:
            raise ValueError(f"groups: expected some with steps, got {num_episodes} without")
        means.add_total("learner/replayed_groups", len(groups) - len(fresh))
        means.add_total("learner/episodes", sum(len(deviation) for deviation in fresh))
        mean_steps = len(samples) / num_episodes
        if fresh:
            lengths = [len(member) for group in fresh for member in group]
            fresh_steps = sum(lengths) / len(lengths)
            decay = self._config.scale_decay if self._mean_steps else 0.0
            self._mean_steps = decay * self._mean_steps + (1 - decay) * fresh_steps
        return Batch(
            samples=samples,
            num_episodes=num_episodes,
            steps_per_unit=mean_steps / (self._mean_steps or mean_steps),
            mean_abs_advantages=sizes,
        )

    def _group_deviations(self, group: Group) -> Deviations:
        returns = [
            discounted_returns(m.score.rewards, self._config.discounts) for m in group.members
        ]
        names: list[list[str]] = [[] for _ in returns]
        if self._config.baseline is Baseline.ANCHORED:
            names = [
                [situation_name(unpack_situation(s.situation)) for s in m.trajectory.steps]
                for m in group.members
            ]
        return group_deviations(self._config.baseline, returns, names)

    def _of_group(
        self,
        group: Group,
        deviations: Deviations,
        policy_version: int,
        first_episode: int,
        means: Means,
    ) -> list[tuple[np.ndarray, list[Sample]]]:
        """Advantages [T], without the group's weight, and samples of each member."""
        if not group.is_replayed:
            varies = any(np.any(deviation) for deviation in deviations)
            means.add_total("learner/groups_without_signal", not varies)
        result = []
        pairs = zip(group.members, deviations, strict=True)
        for episode, (member, deviation) in enumerate(pairs, start=first_episode):
            values = advantages(
                deviation,
                layer_weights=self._config.layer_weights or member.trajectory.layer_weights,
                scales=self.scales,
                max_advantage=self._config.max_advantage,
            )
            steps = zip(member.trajectory.steps, values.tolist(), strict=True)
            samples = [self._sample(s, a, group, policy_version, episode, means) for s, a in steps]
            result.append((values, samples))
        return result

    def _sample(
        self,
        step: StepRecord,
        advantage: float,
        group: Group,
        policy_version: int,
        episode: int,
        means: Means,
    ) -> Sample:
        lag = policy_version - step.policy_version
        is_stale = lag + self._acting_lag > self._max_lag
        means.add("learner/lag_mean_versions", lag)
        means.add_max("learner/lag_max_versions", lag)
        means.add_total("learner/steps", 1)
        means.add_total("learner/steps_stale", is_stale)
        means.add_total("learner/steps_exogenous", step.is_exogenous)
        means.add("learner/advantage_mean_abs", abs(advantage))
        return Sample(
            record=step,
            advantage=advantage * group.outcome_weight,
            in_outcome=not (is_stale or step.is_exogenous),
            is_current=lag == 0 and self._acting_lag == 0.0,
            is_replayed=group.is_replayed,
            episode=episode,
        )

    def state_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"scales": self._layer_scales.state_dict(), "mean_steps": self._mean_steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`."""
        self._layer_scales.load_state_dict(state["scales"])
        self._mean_steps = state["mean_steps"]
