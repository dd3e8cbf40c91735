# SPDX-License-Identifier: Apache-2.0
"""What a wrong command line says, before anything starts; and that a right one gives the job."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from actors.cli import EXIT_USAGE, check_packages, main
from actors.config import EvaluateJob, Launch, TrainJob
from conf.overrides import check_command_line, group_names
from conf.schema import build, key_names, plain, register_schemas
from envs.config import DriverKind, Templates
from envs.web.bench import NUM_TASKS, SUB_SCORES
from envs.web.mix import KINDS, parse_mix


def compose_job(name: str, *overrides: str) -> TrainJob | EvaluateJob:
    register_schemas()
    with initialize_config_module("conf", version_base="1.3"):
        config = compose(config_name=name, overrides=list(overrides))
    return build({"train": TrainJob, "evaluate": EvaluateJob}[name], config)


def check(name: str, *arguments: str) -> None:
    register_schemas()
    check_command_line(name, arguments)


@pytest.mark.parametrize(
    ("argument", "nearest"),
    [
        ("trian.max_env_steps=1", "train.max_env_steps"),
        ("env.max_step=5", "env.max_steps"),
        ("algo.objective.clip_lo=0.1", "algo.objective.clip_low"),
        ("rollout.group_size=4", "algo.group_size"),  # the right name in the wrong place
        ("sed=1", "seed"),
        ("+replay.max_lagg=1", "replay.max_lag"),
    ],
)
def test_an_unknown_key_names_itself_and_the_nearest_right_one(argument: str, nearest: str):
    key = argument.lstrip("+").partition("=")[0]
    with pytest.raises(ValueError, match=f"^{key}: .*did you mean '{nearest}'"):
        check("train", argument)


def test_an_unknown_choice_of_a_group_names_the_nearest_right_one():
    with pytest.raises(ValueError, match=r"^env: .*did you mean 'web_fast'"):
        check("train", "env=web_fsat")


def test_a_value_of_the_wrong_type_names_its_key():
    with pytest.raises(ValueError, match=r"^seed: .*abc"):
        check("train", "seed=abc")


@pytest.mark.parametrize(
    "argument",
    [
        "env.max_steps=300",
        "algo.objective.clip_low=1.5",
        "rollout.num_workers=0",
        "evaluation.temperature=-1",
        "env.step_timeout_s=nan",
        "env.browser.call_timeout_s=nan",
        "env.max_elements=100000",
        "cluster.num_cpus=1",
        "cluster.num_cpus=2.5",
        "launch=rai",
        "mode=turbo",
    ],
)
def test_a_value_out_of_range_names_its_key(argument: str):
    key, _, value = argument.partition("=")
    check("train", argument)
    with pytest.raises(ValueError, match=f"^{key}: expected .*got '?{value}") as raised:
        compose_job("train", argument)
    assert "did you mean 'ray'" in str(raised.value) or value != "rai"


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("env.task_set=embeded", "did you mean 'embedded'"),
        ("policy.name=foragr", "did you mean 'forager'"),
        ("reward.nav=[evidence_vist]", "did you mean 'evidence_visit'"),
        ("evaluation.baselines=[orcale]", "did you mean 'oracle'"),
        ("policy.name=nowhere.at_all:Family", "with a module on Python's path"),
        ("env.task_set='envs.config:'", "with a module on Python's path"),
    ],
)
def test_a_name_that_nothing_has_is_refused_before_anything_starts(argument: str, hint: str):
    key = argument.partition("=")[0]
    with pytest.raises(ValueError, match=f"^{key}: expected .*{hint}"):
        compose_job("train", argument)


def test_the_command_says_so_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "env.max_stepz=3"]) == EXIT_USAGE
    assert "did you mean 'env.max_steps'" in capsys.readouterr().err
    assert main(["train", "env.max_steps=0"]) == EXIT_USAGE
    assert "env.max_steps: expected 1..200, got 0" in capsys.readouterr().err
    assert main(["evaluate"]) == EXIT_USAGE
    assert "checkpoint: expected a value" in capsys.readouterr().err
    for wrong in ("checkpoint=", "checkpoint=nowhere", "checkpoint=."):
        assert main(["evaluate", wrong]) == EXIT_USAGE
        assert "error: checkpoint: expected a" in capsys.readouterr().err
    for wrong in ("resume=", "resume=nowhere", "resume=."):
        assert main(["train", wrong]) == EXIT_USAGE
        assert "error: resume: expected never, auto, or" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_right_settings_reach_the_job():
    job = compose_job(
        "train", "env=web_fast", "launch=inprocess", "seed=3", "env.web.two_hop_share=0"
    )
    assert isinstance(job, TrainJob)
    assert job.env.driver is DriverKind.TWIN
    assert job.launch is Launch.INPROCESS
    assert job.algo.seed == 3, "one seed for everything"
    assert job.env.web.two_hop_share == 0.0
    assert isinstance(job.reward.base, tuple)


def test_the_defaults_in_yaml_are_the_defaults_of_the_dataclasses():
    assert compose_job("train") == TrainJob()
    assert compose_job("evaluate", "checkpoint=x") == EvaluateJob(checkpoint="x")


def test_a_job_written_down_reads_back_equal():
    job = compose_job("train", "+experiment=smoke")
    assert build(TrainJob, OmegaConf.create(plain(job))) == job


def test_the_headline_run_trains_on_a_web_of_its_own_and_then_benches():
    job = compose_job("train", "+experiment=forage70")
    assert isinstance(job, TrainJob)
    assert job.env.task_set == "embedded" and job.env.web.templates is Templates.TRAIN
    assert job.env.driver is DriverKind.CHROMIUM and job.train.max_minutes <= 60.0
    kinds = parse_mix(job.env.web.kinds, KINDS, key="kinds")
    assert {kind for kinds in SUB_SCORES.values() for kind in kinds} <= set(kinds)
    assert job.evaluation.bench and job.evaluation.bench_tasks == NUM_TASKS


def test_every_key_of_every_job_can_be_checked():
    for name, job in (("train", TrainJob), ("evaluate", EvaluateJob)):
        keys = list(key_names(job))
        assert len(keys) == len(set(keys))
        assert set(group_names()) - {"experiment"} <= set(key_names(TrainJob)), name


def test_a_foreign_package_of_our_name_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(RuntimeError, match=r"package 'actors': expected .*, got"):
        check_packages(tmp_path)


def test_help_and_version_need_nothing(capsys: pytest.CaptureFixture[str]):
    assert main(["--help"]) == 0
    assert "foragerl train" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("foragerl ")
    assert main([]) == EXIT_USAGE


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (["env.web.templates=held_out"], "env.web.templates"),
        (
            ["algo.objective.schedule=validation", "evaluation.validation_tasks=0"],
            "algo.objective.schedule",
        ),
        (["algo=siblings", "algo.objective.gates_step=true"], "algo.objective.gates_step"),
        (
            ["env=web_fast", "policy.streams=[page,vision]", "policy.vision_weights=random"],
            "policy.streams",
        ),
    ],
)
def test_what_would_silently_do_nothing_is_refused(settings: list[str], key: str):
    with pytest.raises(ValueError, match=re.escape(key)):
        compose_job("train", *settings)
