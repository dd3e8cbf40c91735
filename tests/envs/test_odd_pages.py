# SPDX-License-Identifier: Apache-2.0
"""Pages as the web has them: what is broken in a page is the page's affair, never the env's."""

import pytest

from agent.episode import run_episode
from agent.scripted.random_agent import RandomAgent
from envs.actions import Action
from envs.config import DriverKind, EnvConfig, ScreenshotMode
from envs.search_env import SearchEnv, make_driver
from envs.site import PageRequest, PageResponse
from envs.types import Role, Split, StopReason, Task, TaskPrompt, TaskTruth

HOST = "search.forage.test"
NO_URL = "http://[odd"
PAGES = {
    "no bytes": "",
    "text alone": "no element at all",
    "a comment": "<!-- nothing else -->",
    "a link that is no URL": f'<a href="{NO_URL}">x</a><a href="/y">y</a>',
    "an image that is no URL": f'<img src="{NO_URL}" alt="x"><img alt="none">',
    "a form that leads nowhere": f'<form action="{NO_URL}"><input name="q"><button>Go</button>',
    "a base that is no URL": f'<head><base href="{NO_URL}"></head><a href="x">x</a>',
    "choices without choice": "<select name='a'></select><select><option>1</option></select>",
    "control characters": "<h1>a\x00b\x0c\u202e\ud7ff</h1><p>😀</p>",
}


class OnePage:
    """A site of one page, and the tasks on it."""

    def __init__(self, body: str) -> None:
        self._body = body.encode()

    def hosts(self) -> tuple[str, ...]:
        return (HOST,)

    def respond(self, request: PageRequest) -> PageResponse:
        return PageResponse(status=200, content_type="text/html; charset=utf-8", body=self._body)

    def num_tasks(self, split: Split) -> None:
        """Without end."""

    def site(self, task: Task) -> "OnePage":
        return self

    def task(self, split: Split, index: int) -> Task:
        return Task(
            task_id=f"odd-{index}",
            kind="odd",
            split=split,
            language="en",
            world_seed=0,
            task_seed=index,
            prompt=TaskPrompt(
                question="Who is Ann Bell?", start_url=f"http://{HOST}/", max_steps=12
            ),
            truth=TaskTruth(answers=("nobody",), evidence=(), potential={}),
        )


def env_on(body: str) -> SearchEnv:
    config = EnvConfig(driver=DriverKind.TWIN, screenshot=ScreenshotMode.NEVER)
    return SearchEnv(make_driver(config), OnePage(body), config)


@pytest.mark.parametrize("name", PAGES)
async def test_attempts_on_an_odd_page_end_by_themselves(name):
    env = env_on(PAGES[name])
    await env.start()
    for seed in range(4):
        attempt = await run_episode(
            env,
            RandomAgent(),
            env.task_set.task(Split.TRAIN, seed),
            trajectory_id="t",
            group_id="g",
            seed=seed,
        )
        assert attempt.episode.stop in (StopReason.ANSWERED, StopReason.STEP_LIMIT)


async def test_a_link_that_is_no_url_is_seen_and_leads_nowhere():
    env = env_on(PAGES["a link that is no URL"])
    await env.start()
    seen = await env.reset(env.task_set.task(Split.TRAIN, 0))
    row = seen.elements.text.index("x")
    assert seen.elements.role[row] == Role.LINK and seen.elements.href[row] == ""
    assert not seen.mask.allows(Action(type="open_in_new_tab", element=row))
    result = await env.step(Action(type="click", element=row))
    assert result.evidence.effect == "ok" and result.observation.url == seen.url
    assert not result.evidence.is_new_page


async def test_a_page_of_thousands_of_elements_is_cut_at_the_cap():
    env = env_on("".join(f"<p>number {i}</p>" for i in range(2000)))
    await env.start()
    seen = await env.reset(env.task_set.task(Split.TRAIN, 0))
    cap = EnvConfig().max_elements
    assert seen.elements.text == tuple(f"number {i}" for i in range(cap))


async def test_what_a_select_box_shows_is_no_query():
    env = env_on(
        "<form action='/find'><select name='y'><option>2019</option><option>2020</option></select>"
        "<input name='q'><button>Go</button></form>"
    )
    await env.start()
    seen = await env.reset(env.task_set.task(Split.TRAIN, 0))
    box = seen.elements.role.tolist().index(Role.SELECT)
    seen = (await env.step(Action(type="select_option", element=box, option=1))).observation
    assert seen.elements.value[box] == "2020"
    field = seen.elements.role.tolist().index(Role.TEXTBOX)
    seen = (await env.step(Action(type="type", element=field, span=0))).observation
    typed = seen.elements.value[field]
    seen = (await env.step(Action(type="press_enter"))).observation
    assert [query.text for query in seen.queries] == [typed]
