"""Lines: they come out as they went in, however they were cut, and no line is longer than its bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.system.lines import EDGE_BYTES, LineSplitter

MIB = 1 << 20


@given(st.lists(st.binary(max_size=40)), st.integers(1, 7))
def test_lines_come_out_as_they_went_in_however_they_were_cut(lines: list[bytes], step: int) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    text = b"".join(line + b"\n" for line in lines)
    cutter = LineSplitter(4 * MIB)

    found = [line for at in range(0, len(text), step) for line in cutter.feed(text[at : at + step])]

    assert found == lines
    assert cutter.last() == b""


def test_of_a_line_that_is_too_long_nothing_is_kept() -> None:
    cutter = LineSplitter(4 * MIB)

    for _ in range(100):
        assert list(cutter.feed(b"x" * (4 * MIB // 50))) == []

    assert len(cutter._rest) == 0
    assert list(cutter.feed(b"\nnext\n")) == [None, b"next"]


@pytest.mark.parametrize(("size", "kept"), [(4 * MIB, True), (4 * MIB + 1, False)])
def test_a_line_may_have_so_many_bytes_and_no_more(size: int, kept: bool) -> None:
    cutter = LineSplitter(4 * MIB)

    [line] = cutter.feed(b"x" * size + b"\n")

    assert line == (b"x" * size if kept else None)


def test_a_line_that_is_too_long_is_dropped_wherever_it_stands_in_a_chunk() -> None:
    cutter = LineSplitter(4 * MIB)

    found = cutter.feed(b"first\n" + b"x" * (4 * MIB + 1) + b"\nthird\n" + b"y" * (4 * MIB + 1))

    assert found == [b"first", None, b"third"]
    assert cutter.feed(b"\nlast\n") == [None, b"last"]


@pytest.mark.parametrize("step", [700, 3000])
def test_the_edges_of_a_line_that_is_too_long_are_kept(step: int) -> None:
    """Its reader may find in them whose answer the line was."""
    line = b"".join(b"%06d" % number for number in range(3000))
    cutter = LineSplitter(5000)

    found = [text for at in range(0, len(line), step) for text in cutter.feed(line[at : at + step])]

    assert (found, cutter.feed(b"\nnext\n")) == ([], [None, b"next"])
    assert cutter.edges == (line[:EDGE_BYTES], line[-EDGE_BYTES:])
