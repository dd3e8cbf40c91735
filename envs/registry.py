# SPDX-License-Identifier: Apache-2.0
"""Names to what builds them, resolved lazily; a dotted path "module:name" is accepted as it is.

A task set is built by a function of `EnvConfig`, a teacher by a class without arguments.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

TASK_SETS: dict[str, str] = {
    "embedded": "envs.web.task_set:from_config",
    "corpus": "envs.corpus.task_set:from_config",
}
TEACHERS: dict[str, str] = {
    "embedded": "envs.web.teacher:WorldGraphTeacher",
    "corpus": "envs.corpus.teacher:CorpusTeacher",
}


def resolve(name: str, table: Mapping[str, str], *, what: str) -> Any:
    """What is registered under `name`; `ValueError` with the nearest name for an unknown one."""
    path = name if ":" in name else table.get(name)
    if path is None:
        near = difflib.get_close_matches(name, table, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{what}: expected one of {sorted(table)} or 'module:name', got {name!r}{hint}"
        )
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)
