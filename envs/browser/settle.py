# SPDX-License-Identifier: Apache-2.0
"""When a step is over: events, a quiet window and two caps; never a fixed sleep.

- A new document: its DOM is parsed and nothing that a reader needs (styles, scripts, data) is in
  flight; or `settle_cap_ms` after the commit, unless the document itself is still arriving.
- No new document: no DOM mutation and no awaited request for `quiet_ms`; or `settle_cap_ms`.
- A navigation without an answer: stopped after `navigation_timeout_s`; the old page stays usable.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from envs.browser.cdp import CdpError
from envs.browser.tab import Tab
from envs.config import BrowserConfig
from envs.driver import Effect

# Images on a fast link are in by then; slower ones must not cost every step.
_IMAGE_GRACE_S = 0.15

_QUIET = """(quietMs, capMs) => new Promise(resolve => {
  const end = by => { observer.disconnect(); clearTimeout(quiet); clearTimeout(cap); resolve(by); };
  const arm = () => setTimeout(() => end('quiet'), quietMs);
  const observer = new MutationObserver(() => { clearTimeout(quiet); quiet = arm(); });
  let quiet = arm();
  const cap = setTimeout(() => end('cap'), capMs);
  observer.observe(document, {subtree: true, childList: true, attributes: true,
                              characterData: true});
})"""
_IMAGES = """() => {
  const isAsked = i => i.currentSrc && (i.complete || i.loading != 'lazy');
  const asked = [...document.images].filter(isAsked);
  return [asked.length, asked.filter(i => i.complete && i.naturalWidth == 0).length];
}"""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepStart:
    """Where a tab stood before an action."""

    time_s: float  # loop time
    num_commits: int


def begin(tab: Tab) -> StepStart:
    """Mark the moment before an action."""
    tab.is_download_refused = tab.is_about_to_navigate = False
    return StepStart(time_s=asyncio.get_running_loop().time(), num_commits=tab.num_commits)


async def settle(
    tab: Tab, start: StepStart, config: BrowserConfig, *, needs_quiet: bool = True
) -> Effect:
    """Wait until the action begun at `start` has had its effect.

    Without `needs_quiet` an action that caused neither a request nor a navigation is over at once.
    """
    loop = asyncio.get_running_loop()
    cap_s = start.time_s + config.settle_cap_ms / 1000
    settled_by = "cap"
    while not tab.is_closed:
        if tab.is_navigating or tab.num_commits > start.num_commits:
            return await settle_navigation(tab, start, config)
        is_busy = tab.is_about_to_navigate or bool(tab.awaited(start.time_s))
        if not is_busy and not needs_quiet:
            settled_by = "quiet"
            break
        if loop.time() >= cap_s:
            break
        if is_busy:
            await tab.wait_for_change(cap_s)
            continue
        if await _is_quiet(tab, start, cap_s, config):
            settled_by = "quiet"
            break
    return _effect(tab, start, reason=_still_reason(tab), settled_by=settled_by)


async def settle_navigation(tab: Tab, start: StepStart, config: BrowserConfig) -> Effect:
    """Wait for the document that is on its way or has just been committed."""
    loop = asyncio.get_running_loop()
    deadline_s = start.time_s + config.navigation_timeout_s
    reason, settled_by = "ok", "navigation"
    while not tab.is_closed:
        if tab.is_navigating:
            until_s = deadline_s
        elif tab.num_commits == start.num_commits:
            return _effect(tab, start, reason=_still_reason(tab), settled_by="quiet")
        else:
            until_s = _load_deadline(tab, deadline_s, config)
            if _is_readable(tab):
                break
        if await tab.wait_for_change(until_s):
            continue
        settled_by = "cap"
        if until_s >= deadline_s:
            reason = "navigation_timeout"
            await tab.stop_loading()
        break
    if tab.is_failed and reason == "ok":
        reason = "navigation_failed"
    images, failed = await _count_images(tab, loop.time())
    return _effect(
        tab, start, reason=reason, settled_by=settled_by, num_images=images, num_failed=failed
    )


def _is_readable(tab: Tab) -> bool:
    return tab.is_dom_ready and (tab.is_loaded or not tab.awaited(0.0))


def _load_deadline(tab: Tab, deadline_s: float, config: BrowserConfig) -> float:
    """A document still arriving may take the navigation's time, sub-resources only the cap's."""
    if tab.is_arriving and not tab.is_dom_ready:
        return deadline_s
    return min(deadline_s, tab.committed_s + config.settle_cap_ms / 1000)


async def _is_quiet(tab: Tab, start: StepStart, cap_s: float, config: BrowserConfig) -> bool:
    """Whether `quiet_ms` passed without mutation, request or navigation; returns at the first."""
    remaining_ms = max(1.0, (cap_s - asyncio.get_running_loop().time()) * 1000)
    quiet = asyncio.ensure_future(tab.run(_QUIET, config.quiet_ms, remaining_ms))
    quiet.add_done_callback(lambda _: tab.wake())
    try:
        # Half a second over the cap: the page keeps the cap, this only bounds a page that cannot.
        while not quiet.done():
            if tab.is_navigating or tab.num_commits > start.num_commits or tab.is_closed:
                return False
            if tab.is_about_to_navigate:
                return False
            if not await tab.wait_for_change(cap_s + 0.5):
                return False
        with contextlib.suppress(CdpError):  # the document went away: the caller sees why
            return quiet.result().get("value") == "quiet" and not tab.awaited(start.time_s)
        return False
    finally:
        quiet.cancel()
        with contextlib.suppress(asyncio.CancelledError, CdpError):
            await quiet


async def _count_images(tab: Tab, now_s: float) -> tuple[int, int]:
    """Images that the document asked for, and how many of them are broken."""
    if tab.is_closed or not tab.is_dom_ready:
        return 0, 0
    while not tab.is_loaded and await tab.wait_for_change(now_s + _IMAGE_GRACE_S):
        if tab.is_navigating or tab.is_closed:
            return 0, 0
    with contextlib.suppress(CdpError):
        images, failed = (await tab.run(_IMAGES))["value"]
        return int(images), int(failed)
    return 0, 0


def _still_reason(tab: Tab) -> str:
    return "download_refused" if tab.is_download_refused else "ok"


def _effect(
    tab: Tab,
    start: StepStart,
    *,
    reason: str,
    settled_by: str,
    num_images: int = 0,
    num_failed: int = 0,
) -> Effect:
    return Effect(
        reason=reason,
        navigated=tab.num_commits > start.num_commits,
        settle_ms=(asyncio.get_running_loop().time() - start.time_s) * 1000,
        settled_by=settled_by,
        num_images=num_images,
        num_images_failed=num_failed,
    )
