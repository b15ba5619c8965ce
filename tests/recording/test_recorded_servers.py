"""`--record` and `--replay` with the servers of `signet.toml`: they are recorded too, and a replay starts none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from door_calls import rpc
from processes import PATIENCE_S, ROOT, SIGNET, clean_env, piping, serving

SERVER = str(ROOT / "tests/wrap/weather_server.py")
STARTED = 'echo started >> "$0"; exec "$@"'
"""A shell that writes a line for each start of the command behind it."""
CLEAR = {"celsius": 21.5, "sky": "clear"}
SECRET = "canary-of-the-server-5b"
OWN = '''
import signet


@signet.tool
def shout(text: str) -> str:
    """Return a text in capital letters."""
    return text.upper()
'''


def signet(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder."""
    return subprocess.run(
        [SIGNET, *words], cwd=folder, env=clean_env(env), capture_output=True, timeout=PATIENCE_S, check=False
    )


def configure(folder: Path, *servers: str, toolsets: str = "", more: str = "") -> None:
    """Write a `signet.toml` that starts some servers."""
    command = ["sh", "-c", STARTED, str(folder / "starts"), sys.executable, SERVER, str(folder / "seen")]
    tables = [f"[servers.{name}]\ncommand = {json.dumps(command)}\n{more}" for name in servers]
    (folder / "signet.toml").write_text(f"toolsets = [{toolsets}]\n" + "\n".join(tables), encoding="utf-8")


def starts(folder: Path) -> int:
    """Return how often a server was started since this was asked last."""
    path = folder / "starts"
    count = len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0
    path.unlink(missing_ok=True)
    return count


