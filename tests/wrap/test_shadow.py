"""Shadow validation of a wrapped server: arguments that break their contract are in the journal, whatever follows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from journals import records_in
from processes import SIGNET, piping

from .doors import StdioDoor, ask

SERVER = """
import json, sys
tool = {"name": "add", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    said = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        info = {"name": "strict", "version": "1"}
        said = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif message["method"] == "tools/list":
        said = {"result": {"tools": [tool]}}
    elif message["method"] == "tools/call" and sys.argv[1] == "error":
        said = {"error": {"code": -32603, "message": "choked"}}
    elif message["method"] == "tools/call" and sys.argv[1] == "error result":
        said = {"result": {"content": [{"type": "text", "text": "choked"}], "isError": True}}
    elif message["method"] == "tools/call":
        sys.exit(3)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
"""


@pytest.mark.parametrize(("how", "word"), [("error", "choked"), ("error result", "choked"), ("end", "was gone")])
def test_the_journal_has_the_violation_and_the_failure_that_follows_it(how: str, word: str, tmp_path: Path) -> None:
    words = ("wrap", "--validation", "shadow", "--log-dir", str(tmp_path))
    with piping(SIGNET, *words, "--", sys.executable, "-I", "-S", "-c", SERVER, how) as pipe:
        door = StdioDoor(pipe, "")
        ask(door, "tools/call", name="add", arguments={"n": "three"})
        door.stderr()

    [error] = [one["error"] for one in records_in(tmp_path)]
    assert (error["code"], word in error["message"]) == ("INTERNAL_ERROR", True)
    assert (error["details"]["mode"], error["details"]["violation"]["code"]) == ("shadow", "INVALID_INPUT")
    assert "n" in error["details"]["violation"]["message"]
