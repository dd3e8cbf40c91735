# SPDX-License-Identifier: Apache-2.0
"""Several processes do what one does, and none of them outlives the first."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from learner.config import Baseline, Candidates, LearnerConfig, ObjectiveConfig, StepLoss
from learner.team import Alone, ProcessesLost, sum_each
from learner.types import Group
from learner.update import Learner, UpdateReport
from learner.work import owners_of_groups, shares
from tests.learner.tiny_policy import TinyPolicy, random_group

ONE = LearnerConfig(step_replay_updates=4, step_replay_states=16, minibatch_steps=16)
VARIANTS = {
    "the default objective": ObjectiveConfig(kl_target_nats=0.01),
    "all that a whole minibatch decides": ObjectiveConfig(
        entropy_floor=0.95,
        balances_gradients=True,
        prox_kl_limit_nats=0.05,
        stale_episode_nats=0.01,
    ),
    "a critic": ObjectiveConfig(baseline=Baseline.CRITIC),
}


def make_groups(seed: int, count: int = 4) -> list[Group]:
    rng = np.random.default_rng(seed)
    policy = TinyPolicy(seed=1)
    return [
        random_group(rng, f"g{seed}.{i}", policy=policy, size=2, max_steps=8) for i in range(count)
    ]


def several(objective: ObjectiveConfig = ONE.objective, **changes: object) -> LearnerConfig:
    # A deadline that only a test of deadlines meets, whatever else the machine does.
    changes = {"num_processes": 2, "process_timeout_s": 150.0, **changes}
    return dataclasses.replace(ONE, objective=objective, **changes)  # type: ignore[arg-type]


@contextmanager
def learning(config: LearnerConfig, seed: int = 0) -> Iterator[Learner]:
    learner = Learner(TinyPolicy(seed=seed), config)
    try:
        yield learner
    finally:
        learner.close()


def largest_gap(a: Learner, b: Learner) -> float:
    ours, theirs = a.weights(), b.weights()
    return max(float(np.abs(ours[name] - theirs[name]).max()) for name in ours)


def train(learner: Learner, versions: range) -> list[UpdateReport]:
    return [learner.update(make_groups(v), progress=0.1 * v) for v in versions]


@pytest.mark.parametrize(
    "name",
    [
        "the default objective",
        "all that a whole minibatch decides",
        pytest.param("a critic", marks=pytest.mark.slow),
    ],
)
def test_two_processes_hold_the_weights_of_one_after_three_updates(name: str) -> None:
    objective = VARIANTS[name]
    one = Learner(TinyPolicy(seed=0), dataclasses.replace(ONE, objective=objective))
    before = one.weights()
    with learning(several(objective)) as two:
        pairs = zip(train(one, range(3)), train(two, range(3)), strict=True)
        assert largest_gap(one, two) < 1e-6
        moved = max(float(np.abs(one.weights()[k] - before[k]).max()) for k in before)
        assert moved > 1e-2, "there was something to agree on"
        for ours, theirs in pairs:
            assert theirs.metrics.keys() == ours.metrics.keys()
            for key, value in ours.metrics.items():
                assert theirs.metrics[key] == pytest.approx(value, rel=1e-4, abs=1e-6), key
        assert one._controller.weight != objective.kl_initial, "the KL controller took part"
        states = one.state_dict(), two.state_dict()
    for part in ("rng", "candidate_rng", "policy_version"):
        assert states[0][part] == states[1][part]
    assert len(states[0]["reservoir"]["steps"]) == len(states[1]["reservoir"]["steps"]) > 0


def test_a_learner_of_two_goes_on_from_the_state_of_one_and_back() -> None:
    """Bit for bit from its own state; within 1e-6 from one process to two."""
    with learning(several()) as straight:
        train(straight, range(2))
        state = straight.state_dict()
        train(straight, range(2, 4))
        expected = straight.weights()
        straight.close()
        alone = Learner(TinyPolicy(seed=5), ONE)
        alone.load_state_dict(state)
        train(alone, range(2, 4))
        assert largest_gap(alone, straight) < 1e-6
    with learning(several(seed=9), seed=6) as resumed:
        resumed.load_state_dict(state)
        train(resumed, range(2, 4))
        got = resumed.weights()
    assert all(np.array_equal(got[name], expected[name]) for name in expected)


# --- Ends ----------------------------------------------------------------------------------------


def pids_of(learner: Learner) -> tuple[int, ...]:
    assert learner._others is not None
    return learner._others.pids()


def test_a_follower_that_dies_ends_the_update_and_gives_all_processes_back() -> None:
    with learning(several()) as learner:
        (pid,) = pids_of(learner)
        learner.update(make_groups(0), progress=0.0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ProcessesLost, match="of the learner"):
            learner.update(make_groups(1), progress=0.0)
        assert not psutil.pid_exists(pid)
        with pytest.raises(ProcessesLost, match="closed"):
            learner.update(make_groups(1), progress=0.0)


@pytest.mark.slow
def test_a_follower_that_hangs_is_noticed_by_the_deadline_and_killed() -> None:
    with learning(several(process_timeout_s=15.0)) as learner:
        (pid,) = pids_of(learner)
        assert learner._others is not None
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(ProcessesLost):
            learner.update(make_groups(0), progress=0.0)
        assert not psutil.pid_exists(pid)


def test_followers_end_with_the_process_that_leads_them_even_when_it_is_killed() -> None:
    program = (
        "import time\n"
        "from tests.learner.test_processes import *\n"
        "learner = Learner(TinyPolicy(), several())\n"
        "learner.update(make_groups(0), progress=0.0)\n"
        "print(*pids_of(learner), flush=True)\n"
        "time.sleep(600)\n"
    )
    root = Path(__file__).resolve().parents[2]
    leader = subprocess.Popen([sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE)
    assert leader.stdout is not None
    with leader.stdout:
        followers = [psutil.Process(int(pid)) for pid in leader.stdout.readline().split()]
        leader.kill()
        leader.wait()
    assert len(followers) == 1
    gone, alive = psutil.wait_procs(followers, timeout=30)
    assert gone and not alive


@pytest.mark.slow
def test_what_a_follower_cannot_do_is_said() -> None:
    groups = make_groups(0)
    sizes = [sum(len(m.trajectory.steps) for m in group.members) for group in groups]
    of_follower = owners_of_groups(sizes, 2).tolist().index(1)
    first, *others = groups[of_follower].members
    steps = first.trajectory.steps
    wrong = (dataclasses.replace(steps[0], chosen=10_000), *steps[1:])
    trajectory = dataclasses.replace(first.trajectory, steps=wrong)
    members = (dataclasses.replace(first, trajectory=trajectory), *others)
    groups[of_follower] = dataclasses.replace(groups[of_follower], members=members)
    with learning(several()) as learner, pytest.raises(ProcessesLost, match=r"StepRecord\.chosen"):
        learner.update(groups, progress=0.0)


# --- Parts ---------------------------------------------------------------------------------------


def test_groups_are_dealt_out_whole_and_evenly() -> None:
    owners = owners_of_groups([9, 2, 3, 5, 1], 2)
    assert owners.tolist() == [0, 1, 1, 1, 0]
    assert owners_of_groups([4, 4], 1).tolist() == [0, 0]


def test_every_row_has_one_owner_and_shares_add_up() -> None:
    samples = [object() for _ in range(5)]
    owners = [np.array([0, 1, 1, 0, 1]), np.array([1, 1, 1, 1, 1])]
    first, second = shares([samples, samples], owners, 2)  # type: ignore[list-item]
    assert [rows.share for rows in first] == [0.4, 0.0]
    assert [rows.share for rows in second] == [0.6, 1.0]
    assert first[0].samples == (samples[0], samples[3])
    assert first[1].samples == (samples[0],), "a borrowed one"
    assert first[1].whole == tuple(samples) and second[1].whole == ()


class _Twice(Alone):
    """As if another process had the same addends."""

    size = 2

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        return 2 * values


def test_a_gradient_that_no_process_has_stays_none() -> None:
    like = [torch.zeros(2, 2), torch.zeros(3)]
    first, second = sum_each([torch.ones(2, 2), None], like, _Twice())
    assert first is not None and torch.equal(first, 2 * torch.ones(2, 2))
    assert second is None


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"num_processes": 0}, "algo.num_processes"),
        ({"num_processes": 5}, "algo.num_processes: expected 1..4"),
        ({"num_processes": 2, "device": "cuda:1"}, "algo.device: expected cpu or cuda"),
        ({"process_timeout_s": 0.0}, "algo.process_timeout_s"),
        (
            {
                "num_processes": 2,
                "objective": ObjectiveConfig(
                    step_loss=StepLoss.BRADLEY_TERRY, candidates=Candidates.POLICY
                ),
            },
            "algo.num_processes: expected 1 with objective.candidates=policy",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, object], key: str) -> None:
    with pytest.raises(ValueError, match=key):
        dataclasses.replace(ONE, **changes)  # type: ignore[arg-type]


def test_more_processes_than_gpus_are_refused() -> None:
    config = several(device="cuda")
    if torch.cuda.device_count() >= 2:
        pytest.skip("there are enough")
    with pytest.raises(ValueError, match=r"algo\.num_processes: expected at most"):
        Learner(TinyPolicy(), config)
