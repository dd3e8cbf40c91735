# SPDX-License-Identifier: Apache-2.0
"""The markup of a search engine's pages; the search engine of any site shares it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import unquote, urlencode

from envs.han import has_han
from envs.web.article import Link
from envs.web.search_index import MAX_HITS, IndexedPage, snippet, words_of
from envs.web.sites.shell import SEARCH_ACTION, anchor, pager, search_form
from envs.web.texts.shapes import PageTexts

PER_PAGE = 10


def search_home(texts: PageTexts, *more_tips: str) -> str:
    """The search engine's entrance."""
    items = "".join(f"<li>{escape(tip)}</li>" for tip in (*texts.tips, *more_tips))
    return (
        f'<section class="search-home"><h1>{escape(texts.search_name)}</h1>'
        f"{search_form('big-search', texts)}<h2>{escape(texts.tips_heading)}</h2>"
        f"<ul>{items}</ul></section>"
    )


def results_url(query: str, number: int = 1) -> str:
    """Address of a page of results, as the form would make it."""
    parameters = {"q": query} | ({"page": str(number)} if number > 1 else {})
    return f"{SEARCH_ACTION}?{urlencode(parameters)}"


def results_markup(
    texts: PageTexts,
    query: str,
    number: int,
    num_hits: int,
    shown: Sequence[IndexedPage],
    advert: str = "",
    advert_hits: Mapping[int, str] | None = None,
) -> str:
    """Page `number` of the results: the hits `shown` of `num_hits` in all; `advert` is markup.

    `advert_hits` is markup of list items, by the hit before which each stands.
    """
    heading = escape(texts.results_heading.format(query))
    parts = [f"<h1>{heading}</h1>", search_form("results-search", texts, query)]
    if not shown:
        parts.append(
            f"<p>{escape(texts.no_match_before)}<b>{escape(query)}</b>"
            f"{escape(texts.no_match_after)}</p>"
        )
        return f'<section class="results">{"".join(parts)}</section>'
    found = texts.num_results if num_hits < MAX_HITS else texts.many_results
    count = found.format(min(num_hits, MAX_HITS), number)
    parts.append(f'<p class="count">{escape(count)}</p>')
    parts.append(advert)
    among = advert_hits or {}
    hits = (among.get(i, "") + _hit(page_, query) for i, page_ in enumerate(shown))
    parts.append(f'<ol class="hits">{"".join(hits)}</ol>')
    parts.append(_pager(texts, query, number, num_hits))
    return f'<section class="results">{"".join(parts)}</section>'


def _hit(hit: IndexedPage, query: str) -> str:
    shown_url = unquote(hit.url.removeprefix("http://")).replace("/", " › ")
    text = _highlighted(snippet(hit.text, query), set(words_of(query)))
    return (
        f"<li>{anchor(Link(text=hit.title, url=hit.url))}<cite>{escape(shown_url)}</cite>"
        f"<p>{text}</p></li>"
    )


def _highlighted(text: str, wanted: set[str]) -> str:
    """Markup of a text with the words of the query in bold; of Chinese, the characters of them."""
    if has_han(text):
        bold = [False] * len(text)
        for word in wanted:
            for match in re.finditer(re.escape(word), text.lower()):
                bold[match.start() : match.end()] = [True] * len(word)
        runs = itertools.groupby(zip(text, bold, strict=True), key=lambda pair: pair[1])
        parts = [(is_bold, escape("".join(char for char, _ in run))) for is_bold, run in runs]
        return "".join(f"<b>{part}</b>" if is_bold else part for is_bold, part in parts)
    return " ".join(
        f"<b>{escape(word)}</b>" if wanted.intersection(words_of(word)) else escape(word)
        for word in text.split()
    )


def _pager(texts: PageTexts, query: str, number: int, num_hits: int) -> str:
    last = (num_hits + PER_PAGE - 1) // PER_PAGE
    links = []
    if number > 1:
        links.append(Link(text=texts.previous_page, url=results_url(query, number - 1)))
    for other in range(max(1, number - 2), min(last, number + 3) + 1):
        if other != number:
            links.append(
                Link(text=texts.page_of_results.format(other), url=results_url(query, other))
            )
    if number < last:
        links.append(Link(text=texts.next_page, url=results_url(query, number + 1)))
    return pager(links)
