# SPDX-License-Identifier: Apache-2.0
"""A person's browser gets the same pages under names that it can resolve."""

import pytest
from aiohttp.test_utils import TestClient, TestServer

from envs.types import Split
from envs.web.hazards import NO_HAZARDS
from envs.web.serve import person_app, serve_for_person, start_url
from envs.web.web_site import EmbeddedSite
from envs.web.world import build_world

PORT = 8123


async def test_pages_are_served_by_host_name_with_addresses_rewritten() -> None:
    app = person_app(EmbeddedSite(build_world(9001, Split.TEST), NO_HAZARDS), PORT)
    async with TestClient(TestServer(app)) as client:
        headers = {"Host": f"wiki.forage.localhost:{PORT}"}
        response = await client.get("/", headers=headers)
        text = await response.text()
        assert response.status == 200
        assert f"http://search.forage.localhost:{PORT}/search" in text
        assert "forage.test/" not in text
        style = await client.get("/style.css", headers=headers)
        assert style.content_type == "text/css"
        missing = await client.get("/wiki/Nobody", headers=headers)
        assert missing.status == 404
        elsewhere = await client.get("/", allow_redirects=False)
        assert elsewhere.headers["Location"] == start_url(PORT)


@pytest.mark.parametrize("host", ["search.forage.localhost", "search.forage.localhost:80"])
async def test_on_port_80_pages_come_with_and_without_the_port_in_the_host(host: str) -> None:
    app = person_app(EmbeddedSite(build_world(9001, Split.TEST), NO_HAZARDS), 80)
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/", headers={"Host": host}, allow_redirects=False)
        assert response.status == 200


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(ValueError, match=f"^port: expected 1..65535, got {port}"):
        serve_for_person(9001, Split.TEST, port)
