# SPDX-License-Identifier: Apache-2.0
"""The rollout worker on the twin: newer weights between steps, and an end at any time."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest

from actors.rollout import RolloutWorker
from actors.types import POLICY_AGENT, AttemptOrder
from agent.config import PolicyConfig
from agent.policy_agent import build_policy
from envs.search_env import make_task_set
from envs.types import Split
from tests.actors.jobs import TWIN

POLICY = PolicyConfig(width=16)
ENV = dataclasses.replace(TWIN, max_steps=40)


def make_order(*, seed: int = 0, agent: str = POLICY_AGENT, index: int = 0) -> AttemptOrder:
    return AttemptOrder(
        task=make_task_set(ENV).task(Split.TRAIN, index),
        trajectory_id=f"a{seed}",
        group_id="g",
        seed=seed,
        agent=agent,
        temperature=1.0,
        with_teacher=False,
    )


def offer(worker: RolloutWorker, version: int) -> None:
    network = build_policy(POLICY, seed=version)
    weights = {k: v.numpy() for k, v in network.state_dict().items()}
    worker.offer_weights(version, weights, generation=0)


@pytest.fixture
def worker() -> Iterator[RolloutWorker]:
    yield RolloutWorker(env=ENV, policy=POLICY, seed=0)


async def test_each_step_is_marked_with_the_version_that_took_it(worker: RolloutWorker):
    offer(worker, 0)
    for seed in range(20):  # until an attempt is long enough to be met by a new version
        running = asyncio.ensure_future(worker.run_attempt(make_order(seed=seed)))
        version = worker.health().policy_version
        for _ in range(12):
            await asyncio.sleep(0)
        offer(worker, version + 1)
        _, trajectory, report = await running
        versions = [step.policy_version for step in trajectory.steps]
        assert versions == sorted(versions)
        assert (report.first_version, report.last_version) == (versions[0], versions[-1])
        if len(set(versions)) == 2:
            break
    else:
        raise AssertionError("no attempt was met by a new version")
    assert set(versions) == {version, version + 1}
    await worker.close()


async def test_an_attempt_that_nobody_waits_for_is_ended_before_the_next_begins(
    worker: RolloutWorker,
):
    offer(worker, 0)
    expected, _, _ = await worker.run_attempt(make_order(seed=3))
    left = asyncio.ensure_future(worker.run_attempt(make_order(seed=4)))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not left.done()
    found, _, report = await worker.run_attempt(make_order(seed=3))
    assert left.cancelled() or isinstance(left.exception(), asyncio.CancelledError)
    assert not report.stop.is_infra_failure()
    assert found.steps == expected.steps and found.final_answer == expected.final_answer
    await worker.close()


async def test_a_policy_without_weights_is_refused(worker: RolloutWorker):
    with pytest.raises(RuntimeError, match="offer_weights"):
        await worker.run_attempt(make_order())
    await worker.close()


async def test_the_same_order_gives_the_same_attempt(worker: RolloutWorker):
    offer(worker, 0)
    first, _, _ = await worker.run_attempt(make_order(seed=3))
    again, _, _ = await worker.run_attempt(make_order(seed=3))
    assert [s.action_type for s in first.steps] == [s.action_type for s in again.steps]
    assert first.final_answer == again.final_answer
    await worker.close()


async def test_closing_ends_the_attempt_in_flight(worker: RolloutWorker):
    running = asyncio.ensure_future(worker.run_attempt(make_order(agent="wanderer")))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not running.done()
    await worker.close()
    with pytest.raises(asyncio.CancelledError):
        await running
