"""`signet doctor`: what it finds, how it says so, and what it never prints."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import signet_here
from processes import EXTENDED, PATIENCE_S, ROOT, SIGNET, clean_env, serving
from signet.toolsets.oj.sandbox.api import build
from upstream_harness import UpstreamHarness, playing

SECRET = "hunter2-and-more"
ONLY_PLANTUML = ("--toolsets", "plantuml")


def doctor(
    *args: str, env: Mapping[str, str] | None = None, cwd: Path = ROOT, command: tuple[str, ...] = ()
) -> tuple[int, dict[str, dict[str, str]]]:
    """Run it, in this process unless there is a command; return its status, and its findings by name."""
    words = ("doctor", "--json", *args)
    if command:
        whole = [*command, *words]
        done = subprocess.run(whole, env=clean_env(env), cwd=cwd, capture_output=True, timeout=PATIENCE_S, check=False)
    else:
        done = signet_here(cwd, *words, environ=clean_env(env))
    assert done.stderr == b""
    report = json.loads(done.stdout)
    assert report["ok"] == (done.returncode == 0)
    return done.returncode, {finding["name"]: finding for finding in report["findings"]}


def state(found: dict[str, dict[str, str]], name: str) -> tuple[str, str]:
    return found[name]["state"], found[name]["text"]


@contextlib.contextmanager
def web(status: int, content_type: str, body: bytes) -> Iterator[str]:
    """A web server that answers all requests alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


TOOLSETS = ["plantuml", "plantuml-tools", "boj", "boj-explore", "oj", "oj-practice"]


def test_a_sandbox_is_installed_configured_and_reachable(tmp_path: Path) -> None:
    status, found = doctor("--sandbox", "--port", "0", cwd=tmp_path)

    assert status == 0
    assert {finding["area"] for finding in found.values()} == {"installed", "configured", "reachable"}
    assert state(found, "toolsets") == ("ok", f"enabled: {', '.join(TOOLSETS)}, on embedded sample data")
    assert state(found, "contracts") == ("ok", "17 tools have their contracts")
    assert state(found, "journal folder") == ("ok", f"{tmp_path}/runs (made when it is needed)")
    assert found["upstream of boj"]["state"] == found["upstream of oj"]["state"] == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_toolset_that_is_not_configured_is_a_note_that_says_what_to_set(tmp_path: Path) -> None:
    replay = tmp_path / "tape"
    subprocess.run(
        [SIGNET, "call", "--sandbox", "--record", str(replay), "encodePlantUML", "plantumlCode=A"],
        env=clean_env(), capture_output=True, check=True,
    )  # fmt: skip

    status, found = doctor("--port", "0", "--replay", str(replay), "--toolsets", "plantuml,boj")
    _, all_found = doctor("--port", "0", env={"BOJ_BASE_URL": "http://127.0.0.1:1"})

    assert status == 0
    assert state(found, "upstreams") == (
        "ok", f"answered from the recording in {replay}: nothing is asked for",
    )  # fmt: skip
    assert all_found["toolsets"] == {
        "area": "configured",
        "name": "toolsets",
        "state": "note",
        "text": "enabled: plantuml, plantuml-tools, boj, boj-explore; not enabled: oj, oj-practice",
        "mend": "set --oj-base-url (OJ_BASE_URL); or try it with --sandbox",
    }


def test_an_upstream_that_nobody_plays_is_trouble(tmp_path: Path) -> None:
    status, found = doctor("--port", "0", "--toolsets", "oj", env={"OJ_BASE_URL": "http://127.0.0.1:1"})

    assert status == 1
    assert found["upstream of oj"]["state"] == "trouble"
    assert "127.0.0.1:1" in found["upstream of oj"]["text"]
    assert found["upstream of oj"]["mend"] == "check --oj-base-url (OJ_BASE_URL), the network and its proxy"
    assert found["token of oj"]["mend"] == "set OJ_TOKEN"


