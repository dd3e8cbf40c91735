# SPDX-License-Identifier: Apache-2.0
"""Which parameters of a policy are trained."""

from __future__ import annotations

from torch import nn

from learner.config import Freeze


def trainable_parameters(policy: nn.Module, freeze: Freeze) -> list[nn.Parameter]:
    """Parameters to optimise; those of the encoder are turned off with `freeze=encoder`.

    A policy says what its encoder is by `encoder_modules`, names of its direct children; raises
    `ValueError` for a policy that does not, or whose encoder is all it has.
    """
    if freeze is Freeze.NONE:
        return list(policy.parameters())
    names: tuple[str, ...] = getattr(policy, "encoder_modules", ())
    children = dict(policy.named_children())
    unknown = sorted(set(names) - children.keys())
    if not names or unknown:
        raise ValueError(
            f"algo.freeze: expected a policy with `encoder_modules` among its children "
            f"{sorted(children)}, got {list(names)} from {type(policy).__name__}"
        )
    for name in names:
        children[name].requires_grad_(False)
    kept = [parameter for parameter in policy.parameters() if parameter.requires_grad]
    if not kept:
        raise ValueError("algo.freeze: expected a policy with heads beside its encoder, got none")
    return kept
