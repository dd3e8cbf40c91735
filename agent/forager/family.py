# SPDX-License-Identifier: Apache-2.0
"""The forager as a family: its features and the network that is built for them."""

from __future__ import annotations

from torch import nn

from agent.config import PolicyConfig
from agent.forager.features import model_inputs
from agent.forager.net import ForagerNet
from agent.forager.sizes import feature_sizes
from agent.types import ModelInputs
from envs.types import Observation


class ForagerFamily:
    """See `agent.policy.PolicyFamily`."""

    def model_inputs(self, observation: Observation) -> ModelInputs:
        """Match features and relation vectors of one observation."""
        return model_inputs(observation)

    def build_network(self, config: PolicyConfig) -> nn.Module:
        """The gated network, `config.width` wide."""
        sizes = feature_sizes()
        return ForagerNet(
            num_state=sizes.state,
            num_element=sizes.element,
            num_span=sizes.span,
            width=config.width,
        )
