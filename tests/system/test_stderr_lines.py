"""Lines of standard error: bounded, and without secrets wherever a long line is cut."""

from __future__ import annotations

import pytest

from signet.system.stderr_lines import StderrLines

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def passed(*chunks: bytes) -> tuple[list[str], str]:
    """Return the lines that are passed on, and the last one."""
    lines: list[str] = []
    stderr = StderrLines(lines.append)
    for chunk in chunks:
        stderr.feed(chunk)
    stderr.finish()
    return lines, stderr.last


@pytest.mark.parametrize("before", [8_100, 8_160, 8_187, 8_192, 9_180, 9_215])
@pytest.mark.parametrize("behind", ["", " and more", " and more" * 1000])
def test_no_part_of_a_secret_is_left_where_a_long_line_is_cut(before: int, behind: str) -> None:
    line = f"{'x' * (before - 1)} {TOKEN}{behind}\n".encode()

    [shown], _ = passed(line[:8_170], line[8_170:])

    assert "ghp_" not in shown
    assert len(shown) <= 8_193


def test_a_long_line_is_cut_and_a_line_that_fits_is_not() -> None:
    [long, fitting], last = passed(b"y" * 100_000, b"\n", b"z" * 8_192, b"\n")

    assert (long, fitting) == ("y" * 8_192 + "…", "z" * 8_192)
    assert last == "z" * 200


def test_a_secret_in_pieces_is_found() -> None:
    [shown], _ = passed(b"with ", TOKEN[:10].encode(), TOKEN[10:].encode(), b" in it\n")

    assert shown == "with [redacted] in it"
