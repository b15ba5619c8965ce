"""`signet tools`, `call`, `check`, `parity` and `doctor` on a server of somebody else's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from door_calls import rpc
from processes import FIRST_AND_LAST_DOOR, PATIENCE_S, ROOT, SIGNET, clean_env, piping

SERVER = str(ROOT / "tests/wrap/weather_server.py")
CHANGING = (sys.executable, str(ROOT / "tests/lock/changing_server.py"))
HOSTILE = (sys.executable, str(ROOT / "tests/wrap/hostile_server.py"))
OWN = '''
import signet


@signet.tool(example={"text": "a"})
def shout(text: str) -> str:
    """Return a text in capital letters, as if it were shouted.

    Args:
        text: The text to return.
    """
    return text.upper()
'''


def signet(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder."""
    return subprocess.run(
        [SIGNET, *words], cwd=folder, env=clean_env(env), capture_output=True, timeout=PATIENCE_S, check=False
    )


def weather(folder: Path) -> tuple[str, ...]:
    """Return the command of the server, which writes down its calls in the folder."""
    return (sys.executable, SERVER, str(folder / "seen"))


def seen(folder: Path) -> set[str]:
    """Return the tools whose calls reached the server."""
    path = folder / "seen"
    return set(path.read_text(encoding="utf-8").split()) if path.exists() else set()


def states(done: subprocess.CompletedProcess[bytes], check: str) -> dict[str | None, str]:
    """Return what a check says of each tool, by its slug, and of the whole server."""
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return {one["tool"]: one["state"] for one in results if one["check"] == check}


def test_tools_of_a_server_are_listed_as_it_wrote_them_and_called(tmp_path: Path) -> None:
    """The words behind -- start the server."""
    command = ("--", *weather(tmp_path))
    listed = json.loads(signet(tmp_path, "tools", "weather", "--json", *command).stdout)
    called = signet(tmp_path, "call", "weather", "city=Oslo", *command)
    refused = signet(tmp_path, "call", "weather", "town=Oslo", *command)
    unknown = signet(tmp_path, "call", "wether", *command)

    assert [list(one) for one in listed] == [
        ["name", "title", "description", "inputSchema", "outputSchema", "annotations"]
    ]
    assert (called.returncode, json.loads(called.stdout)) == (0, {"celsius": 21.5, "sky": "clear"})
    assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (1, "INVALID_INPUT")
    assert b"did you mean weather?" in unknown.stderr
    assert seen(tmp_path) == {"weather"}


def test_servers_stand_behind_own_tools(tmp_path: Path) -> None:
    """The names of a server's tools begin with its name."""
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    table = f"[servers.sky]\ncommand = {json.dumps(list(weather(tmp_path)))}\n"
    config = tmp_path / "signet.toml"
    config.write_text(f'toolsets = ["{tmp_path}/own.py"]\n{table}', encoding="utf-8")
    names = ["shout", "sky_weather", "sky_say", "sky_note", "sky_liar"]

    listed = json.loads(signet(tmp_path, "tools", "--json").stdout)
    doctor = signet(tmp_path, "doctor")
    with piping(SIGNET, "stdio", "--config", str(config), "--no-journal") as pipe:
        pipe.send(rpc("tools/list", {}, modern=True))
        served = pipe.receive()["result"]["tools"]

    assert [one["name"] for one in listed] == names
    assert [one["name"] for one in served] == names
    assert "it lists 4 tools" in " ".join(doctor.stdout.decode().split())


def test_doctor_reports_what_is_served_and_nothing_else(tmp_path: Path) -> None:
    """Servers alone are served where no toolset is chosen, as `signet tools` lists them."""
    table = f"[servers.sky]\ncommand = {json.dumps(list(weather(tmp_path)))}\n"
    (tmp_path / "signet.toml").write_text(f"toolsets = []\n{table}", encoding="utf-8")

    done = signet(tmp_path, "doctor", "--json")

    found = {one["name"]: (one["state"], one["text"]) for one in json.loads(done.stdout)["findings"]}
    assert found["toolsets"] == ("ok", "enabled: none; servers: sky")
    assert found["server sky"][0] == "ok"
    assert [name for name in found if name.startswith("upstream of")] == []
    assert "contracts" not in found
    assert done.returncode == 0


