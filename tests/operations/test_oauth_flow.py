"""The official SDK's client finds the authorization server by itself, gets a token from it, and calls a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from authorization_server import AuthorizationServer, authorization_server
from processes import SIGNET, Server, free_port, serving_command

CALLBACK = "http://127.0.0.1:33418/callback"


class Storage:
    """What the client keeps."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Browser:
    """Somebody who follows the client's link, consents, and is sent back to the client."""

    def __init__(self) -> None:
        self.answer: dict[str, list[str]] = {}
        self.asked: list[dict[str, list[str]]] = []

    async def follow(self, link: str) -> None:
        self.asked.append(parse_qs(urlsplit(link).query))
        async with httpx2.AsyncClient() as client:
            sent = await client.get(link)
        self.answer = parse_qs(urlsplit(sent.headers["location"]).query)

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**{name: values[0] for name, values in self.answer.items()})


@pytest.fixture(scope="module", params=["", "/team"])
def prefix(request: pytest.FixtureRequest) -> str:
    """The path of the public URL."""
    return str(request.param)


@pytest.fixture(scope="module")
def issuer() -> Iterator[AuthorizationServer]:
    with authorization_server(path="/tenant") as running:
        yield running


@pytest.fixture(scope="module")
def server(issuer: AuthorizationServer, prefix: str) -> Iterator[Server]:
    port = free_port()
    flags = ("--oauth-issuer", issuer.issuer, "--public-url", f"http://127.0.0.1:{port}{prefix}")
    with serving_command(SIGNET, "serve", "--port", str(port), "--toolsets", "plantuml", *flags) as running:
        yield running


async def _call(url: str, storage: Storage, browser: Browser, mode: str) -> Any:
    metadata = OAuthClientMetadata(client_name="tests", redirect_uris=[CALLBACK])  # type: ignore[list-item] # read as one
    auth = OAuthClientProvider(url, metadata, storage, browser.follow, browser.come_back)
    async with (
        httpx2.AsyncClient(auth=auth) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        listed = await client.list_tools()
        called = await client.call_tool("encodePlantUML", {"plantumlCode": "A -> B"})
        return [tool.name for tool in listed.tools], called


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_clients_flow_ends_in_a_call(issuer: AuthorizationServer, server: Server, prefix: str, mode: str) -> None:
    url, storage, browser = f"{server.url}{prefix}/mcp", Storage(), Browser()

    names, called = asyncio.run(_call(url, storage, browser, mode))

    assert names == ["encodePlantUML"]
    assert called.is_error is False
    assert called.structured_content["url"].startswith("https://www.plantuml.com/plantuml/")
    assert len(browser.asked) == 1
    assert browser.asked[0]["resource"] == [url]
    assert browser.asked[0]["scope"] == ["tools:call"]
    assert storage.tokens is not None
    assert storage.tokens.access_token in issuer.issued


def test_a_client_that_has_a_token_needs_no_consent_and_one_whose_key_is_retired_gets_a_new_one(
    issuer: AuthorizationServer, server: Server, prefix: str
) -> None:
    url, storage, browser = f"{server.url}{prefix}/mcp", Storage(), Browser()
    asyncio.run(_call(url, storage, browser, "legacy"))
    asyncio.run(_call(url, storage, browser, "legacy"))
    consents = len(browser.asked)
    issuer.keys = [issuer.rotate("ES256")]
    probe = server.post(f"{prefix}/mcp", {}, {"authorization": f"Bearer {issuer.token(aud=url)}"})

    _, called = asyncio.run(_call(url, storage, browser, "legacy"))

    assert consents == 1
    assert probe.status == 400, "the new key is known, and the body is no message"
    assert called.is_error is False
    assert len(browser.asked) == 2


def test_a_client_whose_token_allows_too_little_asks_for_more(issuer: AuthorizationServer) -> None:
    port, storage, browser = free_port(), Storage(), Browser()
    flags = ("--oauth-issuer", issuer.issuer, "--public-url", f"http://127.0.0.1:{port}", "--oauth-scopes", "openid")
    with serving_command(SIGNET, "serve", "--port", str(port), "--toolsets", "plantuml", *flags) as server:
        _, called = asyncio.run(_call(f"{server.url}/mcp", storage, browser, "2026-07-28"))

    assert called.is_error is False
    assert [set(asked["scope"][0].split()) for asked in browser.asked] == [
        {"openid"},
        {"openid", "tools:call:plantuml.encode"},
    ]
