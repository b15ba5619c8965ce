"""`signet config`, and the file of settings as real processes see it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import signet_here
from door_calls import rpc
from processes import BIN, FIRST_AND_LAST_DOOR, PATIENCE_S, SIGNET, clean_env
from terminals import run_on_terminal

SECRET = "hunter2-and-more"
FILE = f"""\
toolsets = ["plantuml", "oj"]
port = 9000
call-timeout-s = 20
token = "{SECRET}"

[settings.oj]
base_url = "http://someone:{SECRET}@127.0.0.1:1"
token = "{SECRET}-2"
"""
OWN = """\
from pathlib import Path
from typing import Annotated
from msgspec import Meta, Struct
import signet


class OwnSettings(Struct):
    api_key: Annotated[str, Meta(description="the key")] = ""
    tokens: list[str] = []
    headers: dict[str, str] = {}
    address: str = ""
    folder: Path = Path("/")


@signet.tool
def greet() -> str:
    '''Greet.'''
    return "hello"


own = signet.Toolset(name="own", tools=[greet], settings=OwnSettings)
"""
LIST = rpc("tools/list", {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "signet.toml").write_text(FILE)
    (tmp_path / "signet.toml").chmod(0o600)
    return tmp_path


def run(
    folder: Path, *command: str, env: Mapping[str, str] | None = None, stdin: object = None
) -> subprocess.CompletedProcess[str]:
    """Run a command; `config` and `doctor` in this process, as they have processes in other tests."""
    if command[:2] in {(SIGNET, "config"), (SIGNET, "doctor")} and stdin is None:
        done = signet_here(folder, *command[1:], environ=clean_env(env))
        return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())
    return subprocess.run(
        command,
        cwd=folder,
        env=clean_env(env),
        input="" if stdin is None else json.dumps(stdin) + "\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def shown(folder: Path, *args: str, env: Mapping[str, str] | None = None) -> dict[str, tuple[Any, str]]:
    """Return the value and the origin of each setting."""
    done = run(folder, SIGNET, "config", "--json", *args, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return {one["name"]: (one["value"], one["origin"]) for one in json.loads(done.stdout)["settings"]}


def test_each_value_is_shown_with_its_origin_and_no_secret(folder: Path) -> None:
    found = shown(folder, "--workers", "3", "--no-journal", env={"SIGNET_PORT": "9001", "OJ_TIMEOUT_S": "7"})

    assert {name: one for name, one in found.items() if one[1] != "default"} == {
        "port": (9001, "SIGNET_PORT"),
        "toolsets": ("plantuml,oj", "signet.toml:toolsets"),
        "token": ("(set, hidden)", "signet.toml:token"),
        "workers": (3, "--workers"),
        "call_timeout_s": (20.0, "signet.toml:call-timeout-s"),
        "journal": (False, "--no-journal"),
        "oj_base_url": ("http://…@127.0.0.1:1", "signet.toml:settings.oj.base_url"),
        "oj_token": ("(set, hidden)", "signet.toml:settings.oj.token"),
        "oj_timeout_s": (7.0, "OJ_TIMEOUT_S"),
    }
    assert (found["host"], found["config"]) == (("127.0.0.1", "default"), ("signet.toml", "default"))
    assert SECRET not in str(found)


def test_the_secrets_of_a_toolset_of_ones_own_are_hidden_in_every_shape(folder: Path) -> None:
    (folder / "own.py").write_text(OWN)
    env = {
        "OWN_API_KEY": f"{SECRET}-1",
        "OWN_TOKENS": f"{SECRET}-2,{SECRET}-3",
        "OWN_HEADERS": json.dumps({"Authorization": f"{SECRET}-4", "X-Team": "seven"}),
        "OWN_ADDRESS": f"https://someone:{SECRET}@a.example",
        "OWN_FOLDER": "/data",
    }

    done = run(folder, SIGNET, "config", "--toolsets", "own.py", env=env)
    found = shown(folder, "--toolsets", "own.py", env=env)

    assert done.returncode == 0
    assert SECRET not in done.stdout + done.stderr + str(found)
    assert {name: value for name, (value, _) in found.items() if name.startswith("own_")} == {
        "own_api_key": "(set, hidden)",
        "own_tokens": "(set, hidden)",
        "own_headers": {"Authorization": "[redacted]", "X-Team": "seven"},
        "own_address": "https://…@a.example",
        "own_folder": "/data",
    }


def test_only_the_settings_of_enabled_toolsets_are_shown(folder: Path) -> None:
    names = shown(folder, "--toolsets", "plantuml")

    assert "plantuml_jar" in names
    assert not [name for name in names if name.startswith(("oj_", "boj_"))]


def test_into_a_pipe_it_is_a_plain_table_and_on_a_terminal_one_that_fits(folder: Path) -> None:
    piped = run(folder, SIGNET, "config").stdout.splitlines()
    status, screen = run_on_terminal("config", "--config", str(folder / "signet.toml"), columns=60)

    assert [line.split() for line in piped[:3]] == [
        ["setting", "value", "origin"], ["host", "127.0.0.1", "default"], ["port", "9000", "signet.toml:port"],
    ]  # fmt: skip
    assert ["tls_cert", "-", "default"] in [line.split() for line in piped]
    assert status == 0
    assert max(map(len, screen.splitlines())) <= 60
    assert SECRET not in screen + "".join(piped)


def test_it_says_what_sets_nothing(folder: Path) -> None:
    (folder / "signet.toml").chmod(0o644)

    done = run(folder, SIGNET, "config", env={"SIGNET_PORT": "tcp://10.0.0.1:80", "SIGNET_PROT": SECRET})

    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        (
            "signet: SIGNET_PORT is an address, as an orchestrator sets it, and no port;"
            " SIGNET_PROT is not a setting of Signet, did you mean SIGNET_PORT?"
        ),
        "signet: others can read signet.toml, which has token: chmod 600 signet.toml",
    ]


def test_a_file_that_cannot_be_used_is_refused_by_every_command(folder: Path) -> None:
    (folder / "signet.toml").write_text("prot = 1\n")
    sentence = "signet: signet.toml:prot (line 1): there is no such setting; did you mean port?\n"

    told = [
        run(folder, SIGNET, *command.split())
        for command in ("config", "serve", "stdio", "tools", "call encodePlantUML", "tools --url http://127.0.0.1:1",
                        "boj info FM08 X", "oj show leetcode:1", "diagram x.puml", "diagrams engines")
    ]  # fmt: skip

    assert [(done.returncode, done.stderr) for done in told] == [(2, sentence)] * len(told)


def test_a_server_on_stdio_has_the_toolsets_of_the_file_unless_it_is_told_others(folder: Path) -> None:
    def names(*args: str, env: Mapping[str, str] | None = None) -> set[str]:
        done = run(folder, SIGNET, "stdio", *args, env=env, stdin=LIST)
        tools = json.loads(done.stdout)["result"]["tools"]
        return {tool["name"].partition("_")[0] for tool in tools}

    (folder / "signet.toml").write_text('toolsets = ["plantuml"]\n')

    assert names() == {"encodePlantUML"}
    assert names(env={"SIGNET_TOOLSETS": "boj"}) == {"boj"}
    assert names("--toolsets", "boj", env={"SIGNET_TOOLSETS": "plantuml"}) == {"boj"}


def test_a_warning_goes_to_standard_error_alone_and_once(folder: Path) -> None:
    (folder / "signet.toml").write_text('toolsets = ["plantuml"]\n')
    env = {"SIGNET_SERVICE_HOST": SECRET, "SIGNET_PORT": "tcp://10.0.0.1:80"}

    told = run(folder, SIGNET, "stdio", env=env, stdin=LIST)
    hushed = run(folder, SIGNET, "stdio", "--log", "error", env=env, stdin=LIST)

    (line,) = told.stderr.splitlines()
    assert line.partition(" ")[2] == (
        ' WARN signet: variables.ignored why="SIGNET_PORT is an address, as an orchestrator sets it, and no port;'
        ' SIGNET_SERVICE_HOST is not a setting of Signet"'
    )
    assert hushed.stderr == ""
    assert told.stdout == hushed.stdout
    assert len(told.stdout.splitlines()) == 1


def test_the_drop_in_servers_read_no_file_and_go_on_beside_a_service(folder: Path) -> None:
    (folder / "signet.toml").write_text("prot = 1\n")
    env = {"SIGNET_SERVICE_HOST": SECRET, "SIGNET_CONFIG": "none.toml"}

    judge = run(folder, str(BIN / "oj-mcp-rs"), "--base-url", "http://127.0.0.1:1", env=env, stdin=LIST)
    bank = run(folder, str(BIN / "boj-mcp-server"), env=env, stdin=LIST)

    for done in (judge, bank):
        assert done.returncode == 0
        assert "tools" in json.loads(done.stdout)["result"]
        assert done.stderr.count("SIGNET_SERVICE_HOST is not a setting of Signet") == 1
        assert SECRET not in done.stderr


def test_the_application_for_other_servers_reads_the_file_and_create_app_the_one_it_is_given(folder: Path) -> None:
    (folder / "signet.toml").write_text('toolsets = ["boj"]\njournal = false\n')
    (folder / "other.toml").write_text('toolsets = ["boj-explore"]\njournal = false\n')
    program = """
