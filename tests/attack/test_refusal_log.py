"""Refusals as log lines: the address and the reason of each kind, not too many of them, and never the token."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from attack.clients import ATTACKER, SECOND_ATTACKER, connect, exchange, head, post
from attack.observation import CALL
from processes import PATIENCE_S, Server, serving, serving_limited

TOKEN = "a-token-of-forty-two"
RIGHT = ("Authorization", f"Bearer {TOKEN}")
CLOSE = ("Connection", "close")
ALLOWED = [RIGHT, CLOSE]
JSON = ("Content-Type", "application/json")
WAITING_TOOL = "/api/tools/waiting_turn"
LINE = re.compile(r"^(?P<time>\S+)  INFO \S+: request\.refused(?P<facts> .*)$", re.MULTILINE)
REFUSALS = {
    "malformed": (b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", 400),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "two hosts": (head("GET", "/", [("Host", "localhost"), *ALLOWED]), 400),
    "no token": (post("/mcp", CALL, [CLOSE]), 401),
    "foreign page": (post("/mcp", CALL, [("Origin", "https://evil.example"), *ALLOWED]), 403),
    "unknown path": (head("GET", "/nowhere", ALLOWED), 404),
    "slow head": (b"GET / HTTP/1.1\r\n", 408),
    "slow body": (head("POST", "/mcp", [JSON, ("Content-Length", "9"), *ALLOWED]), 408),
    "large body": (post(WAITING_TOOL, b" " * (1 << 20) + b"{}", ALLOWED), 413),
    "content type": (head("POST", "/mcp", [("Content-Length", "0"), ("Content-Type", "text/plain"), *ALLOWED]), 415),
    "wrong host": (post("/mcp", CALL, ALLOWED, "evil.example"), 421),
    "many headers": (head("GET", "/", [("a", "b")] * 200), 431),
    "no JSON at the MCP door": (post("/mcp", b"{", ALLOWED), 400),
    "no JSON at the REST door": (post(WAITING_TOOL, b"{", ALLOWED), 400),
    "no JSON at the envelope": (post("/mcp/tool/waiting.turn", b"{", ALLOWED), 400),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    env = {"SIGNET_TOKEN": TOKEN}
    with serving_limited("--toolsets", "plantuml,waiting", "--log", "info", env=env, head_s=1, body_s=1) as running:
        yield running


def refused(server: Server, sent: bytes, source: str = ATTACKER) -> int:
    """Send a request that is refused; return the status."""
    with contextlib.closing(connect(server.port, source)) as client:
        [answer] = exchange(client, sent)
    return answer.status


def lines(server: Server) -> list[dict[str, str]]:
    """Return the facts of each refusal that was logged, and its time."""
    facts = re.compile(r' (\w+)=("(?:[^"\\]|\\.)*"|\S+)')
    return [{"time": found["time"], **dict(facts.findall(found["facts"]))} for found in LINE.finditer(server.stderr())]


def left_out_of(told: list[dict[str, str]]) -> int:
    """Return how many refusals were counted instead of written."""
    return sum(int(line.get("left_out", 0)) for line in told)


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_is_a_line_with_its_address_its_status_and_a_reason(server: Server, kind: str) -> None:
    """Where others have used up the lines of the second, a refusal is left out: it is sent again."""
    sent, status = REFUSALS[kind]
    told: list[dict[str, str]] = []
    deadline = time.monotonic() + PATIENCE_S

    while not told and time.monotonic() < deadline:
        before = len(lines(server))
        assert refused(server, sent) == status
        time.sleep(0.1)
        told = [line for line in lines(server)[before:] if line.get("status") == str(status)]

    assert told, server.stderr()[-2000:]
    assert told[0]["address"] == ATTACKER
    assert told[0]["reason"].strip('"') != ""
    assert TOKEN not in server.stderr()


def test_the_address_is_that_of_the_client(server: Server) -> None:
    deadline = time.monotonic() + PATIENCE_S

    while SECOND_ATTACKER not in {line["address"] for line in lines(server)}:
        assert time.monotonic() < deadline
        assert refused(server, REFUSALS["no token"][0], SECOND_ATTACKER) == 401
        time.sleep(0.1)


def test_a_full_address_is_a_line_too() -> None:
    toolsets = ("--toolsets", "plantuml,waiting", "--log", "info")
    with (
        serving_limited(*toolsets, per_address=1) as server,
        contextlib.closing(connect(server.port)) as hanging,
    ):
        hanging.sendall(post("/api/tools/waiting_forever", {}))
        server.wait_for("waiting_forever: started")

        assert refused(server, head("GET", "/healthz", [CLOSE])) == 503
        server.wait_for("request.refused")
        assert [(line["address"], line["status"]) for line in lines(server)] == [(ATTACKER, "503")]


def test_of_a_flood_of_refusals_ten_lines_a_second_are_written_and_the_rest_is_counted() -> None:
    with serving("--toolsets", "plantuml", env={"SIGNET_TOKEN": TOKEN, "SIGNET_LOG": "info"}) as server:
        sent = 300
        for _ in range(sent):
            assert refused(server, post("/mcp", CALL, [CLOSE])) == 401
        deadline = time.monotonic() + PATIENCE_S
        # The next line counts what was left out before it; it may not be the last one when the log is read.
        while len(told := lines(server)) + left_out_of(told) < sent:
            assert time.monotonic() < deadline, server.stderr()[-2000:]
            time.sleep(0.2)
            assert refused(server, post("/mcp", CALL, [CLOSE])) == 401
            sent += 1

    left_out = left_out_of(told)
    times = [datetime.fromisoformat(line["time"]) for line in told]
    assert left_out >= 200
    assert left_out + len(told) == sent
    # By the clock of the lines themselves: ten in a second, and ten of the second that had begun.
    assert all((later - first).total_seconds() >= 0.9 for first, later in zip(times, times[20:], strict=False))


def test_refusals_are_not_told_where_only_warnings_are() -> None:
    with serving("--toolsets", "plantuml", env={"SIGNET_TOKEN": TOKEN}) as server:
        for kind in ("no token", "unknown path", "malformed"):
            assert refused(server, REFUSALS[kind][0]) == REFUSALS[kind][1]

        assert "request.refused" not in server.stderr()


HIDDEN = {
    "other scheme": post("/mcp", CALL, [("Authorization", f"Basic {TOKEN}"), CLOSE]),
    "in the path": head("GET", f"/{TOKEN}", [CLOSE]),
    "in the query": head("GET", f"/nowhere?token={TOKEN}", ALLOWED),
    "in the host": head("GET", "/", ALLOWED, f"{TOKEN}.example"),
    "in the origin": post("/mcp", CALL, [("Origin", f"https://{TOKEN}.example"), *ALLOWED]),
    "in the method": head(TOKEN.upper().replace("-", ""), "/", [CLOSE]),
    "in the content type": head("POST", "/mcp", [("Content-Length", "0"), ("Content-Type", TOKEN), *ALLOWED]),
    "in the body": post("/mcp", b"{" + TOKEN.encode(), ALLOWED),
    "twice": head("GET", "/", [RIGHT, RIGHT, CLOSE]),
}
"""Refusals that carry the token where somebody may have put it."""


def test_no_line_holds_the_token_or_acts_on_a_terminal() -> None:
    with serving("--toolsets", "plantuml", "--log", "info", env={"SIGNET_TOKEN": TOKEN}) as server:
        for sent in HIDDEN.values():
            assert refused(server, sent) >= 400
        time.sleep(1.1)  # so that the lines of the next second are free
        assert refused(server, head("GET", "/\x1b]52;c;x\x07", ALLOWED)) >= 400
        assert refused(server, head("GET", "/", ALLOWED, "evil\x1b[2J\x9b31m.example")) >= 400
        deadline = time.monotonic() + PATIENCE_S
        while lines_of(said := server.stderr()) < len(HIDDEN) + 2:
            assert time.monotonic() < deadline, said
            time.sleep(0.01)

    assert TOKEN not in said
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", said)


def lines_of(said: str) -> int:
    return len(LINE.findall(said))
