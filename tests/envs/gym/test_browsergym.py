# SPDX-License-Identifier: Apache-2.0
"""BrowserGym's shape on the twin: keys, trees, strings that are read and never executed."""

from __future__ import annotations

import builtins
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from envs.gym.bid_actions import ACTIONS, describe_actions
from envs.gym.browsergym import BidEnv
from envs.gym.registration import EMBEDDED_WEB_BIDS, register

KEYS = {
    "active_page_index",
    "axtree_object",
    "chat_messages",
    "dom_object",
    "elapsed_time",
    "extra_element_properties",
    "focused_element_bid",
    "goal",
    "goal_object",
    "last_action",
    "last_action_error",
    "open_pages_titles",
    "open_pages_urls",
    "url",
}
LOOK_UP = {"two_hop_share": 0.0, "cookie_banner_rate": 0.0, "login_popup_rate": 0.0}
register()


@pytest.fixture
def env() -> BidEnv:
    return BidEnv(driver="twin", web=LOOK_UP)


def bids(shaped: dict[str, Any], role: str, text: str = "") -> list[str]:
    """The bids of a role whose name holds `text`, as an agent reads them off the tree."""
    return [
        node["browsergym_id"]
        for node in shaped["axtree_object"]["nodes"]
        if node["role"]["value"] == role and text in node["name"]["value"]
    ]


def test_the_keys_are_those_of_the_documentation(env: BidEnv):
    shaped, info = env.reset(seed=1)
    assert set(shaped) == KEYS, "and no picture from the twin"
    assert shaped in env.observation_space
    assert info["task_info"] == {}
    page = Path(__file__).resolve().parents[3] / "docs" / "GYMNASIUM.md"
    text = page.read_text(encoding="utf-8")
    assert {key for key in KEYS if f"`{key}`" in text} == KEYS
    assert {name for name in ACTIONS if f"`{name}(" in text} == set(ACTIONS)


def test_an_agent_that_reads_the_tree_and_writes_strings_finds_an_answer(env: BidEnv):
    shaped, _ = env.reset(seed=2)
    item = env.task.truth.evidence[0]
    assert shaped["goal"] == env.task.prompt.question
    (box,) = bids(shaped, "textbox")
    shaped, *_ = env.step(f"fill('{box}', {item.subject!r})")
    assert shaped["focused_element_bid"] == box
    shaped, *_ = env.step(f"press('{box}', 'Enter')")
    assert "find" in shaped["url"] or "q=" in shaped["url"]
    hit = next(
        bid
        for bid in bids(shaped, "link", item.subject)
        if {"name": "url", "value": {"type": "string", "value": item.url}}
        in shaped["axtree_object"]["nodes"][1 + int(bid)]["properties"]
    )
    shaped, *_ = env.step(f"click('{hit}')")
    assert (shaped["url"], shaped["last_action_error"]) == (item.url, "")
    shaped, reward, terminated, _, info = env.step(f"send_msg_to_user({item.value!r})")
    assert (reward, terminated, info["stop"]) == (1.0, True, "answered")
    assert shaped["chat_messages"][-1]["message"] == item.value
    assert info["action_exec_start"] <= info["action_exec_stop"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "click('12'",
        "clik('1')",
        "click('999')",
        "click(button='left')",
        "click('1', 'right')",
        "click('1'); click('2')",
        "click(open('x'))",
        "__import__('os').getpid()",
        "builtins.marked.append('1')",
        "exec('builtins.marked.append(1)')",
        "lambda: 1",
        "fill('4', 'half \\ud800')",
        "fill('4', ['a'])",
        "click({[]: 1})",
        "click({[1]})",
        "scroll(10, 10)",
        "scroll(0, 1e400)",
        "tab_focus(1e400)",
        "tab_focus(True)",
        "press('4', 'Enter')",
        "keyboard_press('Tab')",
        "select_option('4', 'x')",
        "check('0')",
        "(" * 5000,
        "click('" + "1" * 5000 + "')",
    ],
)
def test_what_is_no_action_is_a_step_with_a_reason_and_is_not_executed(
    env: BidEnv, text: str, monkeypatch: pytest.MonkeyPatch
):
    marked: list[str] = []
    monkeypatch.setattr(builtins, "marked", marked, raising=False)
    before, _ = env.reset(seed=1)
    shaped, reward, terminated, truncated, info = env.step(text)
    assert shaped["last_action_error"].startswith("ValueError: ")
    assert (reward, terminated, truncated, info["effect"]) == (0.0, False, False, "illegal")
    assert shaped["url"] == before["url"] and shaped["last_action"] == text
    assert not marked


def test_an_action_that_can_do_nothing_says_so(env: BidEnv):
    shaped, _ = env.reset(seed=1)
    shaped, *_ = env.step(f"click('{bids(shaped, 'heading')[0]}')")
    assert shaped["last_action_error"] == "ActionError: nothing was done, illegal"
    shaped, *_ = env.step("noop(400)")
    assert shaped["last_action_error"] == ""


def test_the_trees_hold_every_element_once(env: BidEnv):
    shaped, _ = env.reset(seed=1)
    root, *nodes = shaped["axtree_object"]["nodes"]
    assert root["childIds"] == [node["nodeId"] for node in nodes]
    assert set(shaped["extra_element_properties"]) == {node["browsergym_id"] for node in nodes}
    strings = shaped["dom_object"]["strings"]
    columns = shaped["dom_object"]["documents"][0]["nodes"]
    parents = columns["parentIndex"]
    assert parents[0] == -1 and all(0 <= p < i for i, p in enumerate(parents) if i)
    attributes = [[strings[at] for at in each] for each in columns["attributes"]]
    found = [each[each.index("bid") + 1] for each in attributes if "bid" in each]
    assert found == [node["browsergym_id"] for node in nodes]


def test_the_description_names_every_function_with_its_arguments():
    lines = describe_actions().splitlines()
    assert len(lines) == len(ACTIONS)
    assert "click(bid, button='left')  Click an element." in lines


def test_it_is_made_by_its_id_and_passes_gymnasiums_check():
    made = gymnasium.make(EMBEDDED_WEB_BIDS, driver="twin")
    assert isinstance(made.unwrapped, BidEnv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made.unwrapped)
    made.close()
