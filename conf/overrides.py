# SPDX-License-Identifier: Apache-2.0
"""Checks a command line before anything starts: unknown keys, and the nearest right one.

Hydra refuses unknown keys too, but names no right one. Its own flags and `hydra.*` are left to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from conf.schema import JOBS, key_names, nearest, unknown_key_error

_CONF = Path(__file__).resolve().parent
ABLATIONS = _CONF / "ablations.yaml"  # the variants of `foragerl ablate`
_REFUSED_KEY = re.compile(r"Key '(?P<key>[^']+)' not in '")
_FULL_KEY = re.compile(r"full_key: (?P<key>\S+)")


def check_command_line(name: str, arguments: Sequence[str]) -> None:
    """`ValueError` for whatever would keep the job `name` from being composed.

    Expects that the schemas are registered.
    """
    is_plain = not any(argument.startswith("-") for argument in arguments)
    for argument in arguments:
        if "=" in argument and not argument.startswith("-"):
            _check_override(name, argument)
    if is_plain:
        _check_files(name, arguments)


def group_names() -> list[str]:
    """The config groups."""
    return sorted(path.name for path in _CONF.iterdir() if any(path.glob("*.yaml")))


def _check_override(name: str, argument: str) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(argument)
    except HydraException as error:
        raise ValueError(f"{argument!r}: expected key=value ({_first_line(error)})") from error
    key = override.key_or_group
    if key.startswith(("hydra.", "hydra/")):
        return
    known, groups = list(key_names(JOBS[name])), group_names()
    if key in groups:
        _check_choice(key, override.value())
    elif key not in known:
        raise unknown_key_error(key, [*known, *groups])


def _check_choice(group: str, value: object) -> None:
    choices = sorted(path.stem for path in (_CONF / group).glob("*.yaml"))
    if isinstance(value, str) and value not in choices:
        hint = nearest(value, choices)
        raise ValueError(f"{group}: expected one of {choices}, got {value!r}{hint}")


def _check_files(name: str, arguments: Sequence[str]) -> None:
    """Compose once: finds what is wrong in the files too, and values of a wrong type."""
    from hydra import compose, initialize_config_module
    from hydra.errors import HydraException

    try:
        with initialize_config_module("conf", version_base="1.3"):
            compose(config_name=name, overrides=list(arguments))
    except HydraException as error:
        text = str(error.__cause__ or error)
        key = _FULL_KEY.search(text)
        if key and _REFUSED_KEY.search(text):
            raise unknown_key_error(key["key"], list(key_names(JOBS[name]))) from error
        where = f"{key['key']}: " if key else ""
        raise ValueError(f"{where}{_first_line(error.__cause__ or error)}") from error


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0]
