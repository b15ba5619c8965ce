"""The commands as a person or a client's configuration starts them: output, exit status, signals.

What ends with an output alone runs in this process; servers, streams and signals have processes of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import pytest

import signet
from commands_in_process import run_here
from processes import (
    EXTENDED,
    PATIENCE_S,
    SIGNET,
    Pipe,
    Server,
    clean_env,
    free_port,
    piping,
    run,
    serving,
    serving_command,
)
from real.witness import META, SOURCE, TOOL, URL_PREFIX, source_of
from signet.commands.cli import parser
from signet.settings.names import known_settings

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
SLOW = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "test_tool_with_progress", "arguments": {}, "_meta": {**META, "progressToken": "p"}},
}
"""A call that says it has begun, and takes a while to end."""


def tool_call() -> dict[str, object]:
    """A call that has an answer."""
    return {**PING, "method": "tools/call", "params": {"name": TOOL, "arguments": {"plantumlCode": SOURCE}}}


def answered(server: Server) -> int:
    """Ask a server that cannot say that it listens, until it answers; return the status."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return server.ask("GET", "/readyz").status
        except OSError:
            assert server.process.poll() is None, "it ended"
            assert time.monotonic() < deadline, "it never listened"
            time.sleep(0.02)


def refused(*args: str, env: Mapping[str, str] | None = None) -> str:
    """Run what must be refused as a mistake of use; return the sentence that says so.

    A server has a process of its own: one that is not refused would not end.
    """
    done = (run if args[0] in {"serve", "stdio", "sandbox"} else run_here)(*args, env=env)
    told = done.stderr.decode().strip()
    assert done.returncode == 2, told
    assert done.stdout == b""
    assert "Traceback" not in told
    assert len(told.splitlines()) == 1, told
    return told


# --- what it prints ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(SIGNET,), (sys.executable, "-m", "signet")], ids=["signet", "python -m signet"])
def test_the_version_is_a_name_and_a_number(command: tuple[str, ...]) -> None:
    """As every tool that asks for it expects."""
    done = subprocess.run(
        [*command, "--version"], capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False
    )

    assert (done.returncode, done.stdout) == (0, f"signet {signet.__version__}\n".encode())


def test_help_shows_every_command_and_examples_to_paste() -> None:
    """A newcomer copies before reading."""
    done = run("--help")

    told = done.stdout.decode()
    assert done.returncode == 0
    assert all(command in told for command in ("serve", "stdio", "tools", "call"))
    assert f"signet call {TOOL} plantumlCode=" in told


@pytest.mark.parametrize(
    "command",
    ["serve", "stdio", "tools", "call", "sandbox", "parity", "replay", "contract diff", "boj databases", "boj fetch"],
)
def test_every_command_takes_ids_that_follow_from_the_call(command: str) -> None:
    done = run_here(*command.split(), "--deterministic-ids", "--help")

    assert done.returncode == 0
    assert b"--deterministic-ids" in done.stdout


@pytest.mark.parametrize("command", ["serve", "stdio", "tools", "call"])
def test_each_command_has_help_of_its_own(command: str) -> None:
    """And asking for help is no mistake."""
    done = run_here(command, "--help")

    assert done.returncode == 0
    assert b"--toolsets" in done.stdout


def test_tools_lists_each_tool_with_what_it_is_for() -> None:
    """The name to call it by, and its title."""
    done = run_here("tools", "--toolsets", "plantuml")

    assert done.returncode == 0
    assert TOOL in done.stdout.decode()


