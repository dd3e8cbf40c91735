# SPDX-License-Identifier: Apache-2.0
"""Tries a version on held-out tasks now and then while training goes on.

Who waits for whom: `run` waits for a version that is due (woken by `offer`), then tries it one
attempt at a time; each attempt waits for an idle rollout worker like those of training, which go
on meanwhile. A version that becomes due while another is tried waits its turn; of several the
newest is tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from actors.config import EvaluationConfig
from actors.evaluation import Evaluation, evaluate
from actors.pool import RewardPool, RolloutPool
from actors.types import POLICY_AGENT, Published
from envs.types import Task

VALIDATION = "validation"  # the name of such evaluations in metrics and progress


class Validation:
    """Evaluations at pinned versions, one after the other."""

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        rollouts: RolloutPool,
        rewards: RewardPool,
        config: EvaluationConfig,
        seed: int,
        policy_version: int,
        on_result: Callable[[int, Evaluation], None],
    ) -> None:
        """`policy_version` is the last one that was tried, also before the run went back.

        `on_result` is told each version that was tried, and how it did.
        """
        self._tasks = tasks
        self._rollouts = rollouts
        self._rewards = rewards
        self._config = config
        self._seed = seed
        self._last_version = policy_version
        self._on_result = on_result
        self._due: Published | None = None
        self._changed = asyncio.Event()
        self._is_over = False

    def offer(self, published: Published) -> None:
        """A new version: it is due when a multiple of the interval was reached since the last."""
        every = self._config.validate_every_versions
        if published.policy_version // every > self._last_version // every:
            self._due = published
            self._changed.set()
        self._last_version = published.policy_version

    def end(self) -> None:
        """Training is over: `run` returns when the attempt under way has ended."""
        self._is_over = True
        self._changed.set()

    async def run(self) -> None:
        """Until `end`; a version that was not tried to the end is not reported."""
        while not self._is_over:
            await self._changed.wait()
            self._changed.clear()
            published, self._due = self._due, None
            if published is not None:
                evaluation = await self._try(published)
                if not self._is_over:
                    self._on_result(published.policy_version, evaluation)

    async def _try(self, published: Published) -> Evaluation:
        version = published.policy_version
        return await evaluate(
            POLICY_AGENT,
            self._tasks,
            rollouts=self._rollouts,
            rewards=self._rewards,
            config=self._config,
            seed=self._seed,
            phase=f"{VALIDATION}.{version}",
            num_lanes=1,
            pinned=published,
            is_over=lambda: self._is_over,
        )
