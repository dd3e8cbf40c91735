# SPDX-License-Identifier: Apache-2.0
"""Sums over the processes of a learner; what all of its mathematics knows of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor


class ProcessesLost(RuntimeError):
    """A process of the learner is gone or does not answer; what is left cannot go on."""


class Team(Protocol):
    """The processes that train together."""

    size: int

    def sum(self, values: Tensor) -> Tensor:
        """`values` [...] summed over all processes, without a graph; raises `ProcessesLost`."""


class Alone:
    """One process."""

    size = 1

    def sum(self, values: Tensor) -> Tensor:
        """`values` as they are."""
        return values


class Connected:
    """A member of the default process group, whose deadline holds for every sum."""

    def __init__(self, size: int) -> None:
        self.size = size

    def sum(self, values: Tensor) -> Tensor:
        """The same bits in every process."""
        total = values.detach().clone()
        try:
            dist.all_reduce(total)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise ProcessesLost(
                f"the {self.size} processes of the learner lost each other: {reason}"
            ) from error
        return total


def sum_each(tensors: Sequence[Tensor | None], like: Sequence[Tensor], team: Team) -> list:
    """Gradients, one for each parameter of `like`, summed over all processes in one exchange.

    None, which the optimizer passes over, where no process has one.
    """
    if team.size == 1:
        return list(tensors)
    parts = [
        torch.zeros_like(parameter).flatten() if tensor is None else tensor.flatten()
        for tensor, parameter in zip(tensors, like, strict=True)
    ]
    exists = torch.tensor([float(tensor is not None) for tensor in tensors])
    total = team.sum(torch.cat([*parts, exists.to(parts[0])]))
    *sums, counts = total.split([*(part.numel() for part in parts), len(parts)])
    return [
        value.reshape(parameter.shape) if count else None
        for value, parameter, count in zip(sums, like, counts.tolist(), strict=True)
    ]