def test_an_upstream_that_refuses_the_token_is_trouble_and_one_that_takes_it_is_none() -> None:
    with playing(build("the-right-token"), UpstreamHarness) as judge:
        wrong = doctor("--port", "0", "--toolsets", "oj", "--oj-base-url", judge.url, env={"OJ_TOKEN": SECRET})
        right = doctor("--port", "0", "--toolsets", "oj", env={"OJ_BASE_URL": judge.url, "OJ_TOKEN": "the-right-token"})
        without = doctor("--port", "0", "--toolsets", "oj", "--oj-base-url", judge.url)

        assert (wrong[0], state(wrong[1], "upstream of oj")) == (
            1, ("trouble", f"{judge.url} refuses the token (HTTP 401)"),
        )  # fmt: skip
        assert wrong[1]["upstream of oj"]["mend"] == "set OJ_TOKEN"
        assert (right[0], right[1]["upstream of oj"]["state"]) == (0, "ok")
        assert (without[0], state(without[1], "upstream of oj")) == (
            1, ("trouble", f"{judge.url} wants a token (HTTP 401)"),
        )  # fmt: skip
        assert without[1]["upstream of oj"]["mend"] == "set OJ_TOKEN"
        assert judge.targets() == ["/status", "/status", "/status"]


def test_an_upstream_that_wants_no_token_is_fine_whatever_its_health_and_its_refusal_is_shown() -> None:
    with playing(build(), UpstreamHarness) as judge:
        judge.order("answer", match="/health", status=503, body='{"status": "unhealthy"}')
        healthy = doctor("--port", "0", "--toolsets", "oj", "--oj-base-url", judge.url)
        judge.order("answer", match="/status", status=500, body='{"title": "Internal", "detail": "database error"}')
        broken = doctor("--port", "0", "--toolsets", "oj", "--oj-base-url", judge.url)

        assert (healthy[0], healthy[1]["upstream of oj"]["state"]) == (0, "ok")
        assert broken[0] == 1
        assert "HTTP 500" in broken[1]["upstream of oj"]["text"]
        assert "database error" in broken[1]["upstream of oj"]["text"]


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        (200, "text/html", "answers with text/html, not with JSON"),
        (404, "application/json", "answers with HTTP 404"),
        (500, "text/plain", "answers with HTTP 500"),
    ],
)
def test_a_service_that_is_another_is_trouble(status: int, kind: str, told: str) -> None:
    with web(status, kind, b"<html>hello</html>") as url:
        code, found = doctor("--port", "0", "--toolsets", "boj", "--boj-base-url", url)

    assert (code, state(found, "upstream of boj")) == (1, ("trouble", f"{url} {told}"))
    assert found["upstream of boj"]["mend"] == "check that this is the service's origin"


def test_an_upstream_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        status, found = doctor("--port", "0", "--toolsets", "boj", "--boj-base-url", url)

    assert status == 1
    assert found["upstream of boj"]["state"] == "trouble"


def test_settings_that_cannot_be_read_are_trouble_and_the_installation_is_still_shown() -> None:
    status, found = doctor(env={"SIGNET_PORT": "many"})

    assert status == 1
    assert state(found, "settings") == (
        "trouble", "SIGNET_PORT: 'many' cannot be used; write a whole number from 0 to 65535",
    )  # fmt: skip
    assert found["python"]["state"] == "ok"


def test_a_port_in_use_is_trouble_where_it_was_named_and_fine_where_a_signet_serves() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        named = doctor(*ONLY_PLANTUML, "--port", port)
        by_variable = doctor(*ONLY_PLANTUML, env={"SIGNET_PORT": port})
    with serving(*ONLY_PLANTUML) as server:
        served = doctor(*ONLY_PLANTUML, "--port", str(server.port))

    told = ("trouble", f"cannot listen on 127.0.0.1:{port} (Address already in use)")
    assert (named[0], state(named[1], "address to serve on")) == (1, told)
    assert (by_variable[0], state(by_variable[1], "address to serve on")) == (1, told)
    assert (served[0], state(served[1], "address to serve on")) == (
        0, ("ok", f"a Signet is serving on 127.0.0.1:{server.port} already"),
    )  # fmt: skip


