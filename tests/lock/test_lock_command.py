"""`signet lock` and `signet preflight`: each change of a server told rightly, the right ones blocked."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commands_in_process import signet_here
from door_calls import INITIALIZE
from lock.test_server_snapshot import is_running
from processes import PATIENCE_S, ROOT, SIGNET, clean_env
from signet.lock.file import read_lock
from terminals import Screen

SERVER = (sys.executable, str(ROOT / "tests/lock/changing_server.py"))
GREETING = json.dumps(INITIALIZE).encode() + b"\n"
ALL = "changing_server: pinned 2 tools, 1 prompt, 1 resource, 1 template\n"


def run(folder: Path, *args: str) -> tuple[int, str, str]:
    done = signet_here(folder, *args)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def lock(folder: Path, *args: str, server: str = "") -> tuple[int, str, str]:
    return run(folder, "lock", *args, "--", *SERVER, *server.split())


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the lock of the server as it was; its tests write nothing there."""
    folder = tmp_path_factory.mktemp("pinned")
    assert lock(folder) == (0, ALL, "")
    return folder


CHANGES = {
    "": (0, "all as pinned in signet.lock"),
    "keys": (0, "all as pinned"),
    "order": (0, "all as pinned"),
    "size": (0, "all as pinned"),
    "modern pages": (0, "all as pinned"),
    "description": (10, "description: its text changed (text)\n    Return the weather of a city{+ or of a town+}.\n"),
    "blank": (10, "Return[- -]{+⟨U+00A0⟩+}the weather"),
    "homoglyph": (10, "letters of several scripts that look alike in one word: we\u0430ther"),
    "optional": (10, "inputSchema: takes more (compatible)"),
    "icons": (10, "icons: it is new (text)"),
    "resource": (10, "resource weather://today: text"),
    "instructions": (10, "Ask for [-one-]{+many+} [-city-]{+cities+} at a time."),
    "hidden": (11, "Return the weather{+⟨U+200B⟩⟨U+E0068 h⟩⟨U+E0069 i⟩+} of a city."),
    "bidi": (11, "⟨U+202E⟩"),
    "destination": (11, "it names a new destination: https://evil.example."),
    "argument": (11, "inputSchema: it takes a new argument: units (widened)"),
    "required": (11, '"units" is a required property (breaking)\n    for example {"city":"a"}'),
    "field": (11, 'outputSchema: "sky" is a required property (breaking)\n    for example {"celsius":0}'),
    "rename": (11, "tool forecast (was weather): renamed"),
    "annotations": (11, "annotations: readOnlyHint true → false (widened)"),
    "interface": (11, "_meta.ui: its user interface reaches more: resourceUri ui://weather/page (widened)"),
    "prompt": (11, '"length" is a required property (breaking)\n    for example {"city":"a"}'),
    "added": (11, "tool tides: added"),
    "removed": (11, "tool time: removed"),
    "case": (11, "its name differs from 'time' in case only"),
}


@pytest.mark.parametrize("server", CHANGES)
def test_each_change_is_told_rightly_and_nothing_is_written(pinned: Path, server: str) -> None:
    before = (pinned / "signet.lock").read_bytes()

    status, out, err = lock(pinned, server=server)

    assert (status, err) == (CHANGES[server][0], "")
    assert CHANGES[server][1] in out
    assert (pinned / "signet.lock").read_bytes() == before


PREFLIGHTS = {
    "": (0, "as pinned: the tool 'weather' of changing_server"),
    "instructions added": (0, "as pinned"),
    "description": (10, "noted: the tool 'weather' changed since it was pinned (text)"),
    "field": (11, "blocked: the tool 'weather' changed since it was pinned (breaking): outputSchema: \"sky\" is"),
    "rename": (11, "blocked: the tool 'forecast' is 'weather' under another name"),
}


@pytest.mark.parametrize("server", PREFLIGHTS)
def test_preflight_tells_whether_a_tool_is_as_it_was_pinned(pinned: Path, server: str) -> None:
    status, out, _ = run(pinned, "preflight", "weather", "--", *SERVER, *server.split())

    assert (status, out[: len(PREFLIGHTS[server][1])]) == PREFLIGHTS[server]


def test_preflight_of_several_tools_has_the_worst_status(pinned: Path) -> None:
    both = run(pinned, "preflight", "time", "weather", "--json", "--", *SERVER, "description")
    blocked = run(pinned, "preflight", "--lock", "text=block", "weather", "--", *SERVER, "description")
    unknown = run(pinned, "preflight", "time", "nosuch", "--", *SERVER)

    assert both[0] == 10
    assert [tool["status"] for tool in json.loads(both[1])["tools"]] == [0, 10]
    assert blocked[0] == 11
    assert (unknown[0], unknown[1].splitlines()[1]) == (12, "unknown: no server has, or had, a tool 'nosuch'")


