"""Large results at the doors of MCP: a digest as text for clients that read structure, the whole JSON for others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from boj_harness import CODE, METADATA, SPOT, SPOT_TARGET, BojHarness, serving_boj
from door_calls import modern_headers, rpc
from processes import SIGNET, Pipe, Server, piping, serving
from upstream_harness import DIRECT

LARGE: dict[str, Any] = {"name": CODE, "arguments": {"db": "FM08", "codes": ["FXERD01"], "lang": "en"}}
MORE = "There is more: call again with start_position=251."
STRUCTURED = ["2025-06-18", "2025-11-25"]
PLAIN = ["2024-11-05", "2025-03-26"]


@pytest.fixture(scope="module")
def server(bank: BojHarness) -> Iterator[Server]:
    with serving("--toolsets", "boj", env={**DIRECT, "BOJ_BASE_URL": bank.url}) as running:
        yield running


@pytest.fixture
def pipe(bank: BojHarness) -> Iterator[Pipe]:
    with piping(SIGNET, "stdio", "--toolsets", "boj", env={**DIRECT, "BOJ_BASE_URL": bank.url}) as running:
        yield running


def initialize(version: str) -> dict[str, Any]:
    client = {"name": "reader", "version": "1"}
    return rpc("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})


def assert_digest(result: dict[str, Any]) -> None:
    [block] = result["content"]
    points = len(result["structuredContent"]["series"][0]["points"])
    assert len(json.dumps(result["structuredContent"])) > 65_536
    assert len(block["text"]) <= 8_000
    assert "FXERD01 US.Dollar/Yen Spot Rate" in block["text"]
    assert f"{points:,} points" in block["text"]
    assert "structuredContent" in block["text"]
    assert "start_date" in block["text"]


def assert_whole(result: dict[str, Any]) -> None:
    [block] = result["content"]
    assert block["text"] == json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))
    assert len(block["text"]) > 65_536


@pytest.mark.parametrize("version", STRUCTURED)
def test_on_stdio_a_client_that_knows_structure_reads_a_digest(pipe: Pipe, version: str) -> None:
    pipe.ask(initialize(version))

    assert_digest(pipe.ask(rpc("tools/call", LARGE))["result"])


def test_a_client_of_the_modern_era_reads_a_digest(pipe: Pipe, server: Server) -> None:
    message = rpc("tools/call", LARGE, modern=True)

    assert_digest(pipe.ask(message)["result"])
    assert_digest(server.post("/mcp", message, modern_headers("tools/call", CODE)).json()["result"])


@pytest.mark.parametrize("version", [*PLAIN, None])
def test_on_stdio_an_older_client_reads_the_whole(pipe: Pipe, version: str | None) -> None:
    if version is not None:
        pipe.ask(initialize(version))

    assert_whole(pipe.ask(rpc("tools/call", LARGE))["result"])


def test_over_http_the_header_of_each_request_decides(server: Server) -> None:
    def ask(version: str | None) -> Any:
        headers = {} if version is None else {"mcp-protocol-version": version}
        return server.post("/mcp", rpc("tools/call", LARGE), headers).json()["result"]

    for version in STRUCTURED:
        assert_digest(ask(version))
    for older in (*PLAIN, None):
        assert_whole(ask(older))


@pytest.mark.parametrize("version", [*PLAIN, *STRUCTURED])
def test_boj_mcp_server_gives_every_client_the_whole(bank: BojHarness, version: str) -> None:
    with serving_boj(bank.url) as pipe:
        pipe.ask(initialize(version))

        assert_whole(pipe.ask(rpc("tools/call", LARGE))["result"])


def test_a_large_list_is_a_digest_too(pipe: Pipe) -> None:
    pipe.ask(initialize(STRUCTURED[-1]))

    result = pipe.ask(rpc("tools/call", {"name": METADATA, "arguments": {"db": "CO", "lang": "en"}}))["result"]

    [block] = result["content"]
    entries = result["structuredContent"]["entries"]
    assert len(block["text"]) <= 8_000
    assert block["text"].startswith(f"{len(entries):,} entries in the database CO. ")
    assert str(entries[-1]["series_code"]) in block["text"]


# --- the next page


@pytest.fixture
def page(bank: BojHarness) -> BojHarness:
    """A small page that is not the last."""
    bank.answers({**json.loads(bank.body(SPOT_TARGET)), "NEXTPOSITION": 251})
    return bank


def test_a_small_page_that_is_not_the_last_says_so_beside_its_json(page: BojHarness, pipe: Pipe) -> None:
    pipe.ask(initialize(STRUCTURED[0]))

    result = pipe.ask(rpc("tools/call", {"name": CODE, "arguments": SPOT}))["result"]

    first, second = result["content"]
    assert json.loads(first["text"]) == result["structuredContent"]
    assert second == {"type": "text", "text": MORE}


def test_a_large_page_that_is_not_the_last_says_so_in_its_digest(pipe: Pipe) -> None:
    pipe.ask(initialize(STRUCTURED[0]))
    codes = [f"SAMPLE_CO_{number:04}" for number in range(3, 303)]

    result = pipe.ask(rpc("tools/call", {"name": CODE, "arguments": {"db": "CO", "codes": codes}}))["result"]

    [block] = result["content"]
    assert MORE in block["text"]
    assert len(block["text"]) <= 8_000
    assert all(code in block["text"] for code in (codes[0], codes[249]))


def test_the_last_page_says_nothing_more(pipe: Pipe) -> None:
    pipe.ask(initialize(STRUCTURED[0]))

    assert len(pipe.ask(rpc("tools/call", {"name": CODE, "arguments": SPOT}))["result"]["content"]) == 1


def test_boj_mcp_server_adds_no_words(page: BojHarness) -> None:
    with serving_boj(page.url) as pipe:
        pipe.ask(initialize(STRUCTURED[-1]))
        result = pipe.ask(rpc("tools/call", {"name": CODE, "arguments": SPOT}))["result"]

    [block] = result["content"]
    assert block["text"] == json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))
    assert result["structuredContent"]["next_position"] == 251
