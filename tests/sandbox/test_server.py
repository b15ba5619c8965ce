"""The sandbox server: valid HTTP, every fault, and a log of each request and its response."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from processes import PATIENCE_S, clean_env, run
from signet import sandbox
from signet.kernel.errors import Fault
from signet.sandbox import faults
from signet.sandbox.exchange import LoggedRequest, fingerprint
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.message import Sandbox, SandboxRequest, SandboxResponse, json_response
from signet.sandbox.server import Running, start
from signet.settings.catalogue import find_toolset

MAX_HEAD_BYTES = 65_536
THING = {"name": "thing", "n": 1, "text": "港"}
BODY = msgspec.json.encode(THING)
GET = b"GET /thing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


def handle(request: SandboxRequest) -> SandboxResponse:
    """Answer as a small upstream: a thing, a thing in chunks, an echo, or 404."""
    if request.path == "/thing":
        return json_response(THING)
    if request.path == "/chunks":
        return SandboxResponse(200, BODY, chunked=True)
    if request.path == "/echo":
        return SandboxResponse(200, request.body, "text/plain")
    return SandboxResponse(404, type=None)


@pytest.fixture
def running() -> Iterator[Running]:
    running, stop = host_in_thread(Sandbox("small", handle, {"plays": "a thing"}))
    yield running
    stop()


class Reply:
    """A response as received: its status, its headers, every byte after them."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        self.status = int(line.split(" ")[1])
        self.headers = dict(field.split(": ", 1) for field in fields)

    def json(self) -> Any:
        return json.loads(self.body)


def connect(running: Running, receive_bytes: int | None = None) -> socket.socket:
    host, port = running.url.removeprefix("http://").split(":")
    peer = socket.socket()
    if receive_bytes is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    peer.settimeout(PATIENCE_S)
    try:
        peer.connect((host, int(port)))
    except OSError:
        peer.close()
        raise
    return peer


def rest_of(peer: socket.socket) -> bytes:
    return b"".join(iter(lambda: peer.recv(65_536), b""))


def raw(running: Running, sent: bytes = GET) -> bytes:
    """Send bytes and read until the server closes the connection."""
    with connect(running) as peer:
        peer.sendall(sent)
        return rest_of(peer)


def ask(running: Running, path: str = "/thing", method: str = "GET", body: bytes = b"", **headers: str) -> Reply:
    fields = {"host": "x", "connection": "close", "content-length": str(len(body)), **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return Reply(raw(running, ("\r\n".join(lines) + "\r\n\r\n").encode() + body))


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)


def ends(running: Running) -> list[tuple[str | None, int | None, int, str | None]]:
    return [(entry.fault, entry.status, entry.body_bytes, entry.end) for entry in running.requests]


# --- valid HTTP -------------------------------------------------------------------------------


def test_an_answer_has_exactly_these_bytes(running: Running) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"

    assert raw(running) == head % len(BODY) + BODY


def test_a_connection_carries_one_request_after_another(running: Running) -> None:
    """Also when the second request arrives before the first is answered."""
    first = GET.replace(b"connection: close\r\n", b"")
    with connect(running) as peer:
        peer.sendall(first + first + GET)

        answers = rest_of(peer)

    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert [entry.end for entry in running.requests] == ["answered"] * 3


@pytest.mark.parametrize(
    ("sent", "stays"),
    [
        (b"GET /thing HTTP/1.0\r\n\r\n", False),
        (b"GET /thing HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", True),
        (b"GET /thing HTTP/1.1\r\nconnection: Close\r\n\r\n", False),
        (b"GET /thing HTTP/1.1\r\n\r\n", True),
    ],
)
def test_the_peer_says_whether_the_connection_stays(running: Running, sent: bytes, stays: bool) -> None:
    with connect(running) as peer:
        peer.sendall(sent)
        if stays:
            peer.sendall(GET)

        answers = rest_of(peer)

    assert answers.count(b"HTTP/1.1 200 OK") == 1 + stays


def test_head_has_the_length_of_the_body_and_not_the_body(running: Running) -> None:
    reply = ask(running, method="HEAD")

    assert (reply.status, reply.headers["content-length"], reply.body) == (200, str(len(BODY)), b"")


