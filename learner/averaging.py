# SPDX-License-Identifier: Apache-2.0
"""Running averages of a policy's weights: the reference, and those that act."""

from __future__ import annotations

import torch
from torch import nn


@torch.no_grad()
def follow(average: nn.Module, policy: nn.Module, rate: float) -> None:
    """`average <- (1 - rate) average + rate policy`; integer buffers are copied."""
    source = policy.state_dict()
    for name, kept in average.state_dict().items():
        if kept.is_floating_point():
            kept.lerp_(source[name], rate)
        else:
            kept.copy_(source[name])
