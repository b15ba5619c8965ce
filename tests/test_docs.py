"""The docs say what is so: every example runs, every configuration is one, generated pages have not drifted."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from processes import BIN, PATIENCE_S, ROOT, Server, clean_env, serving

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
EXAMPLES = [
    (asked.strip(), json.loads(told))
    for (kind, asked), (next_kind, told) in pairwise(BLOCKS)
    if kind == "sh" and next_kind == "json" and asked.startswith(("curl ", "signet "))
]
CONFIGURATIONS = [json.loads(text) for kind, text in BLOCKS if kind == "json" and "ervers" in text]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


def test_the_readme_opens_with_a_picture_a_sentence_the_installation_and_three_walks() -> None:
    _, picture, sentence = README.split("\n\n")[:3]
    headings = re.findall(r"^##+ (.*)$", README, re.MULTILINE)

    assert re.fullmatch(r"!\[Four doors[^\]]+\]\(docs/images/doors\.svg\)", picture)
    assert sentence.startswith("**Signet serves tools to AI agents under contract**: ")
    assert [heading.partition(":")[0] for heading in headings[:5]] == [
        "Install", "In three minutes", "A programmer", "An economist", "A diagram maker",
    ]  # fmt: skip


def test_the_picture_of_the_doors_is_drawn_for_light_and_dark_pages_and_has_a_text() -> None:
    picture = (ROOT / "docs/images/doors.svg").read_text(encoding="utf-8")
    texts = {text.text for text in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")}

    assert {"MCP on stdio", "MCP over HTTP", "REST", "Envelope", "contract", "tool", "journal"} <= texts
    assert "@media (prefers-color-scheme: dark)" in picture
    assert "<desc " in picture


def test_the_readme_names_the_sandbox_the_backend_and_what_the_journal_keeps() -> None:
    journal = README.partition("## The journal\n")[2].partition("\n## ")[0]

    assert "`signet sandbox oj`" in README
    assert "[oj-api-rs](https://github.com/cxyfer/oj-api-rs)" in README
    assert "runs/mcp_server/envelope_validation/" in journal
    assert "The last five runs are kept" in journal
    assert "never arguments or results" in journal


def test_the_readme_has_an_example_of_each_door_and_a_configuration_for_each_client() -> None:
    assert len(EXAMPLES) == 5
    assert len(CONFIGURATIONS) == 4


@pytest.mark.parametrize(("asked", "told"), EXAMPLES, ids=[asked[:40] for asked, _ in EXAMPLES])
def test_an_example_of_the_readme_gives_what_the_readme_shows(server: Server, asked: str, told: Any) -> None:
    command = shlex.split(asked.replace("http://127.0.0.1:8080", server.url))
    if command[0] == "signet":
        command[0] = str(BIN / "signet")

    done = subprocess.run(command, capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False)

    assert json.loads(done.stdout) == told


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_a_configuration_of_the_readme_starts_a_server_or_names_one(configuration: dict[str, Any]) -> None:
    entry = next(iter(next(iter(configuration.values())).values()))
    if "url" in entry:
        assert entry == {"type": "http", "url": "http://127.0.0.1:8080/mcp"}
        return

    command = [str(BIN / entry["command"]), *entry["args"]]
    asked = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(command, input=asked, capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=True)

    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_what_the_server_prints_to_be_pasted_works(server: Server) -> None:
    server.wait_for("Ctrl-C stops it.")
    told, offered = server.stderr().split("Try it, or give it to a client:\n")
    curl, configuration, call = (line.strip() for line in offered.splitlines()[:3])

    by_curl = subprocess.run(shlex.split(curl), capture_output=True, timeout=PATIENCE_S, check=True)
    by_call = subprocess.run(shlex.split(call), capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=True)

    assert json.loads(by_curl.stdout)["result"] == json.loads(by_call.stdout)
    assert json.loads(configuration)["mcpServers"]["signet"]["url"] == f"{server.url}/mcp"
    assert f"\nOpen {server.url} in a browser to see it.\n" in told


def test_the_reference_has_not_drifted_from_the_code() -> None:
    command = [sys.executable, str(ROOT / "scripts/reference.py"), "--check"]

    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)

    assert done.returncode == 0, done.stdout + "\nwrite it anew with: make docs"


def test_the_page_of_the_console_names_every_path_of_it(server: Server) -> None:
    text = (ROOT / "docs/console.md").read_text(encoding="utf-8")
    described = server.ask("GET", "/openapi.json").json()["paths"]

    named = re.findall(r"`(GET|POST) (/-/\S+)`", text)

    twins = [(method.upper(), path) for path, shape in described.items() if path.startswith("/-/") for method in shape]
    assert sorted(named) == sorted(twins)


def test_the_commands_of_the_console_page_work(server: Server) -> None:
    text = (ROOT / "docs/console.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    commands = block.replace("http://127.0.0.1:8080", server.url).replace("\\\n", " ").splitlines()

    about, called = (
        json.loads(subprocess.run(shlex.split(command), capture_output=True, timeout=PATIENCE_S, check=True).stdout)
        for command in commands
    )

    assert about["name"] == "signet"
    by_rest = server.post("/api/tools/encodePlantUML", {"plantumlCode": "@startuml\nA -> B\n@enduml"}).json()
    assert (called["ok"], called["result"]) == (True, by_rest["result"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_between_pages_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text)
    links += re.findall(r'<(?:img|source)[^>]* src(?:set)?="(?!https?:)([^"\s]+)"', text)

    assert [link for link in links if not (page.parent / link).exists()] == []


REFERENCE = (ROOT / "docs/reference.md").read_text()
SERVERS = {
    "signet serve": ["signet", "serve", "--port", "0"],
    "signet stdio": ["signet", "stdio"],
    "oj-mcp-rs": ["oj-mcp-rs", "--base-url", "http://127.0.0.1:1"],
    "boj-mcp-server": ["boj-mcp-server"],
}
REFUSALS = {
    "OJ_TOKEN": ("t\u00f6ken", "the token has characters that no HTTP header can carry"),
    "OJ_BASE_URL": ("not a url", "the base URL 'not a url' has white space in it"),
    "BOJ_BASE_URL": ("not a url", "the base URL 'not a url' has white space in it"),
    "PLANTUML_SERVER": ("not a url", "the base URL 'not a url' has white space in it"),
    "SIGNET_TOOLSETS": ("nonsense", "there is no toolset 'nonsense'"),
    "SIGNET_REPLAY": ("/nonexistent", "there is no recording in /nonexistent"),
    "SIGNET_LOG": ("a b", "'a b' is not a log directive"),
    "SIGNET_TOKEN": ("t\u00f6ken", "SIGNET_TOKEN: the token has characters that no HTTP header can carry"),
    "SIGNET_TLS_CERT": ("cert.pem", "--tls-cert and --tls-key go together"),
    "SIGNET_TLS_KEY": ("key.pem", "--tls-cert and --tls-key go together"),
    "SIGNET_OAUTH_ISSUER": ("http://auth.example", "--oauth-issuer (SIGNET_OAUTH_ISSUER): without TLS"),
    "SIGNET_OAUTH_AUDIENCE": ("tools", "(SIGNET_OAUTH_AUDIENCE) needs the issuer of the tokens"),
    "SIGNET_OAUTH_JWKS_URL": ("nonsense", "(SIGNET_OAUTH_JWKS_URL) needs the issuer of the tokens"),
    "SIGNET_OAUTH_SCOPES": ("nonsense", "(SIGNET_OAUTH_SCOPES) needs the issuer of the tokens"),
    "SIGNET_HOST": ("0.0.0.0", "0.0.0.0 can be reached by others"),
    "SIGNET_TOKENS_FILE": ("none.jsonl", "there is no file of tokens none.jsonl (SIGNET_TOKENS_FILE)"),
    "SIGNET_PUBLIC_URL": ("https://h/mcp", "--public-url (SIGNET_PUBLIC_URL): 'https://h/mcp' names one door"),
    "SIGNET_TRUSTED_PROXIES": ("nonsense", "--trusted-proxies (SIGNET_TRUSTED_PROXIES): 'nonsense' does not appear"),
    "SIGNET_AUDIT_LOG": ("/nonexistent/audit.log", "the audit log /nonexistent/audit.log cannot be written"),
    "SIGNET_JOURNAL_MAX_AGE": ("nonsense", "'nonsense' is not an age"),
    "SIGNET_METRICS_HOST": ("0.0.0.0", "--metrics-host (SIGNET_METRICS_HOST) needs --metrics-port"),
    "SIGNET_CONFIG": ("none.toml", "SIGNET_CONFIG: there is no file none.toml"),
    "SIGNET_STORE": (
        "nonsense",
        "--store (SIGNET_STORE): the address of the store cannot be used: its scheme is not known; write memory:",
    ),
}
"""Variables that take a text: a value that cannot be used, and how each is refused."""
FOLDERS = {"SIGNET_LOG_DIR", "SIGNET_RECORD"}
WITHOUT_EFFECT_HERE = {"SIGNET_ALLOWED_HOSTS", "BOJ_INDEX_DIR", "OJ_CACHE", "PLANTUML_JAR"}
"""Any text is a host name, a folder or a file: test_guard.py, boj_explore/test_index.py, test_oj_commands.py and
engines/test_jar.py show what they do."""
FIXED = {"SIGNET_TOOLSETS": {"oj-mcp-rs", "boj-mcp-server"}, "SIGNET_PORT": {"signet serve"}}


def documented() -> list[tuple[str, str]]:
    """Each server and each variable that the reference page puts beside one of its flags."""
    rows = []
    for server in SERVERS:
        part = REFERENCE.partition(f"### `{server}`\n")[2].partition("\n### ")[0]
        rows += [(server, name) for name in re.findall(r"^\| `[^|]*` \| `([A-Z_]+)(?:=no)?` \|", part, re.MULTILINE)]
    return rows


@pytest.mark.parametrize(("server", "variable"), documented())
def test_a_documented_variable_is_read_by_the_server_that_it_is_documented_for(
    server: str, variable: str, tmp_path: Path
) -> None:
    """A value that cannot be used is refused by name; a folder is made."""
    if variable in WITHOUT_EFFECT_HERE or server in FIXED.get(variable, ()):
        return
    value, sentence = REFUSALS.get(variable, ("nonsense", f"{variable}: 'nonsense' cannot be used; write "))
    folder = tmp_path / "made"
    command = [str(BIN / SERVERS[server][0]), *SERVERS[server][1:]]
    backend = {"OJ_BASE_URL": "http://127.0.0.1:1"} if variable == "OJ_TOKEN" else {}
    env = clean_env({**backend, variable: str(folder) if variable in FOLDERS else value})
    if variable in FOLDERS:
        command = [str(BIN / "signet"), "stdio", "--toolsets", "plantuml"] if "signet" in server else command
    call = {"name": "encodePlantUML" if "signet" in server else "nobody", "arguments": {"plantumlCode": "A"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode() + b"\n"

    done = subprocess.run(
        command, input=message, capture_output=True, env=env, cwd=tmp_path, timeout=PATIENCE_S, check=False
    )

    if variable in FOLDERS:
        assert folder.is_dir(), done.stderr
    else:
        assert done.returncode != 0
        assert sentence in done.stderr.decode()


def test_the_token_of_the_judge_is_documented_by_the_name_that_the_server_reads() -> None:
    assert ("oj-mcp-rs", "OJ_TOKEN") in documented()
    assert ("oj-mcp-rs", "SIGNET_TOKEN") not in documented()
    assert {("boj-mcp-server", f"BOJ_{name}") for name in ("TIMEOUT_MS", "RETRY_MAX", "CACHE_S")} <= set(documented())
