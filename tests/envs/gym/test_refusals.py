# SPDX-License-Identifier: Apache-2.0
"""What the boundary refuses reaches a Gymnasium agent as information, and as no reward."""

from __future__ import annotations

from dataclasses import replace

from envs.actions import Action
from envs.config import EnvConfig, WebConfig
from envs.driver import PAGE_REFUSED
from envs.gym.forage_env import ForageEnv
from envs.types import Split, Task
from tests.envs.browser.sites import PathSite, url
from tests.envs.small_site import SmallTaskSet


class LeadingOut(SmallTaskSet):
    """A task whose start page has a link to this machine."""

    def task(self, split: Split, index: int) -> Task:
        task = super().task(split, index)
        return replace(task, prompt=replace(task.prompt, start_url=url("/")))

    def site(self, task: Task) -> PathSite:
        return PathSite({"/": "<a href=http://127.0.0.1:9999/>Out</a>"})


def leading_out(config: EnvConfig) -> LeadingOut:
    return LeadingOut(WebConfig(), max_steps=5)


def test_a_refused_page_is_told_in_the_info_and_earns_nothing():
    name = f"{__name__}:leading_out"
    env = ForageEnv(task_set=name, browser={"egress": {"mode": "listed"}})
    try:
        _, info = env.reset(seed=0)
        assert info["refusals"] == ()
        row = list(env.seen.elements.text).index("Out")
        _, reward, terminated, truncated, info = env.step_action(Action(type="click", element=row))
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info["effect"] == PAGE_REFUSED
        assert info["refusals"] == ("127.0.0.1:9999 not_listed",)
        _, _, _, _, info = env.step_action(Action(type="wait_ms", wait=0))
        assert (info["effect"], info["refusals"]) == ("ok", ())
    finally:
        env.close()