@pytest.mark.parametrize("command", [(SIGNET,), (sys.executable, "-m", "signet")], ids=["signet", "python -m signet"])
def test_the_line_to_paste_starts_the_program_as_it_was_started(command: tuple[str, ...]) -> None:
    """Whichever way that was, from any folder."""
    with serving_command(*command, "serve", "--port", "0", "--toolsets", "plantuml") as server:
        server.wait_for("Ctrl-C stops it.")
        call = server.stderr().splitlines()[-2]

    done = subprocess.run(shlex.split(call), capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["format"] == "svg"


# --- signet call -------------------------------------------------------------------------------


def test_call_prints_the_result_as_json_when_piped() -> None:
    """The same JSON that every door gives."""
    done = run("call", TOOL, f"plantumlCode={SOURCE}")

    result = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert set(result) == {"url", "encoded", "format"}
    assert source_of(result["url"]) == SOURCE


def test_call_takes_its_arguments_as_json_too(tmp_path: Path) -> None:
    """In the command line or out of a file, with the same result as key=value."""
    arguments = json.dumps({"plantumlCode": SOURCE})
    file = tmp_path / "arguments.json"
    file.write_text(arguments, encoding="utf-8")

    done = [
        run("call", TOOL, f"plantumlCode={SOURCE}"),
        run_here("call", TOOL, "--json", arguments),
        run_here("call", TOOL, "--json", f"@{file}"),
    ]

    assert [one.returncode for one in done] == [0, 0, 0]
    assert len({one.stdout for one in done}) == 1


def test_call_is_readable_on_a_terminal() -> None:
    """The address in one piece, to click on, whatever stands around it."""
    with terminal() as (here, there):
        done = subprocess.run(
            [SIGNET, "call", TOOL, f"plantumlCode={SOURCE}"],
            stdin=there, stdout=there, stderr=there, env=clean_env({"NO_COLOR": "1"}), timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        shown = os.read(here, 1 << 16).decode()

    assert done.returncode == 0, shown
    address = next(word for word in shown.replace('"', " ").replace(",", " ").split() if word.startswith(URL_PREFIX))
    assert source_of(address) == SOURCE


@pytest.mark.parametrize(
    "arguments", [(), ("plantumlCode=",), ("--json", '{"plantumlCode": [5]}')], ids=["no", "empty", "type"]
)
def test_call_exits_1_on_a_tool_error_and_says_it_in_json(arguments: tuple[str, ...]) -> None:
    """A script can tell it from a result without reading."""
    done = run_here("call", TOOL, *arguments)

    assert done.returncode == 1
    assert b"plantumlCode" in done.stdout + done.stderr
    assert json.loads(done.stdout or done.stderr)
    assert b"Traceback" not in done.stderr


def test_call_of_an_unknown_tool_names_it() -> None:
    """Non-zero, and no traceback."""
    done = run("call", "noSuchTool")

    assert done.returncode in {1, 2}
    assert b"noSuchTool" in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [("\udcff", "a=b"), (TOOL, "plantumlCode=\udcff"), (TOOL, "\udcff=A")], ids=["name", "value", "key"]
)
def test_call_refuses_what_is_no_text(arguments: tuple[str, ...]) -> None:
    """Bytes that are not UTF-8, which Python hands over as half surrogate pairs."""
    assert "UTF-8" in refused("call", *arguments)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [('{"plantumlCode": "\\ud800"}', "surrogate"), ('{"plantumlCode": "\udcff"}', "UTF-8")],
    ids=["half a pair", "bytes"],
)
def test_call_refuses_json_that_is_no_text_for_what_it_is(arguments: str, told: str) -> None:
    """Nothing of it is cut off, as a parser might say."""
    sentence = refused("call", TOOL, "--json", arguments)

    assert "--json" in sentence
    assert told in sentence
    assert "truncated" not in sentence


def test_call_on_an_output_without_the_answers_characters_says_so() -> None:
    """One sentence that says what to set."""
    done = run("call", "boj_get_metadata", "--sandbox", "db=FM08", "lang=jp", env={"PYTHONIOENCODING": "ascii"})

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"PYTHONUTF8" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# --- mistakes of use ----------------------------------------------------------------------------


def test_an_unknown_command_is_refused_with_the_ones_there_are() -> None:
    """The sentence says what to write instead."""
    told = refused("frobnicate")

    assert "frobnicate" in told
    assert "serve" in told


