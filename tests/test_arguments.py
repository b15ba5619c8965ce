"""The flags of settings: a command line makes those that it has, and the help all of them, in their order."""

from __future__ import annotations

import pytest

from signet.commands.arguments import TOOLSET_FLAGS, Parser, add_settings


def server() -> Parser:
    """Return a command with some settings of the process and those of the toolsets."""
    command = Parser(prog="signet served")
    add_settings(command, "port", "journal", "sandbox", TOOLSET_FLAGS, port="the port")
    return command


def flags(command: Parser) -> list[str]:
    """Return the flags that a command has, without those that all commands have."""
    return sorted(command.made)


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ([], []),
        (["--port", "9000"], ["--port"]),
        (["--port=9000", "--no-journal"], ["--no-journal", "--port"]),
        (["--oj-base-url", "http://127.0.0.1:9"], ["--oj-base-url"]),
    ],
)
def test_a_command_line_makes_the_flags_that_it_has(line: list[str], made: list[str]) -> None:
    command = server()

    command.parse_args(line)

    assert flags(command) == made


def test_the_arguments_have_the_names_of_the_settings_that_are_not_given() -> None:
    args = vars(server().parse_args(["--port", "9000"]))

    assert {name: args[name] for name in ("port", "journal", "sandbox")} == {
        "port": "9000",
        "journal": None,
        "sandbox": None,
    }


@pytest.mark.parametrize("line", [["--journal"], ["--no-port", "1"], ["--boj-nothing"], ["--prt=1"]])
def test_a_flag_that_a_command_has_not_is_refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        server().parse_args(line)

    flag = line[0].partition("=")[0]
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"signet: there is no {flag}; 'signet served --help' shows what can be written\n"


def test_help_shows_every_flag_in_its_order_whatever_else_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    alone = server().format_help()

    for line in (["--help"], ["--sandbox", "--help"], ["--oj-base-url", "x", "-h"]):
        with pytest.raises(SystemExit):
            server().parse_args(line)
        assert capsys.readouterr().out == alone

    places = [alone.index(f"\n  {flag}") for flag in ("--port", "--no-journal", "--sandbox", "--boj-base-url")]
    assert places == sorted(places)
    assert "the port" in alone


def test_a_command_that_was_used_can_still_show_its_help() -> None:
    command = server()
    command.parse_args(["--port", "1"])

    assert {"--no-journal", "--port", "--sandbox", "--oj-base-url"} <= {
        word.strip(",") for word in command.format_help().split()
    }
