"""Both drop-in servers: how they start or refuse to, how they introduce themselves, and what they write where."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from door_calls import INITIALIZE, rpc, run_on_one_message
from drop_in_servers import BOJ_SERVER, OJ_SERVER, ORIGIN, SERVERS, VERSION, DropInServer
from processes import SIGNET
from signet.settings.names import known_settings, variable_of
from upstream_harness import UpstreamHarness

NO_URL = {
    "no url": "not a url",
    "no scheme": "example.com",
    "empty": "",
    "blank": " ",
    "another scheme": "ftp://example.com",
    "a scheme by accident": "localhost:8080",
    "no host": "http://",
    "a user": "https://user:secret123@example.com",
    "a query": "https://example.com?foo=1",
    "an empty query": "https://example.com?",
    "a fragment": "https://example.com#top",
    "a port out of range": "http://example.com:99999",
}
NO_ORIGIN = {"a path": "https://example.com/api/v1", "two slashes": "https://example.com//"}
"""Base URLs that the judge's server alone refuses."""

NO_FLAG = {
    "unknown": ["--retries", "3"],
    "unknown, one dash": ["-x"],
    "no flag": ["secret123"],
    "a command": ["serve"],
    "without its value": ["--base-url"],
    "shortened": ["--base", ORIGIN],
    "misspelt, with a secret": ["--tokne=secret123"],
}
NO_FLAG_OF_ONE = {
    OJ_SERVER.name: {"token, shortened": ["--tok", "secret123"]},
    BOJ_SERVER.name: {
        "retries, shortened": ["--retry", "3"],
        "time, shortened": ["--timeout"],
        "time, without its value": ["--timeout-ms"],
    },
}


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> DropInServer:
    return SERVERS[request.param]


@pytest.fixture(scope="module")
def upstream(server: DropInServer) -> Iterator[UpstreamHarness]:
    with server.play() as harness:
        yield harness


