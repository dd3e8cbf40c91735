# SPDX-License-Identifier: Apache-2.0
"""Hazards beyond banners and pop-ups: adverts among hits, broken pictures, late articles."""

import numpy as np
import pytest

from envs.actions import WAIT_CHOICES_MS, Action, enumerate_actions
from envs.config import DriverKind, EnvConfig, WebConfig
from envs.search_env import SearchEnv, make_env
from envs.types import Observation, Role, Split, Task
from envs.web.hazards import draw_hazards
from envs.web.mix import LANGUAGES
from envs.web.sites.advert import HOST as DEALS_HOST
from envs.web.sites.results import results_url
from envs.web.task_set import EmbeddedTaskSet
from envs.web.teacher import WorldGraphTeacher
from envs.web.texts.languages import LANGUAGES as SPOKEN
from envs.web.texts.languages import LOADING_LABELS
from envs.web.web_site import CONTENT_HOSTS
from tests.envs.web.page_reader import get

ALL = WebConfig(cookie_banner_rate=0.0, login_popup_rate=0.0, hazards=1.0)


def test_their_rate_is_the_intensity_and_the_older_hazards_do_not_move() -> None:
    plain, half = WebConfig(), WebConfig(hazards=0.5)
    pairs = [[draw_hazards(c, seed, CONTENT_HOSTS) for c in (plain, half)] for seed in range(1000)]
    for without, with_some in pairs:
        assert not (without.has_advert_hits or without.breaks_images or without.late_ms)
        for name in ("banner_label", "popup_host", "slow_suffix", "delay_s", "advert_seed"):
            assert getattr(without, name) == getattr(with_some, name)
    for name in ("has_advert_hits", "breaks_images", "late_ms"):
        assert abs(sum(bool(getattr(h, name)) for _, h in pairs) / 1000 - 0.5) < 0.06


@pytest.mark.parametrize("intensity", [-0.1, 1.5, float("nan")])
def test_an_intensity_that_is_no_share_is_refused(intensity: float) -> None:
    with pytest.raises(ValueError, match=r"^env.web.hazards: expected 0..1"):
        WebConfig(hazards=intensity)


@pytest.mark.parametrize("language", LANGUAGES)
def test_adverts_stand_among_the_hits_marked_as_such(language: str) -> None:
    tasks = EmbeddedTaskSet(WebConfig(languages=(language,), hazards=1.0), max_steps=20)
    task = tasks.task(Split.TEST, 0)
    subject = task.truth.evidence[0].subject
    url = results_url(subject)
    body = get(tasks.site(task), url).body.decode()
    hits = body.partition('<ol class="hits">')[2].partition("</ol>")[0].split("</li>")[:-1]
    adverts = [i for i, hit in enumerate(hits) if 'class="ad"' in hit]
    assert len(hits) == 12 and len(adverts) == 2 and adverts[0] == 0
    for i in adverts:
        assert subject in hits[i] and DEALS_HOST in hits[i]
        assert SPOKEN[language].page.sponsored in hits[i]


def test_part_of_the_pictures_cannot_be_loaded_always_the_same() -> None:
    tasks = EmbeddedTaskSet(ALL, max_steps=20)
    site = tasks.site(tasks.task(Split.TEST, 0))
    paths = [f"http://wiki.forage.test/img/person/P{i}.svg" for i in range(200)]
    found = [get(site, path).status for path in paths]
    assert found == [get(site, path).status for path in paths]
    assert 60 <= found.count(404) <= 140 and set(found) == {200, 404}


async def _at_late_evidence() -> tuple[SearchEnv, Task, Observation]:
    """An observation of a page whose evidence has still to come."""
    env = make_env(EnvConfig(driver=DriverKind.TWIN, web=ALL))
    await env.start()
    for index in range(20):
        task = env.task_set.task(Split.TEST, index)
        await env.reset(task)
        await env.driver.open(task.truth.evidence[0].url)
        seen = (await env.step(Action(type="wait_ms", wait=0))).observation
        if not LOADING_LABELS.isdisjoint(seen.elements.text):
            return env, task, seen
    raise AssertionError("expected a late article among twenty")


async def test_the_teacher_waits_for_late_evidence_and_then_reads_it() -> None:
    env, task, seen = await _at_late_evidence()
    actions = enumerate_actions(seen.mask)
    utilities = WorldGraphTeacher().utilities(task, seen, actions)
    best = actions.action(int(np.argmax(utilities)))
    assert best == Action(type="wait_ms", wait=WAIT_CHOICES_MS.index(2000))
    seen = (await env.step(best)).observation
    assert LOADING_LABELS.isdisjoint(seen.elements.text)
    actions = enumerate_actions(seen.mask)
    utilities = WorldGraphTeacher().utilities(task, seen, actions)
    assert actions.action(int(np.argmax(utilities))).type == "extract_text"
    waits = [
        u
        for u, i in zip(utilities, range(len(actions)), strict=True)
        if actions.action(i).type == "wait_ms"
    ]
    assert max(waits) < 0


async def test_late_content_comes_by_itself_after_many_steps() -> None:
    env, _, seen = await _at_late_evidence()
    texts = [r for r in seen.elements.role if Role(r).is_text()]
    for _ in range(18):
        seen = (await env.step(Action(type="hover", element=0))).observation
    assert LOADING_LABELS.isdisjoint(seen.elements.text)
    assert len([r for r in seen.elements.role if Role(r).is_text()]) > len(texts)
