# SPDX-License-Identifier: Apache-2.0
"""Turns an `Episode` into a `Scored`, or into an `Unscored` that says why there is no score.

What holds for every part, whoever wrote it: steps that the world's clock decided are worth 0 (their
events count as used up), a layer is the sum of its parts, and each layer of each step lies in
[-1, 1]. Whatever fails while scoring is caught here, once: it becomes an `Unscored`, never a zero.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping

import numpy as np

from envs.answers import is_accepted
from envs.types import LAYERS, Episode, Scored, Unscored
from reward_server.config import RewardConfig
from reward_server.registry import Part, resolve_part

logger = logging.getLogger(__name__)

RULES_VERSION = 1  # raised when the same evidence and settings would get other rewards


class Scorer:
    """Scores episodes; holds no state between them, may be pickled.

    Raises `ValueError` at once for a part that is not registered.
    """

    def __init__(self, config: RewardConfig) -> None:
        self._config = config
        self._parts: dict[str, dict[str, Part]] = {
            layer: {name: resolve_part(name) for name in getattr(config, layer)} for layer in LAYERS
        }
        settings = hashlib.sha256(repr(config).encode()).hexdigest()[:8]
        self.version = f"{RULES_VERSION}-{settings}"

    def score(self, episode: Episode) -> Scored | Unscored:
        """The rewards of one attempt, [T, 3]; never raises."""
        if episode.stop.is_infra_failure():
            return Unscored(trajectory_id=episode.trajectory_id, reason=episode.stop.value)
        if not episode.steps:
            return Unscored(trajectory_id=episode.trajectory_id, reason="no steps")
        try:
            return self._score(episode)
        except Exception as error:
            logger.exception("trajectory %s is unscored", episode.trajectory_id)
            return Unscored(
                trajectory_id=episode.trajectory_id, reason=f"{type(error).__name__}: {error}"
            )

    def _score(self, episode: Episode) -> Scored:
        parts: dict[str, np.ndarray] = {}
        rewards = np.zeros((len(episode.steps), len(LAYERS)), dtype=np.float32)
        for column, layer in enumerate(LAYERS):
            in_layer = _within_bounds(
                {
                    name: self._evaluate(name, part, episode)
                    for name, part in self._parts[layer].items()
                }
            )
            if in_layer:
                total = np.sum(list(in_layer.values()), axis=0, dtype=np.float32)
                rewards[:, column] = np.clip(total, -1.0, 1.0)  # rounding of the sum
            parts.update(in_layer)
        return Scored(
            trajectory_id=episode.trajectory_id,
            rewards=rewards,
            parts=parts,
            is_right=bool(episode.final_answer)
            and is_accepted(episode.final_answer, episode.task.truth.answers),
            scorer_version=self.version,
        )

    def _evaluate(self, name: str, part: Part, episode: Episode) -> np.ndarray:
        """One part as float32 [T], 0 at exogenous steps; `RuntimeError` for a broken contract."""
        try:
            values = np.asarray(part(episode, self._config), dtype=np.float32)
        except Exception as error:
            raise RuntimeError(f"reward part {name!r} failed: {error}") from error
        expected = (len(episode.steps),)
        if values.shape != expected or not np.isfinite(values).all():
            raise RuntimeError(
                f"reward part {name!r}: expected finite values of shape {expected}, "
                f"got shape {values.shape}, {int((~np.isfinite(values)).sum())} not finite"
            )
        is_exogenous = np.array([step.is_exogenous for step in episode.steps])
        return np.where(is_exogenous, np.float32(0.0), values)


def _within_bounds(parts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The parts of a layer, shrunk together at steps where their sum leaves [-1, 1]."""
    if not parts:
        return {}
    size = np.abs(np.sum(list(parts.values()), axis=0, dtype=np.float32))
    scale = 1.0 / np.maximum(1.0, size)
    return {name: (values * scale).astype(np.float32) for name, values in parts.items()}
