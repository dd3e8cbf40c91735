# SPDX-License-Identifier: Apache-2.0
"""A small network that is trained beside the policy: built late, stepped safely, saved whole.

It shares nothing with the policy, so that any policy can be trained with it, and has an optimizer
of its own, so that its loss' weight against the policy's terms is no setting.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from agent.policy import PolicyBatch, collate
from agent.types import StepRecord
from learner.config import LearnerConfig
from learner.metrics import Means

Net = TypeVar("Net", bound=nn.Module)


class SideNetwork(Generic[Net]):
    """Made by `build(batch, width, generator)` when the first batch says how many features it has.

    `name` is that of its metrics.
    """

    def __init__(
        self,
        config: LearnerConfig,
        build: Callable[[PolicyBatch, int, torch.Generator], Net],
        *,
        name: str,
    ) -> None:
        self._config = config
        self._build = build
        self._name = name
        self._net: Net | None = None
        self._optimizer: torch.optim.Adam | None = None
        self._loaded: dict[str, Any] = {}  # waits for the first batch

    @property
    def is_built(self) -> bool:
        """Whether it has weights of its own, those of a checkpoint included."""
        return self._net is not None or bool(self._loaded)

    def collate(self, records: Sequence[StepRecord]) -> PolicyBatch:
        """The records' states on the learner's device."""
        device = self._config.device
        return collate([r.inputs for r in records], [r.mask for r in records], device=device)

    def __call__(self, batch: PolicyBatch) -> Tensor:
        """What the network gives for `batch`."""
        if self._net is None:
            generator = torch.Generator().manual_seed(self._config.seed)
            with torch.random.fork_rng(devices=[]):  # layers draw weights before they get their own
                net = self._build(batch, self._config.critic_width, generator)
            self._net = net.to(self._config.device)
            self._optimizer = torch.optim.Adam(
                self._net.parameters(), lr=self._config.critic_learning_rate
            )
            if self._loaded:
                self._net.load_state_dict(self._loaded["net"])
                self._optimizer.load_state_dict(self._loaded["optimizer"])
                self._loaded = {}
        values: Tensor = self._net(batch)
        return values

    def minimise(self, loss: Tensor, means: Means) -> None:
        """One optimizer step; skipped and counted where the gradient is not finite."""
        assert self._net is not None and self._optimizer is not None
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self._net.parameters(), self._config.max_grad_norm)
        is_finite = bool(torch.isfinite(norm))
        means.add(f"learner/{self._name}_loss", loss.item())
        means.add_total(f"learner/skipped_{self._name}_steps", not is_finite)
        if is_finite:
            self._optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """Weights and optimizer; empty before the first batch."""
        if self._net is None or self._optimizer is None:
            return dict(self._loaded)
        return {
            "net": {name: value.clone() for name, value in self._net.state_dict().items()},
            "optimizer": self._optimizer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`, which stays as it is."""
        self._net = self._optimizer = None
        kept = {name: state[name] for name in ("net", "optimizer")} if state else {}
        self._loaded = copy.deepcopy(kept)  # an optimizer goes on in the tensors that it is given
