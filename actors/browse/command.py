# SPDX-License-Identifier: Apache-2.0
"""The command `foragerl browse`."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from actors.browse.lines import lines_of
from actors.browse.saving import GIF, JSON_LINES, Keeper
from actors.browse.screen import Screen
from actors.browse.session import Session
from actors.interrupts import Interrupts
from actors.run_folder import make_run_folder
from actors.supervising import EXIT_FAILED
from envs.browser.discovery import BrowserNotFoundError
from envs.config import EnvConfig
from envs.driver import InfraError
from envs.search_env import make_env
from envs.site import TaskSet
from envs.types import Split, StopReason, Task, TaskTruth

DEFAULT_TARGET = "train/0"


def run(arguments: Sequence[str], env_of: Callable[[list[str]], EnvConfig]) -> int:
    """Browse until the end; the exit code. `env_of` makes the config of `key=value` settings."""
    parser = argparse.ArgumentParser(
        prog="foragerl browse",
        description="See what the agent sees, and act in its place; `help` lists the commands.",
    )
    parser.add_argument(
        "rest",
        nargs="*",
        metavar="TASK | URL | env.key=value",
        help="a task as SPLIT/NUMBER (train/0), or a page of its web",
    )
    parser.add_argument("--driver", choices=("chromium", "twin"))
    parser.add_argument("--save", type=Path, default=Path("runs"), help="where the folder is made")
    chosen = parser.parse_intermixed_args(list(arguments))
    targets = [text for text in chosen.rest if not _is_setting(text)]
    if len(targets) > 1:
        raise ValueError(f"expected one task or page at most, got {targets}")
    settings = [text for text in chosen.rest if _is_setting(text)]
    if chosen.driver:
        settings.append(f"env.driver={chosen.driver}")
    config = env_of(settings)
    interrupts = Interrupts()
    target = (targets or [DEFAULT_TARGET])[0]
    try:
        stop = asyncio.run(_browse(target, config, chosen.save, interrupts))
    except (asyncio.CancelledError, KeyboardInterrupt):
        return interrupts.exit_code() or 130
    except (InfraError, BrowserNotFoundError) as error:
        sys.stderr.write(f"error: the browser did not come up: {error}\n")
        return EXIT_FAILED
    return EXIT_FAILED if stop is not None and stop.is_infra_failure() else 0


def _is_setting(text: str) -> bool:
    return "=" in text and "://" not in text.partition("=")[0]


async def _browse(
    target: str, config: EnvConfig, save: Path, interrupts: Interrupts
) -> StopReason | None:
    env = make_env(config)
    task = task_of(target, env.task_set)
    screen = Screen(sys.stdout)
    interrupts.install()
    folder = None
    try:
        await env.start()
        folder = make_run_folder(save, "browse", is_latest=False).path
        keeper = Keeper(folder, task, config.driver.value)
        return await Session(env, screen, keeper).run(task, _typed_lines(screen))
    finally:
        await env.close()
        if folder is not None:
            has_gif = (folder / GIF).exists()
            screen.say(f"saved {folder / JSON_LINES}")
            screen.say(f"saved {folder / GIF}" if has_gif else "no pictures, so no GIF")


async def _typed_lines(screen: Screen) -> AsyncIterator[str]:
    """Lines of standard input; those that come from a file or a pipe are shown."""
    is_terminal = sys.stdin.isatty()
    async for line in lines_of(sys.stdin.fileno()):
        if not is_terminal:
            screen.say(line)
        yield line


def task_of(target: str, task_set: TaskSet) -> Task:
    """The task that `target` names: SPLIT/NUMBER, or a page in the web of the first one."""
    if "://" in target:
        return _at_page(target, task_set)
    split, _, number = target.rpartition("/")
    splits = {each.value: each for each in Split}
    if split not in splits or not number.isdecimal():
        raise ValueError(
            f"expected a task such as {DEFAULT_TARGET} (of {', '.join(splits)}) or a page's "
            f"address, got {target!r}"
        )
    return task_set.task(splits[split], int(number))


def _at_page(url: str, task_set: TaskSet) -> Task:
    task = task_set.task(Split.TRAIN, 0)
    hosts = task_set.site(task).hosts()
    if urlsplit(url).scheme != "http" or urlsplit(url).hostname not in hosts:
        raise ValueError(
            f"expected a page of {', '.join(f'http://{host}/' for host in hosts)}, got {url}; an "
            "env reaches the sites of its tasks and nothing else"
        )
    prompt = dataclasses.replace(task.prompt, question="", start_url=url)
    truth = TaskTruth(answers=(), evidence=(), potential={})
    return dataclasses.replace(task, task_id="page", kind="page", prompt=prompt, truth=truth)
