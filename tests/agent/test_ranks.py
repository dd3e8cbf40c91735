# SPDX-License-Identifier: Apache-2.0
"""Where a link stands among those that a page of hits offers."""

import asyncio
import dataclasses

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


def test_hits_are_ranked_by_what_stands_beside_them_and_links_to_more_hits_are_not() -> None:
    before, _ = hits("en")
    table, query = before.elements, before.queries[-1].text
    rows = np.flatnonzero(link_ranks(scene_of(before))["rank_on_page"])
    others = [i for i, href in enumerate(table.href) if href and i not in rows]
    texts, contexts = list(table.text), list(table.context)
    for place, row in enumerate(rows):  # the later, the more of what is asked
        contexts[row] = f"{texts[row]} " + " ".join(query.split()[: place + 1])
    for row in others:  # as adverts and links to more hits do
        contexts[row] = f"about {query} {texts[row]}"
    texts[rows[0]] = ""  # a picture that is a link has no name
    changed = dataclasses.replace(table, text=tuple(texts), context=tuple(contexts))
    scene = scene_of(dataclasses.replace(before, elements=changed))
    ranks, named = link_ranks(scene), rows[1:]
    for column in ranks.values():
        assert not column[others].any() and column[rows[0]] == 0.0
    assert ranks["rank_on_page"][named].tolist() == (1 / np.arange(1, len(named) + 1)).tolist()
    assert ranks["rank_by_context"][named[-1]] > ranks["rank_by_context"][named[0]] > 0


def test_hits_whose_text_has_the_names_asked_for_come_first_by_names() -> None:
    before, _ = hits("en")
    table, names = before.elements, scene_of(before).asked_names
    rows = np.flatnonzero(link_ranks(scene_of(before))["rank_on_page"])
    contexts = list(table.context)
    for row in rows:
        contexts[row] = f"{table.text[row]} and nothing else"
    contexts[rows[3]] += f" {names[0]}"
    contexts[rows[0]] = f"{table.text[rows[0]]} with {' '.join(names)}"
    changed = dataclasses.replace(table, context=tuple(contexts))
    ranks = link_ranks(scene_of(dataclasses.replace(before, elements=changed)))["rank_by_names"]
    assert ranks[rows[0]] == 1.0 and np.count_nonzero(ranks) == 2
    assert ranks[rows[3]] == 0.5