def test_an_answer_goes_in_chunks_when_its_maker_wants_it(running: Running) -> None:
    reply = ask(running, "/chunks")

    assert reply.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in reply.headers
    assert reply.body == b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)


def test_a_body_that_comes_in_pieces_is_read_whole(running: Running) -> None:
    with connect(running) as peer:
        peer.sendall(b"POST /echo HTTP/1.1\r\nconnection: close\r\ncontent-length: 6\r\n\r\nabc")
        peer.sendall(b"def")

        answer = rest_of(peer)

    assert Reply(answer).body == b"abcdef"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET thing HTTP/1.1\r\n\r\n", 400),
        (b"GET /thing HTTP/2\r\n\r\n", 400),
        (b"GET /thing HTTP/1.1\r\nno header\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"POST /echo HTTP/1.1\r\ncontent-length: 65537\r\n\r\n" + b"x" * 65_537, 413),
        (b"POST /echo HTTP/1.1\r\ncontent-length: " + b"9" * 15 + b"\r\n\r\n", 413),
        (b"POST /echo HTTP/1.1\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n", 400),
        (b"GET /" + b"x" * (MAX_HEAD_BYTES + 1), 431),
        (b"GET / HTTP/1.1\r\nx: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n", 431),
    ],
)
def test_what_is_no_request_is_refused_and_the_next_is_served(running: Running, sent: bytes, status: int) -> None:
    with connect(running) as peer:
        peer.sendall(sent)
        peer.shutdown(socket.SHUT_WR)

        refused = Reply(rest_of(peer))

    assert (refused.status, refused.json()["status"]) == (status, status)
    assert ask(running).json() == THING
    assert len(running.requests) == 1


def test_a_head_of_the_full_size_is_read(running: Running) -> None:
    head = b"GET /thing?" + b"x" * (MAX_HEAD_BYTES - 44) + b" HTTP/1.1\r\nconnection:close"

    assert Reply(raw(running, head + b"\r\n\r\n")).status == 200


def test_a_sandbox_listens_on_loopback_only() -> None:
    with pytest.raises(ValueError, match="loopback only"):
        asyncio.run(start(Sandbox("small", handle), "0.0.0.0"))


def test_an_address_that_is_taken_is_an_os_error(running: Running) -> None:
    port = int(running.url.rpartition(":")[2])

    with pytest.raises(OSError, match="in use"):
        asyncio.run(start(Sandbox("small", handle), port=port))


# --- the log ----------------------------------------------------------------------------------


def test_the_log_tells_every_request_in_order(running: Running) -> None:
    ask(running, "/thing?q=%E6%B8%AF+x", **{"X-Odd": "1"})
    ask(running, "/nothing", "POST", b"abc")

    first, second = running.requests
    assert (first.method, first.target) == ("GET", "/thing?q=%E6%B8%AF+x")
    assert first.headers == {"host": "x", "connection": "close", "content-length": "0", "x-odd": "1"}
    assert (second.method, second.target, second.status) == ("POST", "/nothing", 404)
    assert 0 <= first.time_s <= second.time_s
    assert ends(running) == [(None, 200, len(BODY), "answered"), (None, 404, 0, "answered")]


def test_the_log_keeps_no_secret_but_can_tell_whether_two_are_the_same(running: Running) -> None:
    ask(running, authorization="Bearer secret-1", cookie="a=secret-1")

    log = ask(running, "/_sandbox/requests").body

    assert b"secret-1" not in log
    assert running.requests[0].headers["authorization"] == fingerprint("Bearer secret-1")
    assert fingerprint("Bearer secret-1").startswith("Bearer sha256:")
    assert fingerprint("Bearer secret-1") != fingerprint("Bearer secret-2")


def test_an_answer_on_its_way_has_no_end_yet(running: Running) -> None:
    running.order("hang")
    with connect(running) as peer:
        peer.sendall(GET)
        until(lambda: running.requests)

        assert ends(running) == [("hang", None, 0, None)]

    until(lambda: running.requests[0].end == "gone")


