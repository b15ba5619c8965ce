"""The text of a structured result: its JSON, a cut of a large one, and a remark beside a small one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signet.kernel.outcome import Call, Outcome
from signet.kernel.text_blocks import MAX_CHARS, text_blocks
from signet.kernel.tools import NULL_CONTEXT, Tool

LIMIT = 65_536


def outcome(result: Any, **fields: Any) -> Outcome:
    tool = Tool(name="fine", slug="odd.fine", title="Fine", description="", args=dict, run=lambda *_: None, **fields)
    body = json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()
    return Outcome(Call("fine", {}, NULL_CONTEXT), tool, result, body)


def texts(made: Outcome, *, whole: bool = False) -> list[str]:
    blocks = json.loads(text_blocks(made, whole=whole))
    assert {block["type"] for block in blocks} == {"text"}
    return [block["text"] for block in blocks]


def of_size(size: int, letter: str = "x") -> dict[str, str]:
    """Return a result whose JSON has so many bytes."""
    overhead = len('{"x":""}')
    return {"x": letter * ((size - overhead) // len(letter.encode()))}


def test_a_result_up_to_64_kb_is_repeated_as_json() -> None:
    made = outcome(of_size(LIMIT), summarize=lambda _: "cut")

    assert len(made.body) == LIMIT
    assert texts(made) == [made.body.decode()]


def test_of_a_larger_one_the_tool_writes_a_cut() -> None:
    assert texts(outcome(of_size(LIMIT + 1), summarize=lambda result: f"{len(result['x'])} letters")) == [
        "65529 letters"
    ]


def test_no_cut_is_longer_than_8000_characters() -> None:
    assert texts(outcome(of_size(LIMIT + 1), summarize=lambda _: "é" * 9_000)) == ["é" * 8_000]
    assert MAX_CHARS == 8_000


@pytest.mark.parametrize("letter", ["x", "é", "日", "😀"])
@pytest.mark.parametrize("size", [LIMIT + 100, 4_000_000])
def test_without_a_tools_own_words_the_beginning_and_the_end_are_shown(letter: str, size: int) -> None:
    made = outcome({"first": "alpha", **of_size(size, letter), "last": "omega"})

    [text] = texts(made)

    assert len(text) <= 8_000
    assert text.startswith(f"The result has {len(made.body):,} bytes: the whole of it is in structuredContent")
    assert '{"first":"alpha"' in text
    assert text.endswith('"last":"omega"}')
    assert "\ufffd" not in text


@pytest.mark.parametrize("letter", ["x", "é", "日", "😀"])
def test_a_cut_shows_5000_characters_of_the_beginning_and_2500_of_the_end(letter: str) -> None:
    made = outcome(of_size(LIMIT + 8, letter))
    note = (
        f"The result has {len(made.body):,} bytes: the whole of it is in structuredContent, "
        "and this text is a cut of it."
    )

    head, tail = '{"x":"' + letter * 4_994, letter * 2_498 + '"}'
    assert texts(made) == [f"{note}\n\nIt begins:\n{head}\n\nIt ends:\n{tail}"]


def test_a_client_that_needs_the_whole_gets_the_json_alone() -> None:
    large = outcome(of_size(LIMIT + 1), summarize=lambda _: "cut", remark=lambda _: "more")
    small = outcome({"x": "y"}, remark=lambda _: "more")

    assert texts(large, whole=True) == [large.body.decode()]
    assert texts(small, whole=True) == ['{"x":"y"}']


def test_a_remark_is_a_block_of_its_own_behind_the_json() -> None:
    assert texts(outcome({"x": "y"}, remark=lambda _: "more")) == ['{"x":"y"}', "more"]
    assert texts(outcome({"x": "y"}, remark=lambda _: "")) == ['{"x":"y"}']
