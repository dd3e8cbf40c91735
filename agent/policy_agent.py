# SPDX-License-Identifier: Apache-2.0
"""Any policy as an agent: features, one forward pass, one draw."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from agent.config import PolicyConfig
from agent.policy import ConfiguredFamily, PolicyFamily, collate, sample_row
from agent.registry import POLICIES
from agent.types import Decision, ModelInputs
from envs.actions import enumerate_actions
from envs.registry import resolve
from envs.types import Observation


def policy_family(config: PolicyConfig) -> PolicyFamily:
    """Features and network of the policy that the config names."""
    family: PolicyFamily = resolve(config.name, POLICIES, what="policy.name")()
    return family.configured(config) if isinstance(family, ConfiguredFamily) else family


def build_policy(config: PolicyConfig, *, seed: int) -> nn.Module:
    """A freshly initialised policy network; the same seed gives the same weights."""
    family = policy_family(config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return family.build_network(config)


class PolicyAgent:
    """Samples from a policy network; newer weights may be loaded between any two steps."""

    def __init__(self, config: PolicyConfig, *, seed: int, temperature: float = 1.0) -> None:
        if temperature < 0.0:
            raise ValueError(f"temperature: expected >= 0, got {temperature}")
        self.network = build_policy(config, seed=seed).eval()
        self._family = policy_family(config)
        self.policy_version = 0
        self._temperature = temperature

    def load_weights(self, weights: Mapping[str, np.ndarray], policy_version: int) -> None:
        """Act with these weights from the next step on; the arrays are copied."""
        state = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
        self.network.load_state_dict(state)
        self.policy_version = policy_version

    def model_inputs(self, observation: Observation) -> ModelInputs:
        """An observation as this policy's family reads it."""
        return self._family.model_inputs(observation)

    async def act(self, observation: Observation, *, seed: int) -> Decision:
        """Draw one action. The recorded log-probabilities are those of temperature 1.

        At another temperature the draw is not from the recorded policy, so such steps are for
        evaluation only and must not be trained on.
        """
        inputs = self.model_inputs(observation)
        with torch.inference_mode():
            output = self.network(collate([inputs], [observation.mask]))
        row = sample_row(output.log_action[0].numpy(), seed=seed, temperature=self._temperature)
        return Decision(
            action=enumerate_actions(observation.mask).action(row),
            inputs=inputs,
            log_prob_by_head=output.log_heads[0, row].numpy().copy(),
            policy_version=self.policy_version,
        )
