# SPDX-License-Identifier: Apache-2.0
"""Real Chromium behind the proxy: what it asks for arrives, or is refused and reported."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from aiohttp import web

from envs.actions import Action
from envs.browser.driver import ChromiumDriver
from envs.config import BrowserConfig, EnvConfig, WebConfig
from envs.driver import PAGE_REFUSED
from envs.egress.config import EgressConfig, EgressMode
from envs.search_env import SearchEnv
from envs.site import PageResponse
from envs.types import Split, Task
from reward_server.config import RewardConfig
from reward_server.layers import new_page
from tests.envs.browser.sites import PathSite, element, html, url
from tests.envs.egress.wire import LOOPBACK, serving
from tests.envs.small_site import SmallTaskSet
from tests.reward_server.episodes import episode

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Outside:
    """A server on loopback that the config lists, with an echo for WebSockets."""

    port = 0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def outside() -> AsyncIterator[Outside]:
    async def page(request: web.Request) -> web.Response:
        to = request.query.get("to")
        if to:
            raise web.HTTPFound(to)
        return web.Response(text="<h1>Outside</h1>", content_type="text/html")

    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(message.data.upper())
        return socket

    app = web.Application()
    app.router.add_get("/", page)
    app.router.add_get("/echo", echo)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, LOOPBACK, 0).start()
    Outside.port = runner.addresses[0][1]
    yield Outside()
    await runner.cleanup()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def driver(outside: Outside) -> AsyncIterator[ChromiumDriver]:
    egress = EgressConfig(
        mode=EgressMode.PUBLIC,
        allow=(f"127.0.0.1:{outside.port}",),
        first_byte_timeout_s=1.5,
    )
    config = BrowserConfig(call_timeout_s=3.0, navigation_timeout_s=2.0, egress=egress)
    running = ChromiumDriver(config, max_elements=200)
    await running.start()
    yield running
    await running.close()


async def visit(driver: ChromiumDriver, pages: dict[str, str | PageResponse]) -> PathSite:
    site = PathSite(pages)
    await driver.reset(site)
    assert (await driver.open(url("/"))).reason == "ok"
    return site


async def run(driver: ChromiumDriver, script: str) -> object:
    """Value of an async function in the page, as the page itself would run it."""
    answer = await driver._tab().call(
        "Runtime.evaluate",
        {"expression": f"({script})()", "awaitPromise": True, "returnByValue": True},
    )
    return answer["result"].get("value")


async def test_sites_and_listed_hosts_are_reached(driver, outside):
    site = await visit(driver, {"/": f"<a href=http://127.0.0.1:{outside.port}/>Out</a>"})
    page = await driver.snapshot(with_screenshot=False)
    effect = await driver.click(element(page, "Out").node_ref)
    assert (effect.reason, effect.refusals) == ("ok", ())
    assert element(await driver.snapshot(with_screenshot=False), "Outside")
    assert site.asked("/")[0].host == "site.forage.test"


async def test_private_addresses_are_refused_and_reported(driver):
    await visit(driver, {"/": "<h1>Home</h1>"})
    async with serving() as server:
        for host in (LOOPBACK, "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:7f00:1]"):
            effect = await driver.open(f"http://{host}:{server.port}/")
            assert (host, effect.reason) == (host, PAGE_REFUSED)
            assert [r.partition(" ")[2] for r in effect.refusals] == ["private_address"]
            assert (await driver.snapshot(with_screenshot=False)).is_refused
        effect = await driver.open(f"https://127.0.0.1:{server.port}/")
        assert effect.reason == PAGE_REFUSED
        effect = await driver.open("http://169.254.169.254/latest/meta-data/")
        assert effect.refusals == ("169.254.169.254:80 metadata",)
        assert server.num_connections == 0
    assert (await driver.open(url("/"))).reason == "ok"
    assert not (await driver.snapshot(with_screenshot=False)).is_refused


async def test_the_debugging_port_and_the_proxy_itself_are_refused(driver):
    await visit(driver, {"/": "<h1>Home</h1>"})
    debugging = driver._browser.devtools_url.split("/")[2]
    for authority in (debugging, f"127.0.0.1:{driver._boundary.port}"):
        assert (await driver.open(f"http://{authority}/json")).reason == PAGE_REFUSED
    for host in ("egress.invalid", "egress.invalid:1"):
        assert (await driver.open(f"http://{host}/")).reason == "navigation_failed"


async def test_a_redirect_to_a_private_address_is_refused(driver, outside):
    await visit(driver, {"/": "<h1>Home</h1>"})
    async with serving() as server:
        hidden = f"http://127.0.0.1:{server.port}/"
        for effect in (
            await driver.open(f"http://127.0.0.1:{outside.port}/?to={hidden}"),
            await driver.open(url("/gone")),
        ):
            assert effect.navigated
        assert effect.refusals == ()
        gone = PageResponse(status=302, content_type="text/html", body=b"", location=hidden)
        await visit(driver, {"/": "<h1>Home</h1>", "/gone": gone})
        effect = await driver.open(url("/gone"))
        assert effect.reason == PAGE_REFUSED
        assert effect.refusals == (f"127.0.0.1:{server.port} private_address",)
        assert server.num_connections == 0


async def test_requests_of_scripts_and_websockets_are_refused_and_reported(driver, outside):
    await visit(driver, {"/": "<h1>Home</h1>"})
    async with serving() as server:
        fetched = await run(
            driver,
            f"""async () => (await fetch('http://127.0.0.1:{server.port}/', {{mode: 'no-cors'}})
                 .then(r => r.type, e => 'failed'))""",
        )
        assert fetched in ("opaque", "failed")  # the refusal's own empty answer, or none
        socket = """async () => new Promise(done => {
          const s = new WebSocket('ws://127.0.0.1:%d/echo');
          s.onopen = () => s.send('hi'); s.onerror = () => done('failed');
          s.onmessage = m => done(m.data);
        })"""
        assert await run(driver, socket % server.port) == "failed"
        assert await run(driver, socket % outside.port) == "HI"
        assert server.num_connections == 0
        effect = await driver.wait(1)
        assert effect.reason == "ok"
        assert effect.refusals == (f"127.0.0.1:{server.port} private_address",)


async def heard_beside_http(driver: ChromiumDriver) -> tuple[list[bytes], int]:
    """What a page's WebRTC and WebTransport get out to loopback: datagrams, TCP connections."""
    await visit(driver, {"/": "<link rel=dns-prefetch href=//127.0.0.1><h1>Home</h1>"})
    heard: list[bytes] = []

    class Listener(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: object) -> None:
            heard.append(data)

    async with serving() as server:
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            Listener, local_addr=(LOOPBACK, server.port)
        )
        script = """async () => {
          const turn = (scheme, protocol) => ({urls: `${scheme}:127.0.0.1:%d?transport=${protocol}`,
                                               username: 'a', credential: 'b'});
          const peer = new RTCPeerConnection({iceServers: [
            {urls: 'stun:127.0.0.1:%d'}, turn('turn', 'udp'), turn('turn', 'tcp'),
            turn('turns', 'tcp')]});
          peer.createDataChannel('x');
          await peer.setLocalDescription(await peer.createOffer());
          try { const t = new WebTransport('https://127.0.0.1:%d/'); await t.ready; } catch (e) {}
          await new Promise(r => setTimeout(r, 1000));
          return peer.iceGatheringState;
        }"""
        try:
            assert await run(driver, script.replace("%d", str(server.port))) is not None
        finally:
            transport.close()
        return heard, server.num_connections


