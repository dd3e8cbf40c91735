# SPDX-License-Identifier: Apache-2.0
"""The forager as a family: its features and the network that is built for them."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
from torch import nn

from agent.config import PolicyConfig
from agent.forager.features import model_inputs
from agent.forager.net import ForagerNet
from agent.forager.sizes import feature_sizes
from agent.forager.vision import picture_reader
from agent.types import ModelInputs
from envs.types import Observation

_LOG = logging.getLogger(__name__)


class ForagerFamily:
    """See `agent.policy.PolicyFamily` and `ConfiguredFamily`."""

    def __init__(self, config: PolicyConfig | None = None) -> None:
        self._config = config or PolicyConfig()
        self._streams = self._config.active_streams()
        self._has_matches = self._config.match_features

    def configured(self, config: PolicyConfig) -> ForagerFamily:
        """The family whose inputs are those of the streams that are on."""
        return ForagerFamily(config)

    def model_inputs(self, observation: Observation) -> ModelInputs:
        """Match features and relation vectors of one observation, and what its streams read."""
        inputs = model_inputs(observation, self._streams, has_matches=self._has_matches)
        if "vision" not in self._streams:
            return inputs
        jpeg = observation.screenshot_jpeg
        if self._config.train_backbone:
            return dataclasses.replace(inputs, picture_jpeg=np.frombuffer(jpeg, dtype=np.uint8))
        picture = picture_reader(self._config.vision_weights).read(jpeg)
        return dataclasses.replace(inputs, picture=picture)

    def build_network(self, config: PolicyConfig) -> nn.Module:
        """The gated network, `config.width` wide."""
        if "vision" in config.streams and "vision" not in config.active_streams():
            _LOG.warning(
                "policy.streams: vision is off, because its encoder would have random weights "
                "(policy.vision_weights=none; give a file, download, or random)"
            )
        return ForagerNet(config, feature_sizes())
