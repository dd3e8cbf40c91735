# SPDX-License-Identifier: Apache-2.0
"""Names to what builds them, resolved lazily; a dotted path "module:name" is accepted as it is.

A task set is built by a function of `EnvConfig`, a teacher by a class without arguments.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

TASK_SETS: dict[str, str] = {
    "embedded": "envs.web.task_set:from_config",
    "corpus": "envs.corpus.task_set:from_config",
    "forage_bench": "envs.web.bench:from_config",
}
TEACHERS: dict[str, str] = {
    "embedded": "envs.web.teacher:WorldGraphTeacher",
    "corpus": "envs.corpus.teacher:CorpusTeacher",
}
# Of task sets whose worlds know further questions: built by a function of `EnvConfig`.
HINDSIGHT: dict[str, str] = {
    "embedded": "envs.web.hindsight:from_config",
}


def check_name(name: str, table: Mapping[str, str], *, what: str) -> None:
    """`ValueError` for what `resolve` would not find, without importing what it would."""
    if ":" not in name and name not in table:
        near = difflib.get_close_matches(name, table, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{what}: expected one of {sorted(table)} or 'module:name', got {name!r}{hint}"
        )
    module, _, attribute = table.get(name, name).partition(":")
    if not attribute or not _exists(module):
        raise ValueError(
            f"{what}: expected 'module:name' with a module on Python's path, got {name!r}"
        )


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # a package above it is missing, or the name is none
        return False


def resolve(name: str, table: Mapping[str, str], *, what: str) -> Any:
    """What is registered under `name`; `ValueError` with the nearest name for an unknown one."""
    check_name(name, table, what=what)
    module, _, attribute = table.get(name, name).partition(":")
    return getattr(importlib.import_module(module), attribute)
