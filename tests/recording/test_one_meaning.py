"""`--record` and `--replay` mean one thing on every command; a folder holds upstreams and servers alike."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from door_calls import rpc
from processes import BIN, PATIENCE_S, ROOT, SIGNET, clean_env, piping
from signet.recording.folder import read_recording
from signet.recording.label import RecordedServer, RecordingLabel, change_label, new_label

WEATHER = (sys.executable, str(ROOT / "tests/wrap/weather_server.py"))
LEAKY = (sys.executable, "-I", str(Path(__file__).with_name("recorded_server.py")), "handshake")
STARTED = 'echo started >> "$0"; exec "$@"'
OSLO = {"city": "Oslo"}
CLEAR = {"celsius": 21.5, "sky": "clear"}
OWN = '''
import signet


@signet.tool
def shout(text: str) -> str:
    """Return a text in capital letters."""
    return text.upper()
'''
COMMANDS = (("serve",), ("stdio",), ("call",), ("wrap",))
RECORD = "--record DIR record every exchange with upstreams and servers, and every call, in DIR"
REPLAY = "--replay DIR answer from the recording in DIR, without network and without servers"


def signet(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [SIGNET, *words],
        cwd=folder,
        env=clean_env(env),
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


def said(*calls: dict[str, Any]) -> bytes:
    """Return the lines of a client that makes some calls."""
    lines = [rpc("tools/call", call, request_id=number, modern=True) for number, call in enumerate(calls, 1)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def counted(command: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Return a command that leaves a line in `starts` for each start."""
    return ("sh", "-c", STARTED, str(folder / "starts"), *command)


def starts(folder: Path) -> int:
    path = folder / "starts"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


@pytest.mark.parametrize(
    "command",
    [*((SIGNET, *words) for words in COMMANDS), (str(BIN / "oj-mcp-rs"),), (str(BIN / "boj-mcp-server"),)],
    ids=lambda command: Path(command[-1]).name,
)
def test_every_command_says_the_same_of_both_flags(command: tuple[str, ...]) -> None:
    done = subprocess.run([*command, "--help"], env=clean_env(), capture_output=True, timeout=PATIENCE_S, check=True)

    words = " ".join(done.stdout.decode().split())
    assert RECORD in words
    assert REPLAY in words


def test_a_wrapped_server_that_is_named_with_a_replay_is_not_started(tmp_path: Path) -> None:
    command = counted((*WEATHER, str(tmp_path / "seen")), tmp_path)
    call = said({"name": "weather", "arguments": OSLO})
    live = signet(tmp_path, "wrap", "--name", "sky", "--record", "rec", "--", *command, stdin=call)

    again = signet(tmp_path, "wrap", "--name", "sky", "--replay", "rec", "--", *command, stdin=call)
    alone = signet(tmp_path, "wrap", "--replay", "rec", stdin=call)
    by_variable = signet(tmp_path, "wrap", stdin=call, env={"SIGNET_REPLAY": "rec"})
    other = signet(tmp_path, "wrap", "--name", "sea", "--replay", "rec", "--", *command, stdin=call)

    assert json.loads(live.stdout)["result"]["structuredContent"] == CLEAR
    assert [one.stdout for one in (again, alone, by_variable)] == [live.stdout] * 3
    assert (other.returncode, other.stdout) == (2, b"")
    assert b"rec has no recording of the server 'sea', and a replay does not start it" in other.stderr
    assert starts(tmp_path) == 1


@pytest.mark.parametrize("words", [("stdio",), ("call", "weather"), ("serve", "--port", "0"), ("tools",)])
def test_a_recording_of_wrapped_servers_alone_is_not_played_as_toolsets(tmp_path: Path, words: tuple[str, ...]) -> None:
    label = new_label(servers={"sky": RecordedServer(started="2026-01-01T00:00:00Z")})
    change_label(str(tmp_path / "rec"), lambda _: label)

    done = signet(tmp_path, *words, "--replay", "rec")

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"signet: rec is a recording of wrapped servers alone: play it with the command 'wrap', or configure its "
        b"servers (there is no [servers.sky])\n"
    )


def test_several_wrapped_servers_are_in_one_folder_and_served_from_it_as_they_were(tmp_path: Path) -> None:
    servers = {
        name: {"command": command[0], "args": list(command[1:])}
        for name, command in {"sky": (*WEATHER, str(tmp_path / "seen")), "odd": LEAKY}.items()
    }
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    calls = said({"name": "sky_weather", "arguments": OSLO}, {"name": "odd_echo", "arguments": {"a": 1}})
    live = signet(tmp_path, "wrap", "--config", "mcp.json", "--record", "rec", stdin=calls)

    again = signet(tmp_path, "wrap", "--replay", "rec", stdin=calls)
    compared = signet(tmp_path, "replay", "rec")

    assert live.stdout.count(b"\n") == 2
    assert (again.returncode, sorted(again.stdout.splitlines())) == (0, sorted(live.stdout.splitlines())), again.stderr
    assert compared.stdout.decode().splitlines()[-1] == "calls: 2, same: 2, different: 0", compared.stderr
    names = {path.relative_to(tmp_path / "rec").as_posix() for path in (tmp_path / "rec").iterdir()}
    assert names == {"recording.json", "calls.jsonl", "exchanges", "servers", "mcp_server"}
    assert sorted(path.name for path in (tmp_path / "rec/servers").iterdir()) == ["odd", "sky"]


