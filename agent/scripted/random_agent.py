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
        row = _draw(actions, kind, rng)
        return Decision(
            action=actions.action(row),
            inputs=model_inputs(observation),
            log_prob_by_head=_log_probs(actions, kind, len(kinds)),
            policy_version=-1,
        )


def _draw(actions: FlatActions, kind: int, rng: np.random.Generator) -> int:
    """An element at random, then the second argument at random."""
    rows = np.flatnonzero(actions.type == kind)
    element = rng.choice(np.unique(actions.element[rows]))
    return int(rng.choice(rows[actions.element[rows] == element]))


def _log_probs(actions: FlatActions, kind: int, num_kinds: int) -> np.ndarray:
    """Log-probabilities by head; each element of a type has equally many second arguments."""
    rows = actions.type == kind
    log_probs = np.zeros(MAX_HEADS, dtype=np.float32)
    log_probs[0] = -np.log(num_kinds)
    for position, head in enumerate(ACTION_SPECS[kind].heads, start=1):
        column = actions.element if head is Head.ELEMENT else actions.argument
        log_probs[position] = -np.log(len(np.unique(column[rows])))
    return log_probs
