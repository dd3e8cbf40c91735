# SPDX-License-Identifier: Apache-2.0
"""What passes between the controller and its workers, and what it expects of them.

A `Ref` is whatever a launcher hands out for something bulky: an object reference under Ray, the
object itself in one process. The controller passes refs on and never looks inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agent.recording import Recording
from envs.types import Scored, StopReason, Task, Unscored

Ref = Any
POLICY_AGENT = "policy"  # the agent with the weights in training; other names: `agent.registry`


class WorkerLost(RuntimeError):
    """The process of a worker is gone, or it does not answer; raised by handles."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptOrder:
    """One attempt to run; task source or evaluation -> rollout worker."""

    task: Task
    trajectory_id: str  # unique, also over re-issues of the same member
    group_id: str
    seed: int
    agent: str  # POLICY_AGENT or a name of the registry of scripted agents
    temperature: float  # 0 takes the most likely action
    with_teacher: bool  # whether the teacher scores the states for the step loss
    keeps_weights: bool = False  # to its end, whatever is published; else the newest at every step
    is_pinned: bool = False  # uses the pinned weights, which no published version replaces
    is_recorded: bool = False  # whether a person will want to see it; costs a picture per step


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptReport:
    """What the controller needs to know of an attempt; rollout worker -> controller."""

    trajectory_id: str
    group_id: str
    task_id: str
    kind: str
    stop: StopReason
    detail: str  # cause of an infra failure, else ""
    num_steps: int
    num_bytes: int  # of the trajectory's arrays
    layer_weights: tuple[float, float, float]  # of the task
    fingerprint: str  # equal for attempts that did the same
    wall_s: float
    act_s: float  # of it in features and network, and in the browser
    env_s: float
    first_version: int  # of the weights that took the first and the last step; -1 without
    last_version: int
    num_invalid: int = 0  # steps whose action did nothing, as `StepEvidence.effect` says
    recording: Recording | None = None  # of the few attempts whose orders ask for one


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What a rollout worker hands back; `report.stop` may be an infra failure of its browser."""

    report: AttemptReport
    episode: Ref  # `Episode`: to the reward pool
    trajectory: Ref  # `Trajectory`: to replay


@dataclass(frozen=True, kw_only=True, slots=True)
class LostAttempt:
    """An attempt that the world broke: nothing of it is used."""

    order: AttemptOrder
    stop: StopReason
    detail: str
    num_steps: int  # that it took, as far as anybody knows


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerHealth:
    """Answer of a worker's control side, given also while its work side is busy."""

    pid: int
    num_done: int  # calls of its work finished
    policy_version: int  # of the weights it holds; -1 without


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayState:
    """What replay holds; replay worker -> controller."""

    ready: tuple[str, ...]  # ids of the groups that the learner may take, oldest first
    num_open: int  # groups that wait for members
    num_bytes: int
    dropped: Mapping[str, str]  # groups that ended here since the last answer -> how; see
    # `learner.replay`: they free their slots
    refused: str = ""  # why the member that was added is not taken: its data is broken


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Groups that left replay for the learner."""

    groups: Ref  # tuple[Group, ...]
    group_ids: tuple[str, ...]
    state: ReplayState  # after they left


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """A new set of weights; learner worker -> controller -> rollout workers."""

    policy_version: int
    weights: Ref  # dict[str, np.ndarray]
    metrics: Mapping[str, float]  # of the update that made them, keys `area/name_unit`
    advantages: Mapping[str, float] = field(default_factory=dict)  # by group, of that update: mean
    # absolute ones, which replay makes priorities of
    generation: int = 0  # counts how often the run went back: then versions repeat


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedReplay:
    """What replay wrote into a checkpoint; replay worker -> controller."""

    files: Mapping[str, str]  # file name -> sha256
    held: Mapping[str, tuple[str, ...]]  # open group -> attempts of it that are held
    ended: Mapping[str, str]  # the last groups that ended in replay -> how


class RolloutHandle(Protocol):
    """A rollout worker as the controller sees it. Every method may raise `WorkerLost`."""

    async def run_attempt(self, order: AttemptOrder) -> Attempt:
        """Run one attempt to its end."""

    async def offer_weights(self, published: Published, *, is_pinned: bool = False) -> None:
        """Leave newer weights for the worker to take before its next step.

        Pinned ones are kept beside the others, for the attempts whose orders ask for them.
        """

    async def health(self) -> WorkerHealth:
        """Answers while an attempt runs."""

    async def close(self) -> None:
        """End the attempt in flight and give the browser back; never raises."""


class RewardHandle(Protocol):
    """A reward worker as the controller sees it."""

    async def score(self, episode: Ref) -> Scored | Unscored:
        """Score one attempt."""

    async def health(self) -> WorkerHealth:
        """Answers while it scores."""

    async def close(self) -> None:
        """Give everything back; never raises."""


class ReplayHandle(Protocol):
    """The replay worker as the controller sees it; losing it takes the run back to its newest
    checkpoint.
    """

    async def add_member(self, trajectory: Ref, score: Scored) -> ReplayState:
        """Add a scored attempt to its group."""

    async def give_up_member(
        self, group_id: str, task_id: str, trajectory_id: str, reason: str
    ) -> ReplayState:
        """A member will not come: the group closes with the others."""

    async def take(
        self, max_groups: int, policy_version: int, confirmed: Mapping[str, float]
    ) -> Batch:
        """Hand up to `max_groups` ready groups out; those that have grown too old leave first.

        `confirmed` are the groups of updates that ended, with their advantages; may be repeated.
        """

    async def save(self, folder: Path, confirmed: Mapping[str, float]) -> SavedReplay:
        """Write everything that is held into `folder`."""

    async def restore(self, folder: Path) -> ReplayState:
        """Continue from what `save` wrote."""

    async def health(self) -> WorkerHealth:
        """Answers while it saves."""

    async def close(self) -> None:
        """Give everything back; never raises."""


class LearnerHandle(Protocol):
    """The learner worker as the controller sees it; losing it takes the run back to its newest
    checkpoint.
    """

    async def publish(self) -> Published:
        """The weights published last, without an update."""

    async def update(
        self, groups: Ref, progress: float, validation_score: float | None
    ) -> Published:
        """Train on one batch; `progress` in [0, 1] of the budget sets the learning rate.

        `validation_score`, if there is a new one, moves `algo.objective.schedule=validation`.
        """

    async def save(
        self, folder: Path, policy_version: int, previous: Path | None
    ) -> Mapping[str, Any]:
        """Write the learner as it published that version into `folder`; the manifest's entries.

        The version is the last one or the one before. `previous` is an earlier checkpoint, of
        which files may be shared. Works while an update runs.
        """

    async def restore(self, folder: Path) -> Published:
        """Continue from what `save` wrote."""

    async def health(self) -> WorkerHealth:
        """Answers while it updates or saves."""

    async def close(self) -> None:
        """Give everything back; never raises."""


class Launcher(Protocol):
    """Makes workers; `launch_ray` as actors, `launch_inprocess` as objects."""

    async def start(self) -> None:
        """Bring the platform up; called once before everything else."""

    async def start_rollout(self, index: int) -> RolloutHandle:
        """A rollout worker that answers."""

    async def start_reward(self, index: int) -> RewardHandle:
        """A reward worker that answers."""

    async def start_replay(self) -> ReplayHandle:
        """The replay worker."""

    async def start_learner(self) -> LearnerHandle:
        """The learner worker."""

    async def stop(self) -> None:
        """Take the platform down with all that is left on it."""
