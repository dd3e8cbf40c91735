# SPDX-License-Identifier: Apache-2.0
"""A `PageDriver` that reads a site's HTML directly: links, GET forms, cookies, history, tabs.

It follows the behaviours that `envs.site.Site` allows its pages, so an episode here runs through
the same task, hazards, masks and observations as in Chromium, hundreds of times faster. Boxes and
in-view flags are only makeshift, and there are no screenshots: ask Chromium for those.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urldefrag, urlsplit

from lxml import html

from envs.actions import MAX_TABS
from envs.dom import absolute_url
from envs.driver import Effect, InfraError, PageSnapshot
from envs.site import HOST_SUFFIX, Site, answer, page_request
from envs.twin.forms import default_submitter, form_url, is_check, submits, toggle
from envs.twin.html_dom import option_label, parse_html
from envs.twin.page import VIEWPORT, Page
from envs.types import PageState, StopReason, Tab

MAX_REDIRECTS = 5
MAX_CACHED_IMAGES = 4096
# About what a step takes in Chromium; the twin's clock moves by it, and by what is waited.
STEP_MS = 100
_SCHEMES = ("http", "https")
_MARK = b"data-late"
_FOCUSABLE = frozenset({"a", "button", "input", "textarea"})


@dataclass(kw_only=True, slots=True)
class _History:
    """The pages of one tab; the last one is shown."""

    pages: list[Page] = field(default_factory=list)


class TwinDriver:
    """See the module's docstring."""

    def __init__(self, *, max_elements: int) -> None:
        self._max_elements = max_elements
        self._site: Site | None = None
        self._cookies: dict[str, dict[str, str]] = {}  # by host
        self._image_ok: dict[str, bool] = {}
        self._tabs: list[_History] = []
        self._active = 0
        self._clock_ms = 0.0

    async def start(self) -> None:
        """Nothing to bring up."""

    async def close(self) -> None:
        """Nothing to give back."""

    async def reset(self, site: Site) -> None:
        """Forget everything and serve `site`."""
        self._site = site
        self._cookies = {}
        self._image_ok = {}
        self._tabs = [_History(pages=[self._new_page("about:blank", parse_html(b""))])]
        self._active = 0

    async def open(self, url: str) -> Effect:
        """Load `url` in the active tab; the blank first page is not kept in the history."""
        history = self._tabs[self._active]
        if history.pages and history.pages[-1].url == "about:blank":
            history.pages.pop()
        return self._navigate(url)

    async def snapshot(self, *, with_screenshot: bool) -> PageSnapshot:
        """Read the active page."""
        page = self._page
        page.swap_late(self._clock_ms)
        self._clock_ms += STEP_MS
        reading = page.reading()
        return PageSnapshot(
            url=page.url,
            title=reading.title,
            elements=page.elements(),
            is_truncated=reading.is_truncated,
            scroll_y_px=page.scroll_y_px,
            page_height_px=reading.height_px,
            viewport=VIEWPORT,
            tabs=tuple(
                Tab(url=shown.url, title=shown.reading().title, active=i == self._active)
                for i, shown in enumerate(history.pages[-1] for history in self._tabs)
            ),
            can_go_back=len(page.urls) > 1 or len(self._tabs[self._active].pages) > 1,
            state=PageState.IDLE,
            screenshot_jpeg=b"",
            screenshot_scale=0.0,
        )

    async def click(self, node_ref: int) -> Effect:
        """Follow a link, submit a form, dismiss a layer, or focus a field."""
        element = self._element(node_ref)
        if element is None:
            return _still("target_gone")
        self._page.focused = node_ref if element.tag in _FOCUSABLE else -1
        dismissed = element.get("data-dismiss")
        if dismissed:
            return self._dismiss(element, dismissed)
        if element.tag == "a" and element.get("href") is not None:
            return self._follow(element)
        form = next(element.iterancestors("form"), None)
        if form is not None and submits(element):
            return self._submit(form, element)
        if is_check(element):
            toggle(element)
            self._page.changed()
        return _still("ok")

    async def hover(self, node_ref: int) -> Effect:
        """Pages of a `Site` have no hover behaviour that changes the document."""
        return _still("ok" if self._element(node_ref) is not None else "target_gone")

    async def type_text(self, node_ref: int, text: str) -> Effect:
        """Focus the field and replace its content."""
        if self._element(node_ref) is None:
            return _still("target_gone")
        self._page.focused = node_ref
        self._page.values[node_ref] = text
        return _still("ok")

    async def clear(self, node_ref: int) -> Effect:
        """Empty the field."""
        return await self.type_text(node_ref, "")

    async def select_option(self, node_ref: int, option: int) -> Effect:
        """Choose an option of a select box."""
        element = self._element(node_ref)
        if element is None:
            return _still("target_gone")
        options = list(element.iter("option"))
        if element.tag != "select" or option >= len(options):
            return _still("not_selectable")
        self._page.values[node_ref] = option_label(options[option])
        return _still("ok")

    async def press_enter(self) -> Effect:
        """Submit the form of the focused field, or click the focused control."""
        element = self._element(self._page.focused)
        if element is None:
            return _still("nothing_focused")
        form = next(element.iterancestors("form"), None)
        if element.tag == "input" and form is not None and not submits(element):
            return self._submit(form, default_submitter(form))
        return await self.click(self._page.focused)

    async def scroll_by(self, dy_px: int) -> Effect:
        """Scroll the page."""
        page = self._page
        furthest = max(0.0, page.reading().height_px - VIEWPORT[1])
        page.scroll_y_px = min(max(0.0, page.scroll_y_px + dy_px), furthest)
        return _still("ok")

    async def go_back(self) -> Effect:
        """One step back in the active tab's history."""
        pages = self._tabs[self._active].pages
        if len(self._page.urls) > 1:
            self._page.urls.pop()
            return _still("ok")
        if len(pages) < 2:
            return _still("no_history")
        pages.pop()
        # Pages are not cached: going back asks the site again, and what was typed is gone.
        *earlier, url = pages[-1].urls
        pages[-1] = self._load(url)
        pages[-1].urls[:0] = earlier
        return self._arrived(pages[-1])

    async def open_in_new_tab(self, node_ref: int) -> Effect:
        """Open a link in a new tab and make it the active one."""
        element = self._element(node_ref)
        if element is None or element.get("href") is None:
            return _still("target_gone")
        url = absolute_url(self._page.reading().base_url, element.get("href"))
        return self._open_tab(url) if url else _still("not_a_link")

    async def switch_tab(self, tab: int) -> Effect:
        """Make a tab the active one."""
        if not 0 <= tab < len(self._tabs):
            return _still("no_such_tab")
        self._active = tab
        return _CHANGED_TAB

    async def close_tab(self) -> Effect:
        """Close the active tab; the one before it becomes active."""
        if len(self._tabs) < 2:
            return _still("last_tab")
        del self._tabs[self._active]
        self._active = max(0, self._active - 1)
        return _CHANGED_TAB

    async def wait(self, duration_ms: int) -> Effect:
        """Let the clock go on: late content comes."""
        self._clock_ms += duration_ms
        return _still("ok")

    # --- Documents ----------------------------------------------------------------------------

    @property
    def _page(self) -> Page:
        if not self._tabs:
            raise InfraError(StopReason.INFRA_BROWSER, "expected reset() before any action")
        return self._tabs[self._active].pages[-1]

    def _element(self, node_ref: int) -> html.HtmlElement | None:
        return self._page.element(node_ref)

    def _follow(self, link: html.HtmlElement) -> Effect:
        page = self._page
        url, mark, fragment = _split_fragment(page.reading().base_url, link.get("href"))
        if urlsplit(url).scheme not in _SCHEMES:
            return _still("ok")
        if link.get("target") == "_blank":
            return self._open_tab(url + mark + fragment)
        if not mark or url != urldefrag(page.url).url:
            return self._navigate(url + mark + fragment)
        if url + mark + fragment != page.url:
            page.urls.append(url + mark + fragment)
        return _still("ok")

    def _open_tab(self, url: str) -> Effect:
        if len(self._tabs) >= MAX_TABS:
            return _still("too_many_tabs")
        self._tabs.append(_History())
        self._active = len(self._tabs) - 1
        return self._navigate(url)

    def _navigate(self, url: str) -> Effect:
        pages = self._tabs[self._active].pages
        if pages and pages[-1].url == url:  # a link to the page itself replaces it in the history
            pages[-1].urls.pop()
            if not pages[-1].urls:
                pages.pop()
        pages.append(self._load(url))
        return self._arrived(pages[-1])

    def _load(self, url: str) -> Page:
        for _ in range(MAX_REDIRECTS):
            status, location, body = self._fetch(url)
            if status != 302:
                document = parse_html(body)
                late = [
                    (self._clock_ms + float(element.get("data-late")), element)
                    for element in (document.iterfind(".//*[@data-late]") if _MARK in body else ())
                ]
                return self._new_page(url, document, is_failed=not status, late=late)
            url = absolute_url(url, location)
        return self._new_page(url, parse_html(b""), is_failed=True)

    def _new_page(
        self,
        url: str,
        document: html.HtmlElement,
        *,
        is_failed: bool = False,
        late: Iterable[tuple[float, html.HtmlElement]] = (),
    ) -> Page:
        return Page(
            urls=[url],
            document=document,
            max_elements=self._max_elements,
            is_failed=is_failed,
            late=list(late),
        )

    def _fetch(self, url: str) -> tuple[int, str, bytes]:
        """Status, target of a redirect, and body; the status is 0 where nothing answers."""
        assert self._site is not None
        parts = urlsplit(url)
        host = parts.hostname or ""
        if not host.endswith(HOST_SUFFIX):
            return 0, "", b"<title>Unreachable</title><h1>This site can't be reached</h1>"
        cookies = dict(self._cookies.get(host, {}))
        response = answer(self._site, page_request(host, f"{parts.path}?{parts.query}", cookies))
        return response.status, response.location, response.body

    def _arrived(self, page: Page) -> Effect:
        base = page.reading().base_url
        images = [absolute_url(base, image.get("src", "")) for image in page.document.iter("img")]
        return Effect(
            reason="navigation_failed" if page.is_failed else "ok",
            navigated=True,
            settle_ms=0.0,
            settled_by="navigation",
            num_images=len(images),
            num_images_failed=sum(not self._image_loads(url) for url in images),
        )

    def _image_loads(self, url: str) -> bool:
        if url.startswith("data:"):
            return True
        if url not in self._image_ok:
            if len(self._image_ok) >= MAX_CACHED_IMAGES:
                self._image_ok.clear()
            self._image_ok[url] = self._fetch(url)[0] == 200
        return self._image_ok[url]

    def _dismiss(self, element: html.HtmlElement, target: str) -> Effect:
        page = self._page
        cookie = element.get("data-cookie", "")
        if "=" in cookie:
            name, _, value = cookie.partition("=")
            self._cookies.setdefault(page.host, {})[name.strip()] = value.split(";")[0].strip()
        layer = next((e for e in page.document.iter() if e.get("id") == target), None)
        if layer is None or layer.getparent() is None:
            return _still("target_gone")
        page.remove(layer)
        return _still("ok")

    def _submit(self, form: html.HtmlElement, submitter: html.HtmlElement | None) -> Effect:
        page = self._page
        action = form.get("action")
        target = absolute_url(page.reading().base_url, action) if action else page.url
        if urlsplit(target).scheme not in _SCHEMES:
            return _still("ok")
        return self._navigate(form_url(target, form, page.typed(), submitter))


_CHANGED_TAB = Effect(reason="ok", navigated=True, settle_ms=0.0, settled_by="navigation")


def _still(reason: str) -> Effect:
    return Effect(reason=reason, navigated=False, settle_ms=0.0, settled_by="quiet")


def _split_fragment(base: str, href: str) -> tuple[str, str, str]:
    """The absolute address, "#" or "", and what follows; "#" alone is a place, too."""
    address, mark, fragment = href.strip().partition("#")
    return urldefrag(absolute_url(base, address)).url, mark, fragment
