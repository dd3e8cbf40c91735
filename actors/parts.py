# SPDX-License-Identifier: Apache-2.0
"""What the controller of a training run is made of, and what it reports in the end."""

from __future__ import annotations

from dataclasses import dataclass

from actors.config import AlarmConfig, LoggerConfig, TrainConfig
from actors.core import Core
from actors.memory import MemorySampler
from actors.metrics import MetricsLog
from actors.pipeline import Pipeline
from actors.pool import RestartBudget, RewardPool, RolloutPool
from actors.saver import Saver
from actors.trace import NO_TRACE, Trace
from actors.validation import Validation
from actors.waiting import Waiting


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainParts:
    """What the controller wires together."""

    pipeline: Pipeline
    rollouts: RolloutPool
    rewards: RewardPool
    core: Core
    saver: Saver
    restarts: RestartBudget
    memory: MemorySampler
    waiting: Waiting
    metrics: MetricsLog
    trace: Trace = NO_TRACE
    validation: Validation | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfigs:
    """The settings that the controller reads."""

    train: TrainConfig
    logger: LoggerConfig
    alarms: AlarmConfig
    groups_per_update: int
    takes_in_order: bool  # see `actors.config.TrainJob.takes_in_order`


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainTotals:
    """What a training run did."""

    env_steps: int
    episodes: int  # that reached replay with a score
    unscored: int
    policy_version: int
    lag_max: int
    duration_s: float
    env_steps_per_s: float
    lost_by_stop: dict[str, int]
    attempts: dict[str, int]  # handed out, in flight, and by fate; see `actors.ledger`
