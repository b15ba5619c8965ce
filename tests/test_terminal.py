"""What every command prints for people: text that is safe on a terminal, and tables."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from rich.table import Column

from signet.commands.arguments import print_err, print_err_line
from signet.commands.terminal import show, table, write_json
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Outcome
from signet.kernel.tools import NULL_CONTEXT, Tool


def test_a_table_into_a_pipe_is_plain_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells are text: a style is no colour there, and markup is what was written."""
    monkeypatch.delenv("COLUMNS", raising=False)

    text = table(("name", "why"), [("a", ("[red]no[/red]", "bold red")), ("b :smile:", "x")], strip=True)

    assert text.splitlines() == ["name       why", "a          [red]no[/red]", "b :smile:  x"]


def test_a_table_is_as_wide_as_it_is_told_and_folds_what_is_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    rows = [("k", "x" * 100)]

    widths = [
        [len(line) for line in table(("a", "b"), rows, pipe_width=width).splitlines()] for width in (None, 60, 160)
    ]
    whole = table((Column("a"), Column("b", no_wrap=True)), rows, pipe_width=40, strip=True)

    assert [max(lines) for lines in widths] == [80, 60, 103]
    assert [len(lines) for lines in widths] == [3, 3, 2]
    assert whole.splitlines()[1].endswith("…")


ATTACK = "\x1b]52;c;aGk=\x07\x9b31m\x7f\u202egnp.exe\u2066\u200f\u061c"
"""Writes to the clipboard, changes colours, and lets a name be read as another."""
ACTING = set("\x1b\x07\x9b\x7f\u202e\u2066\u200f\u061c\r")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal, without colours."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def screen() -> Iterator[Terminal]:
    """A terminal on which both streams of a command end."""
    seen = Terminal()
    with contextlib.redirect_stdout(seen), contextlib.redirect_stderr(seen):
        yield seen


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")


def outcome_of(value: object, **facts: Any) -> Outcome:
    tool = Tool(name="one", slug="test.one", title="T", description="D", args=dict, run=lambda _, __: None, **facts)
    return Outcome(Call("one", {}, NULL_CONTEXT), tool, value, msgspec.json.encode(value))


def test_a_hostile_result_is_escaped_json_on_a_terminal() -> None:
    value = {"name": f"日本\u3000{ATTACK}", "rows": [1.5, None]}

    with screen() as seen:
        show(outcome_of(value))

    assert not ACTING & set(seen.getvalue())
    assert "日本\u3000" in seen.getvalue()
    assert msgspec.json.decode(seen.getvalue()) == value


def test_hostile_markdown_is_escaped_on_a_terminal_and_keeps_its_lines() -> None:
    text = f"# 日本\n\tcode{ATTACK}\n"

    with screen() as seen:
        show(outcome_of({}, to_content=lambda _: [{"type": "text", "text": text}]))

    escaped = "\\u001b]52;c;aGk=\\u0007\\u009b31m\\u007f\\u202egnp.exe\\u2066\\u200f\\u061c"
    assert seen.getvalue() == f"# 日本\n\tcode{escaped}\n"


def test_a_hostile_fault_is_one_harmless_line() -> None:
    fault = Fault(Code.NOT_FOUND, f"no problem\nsignet: all is well{ATTACK}")

    with screen() as seen:
        show(Outcome(Call("one", {}, NULL_CONTEXT), None, fault=fault))

    assert not ACTING & set(seen.getvalue())
    assert seen.getvalue().count("\n") == 1


def test_a_pipe_gets_the_bytes_of_a_result_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = outcome_of({"name": ATTACK})

    show(outcome)
    write_json(outcome.body.decode())

    assert capsys.readouterr().out == f"{outcome.body.decode()}\n" * 2


def test_json_is_escaped_on_a_terminal() -> None:
    with screen() as seen:
        write_json(msgspec.json.encode({"name": ATTACK}).decode())

    assert not ACTING & set(seen.getvalue())
    assert msgspec.json.decode(seen.getvalue()) == {"name": ATTACK}


def test_standard_error_gets_no_control_characters() -> None:
    with screen() as seen:
        print_err(f"two\nlines{ATTACK}\n")
        print_err_line("signet", f"one\nline{ATTACK}")

    assert not ACTING & set(seen.getvalue())
    assert [line.partition(" ")[0] for line in seen.getvalue().splitlines()] == ["two", "lines", "signet:"]


def test_cells_of_tables_are_harmless() -> None:
    text = table(("name", "why"), [(ATTACK, (ATTACK, "red"))], pipe_width=200)

    assert not ACTING & set(text)