def test_stopping_ends_what_is_on_its_way() -> None:
    running, stop = host_in_thread(Sandbox("small", handle))
    running.order("hang", match="/thing")
    running.order("huge", match="/other", size=1 << 28)
    with connect(running) as idle, connect(running) as hanging, connect(running, 4096) as full:
        hanging.sendall(GET)
        full.sendall(GET.replace(b"/thing", b"/other"))
        until(lambda: len(running.requests) == 2)

        stop()
        stop()

        assert {entry.end for entry in running.requests} == {"stopped"}
        assert idle.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        connect(running)


# --- fault rules ------------------------------------------------------------------------------


def test_an_order_befalls_what_it_matches_as_often_as_it_says(running: Running) -> None:
    running.order("status", match="?b", times=2, status=503)

    statuses = [ask(running, f"/thing{query}").status for query in ("?a", "?b", "?xb", "?b=1", "?b")]

    assert statuses == [200, 503, 200, 503, 200]


def test_an_order_without_times_stands_until_it_is_cleared(running: Running) -> None:
    running.order("status", status=503)
    before = [ask(running).status for _ in range(3)]

    running.clear()

    assert before == [503, 503, 503]
    assert running.requests == ()
    assert ask(running).status == 200


def test_the_first_order_that_fits_is_taken(running: Running) -> None:
    running.order("status", status=500, times=1)
    running.order("status", status=501, match="/other")
    running.order("status", status=502)

    assert [ask(running, path).status for path in ("/other", "/other", "/thing")] == [500, 501, 502]


@pytest.mark.parametrize(
    ("fault", "parameters"),
    [
        ("no_such_fault", {}),
        ("slow", {"delay": 1}),
        ("slow", {"delay_s": "long"}),
        ("slow", {"delay_s": -1}),
        ("status", {"status": 99}),
        ("redirect", {"hops": 0}),
        ("redirect_to", {}),
        ("hang", {"times": 0}),
        ("hang", {"match": 1}),
    ],
)
def test_what_cannot_be_ordered_is_refused(running: Running, fault: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(Fault):
        running.order(fault, **parameters)

    assert ask(running).status == 200


PROBLEM = "the sandbox was told to fail"
PARAMETERS: dict[str, dict[str, Any]] = {
    "slow": {"delay_s": 1.0},
    "drip": {"rate": 1.0},
    "hang": {},
    "status": {"status": 500, "detail": PROBLEM, "headers": {}},
    "html": {"status": 502},
    "answer": {"status": 200, "type": "application/json", "body": "", "headers": {}},
    "wrong_type": {"type": "text/plain", "status": None},
    "no_type": {"status": None},
    "invalid_utf8": {"status": None},
    "not_json": {"status": None},
    "empty": {"status": None},
    "cut": {"at": None, "status": None},
    "cut_chunked": {"at": None, "status": None},
    "short_length": {"by": 1, "status": None},
    "huge": {"size": 2_097_152, "chunked": False, "status": None},
    "chunked": {"size": 1024},
    "redirect": {"hops": 1, "status": 302},
    "redirect_loop": {"status": 302},
    "redirect_to": {"location": "/", "status": 302},
    "no_location": {"status": 302},
    "reset": {},
    "close": {},
    "garbage": {},
}
"""Every fault, its parameters and their defaults; a redirect needs its location."""


def test_every_fault_has_its_parameters_and_their_defaults() -> None:
    needed = {name: {"location": "/"} if name == "redirect_to" else {} for name in faults.FAULTS}

    rules = {name: msgspec.to_builtins(faults.read_fault_rule({"fault": name, **needed[name]})) for name in needed}

    assert list(rules) == list(PARAMETERS)
    assert rules == {
        name: {"fault": name, "match": None, "times": None, **values} for name, values in PARAMETERS.items()
    }


# --- the faults, one by one -------------------------------------------------------------------


def test_slow_answers_later(running: Running) -> None:
    running.order("slow", delay_s=0.01)

    assert ask(running).json() == THING


def test_slow_holds_up_nobody_else_and_notices_a_peer_that_leaves(running: Running) -> None:
    running.order("slow", match="?slow", delay_s=3600)
    with connect(running) as peer:
        peer.sendall(GET.replace(b"/thing", b"/thing?slow"))
        until(lambda: running.requests)

        assert ask(running).json() == THING

    until(lambda: running.requests[0].end == "gone")


def test_what_comes_while_an_answer_is_slow_is_answered_after_it(running: Running) -> None:
    running.order("slow", delay_s=0.05, times=1)

    answers = raw(running, GET.replace(b"connection: close\r\n", b"") + GET)

    assert answers.count(b"HTTP/1.1 200 OK") == 2


def test_a_peer_that_floods_while_it_should_wait_is_hung_up_on(running: Running) -> None:
    running.order("hang")
    with connect(running) as peer:
        peer.sendall(GET)
        with contextlib.suppress(ConnectionError):
            peer.sendall(b"x" * (4 * MAX_HEAD_BYTES))

        until(lambda: [entry.end for entry in running.requests] == ["gone"])


def test_drip_sends_the_head_at_once_and_the_body_a_byte_at_a_time(running: Running) -> None:
    running.order("drip", rate=5, times=1)
    with connect(running) as peer:
        peer.sendall(GET)
        got = b""
        while len(got.partition(b"\r\n\r\n")[2]) < 2:
            got += peer.recv(1)

    until(lambda: running.requests[0].end == "gone")
    assert got.endswith(b"\r\n\r\n" + BODY[:2])
    assert 2 <= running.requests[0].body_bytes < len(BODY)


def test_drip_comes_to_its_end(running: Running) -> None:
    running.order("drip", rate=1e6)

    assert ask(running).json() == THING


def test_hang_says_nothing_until_the_peer_leaves(running: Running) -> None:
    running.order("hang", times=1)
    with connect(running) as peer:
        peer.sendall(GET)
        until(lambda: running.requests)
        peer.shutdown(socket.SHUT_WR)

        assert peer.recv(1) == b""

    until(lambda: running.requests[0].end)
    assert ends(running) == [("hang", None, 0, "gone")]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 422, 429, 500, 502, 503, 504, 599])
