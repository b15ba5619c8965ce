"""Names that callers make up for a wrapped server: what is kept of them is little, and nothing after a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attack.observation import MIB, Observed
from attack.wrapped_processes import ALICE, HELLO, Session, end, wrapping
from processes import Server

LONG = "n" * 900_000
MAX_URIS = 1_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with wrapping(tmp_path_factory.mktemp("odd"), "shared") as server:
        yield server


def asked(session: Session, method: str, **params: Any) -> Any:
    """Return the answer to a request of a session."""
    return session.send({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).json()


def opened(server: Server) -> Session:
    session = Session(server.port)
    assert session.open().status == 200
    return session


def test_long_names_are_kept_as_digests_or_refused(server: Server) -> None:
    session = opened(server)
    for number in range(5):
        asked(session, "prompts/get", name=f"{number} {LONG}")
    process = Observed(server.process.pid)
    before = process.memory()

    prompts = [asked(session, "prompts/get", name=f"{number} of many {LONG}") for number in range(150)]
    resources = [asked(session, "resources/subscribe", uri=f"odd:{number}{LONG}") for number in range(50)]
    kept = process.memory() - before

    assert all("result" in one for one in prompts)
    assert {one["error"]["message"] for one in resources} == {"Invalid params: the uri has more than 4096 bytes"}
    assert kept < 64 * MIB


def test_a_session_has_a_thousand_subscriptions_and_the_next_session_has_them_again(server: Server) -> None:
    for _ in range(2):
        session = opened(server)
        answers = [asked(session, "resources/subscribe", uri=f"odd:{number}") for number in range(MAX_URIS + 1)]
        asked(session, "resources/unsubscribe", uri="odd:0")
        again = asked(session, "resources/subscribe", uri="odd:again")
        end(session)

        assert all("result" in one for one in (*answers[:MAX_URIS], again))
        assert answers[MAX_URIS]["error"]["message"] == (
            "this session has 1000 subscriptions: end one with resources/unsubscribe"
        )


def test_a_progress_token_is_no_longer_than_a_name(server: Server) -> None:
    session = opened(server)
    tokens = ["t" * 4_096, "t" * 4_097]

    found = [asked(session, "tools/call", name="count", _meta={"progressToken": token}) for token in tokens]

    assert [("result" in one, one.get("error", {}).get("code")) for one in found] == [(True, None), (False, -32602)]


def test_what_a_client_says_of_itself_has_a_limit(server: Server) -> None:
    hello = {**HELLO, "capabilities": {"experimental": {"x": "y" * 70_000}}}

    answer = Session(server.port).send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})

    assert "mcp-session-id" not in answer.headers
    assert answer.json()["error"]["message"] == "Invalid params: the params of initialize have more than 65536 bytes"


def test_what_the_clients_of_one_address_say_of_themselves_leaves_room_for_others(tmp_path: Path) -> None:
    hello = {**HELLO, "capabilities": {"experimental": {"x": "y" * 65_000}}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    with wrapping(tmp_path, "shared") as server:
        answers = [Session(server.port).send(message) for _ in range(140)]
        other = Session(server.port, ALICE).send(message)

    opened = ["mcp-session-id" in answer.headers for answer in answers]
    assert opened == [True] * 128 + [False] * 12
    assert (
        answers[-1]
        .json()["error"]["message"]
        .endswith("all places for sessions are taken: end some, or try again later")
    )
    assert "mcp-session-id" in other.headers
