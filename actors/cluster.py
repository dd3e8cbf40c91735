# SPDX-License-Identifier: Apache-2.0
"""Joining a Ray cluster: where it is, and whether it has what the config asks for.

A worker that no node can hold would wait for ever, and Ray says nothing. So the nodes are looked at
first, and what is missing is named. Knows no Ray: `launch_ray` hands in how nodes are asked for.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.config import ClusterConfig, RolloutConfig

_BYTES_PER_MB = 1_000_000
_CONNECT_TIMEOUT_S = 5.0
_NODES_INTERVAL_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """What the workers of one kind ask for."""

    kind: str
    count: int
    cpus: float  # of each
    memory_mb: float  # of each; 0 books none
    labels: Mapping[str, str]  # that a node must have
    gpus: float = 0.0  # of each


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """What one node of the cluster has in all, busy or not."""

    name: str
    cpus: float
    memory_mb: float
    labels: Mapping[str, str]
    gpus: float = 0.0


def needs_of(cluster: ClusterConfig, rollout: RolloutConfig) -> tuple[Need, ...]:
    """The workers of a run, in the order in which they are placed."""
    counts = {
        "learner": 1,
        "replay": 1,
        "rollout": rollout.num_workers,
        "reward": cluster.num_reward_workers,
    }
    return tuple(
        Need(
            kind=kind,
            count=count,
            cpus=getattr(cluster, f"{kind}_cpus"),
            memory_mb=getattr(cluster, f"{kind}_memory_mb"),
            labels=labels_of(getattr(cluster, f"{kind}_labels")),
            gpus=cluster.learner_gpus if kind == "learner" else 0.0,
        )
        for kind, count in counts.items()
    )


def labels_of(pairs: Sequence[str]) -> dict[str, str]:
    """`("arch=arm64",)` as a mapping."""
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def actor_options(need: Need) -> dict[str, Any]:
    """How Ray is told of a need."""
    options: dict[str, Any] = {"num_cpus": need.cpus}
    if need.memory_mb:
        options["memory"] = int(need.memory_mb * _BYTES_PER_MB)
    if need.gpus:
        options["num_gpus"] = need.gpus
    if need.labels:
        options["label_selector"] = dict(need.labels)
    return options


def nodes_from(rows: Sequence[Mapping[str, Any]]) -> tuple[Node, ...]:
    """The living nodes among what `ray.nodes()` gives."""
    return tuple(
        Node(
            name=str(row.get("NodeManagerHostname") or row.get("NodeID", "?")),
            cpus=float(row["Resources"].get("CPU", 0.0)),
            memory_mb=float(row["Resources"].get("memory", 0.0)) / _BYTES_PER_MB,
            labels=dict(row.get("Labels") or {}),
            gpus=float(row["Resources"].get("GPU", 0.0)),
        )
        for row in rows
        if row["Alive"]
    )


async def wait_for_nodes(
    needs: Sequence[Need],
    rows: Callable[[], Sequence[Mapping[str, Any]]],
    address: str,
    *,
    timeout_s: float,
) -> None:
    """Until the cluster has what `needs` ask for; `RuntimeError` names what it lacks."""
    until_s = time.monotonic() + timeout_s
    while lacking := missing(needs, nodes_from(rows())):
        if time.monotonic() >= until_s:
            raise RuntimeError(
                f"the cluster at {address} lacks {'; and '.join(lacking)}; "
                "start such nodes (cluster.join_timeout_s waits for them) or ask for less"
            )
        await asyncio.sleep(_NODES_INTERVAL_S)


def missing(needs: Sequence[Need], nodes: Sequence[Node]) -> list[str]:
    """What the cluster lacks, each named with the settings that ask for it; empty when all fits.

    First whether any node can hold a worker of each kind, then whether all workers fit together,
    placed largest first, each on the fullest node that still has room.
    """
    lacking = [text for need in needs for text in _lacks(need, nodes)]
    if lacking:
        return lacking
    free = {i: [node.cpus, node.memory_mb] for i, node in enumerate(nodes)}
    for need in sorted(needs, key=lambda need: (len(need.labels), need.cpus), reverse=True):
        for placed in range(need.count):
            fitting = [
                i
                for i, (cpus, memory_mb) in free.items()
                if _has_labels(need, nodes[i])
                and cpus >= need.cpus - 1e-9
                and memory_mb >= need.memory_mb
            ]
            if not fitting:
                asked = sum(other.count * other.cpus for other in needs)
                has = sum(node.cpus for node in nodes)
                return [
                    f"room for {need.count} {need.kind} workers beside the others (there is room "
                    f"for {placed}): the run asks for {asked:g} CPUs in all, the cluster has "
                    f"{has:g}"
                ]
            best = min(fitting, key=lambda i: free[i][0])
            free[best][0] -= need.cpus
            free[best][1] -= need.memory_mb
    return []


def _lacks(need: Need, nodes: Sequence[Node]) -> Iterator[str]:
    if not need.count:
        return
    labelled = [node for node in nodes if _has_labels(need, node)]
    where = ""
    if need.labels:
        wanted = ",".join(f"{key}={value}" for key, value in need.labels.items())
        if not labelled:
            seen = sorted({f"{k}={v}" for node in nodes for k, v in node.labels.items()})
            own = [label for label in seen if not label.startswith("ray.io/")]
            yield (
                f"a node with the labels {wanted} (cluster.{need.kind}_labels); labels there are: "
                f"{', '.join(own) or 'none'}"
            )
            return
        where = f" with the labels {wanted}"
    cpus = max((node.cpus for node in labelled), default=0.0)
    if cpus < need.cpus:
        yield (
            f"a node{where} with {need.cpus:g} CPUs (cluster.{need.kind}_cpus); the largest has "
            f"{cpus:g}"
        )
    memory_mb = max((node.memory_mb for node in labelled), default=0.0)
    if memory_mb < need.memory_mb:
        yield (
            f"a node{where} with {need.memory_mb:g} MB of memory (cluster.{need.kind}_memory_mb); "
            f"the largest offers {memory_mb:.0f}"
        )

    gpus = max((node.gpus for node in labelled), default=0.0)
    if gpus < need.gpus:
        yield (
            f"a node{where} with {need.gpus:g} GPUs (cluster.{need.kind}_gpus); the most that one "
            f"has is {gpus:g}"
        )


def _has_labels(need: Need, node: Node) -> bool:
    return all(node.labels.get(key) == value for key, value in need.labels.items())


def check_address(address: str) -> None:
    """That `RAY_ADDRESS` can be joined; `RuntimeError` says what to do."""
    if address.startswith("ray://"):
        raise RuntimeError(
            f"RAY_ADDRESS: expected HOST:PORT of a cluster's head, got {address} (a Ray client "
            "address); submit the run with `ray job submit`, see docs/CLUSTER.md"
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return  # "auto" and the like: Ray knows
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise RuntimeError(
            f"RAY_ADDRESS: expected a Ray head at {address}, got {error}; start the cluster, or "
            "unset RAY_ADDRESS to run on this machine"
        ) from error
