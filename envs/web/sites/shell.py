# SPDX-License-Identifier: Apache-2.0
"""What all pages share: the HTML frame, header, footer, hazards, and pieces of markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib import resources

from envs.site import PageRequest, PageResponse
from envs.web.article import Block, Link, Run
from envs.web.hazards import Hazards, banner_cookie, popup_cookie
from envs.web.texts.languages import page_texts
from envs.web.texts.shapes import PageTexts
from envs.web.world import World

SEARCH_HOST = "search.forage.test"
SEARCH_HOME = f"http://{SEARCH_HOST}/"
SEARCH_ACTION = f"http://{SEARCH_HOST}/search"
HTML_TYPE = "text/html; charset=utf-8"
# Files that every page links to, by path.
ASSET_TYPES = {
    "/style.css": "text/css; charset=utf-8",
    "/page.js": "text/javascript; charset=utf-8",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """Everything a page may depend on."""

    world: World
    hazards: Hazards
    request: PageRequest
    has_permits: bool = False  # the policy site has its permit register

    @property
    def texts(self) -> PageTexts:
        """What stands around the content of pages."""
        return self.world.words.page

    def section_and_name(self) -> tuple[str, str]:
        """The first part of the path and the rest: "/wiki/A/b" is ("wiki", "A/b")."""
        section, _, name = self.request.path.lstrip("/").partition("/")
        return section, name


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """The look of one site."""

    name: str
    home: str
    theme: str  # class of <body>
    nav: tuple[Link, ...]
    has_search_box: bool
    footer: str


def page(visit: Visit, frame: Frame, title: str, main: str, *, status: int = 200) -> PageResponse:
    """A whole page under the visit's hazards; `main` is markup, everything else is text."""
    host, cookies, hazards = visit.request.host, visit.request.cookies, visit.hazards
    texts = visit.texts
    banner = _banner(hazards, host, texts) if hazards.shows_banner(host, cookies) else ""
    popup = _popup(hazards, host, texts) if hazards.shows_popup(host, cookies) else ""
    language = visit.world.language
    return framed(language, frame, title, main, layers=banner + popup, status=status)


def framed(
    language: str, frame: Frame, title: str, main: str, *, layers: str = "", status: int = 200
) -> PageResponse:
    """A whole page of any site; `main` and `layers` are markup, everything else is text."""
    body = (
        f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8">'
        f"<title>{escape(title)} – {escape(frame.name)}</title>"
        '<meta name="viewport" content="width=device-width">'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">'
        f'<script src="/page.js" defer></script></head><body class="{frame.theme}">'
        f"{_header(frame, page_texts(language))}<main>{main}</main>{_footer(frame)}{layers}"
        "</body></html>"
    )
    return PageResponse(status=status, content_type=HTML_TYPE, body=body.encode())


def late(visit: Visit, main: str) -> str:
    """Markup that comes after its page where the visit's hazards say so."""
    late_ms = visit.hazards.lateness_of(visit.request.path)
    if not late_ms:
        return main
    loading = f'<p class="loading" data-late="{late_ms}">{escape(visit.texts.loading)}</p>'
    return f'{loading}<div data-late="{late_ms}" hidden>{main}</div>'


def not_found(visit: Visit, frame: Frame) -> PageResponse:
    """The 404 page; it leads back to the search engine."""
    return page(visit, frame, visit.texts.not_found, not_found_markup(visit.texts), status=404)


def not_found_markup(texts: PageTexts) -> str:
    """What a 404 page says."""
    link = anchor(Link(text=texts.to_search, url=SEARCH_HOME))
    return f"<h1>{escape(texts.not_found)}</h1><p>{escape(texts.not_found_text)}</p><p>{link}</p>"


def resource(content_type: str, body: bytes, *, delay_s: float = 0.0) -> PageResponse:
    """A file that pages use; browsers may keep it."""
    headers = {"Cache-Control": "max-age=3600"}
    return PageResponse(
        status=200, content_type=content_type, body=body, delay_s=delay_s, headers=headers
    )


def asset(path: str, *, delay_s: float = 0.0) -> PageResponse:
    """One of the files of `ASSET_TYPES`."""
    return resource(ASSET_TYPES[path], _asset_bytes(path), delay_s=delay_s)


