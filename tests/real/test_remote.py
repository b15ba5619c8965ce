"""`signet call` and `signet tools` with --url: ask a running server, and say with its address what is wrong."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here
from processes import Server, free_port, run, serving
from real.witness import JUDGE_TOOLS, READY_TOOLS, SOURCE, TOOL, source_of

TOKEN = "tok-5f1d9c77"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--sandbox", env={"SIGNET_TOKEN": TOKEN}) as running:
        yield running


def asked(*args: str, token: str | None = TOKEN, run: Callable[..., Any] = run_here) -> tuple[int, str, str]:
    done = run(*args, env={} if token is None else {"SIGNET_TOKEN": token})
    assert TOKEN.encode() not in done.stdout + done.stderr
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("end", ["", "/", "/mcp", "/mcp/"])
def test_the_address_may_end_as_people_write_it(server: Server, end: str) -> None:
    status, out, told = asked("call", TOOL, f"plantumlCode={SOURCE}", "--url", server.url + end)

    assert (status, told) == (0, "")
    assert source_of(json.loads(out)["url"]) == SOURCE


def test_a_running_servers_tools_are_listed_and_shown(server: Server) -> None:
    _, table, _ = asked("tools", "--url", server.url, run=run)
    _, page, _ = asked("tools", "get_problem", "--url", server.url)
    _, listed, _ = asked("tools", "--json", "--url", server.url)

    assert [line.split()[0] for line in table.splitlines()] == ["tool", *READY_TOOLS, *JUDGE_TOOLS]
    assert page.startswith("get_problem: Read a problem\n")
    assert "  source (required): " in page
    assert f"--url {server.url}/mcp" in page
    assert json.loads(listed)[0]["name"] == TOOL


def test_help_of_a_remote_tool_has_its_arguments(server: Server) -> None:
    status, text, _ = asked("call", "get_problem", "--help", "--url", server.url)

    assert status == 0
    assert "  id (required): " in text


def test_arguments_have_the_types_that_the_server_states(server: Server) -> None:
    """A list out of one word, a switch, and text for the rest."""
    words = ("db=FM08", "codes=FXERD01", "lang=en", "include_raw=true")

    status, out, told = asked("call", "boj_get_data_code", *words, "--url", server.url)

    assert (status, told) == (0, "")
    assert json.loads(out)["series_count"] == 1


def test_an_error_of_a_tool_is_status_one_with_its_code(server: Server) -> None:
    """As through the pipeline here."""
    words = ("call", "get_problem", "source=leetcode", "id=none-such")

    status, out, told = asked(*words, "--url", server.url, run=run)
    here = run_here(*words, "--sandbox")

    error = json.loads(out)["error"]
    assert (status, error["canonical_code"]) == (1, "NOT_FOUND")
    assert error["message"] == json.loads(here.stdout)["error"]["message"]
    assert told == f"signet: NOT_FOUND: {error['message']}\n"


def test_a_result_in_text_is_its_content(server: Server) -> None:
    status, out, _ = asked("call", "get_platform_status", "--url", server.url)

    assert status == 0
    assert json.loads(out)["content"][0]["type"] == "text"


def test_an_unknown_tool_is_told_with_the_nearest(server: Server) -> None:
    sentence = (
        "there is no tool 'get_problems'; did you mean get_problem? "
        f"'signet tools --url {server.url}/mcp' lists what there is"
    )

    called = asked("call", "get_problems", "--url", server.url)
    shown = asked("tools", "get_problems", "--url", server.url)

    assert (called[0], called[2]) == (1, f"signet: {sentence}\n")
    assert json.loads(called[1])["error"] == {
        "code": "TOOL_NOT_FOUND", "canonical_code": "NOT_FOUND", "message": sentence,
    }  # fmt: skip
    assert shown == (2, "", f"signet: {sentence}\n")


def refused(*args: str, token: str | None = None) -> str:
    status, out, told = asked(*args, token=token)
    assert (status, out, len(told.splitlines())) == (2, "", 1), told
    return told


@pytest.mark.parametrize("command", [("tools",), ("call", TOOL)])
def test_a_token_that_is_missing_or_wrong_is_told(server: Server, command: tuple[str, ...]) -> None:
    missing = refused(*command, "--url", server.url)
    wrong = refused(*command, "--url", server.url, token="another")

    assert missing == f"signet: {server.url}/mcp asks for a token: set SIGNET_TOKEN\n"
    assert wrong.startswith(f"signet: {server.url}/mcp does not accept the token in SIGNET_TOKEN")
    assert "another" not in wrong


def test_a_server_that_is_not_there_is_told() -> None:
    port = free_port()

    told = refused("call", TOOL, "--url", f"http://127.0.0.1:{port}")

    assert told == (
        f"signet: no server answers at http://127.0.0.1:{port}/mcp (Connection refused);"
        " start one with 'signet serve', or check the address\n"
    )
    assert "no server answers at http://none.invalid/mcp" in refused("tools", "--url", "http://none.invalid")


@contextlib.contextmanager
def web_server(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), handler) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{web.server_port}"
        finally:
            web.shutdown()
            thread.join()


@contextlib.contextmanager
def answering(status: int, body: bytes, kind: str) -> Iterator[str]:
    """Run a web server that answers every POST in one way."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with web_server(Handler) as url:
        yield url


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, b"<html>none</html>", "text/html"),
        (302, b"", "text/html"),
        (200, b"<html>\x1b[31mwelcome</html>", "text/html"),
        (200, b'{"hello": "world"}', "application/json"),
        (200, b'{"jsonrpc": "2.0", "id": 0, "result": 5}', "application/json"),
        (
            200,
            b'{"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "no\\n\\u001b[31m"}}',
            "application/json",
        ),
    ],
    ids=["404", "redirect", "page", "other JSON", "other result", "refusal"],
)
def test_what_is_no_mcp_server_is_told(status: int, body: bytes, kind: str) -> None:
    with answering(status, body, kind) as url:
        told = refused("tools", "--url", url)

    assert told.startswith(f"signet: {url}/mcp does not answer as an MCP server (")
    assert told.endswith("; write --url http://HOST:PORT, and the path unless it is /mcp\n")
    assert "\x1b" not in told


