# SPDX-License-Identifier: Apache-2.0
"""Action values as a teacher: right where returns differ by action, silent where they do not."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import torch

from agent.policy import collate
from envs.actions import ACTION_SPECS, Head, enumerate_actions
from envs.types import LAYERS
from learner.action_values import ActionValueNet, ActionValues
from learner.config import LearnerConfig, ObjectiveConfig, StepTeacher
from learner.metrics import Means
from learner.types import Group
from learner.update import Learner
from tests.learner.tiny_policy import TinyPolicy, random_group, random_inputs, random_mask

CONFIG = LearnerConfig(
    step_teacher=StepTeacher.VALUES, critic_learning_rate=1e-2, action_value_updates=40
)
SCALES = np.ones(len(LAYERS))
_WITHOUT_ARGUMENT = [
    kind
    for kind, spec in enumerate(ACTION_SPECS)
    if Head.OPTION in spec.heads or Head.WAIT in spec.heads
]


def rewarded(group: Group, reward_of: object) -> Group:
    """The group with the rewards [L] that `reward_of` gives each step."""
    members = []
    for member in group.members:
        rewards = np.array([reward_of(step) for step in member.trajectory.steps], dtype=np.float32)
        members.append(
            dataclasses.replace(member, score=dataclasses.replace(member.score, rewards=rewards))
        )
    return dataclasses.replace(group, members=tuple(members))


def single_steps(rng: np.random.Generator, count: int) -> list[Group]:
    """Groups of attempts of one step: their returns are their rewards."""
    return [random_group(rng, f"g{i}", max_steps=1, with_utilities=False) for i in range(count)]


def by_type(step: object) -> np.ndarray:
    """A reward in the middle layer that the type of action decides, against what it is worth."""
    kind = enumerate_actions(step.mask).type[step.chosen]
    return np.array([0.0, 1.0 if kind % 2 else -1.0, 0.0])


def taught(reward_of: object, rounds: int = 12) -> tuple[ActionValues, list[Group], Means]:
    rng, values, means = np.random.default_rng(3), ActionValues(CONFIG), Means()
    for _ in range(rounds):
        groups = [rewarded(g, reward_of) for g in single_steps(rng, 8)]
        told = values.with_utilities(groups, SCALES, means)
        values.fit(groups, means)
    return values, told, means


def test_actions_that_return_more_have_higher_utilities_in_units_of_the_layer() -> None:
    values, told, _ = taught(by_type, rounds=30)
    assert values.trust[1] > 0.8 and values.trust[0] == values.trust[2] == 0.0
    gaps = []
    for group in told:
        for member in group.members:
            (step,) = member.trajectory.steps
            kinds, u = enumerate_actions(step.mask).type, step.utilities.astype(float)
            odd = kinds % 2 == 1
            if odd.any() and (~odd).any():
                gaps.append(u[odd].mean() - u[~odd].mean())
                assert u.mean() == pytest.approx(0.0, abs=2e-3), "deviations from the state's mean"
    # Returns differ by 2, the layer weighs 0.5.
    assert np.median(gaps) == pytest.approx(2 * 0.5 * values.trust[1], rel=0.2)


def test_returns_that_no_action_decides_earn_no_trust() -> None:
    noise = np.random.default_rng(0)
    values, told, means = taught(lambda step: noise.normal(size=3), rounds=20)
    assert (values.trust < 0.1).all()
    assert set(means.as_dict()) >= {f"learner/action_value_trust_{layer}" for layer in LAYERS}
    largest = [
        np.abs(s.utilities).max(initial=0)
        for g in told
        for m in g.members
        for s in m.trajectory.steps
    ]
    assert max(largest) < 0.2


def test_before_anything_was_seen_nobody_is_told_anything() -> None:
    groups = single_steps(np.random.default_rng(0), 2)
    assert ActionValues(CONFIG).with_utilities(groups, SCALES, Means()) == groups
    assert (ActionValues(CONFIG).trust == 0).all()


def test_every_action_is_told_apart_by_type_element_span_and_tab() -> None:
    rng = np.random.default_rng(1)
    masks = [random_mask(rng) for _ in range(6)]
    batch = collate([random_inputs(rng, m) for m in masks], masks)
    net = ActionValueNet(batch, 16, torch.Generator().manual_seed(0))
    assert not net(batch).any(), "zero at the beginning"
    with torch.no_grad():
        net.out.weight.normal_(generator=torch.Generator().manual_seed(1))
    values = net(batch).detach()
    assert values.shape == (*batch.flat_type.shape, len(LAYERS))
    for row, mask in enumerate(masks):
        of_state = values[row, : len(enumerate_actions(mask))]
        # Options and waits are told apart by their element and type alone.
        flat = enumerate_actions(mask)
        seen = {
            (int(k), int(e), int(a) if k not in _WITHOUT_ARGUMENT else -1)
            for k, e, a in zip(flat.type, flat.element, flat.argument, strict=True)
        }
        assert len(torch.unique(of_state[:, 0])) == len(seen)


def test_its_state_goes_on_where_it_was_and_survives_a_pickle() -> None:
    values, _, _ = taught(by_type, rounds=3)
    state = pickle.loads(pickle.dumps(values.state_dict()))
    again = ActionValues(CONFIG)
    again.load_state_dict(state)
    groups = [rewarded(g, by_type) for g in single_steps(np.random.default_rng(9), 2)]
    for each in (values, again):
        each.fit(groups, Means())
    for one, other in zip(
        values.with_utilities(groups, SCALES, Means()),
        again.with_utilities(groups, SCALES, Means()),
        strict=True,
    ):
        for a, b in zip(one.members, other.members, strict=True):
            for s, t in zip(a.trajectory.steps, b.trajectory.steps, strict=True):
                assert np.array_equal(s.utilities, t.utilities)


def test_the_steps_kept_stay_within_their_bytes() -> None:
    config = dataclasses.replace(CONFIG, action_value_bytes=20_000)
    values = ActionValues(config)
    values.fit(single_steps(np.random.default_rng(0), 30), Means())
    kept = values.state_dict()["memory"]
    assert 1 <= len(kept) < 120 and sum(step.num_bytes() for step, _ in kept) <= 20_000


def test_a_learner_moves_towards_what_returned_more_by_the_step_term_alone() -> None:
    config = dataclasses.replace(
        CONFIG,
        step_replay_updates=8,
        objective=ObjectiveConfig(outcome_weight=0.0, step_temperature=0.5),
    )
    learner, rng = Learner(TinyPolicy(), config), np.random.default_rng(5)
    chances = []
    for _ in range(40):
        groups = [rewarded(g, by_type) for g in single_steps(rng, 8)]
        report = learner.update(groups, progress=0.0)
        chances.append(_chance_of_odd_types(learner))
    assert report.metrics["learner/steps_with_utilities"] == 32
    assert chances[-1] > chances[0] + 0.15


def _chance_of_odd_types(learner: Learner) -> float:
    rng = np.random.default_rng(77)
    masks = [random_mask(rng) for _ in range(30)]
    policy = TinyPolicy()
    weights = {name: torch.from_numpy(value) for name, value in learner.weights().items()}
    policy.load_state_dict(weights)
    batch = collate([random_inputs(rng, m) for m in masks], masks)
    with torch.no_grad():
        chance = policy(batch).log_action.exp() * batch.flat_mask
    return float((chance * (batch.flat_type % 2 == 1)).sum() / len(masks))


def test_what_was_loaded_is_saved_again_before_the_first_batch() -> None:
    values, _, _ = taught(by_type, rounds=2)
    state = values.state_dict()
    again = ActionValues(CONFIG)
    again.load_state_dict(state)
    for name, value in again.state_dict()["net"].items():
        assert torch.equal(value, state["net"][name])
    assert len(again.state_dict()["memory"]) == len(state["memory"]) > 0


def test_only_fresh_attempts_and_what_the_agent_did_itself_move_the_trust() -> None:
    values, _, _ = taught(by_type, rounds=6)
    before = values.trust
    wrong = [rewarded(g, lambda s: -by_type(s)) for g in single_steps(np.random.default_rng(8), 4)]
    values.with_utilities(
        [dataclasses.replace(g, is_replayed=True) for g in wrong], SCALES, Means()
    )
    exogenous = [
        dataclasses.replace(
            g,
            members=tuple(
                dataclasses.replace(
                    m,
                    trajectory=dataclasses.replace(
                        m.trajectory,
                        steps=tuple(
                            dataclasses.replace(s, is_exogenous=True) for s in m.trajectory.steps
                        ),
                    ),
                )
                for m in g.members
            ),
        )
        for g in wrong
    ]
    values.with_utilities(exogenous, SCALES, Means())
    assert np.array_equal(values.trust, before)
    values.with_utilities(wrong, SCALES, Means())
    assert values.trust[1] < before[1]


def test_loading_leaves_the_state_as_it_is_and_no_state_is_the_beginning() -> None:
    values, groups, _ = taught(by_type, rounds=2)
    state = values.state_dict()
    kept = copy.deepcopy(state["optimizer"])
    again = ActionValues(CONFIG)
    again.load_state_dict(state)
    again.fit(groups, Means())
    for name, moments in kept["state"].items():
        assert torch.equal(moments["exp_avg"], state["optimizer"]["state"][name]["exp_avg"])
    again.load_state_dict({})
    fresh = ActionValues(CONFIG)
    for each in (again, fresh):
        each.fit(groups, Means())
    for name, value in fresh.state_dict()["net"].items():
        assert torch.equal(value, again.state_dict()["net"][name])
    assert len(again.state_dict()["memory"]) == len(fresh.state_dict()["memory"])


def test_what_is_kept_pins_no_foreign_memory_and_building_draws_nothing_from_torch() -> None:
    groups = single_steps(np.random.default_rng(3), 2)
    values, before = ActionValues(CONFIG), torch.random.get_rng_state()
    values.fit(groups, Means())
    assert torch.equal(before, torch.random.get_rng_state())
    given = [s.inputs.element for g in groups for m in g.members for s in m.trajectory.steps]
    for step, _ in values.state_dict()["memory"]:
        assert not any(np.shares_memory(step.inputs.element, own) for own in given)