async def test_what_the_proxy_cannot_see_does_not_leave_either(driver):
    assert await heard_beside_http(driver) == ([], 0)


async def test_without_a_proxy_nothing_leaves_beside_http():
    plain = ChromiumDriver(BrowserConfig(call_timeout_s=3.0), max_elements=50)
    await plain.start()
    try:
        assert await heard_beside_http(plain) == ([], 0)
    finally:
        await plain.close()


async def test_a_document_of_another_scheme_is_left_at_once_and_reported(driver):
    await visit(driver, {"/": "<h1>Home</h1>"})
    for address in ("file:///etc/hostname", "chrome://version"):
        effect = await driver.open(address)
        assert (effect.reason, len(effect.refusals)) == ("url_refused", 1)
        # As if a page had found a way that Chromium does not know of.
        tab = driver._tab()
        with contextlib.suppress(Exception):
            await tab.call("Page.navigate", {"url": address})
        effect = await driver.wait(300)
        scheme = address.partition(":")[0]
        assert (effect.reason, effect.refusals) == (PAGE_REFUSED, (f"{scheme}: document",))
        page = await driver.snapshot(with_screenshot=False)
        assert (page.url, page.elements) == ("about:blank", ())
    assert (await driver.open(url("/"))).reason == "ok"


async def test_a_host_that_keeps_silent_is_closed_off_and_others_go_on(driver):
    async def never(reader, writer):
        await reader.read()

    await visit(driver, {"/": "<h1>Home</h1>"})
    async with serving(never) as server:
        egress = EgressConfig(
            mode=EgressMode.LISTED,
            allow=(f"127.0.0.1:{server.port}",),
            first_byte_timeout_s=0.4,
        )
        config = BrowserConfig(call_timeout_s=3.0, navigation_timeout_s=2.0, egress=egress)
        other = ChromiumDriver(config, max_elements=50)
        await other.start()
        try:
            await other.reset(PathSite({"/": "<h1>Home</h1>"}))
            effects = [await other.open(f"http://127.0.0.1:{server.port}/") for _ in range(4)]
            assert [e.reason for e in effects] == [*["navigation_failed"] * 3, PAGE_REFUSED]
            assert effects[3].refusals == (f"127.0.0.1:{server.port} breaker_open",)
            assert (await other.open(url("/"))).reason == "ok"
        finally:
            await other.close()
        assert other._boundary.port == 0