class Hostile(BaseHTTPRequestHandler):
    """An MCP server whose only tool is out to break the caller's screen."""

    def reply(self, _asked: dict[str, object], result: object) -> dict[str, object]:
        return {"result": result}

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        result: dict[str, object] = {"protocolVersion": "2025-06-18"}
        if asked["method"] == "tools/list":
            schema = {
                "type": "object",
                "properties": {"a": {"$ref": "#/properties/a"}, "b": {"description": "\x1b[2J"}},
            }
            result = {"tools": [{"name": "%s", "description": "%(prog)s %d \x1b[31m\u202e", "inputSchema": schema}]}
        elif asked["method"] == "tools/call":
            result = {"content": [{"type": "text", "text": "no \x1b[31m"}, 5], "isError": True, "_meta": []}
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **self.reply(asked, result)}).encode()
        self.send_response(200 if "id" in asked else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Refusing(Hostile):
    """The same, with JSON-RPC errors for results."""

    def reply(self, asked: dict[str, object], result: object) -> dict[str, object]:
        if asked["method"] != "tools/call":
            return {"result": result}
        return {"error": {"code": -32602, "message": "too few", "data": {"canonical_code": "INVALID_INPUT"}}}


def test_a_json_rpc_error_is_an_error_of_the_tool() -> None:
    with web_server(Refusing) as url:
        status, out, told = asked("call", "%s", "--url", url, token=None)

    assert (status, told) == (1, "signet: INVALID_INPUT: too few\n")
    assert json.loads(out) == {
        "error": {"code": "INVALID_INPUT", "canonical_code": "INVALID_INPUT", "message": "too few"}
    }


@pytest.mark.parametrize("command", [("tools",), ("tools", "%s"), ("call", "%s", "--help"), ("call", "%s", "a=1")])
def test_what_a_hostile_server_says_is_harmless(command: tuple[str, ...]) -> None:
    with web_server(Hostile) as url:
        status, out, told = asked(*command, "--url", url, token=None)

    assert (status, "Traceback" in told) == (1 if "a=1" in command else 0, False)
    assert not {"\x1b", "\u202e"} & set(out + told)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("127.0.0.1:8080", "--url is no address of a server"),
        ("ftp://127.0.0.1", "--url is no address of a server"),
        ("http://", "--url is no address of a server"),
        ("http://127.0.0.1:port", "--url is no address of a server"),
        ("http://me:secret@127.0.0.1", "--url holds a name or a password"),
    ],
)
def test_what_is_no_address_is_refused(url: str, sentence: str) -> None:
    told = refused("tools", "--url", url)

    assert sentence in told
    assert "secret" not in told


@pytest.mark.parametrize(
    "flags", [("--sandbox",), ("--toolsets", "boj"), ("--oj-base-url", "http://x"), ("--replay", "tape")], ids=str
)
def test_flags_that_a_running_server_cannot_obey_are_refused(flags: tuple[str, ...], tmp_path: Path) -> None:
    told = refused("call", TOOL, "--url", "http://127.0.0.1:1", *flags)

    assert told == f"signet: --url asks a running server, which {flags[0]} does not change: write one of the two\n"
