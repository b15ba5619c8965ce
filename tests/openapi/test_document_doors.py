"""A document as a target, `openapi:petstore.json`: every door, command and recording has its tools as all others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here, signet_here
from door_calls import invocation
from own_toolsets import ServiceHarness
from processes import BIN, PATIENCE_S, ROOT, SIGNET, Server, clean_env, piping, serving, serving_command
from signet.sandbox.message import Sandbox, SandboxRequest, SandboxResponse, json_response
from upstream_harness import playing

from .documents import document, echo, operation, written

SECRET = "s3cret-key"
PET = {
    "type": "object",
    "properties": {"method": {"type": "string"}, "target": {"type": "string"}},
    "required": ["method"],
}
PETS = document(
    {
        "/pets/{id}": {
            "get": operation(
                [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
                 {"name": "fields", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}],
                response=PET, operationId="getPet", tags=["pets"],
            ),
            "delete": operation(operationId="removePet", tags=["pets"]),
        },
        "/owners": {"get": operation(operationId="listOwners", response=PET, tags=["owners"])},
    },
    components={"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "k"}}},
    security=[{"key": []}],
)  # fmt: skip
ARGUMENTS = {"id": 7, "fields": ["a b", "c"]}
TARGET = f"/pets/7?fields=a%20b&fields=c&k={SECRET}"


def environ(folder: Path, url: str) -> dict[str, str]:
    return {"PETS_BASE_URL": url, "PETS_API_KEY": SECRET, "XDG_CACHE_HOME": str(folder / "cache")}


def test_each_door_calls_a_tool_of_a_document(tmp_path: Path) -> None:
    path = written(tmp_path, PETS, "pets.json")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "getPet", "arguments": ARGUMENTS}}
    with echo() as service:
        env = environ(tmp_path, service.url)
        flags = ("--toolsets", f"openapi:{path}#tag:pets", "--log-dir", str(tmp_path / "log"), "--log", "debug")
        with serving(*flags, env=env) as server:
            headers = {"accept": "application/json, text/event-stream"}
            by_mcp = server.post("/mcp", call, headers).json()["result"]["structuredContent"]
            by_rest = server.post("/api/tools/getPet", ARGUMENTS).json()
            by_envelope = server.post("/mcp/tool/pets.get_pet", invocation("pets.get_pet", ARGUMENTS)).json()
            described = server.ask("GET", "/openapi.json").json()
            in_console = server.ask("GET", "/-/tools").json()
            told = server.stderr()
        with piping(SIGNET, "stdio", *flags, env=env) as pipe:
            listed = pipe.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})["result"]["tools"]
            by_stdio = pipe.ask(call)["result"]["structuredContent"]
        assert [one.target for one in service.received] == [TARGET] * 4

    results = [by_mcp, by_rest["result"], by_envelope["result"], by_stdio]
    assert [(one["method"], one["target"].replace("[redacted]", SECRET)) for one in results] == [("GET", TARGET)] * 4
    assert [tool["name"] for tool in listed] == ["getPet", "removePet"]
    assert listed[0]["outputSchema"]["required"] == ["method"]
    assert listed[0]["annotations"]["readOnlyHint"] is True
    assert "/api/tools/getPet" in described["paths"]
    assert "getPet" in json.dumps(in_console)
    assert "upstream.ask" in told
    lines = [one.read_text() for one in (tmp_path / "log").rglob("*.jsonl")]
    assert sum(text.count("pets.get_pet") for text in lines) >= 4
    assert SECRET not in told + "".join(lines) + json.dumps(results)


@pytest.mark.parametrize("words", [("serve",), ("serve", "--toolsets", "plantuml-tools"), ("wrap", "--serve")])
def test_the_call_that_a_server_prints_works_when_it_is_pasted(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = written(tmp_path, PETS, "pets.json")
    is_wrapped = words[0] == "wrap"
    text = "" if is_wrapped else '[servers.pets]\nopenapi = "pets.json"\n'
    flags = ("--openapi", path, "--include", "tag:pets", "--include", "tag:owners") if is_wrapped else ()
    with echo() as service:
        env = environ(tmp_path, service.url) | {"SIGNET_CONFIG": written(tmp_path, text, "signet.toml")}
        with serving_command(SIGNET, *words, *flags, "--port", "0", env=env) as server:
            greeting = server.stderr()
        line = next(one for one in greeting.splitlines() if " call " in one)
        done = subprocess.run(
            ["/bin/sh", "-c", line], capture_output=True, env=clean_env(env), timeout=PATIENCE_S, check=False
        )

    assert done.returncode == 0, (line, done.stderr)


def called_by(server: Server) -> None:
    assert server.post("/api/tools/getPet", ARGUMENTS).status == 200


@pytest.mark.parametrize("given", ["variables", "file"])
@pytest.mark.parametrize("way", ["target", "wrap", "wrap --serve", "server of the file", "server over HTTP"])
def test_a_document_has_the_same_settings_however_it_is_served(tmp_path: Path, way: str, given: str) -> None:
    """The secret reaches the service, from a variable and from `[settings.pets]` alike."""
    path = written(tmp_path, PETS, "pets.json")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "getPet", "arguments": ARGUMENTS}}
    with echo() as service:
        table = f'[settings.pets]\nbase_url = "{service.url}"\napi_key = "{SECRET}"\n' if given == "file" else ""
        server = '[servers.pets]\nopenapi = "pets.json"\n' if way.startswith("server") else ""
        config = Path(written(tmp_path, server + table, "signet.toml"))
        config.chmod(0o600)
        env = environ(tmp_path, service.url) if given == "variables" else {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        env["SIGNET_CONFIG"], env["SIGNET_JOURNAL"] = str(config), "no"
        if way == "target":
            words = ("--toolsets", f"openapi:{path}", "getPet", "--json", json.dumps(ARGUMENTS))
            called = run_here("call", *words, env=env)
            assert called.returncode == 0, called.stderr
        elif way == "wrap":
            with piping(SIGNET, "wrap", "--openapi", path, env=env) as pipe:
                assert pipe.ask(call)["result"]["isError"] is False
        elif way == "server of the file":
            with piping(SIGNET, "stdio", env=env) as pipe:
                assert pipe.ask(call)["result"]["isError"] is False
        elif way == "server over HTTP":
            with serving(env=env) as http:
                called_by(http)
        else:
            with serving_command(SIGNET, "wrap", "--serve", "--port", "0", "--openapi", path, env=env) as http:
                called_by(http)

        assert [one.target for one in service.received] == [TARGET]


def test_commands_that_serve_no_document_read_a_file_with_its_settings(tmp_path: Path) -> None:
    """They do not open the document: here it is not even there."""
    text = '[servers.pets]\nopenapi = "missing.json"\n[settings.pets]\napi_key = "k"\ntokens_file = 1\n'
    written(tmp_path, text, "signet.toml")

    done = signet_here(tmp_path, "token", "list", "--tokens-file", "tokens.jsonl")

    assert b"settings.pets" not in done.stderr
    assert b"missing.json" not in done.stderr


def test_the_settings_of_a_served_document_are_shown_with_their_origins(tmp_path: Path) -> None:
    written(tmp_path, PETS, "pets.json")
    written(tmp_path, '[servers.pets]\nopenapi = "pets.json"\n', "signet.toml")

    done = signet_here(tmp_path, "config", "--json", environ=clean_env({"PETS_API_KEY": SECRET}))

    shown = {one["name"]: (one["value"], one["origin"]) for one in json.loads(done.stdout)["settings"]}
    assert shown["pets_api_key"] == ("(set, hidden)", "PETS_API_KEY")
    assert shown["store"] == ("memory:", "default")
    assert not any(name.startswith("boj_") for name in shown)


def test_the_journal_says_where_a_response_differs_from_the_document(tmp_path: Path) -> None:
    """It is delivered all the same, unless contracts are enforced: then the answer says it."""
    schema = {"type": "object", "properties": {"method": {"type": "integer"}}}
    pets = document({"/pets": {"get": operation(response=schema, operationId="getPets")}})
    path = written(tmp_path, pets, "pets.json")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "getPets", "arguments": {}}}
    sentence = "getPets gave a result that breaks its contract: method (type)"
    with echo() as service:
        env = {**environ(tmp_path, service.url), "SIGNET_LOG_DIR": str(tmp_path / "log")}
        with piping(SIGNET, "wrap", "--openapi", path, env=env) as pipe:
            delivered = pipe.ask(call)["result"]
            pipe.finish()
        with piping(SIGNET, "wrap", "--openapi", path, "--validation", "enforce", env=env) as pipe:
            refused = pipe.ask(call)["result"]
            pipe.finish()

    assert delivered["isError"] is False
    assert (refused["isError"], refused["content"][0]["text"]) == (True, sentence)
    lines = "".join(one.read_text() for one in (tmp_path / "log").rglob("*.jsonl"))
    assert {json.loads(line)["error"]["message"] for line in lines.splitlines()} == {sentence}


def test_a_document_takes_no_name_of_a_toolset(tmp_path: Path) -> None:
    written(tmp_path, PETS, "boj.json")

    done = signet_here(tmp_path, "wrap", "--openapi", "boj.json")

    assert done.returncode == 2
    assert b"there is a toolset 'boj' already" in done.stderr


def test_a_recording_answers_without_the_service_and_without_the_secret(tmp_path: Path) -> None:
    written(tmp_path, PETS, "pets.json")
    given = ("call", "--toolsets", "openapi:pets.json", "getPet", "--json", json.dumps(ARGUMENTS))
    with echo() as service:
        env = clean_env(environ(tmp_path, service.url))
        live = signet_here(tmp_path, *given, "--record", "tape", environ=env)
    quiet = clean_env({"XDG_CACHE_HOME": str(tmp_path / "cache")})
    replayed = signet_here(tmp_path, *given, "--replay", "tape", environ=quiet)
    other = signet_here(tmp_path, *given[:-1], '{"id": 8}', "--replay", "tape", environ=quiet)

    assert (live.returncode, replayed.returncode) == (0, 0), live.stderr + replayed.stderr
    assert replayed.stdout == live.stdout
    assert b"NOT_RECORDED" in other.stdout
    assert all(SECRET.encode() not in one.read_bytes() for one in (tmp_path / "tape").rglob("*") if one.is_file())


def test_a_wrapped_document_is_recorded_and_replayed_without_the_service(tmp_path: Path) -> None:
    path = written(tmp_path, PETS, "pets.json")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "getPet", "arguments": ARGUMENTS}}
    folder = str(tmp_path / "rec")
    words = ("wrap", "--openapi", path, "--record", folder)
    with echo() as service, piping(SIGNET, *words, env=environ(tmp_path, service.url)) as pipe:
        live = pipe.ask(call)["result"]
        pipe.finish()

    quiet = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with piping(SIGNET, "wrap", "--openapi", path, "--replay", folder, env=quiet) as pipe:
        again = pipe.ask(call)["result"]
        pipe.finish()

    assert live["isError"] is False
    assert again == live


def test_the_commands_know_the_tools_of_a_document(tmp_path: Path) -> None:
    written(tmp_path, PETS, "pets.json")
    env = clean_env({"XDG_CACHE_HOME": str(tmp_path / "cache")})

    def run(*words: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        command = [SIGNET, *words]
        return subprocess.run(
            command, check=False, cwd=tmp_path, env={**env, **more}, capture_output=True, timeout=PATIENCE_S
        )

    tools = run("tools", "openapi:pets.json")
    check = run("check", "openapi:pets.json")
    freeze = run("contract", "freeze", "openapi:pets.json")
    config = run("config", "--toolsets", "openapi:pets.json", PETS_API_KEY=SECRET)

    assert all(name in tools.stdout for name in (b"getPet", b"removePet", b"listOwners"))
    assert (check.returncode, b"failed" in check.stdout) == (0, False), check.stdout.decode()
    assert b"are those of its document" in freeze.stderr
    assert b"pets_api_key" in config.stdout.lower().replace(b"-", b"_")
    assert SECRET.encode() not in config.stdout + config.stderr


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("none.json", None, b"cannot be read"),
        ("pets.json", "{", b"is no JSON that can be used"),
        ("pets.yaml", "swagger: '2.0'", b"convert it once to OpenAPI 3"),
    ],
)
def test_a_document_that_cannot_be_used_stops_the_start_with_a_sentence(
    tmp_path: Path, name: str, text: str | None, told: bytes
) -> None:
    if text is not None:
        written(tmp_path, text, name)

    done = signet_here(tmp_path, "tools", "--toolsets", f"openapi:{name}")

    assert done.returncode == 2
    assert told in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_document_from_a_url_is_read_with_what_it_refers_to_and_serves_its_own_origin(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "/moved": None,
        "/api/openapi.json": document({"/x": {"get": operation(response={"$ref": "pet.json"}, operationId="getX")}},
                                      servers=[{"url": "../v1"}]),
        "/api/pet.json": {"type": "object", "properties": {"target": {"type": "string"}}},
    }  # fmt: skip

    def handle(request: SandboxRequest) -> SandboxResponse:
        return json_response(files.get(request.path) or {"target": request.target})

    with playing(Sandbox("documents", handle), ServiceHarness) as service:
        env = clean_env({"XDG_CACHE_HOME": str(tmp_path / "cache")})
        target = f"openapi:{service.url}/api/openapi.json"
        done = signet_here(tmp_path, "call", "--toolsets", target, "getX", environ=env)
        assert json.loads(done.stdout) == {"target": "/v1/x"}, done.stderr
        service.order("status", status=404)
        missing = signet_here(tmp_path, "tools", "--toolsets", target, environ=env)
        assert (missing.returncode, b"cannot be fetched: status 404" in missing.stderr) == (2, True), missing.stderr


def test_nothing_of_it_is_loaded_unless_it_is_used() -> None:
    probe = """
import sys
from signet.app import build_server
from signet.settings.reading import read_settings
from signet.kernel.server import ClientChannel
build_server(read_settings({}, {})).receive(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', ClientChannel())
print(*[name for name in sys.modules if name.startswith(("signet.openapi", "yaml"))])
"""
    done = subprocess.run([BIN / "python", "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""


def test_yaml_without_its_library_is_told_and_json_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    written(tmp_path, PETS, "pets.json")
    written(tmp_path, "openapi: 3.0.0", "pets.yaml")

    by_json = signet_here(tmp_path, "tools", "--toolsets", "openapi:pets.json")
    by_yaml = signet_here(tmp_path, "tools", "--toolsets", "openapi:pets.yaml")

    assert (by_json.returncode, by_yaml.returncode) == (0, 2)
    assert b"[openapi]', or give it as JSON" in by_yaml.stderr
