"""Envelopes on stdio beside the same envelopes over HTTP, and the lines of their journal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from journals import FOLDER, LATEST
from processes import SIGNET, piping, serving

ENVELOPE = {"jsonrpc": "2.0", "id": "1"}


@pytest.mark.spec("5.envelope.required-method")
@pytest.mark.parametrize(
    "params",
    [
        {"tool": "mcp.tool:plantuml.encode", "input": {"plantumlCode": "A"}},
        {"tool": "mcp.tool:plantuml.encode"},
        {"input": {"plantumlCode": "A"}},
    ],
)
def test_an_envelope_without_a_method_has_one_answer_on_both_transports(params: dict[str, Any]) -> None:
    message = {**ENVELOPE, "params": params}

    with piping() as pipe, serving("--toolsets", "plantuml") as server:
        answers = [pipe.ask(message), server.post("/mcp/tool/plantuml.encode", message).json()]

    error = {"code": -32602, "message": "Invalid params", "data": {"canonical_code": "INVALID_INPUT"}}
    assert answers == [{"jsonrpc": "2.0", "id": "1", "error": error}] * 2


def test_a_message_with_neither_a_method_nor_a_member_of_an_envelope_is_no_envelope() -> None:
    with piping() as pipe:
        answer = pipe.ask({**ENVELOPE, "params": {"name": "encodePlantUML"}})

    assert answer["error"]["code"] == -32600


def test_a_record_is_one_line_for_every_reader_of_lines(tmp_path: Path) -> None:
    """JSON leaves U+0085, U+2028 and U+2029 as they are, and text tools end a line at each."""
    name = "mcp.tool:A\x85B\u2028C\u2029D\u00e9"
    params = {"tool": name, "input": {}}

    with piping(SIGNET, "stdio", "--log-dir", str(tmp_path)) as pipe:
        pipe.ask({**ENVELOPE, "method": "mcp.tool.invoke", "params": params})
        pipe.finish()

    text = (tmp_path / FOLDER / LATEST).read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    assert [name in json.dumps(record, ensure_ascii=False) for record in records] == [True]