def run(
    server: DropInServer, *flags: str, stdin: object = INITIALIZE, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    return run_on_one_message(server.command, *flags, stdin=stdin, env=env)


# --- the command line


@pytest.mark.spec("1.S1.3.version", "3.config.precedence")
@pytest.mark.parametrize("others", [[], ["--base-url", ORIGIN], ["--base-url", "not a url"]], ids=" ".join)
def test_the_version_is_printed_and_nothing_is_served(server: DropInServer, others: list[str]) -> None:
    assert run(server, *others, "--version") == (0, f"{server.name} {VERSION}\n", "")
    assert run(server, *others, "-V") == (0, f"{server.name} {VERSION}\n", "")


@pytest.mark.spec(
    "1.S1.1.no-url", "1.S1.1.path", "1.S1.1.query", "1.S1.1.fragment", "1.S1.1.scheme", "1.S1.1.before-handshake",
    "1.base-url.reject", "1.base-url.any", "3.config.precedence", "3.config.base-url",
)  # fmt: skip
@pytest.mark.parametrize(
    ("server", "url"),
    [
        *(pytest.param(name, url, id=f"{name}: {row}") for name in SERVERS for row, url in NO_URL.items()),
        *(pytest.param(OJ_SERVER.name, url, id=f"{OJ_SERVER.name}: {row}") for row, url in NO_ORIGIN.items()),
    ],
    indirect=["server"],
)
def test_a_base_url_that_cannot_be_used_is_refused_in_one_sentence(server: DropInServer, url: str) -> None:
    status, out, err = run(server, "--base-url", url)

    assert (status, out) == (server.url_status, "")
    assert re.fullmatch(r"error: [^\n]+\n", err)


@pytest.mark.spec("1.S1.flags", "3.config.precedence")
@pytest.mark.parametrize(
    ("server", "arguments"),
    [
        pytest.param(name, arguments, id=f"{name}: {row}")
        for name in SERVERS
        for row, arguments in {**NO_FLAG, **NO_FLAG_OF_ONE[name]}.items()
    ],
    indirect=["server"],
)
def test_a_flag_that_there_is_not_is_refused_in_one_sentence_and_no_secret_repeated(
    server: DropInServer, arguments: list[str]
) -> None:
    status, out, err = run(server, *server.start_flags, *arguments)

    assert (status, out) == (2, "")
    assert re.fullmatch(rf"{server.name}: [^\n]+\n", err)
    assert "secret123" not in err


@pytest.mark.spec("1.S1.flags", "3.config.precedence")
def test_two_dashes_may_end_the_command_line_and_nothing_follows_them(server: DropInServer) -> None:
    plain = run(server, *server.start_flags, env={"RUST_LOG": "off"})

    assert run(server, *server.start_flags, "--", env={"RUST_LOG": "off"}) == plain
    assert run(server, *server.start_flags, "--", "x")[0] == 2


FOREIGN = {
    "SIGNET_PORT": "abc",
    "SIGNET_WORKERS": "many",
    "SIGNET_METRICS_PORT": "x",
    "SIGNET_DRAIN_S": "x",
    "SIGNET_TLS_CERT": "none.pem",
    "SIGNET_TOOLSETS": "no such toolset",
    "SIGNET_CONFIG": "no/such/file.toml",
    "PLANTUML_RENDER_TIMEOUT_S": "x",
    "BOJ_INDEX_MAX_AGE_DAYS": "x",
    "BOJ_INDEX_DIR": "x",
}
"""Variables that mean nothing to either drop-in server."""
FOREIGN_TO_ONE = {
    OJ_SERVER.name: {"BOJ_RETRY_MAX": "abc", "BOJ_BASE_URL": "no url", "OJ_BASE_URL": "no url", "SIGNET_LOG": "a=b=c"},
    BOJ_SERVER.name: {"OJ_TIMEOUT_S": "60", "OJ_BASE_URL": "no url", "OJ_TOKEN": "\n", "RUST_LOG": "a=b=c"},
}


@pytest.mark.spec("1.S1.1.starts", "3.config.precedence")
def test_no_variable_of_another_program_stops_the_start(server: DropInServer) -> None:
    message = rpc("tools/list", {})
    plain = run(server, *server.start_flags, stdin=message)

    changed = run(server, *server.start_flags, stdin=message, env={**FOREIGN, **FOREIGN_TO_ONE[server.name]})

    assert changed[:2] == plain[:2]
    assert changed[0] == 0


@pytest.mark.spec("1.S1.1.starts", "3.config.precedence")
def test_a_variable_that_is_set_to_nothing_is_not_set(server: DropInServer) -> None:
    variables = variables_of(server)
    plain = run(server, *server.start_flags, env={"RUST_LOG": "off"})

    for nothing in ("", " "):
        blank = {**dict.fromkeys(variables, nothing), "RUST_LOG": "off"}
        assert run(server, *server.start_flags, env=blank) == plain
    assert len(variables) >= 15


def variables_of(server: DropInServer) -> set[str]:
    """Return the variables that the help of a server names."""
    return set(re.findall(r"\b(?:SIGNET|OJ|BOJ)_[A-Z_]+", run(server, "--help")[1]))


def test_every_variable_that_the_help_names_is_read(server: DropInServer) -> None:
    """A value that cannot be used stops the start; files, folders and secrets may have any value."""
    texts = {"OJ_TOKEN", "OJ_CACHE", "SIGNET_AUDIT_KEY", "SIGNET_AUDIT_LOG", "SIGNET_LOG_DIR", "SIGNET_RECORD"}
    variables = variables_of(server) - texts

    statuses = {
        variable: run(server, *server.start_flags, env={"RUST_LOG": "off", variable: "?"})[0] for variable in variables
    }

    assert statuses == dict.fromkeys(variables, server.url_status)


@pytest.mark.spec("1.S1.1.starts", "3.config.precedence")
def test_no_variable_that_the_help_does_not_name_is_read(server: DropInServer) -> None:
    """Neither those of signet and of the other toolsets, nor those that would name the file of a secret."""
    settings = {variable_of(name) for name in known_settings()}
    prefixed = {name if name.startswith("SIGNET_") else f"SIGNET_{name}" for name in settings}
    named = variables_of(server)
    own = named | {name if name.startswith("SIGNET_") else f"SIGNET_{name}" for name in named}
    foreign = (settings | prefixed | {f"{name}_FILE" for name in settings | prefixed}) - own
    plain = run(server, *server.start_flags, stdin=rpc("tools/list", {}))

    changed = run(server, *server.start_flags, stdin=rpc("tools/list", {}), env=dict.fromkeys(foreign, "?"))

    assert len(foreign) > 100
    assert changed[:2] == plain[:2]


# --- who it is


@pytest.mark.spec(
    "1.S1.1.starts", "1.S3.1.name", "1.S3.1.version", "1.S3.2.tools", "1.S3.2.nothing-else", "1.S3.3.stdio",
    "3.transport.stdio", "3.tools.identity",
)  # fmt: skip
def test_the_server_introduces_itself_and_offers_tools_alone(server: DropInServer) -> None:
    status, out, err = run(server, *server.start_flags, env={"RUST_LOG": "off"})

    result = json.loads(out)["result"]
    assert (status, err) == (0, "")
    assert result["serverInfo"] == {"name": server.name, "version": VERSION}
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert result["protocolVersion"] == "2025-03-26"
    first = {"oj-mcp-rs": "resolve_problem first", "boj-mcp-server": "boj_get_metadata with a database (db) first"}
    assert first[server.name] in result["instructions"]
    assert len(result["instructions"]) < 1000


@pytest.mark.spec("1.S3.tools-list", "2.common.described", "3.tools.three", "3.compat.names")
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_there_are_exactly_the_specified_tools_in_their_order(server: DropInServer, era: str) -> None:
    _, out, _ = run(server, *server.start_flags, stdin=rpc("tools/list", {}, modern=era == "modern"))

    result = json.loads(out)["result"]
    assert [tool["name"] for tool in result["tools"]] == server.tools
    assert "nextCursor" not in result
    assert {"outputSchema" in tool for tool in result["tools"]} == {server.structured}
    assert all(part["description"] for tool in result["tools"] for part in tool["inputSchema"]["properties"].values())


def test_the_server_has_no_development_mode(server: DropInServer) -> None:
    plain = run(server, *server.start_flags, env={"RUST_LOG": "off"})

    assert run(server, *server.start_flags, env={"RUST_LOG": "off", "SIGNET_DEV": "1"}) == plain


@pytest.mark.spec("1.S3.tools-list", "3.tools.three", "3.compat.names")
def test_the_list_does_not_depend_on_the_settings_of_signet(server: DropInServer) -> None:
    other = next(name for name in SERVERS if name != server.name)
    environ = {
        "SIGNET_TOOLSETS": f"plantuml,{SERVERS[other].toolset}",
        "OJ_BASE_URL": "http://127.0.0.1:1",
        "BOJ_RETRY_MAX": "7",
    }
    message = rpc("tools/list", {})

    plain = run(server, *server.start_flags, stdin=message, env={"RUST_LOG": "off"})
    changed = run(server, *server.start_flags, stdin=message, env={"RUST_LOG": "off", **environ})

    assert changed == plain
    assert [tool["name"] for tool in json.loads(changed[1])["result"]["tools"]] == server.tools


@pytest.mark.spec("1.S3.2.nothing-else", "3.tools.identity")
def test_what_is_not_offered_is_not_there(server: DropInServer, upstream: UpstreamHarness) -> None:
    methods = ["resources/read", "prompts/get", "logging/setLevel", "tasks/list"]

    with server.piping(upstream) as pipe:
        codes = {method: pipe.ask(rpc(method, {}))["error"]["code"] for method in methods}

    assert codes == dict.fromkeys(methods, -32601)


EMPTY = {
    "prompts/list": {"prompts": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "completion/complete": {"completion": {"values": []}},
}


@pytest.mark.spec("1.S3.2.nothing-else", "3.tools.identity")
@pytest.mark.parametrize("method", EMPTY)
def test_a_client_that_asks_for_other_lists_is_answered_as_by_the_original(
    server: DropInServer, upstream: UpstreamHarness, method: str
) -> None:
    """The original servers answer these with empty lists, and advertise none of it."""
    with server.piping(upstream) as pipe:
        plain = pipe.ask(rpc(method, {}))["result"]
        modern = pipe.ask(rpc(method, {}, modern=True))["result"]

    hints = {"ttlMs", "cacheScope"} if method.endswith("/list") else set()
    assert plain == EMPTY[method]
    assert modern == {**EMPTY[method], **{name: modern[name] for name in {"resultType", "_meta", *hints}}}


def test_signet_itself_has_no_other_lists() -> None:
    words = ("stdio", "--toolsets", "plantuml", "--no-journal")

    answers = {method: run_on_one_message(SIGNET, *words, stdin=rpc(method, {})) for method in EMPTY}

    codes = {method: json.loads(out)["error"]["code"] for method, (_, out, _) in answers.items()}
    assert codes == dict.fromkeys(EMPTY, -32601)


@pytest.mark.spec("1.S3.tools-list", "3.tools.three")
def test_another_tool_is_not_there(server: DropInServer, upstream: UpstreamHarness) -> None:
    with server.piping(upstream) as pipe:
        answer = pipe.ask(called("boj_list_databases", {}))

    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"] == {"canonical_code": "NOT_FOUND"}
    assert upstream.targets() == []


# --- how it talks, and how it ends


def called(tool: str, arguments: Mapping[str, Any], request_id: object = 1) -> dict[str, Any]:
    return rpc("tools/call", {"name": tool, "arguments": dict(arguments)}, request_id=request_id)


def listening_sockets(pid: int) -> tuple[set[str], set[str]]:
    """Return the sockets of a process, and the states of those that are of TCP or UDP."""
    links = (str(descriptor.readlink()) for descriptor in Path(f"/proc/{pid}/fd").iterdir())
    sockets = {found[1] for link in links if (found := re.match(r"socket:\[(\d+)\]", link))}
    tables = [Path(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6", "udp", "udp6")]
    rows = [
        row.split() for table in tables if table.exists() for row in table.read_text(encoding="utf-8").splitlines()[1:]
    ]
    return sockets, {row[3] for row in rows if row[9] in sockets}


@pytest.mark.spec("1.S3.3.stdio", "3.transport.stdio")
def test_the_server_listens_nowhere(server: DropInServer, upstream: UpstreamHarness) -> None:
    tool = server.tools[-1]
    with server.piping(upstream) as pipe:
        assert "result" in pipe.ask(called(tool, server.calls[tool]))
        sockets, states = listening_sockets(pipe.process.pid)

    established = "01"
    assert sockets
    assert states == {established}


@pytest.mark.spec("1.S6.1.stdout", "3.transport.stdio")
def test_every_byte_on_stdout_belongs_to_a_message_at_the_loudest_level(
    server: DropInServer, upstream: UpstreamHarness
) -> None:
    upstream.order("close", match="/problems/broken" if server is OJ_SERVER else "getDataLayer", times=1)
    calls = {
        OJ_SERVER.name: [("get_problem", {"source": "broken", "id": "1"}), ("get_problem", {"source": "", "id": "1"})],
        BOJ_SERVER.name: [("boj_get_metadata", {"db": "NONE"}), ("boj_get_metadata", {})],
    }[server.name]
    messages = [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        rpc("tools/list", {}, request_id="list"),
        *(called(tool, arguments, tool) for tool, arguments in server.calls.items()),
        *(called(tool, arguments, f"wrong {number}") for number, (tool, arguments) in enumerate(calls)),
        rpc("nonsense", {}, request_id="nonsense"),
        b"this is not JSON",
    ]

    with server.piping(upstream, **server.loud, PYTHONWARNINGS="default", PYTHONASYNCIODEBUG="1") as pipe:
        pipe.send(*messages)
        status, out, err = pipe.finish()

    answers = [json.loads(line) for line in out.splitlines()]
    ids = [1, "list", *server.tools, "wrong 0", "wrong 1", "nonsense", None]
    assert status == 0
    assert out.endswith(b"\n")
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}
    assert sorted(map(str, (answer["id"] for answer in answers))) == sorted(map(str, ids))
    assert all(target.encode() in err for target in upstream.targets())


@pytest.mark.spec("1.S3.4.serves", "3.transport.stdio")
def test_the_server_serves_until_stdin_is_closed_and_answers_what_is_in_flight(
    server: DropInServer, upstream: UpstreamHarness
) -> None:
    upstream.order("slow", delay_s=0.3)
    tool = server.tools[1]

    with server.piping(upstream) as pipe:
        pipe.send(called(tool, server.calls[tool], 7))
        status, out, _ = pipe.finish()

    [line] = out.splitlines()
    assert status == 0
    assert json.loads(line)["id"] == 7
    assert json.loads(line)["result"]["isError"] is False


@pytest.mark.spec("1.S3.4.serves", "3.transport.stdio")
def test_a_line_that_is_no_message_does_not_end_the_conversation(
    server: DropInServer, upstream: UpstreamHarness
) -> None:
    tool = server.tools[1]

    with server.piping(upstream) as pipe:
        refused = pipe.ask(b"{not JSON")
        answer = pipe.ask(called(tool, server.calls[tool]))

    assert refused["error"]["code"] == -32700
    assert answer["result"]["isError"] is False
