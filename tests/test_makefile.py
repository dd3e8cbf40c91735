# SPDX-License-Identifier: Apache-2.0
"""The Makefile wherever a checkout may lie."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", ["it's mine", "a (copy)", "$HOME"])
def test_the_folder_of_a_checkout_may_have_any_name(tmp_path: Path, name: str):
    folder = tmp_path / name
    folder.mkdir()
    for file in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / file, folder)
    planned = subprocess.run(
        ["make", "--dry-run", "check"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert planned.returncode == 0 and not planned.stderr, planned.stderr
    assert "pip install" in planned.stdout
