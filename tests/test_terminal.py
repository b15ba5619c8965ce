"""What every command prints for people: text that is safe on a terminal, and tables."""

from __future__ import annotations

import pytest
from rich.table import Column

from signet.commands.terminal import printable, table

HOSTILE = "a\x1b[31mb\n\u3000\x00c\u202e ä日"


@pytest.mark.parametrize(
    ("options", "safe"),
    [
        ({}, "a [31mb   c  ä日"),
        ({"keep": "\n"}, "a [31mb\n  c  ä日"),
        ({"keep": "\u3000"}, "a [31mb \u3000 c  ä日"),
        ({"substitute": "\ufffd"}, "a\ufffd[31mb\ufffd\ufffd\ufffdc\ufffd ä日"),
    ],
    ids=["plain", "lines", "japanese", "visible"],
)
def test_nothing_that_acts_on_a_terminal_is_printed(options: dict[str, str], safe: str) -> None:
    assert printable(HOSTILE, **options) == safe


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
