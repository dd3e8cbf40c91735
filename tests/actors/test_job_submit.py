# SPDX-License-Identifier: Apache-2.0
"""A stopped `ray job` on a real head saves and exits by itself, as the docs say."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from actors.run_folder import find_checkpoint
from envs.browser.profile import profiles_root
from learner.checkpoint import load_checkpoint
from tests.actors.ray_head import Head, ray_head

ROOT = Path(__file__).resolve().parents[2]
# A Python whose Ray has the dashboard, if not this one's.
PYTHON = os.environ.get("FORAGERL_CLUSTER_PYTHON", sys.executable)


def has_jobs(python: str) -> bool:
    """Whether that Python's Ray can serve jobs, which takes ray[default]."""
    probe = "import ray.dashboard.modules.job.job_head, aiohttp_cors"
    return subprocess.run([python, "-c", probe], capture_output=True).returncode == 0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not has_jobs(PYTHON),
        reason="needs ray[default]: pip install -e '.[cluster]', or FORAGERL_CLUSTER_PYTHON",
    ),
]


@pytest.fixture
def head() -> Iterator[Head]:
    with ray_head(num_cpus=2, dashboard=True, python=PYTHON) as running:
        yield running


def job(head: Head, *arguments: str) -> str:
    """Output of `ray job ...`."""
    environment = {**head.environment(), "RAY_API_SERVER_ADDRESS": head.dashboard}
    environment.pop("RAY_ADDRESS")
    done = subprocess.run(
        [head.python, "-m", "ray.scripts.scripts", "job", *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout + done.stderr


@pytest.mark.timeout(400)
def test_a_stopped_job_saves_and_exits_within_the_time_it_is_given(head: Head, tmp_path: Path):
    submitted = job(
        head,
        "submit",
        "--no-wait",
        "--submission-id=test-run",
        f"--working-dir={ROOT}",
        f"--runtime-env={ROOT / 'deploy' / 'job-runtime.yaml'}",
        "--",
        "python",
        "train.py",
        f"logger.runs_dir={tmp_path}",
        "policy.width=16",
        "evaluation.num_tasks=0",
        "evaluation.num_baseline_tasks=0",
    )
    metrics = tmp_path / "latest" / "metrics.jsonl"
    until_s = time.monotonic() + 200
    while not metrics.exists() or b'"attempt"' not in metrics.read_bytes():
        assert time.monotonic() < until_s, submitted + job(head, "logs", "test-run")
        assert "FAILED" not in job(head, "status", "test-run"), job(head, "logs", "test-run")
        time.sleep(2.0)
    profiles = set(profiles_root().glob("*/*"))
    browsers = [
        process
        for process in psutil.Process(head.pid).children(recursive=True)
        if any(a.startswith("--user-data-dir") for a in process.cmdline())
    ]
    assert browsers, "rollout actors run browsers"
    mine = {a.partition("=")[2] for p in browsers for a in p.cmdline() if "user-data-dir" in a}

    stopped = job(head, "stop", "test-run")
    log = job(head, "logs", "test-run")
    assert "was stopped" in job(head, "status", "test-run"), stopped
    assert "SIGTERM: saving and closing" in log
    assert "interrupted" in log, "it ended by itself, not by a second signal"
    assert load_checkpoint(find_checkpoint(tmp_path / "latest")).policy_version >= 0
    _, alive = psutil.wait_procs(browsers, timeout=10)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
    assert not {str(path) for path in profiles & set(profiles_root().glob("*/*"))} & mine
