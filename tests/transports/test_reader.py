"""The reader of requests: requests however their bytes are cut, bounds, and forms that can be read in two ways."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes import Server, serving
from signet.kernel.errors import Fault
from signet.transports.heads import BadRequestError
from signet.transports.reader import HttpReader

Requests = list[tuple[str, str, bytes, bool]]

HOST = b"Host: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /mcp HTTP/1.1\r\n" + HOST
LENGTH = POST + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX-After: it\r\n\r\n"
CLOSING = b"GET /last?q HTTP/1.0\r\n" + HOST + b"\r\n"
STREAM = GET + LENGTH + b"\r\n" + CHUNKED + GET + LENGTH + CLOSING
EXPECTED = [
    ("GET", "/healthz", b"", True), ("POST", "/mcp", b"hello", True), ("POST", "/mcp", b"hello", True),
    ("GET", "/healthz", b"", True), ("POST", "/mcp", b"hello", True), ("GET", "/last", b"", False),
]  # fmt: skip


def read(*pieces: bytes) -> tuple[Requests, HttpReader]:
    """Give a reader bytes as they arrive, and return the requests that it finds."""
    found: Requests = []
    reader = HttpReader("10.0.0.1")
    for piece in pieces:
        at = 0
        while at < len(piece):
            at = reader.read(piece, at)
            if reader.request is not None and reader.is_whole:
                found.append((reader.request.method, reader.request.path, reader.request.body, reader.keep_alive))
                reader.clear()
    return found, reader


# --- requests


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_the_same_requests_are_found_however_their_bytes_are_cut(places: list[int]) -> None:
    edges = [0, *sorted(places), len(STREAM)]

    found, _ = read(*(STREAM[start:end] for start, end in pairwise(edges)))

    assert found == EXPECTED


def test_requests_are_found_byte_by_byte() -> None:
    assert read(*(bytes([byte]) for byte in STREAM))[0] == EXPECTED


def test_the_last_line_end_of_a_chunked_body_may_be_cut_before_another_request() -> None:
    assert read(CHUNKED[:-1], CHUNKED[-1:] + GET)[0] == [EXPECTED[2], EXPECTED[3]]


def test_one_read_goes_to_the_end_of_one_request_and_no_further() -> None:
    reader, at, found = HttpReader(""), 0, []
    stream = GET + LENGTH + GET
    while at < len(stream):
        at = reader.read(stream, at)
        assert reader.request is not None
        found.append((at, reader.request.body))
        reader.clear()

    assert found == [(len(GET), b""), (len(GET + LENGTH), b"hello"), (len(stream), b"")]


@pytest.mark.parametrize(("sent", "left"), [(LENGTH[:-3], 3), (CHUNKED[:-20], None)], ids=["with a length", "chunked"])
def test_a_head_is_known_before_its_body_with_what_is_left_of_the_body(sent: bytes, left: int | None) -> None:
    found, reader = read(sent)

    assert found == []
    assert reader.request is not None
    assert (reader.request.path, reader.request.address, reader.left) == ("/mcp", "10.0.0.1", left)


@pytest.mark.parametrize(
    ("sent", "begun"), [(b"", False), (b"G", True), (GET, False), (LENGTH[:-1], True), (GET + b"\r\n", True)]
)
def test_a_part_of_a_request_is_told_from_none(sent: bytes, begun: bool) -> None:
    assert bool(read(sent)[1].head) is begun


def test_a_trailer_changes_nothing() -> None:
    stream = POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nHost: evil\r\nAuthorization: x\r\nOrigin: y\r\n\r\n"
    reader, at = HttpReader(""), 0
    while at < len(stream):
        at = reader.read(stream, at)

    assert reader.is_whole
    assert reader.request is not None
    assert reader.request.headers == {"host": "localhost", "transfer-encoding": "chunked"}


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\r\n", b"CONNECT a:1 HTTP/1.1\r\n"], ids=["upgrade", "connect"])
def test_a_request_for_another_protocol_is_the_last(line: bytes) -> None:
    found, _ = read(line + HOST + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n")

    assert [keep_alive for *_, keep_alive in found] == [False]


@pytest.mark.parametrize("size", [10, 5000], ids=["kept", "too large to be kept"])
def test_the_same_head_makes_another_request_with_the_same_headers(size: int) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * size + b"\r\nContent-Length: 1\r\n\r\n"
    readers = HttpReader("10.0.0.1"), HttpReader("10.0.0.2", "10.0.0.0/24")

    for reader, body in zip(readers, (b"1", b"2"), strict=True):
        reader.read(head + body, 0)
    first, second = (reader.request for reader in readers)

    assert first is not None
    assert second is not None
    assert first.headers == second.headers
    assert (first.body, first.address, first.network) == (b"1", "10.0.0.1", "")
    assert (second.body, second.address, second.network) == (b"2", "10.0.0.2", "10.0.0.0/24")


# --- bounds


@pytest.mark.parametrize("count", [128, 129])
def test_a_request_has_at_most_128_headers(count: int) -> None:
    head = b"GET / HTTP/1.1\r\n" + b"".join(b"x%d: y\r\n" % number for number in range(count)) + b"\r\n"

    if count == 128:
        assert len(read(head)[0]) == 1
    else:
        with pytest.raises(BadRequestError) as caught:
            read(head)
        assert caught.value.fault.status == 431


@pytest.mark.parametrize("cut", [7, 1000, 65_536, 65_537], ids=str)
@pytest.mark.parametrize(("size", "fits"), [(65_536, True), (65_537, False)])
def test_a_head_has_at_most_64_kibibytes_however_it_comes(size: int, fits: bool, cut: int) -> None:
    start = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "
    head = start + b"x" * (size - len(start) - 4) + b"\r\n\r\n"
    pieces = [head[at : at + cut] for at in range(0, len(head), cut)]

    if fits:
        assert len(read(*pieces)[0]) == 1
    else:
        with pytest.raises(BadRequestError) as caught:
            read(*pieces)
        assert caught.value.fault.status == 431


def chunks(size: int, each: int) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (each, b"x" * each) for _ in range(size // each)) + b"0\r\n\r\n"


@pytest.mark.parametrize("each", [1, 4096], ids=["in single bytes", "in pages"])
def test_a_chunked_body_has_at_most_one_mebibyte(each: int) -> None:
    head = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    full = chunks(1 << 20, 4096).removesuffix(b"0\r\n\r\n")

    found, _ = read(head + chunks(1 << 20, each))
    with pytest.raises(Fault) as caught:
        read(head + full + chunks(each, each))

    assert len(found[0][2]) == 1 << 20
    assert caught.value.status == 413


def test_the_framing_of_a_chunked_body_has_a_bound_too() -> None:
    endless = b"1;" + b"x" * 4000 + b"\r\ny\r\n"

    with pytest.raises(Fault) as caught:
        read(POST + b"Transfer-Encoding: chunked\r\n\r\n", *[endless] * 3000)

    assert caught.value.status == 413


# --- forms that can be read in two ways, over the wire

BODY = b"\r\n\r\n0\r\n\r\n"
CHUNK = POST + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
FORMS = {
    "a length and chunks": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked" + BODY,
    "chunks and a length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5" + BODY,
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "one length twice": POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "a list of lengths": POST + b"Content-Length: 5, 5\r\n\r\nhello",
    "a length with a sign": POST + b"Content-Length: +5\r\n\r\nhello",
    "a negative length": POST + b"Content-Length: -5\r\n\r\nhello",
    "a hexadecimal length": POST + b"Content-Length: 0x5\r\n\r\nhello",
    "an empty length": POST + b"Content-Length: \r\n\r\nhello",
    "a length with a space": POST + b"Content-Length: 5 5\r\n\r\nhello",
    "a length with an underscore": POST + b"Content-Length: 1_0\r\n\r\nhello",
    "a length beyond counting": POST + b"Content-Length: 99999999999999999999\r\n\r\nhello",
    "a length in other digits": POST + b"Content-Length: \xef\xbc\x95\r\n\r\nhello",
    "a space before the colon of a length": POST + b"Content-Length : 5\r\n\r\nhello",
    "a space before the colon of an encoding": POST + b"Transfer-Encoding : chunked" + BODY,
    "an encoding that is none": POST + b"Transfer-Encoding: identity" + BODY,
    "an encoding that only looks like chunks": POST + b"Transfer-Encoding: xchunked" + BODY,
    "compressed chunks": POST + b"Transfer-Encoding: gzip, chunked" + BODY,
    "chunks, compressed": POST + b"Transfer-Encoding: chunked, gzip" + BODY,
    "chunks within chunks": POST + b"Transfer-Encoding: chunked, chunked" + BODY,
    "two encodings": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked" + BODY,
    "an encoding and its denial": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity" + BODY,
    "an encoding behind a vertical tab": POST + b"Transfer-Encoding: \x0bchunked" + BODY,
    "an encoding in quotes": POST + b'Transfer-Encoding: "chunked"' + BODY,
    "an empty encoding": POST + b"Transfer-Encoding:" + BODY,
    "an encoding on a line of its own": POST + b"Transfer-Encoding:\r\n chunked" + BODY,
    "chunks in HTTP/1.0": POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked" + BODY,
    "a folded header": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
    "a space before the first header": b"GET / HTTP/1.1\r\n " + HOST + b"\r\n",
    "lines without carriage returns": b"GET / HTTP/1.1\nHost: localhost\n\n",
    "one line without a carriage return": b"GET / HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
    "a carriage return alone": b"GET / HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n",
    "a zero byte": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\0b\r\n\r\n",
    "a header without a colon": b"GET / HTTP/1.1\r\n" + HOST + b"Xyz\r\n\r\n",
    "a header without a name": b"GET / HTTP/1.1\r\n" + HOST + b": y\r\n\r\n",
    "a space in the path": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "another host in the request line": b"GET http://evil.example/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "no version": b"GET /\r\n\r\n",
    "HTTP/2 in plain text": b"GET / HTTP/2.0\r\n" + HOST + b"\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a chunk with a prefix": CHUNK + b"0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk of negative size": CHUNK + b"-5\r\nhello\r\n0\r\n\r\n",
    "a chunk that goes on": CHUNK + b"5\r\nhelloX0\r\n\r\n",
    "a chunk without a carriage return": CHUNK + b"5\nhello\n0\n\n",
    "a chunk beyond counting": CHUNK + b"fffffffffffffffff5\r\nhello\r\n0\r\n\r\n",
    "an extension without a carriage return": CHUNK + b"5;a\nhello\r\n0\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "two tokens": b"GET / HTTP/1.1\r\n" + HOST + b"Authorization: a\r\nAuthorization: b\r\n\r\n",
    "two origins": b"GET / HTTP/1.1\r\n" + HOST + b"Origin: a\r\norigin: a\r\n\r\n",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.mark.parametrize("form", FORMS)
def test_a_request_that_can_be_read_in_two_ways_is_refused_after_the_good_one_before_it(
    server: Server, form: str
) -> None:
    """What follows it, which the second reading would take for a request, is not answered."""
    with contextlib.closing(server.connect()) as client:
        client.sendall(GET + FORMS[form] + GET)
        client.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: client.recv(65_536), b""))

    statuses = re.findall(rb"HTTP/1.1 (\d+)", received)
    assert statuses[0] == b"200"
    assert statuses[1:] in ([b"400"], [b"505"])
    assert b"connection: close" in received
    assert server.ask("GET", "/healthz").status == 200


@pytest.mark.parametrize("line", [b"GET p://\n", b"GET /\n", b"GET /\r\n"])
def test_a_request_line_without_a_version_is_refused_however_it_ends(line: bytes) -> None:
    with pytest.raises(BadRequestError) as caught:
        read(line + b"\r\n")

    assert caught.value.fault.status in {400, 505}