def test_preflight_that_cannot_tell_says_why(tmp_path: Path, pinned: Path) -> None:
    no_lock = run(tmp_path, "preflight", "weather", "--", *SERVER)
    no_start = run(pinned, "preflight", "weather", "--name", "changing_server", "--", "/nowhere/server")
    not_pinned = run(pinned, "preflight", "weather", "--name", "other", "--", *SERVER)

    assert (no_lock[0], no_lock[2][:43]) == (12, "signet: there is no signet.lock; write it: ")
    assert no_lock[2].endswith(f"signet lock -- {shlex.join(SERVER)}\n")
    assert (no_start[0], "no such command '/nowhere/server'" in no_start[2]) == (12, True)
    assert (not_pinned[0], "the lock has no server 'other'" in not_pinned[2]) == (12, True)


def test_a_change_is_accepted_by_its_name_and_nothing_else_is(tmp_path: Path) -> None:
    lock(tmp_path)
    changed = "argument added instructions"

    one = lock(tmp_path, "--accept", "weather", server=changed)
    two = lock(tmp_path, "--accept", "tides", "instructions", server=changed)
    after = lock(tmp_path, server=changed)

    assert one[0] == 11
    assert "changing_server: accepted tool weather" in one[1]
    assert "tool tides: added" in one[1]
    assert two[0] == after[0] == 0
    assert "changing_server: accepted instructions\nchanging_server: accepted tool tides\n" in two[1]


def test_everything_is_accepted_at_once(tmp_path: Path) -> None:
    lock(tmp_path)
    changed = "rename prompt removed order"

    assert lock(tmp_path, "--accept-all", server=changed)[0] == 0
    assert lock(tmp_path, server=changed) == (0, "all as pinned in signet.lock\n", "")
    assert lock(tmp_path)[0] == 11


def test_what_is_not_there_cannot_be_accepted(tmp_path: Path) -> None:
    lock(tmp_path)
    before = (tmp_path / "signet.lock").read_bytes()

    status, _, err = lock(tmp_path, "--accept", "nosuch", "weather", server="description")

    assert (status, err) == (2, "signet: nothing named nosuch waits for acceptance\n")
    assert (tmp_path / "signet.lock").read_bytes() == before


