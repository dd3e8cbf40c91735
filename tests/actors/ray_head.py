# SPDX-License-Identifier: Apache-2.0
"""A real Ray head on free ports, as a cluster that a run joins; ended by its own process ids."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 15.0


@dataclass(frozen=True, kw_only=True)
class Head:
    """A running head and how to reach it."""

    address: str
    dashboard: str
    token: str
    pid: int
    python: str

    def environment(self) -> dict[str, str]:
        """For a driver that joins."""
        return {
            **os.environ,
            "RAY_ADDRESS": self.address,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
        }


def free_ports(count: int) -> list[int]:
    """Ports that nobody listened on a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@contextlib.contextmanager
def ray_head(
    *, num_cpus: int, dashboard: bool = False, python: str = sys.executable
) -> Iterator[Head]:
    """A head with a token of its own; gone with all its processes and files afterwards."""
    port, dashboard_port, agent_port, agent_grpc, client = free_ports(5)
    # Its sockets lie there, and a socket's path holds about a hundred characters.
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    token = secrets.token_hex(32)
    options: Sequence[str] = (
        f"--port={port}",
        f"--num-cpus={num_cpus}",
        "--node-ip-address=127.0.0.1",
        f"--dashboard-port={dashboard_port}",
        f"--dashboard-agent-listen-port={agent_port}",
        f"--dashboard-agent-grpc-port={agent_grpc}",
        # A client server comes with ray[default] only, and only there may its port be chosen.
        *([f"--ray-client-server-port={client}"] if dashboard else []),
        f"--include-dashboard={str(dashboard).lower()}",
        f"--temp-dir={folder}",
        "--object-store-memory=200000000",
        "--labels=role=test",
        "--disable-usage-stats",
        "--block",
    )
    environment = {
        **{name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"},
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_enable_worker_prestart": "0",
        "PATH": f"{Path(python).parent}:{os.environ['PATH']}",
    }
    log = Path(folder) / "start.log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            [python, "-m", "ray.scripts.scripts", "start", "--head", *options],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_for(started, log, [port, *([dashboard_port] if dashboard else [])])
        yield Head(
            address=f"127.0.0.1:{port}",
            dashboard=f"http://127.0.0.1:{dashboard_port}",
            token=token,
            pid=started.pid,
            python=python,
        )
    finally:
        family = _family(started)
        started.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(_STOP_TIMEOUT_S)
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        started.kill()
        started.wait()
        psutil.wait_procs(family, timeout=_STOP_TIMEOUT_S)
        shutil.rmtree(folder, ignore_errors=True)


def _family(started: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(started.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _wait_for(started: subprocess.Popen[bytes], log: Path, ports: Sequence[int]) -> None:
    until_s = time.monotonic() + _START_TIMEOUT_S
    waiting = list(ports)
    while waiting or "runtime started" not in log.read_text(errors="replace"):
        assert started.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < until_s, f"{waiting}: {log.read_text(errors='replace')}"
        for port in list(waiting):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1.0).close()
                waiting.remove(port)
        time.sleep(0.2)
