# SPDX-License-Identifier: Apache-2.0
"""Pages look like pages, lead somewhere, and carry the hazards that the seed drew."""

import dataclasses

import pytest
from lxml import etree, html

from envs.config import WebConfig
from envs.types import Role, Split
from envs.web.hazards import DISMISS_LABELS, NO_HAZARDS, draw_hazards
from envs.web.sites.results import results_url
from envs.web.sites.shell import SEARCH_HOME
from envs.web.task_set import EmbeddedTaskSet
from envs.web.web_site import CONTENT_HOSTS, EmbeddedSite
from envs.web.world import build_world
from tests.envs.web.page_reader import elements, get

WIKI, POLICY, DEALS = (f"http://{h}.forage.test/" for h in ("wiki", "policy", "deals"))


@pytest.fixture(scope="module")
def site() -> EmbeddedSite:
    return EmbeddedSite(build_world(9001, Split.TEST), NO_HAZARDS)


def _article_urls(count: int) -> list[str]:
    tasks = EmbeddedTaskSet(WebConfig(), max_steps=20)
    urls = []
    index = 0
    while len(urls) < count:
        task = tasks.task(Split.TEST, index)
        if task.world_seed == 9001:
            urls += [item.url for item in task.truth.evidence]
        index += 1
    return urls[:count]


def test_every_link_and_resource_of_sampled_pages_resolves(site: EmbeddedSite) -> None:
    starts = [SEARCH_HOME, WIKI, WIKI + "categories", WIKI + "category/Astronomer", POLICY]
    starts += [POLICY + "agencies", POLICY + "years", DEALS, results_url("city market")]
    starts += _article_urls(12)
    for url in starts:
        response = get(site, url)
        assert response.status == 200, url
        document = html.document_fromstring(response.body.decode())
        document.make_links_absolute(url)
        for _, attribute, target, _ in document.iterlinks():
            if not target.startswith("data:"):
                assert get(site, target).status == 200, (url, attribute, target)


def test_typical_pages_have_a_modest_number_of_elements(site: EmbeddedSite) -> None:
    counts = []
    for url in _article_urls(30):
        counts.append(len(elements(get(site, url), url)))
    assert min(counts) >= 30 and max(counts) <= 110
    assert 40 <= sum(counts) / len(counts) <= 70


def test_results_have_ten_hits_a_page_with_snippets_and_paging(site: EmbeddedSite) -> None:
    first, second = results_url("tramway harbour"), results_url("tramway harbour", 2)
    pages = [elements(get(site, url), url) for url in (first, second)]
    hits = []
    for rows in pages:
        found = [
            r.href
            for r in rows
            if r.role is Role.LINK and "forage.test ›" in r.context and "Sponsored" not in r.context
        ]
        assert len(found) == 10
        hits += found
    assert len(set(hits)) == 20
    assert any(r.text == "Next page" and r.href == second for r in pages[0])
    assert any(r.text == "Previous page" and r.href == first for r in pages[1])


def test_a_query_without_a_match_says_so_and_keeps_the_box(site: EmbeddedSite) -> None:
    for query in ("zzzzqq", "the of", "?!"):
        rows = elements(get(site, results_url(query)), results_url(query))
        assert any("No page matches" in row.text for row in rows)
        assert any(row.role is Role.TEXTBOX for row in rows)


def test_text_from_outside_is_escaped(site: EmbeddedSite) -> None:
    body = get(site, results_url("<script>alert(1)</script> \" '>")).body.decode()
    assert "<script>alert" not in body
    assert "&lt;script&gt;" in body


@pytest.mark.parametrize(
    "url",
    [
        WIKI + "wiki/Nobody",
        WIKI + "category/Nothing",
        POLICY + "regulation/None",
        POLICY + "year/1800",
        DEALS + "offer/None",
        WIKI + "img/unknown/x.svg",
        SEARCH_HOME + "elsewhere",
        "http://unknown.forage.test/",
    ],
)
def test_unknown_pages_are_404_pages(site: EmbeddedSite, url: str) -> None:
    assert get(site, url).status == 404


