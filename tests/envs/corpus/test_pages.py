# SPDX-License-Identifier: Apache-2.0
"""The site of a corpus: search, documents, lists; the same in Chromium and in the twin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envs.browser.driver import ChromiumDriver
from envs.config import BrowserConfig
from envs.corpus.library import open_library
from envs.corpus.pages import HOME, CorpusSite, document_url
from envs.dom import PageElement
from envs.driver import PageSnapshot
from envs.twin.driver import TwinDriver
from envs.types import Role
from envs.web.sites.results import results_url
from envs.web.sites.shell import SEARCH_HOME
from tests.envs.corpus.small_corpus import DOCUMENTS, Row, write_corpus
from tests.envs.web.page_reader import elements, get

MAX_ELEMENTS = 60
PUMP, PERSON = document_url("guide/install.md"), document_url("guide/people.html")


def site_of(folder: Path, extra: list[Row] | None = None) -> CorpusSite:
    write_corpus(folder, DOCUMENTS + (extra or []))
    library = open_library(folder, cache_dir=str(folder / "cache"), skip_bad=False)
    return CorpusSite(library, language="en", max_elements=MAX_ELEMENTS)


def links(rows: tuple[PageElement, ...]) -> dict[str, str]:
    return {row.text: row.href for row in rows if row.role is Role.LINK}


def texts(rows: tuple[PageElement, ...]) -> list[str]:
    return [row.text for row in rows if row.role.is_text()]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[CorpusSite]:
    yield site_of(tmp_path)


def test_a_document_page_has_title_blocks_table_and_known_links(site: CorpusSite) -> None:
    response = get(site, PUMP)
    assert response.status == 200 and b"<title>Orlavia Pump \xe2\x80\x93 Library" in response.body
    rows = elements(response, PUMP)
    assert texts(rows)[:5] == [
        "Orlavia Pump",
        "The pump was built by Mara Veldin in Nowhere.",
        "Part | Value",
        "Weight | 12 kg",
        "light",
    ]
    known = links(rows)
    assert known["Mara Veldin"] == PERSON and known["Rust & Iron"] == document_url("rust")
    assert "Nowhere" not in known and "Gone" not in known


def test_an_infobox_is_kept_and_a_repeated_title_is_not(site: CorpusSite) -> None:
    response = get(site, PERSON)
    assert b'<table class="infobox">' in response.body
    rows = elements(response, PERSON)
    assert [row.text for row in rows].count("Mara Veldin") == 1
    assert "Born: Calder" in texts(rows)
    assert links(rows)["Her pump"] == PUMP


def test_results_come_ten_a_page_with_snippets(tmp_path: Path) -> None:
    extra = [
        {"id": f"n{i}", "title": f"Note {i}", "text": f"Harbour number {i}.\n\nIt is deep."}
        for i in range(23)
    ]
    site = site_of(tmp_path, extra)
    found: list[str] = []
    for number, count in ((1, 10), (2, 10), (3, 3), (4, 0)):
        url = results_url("harbour", number)
        rows = elements(get(site, url), url)
        hits = [r for r in rows if r.role is Role.LINK and r.href.startswith(f"{HOME}document/")]
        assert len(hits) == count
        assert all("Harbour number" in hit.context for hit in hits)
        found += [hit.href for hit in hits]
    assert len(set(found)) == 23
    assert get(site, results_url("harbour")) == get(site, results_url("harbour"))


def test_every_document_can_be_reached_by_browsing(tmp_path: Path) -> None:
    extra = [{"id": f"n {i}", "title": f"Note {i}", "text": "x"} for i in range(80)]
    site = site_of(tmp_path, extra)
    url, seen = f"{HOME}all", set()
    assert links(elements(get(site, HOME), HOME))["All documents"] == url
    while url:
        found = links(elements(get(site, url), url))
        seen |= {href for href in found.values() if "/document/" in href}
        url = found.get("Next page", "")
    assert seen == {document_url(d["id"]) for d in DOCUMENTS + extra}


@pytest.mark.parametrize(
    "url",
    [
        document_url("nobody"),
        HOME + "document/",
        HOME + "other",
        PUMP + "?part=2",
        SEARCH_HOME + "other",
        "http://other.forage.test/",
    ],
)
def test_unknown_pages_are_404_pages(site: CorpusSite, url: str) -> None:
    assert get(site, url).status == 404


def test_queries_and_senseless_numbers_are_answered(site: CorpusSite) -> None:
    for query in ("<script>alert(1)</script>", "'\"", "", "the", "no such word"):
        body = get(site, results_url(query)).body
        assert b"<script>alert" not in body
    for number in ("-3", "abc", "²", "99999"):
        assert get(site, f"{PUMP}?part={number}").status in (200, 404)
        assert get(site, f"{HOME}all?page={number}").status == 200


def test_all_of_a_long_document_is_seen_over_its_parts(tmp_path: Path) -> None:
    rows = "".join(f"<tr><th>r{i}</th><td>v{i}</td></tr>" for i in range(90))
    long = {"id": "long", "title": "Long", "format": "html", "text": f"<table>{rows}</table>"}
    site = site_of(tmp_path, [long])
    url, seen, count = document_url("long"), [], 0
    while url:
        page = elements(get(site, url), url)
        assert len(page) <= MAX_ELEMENTS
        seen += [text for text in texts(page) if text.startswith("r")]
        url, count = links(page).get("Next part", ""), count + 1
    assert seen == [f"r{i}: v{i}" for i in range(90)]
    assert count == site.num_parts(site._library.row_of("long")) == 3


async def test_chromium_and_the_twin_see_the_same_pages(tmp_path: Path) -> None:
    odd = {"id": "a/b ü?#%&+'", "title": "Odd", "text": "Odd id.", "links": ["rust"]}
    site = site_of(tmp_path, [odd])
    urls = [PUMP, PERSON, document_url(odd["id"]), results_url("pump rust"), HOME]
    twin = TwinDriver(max_elements=MAX_ELEMENTS)
    browser = ChromiumDriver(BrowserConfig(), max_elements=MAX_ELEMENTS)
    await browser.start()
    try:
        seen: list[list[PageSnapshot]] = []
        for driver in (twin, browser):
            await driver.reset(site)
            pages = []
            for url in urls:
                await driver.open(url)
                pages.append(await driver.snapshot(with_screenshot=False))
            seen.append(pages)
    finally:
        await browser.close()
    for mine, real in zip(*seen, strict=True):
        assert (mine.url, mine.title) == (real.url, real.title)
        assert [(e.role, e.text, e.href, e.context) for e in mine.elements] == [
            (e.role, e.text, e.href, e.context) for e in real.elements
        ]
    assert "Odd id." in [e.text for e in seen[0][2].elements]
