# SPDX-License-Identifier: Apache-2.0
"""The shape of a job's config: what Hydra checks against, and the job built from what it composed.

Hydra refuses to merge into frozen dataclasses, wants the names of enums in capitals, and gives
lists for tuples. So it gets a mirror of each dataclass: open for merging, closed for new keys, with
enums by their values. The frozen objects are built afterwards; their `__post_init__` checks ranges.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from omegaconf import MISSING, DictConfig, OmegaConf

from actors.config import EvaluateJob, TrainJob

JOBS: dict[str, type] = {"train": TrainJob, "evaluate": EvaluateJob}

T = TypeVar("T")


def register_schemas() -> None:
    """Store every job's schema as `schema_<job>`, where the defaults lists look for it."""
    from hydra.core.config_store import ConfigStore

    for name, job in JOBS.items():
        ConfigStore.instance().store(name=f"schema_{name}", node=mirror(job))


def mirror(cls: type, default: object = None) -> type:
    """A dataclass like `cls` that Hydra can merge into, with the values of `default`."""
    hints = typing.get_type_hints(cls)
    fields: list[tuple[str, Any, Any]] = []
    for own in dataclasses.fields(cls):
        hint = hints[own.name]
        value = _default(own) if default is None else getattr(default, own.name)
        if dataclasses.is_dataclass(hint):
            inner = mirror(typing.cast(type, hint), value)
            fields.append((own.name, inner, dataclasses.field(default_factory=inner)))
        elif isinstance(hint, type) and issubclass(hint, enum.Enum):
            fields.append((own.name, str, value.value))
        elif typing.get_origin(hint) is tuple:
            items: Any = list.__class_getitem__(typing.get_args(hint)[0])
            fields.append((own.name, items, _list_field(value)))
        else:
            fields.append((own.name, hint, value))
    return dataclasses.make_dataclass(cls.__name__, fields)


def _default(own: dataclasses.Field[Any]) -> Any:
    if own.default_factory is not dataclasses.MISSING:
        return own.default_factory()
    return MISSING if own.default is dataclasses.MISSING else own.default


def _list_field(values: Sequence[Any]) -> Any:
    return dataclasses.field(default_factory=lambda: list(values))


def build(job: type[T], config: DictConfig) -> T:
    """The frozen job from a composed config; `ValueError` names the key that is wrong."""
    for key in sorted(OmegaConf.missing_keys(config)):
        raise ValueError(f"{key}: expected a value, got none; give {key}=...")
    values = OmegaConf.to_container(config, resolve=True)
    return _build(job, typing.cast(Mapping[str, Any], values), prefix="")


def _build(cls: type[T], values: Mapping[str, Any], *, prefix: str) -> T:
    hints = typing.get_type_hints(cls)
    arguments = {}
    for name, value in values.items():
        if name not in hints:
            raise unknown_key_error(f"{prefix}{name}", [f"{prefix}{known}" for known in hints])
        arguments[name] = _convert(hints[name], value, key=f"{prefix}{name}")
    return cls(**arguments)


def _convert(hint: Any, value: Any, *, key: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast(type, hint), value, prefix=f"{key}.")
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _member(hint, value, key=key)
    if typing.get_origin(hint) is tuple:
        return tuple(value)
    return value


def _member(kind: type[enum.Enum], value: str, *, key: str) -> enum.Enum:
    choices = [member.value for member in kind]
    if value not in choices:
        raise ValueError(
            f"{key}: expected one of {choices}, got {value!r}{nearest(value, choices)}"
        )
    return kind(value)


def plain(job: Any) -> dict[str, Any]:
    """A built job as plain values, for the run's folder; reads back through `build`."""
    return {field.name: _plain(getattr(job, field.name)) for field in dataclasses.fields(job)}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return plain(value)
    if isinstance(value, enum.Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def key_names(job: type) -> Iterator[str]:
    """Every dotted key of a job."""
    hints = typing.get_type_hints(job)
    for field in dataclasses.fields(job):
        yield field.name
        if dataclasses.is_dataclass(hints[field.name]):
            inner = typing.cast(type, hints[field.name])
            yield from (f"{field.name}.{key}" for key in key_names(inner))


def nearest(name: str, choices: Sequence[str]) -> str:
    """A hint at the nearest right name, or nothing."""
    near = difflib.get_close_matches(str(name), choices, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def unknown_key_error(key: str, known: Sequence[str]) -> ValueError:
    """What to say about a key that no setting has: the nearest right one."""
    last = key.rpartition(".")[2]
    elsewhere = [name for name in known if name.rpartition(".")[2] == last]
    hint = f"; did you mean {elsewhere[0]!r}?" if elsewhere else nearest(key, known)
    if not hint:
        by_last = {name.rpartition(".")[2]: name for name in known}
        close = difflib.get_close_matches(last, list(by_last), n=1)
        hint = f"; did you mean {by_last[close[0]]!r}?" if close else ""
    return ValueError(
        f"{key}: expected a setting, got an unknown name{hint or '; conf/ has all settings'}"
    )