async def test_a_refused_page_is_reported_in_the_evidence_and_earns_nothing(driver):
    async with serving() as server:
        hidden = f"http://127.0.0.1:{server.port}/"
        pages = {
            "/": f"<a href={hidden}>Hidden</a><a href=/later>Later</a>",
            "/later": f"<meta http-equiv=refresh content='0;url={hidden}x'><h1>Soon</h1>",
        }

        class Tasks(SmallTaskSet):
            def site(self, task: Task) -> PathSite:
                return PathSite(pages)

        tasks = Tasks(WebConfig(), max_steps=20)
        task = tasks.task(Split.TRAIN, 0)
        task = replace(task, prompt=replace(task.prompt, start_url=url("/")))
        env = SearchEnv(driver, tasks, EnvConfig())
        seen = await env.reset(task)
        row = list(seen.elements.text).index("Hidden")
        result = await env.step(Action(type="click", element=row))
        evidence = result.evidence
        assert evidence.effect == PAGE_REFUSED
        assert evidence.refusals == (f"127.0.0.1:{server.port} private_address",)
        assert (evidence.is_exogenous, evidence.is_new_page) == (True, False)
        assert not new_page(episode(evidence), RewardConfig()).any()
        seen = await env.reset(task)
        row = list(seen.elements.text).index("Later")
        await env.step(Action(type="click", element=row))
        for _ in range(3):
            evidence = (await env.step(Action(type="wait_ms", wait=0))).evidence
            if evidence.url.startswith(hidden):
                break
        assert (evidence.url, evidence.is_new_page) == (f"{hidden}x", False)
        assert server.num_connections == 0


async def test_a_page_from_a_site_can_use_everything_as_without_a_proxy(driver):
    pages = {
        "/": "<link rel=stylesheet href=/s.css><img src=/a.png><form action=/f><input name=q>"
        "<button>Go</button></form><script src=/s.js></script>",
        "/f": "<h1>Found</h1>",
        "/s.js": html("document.title = 'ran'"),
    }
    site = await visit(driver, pages)
    page = await driver.snapshot(with_screenshot=False)
    await driver.type_text(page.elements[0].node_ref, "two words")
    assert (await driver.press_enter()).navigated
    assert site.asked("/f")[0].query == {"q": "two words"}
    assert (await driver.go_back()).navigated
    assert {r.path for r in site.requests} >= {"/s.css", "/a.png", "/s.js"}