def test_wrapped_servers_of_a_recording_with_own_tools_are_served_from_it(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    command = json.dumps([*WEATHER, str(tmp_path / "seen")])
    (tmp_path / "signet.toml").write_text(
        f'toolsets = ["own.py"]\n[servers.sky]\ncommand = {command}\n', encoding="utf-8"
    )
    call = said({"name": "sky_weather", "arguments": OSLO})
    own = said({"name": "shout", "arguments": {"text": "a"}})
    live = signet(tmp_path, "stdio", "--record", "rec", stdin=call + own)

    again = signet(tmp_path, "wrap", "--replay", "rec", stdin=call)
    refused = signet(tmp_path, "wrap", "--replay", "rec", stdin=own)

    assert live.stdout.count(b"\n") == 2
    assert again.stdout.splitlines() == [line for line in live.stdout.splitlines() if b"celsius" in line]
    assert b"error" in refused.stdout


def test_the_calls_of_a_server_that_kept_no_journal_are_made_again(tmp_path: Path) -> None:
    calls = said({"name": "echo", "arguments": {"a": 1}}, {"name": "count"}, {"name": "echo", "arguments": {"a": 1}})
    live = signet(tmp_path, "wrap", "--no-journal", "--record", "rec", "--", *LEAKY, stdin=calls)

    done = signet(tmp_path, "replay", "rec")

    assert live.stdout.count(b"\n") == 3
    assert (done.returncode, done.stdout.decode().splitlines()[-1]) == (0, "calls: 3, same: 3, different: 0")


def test_only_calls_of_tools_are_made_again(tmp_path: Path) -> None:
    requests = [
        rpc("tools/call", {"name": "echo", "arguments": {"a": 1}}, request_id=1, modern=True),
        rpc("resources/read", {"uri": "memo://one"}, request_id=2, modern=True),
        rpc("prompts/get", {"name": "greet", "arguments": {"who": "Ann"}}, request_id=3, modern=True),
    ]
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in requests)
    live = signet(tmp_path, "wrap", "--record", "rec", "--", *LEAKY, stdin=lines)

    done = signet(tmp_path, "replay", "rec")

    assert b"a memo" in live.stdout
    assert done.stdout.decode().splitlines()[-1] == "calls: 1, same: 1, different: 0", done.stdout
    assert done.returncode == 0


def test_what_is_removed_is_reported_once_for_each_place_and_without_its_value(tmp_path: Path) -> None:
    calls = said({"name": "leak", "arguments": {}}, {"name": "leak", "arguments": {}})

    done = signet(tmp_path, "wrap", "--env", "CANARY_TOKEN=canary-7d1f00", "--record", "rec", "--", *LEAKY, stdin=calls)

    removed = [
        line.split("record.redacted ", 1)[1] for line in done.stderr.decode().splitlines() if "redacted " in line
    ]
    assert sorted(line.split(" why=")[0] for line in removed) == [
        "server=recorded_server what=api_key",
        "where=calls what=api_key",
    ]
    assert b"labelled-canary" not in done.stderr
    assert b"canary-7d1f00" not in done.stderr


def _add_servers(folder: str, start: int) -> None:
    for number in range(start, start + 25):

        def with_server(label: RecordingLabel | None, name: str = f"server-{number}") -> RecordingLabel:
            label = label or new_label()
            servers = {**label.servers, name: RecordedServer("c", "2026-01-01T00:00:00+00:00")}
            return RecordingLabel(label.format, label.signet, label.toolsets, label.settings, servers)

        change_label(folder, with_server)


def test_processes_that_write_one_label_at_once_lose_nothing(tmp_path: Path) -> None:
    context = get_context("spawn")
    children = [context.Process(target=_add_servers, args=(str(tmp_path), start)) for start in (0, 25, 50)]
    for child in children:
        child.start()
    for child in children:
        child.join(PATIENCE_S)

    assert [child.exitcode for child in children] == [0, 0, 0]
    assert sorted(read_recording(str(tmp_path)).label.servers) == sorted(f"server-{number}" for number in range(75))


def test_the_folder_of_one_server_can_be_named_by_itself(tmp_path: Path) -> None:
    """The folder of one server among several can be named by itself."""
    with piping(SIGNET, "wrap", "--no-journal", "--record", str(tmp_path / "rec"), "--", *LEAKY) as pipe:
        live = pipe.ask(rpc("tools/call", {"name": "count", "arguments": {}}, modern=True))
        pipe.finish()

    folder = str(tmp_path / "rec/servers/recorded_server")
    with piping(SIGNET, "wrap", "--no-journal", "--replay", folder) as pipe:
        again = pipe.ask(rpc("tools/call", {"name": "count", "arguments": {}}, modern=True))
        pipe.finish()

    assert again == live
