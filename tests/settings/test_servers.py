"""The servers of others in `signet.toml`, and in the files of clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from signet.commands.wrap.client_file import holds_client_servers, read_client_file
from signet.settings.file import find_file
from signet.settings.reading import read_settings
from signet.settings.server_spec import ServerSpec
from signet.settings.servers import read_header_file, read_servers, servers_of
from signet.settings.usage import UsageError

FULL = """
port = 9000

[servers.files]
command = "npx"
args = ["-y", "some-server", "/data"]
env = ["HOME_DIR"]
cwd = "work"
pool = "session"
era = "handshake"
call-timeout-s = 30
validation = {read = "shadow"}

[servers.remote]
url = "https://host.example/mcp"
headers_file = "headers"

[servers.one]
command = ["uvx", "one"]
env = {KEY = "v"}
validation = "off"

[servers.api]
openapi = "api.json"
base_url = "https://api.example"
include = ["tag:pets"]

[servers.tape]
tape = "tapes/one"
contracts = "learned"
"""


def servers(folder: Path, text: str, **environ: str) -> tuple[ServerSpec, ...]:
    path = folder / "signet.toml"
    path.write_text(text)
    file = find_file({}, {"config": str(path)})
    assert file is not None
    return read_servers(file, environ)


def test_every_key_of_a_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "headers").write_text("# of the host\nAuthorization: Bearer secret\n\nX-Team:  a b\n")

    files, remote, one, api, tape = servers(tmp_path, FULL, HOME_DIR="/home")

    assert files == ServerSpec(
        name="files",
        command=("npx", "-y", "some-server", "/data"),
        env=(("HOME_DIR", "/home"),),
        cwd=str(tmp_path / "work"),
        pool="session",
        era="handshake",
        call_timeout_s=30.0,
        validation=(("", "enforce"), ("read", "shadow")),
        config=str(tmp_path / "signet.toml"),
    )
    assert remote.headers == (("Authorization", "Bearer secret"), ("X-Team", "a b"))
    assert (one.name, one.command, one.env, one.validation) == (
        "one", ("uvx", "one"), (("KEY", "v"),), (("", "off"),)
    )  # fmt: skip
    assert (api.openapi, api.base_url, api.include) == (
        str(tmp_path / "api.json"),
        "https://api.example",
        ("tag:pets",),
    )
    assert (tape.tape, tape.contracts) == (str(tmp_path / "tapes/one"), str(tmp_path / "learned"))


def test_the_settings_of_a_process_lead_to_the_servers_of_their_file(tmp_path: Path) -> None:
    path = tmp_path / "signet.toml"
    path.write_text('port = 9000\n[servers.one]\nurl = "http://a.example"\n')

    settings = read_settings({}, {"config": str(path)})

    assert settings.port == 9000
    assert servers_of(settings) == (ServerSpec(name="one", url="http://a.example", config=str(path)),)
    assert servers_of(read_settings({}, {}, search=False)) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("servers = 1", "write a table for each server"),
        ("[servers]\none = 1", "write a table: [servers.one]"),
        ('[servers."A B"]\ncommand = "a"', "name a server with a-z"),
        ("[servers.one]", "write one of: command, url, tape, openapi"),
        ('[servers.one]\ncommand = "a"\nurl = "http://b"', "write one of: command, url, tape, openapi"),
        ('[servers.one]\ncomand = "a"', "did you mean command?"),
        ('[servers.one]\ncommand = "a"\nargs = "b"', "write an array of texts"),
        ('[servers.one]\ncommand = "a"\npool = "many"', "write one of: shared, session, call"),
        ('[servers.one]\ncommand = "a"\nera = "new"', "write one of: auto, handshake, modern"),
        ('[servers.one]\ncommand = "a"\nvalidation = {b = "maybe"}', "write one of: enforce, shadow, relax, off"),
        ('[servers.one]\ncommand = "a"\nenv = ["NOT_SET"]', "the variable NOT_SET is not set"),
        ('[servers.one]\ncommand = "a"\nenv = {A = 1}', "write texts as values"),
        ('[servers.one]\ncommand = "a"\ncall_timeout_s = 0', "write a number of seconds"),
        ('[servers.one]\nurl = "http://a"\nheaders_file = "missing"', "missing cannot be read"),
        ('[servers.one]\ncommand = "a"\nenv = ["=b"]', "write a variable as KEY or KEY=VALUE"),
        ('[servers.one]\ncommand = "a"\nenv = ["ghp_0123456789"]', "env (line 3): write a variable as"),
        (
            '[servers.one]\ncommand = "a"\ninclude = ["b"]',
            "include (line 3): this key works for a server",
        ),
        ('[servers.one]\nurl = "http://a"\ninclude = ["b"]', "the tools of an MCP server are always served together"),
        ('[servers.one]\ncommand = "a"\nbase_url = "http://b"', "this key works for a server with 'openapi' only"),
        ('[servers.one]\nurl = "http://a"\ncwd = "b"', "this key works for a server with 'command' only"),
        ('[servers.one]\ntape = "a"\nenv = ["B"]', "env (line 3): this key works for a server with 'command' only"),
        (
            '[servers.one]\nopenapi = "a"\nargs = ["b"]',
            "args (line 3): this key works for a server with 'command' only",
        ),
        ('[servers.one]\ncommand = "a"\nheaders_file = "b"', "this key works for a server with 'url' only"),
        (
            '[servers.one]\ncommand = "a"\nexclude = ["b"]',
            "exclude (line 3): there is no such key; write one of: command,",
        ),
    ],
)
def test_what_cannot_be_used_is_told_with_the_key(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        servers(tmp_path, text)

    assert why in str(caught.value)


def test_a_header_that_is_none_is_refused_without_its_value(tmp_path: Path) -> None:
    path = tmp_path / "headers"
    path.write_text("A: fine\nsecret-without-a-name\n")

    with pytest.raises(UsageError) as caught:
        read_header_file(str(path))

    assert str(caught.value) == f"{path}:2: write a header as Name: value, in printable ASCII"


LOCAL = {"command": "npx", "args": ["-y", "a"], "env": {"K": "${VALUE}"}}
EXPECTED = ServerSpec(name="one", command=("npx", "-y", "a"), env=(("K", "v"),))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"mcpServers": {"one": LOCAL}}, EXPECTED),
        ({"servers": {"One": {"type": "stdio", **LOCAL}}, "inputs": []}, EXPECTED),
        ({"context_servers": {"one": {"command": {"path": "npx", "args": ["-y", "a"], "env": {"K": "v"}}}}}, EXPECTED),
        ({"context_servers": {"one": {"source": "custom", **LOCAL}}}, EXPECTED),
        ({"mcp": {"one": {"type": "local", "command": ["npx", "-y", "a"], "environment": {"K": "v"}}}}, EXPECTED),
        ({"mcp": {"servers": {"one": LOCAL}}}, EXPECTED),
        (
            {"mcpServers": {"one": {"httpUrl": "https://${HOST:-h.example}/mcp", "headers": {"A": "${env:VALUE}"}}}},
            ServerSpec(name="one", url="https://h.example/mcp", headers=(("A", "v"),)),
        ),
        ({"mcpServers": {"off": {**LOCAL, "disabled": True}, "one": LOCAL}}, EXPECTED),
    ],
)
def test_the_file_of_each_client_is_read(tmp_path: Path, content: Any, expected: ServerSpec) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("// a comment\n" + json.dumps(content).replace("}}", "},}", 1))

    assert read_client_file(str(path), {"VALUE": "v"}) == (replace(expected, config=str(path)),)


def test_a_key_that_chooses_all_tools_narrows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    entry = {"command": "npx", "args": ["-y", "a"], "env": {"K": "v"}}
    path.write_text(
        json.dumps({"mcpServers": {"one": {**entry, "tools": ["*"], "excludeTools": [], "autoApprove": ["b"]}}})
    )

    assert read_client_file(str(path), {}) == (replace(EXPECTED, config=str(path)),)


def test_the_file_of_codex_is_toml(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('model = "x"\n[mcp_servers.one]\ncommand = "npx"\nargs = ["-y", "a"]\nenv = {K = "v"}\n')

    assert read_client_file(str(path), {}) == (replace(EXPECTED, config=str(path)),)
    assert holds_client_servers(str(path))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{}", "names no server"),
        ("{", "cannot be read"),
        ('{"mcpServers":{"a":1}}', "is no object"),
        ('{"mcpServers":{"a":{}}}', "has no command or URL"),
        ('{"mcpServers":{"a":{"command":"b","args":"c"}}}', "a word of the command"),
        ('{"mcpServers":{"a":{"url":[7]}}}', "is no text"),
        ('{"mcpServers":{"a b":{"command":"x"},"A-b":{"command":"y"}}}', "two servers are named 'a-b'"),
        ('{"servers":{"a":{"url":"http://h","headers":{"A":"${input:key}"}}}}', "is asked by the client"),
        ('{"mcpServers":{"a":{"command":"b","excludeTools":["c"]}}}', "'excludeTools' of the server 'a' does not work"),
        (
            '{"mcpServers":{"a":{"command":"b","includeTools":["c"]}}}',
            "tools of an MCP server are always served together",
        ),
        ('{"mcp_servers":{"a":{"command":"b","enabled_tools":["c"]}}}', "'enabled_tools' of the server 'a'"),
        ('{"mcp_servers":{"a":{"command":"b","disabled-tools":{"c":true}}}}', "'disabled-tools' of the server 'a'"),
        ('{"mcpServers":{"a":{"command":"b","tools":["c"]}}}', "'tools' of the server 'a'"),
    ],
)
def test_a_file_of_a_client_that_cannot_be_used_is_told(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(content)

    with pytest.raises(UsageError) as caught:
        read_client_file(str(path), {})

    assert why in str(caught.value)
