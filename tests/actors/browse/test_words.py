# SPDX-License-Identifier: Apache-2.0
"""What a person types, as actions and wishes; what is wrong or illegal is refused with a reason."""

from __future__ import annotations

import pytest

from actors.browse.words import HELP, SHORT, Typed, View, parse_line
from envs.actions import ACTION_SPECS, Action
from envs.config import DriverKind, EnvConfig
from envs.search_env import SearchEnv
from envs.twin.driver import TwinDriver
from envs.types import Observation, Role, Split
from tests.envs.small_site import ANN, ORLA, SmallTaskSet


async def page(url: str) -> Observation:
    config = EnvConfig(driver=DriverKind.TWIN)
    tasks = SmallTaskSet(config.web, max_steps=20)
    env = SearchEnv(TwinDriver(max_elements=160), tasks, config)
    await env.start()
    await env.reset(env.task_set.task(Split.TRAIN, 0))
    await env.driver.open(url)
    return (await env.step(Action(type="wait_ms", wait=0))).observation


def row_of(seen: Observation, role: Role) -> int:
    return seen.elements.role.tolist().index(role)


async def test_every_type_of_action_can_be_typed():
    seen = await page(ORLA)
    box, select = row_of(seen, Role.TEXTBOX), row_of(seen, Role.SELECT)
    table_row = row_of(seen, Role.TABLE_ROW)
    assert parse_line(f"click {box}", seen) == Typed(action=Action(type="click", element=box))
    by_span = Typed(action=Action(type="type", element=box, span=0))
    assert parse_line(f"type {box} s0", seen) == by_span
    own = Typed(action=Action(type="type", element=box), own_text="Orla's moon")
    assert parse_line(f'type {box} "Orla\'s  moon"'.replace("  ", " "), seen) == own
    chosen = Typed(action=Action(type="select_option", element=select, option=1))
    assert parse_line(f"select {select} 2020", seen) == chosen
    assert parse_line(f"select_option {select} 1", seen) == chosen
    noted = Typed(action=Action(type="extract_text", element=table_row))
    assert parse_line(f"extract {table_row}", seen) == noted
    assert parse_line("wait 500", seen) == Typed(action=Action(type="wait_ms", wait=1))
    assert parse_line("back", seen) == Typed(action=Action(type="go_back"))
    answer = Typed(action=Action(type="answer"), own_text="in Vardo")
    assert parse_line("answer in Vardo", seen) == answer
    assert parse_line(" mask ", seen) is View.MASK


def test_the_help_names_every_action_and_every_view():
    long = {name: short for short, name in SHORT.items()}
    words = set(HELP.split())
    assert {long.get(spec.name, spec.name) for spec in ACTION_SPECS} <= words
    assert {view.value for view in View} <= words


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("clik 1", "did you mean click"),
        ("xyz", "help lists them"),
        ("click", "click: expected a row, got nothing"),
        ("click 999", "expected a row in 0.."),
        ("click -1", "expected a row in"),
        ("click 99999999999999999999", "expected a row in"),
        ("click 1 2", "expected nothing after it, got '2'"),
        ("type 4", "type: expected a row and a text, got 4"),
        ("answer", "answer: expected a text, got nothing"),
        ("answer \x07", "without control characters"),
        ("wait 7", "expected one of"),
        ("up", "scroll_up_200px: not legal here"),
        ("close", "close_tab: not legal here"),
        ("tab 0", "switch_tab: not legal here"),
        ("say 'it", "closed quotes"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_a_reason(line: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse_line(line, await page(ANN))


async def test_an_illegal_row_is_refused_with_the_legal_ones():
    seen = await page(ANN)
    heading, box = row_of(seen, Role.HEADING), row_of(seen, Role.TEXTBOX)
    with pytest.raises(ValueError, match=rf"type {heading}: not legal here; its legal .* {box}$"):
        parse_line(f"type {heading} moon", seen)
