# SPDX-License-Identifier: Apache-2.0
"""Streams of the forager: each moves the policy when on, none when off, and actor = learner."""

import asyncio
import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from agent.config import STREAMS, PolicyConfig
from agent.forager.change import CHANGE_COLUMNS, change_columns, element_changes
from agent.forager.features import model_inputs
from agent.forager.history import MAX_QUERIES, QUERY_COLUMNS, QUERY_SIZE
from agent.forager.hops import NUM_HOPS
from agent.forager.matching import EXPLAINED_SIZE, MATCH_SIZE
from agent.forager.plan import PLAN_SIZE
from agent.forager.relations import ASKED_SIZE, RELATION_SIZE, text_vector
from agent.forager.sizes import feature_sizes
from agent.forager.values import SHAPE_COLUMNS
from agent.policy import PolicyBatch, collate
from agent.policy_agent import PolicyAgent, build_policy, policy_family
from agent.types import ModelInputs, StepRecord, Trajectory
from envs.actions import NUM_TYPES, ActionMask, enumerate_actions
from envs.config import ScreenshotMode
from envs.types import Note, Observation, Query, Split, StopReason
from learner.storage import read_tree, write_tree
from tests.agent.pictured_twin import small_pictured_env
from tests.agent.test_forager import observations, trained_like_policy
from tests.learner.tiny_policy import trajectory as trajectory_of

ALL = PolicyConfig(width=16, streams=STREAMS, vision_weights="random")
# What of the inputs each stream, alone, lets through to the choice of the action's type.
READS = {
    "page": {"element"},
    "intent": {"span"},
    "diff": {"element", "change"},
    "history": {"query"},
    "vision": {"picture"},
}
RECORDS = (Trajectory, StepRecord, ModelInputs, ActionMask, Split, StopReason)


# Of the default network at seed 0, and of what `trained_like_policy(1)` says of `observations`.
WEIGHTS_DIGEST = 28.091451361223566
OUTPUT_DIGEST = -40.9442370839282


