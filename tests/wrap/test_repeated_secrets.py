"""A server that repeats the secrets of its operator: no caller, lock, recording or page has one of them."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import Raw
from msgspec.structs import replace

from door_calls import rpc
from processes import PATIENCE_S, SIGNET, clean_env, piping, serving_command
from signet.lock.file import Lock, read_lock, write_lock
from signet.relay.spec_secrets import echoed_secrets
from signet.settings.server_spec import ServerSpec

BEARER = 'b3ar/er"+token=='
API_KEY = "0p3rator-key"
URL_KEY = "url%2Fkey+1234"
PASSWORD = "pass-w0rd-9"
BASIC = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
COOKIE = "c00kie-value"
HEADERS = f"""\
Authorization: Bearer {BEARER}
X-Account: {API_KEY}
X-Proxy: Basic {BASIC}
X-Jar: session={COOKIE}; theme=dark
Accept-Language: en-GB-oxendict
"""
SECRETS = (BEARER, API_KEY, URL_KEY, "url/key 1234", PASSWORD, BASIC, COOKIE)
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "witness", "version": "1"}}


def all_of_it(headers: str) -> dict[str, Any]:
    """Return the results of a server that repeats what it was sent, by method."""
    echo = {"structuredContent": {"headers": headers, headers: 1.50, "number": 12345678}}
    return {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "serverInfo": {"name": "echo", "version": headers},
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "experimental": {headers: {}}},
            "instructions": f"You are {headers}.",
        },
        "tools/list": {
            "tools": [
                {
                    "name": "echo",
                    "description": f"Echo {headers}",
                    "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "default": headers}}},
                    "outputSchema": {"type": "object", "required": ["headers"]},
                }
            ]
        },
        "prompts/list": {"prompts": [{"name": "ask", "description": headers}]},
        "resources/list": {"resources": [{"uri": f"echo://{quote(headers)}", "name": headers}]},
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "echo://{x}", "name": headers}]},
        "tools/call": {**echo, "content": [{"type": "text", "text": json.dumps(echo)}]},
        "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": headers}}]},
        "resources/read": {"contents": [{"uri": "echo://a", "text": headers}]},
    }


class _Echo(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = f"{self.path} {dict(self.headers)}"
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
        result = all_of_it(headers).get(message.get("method"))
        if message.get("params", {}).get("name") == "fail":
            result = None
        reply |= {"result": result} if result is not None else {"error": {"code": -32000, "message": headers}}
        body = json.dumps(reply).encode()
        self.send_response(200 if "id" in message else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if "id" in message else 0))
        self.end_headers()
        if "id" in message:
            self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(405)

    def do_DELETE(self) -> None:
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp?key={URL_KEY}&mode=readonly"
    server.shutdown()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headers.txt").write_text(HEADERS, encoding="utf-8")
    return tmp_path


def leaks(text: bytes | str) -> list[str]:
    """Return the secrets in a text, as they are or as JSON writes them."""
    shown = text if isinstance(text, str) else text.decode()
    plain = shown.replace("\\\\", "\\").replace('\\"', '"').replace("\\/", "/")
    return [one for one in SECRETS if one in shown or one in plain or quote(one, safe="") in shown]


def source(folder: Path, url: str) -> tuple[str, ...]:
    return ("--name", "echo", "--url", url, "--header-file", str(folder / "headers.txt"))


def test_the_lock_has_no_secret_that_the_server_repeats(folder: Path, url: str) -> None:
    lock = str(folder / "signet.lock")
    words = [SIGNET, "lock", "--lock-file", lock, *source(folder, url)]
    runs = [
        subprocess.run(words, env=clean_env(), capture_output=True, timeout=PATIENCE_S, check=False) for _ in range(2)
    ]

    written = (folder / "signet.lock").read_text(encoding="utf-8")
    assert [run.returncode for run in runs] == [0, 0], runs
    assert [leaks(one) for run in runs for one in (run.stdout, run.stderr)] == [[]] * 4
    assert leaks(written) == []
    assert "[redacted]" in written
    assert "en-GB-oxendict" in written, "what no secret is, stays"


@pytest.mark.parametrize("is_locked", [False, True], ids=["unpinned", "pinned"])
def test_no_answer_list_or_recording_has_a_secret_that_the_server_repeats(
    folder: Path,
    url: str,
    is_locked: bool,
) -> None:
    lock = ("--lock-file", str(folder / "signet.lock"))
    if is_locked:
        words = [SIGNET, "lock", *lock, *source(folder, url)]
        subprocess.run(words, env=clean_env(), capture_output=True, timeout=PATIENCE_S, check=True)
    flags = ("--no-journal", "--record", str(folder / "tape"), *(lock if is_locked else ("--lock", "off")))
    asked = [
        ("initialize", HELLO),
        ("tools/list", {}),
        ("prompts/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("tools/call", {"name": "echo", "arguments": {"a": "b"}}),
        ("prompts/get", {"name": "ask"}),
        ("prompts/get", {"name": "fail"}),
        ("resources/read", {"uri": "echo://a"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "a", "value": ""}}),
    ]
    with piping(SIGNET, "wrap", *flags, *source(folder, url)) as pipe:
        answers = [pipe.ask(rpc(method, params, request_id=number)) for number, (method, params) in enumerate(asked, 1)]
        _, _, log = pipe.finish()

    assert [leaks(json.dumps(answer)) for answer in answers] == [[]] * len(asked)
    result = answers[5]["result"]
    assert json.loads(result["content"][0]["text"])["structuredContent"] == result["structuredContent"]
    assert result["structuredContent"]["number"] == 12345678
    assert "[redacted]" in json.dumps(answers[1])
    assert leaks(log) == []
    files = [one for one in (folder / "tape").rglob("*") if one.is_file()]
    assert leaks("".join(one.read_text(encoding="utf-8") for one in files)) == []


def test_a_secret_that_an_older_lock_has_is_not_served(folder: Path, url: str) -> None:
    """The lock was written before secrets were redacted: what it pins is redacted when it is read."""
    lock = str(folder / "signet.lock")
    words = [SIGNET, "lock", "--lock-file", lock, *source(folder, url)]
    subprocess.run(words, env=clean_env(), capture_output=True, timeout=PATIENCE_S, check=True)
    locked = read_lock(lock).servers["echo"]
    said = replace(
        locked.snapshot, instructions=f"You are {API_KEY}.", server_info=Raw(f'{{"name":"{BASIC}"}}'.encode())
    )
    write_lock(lock, Lock({"echo": replace(locked, snapshot=said)}))

    with piping(SIGNET, "wrap", "--no-journal", "--lock-file", lock, *source(folder, url)) as pipe:
        hello = pipe.ask(rpc("initialize", HELLO, request_id=1))["result"]
        pipe.finish()

    assert (hello["instructions"], hello["serverInfo"]) == ("You are [redacted].", {"name": "[redacted]"})


def test_no_page_has_a_secret_that_the_server_repeats(folder: Path, url: str) -> None:
    flags = ("--serve", "--port", "0", "--no-journal", "--lock", "off")
    with serving_command(SIGNET, "wrap", *flags, *source(folder, url)) as server:
        pages = [
            server.post("/api/tools/echo", {"a": "b"}),
            *(
                server.ask("GET", path)
                for path in ("/api/tools", "/openapi.json", "/-/tools", "/-/tools/echo", "/-/health")
            ),
        ]

    assert pages[0].status == 200, pages[0].body
    assert [leaks(page.body) for page in pages] == [[]] * len(pages)


def test_a_child_that_repeats_its_variables_is_redacted_too(tmp_path: Path) -> None:
    """A variable counts by its name: a path or a plain setting stays."""
    script = tmp_path / "server.py"
    script.write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if 'id' in message:\n"
        "        info = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': dict(os.environ)}\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': info}), flush=True)\n",
        encoding="utf-8",
    )
    env = {"API_KEY": "v3ry-secret", "SSH_AUTH_SOCK": "/run/agent.sock", "REGION": "eu-central-1"}
    words = [word for pair in env.items() for word in ("--env", "=".join(pair))]
    with piping(SIGNET, "wrap", "--no-journal", "--lock", "off", *words, "--", sys.executable, str(script)) as pipe:
        hello = pipe.ask(rpc("initialize", HELLO, request_id=1))

    said = hello["result"]["serverInfo"]
    assert {name: said[name] for name in env} == {**env, "API_KEY": "[redacted]"}


@pytest.mark.parametrize(
    ("spec", "secrets"),
    [
        ({"url": "https://h.example/mcp?key=12345678"}, {"12345678"}),
        ({"url": "https://h.example/mcp?key=1234567"}, set()),
        ({"url": "https://h.example/mcp?page_size=12345678&mode=production"}, set()),
        ({"url": "https://h.example/mcp?customerId=3f2a77d0-9b1e-4c58-8a34-0d4c0b7f6a10"}, set()),
        ({"url": "https://h.example/mcp?x=3f2a77d09b1e4c588a34"}, {"3f2a77d09b1e4c588a34"}),
        (
            {"url": "https://user:pass-word@h.example/mcp"},
            {"user:pass-word", "pass-word", base64.b64encode(b"user:pass-word").decode()},
        ),
        ({"headers": (("X-Any", "abcdefgh"), ("User-Agent", "curl/8.0 (linux)"))}, {"abcdefgh"}),
        ({"headers": (("Authorization", "Bearer abcdefgh"),)}, {"Bearer abcdefgh", "abcdefgh"}),
        (
            {"command": ("npx", "mcp-remote", "https://h.example?token=abcdefgh")},
            {"abcdefgh"},
        ),
        ({"command": ("x", "--bearer", "abcdefgh")}, {"abcdefgh"}),
        ({"command": ("x", "--header", "Authorization: Bearer abcdefgh1")}, {"Bearer abcdefgh1", "abcdefgh1"}),
        ({"env": (("TOKEN", "abcdefgh"), ("NAME", "abcdefgh1"), ("PWD", "/home/me/here"))}, {"abcdefgh"}),
        ({}, set()),
    ],
)
def test_the_secrets_of_answers_are_those_that_the_operator_wrote_as_such(
    spec: dict[str, Any], secrets: set[str]
) -> None:
    assert set(echoed_secrets(ServerSpec(name="s", **spec))) == secrets
