"""The official SDK's client and server understand each other through `signet wrap`, in all pairings of eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from mcp import StdioServerParameters

from processes import ROOT, SIGNET, Server, clean_env
from wrap.callers import ERAS
from wrap.sdk_conversation import converse
from wrap.wrappers import DOORS, PYTHON, WRAP, serving_wrapped

REFERENCE = (PYTHON, str(ROOT / "tests/wrap/reference_server.py"), "stdio")
PAIRINGS = [f"{DOORS[era != child_era]} {era} {child_era}" for era in ERAS for child_era in ERAS]
"""All pairings of eras, each through one door: where both sides speak alike on stdio, where not over HTTP."""


class Pairings:
    """What came of each conversation; each is had once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._servers: dict[str, Server] = {}
        self._seen: dict[str, Any] = {}

    def seen(self, pairing: str) -> dict[str, Any]:
        """Return what came of a conversation."""
        if pairing not in self._seen:
            self._seen[pairing] = self._converse(*pairing.split())
        found = self._seen[pairing]
        assert not isinstance(found, BaseException), repr(found)
        return dict(found)

    def _converse(self, door: str, era: str, child_era: str) -> Any:
        try:
            return asyncio.run(converse(self._door(door, child_era), era))
        except BaseException as failure:  # noqa: BLE001 - each test of the pairing tells it
            return failure

    def _door(self, door: str, child_era: str) -> str | StdioServerParameters:
        flags = ("--era", child_era, "--")
        if door == "stdio":
            words = ["wrap", *flags, *REFERENCE]
            return StdioServerParameters(command=SIGNET, args=words, env=clean_env(), cwd=self._folder)
        if child_era not in self._servers:
            wrapped = serving_wrapped(WRAP.with_flags("--era", child_era), REFERENCE)
            self._servers[child_era] = self._stack.enter_context(wrapped)
        return f"{self._servers[child_era].url}/mcp"

    def close(self) -> None:
        """End the servers."""
        self._stack.close()


@pytest.fixture(scope="module")
def pairings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pairings]:
    """All pairings, which the tests share."""
    made = Pairings(str(tmp_path_factory.mktemp("wrap")))
    yield made
    made.close()


@pytest.fixture(params=PAIRINGS)
def seen(request: pytest.FixtureRequest, pairings: Pairings) -> dict[str, Any]:
    """What came of the conversation of one pairing."""
    found = pairings.seen(request.param)
    found["pairing"] = request.param
    return found


def test_each_side_speaks_its_own_era(seen: dict[str, Any]) -> None:
    era = seen["pairing"].split()[1]

    assert seen["version"] == {"handshake": "2025-11-25", "modern": "2026-07-28"}[era]


def test_a_form_reaches_the_user_and_its_answer_the_server(seen: dict[str, Any]) -> None:
    message, schema = seen["form"]

    assert message == "Who?"
    assert schema["required"] == ["username", "email"]
    answer = '{"username": "ada", "email": "ada@example.invalid"}'
    assert seen["elicitation"] == f"User response: action=accept, content={answer}"


def test_a_model_is_sampled(seen: dict[str, Any]) -> None:
    assert seen["sampling"] == "LLM response: Paris"
    assert seen["sampled"] == ["Capital?"]


def test_roots_are_listed(seen: dict[str, Any]) -> None:
    assert json.loads(seen["roots"])["client_roots"]["roots"] == [{"uri": "file:///work", "name": "work"}]


def test_a_tool_asks_in_two_rounds(seen: dict[str, Any]) -> None:
    assert '"color": "color"' in seen["rounds"]


def test_a_tool_asks_three_things_and_keeps_its_state(seen: dict[str, Any]) -> None:
    assert seen["several"].startswith("state-ok ")
    told = json.loads(seen["several"].removeprefix("state-ok "))
    assert set(told) == {"user_name", "greeting", "client_roots"}


def test_a_prompt_asks_too(seen: dict[str, Any]) -> None:
    assert json.loads(seen["prompt"])["user_context"]["content"] == {"context": "context"}


def test_progress_is_reported(seen: dict[str, Any]) -> None:
    assert seen["progress"] == ("Done.", [(done, 100, f"{done} of 100") for done in (0, 50, 100)])


def test_logs_are_told(seen: dict[str, Any]) -> None:
    messages = ("Tool execution started", "Tool processing data", "Tool execution completed")
    assert seen["logs"] == [("info", message, "reference") for message in messages]


def test_arguments_are_completed(seen: dict[str, Any]) -> None:
    assert seen["completion"] == (["paris", "park", "party"], 3, False)


@pytest.mark.parametrize("change", ["updated", "tools", "prompts"])
def test_changes_are_told(seen: dict[str, Any], change: str) -> None:
    assert seen[f"change {change}"] is True


def test_a_cancelled_call_ends_at_the_server(seen: dict[str, Any]) -> None:
    assert seen["cancelled"] is True