def test_a_check_writes_nothing_not_even_a_first_lock(tmp_path: Path) -> None:
    assert lock(tmp_path, "--check")[0] == 12
    assert lock(tmp_path, "--check", "--accept-all")[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_six_that_pin_at_once_keep_what_each_has_pinned(tmp_path: Path) -> None:
    names = [f"server-{number}" for number in range(6)]
    commands = [[SIGNET, "lock", "--accept-all", "--name", name, "--", *SERVER] for name in names]
    assert lock(tmp_path, "--name", "first")[0] == 0
    running = [
        subprocess.Popen(words, cwd=tmp_path, env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for words in commands
    ]
    said = [process.communicate(timeout=PATIENCE_S) for process in running]

    pinned = [ALL.replace("changing_server", name).encode() for name in names]
    assert [(process.returncode, *text) for process, text in zip(running, said, strict=True)] == [
        (0, text, b"") for text in pinned
    ]
    assert read_lock(str(tmp_path / "signet.lock")).servers.keys() == {"first", *names}


def test_a_new_server_waits_in_a_lock_that_has_others(tmp_path: Path) -> None:
    lock(tmp_path)

    waiting = lock(tmp_path, "--name", "second")
    accepted = lock(tmp_path, "--name", "second", "--accept", "second")

    assert (waiting[0], waiting[1][:38]) == (11, "second: nothing is pinned; accept it: ")
    assert waiting[1].endswith(f"signet lock --accept second --name second -- {shlex.join(SERVER)}\n")
    assert (accepted[0], lock(tmp_path)[0], lock(tmp_path, "--name", "second")[0]) == (0, 0, 0)


@pytest.mark.parametrize("content", ["", "{}", '{"lock":9}', "<<<<<<< HEAD\n"])
def test_a_lock_that_cannot_be_read_fails_closed_and_stays(tmp_path: Path, content: str) -> None:
    (tmp_path / "signet.lock").write_text(content)

    statuses = [lock(tmp_path, *flags)[0] for flags in ((), ("--accept-all",))]
    looked = run(tmp_path, "preflight", "weather", "--", *SERVER)[0]

    assert (*statuses, looked) == (12, 12, 12)
    assert (tmp_path / "signet.lock").read_text() == content


@pytest.mark.parametrize("server", ["twice", "many", "loop", "silent stubborn"])
def test_a_server_that_cannot_be_read_is_told_and_nothing_is_pinned(tmp_path: Path, server: str) -> None:
    limit = ("--timeout-s", "1") if "silent" in server else ()

    status, out, err = lock(tmp_path, *limit, server=server)

    assert (status, out, err[:47]) == (12, "", "signet: the server 'changing_server' cannot be ")
    assert list(tmp_path.iterdir()) == []


def test_json_has_everything_but_the_values_twice(pinned: Path) -> None:
    status, out, _ = lock(pinned, "--json", server="field")

    report = json.loads(out)
    [change] = report["changes"]["changing_server"]
    assert status == 11
    assert (change["kind"], change["name"], change["verdict"]) == ("tool", "weather", "breaking")
    assert change["fields"][0]["example"] == {"celsius": 0}
    assert set(change) == {"kind", "name", "verdict", "fields"}


@pytest.mark.parametrize("server", ["ansi", "hidden bidi"])
def test_no_control_of_a_server_reaches_a_terminal(pinned: Path, server: str) -> None:
    words = ("lock", "--lock-file", str(pinned / "signet.lock"), "--", *SERVER, *server.split())
    screen = Screen([sys.executable, "-m", "signet", *words], columns=200, env={"TERM": "xterm-256color"})
    status, seen = screen.finish()

    assert status == 11
    assert not set("\x07\x9b\u200b\u202e\U000e0068") & set(seen)
    assert "\x1b[2J" not in seen
    assert "\x1b]0" not in seen
    assert "\x1b[1;35m" in seen, "colours are there on a terminal"


def test_a_command_that_is_terminated_ends_the_server_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    environ = clean_env({"PIDS": str(pids)})
    words = ("lock", "--env", "PIDS", "--", *SERVER, "grandchild", "silent", "stubborn")
    with subprocess.Popen([SIGNET, *words], cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        process.terminate()
        status = process.wait(PATIENCE_S)

    assert status == 128 + 15
    wait_until(lambda: not is_running(int(pids.read_text())))


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


TOML = """
[servers.weather]
command = {python}
args = [{script}, "{change}"]

[servers.clock]
command = [{python}, {script}]
era = "handshake"
"""


def test_the_servers_of_signet_toml_are_pinned_together(tmp_path: Path) -> None:
    python, script = map(json.dumps, SERVER)
    file = tmp_path / "signet.toml"
    file.write_text(TOML.format(python=python, script=script, change=""))

    first = run(tmp_path, "lock")
    file.write_text(TOML.format(python=python, script=script, change="argument"))
    later = run(tmp_path, "lock", "--check")
    looked = run(tmp_path, "preflight", "clock_weather", "weather_time")
    blocked = run(tmp_path, "preflight", "weather_weather")
    one = run(tmp_path, "lock", "--name", "clock")

    assert first[:2] == (0, ALL.replace("changing_server", "weather") + ALL.replace("changing_server", "clock"))
    assert (later[0], later[1].splitlines()[0]) == (11, "weather: tool weather: widened")
    assert (looked[0], blocked[0], one[0]) == (0, 11, 0)


def test_the_servers_of_a_clients_file_are_pinned(tmp_path: Path) -> None:
    entry = {"command": SERVER[0], "args": [SERVER[1]]}
    (tmp_path / "mcp.json").write_text("// mine\n" + json.dumps({"mcpServers": {"My Weather": entry}}))

    status, out, _ = run(tmp_path, "lock", "--config", "mcp.json")

    assert (status, out) == (0, ALL.replace("changing_server", "my-weather"))


COMMANDS = {
    "lock": ("lock", "--check"),
    "preflight": ("preflight", "weather"),
    "snapshot": ("contract", "snapshot"),
    "tools": ("tools",),
    "wrap": ("wrap",),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_variable_is_set_for_the_server_and_its_value_is_never_printed(
    pinned: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The server starts only with the right value, and writes down a wrong one."""
    folder = pinned if words[0] in {"lock", "preflight"} else tmp_path

    def run_with(variable: str) -> tuple[int, str]:
        command = [SIGNET, *words, "--env", variable, "--", *SERVER, "locked"]
        done = subprocess.run(
            command, cwd=folder, env=clean_env(), input=GREETING, capture_output=True, timeout=PATIENCE_S, check=False
        )
        return done.returncode, (done.stdout + done.stderr).decode()

    right, wrong, unset, no_name = map(run_with, ("TOKEN=open-sesame", "TOKEN=s3cret-s3cret", "NOT_SET", "=s3cret"))

    assert (right[0], "open-sesame" in right[1]) == (0, False)
    assert ("TOKEN is [redacted]" in wrong[1], "s3cret" in wrong[1]) == (True, False)
    assert (unset[0], "--env: the variable NOT_SET is not set; write NOT_SET=VALUE" in unset[1]) == (2, True)
    assert (no_name[0], "write a variable as KEY or KEY=VALUE" in no_name[1]) == (2, True)
    assert "s3cret" not in no_name[1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "name a server"),
        (("--env", "X"), "belong to a server on the command line"),
        (("--url", "ftp://a"), "begins with http"),
        (("--url", "http://a", "--", "b"), "write one of the two"),
        (("--env", "NOT_SET_HERE", "--", "b"), "the variable NOT_SET_HERE is not set"),
        (("--name", "A b", "--", "b"), "name a server with a-z"),
        (("--timeout-s", "0", "--", "b"), "--timeout-s"),
    ],
)
def test_arguments_that_name_no_server_are_refused(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    status, _, err = run(tmp_path, "lock", *words)

    assert (status, why in err) == (2, True)
