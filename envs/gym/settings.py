# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments of `gymnasium.make` to an `EnvConfig`: the names of `env.*`, plain values."""

from __future__ import annotations

import dataclasses
import difflib
import enum
from collections.abc import Mapping
from typing import Any, get_origin, get_type_hints

from envs.config import EnvConfig


def env_config(settings: Mapping[str, Any]) -> EnvConfig:
    """The config with these settings, such as `{"driver": "twin", "web": {"hazards": 0.5}}`.

    `ValueError` names a setting that is unknown or out of range.
    """
    config: EnvConfig = _built(EnvConfig, settings, "")
    return config


def _built(kind: type, settings: Mapping[str, Any], prefix: str) -> Any:
    hints = get_type_hints(kind)
    values = {}
    for name, value in settings.items():
        if name not in hints:
            near = difflib.get_close_matches(name, hints, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"expected a setting of {sorted(hints)}, got {prefix}{name!r}{hint}")
        values[name] = _value(hints[name], value, f"{prefix}{name}")
    return kind(**values)


def _value(kind: Any, value: Any, name: str) -> Any:
    """`value` as the field's type: names become enums, mappings configs, lists tuples."""
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return _built(kind, value, f"{name}.")  # type: ignore[arg-type]
    if isinstance(kind, type) and issubclass(kind, enum.Enum) and not isinstance(value, kind):
        names = [each.value for each in kind]
        if value not in names:
            raise ValueError(f"{name}: expected one of {names}, got {value!r}")
        return kind(value)
    if get_origin(kind) is tuple:
        if isinstance(value, str):
            raise ValueError(f"{name}: expected a list of names, got the text {value!r}")
        return tuple(value)
    return value
