"""Logs as JSON: one object per line, with the same facts as the text has."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from door_calls import rpc
from processes import run, serving
from signet.system.logs import ERROR, INFO, WARN, Log

CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})


def test_a_line_is_an_object_with_time_level_target_event_and_facts(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log("signet", "info", as_json=True)
    log.line(INFO, "http", "request.refused", status=404, ms=1.5, why='a "b"\nc', target="/x")

    written = json.loads(capsys.readouterr().err)

    assert datetime.fromisoformat(written.pop("ts")).tzinfo is not None
    assert written == {
        "level": "info",
        "target": "signet::http",
        "event": "request.refused",
        "facts": {"status": 404, "ms": 1.5, "why": 'a "b"\nc', "target": "/x"},
    }


def test_a_text_of_several_lines_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Log("signet", "error", as_json=True).text(ERROR, "call", "Traceback\n  line\n")

    written = capsys.readouterr().err

    assert written.count("\n") == 1
    assert json.loads(written)["facts"] == {"text": "Traceback\n  line\n"}


def test_a_secret_is_removed_and_a_control_character_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log("signet", "warn", secrets=("hunter2-hunter2",), as_json=True)
    log.line(WARN, "http", "server.warning", why="it is hunter2-hunter2 \x9b\x1b[31m")
    log.line(INFO, "http", "not.written")

    written = capsys.readouterr().err

    assert "hunter2" not in written
    assert not {"\x9b", "\x1b"} & set(written)
    assert written.count("\n") == 1


def test_every_line_of_a_server_is_an_object() -> None:
    flags = ("--toolsets", "plantuml", "--log-format", "json", "--access-log", "--log", "debug")
    with serving(*flags) as server:
        server.post("/mcp", CALL, {"x-request-id": "call-1"})
        server.ask("GET", "/nothing")
        server.wait_for("NOT_FOUND")
        lines = [json.loads(line) for line in server.stderr().splitlines()]

    assert [line["event"] for line in lines][:2] == ["server.listening", "call.done"]
    access = [line["facts"] for line in lines if line["target"] == "signet::access"]
    assert [(line["request"], line["status"], line["id"]) for line in access[:1]] == [("POST /mcp", 200, "call-1")]


def test_another_form_is_refused() -> None:
    done = run("serve", "--log-format", "xml")

    assert done.returncode == 2
    assert b"write text or json" in done.stderr


def test_the_help_names_both_forms() -> None:
    page = " ".join(run("serve", "--help").stdout.decode().split())

    assert "--log-format FORM form of log lines: text or json (default: text)" in page
