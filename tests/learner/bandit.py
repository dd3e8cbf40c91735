# SPDX-License-Identifier: Apache-2.0
"""A contextual bandit in the shape of groups: the smallest thing that a learner can learn."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from agent.policy import PolicyBatch, collate
from agent.types import MAX_HEADS, ModelInputs, StepRecord
from envs.actions import MAX_OPTIONS, MAX_TABS, NUM_TYPES, TYPE_INDEX, ActionMask
from learner.config import LearnerConfig
from learner.types import Group, GroupState, Member
from learner.update import Learner
from tests.learner.tiny_policy import (
    ELEMENT,
    OPTION,
    SPAN,
    STATE,
    TAB,
    TinyPolicy,
    scored,
    trajectory,
)

# A contextual bandit: the right type of action depends on a one-hot context in the state.
_RIGHT = [TYPE_INDEX[n] for n in ("press_enter", "scroll_up_200px", "go_back", "close_tab")]


def _bandit_state(context: int) -> tuple[ModelInputs, ActionMask]:
    state = np.zeros(STATE, dtype=np.float16)
    state[context] = 1.0
    legal = np.zeros(NUM_TYPES, dtype=bool)
    legal[_RIGHT] = True
    mask = ActionMask(
        type=legal,
        element=np.zeros((NUM_TYPES, 1), dtype=bool),
        span=np.zeros((NUM_TYPES, 1), dtype=bool),
        option=np.zeros((1, MAX_OPTIONS), dtype=bool),
        tab=np.zeros(MAX_TABS, dtype=bool),
    )
    inputs = ModelInputs(
        state=state,
        element=np.zeros((1, ELEMENT), dtype=np.float16),
        span=np.zeros((1, SPAN), dtype=np.float16),
        option=np.zeros((0, MAX_OPTIONS, OPTION), dtype=np.float16),
        tab=np.zeros((MAX_TABS, TAB), dtype=np.float16),
    )
    return inputs, mask


def _bandit_batch() -> PolicyBatch:
    states = [_bandit_state(context) for context in range(4)]
    return collate([i for i, _ in states], [m for _, m in states])


def _bandit_groups(
    policy: TinyPolicy,
    rng: np.random.Generator,
    version: int,
    with_utilities: bool,
    group_size: int,
) -> list[Group]:
    """32 one-step episodes, as many for each context."""
    with torch.no_grad():
        log_probs = policy(_bandit_batch()).log_action.double().numpy()
    groups = []
    for index in range(32 // group_size):
        context = index % 4
        inputs, mask = _bandit_state(context)
        right = sorted(_RIGHT).index(_RIGHT[context])
        members = []
        for member in range(group_size):
            chances = np.exp(log_probs[context])
            chosen = int(rng.choice(4, p=chances / chances.sum()))
            heads = np.zeros(MAX_HEADS, dtype=np.float32)
            heads[0] = log_probs[context, chosen]
            utilities = (np.arange(4) == right).astype(np.float16) if with_utilities else []
            step = StepRecord(
                inputs=inputs,
                mask=mask,
                chosen=chosen,
                log_prob_by_head=heads,
                policy_version=version,
                utilities=np.array(utilities, dtype=np.float16),
                is_exogenous=False,
            )
            name = f"{version}.{index}/{member}"
            reward = np.array([[0.0, 0.0, float(chosen == right)]])
            members.append(Member(trajectory=trajectory([step], name), score=scored(reward, name)))
        groups.append(
            Group(
                group_id=f"{version}.{index}",
                task_id=f"context {context}",
                members=tuple(members),
                state=GroupState.COMPLETE,
            )
        )
    return groups


def train_bandit(
    config: LearnerConfig, updates: int, seed: int, group_size: int = 4
) -> tuple[list[float], bytes]:
    """Chance of the right action before and after training, and the weights' bytes."""
    policy = TinyPolicy(seed=seed)
    learner = Learner(policy, dataclasses.replace(config, seed=seed))
    rng = np.random.default_rng(seed)
    right = [sorted(_RIGHT).index(kind) for kind in _RIGHT]

    def chance() -> float:
        with torch.no_grad():
            log_action = policy(_bandit_batch()).log_action
        return float(log_action.exp()[range(4), right].mean())

    before = chance()
    for version in range(updates):
        groups = _bandit_groups(policy, rng, version, config.objective.step_weight > 0, group_size)
        learner.update(groups, progress=version / updates)
    weights = learner.weights()
    return [before, chance()], b"".join(weights[name].tobytes() for name in sorted(weights))
