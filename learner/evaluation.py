# SPDX-License-Identifier: Apache-2.0
"""A policy's log-probabilities at states, in the precision that the config names.

With bfloat16 the policy's products (linear layers, LSTM, convolutions) run under torch's autocast;
weights, their gradients, softmaxes, log-probabilities and every loss stay float32. Each rounding of
a number costs up to 2^-8 of it, and a log-probability, the difference of a score and a sum of
scores, goes through a few of them, while the actors' do not: the error is part of prox / behaviour,
like the difference of an older version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from agent.policy import PolicyBatch
from learner.config import Precision
from learner.objective import Distribution

_EXPONENTIALS: frozenset[Callable[..., Any]] = frozenset(
    {
        torch.softmax,
        torch.log_softmax,
        torch.logsumexp,
        torch.Tensor.softmax,
        torch.Tensor.log_softmax,
        torch.Tensor.logsumexp,
        nn.functional.softmax,
        nn.functional.log_softmax,
    }
)


class _FloatExponentials(TorchFunctionMode):
    """Sums of exponentials in float32 on every device; autocast does so on GPUs only."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func in _EXPONENTIALS and isinstance(args[0], Tensor):
            args = (args[0].float(), *args[1:])
        return func(*args, **(kwargs or {}))


def evaluate(policy: nn.Module, states: PolicyBatch, precision: Precision) -> Distribution:
    """Log-probabilities of `policy` at `states`, with gradients unless they are off."""
    if precision is Precision.FLOAT32:
        output = policy(states)
        return Distribution(log_type=output.log_type, log_action=output.log_action)
    with torch.autocast(states.state.device.type, dtype=torch.bfloat16), _FloatExponentials():
        output = policy(states)
    return Distribution(log_type=output.log_type.float(), log_action=output.log_action.float())
