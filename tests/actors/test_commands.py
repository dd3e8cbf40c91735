# SPDX-License-Identifier: Apache-2.0
"""The commands that show a run, as a person types them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from actors.cli import EXIT_USAGE, main
from actors.run_folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]


def test_report_writes_the_page_anew(chromium_run: RunFolder, capsys: pytest.CaptureFixture[str]):
    before = chromium_run.report.read_bytes()
    chromium_run.report.unlink()
    assert main(["report", str(chromium_run.path)]) == 0
    assert chromium_run.report.read_bytes() == before, "the same run, the same page"
    assert str(chromium_run.report) in capsys.readouterr().out


@pytest.mark.parametrize("command", ["report", "view"])
def test_a_folder_that_is_no_run_is_refused(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
):
    assert main([command, str(tmp_path)]) == EXIT_USAGE
    assert "expected a run's folder" in capsys.readouterr().err


def test_view_serves_two_runs_until_interrupted(chromium_run: RunFolder):
    run = str(chromium_run.path)
    started = subprocess.Popen(
        [sys.executable, "-m", "actors.cli", "view", run, "--compare", run, "--port", "0"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    address = re.search(r"http://127\.0\.0\.1:\d+/", started.stderr.readline())
    assert address
    with urllib.request.urlopen(address[0], timeout=10) as reply:
        assert "archived attempts" in reply.read().decode()
    os.kill(started.pid, signal.SIGINT)
    assert started.wait(timeout=20) == 0
    assert "Traceback" not in started.stderr.read()


def test_an_unknown_command_names_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trian"]) == EXIT_USAGE
    assert "no command 'trian'; did you mean 'train'?" in capsys.readouterr().err
    assert main(["xyz"]) == EXIT_USAGE
    assert "expected one of" in capsys.readouterr().err


@pytest.mark.parametrize("script", ["train.py", "evaluate.py"])
def test_a_python_without_the_packages_is_told_how_to_get_them(script: str) -> None:
    root = Path(__file__).resolve().parents[2]
    # -S leaves all installed packages out, as in an environment that nothing was installed into.
    done = subprocess.run(
        [sys.executable, "-S", str(root / script)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "make setup" in done.stderr and "has no package" in done.stderr


def test_what_a_users_own_file_lacks_is_not_told_as_a_missing_set_up(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import not_there_mine\n")
    done = subprocess.run(
        [sys.executable, "train.py", "env=web_fast", "env.task_set=mine:Tasks", "launch=inprocess"],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0 and "not_there_mine" in done.stderr + done.stdout
    assert "make setup" not in done.stderr
