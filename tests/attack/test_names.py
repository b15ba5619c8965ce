"""Host, Origin and Authorization: each comes once, in the head, and only whole names count."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from attack.clients import ATTACKER, Answer, connect, exchange, head, post
from attack.observation import CALL, CODE, costing_nothing
from door_calls import invocation
from processes import Server, run, serving, serving_limited

TOKEN = "a-token-of-forty-two"
RIGHT = ("Authorization", f"Bearer {TOKEN}")
CLOSE = ("Connection", "close")
DOORS = {
    "/mcp": CALL,
    "/api/tools/encodePlantUML": CODE,
    "/mcp/tool/plantuml.encode": invocation("plantuml.encode", CODE),
    "/mcp/v1/encode-plantuml": CODE,
    "/healthz": {},
    "/nowhere": {},
}
NO_LOOPBACK_NAMES = [
    "localhost:80@evil.com", "localhost@evil.com", "evil.com@localhost", "[::1].evil.com", "[::1]evil.com",
    "[::1]:80@evil.com", "[::1]:80.evil.com", "localhost:evil.com", "localhost:80:80", "localhost/evil.com",
    "localhost:80/evil.com", "localhost\\@evil.com", "localhost#evil.com", "localhost?evil.com", "127.0.0.1.evil.com",
    "127.0.0.1:x", "localhost,evil.com", "localhost evil.com", "[::1", "::1]", "[[::1]]", "[localhost]",
    "localhost:-1", "localhost:８０",
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that waits for nine megabytes of a body however busy the machine is."""
    with serving_limited("--toolsets", "plantuml", body_s=60) as running:
        yield running


@pytest.fixture(scope="module")
def secured() -> Iterator[Server]:
    with serving("--toolsets", "plantuml", env={"SIGNET_TOKEN": TOKEN}) as running:
        yield running


def answers_to(server: Server, sent: bytes) -> list[Answer]:
    with contextlib.closing(connect(server.port, ATTACKER)) as client:
        return exchange(client, sent)


def status_of(server: Server, sent: bytes) -> int:
    [answer] = answers_to(server, sent)
    return answer.status


# --- twice


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize(
    "twice",
    [
        [("Host", "localhost"), ("Host", "localhost")],
        [("Host", "localhost"), ("host", "evil.example")],
        [("HOST", "evil.example"), ("Host", "localhost")],
        [("Host", "localhost"), ("Origin", "http://localhost"), ("Origin", "http://localhost")],
        [("Host", "localhost"), ("Origin", "https://evil.example"), ("ORIGIN", "http://localhost")],
        [("Host", "localhost"), RIGHT, RIGHT],
        [("Host", "localhost"), ("Authorization", "Bearer wrong"), RIGHT],
    ],
    ids=["same hosts", "good host first", "good host last", "same origins", "two origins", "same tokens", "two tokens"],
)
def test_a_header_that_decides_who_may_ask_is_refused_twice(
    secured: Server, path: str, twice: list[tuple[str, str]]
) -> None:
    token = [] if RIGHT in twice else [RIGHT]

    assert status_of(secured, post(path, DOORS[path], [*twice, *token, CLOSE], host=None)) == 400


def test_once_each_is_taken(secured: Server) -> None:
    once = [("Origin", "http://localhost"), RIGHT, CLOSE]

    assert status_of(secured, post("/mcp", CALL, once)) == 200


# --- trailers


def chunked(fields: list[tuple[str, str]], trailers: list[tuple[str, str]], host: str | None = "localhost") -> bytes:
    """Return a call in chunks, with trailers after the last."""
    body = post("/mcp", CALL).partition(b"\r\n\r\n")[2]
    own = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"), CLOSE]
    ends = "".join(f"{name}: {value}\r\n" for name, value in trailers).encode()
    return head("POST", "/mcp", [*own, *fields], host) + b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, ends)


@pytest.mark.parametrize(
    ("fields", "trailers", "host", "status"),
    [
        ([], [RIGHT], "localhost", 401),
        ([("Authorization", "Bearer wrong")], [RIGHT], "localhost", 401),
        ([RIGHT], [("Authorization", "Bearer wrong")], "localhost", 200),
        ([RIGHT], [("Host", "localhost")], "evil.example", 421),
        ([RIGHT], [("Host", "evil.example")], "localhost", 200),
        ([RIGHT, ("Origin", "https://evil.example")], [("Origin", "http://localhost")], "localhost", 403),
        ([RIGHT], [("Origin", "https://evil.example")], "localhost", 200),
        ([RIGHT], [("Mcp-Protocol-Version", "1999-01-01")], "localhost", 200),
        ([RIGHT], [("Content-Type", "text/plain")], "localhost", 200),
    ],
    ids=["token", "right token", "wrong token", "good host", "bad host", "good origin", "bad origin", "version",
         "content type"],
)  # fmt: skip
def test_a_trailer_changes_nothing(
    secured: Server, fields: list[tuple[str, str]], trailers: list[tuple[str, str]], host: str, status: int
) -> None:
    assert status_of(secured, chunked(fields, trailers, host)) == status


