"""Server-sent events: every kind of line end, cut anywhere, and bounds."""

from __future__ import annotations

import pytest

from signet.mcp.event_stream import Event, EventParser

STREAM = b"".join(
    (
        b"\xef\xbb\xbf: hello\nretry: 250\nid: 7\nevent: message\n",
        b'data: {"a":\ndata: 1}\n\nevent: ping\ndata:x\n\nid: 8\ndata\n\n',
    )
)
EVENTS = [Event(b'{"a":\n1}'), Event(b"x", "ping"), Event(b"")]


def parse(*chunks: bytes, limit: int = 1000) -> tuple[list[Event], EventParser]:
    parser = EventParser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)], parser


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_stream_reads_the_same_wherever_it_is_cut_and_however_its_lines_end(line_end: bytes, size: int) -> None:
    stream = STREAM.replace(b"\n", line_end)

    events, parser = parse(*(stream[at : at + size] for at in range(0, len(stream), size)))

    assert events == EVENTS
    assert (parser.last_id, parser.retry_ms) == ("8", 250)


def test_an_event_that_is_not_whole_is_none() -> None:
    events, parser = parse(b"id: 1\ndata: a\n")

    assert (events, parser.last_id) == ([], "")


@pytest.mark.parametrize("field", [b"id: 2\0", b"id: 2\x07", b"id: " + b"x" * 5000])
def test_an_id_that_no_header_can_carry_is_left_out(field: bytes) -> None:
    events, parser = parse(b"id: 1\ndata: a\n\n", field + b"\ndata: b\n\n", limit=9000)

    assert ([event.data for event in events], parser.last_id) == ([b"a", b"b"], "1")


@pytest.mark.parametrize("field", [b"retry: soon", b"retry: -1", b"retry:", b"retry: 1.5", b"retry: 99999999999"])
def test_a_retry_that_is_no_number_is_left_out(field: bytes) -> None:
    assert parse(field + b"\n\n")[1].retry_ms is None


def test_one_space_after_the_colon_is_not_part_of_the_value() -> None:
    assert parse(b"data:  a\n\ndata:b\n\n")[0] == [Event(b" a"), Event(b"b")]


@pytest.mark.parametrize("chunk", [b"data: " + b"x" * 60, b"data: " + b"x" * 20 + b"\n", b": " + b"x" * 60])
def test_an_event_that_grows_beyond_its_bound_is_refused(chunk: bytes) -> None:
    parser = EventParser(100)

    with pytest.raises(ValueError, match="an event is larger than 100 bytes"):
        list(map(parser.feed, [chunk] * 10))


def test_comments_do_not_add_up() -> None:
    events, _ = parse(*[b": still here\n"] * 100, b"data: a\n\n", limit=100)

    assert events == [Event(b"a")]


def test_the_next_connection_goes_on_after_the_last_id() -> None:
    parser = EventParser(100)
    parser.feed(b"id: 4\nretry: 9\ndata: a\n\ndata: half")

    following = parser.resumed()

    assert (following.last_id, following.retry_ms) == ("4", 9)
    assert following.feed(b"data: b\n\n") == [Event(b"b")]