def test_status_is_a_problem_under_any_status(running: Running, status: int) -> None:
    running.order("status", status=status, detail="so it is", headers={"retry-after": "7"})

    reply = ask(running)

    assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")
    assert reply.headers["retry-after"] == "7"
    problem = reply.json()
    assert problem.pop("title")
    assert problem == {"type": "about:blank", "status": status, "detail": "so it is"}


@pytest.mark.parametrize("status", [200, 404, 502])
def test_html_is_a_page_under_any_status(running: Running, status: int) -> None:
    running.order("html", status=status)

    reply = ask(running)

    assert (reply.status, reply.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert reply.body.startswith(b"<!DOCTYPE html>")


def test_answer_is_exactly_what_was_ordered(running: Running) -> None:
    running.order("answer", status=418, type="text/plain", body="港" * 400, headers={"x-odd": "1"}, times=1)
    running.order("answer", type=None)

    first, second = ask(running), ask(running)

    assert (first.status, first.body.decode()) == (418, "港" * 400)
    assert (first.headers["content-type"], first.headers["x-odd"]) == ("text/plain", "1")
    assert (second.status, second.body, "content-type" in second.headers) == (200, b"", False)


def test_wrong_type_is_the_real_body_under_another_name(running: Running) -> None:
    running.order("wrong_type", type="text/html", status=500)

    reply = ask(running)

    assert (reply.status, reply.headers["content-type"], reply.body) == (500, "text/html", BODY)


def test_no_type_is_the_real_body_under_no_name(running: Running) -> None:
    running.order("no_type")

    reply = ask(running)

    assert (reply.status, "content-type" in reply.headers, reply.body) == (200, False, BODY)


def test_invalid_utf8_is_json_but_for_its_bytes(running: Running) -> None:
    """Only the encoding can be the reason why a client refuses the body."""
    running.order("invalid_utf8")

    reply, nothing = ask(running), ask(running, "/nothing")

    for body in (reply.body, nothing.body):
        with pytest.raises(UnicodeDecodeError):
            body.decode()
    assert reply.headers["content-type"] == "application/json"
    assert json.loads(reply.body.decode(errors="replace")) == {**THING, "name": "\ufffd(thing"}


def test_not_json_calls_itself_json(running: Running) -> None:
    running.order("not_json")

    reply = ask(running)

    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    with pytest.raises(json.JSONDecodeError):
        reply.json()


def test_empty_calls_nothing_json(running: Running) -> None:
    running.order("empty", status=201)

    reply = ask(running)

    assert (reply.status, reply.headers["content-type"]) == (201, "application/json")
    assert (reply.headers["content-length"], reply.body) == ("0", b"")


@pytest.mark.parametrize(("at", "kept"), [(None, len(BODY) // 2), (0, 0), (5, 5), (9999, len(BODY) - 1)])
def test_cut_promises_more_than_it_sends(running: Running, at: int | None, kept: int) -> None:
    running.order("cut", at=at)

    reply = ask(running)

    assert (reply.headers["content-length"], reply.body) == (str(len(BODY)), BODY[:kept])
    assert ends(running) == [("cut", 200, kept, "answered")]


def test_cut_chunked_begins_a_chunk_that_it_does_not_end(running: Running) -> None:
    running.order("cut_chunked", at=5, status=500)

    reply = ask(running)

    assert (reply.status, reply.headers["transfer-encoding"]) == (500, "chunked")
    assert reply.body == b"%x\r\n%b" % (len(BODY), BODY[:5])


def test_short_length_promises_less_than_it_sends(running: Running) -> None:
    running.order("short_length", by=3)

    reply = ask(running)

    assert (reply.headers["content-length"], reply.body) == (str(len(BODY) - 3), BODY)
    assert reply.headers["connection"] == "close"


@pytest.mark.parametrize("chunked", [False, True])
def test_huge_is_the_real_object_padded_to_the_byte(running: Running, chunked: bool) -> None:
    running.order("huge", chunked=chunked)

    reply = ask(running)
    body = reply.body
    if chunked:
        body = b"".join(re.findall(rb"[0-9a-f]+\r\n((?:[^\r]|\r(?!\n))*)\r\n", body))

    assert len(body) == 2 * 1024 * 1024
    whole = json.loads(body)
    assert set(whole.pop("padding")) == {"x"}
    assert whole == THING
    assert ends(running) == [("huge", 200, 2 * 1024 * 1024, "answered")]


@pytest.mark.parametrize(("path", "size"), [("/thing", 1_048_576), ("/thing", 1_048_577), ("/nothing", 100)])
def test_huge_has_whatever_size_is_ordered(running: Running, path: str, size: int) -> None:
    running.order("huge", size=size, status=200)

    reply = ask(running, path)

    assert (len(reply.body), reply.headers["content-length"]) == (size, str(size))
    assert "padding" in reply.json()


def test_the_log_counts_what_was_written_before_the_peer_left(running: Running) -> None:
    size = 1 << 26
    running.order("huge", size=size)
    with connect(running, 65_536) as peer:
        peer.sendall(GET)
        taken = b""
        while len(taken) < 100_000:
            taken += peer.recv(4096)

    until(lambda: running.requests[0].end == "gone")
    assert len(Reply(taken).body) <= running.requests[0].body_bytes < size // 4


def test_chunked_is_the_real_answer_in_chunks(running: Running) -> None:
    running.order("chunked", size=20)

    reply = ask(running)

    parts = [BODY[start : start + 20] for start in range(0, len(BODY), 20)]
    assert "content-length" not in reply.headers
    assert reply.body == b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize(("hops", "status"), [(1, 302), (3, 307), (11, 301)])
def test_redirect_leads_over_so_many_hops_to_the_real_answer(running: Running, hops: int, status: int) -> None:
    running.order("redirect", hops=hops, status=status)
    reply = ask(running, "/thing?a=%2F&b")
    statuses = []
    while "location" in reply.headers:
        statuses.append(reply.status)
        reply = ask(running, reply.headers["location"])

    assert statuses == [status] * hops
    assert reply.json() == THING
    assert len({entry.target for entry in running.requests}) == hops + 1
    assert all(entry.target.endswith("/thing?a=%2F&b") for entry in running.requests)


def test_redirect_loop_never_ends(running: Running) -> None:
    running.order("redirect_loop", times=1)
    reply = ask(running)
    for _ in range(25):
        assert (reply.status, reply.body) == (302, b"")
        reply = ask(running, reply.headers["location"])

    assert running.requests[-1].target == running.requests[-2].target == "/_loop/302/thing"


def test_redirect_to_says_what_it_was_told(running: Running) -> None:
    running.order("redirect_to", location="http://localhost:1/elsewhere?a", status=308)

    reply = ask(running)

    assert (reply.status, reply.headers["location"]) == (308, "http://localhost:1/elsewhere?a")


def test_no_location_is_a_redirect_to_nowhere(running: Running) -> None:
    running.order("no_location")

    reply = ask(running)

    assert (reply.status, "location" in reply.headers, reply.body) == (302, False, b"")


def test_reset_is_an_rst(running: Running) -> None:
    running.order("reset")

    with pytest.raises(ConnectionResetError):
        raw(running)

    assert ends(running) == [("reset", None, 0, "answered")]


def test_close_is_an_end_without_an_answer(running: Running) -> None:
    running.order("close")

    assert raw(running, GET.replace(b"connection: close\r\n", b"")) == b""


def test_garbage_is_not_http(running: Running) -> None:
    running.order("garbage")

    answer = raw(running)

    assert answer
    assert not answer.startswith(b"HTTP/")


def test_a_fault_that_lets_no_answer_through_does_not_ask_for_one() -> None:
    targets: list[str] = []
    running, stop = host_in_thread(
        Sandbox("small", lambda request: targets.append(request.target) or SandboxResponse())
    )
    for fault in ("status", "html", "answer", "close", "garbage", "redirect_loop", "no_location"):
        running.order(fault, times=1)
        raw(running)

    stop()

    assert targets == []


# --- control API ------------------------------------------------------------------------------


def order(running: Running, value: object) -> Reply:
    return ask(running, "/_sandbox/faults", "POST", json.dumps(value).encode())


def test_the_sandbox_says_what_it_is(running: Running) -> None:
    about = ask(running, "/_sandbox").json()

    assert about == {"sandbox": "small", "plays": "a thing", "data": "sample data", "faults": list(faults.FAULTS)}


def test_faults_are_ordered_listed_and_cleared_over_http(running: Running) -> None:
    ordered = order(running, {"fault": "status", "match": "/thing", "times": 3, "status": 503, "detail": "x"})
    hit = ask(running).status
    listed = ask(running, "/_sandbox/faults").json()
    cleared = ask(running, "/_sandbox/faults", "DELETE")

    assert ordered.status == 201
    assert ordered.json()["times"] == 3
    assert hit == 503
    expected = {"fault": "status", "match": "/thing", "times": 2, "status": 503, "detail": "x", "headers": {}}
    assert listed == {"faults": [expected]}
    assert (cleared.status, cleared.body, "content-length" in cleared.headers) == (204, b"", False)
    assert ask(running).status == 200


def test_the_log_is_read_and_emptied_over_http(running: Running) -> None:
    order(running, {"fault": "cut", "match": None, "times": None})
    ask(running)

    read = ask(running, "/_sandbox/requests").json()["requests"]
    ask(running, "/_sandbox/requests", "DELETE")

    assert set(read[0]) == set(LoggedRequest.__struct_fields__)
    assert [(entry["method"], entry["target"], entry["fault"], entry["end"]) for entry in read] == [
        ("GET", "/thing", "cut", "answered")
    ]
    assert running.requests == ()


def test_no_order_befalls_the_sandbox_itself(running: Running) -> None:
    running.order("close")

    assert ask(running, "/_sandbox").status == 200
    assert ask(running, "/_sandbox/faults", "DELETE").status == 204


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "an order is a JSON object"),
        (b"[]", "an order is a JSON object"),
        (b"[" * 5000, "an order is a JSON object"),
        (b"{}", "there is no fault None; there are slow, drip"),
        (b'{"fault":"nope"}', "there is no fault 'nope'; there are slow, drip"),
        (b'{"fault":["slow"]}', "there is no fault ['slow']"),
        (b'{"fault":"slow","delay_s":"x"}', "slow: delay_s: Expected `float`, got `str`"),
        (b'{"fault":"slow","speed":1}', "slow: Object contains unknown field `speed`"),
    ],
)
def test_a_bad_order_is_refused_with_the_reason(running: Running, body: bytes, detail: str) -> None:
    reply = ask(running, "/_sandbox/faults", "POST", body)

    assert reply.status == 400
    assert reply.json()["detail"].startswith(detail)


def test_the_sandbox_itself_knows_its_paths_and_methods(running: Running) -> None:
    assert ask(running, "/_sandbox/nope").status == 404
    assert ask(running, "/_sandbox/faults", "PUT").headers["allow"] == "GET, POST, DELETE"
    assert ask(running, "/_sandbox/requests", "POST").status == 405
    assert ask(running, "/_sandbox", "HEAD").body == b""
    assert ask(running, "/_sandbox/").status == 200
    assert ask(running, "/_sandboxes").status == 404


def test_a_web_page_cannot_order_faults(running: Running) -> None:
    body = b'{"fault":"close"}'

    reply = ask(running, "/_sandbox/faults", "POST", body, origin="https://evil.example")

    assert reply.status == 403
    assert ask(running).status == 200


# --- hosting ----------------------------------------------------------------------------------

HOST = """
import sys
from signet import sandbox
from signet.settings.catalogue import find_toolset
sandbox.run(find_toolset("oj"), "127.0.0.1", 0, token=None, announce=lambda url: print(url, flush=True))
print("ended", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_sandbox_cleanly(how: signal.Signals) -> None:
    """Also while a client is waiting for a response."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOST], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_env()
    )
    assert process.stdout is not None
    host, port = process.stdout.readline().strip().removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as peer:
        body = b'{"fault":"hang"}'
        peer.sendall(b"POST /_sandbox/faults HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        assert b"201 Created" in peer.recv(65_536)
        peer.sendall(GET)
        process.send_signal(how)

        out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, out, err) == (0, "ended\n", "")


