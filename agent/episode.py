# SPDX-License-Identifier: Apache-2.0
"""One attempt at one task: observe, act, step, until an answer, the step limit or an infra failure.

Knows neither ray nor torch. The agent may take newer weights between steps (`before_step`), and
each step records the version that acted.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from agent.hindsight import Hindsight
from agent.situation import pack_situation, situation_of
from agent.types import Agent, Decision, StepRecord, Trajectory
from envs.actions import enumerate_actions
from envs.driver import InfraError
from envs.search_env import Frame, SearchEnv
from envs.site import Teacher
from envs.types import Episode, Observation, StepEvidence, StopReason, Task

_LOG = logging.getLogger(__name__)


@runtime_checkable
class TaskAware(Protocol):
    """An agent that is told the task itself before the first step: only scripted ones are."""

    def begin(self, task: Task) -> None:
        """Start working on `task`."""


class Watcher(Protocol):
    """Follows an attempt for people; it sees what the agent sees and can change nothing."""

    def saw(self, observation: Observation, frame: Frame) -> None:
        """A page as the agent sees it: after the reset and after each step."""

    def did(self, decision: Decision, evidence: StepEvidence) -> None:
        """The step that answered the page seen last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """Both halves of a finished attempt; they travel apart from here on."""

    episode: Episode  # evidence -> reward pool
    trajectory: Trajectory  # model inputs -> replay; no steps if the agent has no model inputs
    act_s: float  # time spent in features and network
    env_s: float  # time spent in the browser
    infra_detail: str  # what broke, or ""


@dataclass(kw_only=True, slots=True)
class _Log:
    """What the attempt has left behind so far."""

    keeps_situations: bool
    asked_anew: Hindsight | None
    evidence: list[StepEvidence] = field(default_factory=list)
    records: list[StepRecord] = field(default_factory=list)
    hindsight: list[StepRecord] = field(default_factory=list)
    answer: str = ""
    act_s: float = 0.0
    env_s: float = 0.0


async def run_episode(
    env: SearchEnv,
    agent: Agent,
    task: Task,
    *,
    trajectory_id: str,
    group_id: str,
    seed: int,
    teacher: Teacher | None = None,
    before_step: Callable[[], None] | None = None,
    watcher: Watcher | None = None,
    keeps_situations: bool = False,
    hindsight: Hindsight | None = None,
) -> Attempt:
    """Run one attempt to its end. An infra failure ends it with that `StopReason`, never raises.

    The same seed, weights and world give the same attempt. `teacher` scores all legal actions of
    each state after the agent has chosen, so nothing of it can reach the agent. With a `watcher`
    the env takes a picture at every step (15-30 ms of CPU each). `keeps_situations` records the
    texts of each state for teachers that compare attempts (about 3 kB a step). `hindsight` asks
    each state anew for the step term.
    """
    log = _Log(keeps_situations=keeps_situations, asked_anew=hindsight)
    detail = ""
    if isinstance(agent, TaskAware):
        agent.begin(task)
    try:
        stop = await _run(env, agent, task, seed, teacher, before_step, watcher, log)
    except InfraError as error:
        _LOG.warning("attempt %s ended by the world: %s", trajectory_id, error)
        stop, detail = error.stop, error.detail
    return Attempt(
        episode=Episode(
            trajectory_id=trajectory_id,
            group_id=group_id,
            task=task,
            steps=tuple(log.evidence),
            final_answer=log.answer,
            stop=stop,
        ),
        trajectory=Trajectory(
            trajectory_id=trajectory_id,
            group_id=group_id,
            task_id=task.task_id,
            kind=task.kind,
            split=task.split,
            layer_weights=task.layer_weights,
            steps=tuple(log.records),
            stop=stop,
            hindsight=tuple(log.hindsight),
        ),
        act_s=log.act_s,
        env_s=log.env_s,
        infra_detail=detail,
    )


async def _run(
    env: SearchEnv,
    agent: Agent,
    task: Task,
    seed: int,
    teacher: Teacher | None,
    before_step: Callable[[], None] | None,
    watcher: Watcher | None,
    log: _Log,
) -> StopReason:
    started = time.perf_counter()
    observation = await env.reset(task, with_frames=watcher is not None)
    log.env_s += time.perf_counter() - started
    if watcher is not None:
        watcher.saw(observation, env.frame)
    for step in range(task.prompt.max_steps):
        if before_step is not None:
            before_step()
        started = time.perf_counter()
        decision = await agent.act(observation, seed=step_seed(seed, step))
        acted = time.perf_counter()
        result = await env.step(decision.action)
        log.act_s += acted - started
        log.env_s += time.perf_counter() - acted
        log.evidence.append(result.evidence)
        log.answer = result.evidence.answer
        if watcher is not None:
            watcher.did(decision, result.evidence)
            watcher.saw(result.observation, env.frame)
        if decision.inputs is not None:
            exogenous = result.evidence.is_exogenous
            record = _record(task, observation, decision, teacher, exogenous)
            if log.keeps_situations:
                packed = pack_situation(situation_of(observation))
                record = dataclasses.replace(record, situation=packed)
            log.records.append(record)
            if log.asked_anew is not None:
                anew_seed = step_seed(seed, step)
                log.hindsight += log.asked_anew.records(task, observation, decision, seed=anew_seed)
        if result.stop is not None:
            return result.stop
        observation = result.observation
    return StopReason.STEP_LIMIT


def step_seed(seed: int, step: int) -> int:
    """Seed of one step's draw, independent between steps."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1)[0])


def _record(
    task: Task,
    observation: Observation,
    decision: Decision,
    teacher: Teacher | None,
    is_exogenous: bool,
) -> StepRecord:
    assert decision.inputs is not None
    actions = enumerate_actions(observation.mask)
    utilities = (
        np.zeros(0, dtype=np.float16)
        if teacher is None
        else teacher.utilities(task, observation, actions).astype(np.float16)
    )
    return StepRecord(
        inputs=decision.inputs,
        mask=observation.mask,
        chosen=actions.row(decision.action),
        log_prob_by_head=decision.log_prob_by_head,
        policy_version=decision.policy_version,
        utilities=utilities,
        is_exogenous=is_exogenous,
    )
