"""Help as people ask for it, and what a command says to a person who started it by hand."""

from __future__ import annotations

import argparse
import json
import os
import re

import pytest

from commands_in_process import run_here
from processes import SIGNET, clean_env, piping, run
from signet.commands.cli import parser
from terminals import Screen, run_on_terminal

COMMANDS = ["serve", "stdio", "tools", "call", "boj", "contract", "parity", "replay", "sandbox", "completion", "help"]
LATE = ["boj databases", "contract diff", "parity", "replay", "sandbox", "completion"]
"""Commands whose modules are imported when they are given."""


def helped(*args: str) -> str:
    done = run_here(*args)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done.stdout.decode()


def test_bare_signet_and_signet_help_print_the_help() -> None:
    """On standard output and with status 0: nothing is wrong."""
    asked = helped("--help")

    assert helped() == helped("help") == asked
    assert all(f"\n    {command} " in asked for command in COMMANDS)


@pytest.mark.parametrize("command", ["serve", "call", "parity", "contract diff", "boj fetch"])
def test_help_of_a_command_is_what_the_command_itself_prints(command: str) -> None:
    assert helped("help", *command.split()) == helped(*command.split(), "--help")


def test_help_of_a_call_is_that_of_its_tool() -> None:
    assert helped("help", "call", "encodePlantUML") == helped("call", "encodePlantUML", "--help")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("serve", "  signet serve tools.py\n"),
        ("stdio", "  signet stdio tools.py --dev\n"),
        ("check", "and twice more here where a tool does not answer alike"),
        ("contract freeze", "One tool alone (module:function) is refused"),
    ],
)
def test_help_says_what_one_does_with_tools_of_ones_own(command: str, words: str) -> None:
    asked = helped(*command.split(), "--help")

    assert words.strip() in " ".join(asked.split())
    assert "\nexamples:\n" in asked


def test_help_of_an_unknown_command_is_refused() -> None:
    done = run("help", "frobnicate")

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"frobnicate" in done.stderr


@pytest.mark.parametrize("command", LATE)
def test_a_flag_may_stand_before_any_command(command: str) -> None:
    before = run_here("--deterministic-ids", *command.split(), "--help")

    assert before.returncode == 0, before.stderr
    assert before.stdout == run_here(*command.split(), "--help").stdout


def test_a_command_behind_a_flag_is_run() -> None:
    done = run_here("--deterministic-ids", "parity", "--toolsets", "nothing")

    assert (done.returncode, b"Traceback" in done.stderr) == (2, False)
    assert b"there is no toolset 'nothing'" in done.stderr


@pytest.mark.parametrize(
    ("command", "columns"),
    [(command, (60, 80)[place % 2]) for place, command in enumerate(["", *COMMANDS, "boj fetch", "contract diff"])],
)
def test_help_fits_the_terminal(command: str, columns: int) -> None:
    """Lines to paste excepted."""
    status, shown = run_on_terminal("help", *command.split(), columns=columns)

    wide = [line for line in shown.splitlines() if len(line) > columns]
    assert status == 0
    assert all(line.startswith(("  signet ", "  cat ")) for line in wide), wide


def flags_of(command: str) -> list[argparse.Action]:
    found: argparse.ArgumentParser = parser([command])._subparsers._group_actions[0].choices[command]  # type: ignore[union-attr, index]
    found.load()  # type: ignore[attr-defined]
    return [action for action in found._actions if action.option_strings]


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("serve", ["--port", "--host", "--toolsets", "--sandbox"]),
        ("stdio", ["--toolsets", "--sandbox"]),
        ("tools", ["--json", "--url", "--installed", "--toolsets", "--sandbox"]),
        ("call", ["--json", "--out", "--url", "--toolsets", "--sandbox"]),
    ],
)
def test_the_flags_that_are_used_most_come_first_and_those_of_all_commands_last(command: str, first: list[str]) -> None:
    names = [action.option_strings[-1] for action in flags_of(command)]

    assert names[: len(first)] == first
    assert names[-5:] == ["--validation", "--call-timeout-s", "--log", "--deterministic-ids", "--help"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_default_is_shown_in_one_way(command: str) -> None:
    """In parentheses at the end."""
    for action in flags_of(command):
        text = action.help or ""
        if "default" in text:
            assert re.search(r"\((\w+, )?default: [^()]+\)$", text), text


def test_stdio_tells_a_person_what_it_waits_for() -> None:
    screen = Screen([SIGNET, "stdio", "--no-journal"], columns=80, env=clean_env())
    try:
        told = screen.wait_for("signet call NAME")
        screen.type(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode() + b"\n")
        screen.wait_for('"result":{}')
        screen.type(b"\x04")
    finally:
        status, _ = screen.finish()

    assert "waiting for MCP messages on standard input, one JSON object per line" in told
    assert "Ctrl-D ends it" in told
    assert status == 0


def test_stdio_tells_a_program_nothing() -> None:
    with piping(SIGNET, "stdio", "--no-journal") as pipe:
        pipe.ask({"jsonrpc": "2.0", "id": 1, "method": "ping"})

        assert pipe.finish() == (0, b"", b"")


def test_a_log_filter_that_is_none_is_refused_with_what_there_is() -> None:
    done = run_here("tools", "--log", "verbose")

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "signet: 'verbose' is not a log directive; write a level (off, error, warn, info, debug, trace) or target=level"
        " (targets: signet, access, audit, call, contract, http, journal, record, server, store, telemetry, upstream)"
        + os.linesep
    )
