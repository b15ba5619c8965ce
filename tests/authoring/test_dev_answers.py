"""Development mode's answers: at every door the exception, traceback and violation; in production none of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failing_tools import DOORS, EXCEPTION, TOKEN, TOOLS, VALUE, Doors, open_doors
from processes import SIGNET, piping, run
from signet.asgi import create_app
from signet.settings.usage import UsageError

FAILURES: dict[str, tuple[str, dict[str, Any]]] = {
    "exception": ("fail", {"how": "loudly "}),
    "output": ("lie", {"what": "short"}),
    "no json": ("circle", {}),
    "input": ("add", {"a": "the-wrong-argument"}),
}


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with open_doors(tmp_path_factory.mktemp("dev"), "--dev") as doors:
        yield doors


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with open_doors(tmp_path_factory.mktemp("production")) as doors:
        yield doors


@pytest.mark.parametrize("door", DOORS)
def test_an_exception_is_told_with_the_frames_of_the_user(dev: Doors, door: str) -> None:
    line = 1 + TOOLS.splitlines().index('        return {}["first-cause"]')

    facts = dev.facts(door, "fail", {"how": "loudly "})

    assert facts["message"].startswith(f"fail failed: RuntimeError: {EXCEPTION} loudly ")
    assert f'tools.py", line {line}, in fail' in facts["traceback"]
    assert "KeyError: 'first-cause'" in facts["traceback"]
    assert "signet/" not in facts["traceback"]


@pytest.mark.parametrize("door", DOORS)
def test_a_broken_promise_names_path_keyword_and_value(dev: Doors, door: str) -> None:
    facts = dev.facts(door, "lie", {"what": "short"})

    reason = f'"{VALUE}" is not of type "integer"'
    assert facts["violations"] == [{"path": "result.1", "keyword": "type", "value": VALUE, "message": reason}]
    assert facts["message"].endswith(f"result.1: {reason} (type)")


@pytest.mark.parametrize("door", DOORS)
def test_a_result_that_is_no_json_is_told_in_words(dev: Doors, door: str) -> None:
    assert "object" in dev.facts(door, "circle", {})["message"].partition("contract: ")[2]


@pytest.mark.parametrize("door", DOORS)
def test_a_refused_argument_names_path_keyword_and_value(dev: Doors, door: str) -> None:
    facts = dev.facts(door, "add", {"a": "x"})

    reason = '"x" is not of type "integer"'
    assert facts["violations"] == [{"path": "a", "keyword": "type", "value": "x", "message": reason}]
    assert facts["message"] == f"Invalid arguments for add: a: {reason}"


@pytest.mark.parametrize("door", DOORS)
def test_a_secret_is_masked_and_a_long_value_cut(dev: Doors, door: str) -> None:
    told = [dev.ask(door, "fail", {"how": "loudly "}), dev.ask(door, "lie", {"what": "long"})]

    facts = dev.facts(door, "lie", {"what": "long"})["violations"][0]
    assert TOKEN not in json.dumps(told)
    assert TOKEN[:12] not in json.dumps(told)
    assert facts["value"].startswith('"[redacted][redacted]')
    assert len(facts["value"]) < len(TOKEN) * 100
    assert facts["message"].endswith('is not of type "integer"')


@pytest.mark.parametrize("door", DOORS)
def test_an_envelope_that_is_none_is_told_why(dev: Doors, door: str) -> None:
    """Spec 5 fixes message and code, and asks for the canonical code among the data; the reason stands beside it."""
    if not door.endswith("envelope"):
        assert dev.facts(door, "add", {})["violations"][0]["keyword"] == "required"
        return
    broken = {"jsonrpc": "2.0", "id": "1", "method": "mcp.tool.invoke", "params": {"tool": "mcp.tool:tools.add"}}

    headers = {"authorization": f"Bearer {TOKEN}"}
    answer = (
        dev.pipe.ask(broken)
        if door.startswith("stdio")
        else dev.server.post("/mcp/tool/tools.add", broken, headers).json()
    )

    error = answer["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")
    assert error["data"]["canonical_code"] == "INVALID_INPUT"
    assert '"input" is a required property' in error["data"]["message"]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("door", DOORS)
def test_production_tells_no_traceback_no_text_and_no_value(production: Doors, door: str, failure: str) -> None:
    tool, arguments = FAILURES[failure]

    told = json.dumps(production.ask(door, tool, arguments))

    for word in ("raceback", EXCEPTION, VALUE, "first-cause", "tools.py", "violations", "keyword", "RuntimeError"):
        assert word not in told
    if door.endswith("envelope"):
        data = production.ask(door, tool, arguments)["error"]["data"]
        assert data.keys() == {"canonical_code"}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("door", DOORS)
def test_the_kind_of_an_answer_is_that_of_production(dev: Doors, production: Doors, door: str, failure: str) -> None:
    tool, arguments = FAILURES[failure]

    def kind(doors: Doors) -> Any:
        answer = doors.ask(door, tool, arguments)
        error = answer.get("error") or answer["result"]
        code = error.get("code") or (error["isError"], error["_meta"]["canonical_code"])
        return sorted(answer), code, (error.get("data") or {}).get("canonical_code")

    assert kind(dev) == kind(production)


def test_the_log_has_the_traceback_in_development_mode_alone(dev: Doors, production: Doors) -> None:
    for doors in (dev, production):
        doors.ask("rest", "fail", {"how": "loudly "})
        doors.ask("rest", "lie", {"what": "short"})
        doors.ask("rest", "add", {"a": "x"})

    logged, silent = dev.server.stderr(), production.server.stderr()

    assert f"\nRuntimeError: {EXCEPTION} loudly [redacted]" in logged
    assert "call.refused tool=tools.add code=INVALID_INPUT" in logged
    assert VALUE in logged
    assert "call.bug" in silent
    for word in ("Traceback", EXCEPTION, VALUE, "call.refused"):
        assert word not in silent
    assert TOKEN not in logged + silent


def test_the_journal_is_that_of_production(tmp_path: Path) -> None:
    """A recording that is made in development mode can be compared with one that is not."""
    with open_doors(tmp_path, "--dev") as doors:
        doors.ask("rest", "fail", {"how": "loudly "})
        doors.ask("rest", "lie", {"what": "short"})

    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "journal").rglob("*.jsonl"))

    assert "tools.fail" in written
    for word in ("Traceback", EXCEPTION, VALUE, "violations"):
        assert word not in written


def test_a_tool_that_holds_the_event_loop_is_named(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hold", "arguments": {}}}

    with piping(SIGNET, "stdio", str(tmp_path / "tools.py"), "--no-journal", "--dev") as pipe:
        pipe.ask(call)
        _, _, log = pipe.finish()

    assert b"loop.held tool=hold ms=" in log


@pytest.mark.parametrize(
    ("flags", "why"),
    [(("--host", "0.0.0.0"), b"can be reached by others"), (("--workers", "2"), b"leave --workers out")],
)
def test_development_mode_is_refused_where_others_could_see_it(
    tmp_path: Path, flags: tuple[str, ...], why: bytes
) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")

    done = run("serve", str(tmp_path / "tools.py"), "--port", "0", "--dev", *flags, env={"SIGNET_TOKEN": TOKEN})

    assert done.returncode == 2
    assert why in done.stderr
    assert b"listening" not in done.stderr


def test_another_server_cannot_be_in_development_mode() -> None:
    with pytest.raises(UsageError, match="signet serve and signet stdio"):
        create_app({"SIGNET_DEV": "1"}, toolsets="plantuml")
