# SPDX-License-Identifier: Apache-2.0
"""The environment on the twin: elements, masks, notes, queries, pop-ups and endings."""

import numpy as np
import pytest

from envs.actions import ACTION_SPECS, TYPE_INDEX, Action, enumerate_actions
from envs.config import DriverKind, EnvConfig
from envs.search_env import SearchEnv
from envs.twin.driver import TwinDriver
from envs.types import ElementFlag, Observation, Role, Split, StopReason
from tests.envs.small_site import ANN, START, SmallTaskSet


def make_small_env(*, max_steps: int = 20, with_modal: bool = False) -> SearchEnv:
    config = EnvConfig(driver=DriverKind.TWIN, max_steps=max_steps)
    tasks = SmallTaskSet(config.web, max_steps=max_steps, with_modal=with_modal)
    return SearchEnv(TwinDriver(max_elements=config.max_elements), tasks, config)


async def begin(env: SearchEnv) -> Observation:
    await env.start()
    return await env.reset(env.task_set.task(Split.TRAIN, 0))


def element(observation: Observation, role: Role, text: str) -> int:
    table = observation.elements
    rows = [i for i in range(len(table)) if table.role[i] == role and text in table.text[i]]
    assert rows, f"no {role.name} with {text!r} among {table.text}"
    return rows[0]


def span(observation: Observation, text: str) -> int:
    return [s.text for s in observation.spans].index(text)


async def test_a_scripted_two_hop_ends_with_the_right_answer():
    env = make_small_env()
    seen = await begin(env)
    assert seen.url == START and not seen.mask.type[TYPE_INDEX["press_enter"]]
    box = element(seen, Role.TEXTBOX, "Search")
    seen = (
        await env.step(Action(type="type", element=box, span=span(seen, "Ann Bell")))
    ).observation
    assert seen.elements.value[box] == "Ann Bell"
    assert seen.diff.changed.tolist() == [box] and not seen.diff.navigated
    seen = (await env.step(Action(type="press_enter"))).observation
    assert [q.text for q in seen.queries] == ["Ann Bell"]
    seen = (
        await env.step(Action(type="click", element=element(seen, Role.LINK, "Ann")))
    ).observation
    assert seen.url == ANN
    row = element(seen, Role.TABLE_ROW, "Employer")
    assert seen.elements.text[row] == "Employer: Orla Works"
    result = await env.step(Action(type="extract_text", element=row))
    seen = result.observation
    assert result.evidence.extracted_text == "Employer: Orla Works"
    assert seen.elements.flags[row, ElementFlag.EXTRACTED]
    assert not seen.mask.element[TYPE_INDEX["extract_text"], row]
    link = element(seen, Role.LINK, "Orla Works")
    seen = (await env.step(Action(type="click", element=link))).observation
    row = element(seen, Role.TABLE_ROW, "Headquarters")
    seen = (await env.step(Action(type="extract_text", element=row))).observation
    result = await env.step(Action(type="answer", span=span(seen, "Vardo")))
    assert result.stop is StopReason.ANSWERED and result.evidence.answer == "Vardo"


async def test_an_open_modal_layer_leaves_only_its_own_controls_legal():
    env = make_small_env(with_modal=True)
    seen = await begin(env)
    clickable = np.flatnonzero(seen.mask.element[TYPE_INDEX["click"]])
    assert [seen.elements.text[i] for i in clickable] == ["Close"]
    assert not seen.mask.type[TYPE_INDEX["type"]]
    seen = (await env.step(Action(type="click", element=int(clickable[0])))).observation
    assert seen.mask.type[TYPE_INDEX["type"]]
    await env.step(Action(type="wait_ms", wait=0))
    seen = await env.reset(env.task_set.task(Split.TRAIN, 0))
    assert not seen.mask.type[TYPE_INDEX["type"]], "a new episode has no cookies of the last one"


async def test_an_illegal_action_does_nothing_and_says_so():
    env = make_small_env()
    seen = await begin(env)
    result = await env.step(Action(type="go_back"))
    assert result.evidence.effect == "illegal" and result.observation.url == seen.url
    assert result.observation.step_index == 1
    assert result.observation.last_effect == "illegal"


