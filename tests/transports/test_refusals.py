"""What is said to whom where a request is refused: the name, the status and the words of each refusal."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import misbehaving_server
from signet.kernel.caller import Caller
from signet.kernel.errors import Code, Fault
from signet.kernel.wire import Headers
from signet.transports.guard import Access, Guard, host_of
from signet.transports.heads import BadRequestError, check_head, parse_head
from signet.transports.messages import Request, Response
from signet.transports.session_door import SessionDoor
from signet.transports.sessions import SessionTable

LINE = b"GET / HTTP/1.1\r\n"
MANY = LINE + b"".join(b"x%d: y\r\n" % number for number in range(129)) + b"\r\n"
LARGE = LINE + b"x: " + b"y" * 65_536 + b"\r\n\r\n"


def sent(**fields: str) -> Request:
    """Return a POST to this machine with these headers besides."""
    named = {"host": "localhost", **{name.replace("_", "-"): value for name, value in fields.items()}}
    return Request("POST", "/", Headers(list(named), list(named.values())))


@pytest.mark.parametrize(
    ("request_", "access", "refusal"),
    [
        (
            sent(host="evil.example"),
            Access(),
            (
                "HOST_NOT_ALLOWED",
                421,
                "This server does not answer to the host 'evil.example'; start it with --allowed-hosts to add one",
            ),
        ),
        (
            sent(origin="https://evil.example"),
            Access(),
            (
                "ORIGIN_NOT_ALLOWED",
                403,
                "Pages of 'https://evil.example' may not call this server; start it with --allowed-hosts to let them",
            ),
        ),
        (
            sent(origin="https://evil.example"),
            Access(same_origin=True),
            (
                "ORIGIN_NOT_ALLOWED",
                403,
                "Pages of 'https://evil.example' may not use the console; its own pages may",
            ),
        ),
        (
            sent(sec_fetch_site="cross-site"),
            Access(same_origin=True),
            ("ORIGIN_NOT_ALLOWED", 403, "Pages of another origin may not use the console; its own pages may"),
        ),
        (
            sent(content_type="text/plain"),
            Access(json_only=True),
            ("UNSUPPORTED_MEDIA_TYPE", 415, "The content type must be application/json"),
        ),
    ],
    ids=["host", "page", "page of the console", "site", "type"],
)
def test_who_is_not_let_in_is_told_why(request_: Request, access: Access, refusal: tuple[str, int, str]) -> None:
    found = Guard().check(request_, access)

    assert isinstance(found, Fault)
    assert (found.name, found.status, found.message) == refusal


@pytest.mark.parametrize(
    ("text", "shown"), [("x" * 100, "x" * 100), ("x" * 101, "x" * 100)], ids=["100 characters", "101 characters"]
)
def test_a_name_that_is_not_allowed_is_repeated_to_a_bound(text: str, shown: str) -> None:
    found = [
        Guard().check(sent(host=text), Access()),
        Guard().check(sent(origin=text), Access()),
        Guard().check(sent(origin=text), Access(same_origin=True)),
    ]

    assert [f"'{shown}'" in fault.message for fault in found if isinstance(fault, Fault)] == [True] * 3


@pytest.mark.parametrize(
    ("head", "refusal"),
    [
        (LINE + b"Host: a\r\nHost: b\r\n\r\n", ("BAD_REQUEST", 400, "host is sent more than once")),
        (MANY, ("TOO_MANY_HEADERS", 431, "A request has at most 128 headers")),
        (LARGE, ("HEAD_TOO_LARGE", 431, "The request line and headers have at most 65536 bytes")),
        (
            b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ("BAD_REQUEST", 400, "The host of the request line is not that of the Host header"),
        ),
        (
            b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            ("BAD_REQUEST", 400, "The only transfer-encoding is chunked, in HTTP/1.1"),
        ),
    ],
    ids=["twice", "many", "large", "two hosts", "chunks of HTTP/1.0"],
)
def test_a_head_that_cannot_be_taken_is_told_why(head: bytes, refusal: tuple[str, int, str]) -> None:
    with pytest.raises(BadRequestError) as caught:
        parse_head(head)

    fault = caught.value.fault
    assert (fault.name, fault.status, fault.message) == refusal


@pytest.mark.parametrize("version", ["0.9", "2", "3"])
def test_a_version_that_is_not_served_is_told(version: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        check_head("GET", "/", Headers((), ()), version)

    fault = caught.value.fault
    assert (fault.name, fault.status) == ("VERSION_NOT_SUPPORTED", 505)
    assert fault.message == "Only HTTP/1.1 and HTTP/1.0 are served"


def test_a_head_has_64_kibibytes_at_most() -> None:
    start = LINE + b"x: "
    head = start + b"y" * (65_536 - len(start) - 4) + b"\r\n\r\n"

    assert parse_head(head).method == "GET"
    with pytest.raises(BadRequestError):
        parse_head(head.replace(b"y", b"yy", 1))


# --- sessions


@pytest.mark.parametrize(
    ("method", "fields", "body", "refusal"),
    [
        (
            "POST",
            {"mcp-session-id": "nobody's"},
            b"{}",
            (404, "UNKNOWN_SESSION", "There is no such session: begin a new one with initialize"),
        ),
        ("PUT", {}, b"", (405, "METHOD_NOT_ALLOWED", "POST, GET and DELETE are served here")),
        (
            "POST",
            {},
            b'{"id":1,"method":"initialize"}',
            (400, "INVALID_REQUEST", "This session is open already: send initialize without a session"),
        ),
        ("GET", {}, b"", (406, "NOT_ACCEPTABLE", "A stream is text/event-stream: accept it")),
        (
            "GET",
            {"accept": "text/event-stream", "last-event-id": "7-1"},
            b"",
            (400, "UNKNOWN_STREAM", "The stream that last-event-id names is not kept any more"),
        ),
    ],
    ids=["session", "method", "initialize", "accept", "stream"],
)
def test_a_request_that_a_session_does_not_take_is_told_why(
    method: str, fields: dict[str, str], body: bytes, refusal: tuple[int, str, str], tmp_path: Path
) -> None:
    async def scenario() -> Response:
        table = SessionTable()
        session = table.open(Caller())
        assert session is not None
        named = {"mcp-session-id": session.agreement.id, **fields}
        asked = Request(method, "/mcp", Headers(list(named), list(named.values())), body=body)
        response = SessionDoor(misbehaving_server.build(str(tmp_path)), table).answer(asked)
        assert response is not None
        assert not isinstance(response, Response)
        found = await response
        await table.close()
        return found

    response = asyncio.run(scenario())

    assert (response.status, response.refusal, json.loads(response.body)["error"]["message"]) == refusal


# --- what a client can do about it


def test_where_nobody_has_to_say_who_they_are_a_bearer_is_still_what_is_wanted() -> None:
    assert Guard().advice(Fault(Code.UNAUTHORIZED, "no")) == ((b"www-authenticate", b"Bearer"),)


def test_a_fault_that_a_client_cannot_mend_comes_without_advice() -> None:
    assert Guard().advice(Fault(Code.INVALID_INPUT, "no")) == ()


@pytest.mark.parametrize(
    ("milliseconds", "seconds"), [(None, b"1"), (1, b"1"), (1000, b"1"), (1001, b"2"), (2000, b"2")]
)
def test_a_server_that_is_overloaded_says_when_to_come_again(milliseconds: int | None, seconds: bytes) -> None:
    facts = {} if milliseconds is None else {"retryAfterMs": milliseconds}

    advice = Guard().advice(Fault(Code.INTERNAL_ERROR, "no", status=503, data=facts))

    assert advice == ((b"retry-after", seconds),)


@pytest.mark.parametrize("named", [False, True])
def test_a_limit_says_when_to_come_again_and_which_one_it_was(named: bool) -> None:
    limit = {"limit": {"name": "calls", "count": 9, "seconds": 60}} if named else {}
    fault = Fault(Code.UNAUTHORIZED, "no", name="RATE_LIMITED", status=429, data={"retry_after_seconds": 7, **limit})

    advice = dict(Guard().advice(fault))

    assert advice.pop(b"retry-after") == b"7"
    assert advice == ({b"ratelimit-policy": b'"calls";q=9;w=60', b"ratelimit": b'"calls";r=0;t=7'} if named else {})


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:80", "localhost"),
        ("localhost:", "localhost"),
        ("localhost:x", ""),
        ("localhost:٣", ""),
        ("localhost:80@evil.example", ""),
        ("localhost, evil.example", ""),
        ("[::1]", "::1"),
        ("[::1]:80", "::1"),
        ("[::1]:", "::1"),
        ("[::1]80", ""),
        ("[::1", ""),
        ("[localhost]", ""),
        ("::1", "::1"),
        ("", ""),
    ],
)
def test_a_host_is_a_name_and_a_port_and_nothing_else(authority: str, host: str) -> None:
    assert host_of(authority) == host
