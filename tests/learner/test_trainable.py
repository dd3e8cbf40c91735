# SPDX-License-Identifier: Apache-2.0
"""Freezing the encoder: heads are trained, the rest stays bit for bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from torch import nn

from agent.config import PolicyConfig
from agent.policy import PolicyBatch, PolicyOutput
from agent.policy_agent import build_policy
from learner.config import Freeze, LearnerConfig
from learner.trainable import trainable_parameters
from learner.update import Learner
from tests.learner.tiny_policy import STATE, TinyPolicy, random_group

FROZEN = LearnerConfig(freeze=Freeze.ENCODER, step_replay_updates=2)


class _Encoded(nn.Module):
    """A tiny policy behind a layer that reads the state."""

    encoder_modules = ("encoder",)

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(STATE, STATE)
        self.heads = TinyPolicy()

    def forward(self, batch: PolicyBatch) -> PolicyOutput:
        return self.heads(dataclasses.replace(batch, state=self.encoder(batch.state)))


def test_only_the_heads_move() -> None:
    learner = Learner(_Encoded(), FROZEN)
    before = learner.weights()
    learner.update([random_group(np.random.default_rng(0), "g")], progress=0.0)
    for name, value in learner.weights().items():
        assert np.array_equal(value, before[name]) == name.startswith("encoder.")


def test_the_forager_names_its_encoder_and_keeps_its_heads() -> None:
    network = build_policy(PolicyConfig(), seed=0)
    kept = {id(p) for p in trainable_parameters(network, Freeze.ENCODER)}
    trained = {name for name, p in network.named_parameters() if id(p) in kept}
    assert {name.split(".")[0] for name in trained} >= {"type_head", "element_pointer"}
    assert not any(name.startswith(network.encoder_modules) for name in trained)


def test_without_freezing_everything_is_trained() -> None:
    policy = _Encoded()
    assert len(trainable_parameters(policy, Freeze.NONE)) == len(list(policy.parameters()))
    assert all(p.requires_grad for p in policy.parameters())


def test_a_policy_must_say_what_its_encoder_is() -> None:
    with pytest.raises(ValueError, match=r"algo\.freeze.*TinyPolicy"):
        Learner(TinyPolicy(), FROZEN)
    wrong = _Encoded()
    wrong.encoder_modules = ("gone",)  # type: ignore[misc]
    with pytest.raises(ValueError, match="gone"):
        Learner(wrong, FROZEN)
