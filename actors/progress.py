# SPDX-License-Identifier: Apache-2.0
"""What a person sees while a run goes on: counters, and the line made from them; pure."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from dataclasses import dataclass, field

_BYTES_PER_MB = 1e6


@dataclass(kw_only=True, slots=True)
class BusyClock:
    """Adds up how long something was busy; one clock per lane."""

    busy_s: float = 0.0
    _since_s: float = -1.0

    def begin(self, now_s: float) -> None:
        """Work starts."""
        self._since_s = now_s

    def end(self, now_s: float) -> None:
        """Work ends."""
        self.busy_s += now_s - self._since_s
        self._since_s = -1.0

    def total_s(self, now_s: float) -> float:
        """Busy seconds so far, work in progress included."""
        return self.busy_s + (now_s - self._since_s if self._since_s >= 0.0 else 0.0)


class SuccessWindow:
    """Share of right answers by kind over the last attempts."""

    def __init__(self, size: int) -> None:
        self._recent: collections.deque[tuple[str, bool]] = collections.deque(maxlen=size)

    def add(self, kind: str, is_right: bool) -> None:
        """Count one scored attempt."""
        self._recent.append((kind, is_right))

    def by_kind(self) -> dict[str, float]:
        """Fractions, kinds in alphabetical order."""
        kinds = sorted({kind for kind, _ in self._recent})
        return {kind: self._share([r for k, r in self._recent if k == kind]) for kind in kinds}

    def overall(self) -> float:
        """Fraction over all kinds; 0 without attempts."""
        return self._share([is_right for _, is_right in self._recent])

    @staticmethod
    def _share(results: list[bool]) -> float:
        return sum(results) / len(results) if results else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """One look at a training run."""

    env_steps: int
    max_env_steps: int
    episodes: int
    policy_version: int
    env_steps_per_s: float
    success: float
    success_by_kind: Mapping[str, float]
    lag_mean: float  # versions, of the steps of the last batch
    lag_max: int  # versions, so far
    rollout_idle: float  # share of the rollout lanes' time
    learner_idle: float  # share of the learner's time
    restarts: int
    memory_gb: float
    left_s: float
    waits: Mapping[str, str] = field(default_factory=dict)  # who waits -> for what
    queue_bytes: int = 0  # of trajectories between rollout and learner
    held_out: Mapping[str, float] = field(default_factory=dict)  # success by evaluated agent
    alarms: tuple[str, ...] = ()

    def line(self) -> str:
        """The line a person reads."""
        kinds = " ".join(f"{kind} {share:.0%}" for kind, share in self.success_by_kind.items())
        waits = "; ".join(f"{who} waits for {what}" for who, what in self.waits.items())
        alarms = "; ".join(self.alarms)
        return (
            f"step {self.env_steps}/{self.max_env_steps}  {self.env_steps_per_s:.1f} steps/s  "
            f"version {self.policy_version}  success {self.success:.0%}"
            f"{f' ({kinds})' if kinds else ''}  lag {self.lag_mean:.1f} (max {self.lag_max})  "
            f"idle rollouts {self.rollout_idle:.0%} learner {self.learner_idle:.0%}  "
            f"restarts {self.restarts}  {self.memory_gb:.1f} GB  "
            f"queues {self.queue_bytes / _BYTES_PER_MB:.1f} MB  left {self.left()}"
            f"{f'  [{waits}]' if waits else ''}{f'  ALARM {alarms}' if alarms else ''}"
        )

    def left(self) -> str:
        """Time left as minutes and seconds."""
        return f"{int(self.left_s) // 60}:{int(self.left_s) % 60:02d}"

    def row(self) -> dict[str, float]:
        """The same as metrics, keys `area/name_unit`."""
        row = {
            "train/env_steps": float(self.env_steps),
            "train/episodes": float(self.episodes),
            "train/env_steps_per_s": self.env_steps_per_s,
            "train/success": self.success,
            "learner/policy_version": float(self.policy_version),
            "learner/idle": self.learner_idle,
            "learner/lag_mean": self.lag_mean,
            "learner/lag_max": float(self.lag_max),
            "rollout/idle": self.rollout_idle,
            "system/restarts": float(self.restarts),
            "system/alarms": float(len(self.alarms)),
            "system/memory_gb": self.memory_gb,
            "system/queue_mb": self.queue_bytes / _BYTES_PER_MB,
        }
        row.update({f"train/success_{kind}": s for kind, s in self.success_by_kind.items()})
        return row