def test_a_senseless_page_number_is_answered(site: EmbeddedSite) -> None:
    for number in ("-3", "0", "abc", "99999", "²"):
        assert get(site, f"{results_url('tramway')}&page={number}").status == 200


def test_pictures_are_valid_svg_of_the_declared_size(site: EmbeddedSite) -> None:
    for url in _article_urls(6):
        document = html.document_fromstring(get(site, url).body.decode())
        for picture in document.iter("img"):
            assert picture.get("width") and picture.get("height")
            document.make_links_absolute(url)
            response = get(site, picture.get("src"))
            assert response.content_type == "image/svg+xml"
            assert etree.fromstring(response.body).get("width") == "240"


def test_every_page_has_a_way_to_the_search_engine(site: EmbeddedSite) -> None:
    for url in (WIKI, POLICY, DEALS, WIKI + "wiki/Nobody", *_article_urls(5)):
        assert any(row.href == SEARCH_HOME for row in elements(get(site, url), url))


def test_a_cookie_banner_stays_away_once_its_cookie_is_set() -> None:
    hazards = dataclasses.replace(NO_HAZARDS, banner_label="Got it")
    site = EmbeddedSite(build_world(9001, Split.TEST), hazards)
    rows = elements(get(site, WIKI), WIKI)
    assert [r.text for r in rows if r.is_in_dialog and r.role is Role.BUTTON] == ["Got it"]
    assert not any(row.is_occluded for row in rows)
    cookies = {"consent_wiki": "1"}
    assert not any(row.is_in_dialog for row in elements(get(site, WIKI, cookies), WIKI))
    assert any(row.is_in_dialog for row in elements(get(site, POLICY, cookies), POLICY))


def test_a_login_popup_covers_one_host_until_it_is_closed() -> None:
    hazards = dataclasses.replace(NO_HAZARDS, popup_host="wiki.forage.test")
    site = EmbeddedSite(build_world(9001, Split.TEST), hazards)
    response = get(site, WIKI)
    rows = elements(response, WIKI)
    assert {row.is_occluded for row in rows} == {True, False}
    close = next(r for r in rows if r.is_in_dialog and r.text == hazards.popup_label)
    assert not close.is_occluded and close.text in DISMISS_LABELS
    assert b'data-dismiss="login-popup" data-cookie="popup_wiki=1"' in response.body
    closed = elements(get(site, WIKI, {"popup_wiki": "1"}), WIKI)
    assert not any(row.is_occluded for row in closed)
    assert not any(row.is_occluded for row in elements(get(site, POLICY), POLICY))


def test_slow_resources_come_late_and_pages_do_not() -> None:
    hazards = dataclasses.replace(NO_HAZARDS, slow_suffix=".css", delay_s=0.7)
    site = EmbeddedSite(build_world(9001, Split.TEST), hazards)
    assert get(site, WIKI + "style.css").delay_s == 0.7
    assert get(site, WIKI + "page.js").delay_s == 0.0
    assert get(site, WIKI).delay_s == 0.0


def test_hazards_follow_from_the_seed_at_the_configured_rates() -> None:
    config = WebConfig()
    drawn = [draw_hazards(config, seed, CONTENT_HOSTS) for seed in range(2000)]
    assert drawn == [draw_hazards(config, seed, CONTENT_HOSTS) for seed in range(2000)]
    assert abs(sum(bool(h.banner_label) for h in drawn) / 2000 - 0.25) < 0.04
    assert abs(sum(bool(h.popup_host) for h in drawn) / 2000 - 0.15) < 0.04
    slow = [h for h in drawn if h.slow_suffix]
    assert abs(len(slow) / 2000 - 0.15) < 0.04
    assert all(0.3 <= h.delay_s <= 1.5 for h in slow)
