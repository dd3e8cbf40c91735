# SPDX-License-Identifier: Apache-2.0
"""What to run: variants by name, each a list of overrides on top of what all have in common.

The file is `conf/ablations.yaml` or one like it; docs/ABLATIONS.md describes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAME = re.compile(r"[a-z][a-z0-9_]*")
# Set by the command itself, or the same for all variants.
_FOLDER_KEYS = ("seed=", "resume=", "logger.runs_dir=")
_SHARED_KEYS = ("train.max_env_steps=", "train.max_minutes=")


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One training run of a plan."""

    variant: str
    seed: int
    overrides: tuple[str, ...]  # of `train.py`, without its folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """All runs to be compared."""

    base: tuple[str, ...]  # overrides of every run
    seeds: tuple[int, ...]
    variants: Mapping[str, tuple[str, ...]]  # overrides on top of `base`

    def __post_init__(self) -> None:
        for name, overrides in self.variants.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"variants: expected a name of a-z, 0-9 and _, got {name!r}")
            for override in overrides:
                if override.lstrip("+").startswith((*_SHARED_KEYS, *_FOLDER_KEYS)):
                    raise ValueError(
                        f"variants.{name}: expected settings that may differ, got {override!r}; "
                        "all variants train for the same environment steps and with the same seeds"
                    )
        for override in self.base:
            if override.lstrip("+").startswith(_FOLDER_KEYS):
                raise ValueError(f"base: expected no {override!r}, which the command sets itself")
        if len(set(self.seeds)) != len(self.seeds) or not all(seed >= 0 for seed in self.seeds):
            raise ValueError(f"seeds: expected different numbers >= 0, got {list(self.seeds)}")

    def runs(self) -> list[Run]:
        """Every variant with the first seed, then with the next."""
        return [
            Run(variant=name, seed=seed, overrides=(*self.base, *overrides, f"seed={seed}"))
            for seed in self.seeds
            for name, overrides in self.variants.items()
        ]

    def only(self, variants: Sequence[str], seeds: Sequence[int], more: Iterable[str]) -> Plan:
        """Part of it, with `more` overrides for every run; () leaves variants or seeds as is."""
        for name in variants:
            if name not in self.variants:
                raise ValueError(
                    f"--variants: expected some of {', '.join(self.variants)}, got {name!r}"
                )
        return Plan(
            base=(*self.base, *more),
            seeds=tuple(seeds) or self.seeds,
            variants={name: self.variants[name] for name in variants or self.variants},
        )


def read_plan(path: Path) -> Plan:
    """The plan in a YAML file; `ValueError` names the part that is wrong."""
    from omegaconf import OmegaConf

    values: Any = OmegaConf.to_container(OmegaConf.load(path))
    if not isinstance(values, dict) or set(values) != {"base", "seeds", "variants"}:
        raise ValueError(f"{path}: expected base, seeds and variants, got {values!r:.80}")
    seeds = values["seeds"]
    if not isinstance(seeds, list) or not all(type(seed) is int for seed in seeds):
        raise ValueError(f"{path}: seeds: expected a list of whole numbers, got {seeds!r}")
    variants = values["variants"]
    if not isinstance(variants, dict) or not variants:
        raise ValueError(f"{path}: variants: expected names with lists, got {variants!r}")
    return Plan(
        base=_overrides(path, "base", values["base"]),
        seeds=tuple(seeds),
        variants={
            str(name): _overrides(path, f"variants.{name}", overrides)
            for name, overrides in variants.items()
        },
    )


def _overrides(path: Path, where: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(
        isinstance(value, str) and "=" in value for value in values
    ):
        raise ValueError(f"{path}: {where}: expected a list of key=value, got {values!r}")
    return tuple(values)
