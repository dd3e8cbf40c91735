# SPDX-License-Identifier: Apache-2.0
"""Joining a cluster: what it lacks is named, and a run on a real head leaves it as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import psutil
import pytest

from actors.cluster import Need, Node, actor_options, missing, needs_of, nodes_from
from actors.config import ClusterConfig, Launch, RolloutConfig, TrainJob
from learner.config import LearnerConfig
from tests.actors.ray_head import Head, free_ports, ray_head

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (
    "env=web_fast",
    "policy.width=16",
    "algo.group_size=2",
    "algo.groups_per_update=2",
    "train.max_env_steps=60",
    "evaluation.num_tasks=0",
    "evaluation.num_baseline_tasks=0",
)


def need(kind: str = "rollout", count: int = 1, cpus: float = 1.0, **rest) -> Need:
    return Need(kind=kind, count=count, cpus=cpus, **{"memory_mb": 0.0, "labels": {}, **rest})


def node(cpus: float, memory_mb: float = 1000.0, **labels: str) -> Node:
    return Node(name="n", cpus=cpus, memory_mb=memory_mb, labels=labels)


def test_a_cluster_that_has_what_is_asked_for_lacks_nothing():
    needs = [need(count=3, cpus=0.5), need("learner", cpus=1.0, memory_mb=900.0)]
    assert missing(needs, [node(1.5), node(1.0)]) == []
    assert missing([need(count=0, cpus=99.0)], [node(1.0)]) == []


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (need(cpus=4.0), "a node with 4 CPUs (cluster.rollout_cpus); the largest has 2"),
        (need(memory_mb=5000.0), "5000 MB of memory (cluster.rollout_memory_mb)"),
        (need("learner", gpus=2.0), "2 GPUs (cluster.learner_gpus); the most that one has is 0"),
        (need("reward", labels={"arch": "arm64"}), "labels arch=arm64 (cluster.reward_labels)"),
        (
            need("reward", cpus=2.0, labels={"role": "small"}),
            "the labels role=small with 2 CPUs (cluster.reward_cpus); the largest has 1",
        ),
        (need(count=5), "room for 5 rollout workers beside the others (there is room for 3)"),
    ],
)
def test_what_is_missing_is_named_with_its_setting(asked: Need, expected: str):
    [text] = missing([asked], [node(2.0), node(1.0, role="small")])
    assert expected in text


def test_workers_bound_to_labels_get_their_node_before_the_others_fill_it():
    needs = [need("rollout", count=2, cpus=1.0), need("reward", cpus=1.0, labels={"role": "r"})]
    assert missing(needs, [node(1.0, role="r"), node(2.0)]) == []
    assert missing(needs, [node(1.0, role="r"), node(1.0)])


def test_dead_nodes_do_not_count_and_settings_become_what_ray_is_asked_for():
    rows = [
        {"Alive": True, "Resources": {"CPU": 2.0, "memory": 3e9}, "Labels": {"arch": "arm64"}},
        {"Alive": False, "Resources": {"CPU": 64.0}},
    ]
    nodes = nodes_from(rows)
    assert [(n.cpus, n.memory_mb, n.labels) for n in nodes] == [(2.0, 3000.0, {"arch": "arm64"})]
    config = ClusterConfig(reward_labels=("arch=arm64",), reward_memory_mb=100.0, reward_cpus=0.5)
    asked = {each.kind: each for each in needs_of(config, RolloutConfig(num_workers=7))}
    assert asked["rollout"].count == 7
    assert actor_options(asked["reward"]) == {
        "num_cpus": 0.5,
        "memory": 100_000_000,
        "label_selector": {"arch": "arm64"},
    }
    with pytest.raises(ValueError, match=r"cluster\.reward_labels: expected KEY=VALUE"):
        ClusterConfig(reward_labels=("arm64",))


def test_gpus_are_booked_for_the_learner_alone_and_before_anything_starts():
    rows = [{"Alive": True, "Resources": {"CPU": 2.0, "GPU": 2.0}}]
    asked = {each.kind: each for each in needs_of(ClusterConfig(learner_gpus=2.0), RolloutConfig())}
    assert actor_options(asked["learner"]) == {"num_cpus": 0.5, "num_gpus": 2.0}
    assert "num_gpus" not in actor_options(asked["rollout"])
    assert missing([asked["learner"]], nodes_from(rows)) == []
    algo = LearnerConfig(device="cuda", num_processes=2)
    with pytest.raises(ValueError, match=r"cluster\.learner_gpus: expected >= 2"):
        TrainJob(algo=algo, cluster=ClusterConfig(learner_gpus=1.0))
    TrainJob(algo=algo, cluster=ClusterConfig(learner_gpus=2.0))
    TrainJob(algo=algo, launch=Launch.INPROCESS)


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    with ray_head(num_cpus=2) as running:
        yield running


def train(environment: dict[str, str], runs: Path, *settings: str):
    return subprocess.run(
        [sys.executable, "train.py", f"logger.runs_dir={runs}", *SETTINGS, *settings],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
    )


@pytest.mark.timeout(300)
def test_a_run_joins_a_cluster_that_wants_a_token_and_leaves_it_running(head: Head, tmp_path: Path):
    done = train(head.environment(), tmp_path, 'cluster.rollout_labels=["role=test"]')
    assert done.returncode == 0, done.stderr
    summary = orjson.loads((tmp_path / "latest" / "summary.json").read_bytes())
    assert summary["env_steps"] >= 60 and summary["policy_version"] >= 1
    names = [process.name() for process in psutil.Process(head.pid).children(recursive=True)]
    assert "raylet" in names, "the head goes on"
    assert not [name for name in names if "Actor" in name], "the run's actors are gone"


@pytest.mark.timeout(300)
def test_a_cluster_that_lacks_something_ends_the_run_at_once_and_by_name(
    head: Head, tmp_path: Path
):
    done = train(
        head.environment(),
        tmp_path,
        "cluster.join_timeout_s=0",
        "cluster.learner_cpus=64",
        "cluster.replay_memory_mb=9e9",
        'cluster.reward_labels=["arch=arm64"]',
    )
    assert done.returncode == 1
    for text in (
        f"the cluster at {head.address} lacks",
        "a node with 64 CPUs (cluster.learner_cpus); the largest has 2",
        "MB of memory (cluster.replay_memory_mb)",
        "a node with the labels arch=arm64 (cluster.reward_labels); labels there are: role=test",
    ):
        assert text in done.stderr


def test_an_address_where_nothing_listens_is_an_error_that_says_so(tmp_path: Path):
    [port] = free_ports(1)
    done = train({**os.environ, "RAY_ADDRESS": f"127.0.0.1:{port}"}, tmp_path)
    assert done.returncode == 1
    assert f"RAY_ADDRESS: expected a Ray head at 127.0.0.1:{port}" in done.stderr
    done = train({**os.environ, "RAY_ADDRESS": "ray://127.0.0.1:10001"}, tmp_path)
    assert done.returncode == 1
    assert "ray job submit" in done.stderr