def by_call(folder: Path, *flags: str) -> Any:
    done = signet(folder, "call", "sky_weather", "city=Oslo", *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_stdio(folder: Path, *flags: str) -> Any:
    with piping(SIGNET, "stdio", "--config", str(folder / "signet.toml"), *flags) as pipe:
        asked = rpc("tools/call", {"name": "sky_weather", "arguments": {"city": "Oslo"}}, modern=True)
        answer = pipe.ask(asked)
        status, _, err = pipe.finish()
    assert status == 0, err
    return answer["result"]["structuredContent"]


def by_http(folder: Path, *flags: str) -> Any:
    with serving("--config", str(folder / "signet.toml"), *flags) as server:
        return server.post("/api/tools/sky_weather", {"city": "Oslo"}).json()["result"]


DOORS: dict[str, Callable[..., Any]] = {"call": by_call, "stdio": by_stdio, "serve": by_http}


@pytest.mark.parametrize("recorded", DOORS)
def test_a_recording_with_servers_is_replayed_through_every_door_and_starts_nothing(
    tmp_path: Path, recorded: str
) -> None:
    configure(tmp_path, "sky")
    tape = str(tmp_path / "rec")
    live = DOORS[recorded](tmp_path, "--record", tape)
    started = starts(tmp_path)

    replayed = {door: play(tmp_path, "--replay", tape) for door, play in DOORS.items()}
    listed = signet(tmp_path, "tools", "--json", "--replay", tape)
    compared = signet(tmp_path, "replay", tape)

    assert started == 1
    assert replayed == dict.fromkeys(DOORS, live)
    assert [one["name"] for one in json.loads(listed.stdout)] == ["sky_weather", "sky_say", "sky_note", "sky_liar"]
    assert compared.stdout.decode().splitlines()[-1] == "calls: 1, same: 1, different: 0"
    assert starts(tmp_path) == 0


def test_a_call_that_was_not_recorded_is_refused_and_starts_nothing(tmp_path: Path) -> None:
    configure(tmp_path, "sky")
    by_call(tmp_path, "--record", "rec")
    starts(tmp_path)

    done = signet(tmp_path, "call", "sky_weather", "city=Rome", "--replay", "rec")

    assert done.returncode == 1
    assert b"not recorded: this recording has no tools/call of weather" in done.stderr
    assert starts(tmp_path) == 0


WORDS = [("call", "sky_weather", "city=Oslo"), ("tools",), ("stdio",), ("serve", "--port", "0")]


@pytest.mark.parametrize("words", WORDS)
def test_a_server_that_was_not_recorded_is_refused_in_a_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    configure(tmp_path, toolsets='"own.py"')
    assert signet(tmp_path, "call", "shout", "text=a", "--record", "rec").returncode == 0
    configure(tmp_path, "sky", toolsets='"own.py"')

    done = signet(tmp_path, *words, "--replay", "rec")

    assert done.returncode == 2
    assert done.stderr.decode() == (
        "signet: rec has no recording of the server 'sky', and a replay does not start it: record it with --record, or "
        'name a recording of it with tape = "FOLDER" in [servers.sky]\n'
    )
    assert starts(tmp_path) == 0


def test_own_tools_and_several_servers_are_in_one_recording(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    configure(tmp_path, "sky", "sea", toolsets='"own.py"')
    calls = [("shout", "text=a"), ("sky_weather", "city=Oslo"), ("sea_weather", "city=Oslo"), ("sea_say", "city=Rome")]
    live = [signet(tmp_path, "call", *call, "--record", "rec") for call in calls]
    starts(tmp_path)

    again = [signet(tmp_path, "call", *call, "--replay", "rec") for call in calls]
    compared = signet(tmp_path, "replay", "rec", "--toolsets", "own.py")

    assert [one.stdout for one in again] == [one.stdout for one in live]
    assert {one.returncode for one in live} == {0}
    assert sorted(path.parent.name for path in (tmp_path / "rec/servers").rglob("messages.jsonl")) == ["sea", "sky"]
    assert compared.stdout.decode().splitlines()[-1] == "calls: 1, same: 1, different: 0"
    assert starts(tmp_path) == 0


def test_a_replay_needs_neither_the_variables_nor_the_headers_of_a_server(tmp_path: Path) -> None:
    configure(tmp_path, "sky", more='env = ["THE_API_KEY"]\n')
    live = signet(tmp_path, "call", "sky_weather", "city=Oslo", "--record", "rec", env={"THE_API_KEY": SECRET})

    again = signet(tmp_path, "call", "sky_weather", "city=Oslo", "--replay", "rec")
    without = signet(tmp_path, "call", "sky_weather", "city=Oslo")

    assert (again.returncode, again.stdout) == (0, live.stdout), again.stderr
    assert b"the variable THE_API_KEY is not set" in without.stderr
    written = b"".join(path.read_bytes() for path in (tmp_path / "rec").rglob("*") if path.is_file())
    assert SECRET.encode() not in written


def test_a_server_behind_dashes_is_recorded_and_replayed_too(tmp_path: Path) -> None:
    command = ("--", "sh", "-c", STARTED, str(tmp_path / "starts"), sys.executable, SERVER, str(tmp_path / "seen"))
    live = signet(tmp_path, "call", "weather", "city=Oslo", "--record", "rec", *command)
    started = starts(tmp_path)

    again = signet(tmp_path, "call", "weather", "city=Oslo", "--replay", "rec", *command)
    compared = signet(tmp_path, "replay", "rec")

    assert (json.loads(live.stdout), started) == (CLEAR, 1)
    assert (again.returncode, again.stdout) == (0, live.stdout), again.stderr
    assert compared.returncode == 0, compared.stdout
    assert starts(tmp_path) == 0


def test_servers_alone_can_be_recorded_without_a_journal(tmp_path: Path) -> None:
    configure(tmp_path, "sky")
    by_stdio(tmp_path, "--record", str(tmp_path / "rec"), "--no-journal")
    starts(tmp_path)

    assert by_call(tmp_path, "--replay", "rec") == CLEAR
    assert starts(tmp_path) == 0


def test_a_recording_that_signet_toml_names_is_played_while_others_are_recorded(tmp_path: Path) -> None:
    configure(tmp_path, "sky")
    by_call(tmp_path, "--record", "first")
    text = (tmp_path / "signet.toml").read_text(encoding="utf-8")
    (tmp_path / "signet.toml").write_text(f'{text}[servers.old]\ntape = "first/servers/sky"\n', encoding="utf-8")
    starts(tmp_path)

    live = signet(tmp_path, "call", "old_weather", "city=Oslo", "--record", "rec")
    again = signet(tmp_path, "call", "old_weather", "city=Oslo", "--replay", "rec")
    compared = signet(tmp_path, "replay", "rec")

    assert (live.returncode, again.stdout) == (0, live.stdout), live.stderr
    assert compared.returncode == 0, compared.stdout
    assert [path.parent.name for path in (tmp_path / "rec").rglob("messages.jsonl")] == ["sky"]
    assert starts(tmp_path) == 0  # a call starts the server of its tool alone