def shaken(policy: nn.Module, seed: int = 0) -> nn.Module:
    """The policy with weights that are not those of the (uniform) initialisation."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in policy.named_parameters():
            scale = 0.01 if "backbone" in name else 0.3
            parameter += scale * torch.randn(parameter.shape, generator=generator)
    return policy


def walked(
    config: PolicyConfig, screenshot: ScreenshotMode = ScreenshotMode.EVERY_STEP
) -> Trajectory:
    """A walk in which an actor with `shaken` weights of version 7 decides at every page."""
    agent = PolicyAgent(config, seed=0)
    weights = shaken(build_policy(config, seed=1)).state_dict()
    agent.load_weights({k: v.numpy() for k, v in weights.items()}, 7)
    pages = observations(small_pictured_env(max_steps=50, screenshot=screenshot))
    steps = [decided(agent, page, seed) for page in pages for seed in range(3)]
    return trajectory_of(pickle.loads(pickle.dumps(steps)), "t", "g")


def decided(agent: PolicyAgent, page: Observation, seed: int) -> StepRecord:
    decision = asyncio.run(agent.act(page, seed=seed))
    assert decision.inputs is not None
    return StepRecord(
        inputs=decision.inputs,
        mask=page.mask,
        chosen=enumerate_actions(page.mask).row(decision.action),
        log_prob_by_head=decision.log_prob_by_head,
        policy_version=decision.policy_version,
        utilities=np.zeros(0, dtype=np.float16),
        is_exogenous=False,
    )


def batch_of(trajectory: Trajectory) -> PolicyBatch:
    return collate([s.inputs for s in trajectory.steps], [s.mask for s in trajectory.steps])


@pytest.fixture(scope="module")
def trajectory() -> Trajectory:
    return walked(ALL)


def test_the_default_is_page_and_intent():
    assert PolicyConfig().streams == PolicyConfig().active_streams() == ("page", "intent")


def embedding(size: int, width: int, *, std: float = 0.1) -> torch.Tensor:
    table = nn.Embedding(size, width, padding_idx=0).weight
    return nn.init.normal_(table, std=std).detach()


def test_the_default_networks_weights_are_those_of_these_layers_in_this_order():
    sizes, width = feature_sizes(), 16
    network = build_policy(PolicyConfig(width=width), seed=3)
    element, span = sizes.element + MATCH_SIZE, sizes.span + MATCH_SIZE + 1
    state = sizes.state + EXPLAINED_SIZE
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        drawn: dict[str, nn.Module] = {
            "relation.asked": nn.Linear(ASKED_SIZE, 2 * RELATION_SIZE),
            "relation.asked_word": nn.Linear(RELATION_SIZE, RELATION_SIZE),
            "relation.told": nn.Linear(RELATION_SIZE, RELATION_SIZE),
        }
        tables = {"word": embedding(2048, 24), "kind_asked": embedding(2048, 16)}
        drawn["relation.shape"] = nn.Linear(len(SHAPE_COLUMNS), 16)
        tables["ending"] = embedding(2048, 16)
        tables["direction"] = embedding(2048, 1, std=0.3)
        drawn["relation.clue_reader"] = nn.Linear(sizes.clue + 3, 24)
        drawn["relation.state_reader"] = nn.Linear(sizes.state, 24)
        drawn["relation.reading"] = nn.Linear(24, 2)
        tables["plan.token"] = embedding(2049, 24, std=0.5)
        drawn["relation.plan.around"] = nn.Conv1d(24, 32, 5, padding=2)
        drawn["relation.plan.read"] = nn.Linear(4 * 32 + 2, 32)
        drawn["relation.plan.attention"] = nn.Linear(32, NUM_HOPS)
        drawn["relation.plan.summary"] = nn.Linear(2 * 32, PLAN_SIZE)
        for name, size in (
            ("element_encoder", element),
            ("span_encoder", span),
            ("page_stream", state + 2 * width),
            ("intent_stream", state + 2 * width),
        ):
            drawn |= {f"{name}.0": nn.Linear(size, width), f"{name}.2": nn.Linear(width, width)}
        drawn["gate"] = nn.Linear(state + 4 * width, 2)
        for candidates in (element, span):  # of the pointers, which are then set to 0
            nn.Linear(width, NUM_TYPES * width), nn.Linear(width, NUM_TYPES * candidates)
        for candidates in (3, 4):
            nn.Linear(width, width), nn.Linear(width, candidates)
        nn.Linear(width, 3)
        drawn["type_hidden.0"] = nn.Linear(width, width)
    for name, layer in drawn.items():
        assert torch.equal(network.get_submodule(name).weight, layer.weight), name
        assert torch.equal(network.get_submodule(name).bias, layer.bias), name
    for name, table in tables.items():
        kept = network.get_submodule(f"relation.{name}").weight
        assert torch.equal(kept[1:], table[1:]) and not kept[0].any(), name
    named = {*drawn, *(f"relation.{name}" for name in tables)}
    rest = {n: p for n, p in network.named_parameters() if n.rpartition(".")[0] not in named}
    assert rest and not any(parameter.any() for parameter in rest.values()), "the heads are zero"


def test_the_defaults_weights_and_outputs_have_the_digest_they_always_had():
    def digest(values: torch.Tensor) -> float:
        flat = values.detach().double().flatten()
        return float(flat @ torch.cos(torch.arange(1, len(flat) + 1, dtype=torch.float64)))

    fresh = build_policy(PolicyConfig(), seed=0)
    weights = torch.cat([value.flatten() for value in fresh.state_dict().values()])
    seen = observations()
    output = trained_like_policy(1)(
        collate([model_inputs(s) for s in seen], [s.mask for s in seen])
    )
    legal = output.log_action[output.log_action > -1e8]
    # Close, not equal: normal draws and sums differ in the last bits between processors.
    assert digest(weights) == pytest.approx(WEIGHTS_DIGEST, rel=1e-5)
    assert digest(legal) == pytest.approx(OUTPUT_DIGEST, rel=1e-4)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_moves_the_policy_when_on_and_no_other_input_does(name, trajectory):
    batch = batch_of(trajectory)
    fields = sorted(set().union(*READS.values()))
    for field in fields:
        getattr(batch, field).requires_grad_()
    policy = shaken(build_policy(dataclasses.replace(ALL, streams=(name,)), seed=2))
    with torch.no_grad():
        policy.type_from_arguments.zero_()  # else the arguments move the type as well
    policy(batch).log_type[batch.type_mask].square().sum().backward()
    moved = set()
    for field in fields:
        gradient = getattr(batch, field).grad
        if gradient is not None and gradient.abs().max() > 0:
            moved.add(field)
    assert moved == READS[name]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_is_off_has_no_weights_and_no_inputs(name):
    config = dataclasses.replace(ALL, streams=tuple(s for s in STREAMS if s != name))
    policy = build_policy(config, seed=0)
    assert f"{name}_stream" not in dict(policy.named_children())
    assert policy.gate.out_features == len(STREAMS) - 1
    inputs = policy_family(config).model_inputs(observations()[3])
    empty = {
        field: getattr(inputs, field).size == 0
        for field in ("change", "element_change", "query", "picture_jpeg")
    }
    assert empty == {
        "change": name == "diff",
        "element_change": name == "diff",
        "query": name == "history",
        "picture_jpeg": True,
    }
    assert inputs.picture.shape == ((0, 0) if name == "vision" else (0, 960))


def test_which_elements_changed_moves_the_policy(trajectory):
    batch = batch_of(trajectory)
    policy = shaken(build_policy(dataclasses.replace(ALL, streams=("diff",)), seed=2))
    before = policy(batch).log_type
    batch.element_change.logical_not_()
    assert not torch.allclose(before, policy(batch).log_type)


@pytest.mark.parametrize("streams", [("page",), ("page", "intent"), STREAMS])
def test_gate_weights_sum_to_one(streams, trajectory):
    policy = shaken(build_policy(dataclasses.replace(ALL, streams=streams), seed=2))
    gate = policy.gate_weights(batch_of(trajectory))
    assert gate.shape == (len(trajectory.steps), len(streams))
    assert (gate >= 0).all() and torch.allclose(gate.sum(dim=1), torch.ones(len(gate)))


@pytest.mark.parametrize("train_backbone", [False, True])
@pytest.mark.parametrize("screenshot", list(ScreenshotMode))
def test_actor_and_learner_agree_with_all_streams_on(train_backbone, screenshot):
    config = dataclasses.replace(ALL, train_backbone=train_backbone)
    steps = walked(config, screenshot).steps
    policy = shaken(build_policy(config, seed=1)).train()
    output = policy(collate([s.inputs for s in steps], [s.mask for s in steps]))
    assert len({step.chosen for step in steps}) > 5
    for row, step in enumerate(steps):
        assert step.policy_version == 7
        learner = output.log_heads[row, step.chosen].detach().numpy()
        assert np.abs(learner - step.log_prob_by_head).max() < 1e-5
    has_picture = [bool(len(s.inputs.picture) or len(s.inputs.picture_jpeg)) for s in steps]
    # No page of the small site is empty.
    takes_some = screenshot in (ScreenshotMode.NEW_PAGE, ScreenshotMode.EVERY_STEP)
    assert any(has_picture) == takes_some
    assert all(has_picture) == (screenshot is ScreenshotMode.EVERY_STEP)


def test_no_batch_norm_trains_and_nothing_drops_out():
    for train_backbone in (False, True):
        config = dataclasses.replace(ALL, train_backbone=train_backbone)
        kinds = [type(m).__name__ for m in build_policy(config, seed=0).train().modules()]
        assert not any("Dropout" in kind for kind in kinds)
        norms = [
            module
            for module in build_policy(config, seed=0).train().modules()
            if isinstance(module, nn.modules.batchnorm._NormBase)
        ]
        assert bool(norms) == train_backbone and not any(norm.training for norm in norms)
        lstms = [m for m in build_policy(config, seed=0).modules() if isinstance(m, nn.LSTM)]
        assert [m.dropout for m in lstms] == [0.0]


def test_the_new_inputs_survive_storage(tmp_path: Path):
    for train_backbone in (False, True):
        kept = walked(dataclasses.replace(ALL, train_backbone=train_backbone))
        path = tmp_path / f"{train_backbone}.npz"
        write_tree(path, kept, RECORDS)
        back = read_tree(path, RECORDS)
        for step, read in zip(kept.steps, back.steps, strict=True):
            for field in dataclasses.fields(ModelInputs):
                own, other = getattr(step.inputs, field.name), getattr(read.inputs, field.name)
                assert own.dtype == other.dtype and np.array_equal(own, other), field.name
        assert any(s.inputs.query.size for s in back.steps)
        assert all(s.inputs.picture_jpeg.size > 0 for s in back.steps) == train_backbone


def test_bytes_of_the_new_inputs_count(trajectory):
    step = trajectory.steps[0]
    bare = dataclasses.replace(step.inputs, picture=step.inputs.picture[:0])
    saved = step.num_bytes() - dataclasses.replace(step, inputs=bare).num_bytes()
    assert saved == 960 * 2


# --- What the streams are told --------------------------------------------------------------------


def test_changes_name_what_the_last_action_did():
    first, _, noted, _, typed, _ = observations()
    named = {
        name: dict(zip(CHANGE_COLUMNS, change_columns(seen).tolist(), strict=True))
        for name, seen in (("first", first), ("noted", noted), ("typed", typed))
    }
    assert named["first"]["is_first_step"] == named["first"]["is_navigation"] == 1.0
    assert named["first"]["share_added"] == 1.0
    assert named["typed"]["has_new_value"] == named["typed"]["effect_ok"] == 1.0
    assert named["typed"]["is_navigation"] == named["typed"]["num_added"] == 0.0
    assert named["noted"]["num_changed"] > 0 and named["noted"]["is_still"] == 0.0
    assert element_changes(typed)[typed.diff.changed].tolist() == [[0, 1]]
    gone = dataclasses.replace(typed, last_effect="target_gone")
    other = dataclasses.replace(typed, last_effect="too_many_tabs")
    column = CHANGE_COLUMNS.index
    assert change_columns(gone)[column("effect_target_gone")] == 1.0
    assert change_columns(other)[column("effect_other")] == 1.0


def asked_before() -> Observation:
    """Two queries: a note of the page the first names, none after the second."""
    seen = observations()[3]
    note = Note(text="Employer: Orla Works", url="u", title="Ann Bell - Encyclopedia", step=3)
    queries = (Query(text="Ann Bell", step=1), Query(text="Orla Works", step=5))
    return dataclasses.replace(seen, notes=(note,), queries=queries, step_index=9)


def columns_of(seen: Observation) -> list[dict[str, float]]:
    rows = model_inputs(seen, ("history",)).query[:, RELATION_SIZE:].astype(float)
    return [dict(zip(QUERY_COLUMNS, row, strict=True)) for row in rows]


def test_a_query_is_told_with_what_came_of_it():
    first, second = columns_of(asked_before())
    assert first["led_to_its_name"] == 1.0 and first["chain_gain"] > 0
    assert first["num_notes"] == pytest.approx(1 / 3, abs=1e-3) and second["num_notes"] == 0.0
    assert second["led_to_its_name"] == second["chain_gain"] == 0.0
    assert (first["is_newest"], second["is_newest"]) == (0.0, 1.0)
    assert first["age"] > second["age"] > 0
    assert first["in_question"] == 1.0 and second["in_question"] == 0.0
    assert second["in_notes"] == 1.0
    assert first["here_coverage"] == 0.0 < second["here_coverage"]
    again = dataclasses.replace(
        asked_before(), queries=(*asked_before().queries, Query(text="Ann Bell", step=7))
    )
    assert [row["is_repeated"] for row in columns_of(again)] == [0.0, 0.0, 1.0]


def test_the_newest_queries_are_kept_oldest_first():
    names = [f"query {number}" for number in range(MAX_QUERIES + 3)]
    queries = tuple(Query(text=name, step=step) for step, name in enumerate(names))
    rows = model_inputs(
        dataclasses.replace(asked_before(), queries=queries, step_index=20), ("history",)
    ).query
    assert rows.shape == (MAX_QUERIES, QUERY_SIZE)
    for row, name in zip(rows, names[3:], strict=True):
        assert np.array_equal(row[:RELATION_SIZE], text_vector(name))


def test_the_order_of_the_queries_counts_and_no_query_is_a_learnt_state():
    config = PolicyConfig(width=16, streams=("history",))
    policy = shaken(build_policy(config, seed=0))
    seen = asked_before()
    inputs = model_inputs(seen, ("history",))
    turned = dataclasses.replace(inputs, query=inputs.query[::-1].copy())
    none = dataclasses.replace(inputs, query=inputs.query[:0])
    batch = collate([inputs, turned, none], [seen.mask] * 3)
    log_type = policy(batch).log_type
    assert not torch.allclose(log_type[0], log_type[1])
    policy(batch).log_type[2][batch.type_mask[2]].square().sum().backward()
    assert policy.history.none.grad.abs().max() > 0
    assert policy.history.lstm.weight_ih_l0.grad.abs().max() == 0