def test_a_trailer_does_not_change_where_the_next_request_begins(server: Server) -> None:
    framing = [("Content-Length", "5"), ("Transfer-Encoding", "identity")]
    first = chunked([], framing).replace(b"Connection: close\r\n", b"")

    statuses = [answer.status for answer in answers_to(server, first + post("/mcp", CALL, [CLOSE]))]

    assert statuses in ([200, 200], [400])


def test_a_trailer_does_not_reach_the_next_request(secured: Server) -> None:
    first = chunked([RIGHT], [("Authorization", f"Bearer {TOKEN}"), ("Host", "localhost")])
    first = first.replace(b"Connection: close\r\n", b"")

    answers = answers_to(secured, first + post("/mcp", CALL, [CLOSE]))

    assert [answer.status for answer in answers] == [200, 401]


def test_a_flood_of_trailers_is_refused(server: Server) -> None:
    """Trailers are part of the body's framing, which has a limit of its own."""
    whole = chunked([], [])[: -len(b"\r\n")]

    with costing_nothing(server):
        statuses = [answer.status for answer in answers_to(server, whole + b"a: b\r\n" * 1_600_000 + b"\r\n")]

    assert statuses in ([400], [413], [431])


# --- names


@pytest.mark.parametrize("host", NO_LOOPBACK_NAMES)
def test_a_host_that_only_looks_like_loopback_is_refused(server: Server, host: str) -> None:
    raw = host.encode().decode("latin-1")

    assert status_of(server, head("GET", "/healthz", [CLOSE], raw)) in {400, 421}
    assert status_of(server, post("/mcp", CALL, [CLOSE], raw)) in {400, 421}


@pytest.mark.parametrize("host", ["localhost:80@evil.com", "[::1].evil.com"])
def test_the_two_names_that_were_let_in_are_misdirected(server: Server, host: str) -> None:
    assert status_of(server, post("/mcp", CALL, [CLOSE], host)) == 421


@pytest.mark.parametrize("host", NO_LOOPBACK_NAMES)
def test_an_origin_that_only_looks_like_loopback_is_refused(server: Server, host: str) -> None:
    origin = ("Origin", f"http://{host}".encode().decode("latin-1"))

    assert status_of(server, post("/mcp", CALL, [CLOSE, origin])) in {400, 403}


@pytest.mark.parametrize("host", ["localhost:80@evil.com", "[::1].evil.com"])
def test_a_page_of_the_two_names_is_forbidden(server: Server, host: str) -> None:
    assert status_of(server, post("/mcp", CALL, [CLOSE, ("Origin", f"http://{host}")])) == 403


def test_false_names_cost_a_bystander_nothing(server: Server) -> None:
    with costing_nothing(server) as bystander:
        for host in NO_LOOPBACK_NAMES:
            answers_to(server, head("GET", "/healthz", [CLOSE], host.encode().decode("latin-1")))
            bystander.ask()

    assert bystander.answered == 4 + len(NO_LOOPBACK_NAMES) + 1


# --- any host


def test_any_host_without_a_token_is_a_usage_error_on_loopback_too() -> None:
    refused = run("serve", "--port", "0", "--toolsets", "boj", "--allowed-hosts", "*")

    assert refused.returncode == 2
    assert b"SIGNET_TOKEN" in refused.stderr


@pytest.mark.parametrize(
    ("toolsets", "env"), [("plantuml", {}), ("plantuml,waiting", {"SIGNET_TOKEN": TOKEN})], ids=["public", "token"]
)
def test_any_host_is_answered_to_where_every_tool_is_public_or_a_token_is_set(
    toolsets: str, env: dict[str, str]
) -> None:
    with serving_limited("--toolsets", toolsets, "--allowed-hosts", "*", env=env) as server:
        assert status_of(server, post("/mcp", CALL, [CLOSE, RIGHT], "any.example")) == 200
