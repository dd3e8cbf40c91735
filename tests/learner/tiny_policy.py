# SPDX-License-Identifier: Apache-2.0
"""A small real policy on the final contract, and random states, records and groups for it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from agent.policy import MASKED_LOG_PROB, PolicyBatch, PolicyOutput, collate
from agent.types import MAX_HEADS, ModelInputs, StepRecord, Trajectory
from envs.actions import (
    ACTION_SPECS,
    MAX_OPTIONS,
    MAX_TABS,
    NUM_TYPES,
    ActionMask,
    Head,
    enumerate_actions,
)
from envs.types import Scored, Split, StopReason
from learner.types import Group, GroupState, Member

STATE, ELEMENT, SPAN, OPTION, TAB = 6, 5, 4, 3, 2


class TinyPolicy(nn.Module):
    """Linear scores per type; arguments are one joint choice, kept in the second head."""

    def __init__(self, seed: int = 0, state_features: int = STATE) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def weight(*shape: int) -> nn.Parameter:
            return nn.Parameter(0.5 * torch.randn(shape, generator=generator))

        self.type_weight = weight(NUM_TYPES, state_features)
        self.element_weight = weight(NUM_TYPES, ELEMENT)
        self.span_weight = weight(NUM_TYPES, SPAN)
        self.other_weight = weight(NUM_TYPES, 16)

    def forward(self, batch: PolicyBatch) -> PolicyOutput:
        logits = batch.state @ self.type_weight.T
        log_type = torch.log_softmax(logits.masked_fill(~batch.type_mask, -1e9), dim=1)
        scores = self._scores(batch)
        log_argument = scores - _log_sum_exp_by_type(scores, batch)
        log_argument = torch.where(batch.flat_mask, log_argument, 0.0)
        log_heads = torch.stack(
            [log_type.gather(1, batch.flat_type), log_argument, torch.zeros_like(log_argument)],
            dim=2,
        )
        log_action = log_heads.sum(dim=2).masked_fill(~batch.flat_mask, MASKED_LOG_PROB)
        return PolicyOutput(
            log_type=log_type.masked_fill(~batch.type_mask, MASKED_LOG_PROB),
            log_heads=log_heads,
            log_action=log_action,
        )

    def _scores(self, batch: PolicyBatch) -> Tensor:
        kind, rows = batch.flat_type, torch.arange(len(batch))[:, None]
        element = batch.element @ self.element_weight.T  # [B, E, K]
        span = batch.span @ self.span_weight.T
        has_span = torch.tensor([Head.SPAN in spec.heads for spec in ACTION_SPECS])[kind]
        of_element = torch.where(
            batch.flat_element >= 0, element[rows, batch.flat_element.clamp(min=0), kind], 0.0
        )
        argument = batch.flat_argument.clamp(min=0)
        of_span = span[rows, torch.where(has_span, argument, 0), kind]
        of_other = self.other_weight[kind, argument.clamp(max=15)]
        of_argument = torch.where(has_span, of_span, of_other)
        return of_element + torch.where(batch.flat_argument >= 0, of_argument, 0.0)


def _log_sum_exp_by_type(scores: Tensor, batch: PolicyBatch) -> Tensor:
    """For each action, the log-sum-exp over the actions of its type; [B, A]."""
    same = batch.flat_type[:, :, None] == batch.flat_type[:, None, :]
    same = same & batch.flat_mask[:, None, :]
    return torch.logsumexp(scores[:, None, :].masked_fill(~same, -1e9), dim=2)


def random_mask(rng: np.random.Generator, num_elements: int = 5, num_spans: int = 4) -> ActionMask:
    """A legal mask: types hold exactly when one of their arguments does."""
    element = np.zeros((NUM_TYPES, num_elements), dtype=bool)
    span = np.zeros((NUM_TYPES, num_spans), dtype=bool)
    option = rng.random((num_elements, MAX_OPTIONS)) < 0.05
    tab = rng.random(MAX_TABS) < 0.4
    legal = rng.random(NUM_TYPES) < 0.7
    for kind, spec in enumerate(ACTION_SPECS):
        if Head.ELEMENT in spec.heads:
            element[kind] = rng.random(num_elements) < 0.5
            if Head.OPTION in spec.heads:
                element[kind] &= option.any(axis=1)
            legal[kind] &= element[kind].any()
        if Head.SPAN in spec.heads:
            span[kind] = rng.random(num_spans) < 0.7
            legal[kind] &= span[kind].any()
        if Head.TAB in spec.heads:
            legal[kind] &= tab.any()
        if Head.WAIT in spec.heads:
            legal[kind] = True
    return ActionMask(type=legal, element=element, span=span, option=option, tab=tab)


def random_inputs(rng: np.random.Generator, mask: ActionMask) -> ModelInputs:
    """Random features that fit `mask`."""

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float16)

    num_elements, num_spans = mask.element.shape[1], mask.span.shape[1]
    return ModelInputs(
        state=draw(STATE),
        element=draw(num_elements, ELEMENT),
        span=draw(num_spans, SPAN),
        option=draw(num_elements, MAX_OPTIONS, OPTION),
        tab=draw(MAX_TABS, TAB),
    )


def random_step(
    rng: np.random.Generator,
    *,
    policy: TinyPolicy | None = None,
    version: int = 0,
    with_utilities: bool = True,
    num_elements: int = 5,
) -> StepRecord:
    """A step taken by `policy`, or uniformly without one."""
    mask = random_mask(rng, num_elements=int(rng.integers(1, num_elements + 1)))
    inputs = random_inputs(rng, mask)
    num_actions = len(enumerate_actions(mask))
    heads = np.zeros(MAX_HEADS, dtype=np.float32)
    if policy is None:
        chosen = int(rng.integers(num_actions))
        heads[0] = -np.log(num_actions)
    else:
        with torch.no_grad():
            output = policy(collate([inputs], [mask]))
        chances = output.log_action[0].double().exp().numpy()
        chosen = int(rng.choice(num_actions, p=chances / chances.sum()))
        heads[:] = output.log_heads[0, chosen].numpy()
    utilities = rng.normal(size=num_actions if with_utilities else 0).astype(np.float16)
    return StepRecord(
        inputs=inputs,
        mask=mask,
        chosen=chosen,
        log_prob_by_head=heads,
        policy_version=version,
        utilities=utilities,
        is_exogenous=False,
    )


def trajectory(
    steps: list[StepRecord],
    trajectory_id: str,
    group_id: str = "g",
    stop: StopReason = StopReason.ANSWERED,
) -> Trajectory:
    return Trajectory(
        trajectory_id=trajectory_id,
        group_id=group_id,
        task_id=f"task of {group_id}",
        kind="look_up",
        split=Split.TRAIN,
        layer_weights=(0.25, 0.5, 2.0),
        steps=tuple(steps),
        stop=stop,
    )


def scored(rewards: np.ndarray, trajectory_id: str) -> Scored:
    return Scored(
        trajectory_id=trajectory_id,
        rewards=rewards.astype(np.float32),
        parts={},
        is_right=bool(rewards[-1, 2] > 0),
        scorer_version="test",
    )


def random_group(
    rng: np.random.Generator,
    group_id: str,
    *,
    size: int = 4,
    policy: TinyPolicy | None = None,
    version: int = 0,
    with_utilities: bool = True,
    max_steps: int = 5,
) -> Group:
    members = []
    for index in range(size):
        steps = [
            random_step(rng, policy=policy, version=version, with_utilities=with_utilities)
            for _ in range(int(rng.integers(1, max_steps + 1)))
        ]
        name = f"{group_id}/{index}"
        rewards = rng.uniform(-1, 1, size=(len(steps), 3))
        members.append(
            Member(trajectory=trajectory(steps, name, group_id), score=scored(rewards, name))
        )
    return Group(
        group_id=group_id,
        task_id=f"task of {group_id}",
        members=tuple(members),
        state=GroupState.COMPLETE,
    )
