# SPDX-License-Identifier: Apache-2.0
"""The random masked policy: a legal type at random, then legal arguments at random."""

from __future__ import annotations

import numpy as np

from agent.forager.features import model_inputs
from agent.types import MAX_HEADS, Decision
from envs.actions import ACTION_SPECS, FlatActions, Head, enumerate_actions
from envs.types import Observation


class RandomAgent:
    """Uniform over legal types, then over each argument; its log-probabilities are exact."""

    # Types this agent never takes although they are legal.
    excluded: frozenset[str] = frozenset()

    async def act(self, observation: Observation, *, seed: int) -> Decision:
        """Draw one action."""
        rng = np.random.default_rng(seed)
        actions = enumerate_actions(observation.mask)
        kinds = [k for k in np.unique(actions.type) if ACTION_SPECS[k].name not in self.excluded]
        kind = int(rng.choice(kinds))
        row, log_prob_by_head = _draw(actions, kind, rng)
        log_prob_by_head[0] = -np.log(len(kinds))
        return Decision(
            action=actions.action(row),
            inputs=model_inputs(observation),
            log_prob_by_head=log_prob_by_head,
            policy_version=-1,
        )


def _draw(actions: FlatActions, kind: int, rng: np.random.Generator) -> tuple[int, np.ndarray]:
    """An element at random, then one of its second arguments; the row and the heads' log-probs."""
    rows = np.flatnonzero(actions.type == kind)
    elements = np.unique(actions.element[rows])
    rows = rows[actions.element[rows] == rng.choice(elements)]
    log_probs = np.zeros(MAX_HEADS, dtype=np.float32)
    for position, head in enumerate(ACTION_SPECS[kind].heads, start=1):
        log_probs[position] = -np.log(len(elements) if head is Head.ELEMENT else len(rows))
    return int(rng.choice(rows)), log_probs
