# SPDX-License-Identifier: Apache-2.0
"""Plans: the one that is shipped can be run, and a wrong one says where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.ablate.plan import Plan, read_plan
from actors.cli import main
from actors.config import TrainJob
from conf.overrides import ABLATIONS
from conf.schema import build, register_schemas


def job_of(overrides: tuple[str, ...]) -> TrainJob:
    from hydra import compose, initialize_config_module

    register_schemas()
    with initialize_config_module("conf", version_base="1.3"):
        return build(TrainJob, compose("train", overrides=list(overrides)))


def test_every_shipped_variant_is_a_job_that_differs_from_the_full_one_in_what_it_says():
    plan = read_plan(ABLATIONS)
    jobs = {name: job_of((*plan.base, *more)) for name, more in plan.variants.items()}
    full = jobs["full"]
    assert {job.train for job in jobs.values()} == {full.train}, "equal environment steps"
    assert len({repr(job) for job in jobs.values()}) == len(jobs)
    assert not jobs["no_action_kl"].algo.objective.action_aware_kl
    assert jobs["ppo"].algo.group_size * jobs["ppo"].algo.groups_per_update == (
        full.algo.group_size * full.algo.groups_per_update
    ), "an update is made of as many attempts"
    steps = [jobs[f"max_steps_{n}"].env.max_steps for n in (20, 50, 150, 200)]
    assert steps == [20, 50, 150, 200]


def test_runs_are_every_variant_with_every_seed():
    plan = Plan(base=("a=1",), seeds=(3, 4), variants={"full": (), "less": ("b=2",)})
    runs = [(run.variant, run.overrides) for run in plan.runs()]
    assert runs == [
        ("full", ("a=1", "seed=3")),
        ("less", ("a=1", "b=2", "seed=3")),
        ("full", ("a=1", "seed=4")),
        ("less", ("a=1", "b=2", "seed=4")),
    ]
    part = plan.only(["less"], [7], ["c=3"])
    assert [run.overrides for run in part.runs()] == [("a=1", "c=3", "b=2", "seed=7")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("base: []", "expected base, seeds and variants"),
        ("base: []\nseeds: [a]\nvariants: {full: []}", "seeds: expected a list of whole"),
        ("base: []\nseeds: [1, 1]\nvariants: {full: []}", "seeds: expected different"),
        ("base: []\nseeds: [1]\nvariants: {}", "variants: expected names"),
        ("base: []\nseeds: [1]\nvariants: {Full: []}", "expected a name of a-z"),
        ("base: []\nseeds: [1]\nvariants: {full: [mode]}", "variants.full: expected a list"),
        ("base: []\nseeds: [1]\nvariants: {a: [train.max_env_steps=9]}", "variants.a: expected"),
        ("base: [seed=1]\nseeds: [1]\nvariants: {full: []}", "base: expected no 'seed=1'"),
    ],
)
def test_a_wrong_plan_says_where(tmp_path: Path, text: str, told: str):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=told):
        read_plan(path)


def test_a_wrong_setting_is_found_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, out = tmp_path / "plan.yaml", tmp_path / "out"
    path.write_text("base: []\nseeds: [1]\nvariants: {full: [], odd: [algo.epoch=3]}")
    assert main(["ablate", "--plan", str(path), "--out", str(out)]) == 2
    assert "variant odd: algo.epoch: " in capsys.readouterr().err
    assert not out.exists()
    assert main(["ablate", "--variants", "ful"]) == 2
    assert "--variants: expected some of full, " in capsys.readouterr().err