@lru_cache(maxsize=len(ASSET_TYPES))
def _asset_bytes(path: str) -> bytes:
    return (resources.files("envs.web") / "assets" / path.lstrip("/")).read_bytes()


def anchor(link: Link) -> str:
    """A link."""
    return f'<a href="{escape(link.url)}">{escape(link.text)}</a>'


def markup(runs: Sequence[Run]) -> str:
    """Runs of text and links."""
    return "".join(escape(run) if isinstance(run, str) else anchor(run) for run in runs)


def info_table(rows: Sequence[Block], css_class: str) -> str:
    """A table of header cells and values; " | " in a value starts a further cell."""
    lines = (
        f'<tr><th scope="row">{escape(row.header)}</th><td>'
        f"{markup(row.runs).replace(' | ', '</td><td>')}</td></tr>"
        for row in rows
    )
    return f'<table class="{css_class}"><tbody>{"".join(lines)}</tbody></table>'


def link_list(links: Sequence[Link], css_class: str) -> str:
    """A list of links and nothing else."""
    return f'<ul class="{css_class}">{"".join(f"<li>{anchor(link)}</li>" for link in links)}</ul>'


def pager(links: Sequence[Link]) -> str:
    """Links to the neighbours of a page."""
    return f'<nav class="pager">{"".join(anchor(link) for link in links)}</nav>'


def image(path: str, alt: str, width: int, height: int) -> str:
    """A picture of fixed size."""
    return f'<img src="{escape(path)}" alt="{escape(alt)}" width="{width}" height="{height}">'


def search_form(css_class: str, texts: PageTexts, value: str = "") -> str:
    """The search engine's box, usable from every host."""
    label = escape(texts.search_label)
    return (
        f'<form class="{css_class}" action="{SEARCH_ACTION}" method="get" role="search">'
        f'<input type="text" name="q" value="{escape(value)}" aria-label="{label}" '
        f'placeholder="{label}" autocomplete="off">'
        f'<button type="submit">{escape(texts.search_button)}</button></form>'
    )


def page_number(request: PageRequest, name: str = "page") -> int:
    """The parameter `name`; 1 for a missing or senseless one."""
    text = request.query.get(name, "1")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 5 else 1


def _header(frame: Frame, texts: PageTexts) -> str:
    form = search_form("header-search", texts) if frame.has_search_box else ""
    nav = "".join(anchor(link) for link in frame.nav)
    return (
        f'<header class="site"><nav class="brand"><a href="{escape(frame.home)}">'
        f"{escape(frame.name)}</a></nav>{form}<nav class='links'>{nav}</nav></header>"
    )


def _footer(frame: Frame) -> str:
    return f'<footer class="site"><p>{escape(frame.footer)}</p></footer>'


def _banner(hazards: Hazards, host: str, texts: PageTexts) -> str:
    return (
        '<div class="cookie-banner" id="cookie-banner" role="dialog" '
        f'aria-label="{escape(texts.cookies_label)}"><p>{escape(texts.cookies_text)}</p>'
        f'<button type="button" data-dismiss="cookie-banner" data-cookie="{banner_cookie(host)}=1">'
        f"{escape(hazards.banner_label)}</button></div>"
    )


def _popup(hazards: Hazards, host: str, texts: PageTexts) -> str:
    sign_in, email = escape(texts.sign_in), escape(texts.email_label)
    return (
        '<div class="popup-layer" id="login-popup" role="dialog" aria-modal="true" '
        f'aria-label="{sign_in}"><div class="popup-card">'
        f"<h2>{escape(texts.sign_in_heading)}</h2><p>{escape(texts.sign_in_text)}</p>"
        f'<form action="/sign-in" method="get"><input type="email" name="email" '
        f'aria-label="{email}" placeholder="{email}" autocomplete="off">'
        f'<button type="submit">{sign_in}</button></form>'
        f'<button type="button" class="quiet" data-dismiss="login-popup" '
        f'data-cookie="{popup_cookie(host)}=1">{escape(hazards.popup_label)}</button></div></div>'
    )
