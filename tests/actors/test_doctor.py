# SPDX-License-Identifier: Apache-2.0
"""The doctor's findings under real conditions, good and bad."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from actors.doctor import (
    Finding,
    Level,
    available_gb,
    check_browser,
    check_disk,
    check_fonts,
    check_libraries,
    check_memory,
    check_packages_are_ours,
    check_python,
    check_ray,
    check_shared_memory,
    exit_code,
    report,
)

ROOT = Path(__file__).resolve().parents[2]


def script(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def only(findings: object) -> Finding:
    (finding,) = list(findings)  # type: ignore[call-overload]
    return finding


def test_the_command_finds_this_machine_well_enough_to_run_the_tests(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "actors.cli", "doctor", "--runs-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 problems" in done.stdout
    checks = {line[9:21].strip() for line in done.stdout.splitlines() if line[:1] != " "}
    wanted = {"python", "packages", "libraries", "torch", "browser", "fonts", "/dev/shm"}
    assert checks >= wanted | {"disk", "memory", "ports", "ray"}


def test_every_finding_that_is_not_well_has_a_fix_and_only_problems_fail(tmp_path: Path):
    bad = [
        *check_python((3, 9)),
        *check_memory(2.0),
        *check_libraries(["no-such-distribution"]),
        *check_disk([tmp_path], least_gb=1e9),
    ]
    assert all(finding.level is Level.PROBLEM and finding.fix for finding in bad)
    assert exit_code(bad) == 1
    assert report(bad).count("fix: ") == len(bad)
    warned = [*check_memory(5.0), *check_shared_memory(tmp_path / "no-shm")]
    assert all(finding.level is Level.WARNING and finding.fix for finding in warned)
    assert exit_code(warned) == 0


def test_the_limit_of_a_container_counts_but_not_the_files_it_has_read(tmp_path: Path):
    (tmp_path / "memory.max").write_text("2000000000\n", encoding="utf-8")
    (tmp_path / "memory.current").write_text("1900000000\n", encoding="utf-8")
    stat = "anon 500000000\nfile 1400000000\ninactive_file 1300000000\n"
    (tmp_path / "memory.stat").write_text(stat, encoding="utf-8")
    assert available_gb(tmp_path) == pytest.approx(1.4)
    (tmp_path / "memory.max").write_text("max\n", encoding="utf-8")
    assert available_gb(tmp_path) == available_gb(tmp_path / "no-container") > 0.0


def test_a_package_of_our_name_that_comes_first_is_named(tmp_path: Path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "__init__.py").write_text("", encoding="utf-8")
    path = [str(tmp_path), str(ROOT)]
    finding = only(check_packages_are_ours(ROOT, path))
    assert finding.level is Level.PROBLEM
    assert str(tmp_path / "agent") in finding.text and "envs" not in finding.text
    assert only(check_packages_are_ours(ROOT, [str(ROOT)])).level is Level.OK
    assert "got nothing" in only(check_packages_are_ours(ROOT, [str(tmp_path)], ["envs"])).text


@pytest.mark.parametrize(
    ("body", "level", "says"),
    [
        ("echo Chromium 1.2.3", Level.OK, "Chromium 1.2.3"),
        ("echo libnss3.so: cannot open >&2; exit 127", Level.PROBLEM, "libnss3.so"),
    ],
)
def test_a_browser_must_start(tmp_path: Path, body: str, level: Level, says: str):
    browser = script(tmp_path / "chromium", body)
    finding = only(check_browser({"FORAGERL_BROWSER": str(browser)}))
    assert finding.level is level and says in finding.text


def test_a_browser_that_is_named_and_missing_is_a_problem(tmp_path: Path):
    finding = only(check_browser({"FORAGERL_BROWSER": str(tmp_path / "gone")}))
    assert finding.level is Level.PROBLEM and "FORAGERL_BROWSER" in finding.text


def test_missing_fonts_are_named_with_their_package(tmp_path: Path):
    latin_only = script(tmp_path / "fc-list", 'case "$1" in :lang=en) echo DejaVu Sans;; esac')
    latin, cjk = check_fonts(str(latin_only))
    assert latin.level is Level.OK and "DejaVu Sans" in latin.text
    assert cjk.level is Level.WARNING and "fonts-noto-cjk" in cjk.fix
    assert "fontconfig" in only(check_fonts(str(tmp_path / "none"))).fix


def test_a_folder_that_is_not_there_yet_is_judged_by_its_parent(tmp_path: Path):
    assert only(check_disk([tmp_path / "a" / "b"], least_gb=0.0)).level is Level.OK


def test_a_cluster_needs_an_address_that_answers_and_a_token_where_it_wants_one(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        open_cluster = {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "disabled"}
        assert only(check_ray(open_cluster)).level is Level.OK
        closed = {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "token"}
        lacking = only(check_ray(closed, token=tmp_path / "auth_token"))
        assert lacking.level is Level.PROBLEM and "RAY_AUTH_TOKEN" in lacking.fix
        (tmp_path / "auth_token").write_text("secret", encoding="utf-8")
        found = only(check_ray(closed, token=tmp_path / "auth_token"))
        assert found.level is Level.OK and "secret" not in found.text
        unset = only(check_ray({"RAY_ADDRESS": address}))
        assert unset.level is Level.WARNING and "RAY_AUTH_MODE" in unset.fix
    gone = only(check_ray(open_cluster))
    assert gone.level is Level.PROBLEM and "nothing listens" in gone.text
    assert only(check_ray({})).level is Level.OK
