# SPDX-License-Identifier: Apache-2.0
"""A rollout worker: one env, one agent at a time, one attempt at a time.

Two sides. The work side (`run_attempt`, `close`) lives on one event loop, which owns the browser.
The control side (`offer_weights`, `health`) may be called from another thread at any time.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import itertools
import os
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch

from actors.types import POLICY_AGENT, AttemptOrder, AttemptReport, WorkerHealth
from actors.weight_box import NOTHING, Stamp, WeightBox
from agent.config import PolicyConfig
from agent.episode import Attempt as EpisodeAttempt
from agent.episode import run_episode
from agent.hindsight import Hindsight
from agent.policy_agent import PolicyAgent
from agent.recording import Recorder
from agent.registry import AGENTS
from agent.types import Agent, Trajectory
from envs.config import EnvConfig
from envs.driver import InfraError
from envs.registry import HINDSIGHT, TEACHERS, resolve
from envs.search_env import SearchEnv, make_env
from envs.site import Teacher
from envs.types import Episode

_CANCEL_INTERVAL_S = 0.2
Outcome = tuple[Episode, Trajectory, AttemptReport]
_Variant = tuple[float, bool]  # temperature, and whether the weights are the pinned ones


class RolloutWorker:
    """Runs attempts; after an infra failure the next one gets a fresh browser."""

    def __init__(
        self,
        *,
        env: EnvConfig,
        policy: PolicyConfig,
        seed: int,
        has_teacher: bool = True,
        keeps_situations: bool = False,
        hindsight_tasks: int = 0,
        hindsight_reworded: float = 0.0,
    ) -> None:
        torch.set_num_threads(1)  # one state at a time: more threads only take cores from others
        self._env_config = env
        self._policy_config = policy
        self._seed = seed
        self._has_teacher = has_teacher
        self._keeps_situations = keeps_situations
        self._hindsight_tasks = hindsight_tasks
        self._hindsight_reworded = hindsight_reworded
        self._env: SearchEnv | None = None
        self._teacher: Teacher | None = None
        self._policies: dict[_Variant, PolicyAgent] = {}
        self._stamps: dict[_Variant, Stamp] = {}  # of the weights that each of them has
        self._newest, self._pinned = WeightBox(), WeightBox()
        self._attempt: asyncio.Task[Outcome] | None = None
        self._num_done = 0

    # --- Control side ----------------------------------------------------------------------------

    def offer_weights(
        self,
        policy_version: int,
        weights: Mapping[str, np.ndarray],
        generation: int,
        *,
        is_pinned: bool = False,
    ) -> None:
        """Leave newer weights for the work side to take before its next step."""
        box = self._pinned if is_pinned else self._newest
        box.put(policy_version, weights, generation=generation)

    def health(self) -> WorkerHealth:
        """That the worker's process answers, and what it has done."""
        return WorkerHealth(
            pid=os.getpid(), num_done=self._num_done, policy_version=self._newest.version
        )

    # --- Work side -------------------------------------------------------------------------------

    async def run_attempt(self, order: AttemptOrder) -> Outcome:
        """Run one attempt to its end; an infra failure is a report, not an exception.

        An attempt still under way is one that nobody waits for any more: it is ended first, and
        its browser with it, whose state nobody knows.
        """
        if self._attempt is not None:
            await self.close()
        attempt = self._attempt = asyncio.ensure_future(self._run(order))
        try:
            return await attempt
        finally:
            if self._attempt is attempt:
                self._attempt = None
            self._num_done += 1

    async def close(self) -> None:
        """End the attempt in flight and give the browser back."""
        attempt = self._attempt
        while attempt is not None and not attempt.done():
            attempt.cancel()  # again and again: a library may swallow a cancellation
            await asyncio.wait({attempt}, timeout=_CANCEL_INTERVAL_S)
        await self._close_env()

    async def _run(self, order: AttemptOrder) -> Outcome:
        began_s = time.monotonic()
        try:
            env = await self._started_env()
        except InfraError as error:
            await self._close_env()
            return _not_begun(order, error, time.monotonic() - began_s)
        agent = self._agent(order)
        recorder = Recorder(order.trajectory_id) if order.is_recorded else None
        attempt = await run_episode(
            env,
            agent,
            order.task,
            trajectory_id=order.trajectory_id,
            group_id=order.group_id,
            seed=order.seed,
            teacher=self._started_teacher() if order.with_teacher else None,
            before_step=self._before_step(order, agent),
            watcher=recorder,
            keeps_situations=self._keeps_situations and order.with_teacher,
            hindsight=self._hindsight(agent) if order.with_teacher else None,
        )
        if attempt.episode.stop.is_infra_failure():
            await self._close_env()
        report = _report(attempt, time.monotonic() - began_s)
        if recorder is not None:
            report = dataclasses.replace(report, recording=recorder.recording())
        return attempt.episode, attempt.trajectory, report

    async def _started_env(self) -> SearchEnv:
        if self._env is None:
            self._env = make_env(self._env_config)
            await self._env.start()
        return self._env

    async def _close_env(self) -> None:
        env, self._env = self._env, None
        if env is not None:
            await env.close()

    def _started_teacher(self) -> Teacher | None:
        """The teacher of the task set, if it has one and the run uses it."""
        name = self._env_config.task_set
        if self._teacher is None and self._has_teacher and name in TEACHERS:
            self._teacher = resolve(name, TEACHERS, what="env.task_set")()
        return self._teacher

    def _hindsight(self, agent: Agent) -> Hindsight | None:
        """What asks visited states anew, if the run wants it and the task set's world can."""
        teacher, name = self._started_teacher(), self._env_config.task_set
        if not self._hindsight_tasks or teacher is None or name not in HINDSIGHT:
            return None
        if not isinstance(agent, PolicyAgent):
            return None
        tasks = resolve(name, HINDSIGHT, what="env.task_set")(self._env_config)
        return Hindsight(
            tasks,
            teacher,
            agent.model_inputs,
            self._hindsight_tasks,
            reworded=self._hindsight_reworded,
        )

    def _agent(self, order: AttemptOrder) -> Agent:
        if order.agent != POLICY_AGENT:
            scripted: Agent = resolve(order.agent, AGENTS, what="agent")()
            return scripted
        agent = self._policies.get(_variant(order))
        if agent is None:
            agent = PolicyAgent(self._policy_config, seed=self._seed, temperature=order.temperature)
            agent.policy_version = -1  # its weights come from a box
            self._policies[_variant(order)] = agent
        if self._box(order).version < 0:
            raise RuntimeError("expected offer_weights() before an attempt of the policy")
        return agent

    def _before_step(self, order: AttemptOrder, agent: Agent) -> Callable[[], None] | None:
        """What takes newer weights between steps; an attempt that keeps its weights takes once."""
        if not isinstance(agent, PolicyAgent):
            return None

        def take() -> None:
            newer = self._box(order).newer_than(self._stamps.get(_variant(order), NOTHING))
            if newer is not None:
                agent.load_weights(newer[1], newer[0][1])
                self._stamps[_variant(order)] = newer[0]

        take()
        return None if order.keeps_weights else take

    def _box(self, order: AttemptOrder) -> WeightBox:
        return self._pinned if order.is_pinned else self._newest


