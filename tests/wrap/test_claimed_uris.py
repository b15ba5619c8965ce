"""A URI that several wrapped servers claim belongs to the first of them by name, and the log tells it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from door_calls import rpc
from processes import SIGNET, Server, serving_command
from signet.mcp.snapshot import Snapshot
from signet.relay.claimed_uris import MAX_TOLD, ClaimedUris

SERVER = """
import json, sys
name, uris, templates = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
capabilities = {"tools": {}, "resources": {"subscribe": True}}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") is None:
        continue
    result = {
        "initialize": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": name, "version": "1"}
        },
        "tools/list": {"tools": []},
        "resources/list": {"resources": [{"uri": uri, "name": f"{name}'s"} for uri in uris]},
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": t, "name": name} for t in templates]},
        "resources/read": {"contents": [{"uri": message.get("params", {}).get("uri"), "text": f"of {name}"}]},
        "completion/complete": {"of": name},
    }.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
Claims = tuple[Sequence[str], Sequence[str]]
BOTH: dict[str, tuple[Claims, Claims]] = {
    "both list it": ((["mem://x"], []), (["mem://x"], [])),
    "both have a template": (([], ["mem://{id}"]), ([], ["mem://{name}"])),
    "the first has a template": (([], ["mem://{id}"]), (["mem://x"], [])),
    "the second has a template": ((["mem://x"], []), ([], ["mem://{id}"])),
}


def config(folder: Path, order: Sequence[str], claims: dict[str, Claims]) -> str:
    """Write the file of a client with a server for each name, in an order; return its path."""
    program = folder / "server.py"
    program.write_text(SERVER)
    servers: dict[str, Any] = {
        name: {"command": sys.executable, "args": [str(program), name, *map(json.dumps, claims[name])]}
        for name in order
    }
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return str(path)


def ask(server: Server, method: str, **params: Any) -> Any:
    return server.post("/mcp", rpc(method, params)).json()["result"]


@pytest.mark.parametrize("order", [("good", "zebra"), ("zebra", "good")])
@pytest.mark.parametrize("kind", BOTH)
def test_the_first_server_by_name_answers_whatever_the_order_of_the_file(
    tmp_path: Path, order: tuple[str, str], kind: str
) -> None:
    claims = dict(zip(("good", "zebra"), BOTH[kind], strict=True))
    command = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--no-console")
    with serving_command(*command, "--config", config(tmp_path, order, claims)) as server:
        for _ in range(3):
            read = ask(server, "resources/read", uri="mem://x")["contents"][0]["text"]
            resources = ask(server, "resources/list")["resources"]
            templates = ask(server, "resources/templates/list")["resourceTemplates"]
        told = [line for line in server.stderr().splitlines() if "server.uri_claimed" in line and "mem://x" in line]

    assert read == "of good"
    assert [one["name"] for one in resources] in ([], ["good's"])
    assert [one["name"] for one in resources] == (["good's"] if claims["good"][0] else [])
    assert {one["name"] for one in templates} <= {"good"} or not claims["good"][1]
    assert len(told) == 1
    assert "good" in told[0]
    assert "zebra" in told[0]


def test_a_name_beside_a_uri_leads_to_no_other_server(tmp_path: Path) -> None:
    claims: dict[str, Claims] = {"good": (["mem://x"], []), "zebra": (["mem://x"], [])}
    reference = {"type": "ref/resource", "uri": "mem://x", "name": "zebra_any"}
    command = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--no-console")
    with serving_command(*command, "--config", config(tmp_path, ("good", "zebra"), claims)) as server:
        read = ask(server, "resources/read", uri="mem://x", name="zebra_any")["contents"][0]["text"]
        completed = ask(server, "completion/complete", ref=reference, argument={"name": "id", "value": ""})

    assert read == "of good"
    assert completed == {"of": "good"}


@pytest.mark.parametrize(("count", "is_served"), [(10_000, True), (10_001, False)])
def test_a_list_of_one_page_has_no_more_entries_than_one_of_many(tmp_path: Path, count: int, is_served: bool) -> None:
    """Each entry is looked at on the event loop; a server that lists more is told, and the others are served."""
    claims: dict[str, Claims] = {"good": (["mem://x"], []), "huge": ([], [])}
    command = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--no-console")
    path = Path(config(tmp_path, ("good", "huge"), claims))
    many = f"[f'mem://{{n}}' for n in range({count})]"
    (tmp_path / "server.py").write_text(SERVER.replace("for uri in uris]", f"for uri in uris or {many}]"))
    with serving_command(*command, "--config", str(path)) as server:
        listed = ask(server, "resources/list")["resources"]
        read = ask(server, "resources/read", uri="mem://x")["contents"][0]["text"]
        told = server.stderr().count("huge cannot be listed: it lists more than 10,000 entries, or 32 MB")

    assert (len(listed), read, told > 0) == (count + 1 if is_served else 1, "of good", not is_served)


def listing(resources: Sequence[bytes]) -> Snapshot:
    """Return what a server says that lists resources alone."""
    about, entries = Raw(b"{}"), tuple(Raw(one) for one in resources)
    return Snapshot(era="handshake", version="", server_info=about, capabilities=about, resources=entries)


def test_the_lines_have_a_bound() -> None:
    lines: list[dict[str, Any]] = []
    uris = ClaimedUris(lambda _, **facts: lines.append(facts))
    for name in "ab":
        listed = [json.dumps({"uri": f"mem://{n}"}).encode() for n in range(1000)]
        uris.learn(name, listing(listed))
    for n in range(1000):
        assert uris.owner(f"mem://{n}") == "a"

    assert len(lines) == MAX_TOLD + 1
    assert uris.owner("mem://else") is None
