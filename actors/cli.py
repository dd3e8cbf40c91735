# SPDX-License-Identifier: Apache-2.0
"""The command `foragerl`; also behind `train.py` and `evaluate.py`. Sub-commands import lazily.

foragerl train [key=value ...]      train, as `python train.py`
foragerl evaluate checkpoint=PATH   success of a checkpoint by kind of task
foragerl bench [CHECKPOINT]         Forage-Bench, also for the scripted agents alone
foragerl ablate [key=value ...]     train variants over several seeds and compare them
foragerl report RUN                 write a run's report.html anew
foragerl view RUN [--compare RUN]   step through the archived attempts of a run, or of two
foragerl doctor                     look for what would keep a run from working
foragerl corpus import|check|serve  make a searchable site of question sets and documents
foragerl browse [TASK | URL]        act in the agent's place and see what it sees
foragerl web [--port N] [--language zh]   serve the embedded web to your own browser
foragerl --version
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import importlib.metadata
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from actors.config import EvaluateJob, TrainJob
from actors.run_folder import RunFolder, find_checkpoint, make_run_folder
from actors.supervising import EXIT_FAILED, EXIT_USAGE, log_to, save_config, supervise
from envs.config import EnvConfig, Templates
from envs.web.mix import LANGUAGES
from learner.checkpoint import load_checkpoint

if TYPE_CHECKING:
    from actors.bench import Trained

logger = logging.getLogger(__name__)

Job = TypeVar("Job", TrainJob, EvaluateJob)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["doctor"]:  # looks at the packages itself
        return _doctor(arguments[1:])
    try:
        check_packages(Path(__file__).resolve().parents[1])
    except RuntimeError as error:
        return _fail(str(error), EXIT_FAILED)
    if arguments[:1] in (["train"], ["evaluate"]):
        return _hydra_job(arguments[0], arguments[1:])
    if arguments[:1] and arguments[0] in _COMMANDS:
        try:
            return _COMMANDS[arguments[0]](arguments[1:])
        except (ValueError, OSError) as error:
            return _fail(str(error), EXIT_USAGE)
    if arguments == ["--version"]:
        sys.stdout.write(f"foragerl {_version()}\n")
        return 0
    if arguments and not arguments[0].startswith("-"):
        known = sorted({*_COMMANDS, "train", "evaluate", "doctor"})
        near = difflib.get_close_matches(arguments[0], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {known}"
        return _fail(f"no command {arguments[0]!r}; {hint}", EXIT_USAGE)
    is_help = arguments[:1] in (["--help"], ["-h"])
    (sys.stdout if is_help else sys.stderr).write(f"{__doc__}\n")
    return 0 if is_help else EXIT_USAGE


def check_packages(root: Path) -> None:
    """That our generically named packages are ours; `RuntimeError` says which one is not."""
    from actors.doctor import Level, check_packages_are_ours

    for finding in check_packages_are_ours(root):
        if finding.level is Level.PROBLEM:
            raise RuntimeError(f"{finding.text}: {finding.fix}")


def _version() -> str:
    try:
        return importlib.metadata.version("foragerl")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed; run from a checkout)"


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"error: {text}\n")
    return code


# --- train and evaluate ------------------------------------------------------------------------


def _hydra_job(name: str, overrides: list[str]) -> int:
    """Compose the config and run the job; in a sweep, one after the other."""
    import hydra

    from conf.overrides import check_command_line
    from conf.schema import register_schemas

    register_schemas()
    try:
        check_command_line(name, overrides)
    except ValueError as error:
        return _fail(str(error), EXIT_USAGE)
    codes: list[int] = []

    def run(config: Any) -> None:
        codes.append(_run_composed(name, config))

    sys.argv = [f"{name}.py", *overrides]
    hydra.main(version_base="1.3", config_path="pkg://conf", config_name=name)(run)()
    return max(codes, default=0)  # none when Hydra only showed something, as with --help


def _run_composed(name: str, config: Any) -> int:
    from conf.schema import JOBS, build, plain

    try:
        job: Any = build(JOBS[name], config)
    except ValueError as error:
        return _fail(str(error), EXIT_USAGE)
    if isinstance(job, TrainJob):
        return _run_training(job, plain(job))
    return _run_evaluation(job, plain(job))


def _run_training(job: TrainJob, values: dict[str, Any]) -> int:
    from actors.resume import start_run

    try:
        start = start_run(job)
    except ValueError as error:
        return _fail(str(error), EXIT_USAGE)
    folder = start.folder
    log_to(folder.log)
    save_config(folder.config, values)
    logger.info("train in %s", folder.path)
    from actors.session import make_launcher
    from actors.training import train

    configs = job.worker_configs(quarantine_dir=str(folder.quarantine.resolve()))
    launcher = make_launcher(job.launch, configs)
    try:
        return supervise(
            lambda on_started: train(
                job, folder, launcher, on_started=on_started, checkpoint=start.checkpoint
            )
        )
    finally:
        start.close()


def _run_evaluation(job: EvaluateJob, values: dict[str, Any]) -> int:
    try:
        if not job.checkpoint:
            raise ValueError("checkpoint: expected a folder's path, got none")
        path = find_checkpoint(Path(job.checkpoint).resolve())
        checkpoint = load_checkpoint(path)
    except ValueError as error:
        return _fail(str(error), EXIT_USAGE)
    folder = make_run_folder(Path(job.logger.runs_dir), job.logger.run_name, is_latest=False)
    log_to(folder.log)
    save_config(folder.config, values)
    logger.info("evaluate in %s", folder.path)
    from actors.evaluating import evaluate_checkpoint

    return supervise(
        lambda on_started: evaluate_checkpoint(job, folder, path, checkpoint, on_started=on_started)
    )


# --- bench -------------------------------------------------------------------------------------

# What the benchmark fixes, or what has an option of its own.
_NOT_FOR_BENCH = (
    "checkpoint",
    "with_baselines",
    "evaluation.num_",
    "evaluation.baselines",
    "env.task_set",
    "env.path",
    "env.max_steps",
    "env.web",
    "env.corpus",
)


def _bench(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="foragerl bench", description="Run Forage-Bench; see docs/BENCH.md."
    )
    parser.add_argument(
        "rest", nargs="*", metavar="CHECKPOINT | key=value", help="as of foragerl evaluate"
    )
    parser.add_argument("--agents", default="", help="of policy,untrained,random,oracle,...")
    parser.add_argument("--tasks", type=int, help="the first so many only")
    parser.add_argument("--driver", choices=("chromium", "twin"))
    chosen = parser.parse_intermixed_args(arguments)
    paths = [text for text in chosen.rest if "=" not in text]
    if len(paths) > 1:
        raise ValueError(f"expected one checkpoint at most, got {paths}")
    overrides = [text for text in chosen.rest if "=" in text]
    if chosen.driver:
        overrides.insert(0, f"env={'web_fast' if chosen.driver == 'twin' else 'embedded'}")
    if chosen.tasks is not None:
        overrides.append(f"evaluation.bench_tasks={chosen.tasks}")
    from actors import bench

    agents = bench.agents_of(chosen.agents, has_checkpoint=bool(paths))
    job = _bench_job(overrides)
    trained = None
    if paths:
        path = find_checkpoint(Path(paths[0]).resolve())
        trained = bench.trained_at(path, load_checkpoint(path))
    job = dataclasses.replace(
        job, checkpoint=str(paths[0]) if paths else "", env=bench.bench_env(job.env)
    )
    return _run_bench(job, agents, trained)


def _bench_job(overrides: list[str]) -> EvaluateJob:
    for override in overrides:
        if override.lstrip("+~").startswith(_NOT_FOR_BENCH):
            raise ValueError(f"{override}: expected a setting that the benchmark leaves open")
    overrides = ["checkpoint=''", "logger.run_name=bench", *overrides]
    return _composed(EvaluateJob, "evaluate", overrides)


def _composed(job: type[Job], name: str, overrides: list[str]) -> Job:
    """The job `name` with settings from the command line; `ValueError` names a wrong one."""
    from hydra import compose, initialize_config_module

    from conf.overrides import check_command_line
    from conf.schema import build, register_schemas

    register_schemas()
    check_command_line(name, overrides)
    with initialize_config_module("conf", version_base="1.3"):
        return build(job, compose(name, overrides=overrides))


def _run_bench(job: EvaluateJob, agents: tuple[str, ...], trained: Trained | None) -> int:
    from actors.bench import bench
    from conf.schema import plain

    folder = make_run_folder(Path(job.logger.runs_dir), job.logger.run_name, is_latest=False)
    log_to(folder.log)
    save_config(folder.config, plain(job))
    logger.info("bench in %s", folder.path)
    return supervise(lambda on_started: bench(job, folder, agents, trained, on_started=on_started))


def _ablate(arguments: list[str]) -> int:
    from actors.ablate.command import run
    from conf.overrides import ABLATIONS, check_command_line
    from conf.schema import register_schemas

    register_schemas()
    return run(arguments, ABLATIONS, lambda overrides: check_command_line("train", overrides))


# --- report, view, doctor ----------------------------------------------------------------------


def _report(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="foragerl report", description="Write a run's report.html anew."
    )
    parser.add_argument("run", type=Path, help="a run's folder, such as runs/latest")
    folder = _run_folder(parser.parse_args(arguments).run)
    from actors.show.report import write_report

    sys.stdout.write(f"{write_report(folder)}\n")
    return 0


def _view(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="foragerl view", description="Step through archived attempts in your browser."
    )
    parser.add_argument("run", type=Path, help="a run's folder, such as runs/latest")
    parser.add_argument("--compare", type=Path, help="another run's folder")
    parser.add_argument("--port", type=int, default=8090, help="0 takes a free one")
    chosen = parser.parse_args(arguments)
    runs = [_run_folder(run).path for run in (chosen.run, chosen.compare) if run is not None]
    from actors.show.viewer import view

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with contextlib.suppress(KeyboardInterrupt):
        view(runs, chosen.port)
    return 0


def _run_folder(path: Path) -> RunFolder:
    if not (path / "metrics.jsonl").is_file():
        raise ValueError(f"expected a run's folder, got {path}; the newest is runs/latest")
    return RunFolder(path=path)


def _corpus(arguments: list[str]) -> int:
    from envs.corpus.importing import run

    return run(arguments)


def _doctor(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="foragerl doctor", description="Look for what would keep a run from working."
    )
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    chosen = parser.parse_args(arguments)
    from actors import doctor

    findings = doctor.examine(Path(__file__).resolve().parents[1], chosen.runs_dir)
    sys.stdout.write(f"{doctor.report(findings)}\n")
    return doctor.exit_code(findings)


# --- browse and web ----------------------------------------------------------------------------


def _browse(arguments: list[str]) -> int:
    from actors.browse.command import run

    return run(arguments, _env_config)


def _env_config(overrides: list[str]) -> EnvConfig:
    for override in overrides:
        if not override.lstrip("+~").startswith(("env.", "env=")):
            raise ValueError(f"{override}: expected a setting of the env, such as env.max_steps=50")
    return _composed(TrainJob, "train", overrides).env


def _web(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="foragerl web", description="Serve the embedded web.")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--world-seed", type=int, default=1)
    parser.add_argument("--split", choices=("train", "validation", "test"), default="train")
    parser.add_argument("--language", choices=LANGUAGES, default="en")
    templates = tuple(each.value for each in Templates)
    parser.add_argument("--templates", choices=templates, default=Templates.TRAIN.value)
    parser.add_argument(
        "--hazards", action="store_true", help="banners, adverts, late content, ..."
    )
    chosen = parser.parse_args(arguments)
    from envs.types import Split
    from envs.web.serve import serve_for_person

    serve_for_person(
        chosen.world_seed,
        Split(chosen.split),
        chosen.port,
        language=chosen.language,
        templates=Templates(chosen.templates),
        with_hazards=chosen.hazards,
    )
    return 0


_COMMANDS = {"ablate": _ablate, "bench": _bench, "corpus": _corpus, "report": _report}
_COMMANDS |= {"view": _view, "web": _web, "browse": _browse}

if __name__ == "__main__":
    sys.exit(main())
