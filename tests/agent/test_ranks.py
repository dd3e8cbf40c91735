# SPDX-License-Identifier: Apache-2.0
"""Where a link stands among those that a page of hits offers."""

import asyncio

import numpy as np
import pytest

from agent.forager.link_ranks import link_ranks, reciprocal_ranks
from agent.forager.scene import scene_of
from envs.actions import Action
from envs.config import DriverKind, EnvConfig, WebConfig
from envs.search_env import make_env
from envs.types import Observation, Role, Split


def hits(language: str) -> list[Observation]:
    """The hits for all words of a question, before and after the first of them was opened."""

    async def run() -> list[Observation]:
        web = WebConfig(kinds=("fuzzy",), languages=(language,), hazards=1.0)
        env = make_env(EnvConfig(driver=DriverKind.TWIN, web=web, max_steps=20))
        await env.start()
        first = await env.reset(env.task_set.task(Split.VALIDATION, 3))
        box = next(i for i, role in enumerate(first.elements.role) if role == Role.TEXTBOX)
        typing = Action(type="type", element=box, span=len(first.spans) - 1)
        await env.step(typing)
        seen = (await env.step(Action(type="press_enter"))).observation
        best = int(np.argmax(link_ranks(scene_of(seen))["rank_on_page"]))
        await env.step(Action(type="click", element=best))
        again = (await env.step(Action(type="go_back"))).observation
        await env.close()
        return [seen, again]

    return asyncio.run(run())


def test_the_best_has_one_the_next_a_half_and_equal_ones_keep_their_order() -> None:
    ranks = reciprocal_ranks(
        np.array([0.2, 0.9, 0.2, 0.9, 1.0]), np.array([True, True, True, True, False])
    )
    assert ranks.tolist() == [pytest.approx(1 / 3), 1.0, 0.25, 0.5, 0.0]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hits_are_ranked_in_their_order_adverts_are_not_and_visited_ones_no_more(language) -> None:
    before, after = hits(language)
    ranks = link_ranks(scene_of(before))["rank_on_page"]
    rows = np.flatnonzero(ranks)
    assert len(rows) >= 5 and np.array_equal(ranks[rows], 1 / np.arange(1, len(rows) + 1))
    assert not any("deals." in before.elements.href[row] for row in rows)
    assert any("deals." in href for href in before.elements.href)
    opened = before.elements.href[rows[0]]
    later = link_ranks(scene_of(after))["rank_on_page"]
    top = after.elements.href[int(np.argmax(later))]
    assert top == before.elements.href[rows[1]] != opened
    row = after.elements.href.index(opened)
    assert later[row] == 0.0