def test_check_calls_nothing_unless_it_is_asked_to(tmp_path: Path) -> None:
    """Wrong arguments are refused before the server sees them."""
    done = signet(tmp_path, "check", "--format", "json", "--", *weather(tmp_path))

    tools = [f"weather_server.{name}" for name in ("weather", "say", "note", "liar")]
    assert done.returncode == 0
    assert states(done, "wrong-input") == dict.fromkeys(tools, "ok")
    assert states(done, "example") == dict.fromkeys(tools, "skipped")
    assert seen(tmp_path) == set()


def test_check_calls_what_only_reads_and_finds_a_broken_promise(tmp_path: Path) -> None:
    """A tool that may change something is never called."""
    done = signet(tmp_path, "check", "--call", "--format", "json", "--", *weather(tmp_path), env=FIRST_AND_LAST_DOOR)

    found = states(done, "example")
    assert done.returncode == 1
    assert {str(tool).partition(".")[2]: state for tool, state in found.items()} == {
        "weather": "ok",
        "say": "ok",
        "note": "skipped",
        "liar": "failed",
    }
    assert set(states(done, "parity").values()) == {"ok"}
    assert seen(tmp_path) == {"weather", "say", "liar"}


@pytest.mark.parametrize(
    ("command", "check", "state"),
    [
        ((*CHANGING, "hidden"), "invisible", "failed"),
        ((*HOSTILE, "bad schema", "marker"), "contract", "failed"),
        ((*HOSTILE, "older draft", "marker"), "contract", "warning"),
        (("no-such-command-0",), "server", "failed"),
    ],
)
def test_check_tells_what_is_wrong_with_a_server(
    tmp_path: Path, command: tuple[str, ...], check: str, state: str
) -> None:
    """Hidden characters, schemas that cannot be used, older drafts, a server that does not start."""
    done = signet(tmp_path, "check", "--format", "json", "--", *command)

    assert state in states(done, check).values()
    assert done.returncode == (1 if state == "failed" else 0)


def test_check_compares_a_server_with_its_lock(tmp_path: Path) -> None:
    """What is blocked when it is served fails the check."""
    pinned = signet(tmp_path, "lock", "--", *CHANGING)
    same = signet(tmp_path, "check", "--format", "json", "--", *CHANGING)
    wider = signet(tmp_path, "check", "--format", "json", "--", *CHANGING, "argument")

    assert pinned.returncode == 0
    assert states(same, "lock") == {None: "ok"}
    assert states(wider, "lock") == {None: "failed"}


def test_all_doors_and_their_journals_agree_on_a_server(tmp_path: Path) -> None:
    """Made-up arguments go to tools that only read."""
    done = signet(tmp_path, "parity", "--json", "--", *weather(tmp_path))

    report = json.loads(done.stdout)
    assert (done.returncode, report["agrees"], len(report["ways"])) == (0, True, 8)
    assert [row["outcome"] for row in report["rows"]] == ["OK", "OK", "INVALID_OUTPUT"]
    assert seen(tmp_path) == {"weather", "say", "liar"}


def test_parity_says_what_it_waits_for_before_a_server_has_started(tmp_path: Path) -> None:
    command = [SIGNET, "parity", "--", "/bin/sleep", "600"]
    with subprocess.Popen(command, cwd=tmp_path, env=clean_env(), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        process.terminate()

    assert said == b"signet: reading the tools of sleep\n"


def test_the_calls_of_a_recording_are_answered_by_it_through_every_door(tmp_path: Path) -> None:
    """A recorded call of a tool that changes something is safe: the server is not there."""
    with piping(SIGNET, "wrap", "--no-journal", "--record", str(tmp_path / "tape"), "--", *weather(tmp_path)) as pipe:
        for number, name in enumerate(("note", "weather"), 1):
            params = {"name": name, "arguments": {"city": "Oslo"}}
            pipe.send(rpc("tools/call", params, modern=True, request_id=number))
            assert "result" in pipe.receive()
        assert pipe.finish()[0] == 0
    (tmp_path / "seen").unlink()

    done = signet(tmp_path, "parity", "--tape", "tape", "--json", env=FIRST_AND_LAST_DOOR)

    report = json.loads(done.stdout)
    assert (done.returncode, [row["outcome"] for row in report["rows"]]) == (0, ["OK", "OK"])
    assert seen(tmp_path) == set()
