"""What a wrapped server lists is served, whatever else it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from wrap.callers import ERAS
from wrap.wrappers import PYTHON, WRAP, on_stdio

SERVER = """
import json, sys

RESULTS = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "nextCursor": ""},
    "resources/list": {"resources": [{"uri": "mem://r", "name": "r"}], "nextCursor": None},
}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        known = RESULTS.get(asked["method"])
        outcome = {"result": known} if known else {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **outcome}), flush=True)
"""


@pytest.mark.parametrize("era", ERAS)
def test_resources_without_templates_and_an_empty_cursor_are_no_obstacle(tmp_path: Path, era: str) -> None:
    """The npm server @kazuph/mcp-fetch declares resources and knows no templates."""
    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")

    with on_stdio(WRAP, (PYTHON, str(script)), era) as caller:
        caller.open()
        tools = caller.pages("tools/list", "tools")
        resources = caller.pages("resources/list", "resources")

    assert tools == [b'{"name": "t", "inputSchema": {"type": "object"}}']
    assert resources == [b'{"uri": "mem://r", "name": "r"}']
