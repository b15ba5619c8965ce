"""The benchmarks' servers: a peer is fast only with answers that are right."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from bench.frames import (
    FIRST,
    LARGE,
    LEGACY,
    MODERN,
    SMALL,
    Call,
    EnvelopeCall,
    RestCall,
    WrongAnswerError,
    diagram,
)
from bench.load import complete_body
from bench.own import KINDS
from bench.peers import built_in
from bench.peers.bare import answer, answer_at, answer_rest, encode, to_request
from bench.peers.plantuml import VIEWER, Encoded

from signet.authoring.target import load_target
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool
from signet.toolsets.plantuml import encoding


@pytest.mark.parametrize("era", [LEGACY, MODERN])
def test_the_bare_server_answers_the_same_call_in_both_eras(era: str) -> None:
    call = Call.of(SMALL, era)

    replies = [answer(to_request(call.frame(number))) for number in (FIRST, FIRST + 1)]

    call.check(replies, [FIRST + 1, FIRST])


def test_a_rest_call_is_known_by_its_text() -> None:
    call = RestCall.of(SMALL)
    replies = [answer_rest(call.frame(number)) for number in (FIRST, FIRST + 1)]

    call.check(replies, [FIRST + 1, FIRST])
    with pytest.raises(WrongAnswerError):
        call.check(replies, [FIRST, FIRST + 2])
    with pytest.raises(WrongAnswerError):
        call.check(replies[:1], [FIRST, FIRST + 1])
    with pytest.raises(WrongAnswerError):
        call.check([b'{"success":false,"error":{}}'], [FIRST])


def test_an_envelope_is_known_by_its_id_and_its_text() -> None:
    call = EnvelopeCall.of(SMALL)
    replies = [answer_at("/mcp/tool/plantuml.encode", call.frame(number)) for number in (FIRST, FIRST + 1)]

    call.check(replies, [FIRST + 1, FIRST])
    with pytest.raises(WrongAnswerError):
        call.check(replies[::-1], [FIRST, FIRST + 2])
    with pytest.raises(WrongAnswerError):
        call.check([replies[0].replace(b'"svg"', b'"png"')], [FIRST])


@pytest.mark.parametrize("size", [SMALL, 1024, 1025, LARGE])
def test_the_bare_server_deflates_as_signet_does(size: int) -> None:
    text = diagram(size)

    assert encode(text) == encoding.encode(text)


def test_the_bare_server_refuses_arguments_that_break_the_contract() -> None:
    with pytest.raises(ValueError, match="contract"):
        answer_rest(b'{"plantumlCode":1}')


def peers_of(kind: str) -> tuple[Tool, Tool, dict[str, object], dict[str, object]]:
    """Return the own tool of a kind and its twin, and their contracts without the slug."""
    (own,) = load_target(f"bench/peers/own_{kind}.py")
    twin = getattr(built_in, kind.upper())
    (own_tool,), (twin_tool,) = own.tools(), twin.tools()
    files = Path(twin.schema_root, "tools", f"{twin_tool.slug}.json").read_bytes()
    contracts = [msgspec.json.decode(bundle) for bundle in (own.bundles()[own_tool.slug], files)]
    for contract in contracts:
        del contract["tool"]
    return own_tool, twin_tool, contracts[0], contracts[1]


@pytest.mark.parametrize("kind", KINDS)
def test_an_own_tool_and_its_built_in_twin_have_one_contract(kind: str) -> None:
    own, twin, own_contract, twin_contract = peers_of(kind)

    assert own_contract == twin_contract
    assert (own.name, own.description) == (twin.name, twin.description + ".")


@pytest.mark.parametrize("kind", KINDS)
def test_an_own_tool_and_its_built_in_twin_give_the_same_result(kind: str) -> None:
    async def results() -> list[object]:
        given = {"plantumlCode": "@startuml\na -> b\n@enduml"}
        pending = [tool.run(msgspec.convert(given, tool.args), QUIET_CONTEXT) for tool in peers_of(kind)[:2]]
        return [await one if hasattr(one, "__await__") else one for one in pending]

    own, twin = asyncio.run(results())

    assert own == twin
    assert isinstance(own, Encoded)
    assert own.encoded
    assert own.url == VIEWER + own.encoded


@pytest.mark.parametrize(
    ("response", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{}{}", b"{}{}"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{}{", None),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nA\r\n0123456789\r\n0\r\n\r\n",
            b"{}0123456789",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nA\r\n0123456789\r\n0\r\n", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2", None),
    ],
)
def test_a_body_is_whole_by_its_length_or_by_its_last_chunk(response: bytes, body: bytes | None) -> None:
    assert complete_body(response) == body