def _variant(order: AttemptOrder) -> _Variant:
    return order.temperature, order.is_pinned


def _report(attempt: EpisodeAttempt, wall_s: float) -> AttemptReport:
    episode, trajectory = attempt.episode, attempt.trajectory
    versions = [step.policy_version for step in trajectory.steps]
    return AttemptReport(
        trajectory_id=episode.trajectory_id,
        group_id=episode.group_id,
        task_id=episode.task.task_id,
        kind=episode.task.kind,
        stop=episode.stop,
        detail=attempt.infra_detail,
        num_steps=len(episode.steps),
        num_bytes=trajectory.num_bytes(),
        layer_weights=trajectory.layer_weights,
        fingerprint=_fingerprint(attempt),
        wall_s=wall_s,
        act_s=attempt.act_s,
        env_s=attempt.env_s,
        first_version=versions[0] if versions else -1,
        last_version=versions[-1] if versions else -1,
        num_invalid=sum(step.effect != "ok" for step in episode.steps),
    )


def _fingerprint(attempt: EpisodeAttempt) -> str:
    """What was done, step by step, and what came of it; stop and answer included."""
    digest = hashlib.blake2b(digest_size=8)
    for step, record in itertools.zip_longest(attempt.episode.steps, attempt.trajectory.steps):
        chosen = record.chosen if record is not None else -1
        done = (step.action_type, chosen, step.url, step.extracted_text)
        digest.update(repr(done).encode())
    digest.update(repr((attempt.episode.final_answer, attempt.episode.stop.value)).encode())
    return digest.hexdigest()


def _not_begun(order: AttemptOrder, error: InfraError, wall_s: float) -> Outcome:
    """What is left of an attempt whose browser never came up."""
    task = order.task
    episode = Episode(
        trajectory_id=order.trajectory_id,
        group_id=order.group_id,
        task=task,
        steps=(),
        final_answer="",
        stop=error.stop,
    )
    trajectory = Trajectory(
        trajectory_id=order.trajectory_id,
        group_id=order.group_id,
        task_id=task.task_id,
        kind=task.kind,
        split=task.split,
        layer_weights=task.layer_weights,
        steps=(),
        stop=error.stop,
    )
    attempt = EpisodeAttempt(
        episode=episode, trajectory=trajectory, act_s=0.0, env_s=wall_s, infra_detail=error.detail
    )
    return episode, trajectory, _report(attempt, wall_s)
