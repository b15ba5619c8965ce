"""Where a wrapped server's result breaks its contract: in the answers, the journal, the log, the console and `call`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here
from door_calls import invocation
from processes import ROOT, SIGNET, Server, piping, serving_command

COMMAND = (sys.executable, str(ROOT / "tests/wrap/breaking_server.py"))
BROKEN = "gave a result that breaks its contract"
PLACES = {
    "nested": "rows.1.id (type)",
    "incomplete": 'the whole result (required "rows")',
    "bare": "it has no structuredContent",
    "many": "rows.0.id (type), rows.1.id (type), rows.2.id (type) and 2 more",
}
"""What each tool's answer says behind `BROKEN`."""
STEPS = {
    "nested": ("rows[1].id", "type"),
    "incomplete": ("$", "required"),
    "bare": ("$", ""),
    "many": ("rows[0].id", "type"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the journals."""
    return tmp_path_factory.mktemp("broken")


def served(folder: Path, *flags: str) -> Any:
    words = ("--port", "0", "--log-dir", str(folder), "--name", "breaking", *flags)
    return serving_command(SIGNET, "wrap", "--serve", *words, "--", *COMMAND)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """Serve the server with contracts that are enforced."""
    with served(folder / "enforce") as running:
        yield running


def errors_of(folder: Path) -> list[dict[str, Any]]:
    """Return the errors in the journal of a folder."""
    lines = [line for path in folder.rglob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return [record["error"] for record in map(json.loads, lines) if record.get("error")]


@pytest.mark.parametrize("tool", PLACES)
def test_each_answer_says_where(server: Server, tool: str) -> None:
    """On MCP it is a result that the model reads; the value itself is never repeated."""
    sentence = f"{tool} {BROKEN}: {PLACES[tool]}"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
    headers = {"accept": "application/json, text/event-stream"}
    slug = f"breaking.{tool}"

    by_mcp = server.post("/mcp", call, headers)
    by_rest = server.post(f"/api/tools/{tool}", {})
    by_envelope = server.post(f"/mcp/tool/{slug}", invocation(slug, {}))

    result = by_mcp.json()["result"]
    assert (result["isError"], result["content"][0]["text"]) == (True, sentence)
    assert result["_meta"]["canonical_code"] == "INVALID_OUTPUT"
    assert (by_rest.status, by_rest.json()["error"]["message"]) == (502, sentence)
    assert by_envelope.json()["error"]["data"] == {"canonical_code": "INVALID_OUTPUT"}
    assert b"hidden-value" not in by_mcp.body + by_rest.body + by_envelope.body


@pytest.mark.parametrize("tool", PLACES)
def test_the_console_shows_the_place(server: Server, tool: str) -> None:
    told = server.post("/-/call", {"tool": tool, "arguments": {}}).json()

    steps = {step["name"]: step for step in told["road"]}
    assert (steps["tool"]["status"], steps["output contract"]["status"]) == ("passed", "failed")
    assert (steps["output contract"]["place"], steps["output contract"]["keyword"]) == STEPS[tool]
    assert "unsupported" not in json.dumps(told)
    assert [step["detail"] for step in told["road"] if step["name"] == "upstream"] == ["breaking: the wrapped server"]


@pytest.mark.parametrize(("tool", "told"), [("failing", "no such row"), ("asking", None)])
def test_the_error_or_question_of_a_server_breaks_no_contract(server: Server, tool: str, told: str | None) -> None:
    """The road ends at the tool, and nothing of Signet's insides is shown."""
    answer = server.post("/-/call", {"tool": tool, "arguments": {}}).json()

    steps = {step["name"]: step for step in answer["road"]}
    assert (steps["tool"]["status"], steps["output contract"]["status"]) == ("failed", "skipped")
    assert told is None or steps["tool"]["detail"] == told
    assert answer["places"] == []
    assert "unsupported" not in json.dumps(answer)


def test_the_journal_and_the_log_say_where(tmp_path: Path) -> None:
    with served(tmp_path) as running:
        for tool in PLACES:
            running.post(f"/api/tools/{tool}", {})
        live = running.post("/-/journal", {}).json()["records"]
        log = running.stderr()

    sentences = {f"{tool} {BROKEN}: {where}" for tool, where in PLACES.items()}
    assert {error["message"] for error in errors_of(tmp_path)} == sentences
    assert {(one["place"], one["keyword"]) for one in live if one["tool"] == "nested"} <= {("rows[1].id", "type")}
    assert all(where.replace('"', '\\"') in log for where in PLACES.values())
    assert "hidden-value" not in log + json.dumps(live)


def test_in_shadow_the_result_is_delivered_and_the_journal_and_the_log_say_where(tmp_path: Path) -> None:
    with served(tmp_path, "--validation", "shadow", "--log", "debug") as running:
        replies = {tool: running.post(f"/api/tools/{tool}", {}) for tool in PLACES}
        shown = running.post("/-/call", {"tool": "nested", "arguments": {}}).json()
        log = running.stderr()

    assert {reply.status for reply in replies.values()} == {200}
    told = {(error["message"], error["details"]["mode"]) for error in errors_of(tmp_path)}
    assert told == {(f"{tool} {BROKEN}: {where}", "shadow") for tool, where in PLACES.items()}
    assert all(where.replace('"', '\\"') in log for where in PLACES.values())
    assert {(step["place"], step["keyword"]) for step in shown["road"] if step["status"] == "failed"} == {
        ("rows[1].id", "type")
    }


def test_the_command_line_and_stdio_say_where() -> None:
    done = run_here("call", "nested", "--", *COMMAND)
    with piping(SIGNET, "wrap", "--no-journal", "--", *COMMAND) as pipe:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nested", "arguments": {}}}
        reply = pipe.ask(call)

    assert json.loads(done.stdout)["error"]["message"] == f"nested {BROKEN}: rows.1.id (type)"
    assert reply["result"]["content"][0]["text"] == f"nested {BROKEN}: rows.1.id (type)"
