# SPDX-License-Identifier: Apache-2.0
"""`foragerl ablate`: run what is missing of a plan, then write its tables and plots anew."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from actors.ablate.figures import RunFigures, read_figures
from actors.ablate.plan import Plan, read_plan
from actors.ablate.plots import plots_page, success_svg
from actors.ablate.running import finished, prepare, run_all
from actors.ablate.table import markdown
from actors.interrupts import Interrupts

logger = logging.getLogger(__name__)

TABLE, PICTURE, PAGE = "ablations.md", "success.svg", "ablations.html"


def run(arguments: Sequence[str], default_plan: Path, check: Callable[[list[str]], None]) -> int:
    """The command; its exit code is 1 when a run failed.

    `check` raises `ValueError` for overrides that a training run would refuse.
    """
    chosen = _parser(default_plan).parse_intermixed_args(arguments)
    plan = read_plan(chosen.plan).only(_names(chosen.variants), _seeds(chosen.seeds), chosen.rest)
    if chosen.jobs < 1:
        raise ValueError(f"--jobs: expected >= 1, got {chosen.jobs}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    code = 0
    if not chosen.table_only:
        for name, overrides in plan.variants.items():
            try:
                check([*plan.base, *overrides])
            except ValueError as error:
                raise ValueError(f"variant {name}: {error}") from error
        prepare(chosen.out, plan.runs())
        code = _run(chosen.out, plan, chosen.jobs)
    write_results(chosen.out, plan)
    return code


def write_results(out: Path, plan: Plan) -> list[RunFigures]:
    """The tables and plots of the runs that came to their end."""
    figures, missing = [], Counter[str]()
    for run in sorted(plan.runs(), key=lambda run: list(plan.variants).index(run.variant)):
        folder = finished(out, run)
        if folder is None:
            missing[run.variant] += 1
        else:
            figures.append(read_figures(run, folder))
    out.mkdir(parents=True, exist_ok=True)
    texts = {
        TABLE: markdown(figures, missing) + f"\n![Success by variant]({PICTURE})\n",
        PICTURE: success_svg(figures),
        PAGE: plots_page(figures),
    }
    for name, text in texts.items():
        partial = out / f"{name}.partial"
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, out / name)
    logger.info("%d runs in %s and %s", len(figures), out / TABLE, out / PAGE)
    return figures


def _run(out: Path, plan: Plan, num_jobs: int) -> int:
    interrupts = Interrupts()

    async def all_runs() -> int:
        interrupts.install()
        return len(await run_all(out, plan.runs(), num_jobs=num_jobs))

    try:
        num_failed = asyncio.run(all_runs())
    except asyncio.CancelledError:
        logger.info("interrupted; the same command goes on")
        return interrupts.exit_code() or 130
    return 1 if num_failed else 0


def _parser(default_plan: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="foragerl ablate",
        description="Train variants over several seeds and compare them; see docs/ABLATIONS.md.",
    )
    parser.add_argument("rest", nargs="*", metavar="key=value", help="settings of every run")
    parser.add_argument("--plan", type=Path, default=default_plan, help="a file of variants")
    parser.add_argument("--variants", default="", help="some of them, as full,ppo")
    parser.add_argument("--seeds", default="", help="others than the file's, as 0,1,2")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--out", type=Path, default=Path("runs/ablations"), help="their folder")
    parser.add_argument("--table-only", action="store_true", help="run nothing")
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _seeds(text: str) -> list[int]:
    try:
        return [int(name) for name in _names(text)]
    except ValueError as error:
        raise ValueError(f"--seeds: expected whole numbers, as 0,1,2, got {text!r}") from error