async def test_the_step_limit_ends_the_attempt():
    env = make_small_env(max_steps=2)
    await begin(env)
    assert (await env.step(Action(type="wait_ms", wait=0))).stop is None
    result = await env.step(Action(type="wait_ms", wait=0))
    assert result.stop is StopReason.STEP_LIMIT and result.stop.is_truncated()


async def test_every_legal_action_of_a_page_can_be_carried_out():
    env = make_small_env(max_steps=200)
    task = env.task_set.task(Split.TRAIN, 0)
    await begin(env)
    await env.driver.open(ANN)
    seen = (await env.step(Action(type="wait_ms", wait=0))).observation
    actions = enumerate_actions(seen.mask)
    kinds = {ACTION_SPECS[k].name for k in actions.type}
    assert {"click", "hover", "type", "open_in_new_tab", "extract_text", "answer"} <= kinds
    for row in range(0, len(actions), 7):
        await env.reset(task)
        await env.driver.open(ANN)
        await env.step(Action(type="wait_ms", wait=0))
        result = await env.step(actions.action(row))
        assert result.evidence.effect == "ok", actions.action(row)


async def test_hidden_text_repeated_links_and_failed_images():
    env = make_small_env()
    await begin(env)
    effect = await env.driver.open(ANN)
    assert (effect.num_images, effect.num_images_failed) == (2, 1)
    seen = (await env.step(Action(type="wait_ms", wait=0))).observation
    texts = [
        t
        for t, r in zip(seen.elements.text, seen.elements.role, strict=True)
        if Role(r) is Role.LIST_ITEM
    ]
    assert texts == [], "a list item that only repeats its link is no element of its own"
    link = element(seen, Role.LINK, "Orla Works")
    seen = (await env.step(Action(type="click", element=link))).observation
    assert "secret" not in " ".join(seen.elements.text)
    box = element(seen, Role.SELECT, "year")
    assert seen.elements.options[box] == ("2019", "2020")
    assert seen.mask.option[box].tolist()[:2] == [False, True]
    seen = (await env.step(Action(type="select_option", element=box, option=1))).observation
    assert seen.elements.value[box] == "2020"


async def test_tabs_and_history():
    env = make_small_env()
    await begin(env)
    await env.driver.open(ANN)
    seen = (await env.step(Action(type="wait_ms", wait=0))).observation
    link = element(seen, Role.LINK, "Orla Works")
    seen = (await env.step(Action(type="open_in_new_tab", element=link))).observation
    assert [t.active for t in seen.tabs] == [False, True]
    assert not seen.mask.type[TYPE_INDEX["go_back"]]
    seen = (await env.step(Action(type="switch_tab", tab=0))).observation
    assert seen.url == ANN and seen.elements.flags[link, ElementFlag.VISITED]
    seen = (await env.step(Action(type="close_tab"))).observation
    assert len(seen.tabs) == 1 and seen.url.endswith("/wiki/orla")


async def test_the_same_actions_give_the_same_observations():
    first, second = make_small_env(), make_small_env()
    one, two = await begin(first), await begin(second)
    for step in range(12):
        actions = enumerate_actions(one.mask)
        action = actions.action((step * 37) % len(actions))
        if action.type == "answer":
            action = Action(type="wait_ms", wait=0)
        one = (await first.step(action)).observation
        two = (await second.step(action)).observation
        assert one.elements.text == two.elements.text and one.url == two.url
        assert all(
            np.array_equal(getattr(one.mask, n), getattr(two.mask, n))
            for n in ("type", "element", "span", "option", "tab")
        )


def test_flat_actions_and_rows_are_inverse():
    import asyncio

    async def run() -> Observation:
        env = make_small_env()
        await begin(env)
        await env.driver.open(ANN)
        return (await env.step(Action(type="wait_ms", wait=0))).observation

    seen = asyncio.run(run())
    actions = enumerate_actions(seen.mask)
    for row in range(len(actions)):
        assert actions.row(actions.action(row)) == row
        assert seen.mask.allows(actions.action(row))
    with pytest.raises(ValueError, match="legal action"):
        actions.row(Action(type="scroll_up_200px"))
