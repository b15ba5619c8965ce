"""A server of the handshake era on stdio: hostile schemas, and results that are hostile to check against them."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/support")]

from fuzz.schema_grammar import hostile_schema, hostile_value  # noqa: E402 - it is found only now
from wrap.hostile_schema_server import TOOLS, say  # noqa: E402

SEED = 27
GENERATED = 60
MAX_BYTES = 512 << 10


def generated() -> list[dict[str, Any]]:
    """Return tools with schemas of the grammar for their arguments and results."""
    chance = random.Random(SEED)
    return [
        {"name": f"generated_{number}", "inputSchema": _schema(chance), "outputSchema": _schema(chance)}
        for number in range(GENERATED)
    ]


def _schema(chance: random.Random) -> dict[str, Any]:
    hostile = hostile_schema(chance)
    return {"type": "object", "properties": {"value": {"$ref": hostile["$ref"]}}, "$defs": hostile["$defs"]}


def small_value(chance: random.Random) -> Any:
    """Return a value of the grammar whose JSON has at most 512 KiB: large answers are an attack of their own."""
    while True:
        value = hostile_value(chance)
        if len(json.dumps(value)) <= MAX_BYTES:
            return value


def main() -> None:
    """Answer until the input ends."""
    chance = random.Random(SEED)
    for line in sys.stdin:
        got = json.loads(line)
        if "id" not in got:
            continue
        result: dict[str, Any] = {}
        if got["method"] == "initialize":
            info = {"name": "hostile", "version": "1.0.0"}
            version = got["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif got["method"] == "tools/list":
            result = {"tools": TOOLS + generated()}
        elif got["method"] == "tools/call":
            value = {"value": small_value(chance)}
            result = {"content": [{"type": "text", "text": "said"}], "structuredContent": value}
        say({"id": got["id"], "result": result})


if __name__ == "__main__":
    main()
