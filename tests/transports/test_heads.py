"""The heads of HTTP messages: a request's as a value, a response's as bytes."""

from __future__ import annotations

from typing import Any

import pytest

from signet.kernel.wire import Headers
from signet.transports.heads import BadRequestError, RequestHead, check_head, parse_head, response_head
from signet.transports.messages import Request, Response

DATE = b"date: now\r\n"


def request(version: str = "1.1", **headers: str) -> Request:
    return Request("GET", "/", Headers(list(headers), list(headers.values())), version)


# --- requests


def test_a_head_becomes_a_request_with_lower_case_names_and_bare_values() -> None:
    found = parse_head(b"GET /a?b#c HTTP/1.1\r\nHost:  x \t\r\nX-Empty:\r\nX-Ratio: a:b\r\n\r\n")

    assert (found.method, found.path, found.version) == ("GET", "/a", "1.1")
    assert found.headers == {"host": "x", "x-empty": "", "x-ratio": "a:b"}


def test_a_head_may_have_no_headers_and_empty_lines_before_it() -> None:
    found = parse_head(b"\r\n\r\nGET / HTTP/1.0\r\n\r\n")

    assert found == RequestHead("GET", "/", Headers((), ()), "1.0", keep_alive=False, length=0)


@pytest.mark.parametrize(
    ("head", "keep_alive", "length"),
    [
        (b"POST / HTTP/1.1\r\nContent-Length: 7\r\n\r\n", True, 7),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", True, None),
        (b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 7\r\n\r\n", False, 7),
        (b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 7\r\n\r\n", True, 7),
        (b"POST / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 7\r\n\r\n", False, 7),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 7\r\n\r\n", False, 0),
    ],
)
def test_a_head_says_where_its_request_ends_and_whether_another_follows(
    head: bytes, keep_alive: bool, length: int | None
) -> None:
    found = parse_head(head)

    assert (found.keep_alive, found.length) == (keep_alive, length)


def test_a_path_is_kept_as_it_was_sent() -> None:
    assert parse_head(b"GET /api/tools/%41%20b HTTP/1.1\r\n\r\n").path == "/api/tools/%41%20b"


def test_headers_that_come_twice_are_named() -> None:
    assert parse_head(b"GET / HTTP/1.1\r\nX: 1\r\nY: 2\r\nx: 3\r\n\r\n").headers.repeated == {"x"}


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        ("http://localhost/a", "localhost", "/a"),
        ("HTTPS://LOCALHOST:80/a?b", "localhost:80", "/a"),
        ("http://localhost", "localhost", "/"),
        ("*", "localhost", "*"),
        ("/http://evil.example/", "localhost", "/http://evil.example/"),
    ],
)
def test_a_target_may_repeat_the_host(target: str, host: str, path: str) -> None:
    assert check_head("GET", target, Headers(["host"], [host]), "1.1")[1] == path


@pytest.mark.parametrize(
    ("target", "version", "fields", "status"),
    [
        ("http://evil.example/", "1.1", {"host": "localhost"}, 400),
        ("http://localhost@evil.example/", "1.1", {"host": "localhost"}, 400),
        ("/", "2.0", {}, 505),
        ("/", "", {}, 505),
        ("/", "1.1", {"transfer-encoding": "gzip, chunked"}, 400),
        ("/", "1.0", {"transfer-encoding": "chunked"}, 400),
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(
    target: str, version: str, fields: dict[str, str], status: int
) -> None:
    with pytest.raises(BadRequestError) as caught:
        check_head("GET", target, Headers(list(fields), list(fields.values())), version)

    assert caught.value.fault.status == status


@pytest.mark.parametrize("name", ["host", "origin", "authorization", "content-length", "transfer-encoding"])
def test_a_header_that_decides_comes_once(name: str) -> None:
    with pytest.raises(BadRequestError, match=name):
        check_head("GET", "/", Headers([name, name], ["chunked", "chunked"]), "1.1")


# --- responses


def lines(asked: Request | None, response: Response, *, keep_alive: bool) -> list[bytes]:
    head = response_head(asked, response, keep_alive=keep_alive, date=DATE)
    assert head.endswith(b"\r\n\r\n")
    return head[:-4].split(b"\r\n")


async def pieces() -> Any:
    yield b""


def test_the_head_of_a_response_says_its_status_its_length_and_the_time() -> None:
    assert lines(request(), Response(404, b"{}"), keep_alive=True) == [
        b"HTTP/1.1 404 Not Found", b"content-type: application/json", b"content-length: 2", b"date: now",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "keep_alive", "said"),
    [("1.1", True, []), ("1.1", False, [b"connection: close"]),
     ("1.0", True, [b"connection: keep-alive"]), ("1.0", False, [b"connection: close"])],
)  # fmt: skip
def test_it_says_whether_the_connection_stays_open_where_the_version_does_not(
    version: str, keep_alive: bool, said: list[bytes]
) -> None:
    found = lines(request(version), Response(200, headers=()), keep_alive=keep_alive)

    assert [line for line in found if line.startswith(b"connection")] == said


def test_a_response_without_a_body_states_no_length() -> None:
    assert lines(request(), Response(204, headers=()), keep_alive=True) == [b"HTTP/1.1 204 No Content", b"date: now"]


@pytest.mark.parametrize(("version", "said"), [("1.1", [b"transfer-encoding: chunked"]), ("1.0", [])])
def test_a_stream_is_chunked_where_the_version_has_chunks(version: str, said: list[bytes]) -> None:
    found = lines(request(version), Response(200, headers=(), events=pieces()), keep_alive=True)

    assert [line for line in found if b"length" in line or b"encoding" in line] == said


def test_a_request_whose_head_could_not_be_read_is_answered_too() -> None:
    assert lines(None, Response(400), keep_alive=False)[0] == b"HTTP/1.1 400 Bad Request"