@pytest.mark.parametrize("command", ["serve", "stdio", "tools"])
def test_an_unknown_toolset_is_refused_with_the_ones_there_are(command: str) -> None:
    """And the hidden one stays hidden."""
    told = refused(command, "--toolsets", "plantuml,nope")

    assert "nope" in told
    assert "plantuml" in told
    assert "conformance" not in told


@pytest.mark.parametrize("port", ["x", "-1", "65536", "80.5", ""])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    """Before anything is started."""
    assert "port" in refused("serve", f"--port={port}").lower()


def test_a_busy_port_is_refused_by_its_number() -> None:
    """The sentence names the port; another program keeps it."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]

        assert str(port) in refused("serve", "--port", str(port))


@pytest.mark.parametrize("broken", ["{", "[1]", "5", "null", "NaN", ""])
def test_json_that_is_no_object_is_refused(broken: str) -> None:
    """The option's own mistake, not the tool's."""
    assert "--json" in refused("call", TOOL, "--json", broken)


@pytest.mark.parametrize("content", [b"\xff", b"{", b""], ids=["not text", "not JSON", "empty"])
def test_a_file_that_holds_no_json_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    """As the same text in the command line is."""
    file = tmp_path / "arguments.json"
    file.write_bytes(content)

    assert str(file) in refused("call", TOOL, "--json", f"@{file}")


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    """The sentence names it."""
    file = tmp_path / "arguments.json"

    assert str(file) in refused("call", TOOL, "--json", f"@{file}")


def test_a_folder_for_a_file_is_refused_by_name(tmp_path: Path) -> None:
    """A file that cannot be read, whoever runs the test."""
    assert str(tmp_path) in refused("call", TOOL, "--json", f"@{tmp_path}")


def test_an_argument_without_a_value_is_refused() -> None:
    """`key=value` is what to write instead."""
    assert "=" in refused("call", TOOL, "plantumlCode")


@pytest.mark.parametrize("args", [("serve", "--nope"), ("call",), ("call", TOOL, "--json")], ids=str)
def test_a_wrong_option_is_refused(args: tuple[str, ...]) -> None:
    """One sentence here too."""
    assert refused(*args)


@pytest.mark.parametrize("command", ["serve", "stdio", "tools", "call", "sandbox", "boj fetch"])
def test_an_unknown_flag_is_refused_with_where_the_known_ones_are(command: str) -> None:
    """The help of the whole does not list them."""
    needed = {"call": [TOOL], "boj fetch": ["FM08", "--codes", "X", "--out", "x.csv"]}.get(command, [])

    told = refused(*command.split(), *needed, "--bogus", "x")

    assert "--bogus" in told
    assert f"'signet {command} --help'" in told


def test_a_choice_and_a_switch_are_refused_with_what_to_write() -> None:
    """As every setting is; the others are shown without a process."""
    assert "off, shadow or enforce" in refused("tools", "--validation", "foo")
    assert "true or false" in refused("tools", env={"SIGNET_SANDBOX": "maybe"})


def test_each_flag_of_a_server_is_a_setting() -> None:
    """The help says that the environment can set it."""
    commands = parser([])._subparsers._group_actions[0].choices  # type: ignore[union-attr]

    for name in ("serve", "stdio"):
        commands[name].load()
    actions = [one for name in ("serve", "stdio") for one in commands[name]._actions]
    flags = {one.dest for one in actions if one.option_strings} - {"help"}

    assert flags <= set(known_settings())


def test_a_server_is_quiet_when_the_environment_says_so() -> None:
    """It says where it listens, and nothing to paste."""
    with serving("--toolsets", "plantuml", env={"SIGNET_QUIET": "1"}) as server:
        assert server.ask("GET", "/readyz").status == 200

        assert len(server.stderr().splitlines()) == 1


SILENT = {"closed": "2>&-", "full disk": "2>/dev/full"}
"""Ways to have nobody to tell."""


def sh(redirection: str, *command: str) -> list[str]:
    """A command as a shell starts it."""
    return ["sh", "-c", f'exec "$@" {redirection}', "sh", *command]


@pytest.mark.parametrize(
    ("arguments", "status", "silent"),
    [
        (("call", TOOL, "plantumlCode=A"), 0, "closed"),
        (("call", TOOL, "plantumlCode=A"), 0, "full disk"),
        (("call", "nosuch"), 1, "closed"),
        (("call", "nosuch"), 1, "full disk"),
        (("serve", "--port", "x"), 2, "closed"),
        (("serve", "--bogus"), 2, "full disk"),
        (("tools", "--toolsets", "nope"), 2, "closed"),
    ],
    ids=str,
)
def test_an_error_output_that_takes_nothing_changes_nothing(
    arguments: tuple[str, ...], status: int, silent: str
) -> None:
    """The same status and the same answer as where somebody listens."""
    heard = run_here(*arguments)

    done = subprocess.run(
        sh(SILENT[silent], SIGNET, *arguments),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=clean_env(), timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (status, heard.stdout)


@pytest.mark.parametrize("silent", SILENT)
def test_stdio_serves_when_its_log_can_be_written_nowhere(silent: str) -> None:
    """A line that could not be logged is no exit status either."""
    done = subprocess.run(
        sh(SILENT[silent], SIGNET, "stdio", "--log", "trace"), input=lines(tool_call()),
        stdout=subprocess.PIPE, env=clean_env(), timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert done.returncode == 0
    assert json.loads(done.stdout)["result"]["structuredContent"]["format"] == "svg"


@pytest.mark.parametrize(
    ("redirection", "workers"),
    [*((one, "1") for one in SILENT.values()), (">&-", "2"), ("<&- >&- 2>&-", "1"), ("<&- >&- 2>&-", "2")],
)
def test_a_server_serves_when_it_can_say_so_nowhere(redirection: str, workers: str, tmp_path: Path) -> None:
    """It listens where it was told to, and ends as it should."""
    port = free_port()
    command = [SIGNET, "serve", "--port", str(port), "--toolsets", "plantuml", "--workers", workers]

    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        sh(redirection, *command), env=clean_env(), cwd=tmp_path, stdin=nowhere, stdout=nowhere, stderr=nowhere
    )
    try:
        server = Server(process, port, tmp_path / "none")
        answer = answered(server)
        process.terminate()
        status = process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()

    assert (answer, status) == (200, 0)


@pytest.mark.parametrize("arguments", [("tools",), ("call", TOOL, "plantumlCode=A")], ids=["tools", "call"])
@pytest.mark.parametrize("stdout", ["/dev/full", "&-"], ids=["full disk", "closed"])
def test_an_output_that_takes_nothing_is_told_in_a_sentence(arguments: tuple[str, ...], stdout: str) -> None:
    """Not a mistake of use and not a success; whoever redirects sees why nothing came."""
    told = subprocess.run(
        ["sh", "-c", f'exec "$@" >{stdout}', "sh", SIGNET, *arguments],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=clean_env(), timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert told.returncode not in {0, 2}
    assert len(told.stderr.splitlines()) == 1, told.stderr
    assert b"Traceback" not in told.stderr


def test_a_reader_that_has_had_enough_is_no_reason_for_a_traceback() -> None:
    """As in `signet tools | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [SIGNET, "tools"], stdout=writing, stderr=subprocess.PIPE, env=clean_env(), timeout=PATIENCE_S, check=False
    )
    os.close(writing)

    assert done.stderr == b""


def test_a_door_that_others_can_reach_needs_a_token_unless_its_tools_are_public() -> None:
    """The sentence names the variable to set; PlantUML's tool is public and needs none."""
    told = refused("serve", "--host", "0.0.0.0", "--port", "0", "--toolsets", "boj")

    assert "SIGNET_TOKEN" in told
    with serving("--host", "0.0.0.0", "--toolsets", "plantuml") as server:
        assert server.ask("GET", "/readyz").status == 200


@pytest.mark.parametrize("way", ["flag", "variable"])
@pytest.mark.parametrize("blank", ["", " "], ids=["empty", "blank"])
def test_a_blank_token_is_none_and_opens_no_door(way: str, blank: str) -> None:
    """The same refusal as without it."""
    flags, env = (("--token", blank), {}) if way == "flag" else ((), {"SIGNET_TOKEN": blank})

    told = refused("serve", "--host", "0.0.0.0", "--port", "0", "--sandbox", *flags, env=env)

    assert "set SIGNET_TOKEN" in told


def test_a_token_that_no_header_can_carry_is_refused_and_not_repeated() -> None:
    """Whoever sent it would always be turned away."""
    told = refused("serve", "--port", "0", "--toolsets", "plantuml", env={"SIGNET_TOKEN": "sécret"})

    assert "SIGNET_TOKEN" in told
    assert "sécret" not in told
    assert "cret" not in told


# --- flags over environment over defaults -------------------------------------------------------


def test_a_flag_wins_over_the_environment() -> None:
    """The variable alone would be refused; beside the flag it does not count."""
    spoilt = {"SIGNET_TOOLSETS": "nope"}

    alone, beside_a_flag = refused("tools", env=spoilt), run_here("tools", "--toolsets", "plantuml", env=spoilt)

    assert "nope" in alone
    assert beside_a_flag.returncode == 0


def test_the_environment_wins_over_the_default() -> None:
    """A server told its port by variable asks for that one, and another program has it."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]

        assert str(port) in refused("serve", env={"SIGNET_PORT": str(port)})


def test_a_variable_whose_value_cannot_be_meant_is_refused_by_name() -> None:
    assert "SIGNET_PORT" in refused("serve", env={"SIGNET_PORT": "many"})


def test_a_variable_that_is_no_setting_is_told_and_does_not_stop_the_start() -> None:
    """An orchestrator sets variables of any name for a service that is called signet."""
    with serving("--toolsets", "plantuml", env={"SIGNET_PROT": "hunter2-value"}) as server:
        assert server.ask("GET", "/readyz").status == 200

        assert server.stderr().count("SIGNET_PROT is not a setting of Signet, did you mean SIGNET_PORT?") == 1
        assert "hunter2" not in server.stderr()


# --- how stdio begins and ends ------------------------------------------------------------------


@pytest.fixture(params=["awaited", "thread"])
def reader(request: pytest.FixtureRequest) -> dict[str, str]:
    """How lines are read: as the platform has it, or by the thread that stands in where pipes cannot be awaited."""
    return {"SIGNET_STDIO_READER": "thread"} if request.param == "thread" else {}


@contextlib.contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A pseudo-terminal: the person's end and the program's."""
    here, there = pty.openpty()
    try:
        yield here, there
    finally:
        os.close(here)
        os.close(there)


@contextlib.contextmanager
def input_of(kind: str, content: bytes, folder: Path) -> Iterator[int]:
    """Content that waits in a file, in a terminal or in a pipe; the last two stay open behind it."""
    if kind == "file":
        (folder / "requests").write_bytes(content)
        with (folder / "requests").open("rb") as file:
            yield file.fileno()
    elif kind == "terminal":
        with terminal() as (here, there):
            os.write(here, content)
            yield there
    else:
        there, here = os.pipe()
        os.write(here, content)
        yield there
        os.close(here)
        os.close(there)


@contextlib.contextmanager
def stdio_on(stdin: int | IO[bytes], env: Mapping[str, str]) -> Iterator[Pipe]:
    """Run `signet stdio` with an input of the caller's own."""
    process = subprocess.Popen(
        [*EXTENDED, "stdio", "--toolsets", "conformance"],
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env(env),
    )  # fmt: skip
    try:
        yield Pipe(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def lines(*messages: object) -> bytes:
    """Messages as they stand in a file."""
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def ended_well(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process ended by itself, with status 0 and without a traceback."""
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert b"Traceback" not in errors, errors
    return process.returncode == 0


def test_stdio_answers_what_is_in_flight_before_it_ends(reader: dict[str, str]) -> None:
    """The end of input is no reason to drop a call: exit 0 after its answer."""
    with piping(*EXTENDED, "stdio", "--toolsets", "conformance", env=reader) as pipe:
        pipe.send(PING, SLOW)

        status, out, errors = pipe.finish()

    answers = [json.loads(line) for line in out.splitlines()]
    assert (status, errors) == (0, b"")
    assert [answer["id"] for answer in answers if "id" in answer] == [1, 2]
    assert "result" in answers[-1]


def test_stdio_reads_a_file_to_its_end(tmp_path: Path, reader: dict[str, str]) -> None:
    """Also one whose last line lacks its line end."""
    file = tmp_path / "requests"
    file.write_bytes(lines(PING, SLOW) + json.dumps({**PING, "id": 3}).encode())

    with file.open("rb") as stdin, stdio_on(stdin, reader) as pipe:
        out, errors = pipe.process.communicate(timeout=PATIENCE_S)

    answers = [json.loads(line) for line in out.splitlines()]
    assert (pipe.process.returncode, errors) == (0, b"")
    assert sorted(answer["id"] for answer in answers if "id" in answer) == [1, 2, 3]


def test_stdio_ends_when_its_input_is_empty(reader: dict[str, str]) -> None:
    """As with `< /dev/null`."""
    with stdio_on(subprocess.DEVNULL, reader) as pipe:
        assert ended_well(pipe.process)


def test_stdio_ends_when_its_input_is_closed(reader: dict[str, str]) -> None:
    """As with `<&-`: there is no input, so this is its end."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", SIGNET, "stdio"],
        capture_output=True, env=clean_env(reader), timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


def test_stdio_talks_to_a_person_at_a_terminal(reader: dict[str, str]) -> None:
    """A line typed is a line answered, and Ctrl-D ends it."""
    with terminal() as (here, there), stdio_on(there, reader) as pipe:
        os.write(here, lines(PING))

        answer = pipe.receive()
        os.write(here, b"\x04")

        assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert ended_well(pipe.process)


@pytest.mark.parametrize(
    ("kind", "number", "reader"),
    [
        ("pipe", signal.SIGTERM, "awaited"),
        ("pipe", signal.SIGINT, "thread"),
        ("terminal", signal.SIGINT, "awaited"),
        ("terminal", signal.SIGTERM, "thread"),
        ("file", signal.SIGTERM, "awaited"),
        ("file", signal.SIGINT, "thread"),
    ],
    indirect=["reader"],
    ids=str,
)
def test_stdio_ends_at_a_signal_with_a_call_in_flight(
    kind: str, number: signal.Signals, reader: dict[str, str], tmp_path: Path
) -> None:
    """Status 0, whatever its input is and however it is read: each input by each signal or reader, in turn."""
    with input_of(kind, lines(SLOW), tmp_path) as stdin, stdio_on(stdin, reader) as pipe:
        begun = pipe.receive()

        pipe.process.send_signal(number)

        assert begun["method"] == "notifications/progress"
        assert ended_well(pipe.process)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_stdio_ends_at_a_signal_while_it_waits_for_input(number: signal.Signals, reader: dict[str, str]) -> None:
    """The client's end of the pipe is still open, and nothing comes through it."""
    with piping(env=reader) as pipe:
        pipe.ask(PING)

        pipe.process.send_signal(number)

        assert pipe.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_ends_at_a_signal_whenever_it_comes(number: signal.Signals, workers: str) -> None:
    """Status 0 and no traceback, with a connection held open: told to go while it starts, and once it serves."""
    for warm in (False, True):
        with serving("--toolsets", "plantuml", "--workers", workers) as server:
            with socket.create_connection(("127.0.0.1", server.port)):
                if warm:
                    assert server.ask("GET", "/healthz").status == 200

                server.process.send_signal(number)

                assert server.process.wait(PATIENCE_S) == 0
            assert "Traceback" not in server.stderr()
