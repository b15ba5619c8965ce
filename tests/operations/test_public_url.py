"""The public URL: what it may be, and that a server answers below its path, by its host, and tells it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from door_calls import invocation, rpc
from processes import PATIENCE_S, Server, free_port, run, serving
from signet.operations.public_url import read_public_url
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.team.access import check_access

URL = "https://Tools.Example/team/tools"
CANONICAL = "https://tools.example/team/tools"
PREFIX = "/team/tools"
CODE = {"plantumlCode": "A -> B"}
CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": CODE})


@pytest.mark.parametrize(
    ("text", "url", "path"),
    [
        ("https://tools.example", "https://tools.example", ""),
        ("https://tools.example/", "https://tools.example", ""),
        ("HTTPS://Tools.Example:443/A/b/", "https://tools.example/A/b", "/A/b"),
        ("http://127.0.0.1:8080/t", "http://127.0.0.1:8080/t", "/t"),
        ("http://[::1]:80", "http://[::1]", ""),
        ("https://h/mcp-tools", "https://h/mcp-tools", "/mcp-tools"),
    ],
)
def test_a_public_url_has_one_form(text: str, url: str, path: str) -> None:
    found = read_public_url(text)

    assert (str(found), found.path) == (url, path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "tools.example",
            "'tools.example' is no http or https URL with a host; write one such as https://tools.example",
        ),
        ("ftp://tools.example", "is no http or https URL with a host"),
        ("https://", "is no http or https URL with a host"),
        ("https://a b", "is no http or https URL with a host"),
        ("https://tools.example:99999", "is no URL; write one such as"),
        ("https://tools.example:x", "is no URL; write one such as"),
        ("https://[::1", "is no URL; write one such as"),
        ("https://t\u00f6ols.example", "is no http or https URL with a host"),
        ("https://tools.example\n", "is no http or https URL with a host"),
        ("https://tools.example/?a=b", "has a query or a fragment; leave it out"),
        ("https://tools.example/?", "has a query or a fragment; leave it out"),
        ("https://tools.example/#a", "has a query or a fragment; leave it out"),
        ("https://user:hunter2@tools.example", "it has a user name or a password before its host; leave them out"),
        ("https://tools.example/mcp", "names one door; leave /mcp out, the server adds it"),
        ("https://tools.example/a/mcp/", "names one door; leave /mcp out, the server adds it"),
        ("https://tools.example/a//b", "has a path with empty or escaped parts"),
        ("https://tools.example/a/../b", "has a path with empty or escaped parts"),
        ("https://tools.example/a%2Fb", "has a path with empty or escaped parts"),
    ],
)
def test_a_url_that_clients_cannot_use_stops_the_start_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_access(Settings(public_url=text))

    said = str(refused.value)
    assert said.startswith("--public-url (SIGNET_PUBLIC_URL): ")
    assert sentence in said
    assert "hunter2" not in said


def test_a_bad_url_stops_every_kind_of_server() -> None:
    done = run("serve", "--port", "0", "--toolsets", "plantuml", "--public-url", "https://h/mcp", "--workers", "2")

    sentence = "--public-url (SIGNET_PUBLIC_URL): 'https://h/mcp' names one door; leave /mcp out, the server adds it"
    assert (done.returncode, done.stderr.decode()) == (2, f"signet: {sentence}\n")


# --- a running server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml,plantuml-tools", "--public-url", URL, "--no-journal") as running:
        yield running


@pytest.mark.parametrize("prefix", ["", "/team/tools"])
@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/readyz", "/openapi.json", "/api/tools", "/api/tools/", "/healthz/"]
)
def test_a_page_is_served_below_the_prefix_and_without_it(server: Server, prefix: str, path: str) -> None:
    assert server.ask("GET", prefix + path).body == server.ask("GET", path).body
    assert server.ask("GET", prefix + path).status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/mcp", CALL),
        ("/mcp/", CALL),
        ("/api/tools/encodePlantUML", CODE),
        ("/mcp/v1/encode-plantuml", CODE),
        ("/mcp/tool/plantuml.encode", invocation("plantuml.encode", CODE)),
    ],
)
def test_a_call_below_the_prefix_has_the_same_answer_as_without_it(server: Server, path: str, body: object) -> None:
    below, without = server.post(f"/team/tools{path}", body), server.post(path, body)

    assert (below.status, below.body) == (200, without.body)


def test_the_prefix_itself_is_the_page_of_the_server(server: Server) -> None:
    for path in ("/team/tools", "/team/tools/"):
        assert server.ask("GET", path).json()["url"] == CANONICAL


@pytest.mark.parametrize(
    "path", ["/team", "/team/toolsmcp", "/team/tools/team/tools/mcp", "/Team/Tools/mcp", "/team/tools//mcp"]
)
def test_other_paths_lead_nowhere(server: Server, path: str) -> None:
    assert server.post(path, CALL).status == 404


def test_a_prefix_is_taken_away_once_for_pages_that_toolsets_offer(server: Server) -> None:
    pages = [server.ask("GET", f"{prefix}/render/nonsense/x").json() for prefix in ("", PREFIX, PREFIX * 2)]

    assert pages[0]["error"]["message"].startswith("Nothing is drawn at '/render/nonsense/x'")
    assert pages[1] == pages[0]
    assert pages[2]["error"]["message"].startswith("Nothing is served at '/team/tools/render/nonsense/x'")


@pytest.mark.parametrize("host", ["tools.example", "Tools.Example:443", "localhost"])
def test_the_host_of_the_public_url_is_answered_and_its_pages_may_call(server: Server, host: str) -> None:
    reply = server.post("/team/tools/mcp", CALL, {"host": host, "origin": "https://tools.example"})

    assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "https://tools.example")


@pytest.mark.parametrize("host", ["example", "evil.tools.example", "tools.example.evil", "team"])
def test_other_hosts_and_their_pages_are_refused(server: Server, host: str) -> None:
    assert server.post("/team/tools/mcp", CALL, {"host": host}).status == 421
    assert server.post("/team/tools/mcp", CALL, {"origin": f"https://{host}"}).status == 403


def test_the_pages_and_the_greeting_name_the_url(server: Server) -> None:
    assert [one["url"] for one in server.ask("GET", "/openapi.json").json()["servers"]] == [CANONICAL]
    assert f"Clients reach it at {CANONICAL}/mcp\n" in server.stderr()
    assert f'"url":"{CANONICAL}/mcp"' in server.stderr()
    assert f"curl -s {CANONICAL}/api/tools/" in server.stderr()
    assert f"Open {CANONICAL} in a browser" in server.stderr()


def test_without_a_public_url_the_pages_are_as_they_were() -> None:
    with serving("--toolsets", "plantuml", "--no-journal") as server:
        assert "url" not in server.ask("GET", "/").json()
        assert [one["url"] for one in server.ask("GET", "/openapi.json").json()["servers"]] == ["/"]
        assert "Clients reach it" not in server.stderr()
        assert server.ask("GET", "/team/tools/healthz").status == 404


# --- behind nginx


CONFIGURATION = """
daemon off; pid {folder}/pid; error_log stderr;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port};
    proxy_set_header Host tools.example;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    location /team/tools/ {{ proxy_pass http://127.0.0.1:{behind}{to}; }}
  }}
}}
"""


@contextmanager
def nginx(folder: Path, behind: int, to: str) -> Iterator[int]:
    """Run nginx before a server, and yield its port."""
    port = free_port()
    path = folder / "nginx.conf"
    path.write_text(CONFIGURATION.format(folder=folder, port=port, behind=behind, to=to))
    command = shutil.which("nginx") or "/usr/sbin/nginx"
    with subprocess.Popen([command, "-c", str(path), "-p", str(folder)], stderr=subprocess.PIPE) as process:
        try:
            while not (folder / "pid").exists():
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
            yield port
        finally:
            process.terminate()


@pytest.mark.parametrize("to", ["", "/"], ids=["kept", "stripped"])
def test_behind_nginx_a_prefix_works_stripped_or_not_and_the_client_is_known(tmp_path: Path, to: str) -> None:
    flags = ("--toolsets", "plantuml", "--public-url", URL, "--no-journal")
    proxied = ("--trusted-proxies", "127.0.0.1", "--log", "http=info")
    with serving(*flags, *proxied) as server, nginx(tmp_path, server.port, to) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S, source_address=("127.0.0.3", 0))
        headers = {"content-type": "application/json", "x-forwarded-for": "6.6.6.6"}
        connection.request("POST", "/team/tools/mcp", json.dumps(CALL), headers)
        called = connection.getresponse()
        body = json.loads(called.read())
        connection.request("POST", "/team/tools/mcp", "{", {**headers, "content-type": "text/plain"})
        refused = connection.getresponse()
        refused.read()
        connection.close()
        written = server.stderr()

    assert (called.status, body["result"]["isError"], refused.status) == (200, False, 415)
    assert "address=127.0.0.3 status=415 reason=UNSUPPORTED_MEDIA_TYPE" in written
