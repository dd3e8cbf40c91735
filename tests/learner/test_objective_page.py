# SPDX-License-Identifier: Apache-2.0
"""The page about the objective names what exists, and every setting of it."""

from __future__ import annotations

import dataclasses
import importlib
import re
from pathlib import Path

from learner.config import LearnerConfig, ObjectiveConfig

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "OBJECTIVE.md").read_text(encoding="utf-8")
MODULES = ("objective", "returns", "schedule")


def test_every_setting_of_the_objective_is_on_the_page() -> None:
    words = set(re.findall(r"[a-z_]+", PAGE))
    assert {field.name for field in dataclasses.fields(ObjectiveConfig)} - words == set()


def test_every_setting_and_preset_that_the_page_names_is_one() -> None:
    named = set(re.findall(r"`objective\.([a-z_]+)", PAGE))
    known = {field.name for field in dataclasses.fields(ObjectiveConfig)}
    functions = set(dir(importlib.import_module("learner.objective")))
    assert named - known - functions == set()
    learner = {field.name for field in dataclasses.fields(LearnerConfig)}
    assert {"step_teacher", "sibling_guides", "reference_rate", "freeze"} <= learner
    table = PAGE[PAGE.index("| `algo=` |") :].partition("\n\n")[0]
    presets = {path.stem for path in (ROOT / "conf" / "algo").glob("*.yaml")}
    assert set(re.findall(r"`([a-z_]+)`", table)) - {"early_decay"} == presets


def test_every_function_and_file_on_the_page_exists() -> None:
    for module in MODULES:
        found = importlib.import_module(f"learner.{module}")
        for name in re.findall(rf"`{module}\.([A-Za-z_]+)`", PAGE):
            is_setting = name in {field.name for field in dataclasses.fields(ObjectiveConfig)}
            assert hasattr(found, name) or is_setting, f"{module}.{name}"
    for path in re.findall(r"`((?:learner|agent|envs|conf|tests)/[a-z_/]+\.py)`", PAGE):
        assert (ROOT / path).is_file(), path
    for path in re.findall(r"`(test_[a-z_]+\.py)`", PAGE):
        assert (ROOT / "tests" / "learner" / path).is_file(), path