def test_a_sandbox_runs_in_a_thread_beside_anything_else() -> None:
    first, end_first = sandbox.start_in_thread(find_toolset("oj"))
    second, end_second = sandbox.start_in_thread(find_toolset("oj"), token="t")
    try:
        for url in (first, second):
            with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), PATIENCE_S) as peer:
                peer.sendall(b"GET /health HTTP/1.1\r\nconnection: close\r\n\r\n")
                assert b"200 OK" in rest_of(peer)
    finally:
        end_first()
        end_second()

    assert first != second


def test_a_sandbox_that_does_not_exist_is_named_with_those_that_do() -> None:
    done = run("sandbox", "nope")

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"signet: there is no sandbox 'nope'; there are: boj, oj\n"


def test_a_toolset_without_a_sandbox_has_none_to_start() -> None:
    with pytest.raises(ValueError, match="the toolset plantuml has no sandbox"):
        sandbox.start_in_thread(find_toolset("plantuml"))


def test_a_sandbox_can_be_started_from_a_loop_of_ones_own() -> None:
    async def main() -> tuple[str, str]:
        running = await start(Sandbox("small", handle), "localhost")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rpartition(":")[2]))
        writer.write(GET)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        await running.stop()
        await running.stop()
        return running.url, answer.decode()

    url, answer = asyncio.run(main())

    assert url.startswith("http://")
    assert answer.endswith(BODY.decode())


def test_a_peer_that_resets_the_connection_costs_nothing(running: Running) -> None:
    running.order("slow", delay_s=3600, times=1)
    peer = connect(running)
    peer.sendall(GET)
    until(lambda: running.requests)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()

    until(lambda: running.requests[0].end == "gone")

    assert ask(running).json() == THING
