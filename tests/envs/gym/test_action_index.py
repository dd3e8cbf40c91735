# SPDX-License-Identifier: Apache-2.0
"""Actions as whole numbers: both ways, and a mask that is exactly the legal ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from envs.actions import ACTION_SPECS, MAX_SPANS, Action, enumerate_actions
from envs.config import DriverKind, EnvConfig
from envs.gym.action_index import ActionIndex
from envs.search_env import make_env
from envs.types import Split

MAX_ELEMENTS = 160


def test_every_number_is_one_action_and_back():
    index = ActionIndex(7)
    actions = [index.action(number) for number in range(index.num_actions)]
    assert [index.index(action) for action in actions] == list(range(index.num_actions))
    assert len(set(map(dataclasses.astuple, actions))) == index.num_actions
    assert {action.type for action in actions} == {spec.name for spec in ACTION_SPECS}


def test_the_numbers_are_those_of_the_documentation():
    index = ActionIndex(MAX_ELEMENTS)
    assert index.index(Action(type="click", element=5)) == 5
    assert index.index(Action(type="hover", element=5)) == MAX_ELEMENTS + 5
    typed = index.index(Action(type="type", element=3, span=2))
    assert typed == 2 * MAX_ELEMENTS + 3 * MAX_SPANS + 2
    assert index.num_actions == 13_678


@pytest.mark.parametrize("number", [-1, 13_678])
def test_a_number_of_no_action_is_refused(number: int):
    with pytest.raises(ValueError, match="expected an action in"):
        ActionIndex(MAX_ELEMENTS).action(number)


def test_an_argument_outside_of_its_head_has_no_number():
    index = ActionIndex(MAX_ELEMENTS)
    for action in (
        Action(type="click"),
        Action(type="click", element=MAX_ELEMENTS),
        Action(type="type", element=0, span=MAX_SPANS),
    ):
        with pytest.raises(ValueError, match="expected arguments within"):
            index.index(action)


async def test_the_mask_is_exactly_the_legal_actions_along_random_walks():
    config = EnvConfig(driver=DriverKind.TWIN)
    env, index = make_env(config), ActionIndex(config.max_elements)
    rng = np.random.default_rng(0)
    met = set()
    for number in range(6):
        seen = await env.reset(env.task_set.task(Split.TRAIN, number))
        for _ in range(15):
            flat = index.legal(seen.mask)
            actions = enumerate_actions(seen.mask)
            legal = {index.index(actions.action(row)) for row in range(len(actions))}
            assert set(np.flatnonzero(flat).tolist()) == legal
            types = np.unique(actions.type)
            rows = np.flatnonzero(actions.type == rng.choice(types[types != 15]))
            action = actions.action(int(rng.choice(rows)))
            met.add(action.type)
            result = await env.step(action)
            if result.stop is not None:
                break
            seen = result.observation
    assert len(met) >= 12, f"the walks meet most types, they met {sorted(met)}"
