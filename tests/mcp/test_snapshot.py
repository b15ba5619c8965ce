"""The pages of a server's lists, put together: the same rules for a live session and for a recording."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from signet.mcp.snapshot import ListReader

EVERY = ["tool", "prompt", "resource", "template"]
MEMBERS = dict(zip(EVERY, ["tools", "prompts", "resources", "resourceTemplates"], strict=True))


def page(kind: str, *names: str, **more: Any) -> Raw:
    key = {"resource": "uri", "template": "uriTemplate"}.get(kind, "name")
    return Raw(json.dumps({MEMBERS[kind]: [{key: name} for name in names], **more}).encode())


def cursor(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def test_pages_are_put_together_in_their_order() -> None:
    reader = ListReader()

    cursors = [
        reader.add_page("tool", None, page("tool", "a", nextCursor="2")),
        reader.add_page("prompt", None, page("prompt", "a")),
        reader.add_page("tool", cursor("2"), page("tool", "b", nextCursor="")),
    ]

    assert cursors == [Raw(b'"2"'), None, None]
    assert reader.complete == {
        "tools": (Raw(b'{"name": "a"}'), Raw(b'{"name": "b"}')),
        "prompts": (Raw(b'{"name": "a"}'),),
    }


def test_a_list_without_its_last_page_is_not_complete() -> None:
    reader = ListReader()

    reader.add_page("tool", None, page("tool", "a", nextCursor="2"))

    assert reader.complete == {}


def test_a_page_that_follows_none_that_was_read_is_passed_over() -> None:
    """Two clients may share a connection, and read a list at the same time."""
    reader = ListReader()

    reader.add_page("tool", cursor("2"), page("tool", "of a list that began before"))
    reader.add_page("tool", None, page("tool", "a", nextCursor="2"))
    reader.add_page("tool", None, page("tool", "a", nextCursor="2"))
    reader.add_page("tool", cursor("2"), page("tool", "b"))
    reader.add_page("tool", cursor("2"), page("tool", "b"))

    assert reader.complete == {"tools": (Raw(b'{"name": "a"}'), Raw(b'{"name": "b"}'))}


def test_a_client_may_write_a_cursor_otherwise_than_the_server() -> None:
    reader = ListReader()

    reader.add_page("tool", None, Raw(b'{"tools":[],"nextCursor":"\\u00e9"}'))
    reader.add_page("tool", Raw('"é"'.encode()), page("tool", "b"))

    assert reader.complete == {"tools": (Raw(b'{"name": "b"}'),)}


@pytest.mark.parametrize("kind", ["tool", "prompt"])
def test_a_name_that_is_listed_twice_is_refused_and_the_list_forgotten(kind: str) -> None:
    reader = ListReader()
    reader.add_page(kind, None, page(kind, "a", nextCursor="2"))

    with pytest.raises(ValueError, match=f"^it lists the {kind} 'a' twice$"):
        reader.add_page(kind, cursor("2"), page(kind, "a"))

    assert reader.complete == {}


def test_a_list_that_is_refused_leaves_its_place_to_the_next_one() -> None:
    reader = ListReader()

    with pytest.raises(ValueError, match=r"^it lists the tool 'a' twice$"):
        reader.add_page("tool", None, page("tool", "a", "a"))

    assert reader.complete == {}
    assert reader.add_page("tool", cursor(""), page("tool", "b")) is None
    assert reader.complete == {}


def test_a_cursor_that_comes_again_is_refused() -> None:
    reader = ListReader()
    reader.add_page("resource", None, page("resource", nextCursor="2"))
    reader.add_page("resource", cursor("2"), page("resource", nextCursor="3"))

    with pytest.raises(
        ValueError, match=r"^its resources/list does not end: it gives the same cursor again, or too many"
    ):
        reader.add_page("resource", cursor("3"), page("resource", nextCursor="2"))


def test_a_thousand_pages_are_read_and_no_more() -> None:
    reader = ListReader()
    reader.add_page("tool", None, page("tool", nextCursor=0))
    for number in range(999):
        reader.add_page("tool", cursor(number), page("tool", nextCursor=number + 1))

    with pytest.raises(ValueError, match=r"^its tools/list does not end"):
        reader.add_page("tool", cursor(999), page("tool", nextCursor=1000))


def test_all_lists_share_one_budget_of_entries() -> None:
    reader = ListReader()
    for kind in EVERY:
        reader.add_page(kind, None, page(kind, *map(str, range(2_500))))
    reader.add_page("tool", None, page("tool", *map(str, range(2_500))))

    with pytest.raises(ValueError, match=r"^it lists more than 10,000 entries, or 32 MB$"):
        reader.add_page("tool", None, page("tool", *map(str, range(2_501))))


def test_all_lists_share_one_budget_of_bytes() -> None:
    reader = ListReader()
    reader.add_page("tool", None, page("tool", "a" * (31 << 20)))

    with pytest.raises(ValueError, match=r"^it lists more than 10,000 entries, or 32 MB$"):
        reader.add_page("prompt", None, page("prompt", "a" * (1 << 20)))
