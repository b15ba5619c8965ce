"""No secret is written into lock, recording, journal or log: of a command line, a message or standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from door_calls import rpc
from processes import PATIENCE_S, SIGNET, clean_env
from secret_texts import CORES, SECRETS

ECHO = """
import json, sys

key = ["-----BEGIN " + "EC PRIVATE KEY-----", "Zz9" * 20, "Zz9" * 20, "-----END EC PRIVATE KEY-----", "ready"]
print(*sys.argv[1:], *key, sep="\\n", file=sys.stderr, flush=True)
TOOL = {"name": "echo", "description": "Return a text.", "inputSchema": {"type": "object"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    params = message.get("params", {})
    info = {"name": "echo", "version": "1"}
    results = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]},
    }
    result = results.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def signet(folder: Path, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    (folder / "echo.py").write_text(ECHO, encoding="utf-8")
    command = [SIGNET, *words, "--", sys.executable, "echo.py", *SECRETS]
    done = subprocess.run(
        command, cwd=folder, env=clean_env(), input=stdin, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done


def leaks(text: str) -> list[str]:
    return [core for core in CORES if core in text]


def test_the_lock_holds_no_secret_of_a_command_line(tmp_path: Path) -> None:
    done = signet(tmp_path, "lock")

    written = (tmp_path / "signet.lock").read_text(encoding="utf-8")
    assert leaks(written) == []
    assert len(json.loads(written)["servers"][0]["command"]) == 2 + len(SECRETS), "each word has its place"
    assert leaks((done.stdout + done.stderr).decode()) == []


def test_a_recording_the_journal_and_the_log_hold_no_secret(tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    calls = [{"name": "echo", "arguments": {"text": text}} for text in SECRETS]
    calls += [{"name": text, "arguments": {}} for text in SECRETS]
    said = [rpc("initialize", hello), *(rpc("tools/call", call, request_id=9 + at) for at, call in enumerate(calls))]

    done = signet(tmp_path, "wrap", "--record", "tape", stdin="".join(json.dumps(one) + "\n" for one in said).encode())

    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "echo.py"]
    assert {"recording.json", "messages.jsonl", "calls.jsonl"} < {path.name for path in files}
    assert any(path.is_relative_to(tmp_path / "tape/mcp_server") for path in files), "there is a journal"
    assert {path.name: leaks(path.read_text(encoding="utf-8")) for path in files} == {path.name: [] for path in files}
    assert b"server.stderr server=echo line=ready" in done.stderr, "the log has what the server wrote"
    assert leaks(done.stderr.decode()) == []
    assert b"Zz9" not in done.stderr, "nor the lines of a private key"