import asyncio, json
from signet import asgi

def first(app):
    sent = []
    async def receive():
        return {"type": "http.request", "body": b""}
    async def send(message):
        sent.append(message)
    scope = {"type": "http", "method": "GET", "raw_path": b"/", "headers": [(b"host", b"localhost")]}
    asyncio.run(app(scope, receive, send))
    return json.loads(b"".join(message["body"] for message in sent[1:]))["tools"][0]

print(json.dumps([first(asgi.app), first(asgi.create_app(config="other.toml")),
    first(asgi.create_app({"SIGNET_CONFIG": "other.toml"})), first(asgi.create_app(toolsets="plantuml"))]))
"""

    done = run(folder, sys.executable, "-c", program)

    assert json.loads(done.stdout) == [
        "boj_get_data_code", "boj_search", "boj_search", "encodePlantUML",
    ]  # fmt: skip


def test_doctor_shows_the_file_and_what_sets_nothing(folder: Path) -> None:
    (folder / "signet.toml").chmod(0o644)

    done = run(folder, SIGNET, "doctor", "--json", "--port", "0", env={"SIGNET_PROT": SECRET})

    found = {one["name"]: (one["state"], one["text"]) for one in json.loads(done.stdout)["findings"]}
    assert found["file"] == (
        "ok",
        (
            "signet.toml: toolsets=plantuml,oj, call_timeout_s=20, token=(set, not shown),"
            " oj_base_url=http://…@127.0.0.1:1, oj_token=(set, not shown)"
        ),
    )
    assert found["variables.ignored"] == (
        "note", "SIGNET_PROT is not a setting of Signet, did you mean SIGNET_PORT?",
    )  # fmt: skip
    assert found["file.shared"][0] == "note"
    assert SECRET not in done.stdout + done.stderr


def test_parity_compares_the_tools_whatever_the_file_in_the_folder_says(folder: Path) -> None:
    (folder / "signet.toml").write_text('toolsets = ["boj"]\nvalidation = "off"\nprot = 1\n')

    done = run(folder, SIGNET, "parity", "--toolsets", "plantuml", env=FIRST_AND_LAST_DOOR)

    assert done.returncode == 0, done.stdout + done.stderr


def test_without_a_file_nothing_is_loaded_to_read_one(tmp_path: Path) -> None:
    probe = """
import sys
from signet.settings.reading import read_settings
read_settings({}, {})
print(*{"tomllib", "difflib"} & set(sys.modules))
"""

    assert run(tmp_path, sys.executable, "-c", probe).stdout == "\n"