def test_a_port_that_answers_with_informational_responses_without_end_is_in_use() -> None:
    """The command ends: the program at the port never comes to an answer."""

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                while True:
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        port = str(listener.getsockname()[1])

        status, found = doctor(*ONLY_PLANTUML, "--port", port)

    told = ("trouble", f"cannot listen on 127.0.0.1:{port} (Address already in use)")
    assert (status, state(found, "address to serve on")) == (1, told)


def test_a_folder_that_is_a_file_and_a_door_that_is_open_are_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    status, found = doctor(
        "--port", "0", "--host", "0.0.0.0", "--log-dir", str(tmp_path / "file/runs"), "--tls-cert", "none.pem",
        "--toolsets", "boj", "--boj-base-url", "http://127.0.0.1:1",
    )  # fmt: skip

    assert status == 1
    assert state(found, "journal folder") == ("trouble", f"{tmp_path}/file is in the way: it is no folder")
    assert found["open door"]["state"] == "trouble"
    assert "set SIGNET_TOKEN" in found["open door"]["text"]
    assert state(found, "certificate") == ("trouble", "--tls-cert and --tls-key go together")


@pytest.mark.parametrize("as_json", [True, False])
def test_no_token_and_no_password_is_printed(as_json: bool) -> None:
    env = {"OJ_TOKEN": SECRET, "SIGNET_TOKEN": f"{SECRET}-2", "OJ_BASE_URL": f"http://someone:{SECRET}-3@127.0.0.1:1"}
    command = [SIGNET, "doctor", "--port", "0", *(["--json"] if as_json else [])]

    done = subprocess.run(command, env=clean_env(env), capture_output=True, timeout=PATIENCE_S, check=False)

    told = (done.stdout + done.stderr).decode()
    assert done.returncode == 1
    assert "OJ_TOKEN=(set, not shown)" in told
    assert "SIGNET_TOKEN=(set, not shown)" in told
    assert "hunter2" not in told
    assert "someone" not in told


def on_a_terminal(*args: str) -> str:
    here, there = pty.openpty()
    env = clean_env({"TERM": "xterm-256color", "COLUMNS": "120"})
    process = subprocess.Popen([SIGNET, *args], stdin=subprocess.DEVNULL, stdout=there, stderr=there, env=env)
    os.close(there)
    seen = bytearray()
    with contextlib.suppress(OSError):
        while piece := os.read(here, 1 << 16):
            seen += piece
    os.close(here)
    assert process.wait(PATIENCE_S) == 0, seen
    return seen.decode()


def test_a_terminal_gets_colours_and_a_pipe_plain_words() -> None:
    words = ("doctor", "--port", "0", "--sandbox", *ONLY_PLANTUML)

    seen = on_a_terminal(*words)
    piped = subprocess.run([SIGNET, *words], env=clean_env(), capture_output=True, timeout=PATIENCE_S, check=True)

    assert "\x1b[32m✓ ok" in seen
    lines = piped.stdout.decode().splitlines()
    assert lines[0].split()[:4] == ["installed", "✓", "ok", "signet"]
    assert lines[-1] == "No trouble was found."
    assert "\x1b" not in piped.stdout.decode()


def test_a_toolset_adds_checks_of_its_own(tmp_path: Path) -> None:
    """The tests' own toolset is not part of Signet, and has one."""
    status, found = doctor("--port", "0", "--toolsets", "station", "--sandbox", command=EXTENDED)

    assert status == 0
    assert state(found, "token of station") == ("ok", "a token is set")
