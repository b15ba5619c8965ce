"""The ids of a call: named by what it asks, or apart from every other."""

from __future__ import annotations

import json
import sys
from typing import Any
from uuid import RFC_4122, UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from signet.kernel.ids import Ids, deterministic, random

NAMESPACE = UUID("c1fd1c20-77b7-4f73-b39c-8ed2dd2f2d8c")
KNOWN: dict[str, tuple[str, str, dict[str, Any], Ids]] = {
    "discover": (
        "mcp.discover",
        "discover",
        {},
        Ids(
            request_id="f8f3eb42-5b88-5811-bebf-7d8e1a90ea79",
            trace_id="f969dab7-5603-52a3-bae2-89bebc50cd12",
            span_id="9c6410d7-978d-5cb4-8b0e-ea6e81f8837c",
        ),
    ),
    "prompt": (
        "mcp.prompt.get",
        "prompt",
        {"promptId": "core.generic.bootstrap@1"},
        Ids(
            request_id="9e963b57-a299-5eee-b1ce-15dffd045370",
            trace_id="00524869-9aa3-5e85-ac7e-eee3c0502b96",
            span_id="c908ba44-9829-51e7-9baf-d96e55f99195",
        ),
    ),
    "document": (
        "mcp.tool.invoke",
        "tool",
        {"toolId": "mcp.tool:docs.load.fetch", "arguments": {"path": "tests/fixtures/mcp/docs/sample_article.md"}},
        Ids(
            request_id="238ecf6e-962d-5a8e-8d67-44c609e203be",
            trace_id="76f58421-fa34-5a0d-9251-335060dc9faa",
            span_id="8b335723-b2f5-5021-9f90-70c3ce3f550a",
        ),
    ),
    "search": (
        "mcp.tool.invoke",
        "tool",
        {"toolId": "mcp.tool:vector.query.search", "arguments": {"query": "retrieval", "topK": 2}},
        Ids(
            request_id="0bd9c812-d505-57fb-9346-ffce12bb2db6",
            trace_id="f3a0e257-4afa-5b1d-b4e3-f74e458e70b0",
            span_id="19685dbf-0e8e-5560-926b-81a22a91966e",
        ),
    ),
}
PAYLOADS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.spec("5.ids.uuid5")
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_call_has_its_known_ids(name: str) -> None:
    method, route, payload, expected = KNOWN[name]

    ids = deterministic(method, route, payload)

    assert ids == expected


@pytest.mark.spec("5.ids.uuid5")
@given(st.text(), st.text(), PAYLOADS)
def test_the_ids_follow_from_method_route_and_payload_alone(method: str, route: str, payload: object) -> None:
    seed = json.dumps({"method": method, "payload": payload, "route": route}, sort_keys=True, separators=(",", ":"))
    by_the_book = Ids(*(str(uuid5(NAMESPACE, f"{kind}:{seed}")) for kind in ("req", "trace", "span")))

    ids = deterministic(method, route, payload)

    assert ids == by_the_book


@pytest.mark.spec("5.ids.uuid5")
def test_the_order_of_keys_does_not_count() -> None:
    one = deterministic("m", "tool", {"a": 1, "b": {"c": 2, "d": 3}})

    other = deterministic("m", "tool", {"b": {"d": 3, "c": 2}, "a": 1})

    assert one == other


@pytest.mark.spec("5.ids.uuid5", "5.ids.distinct")
def test_another_method_route_or_payload_gives_other_ids() -> None:
    asked = [("m", "tool", {}), ("n", "tool", {}), ("m", "discover", {}), ("m", "tool", {"a": 1})]

    ids = [one for question in asked for one in astuple(deterministic(*question))]

    assert len(set(ids)) == len(ids)


@pytest.mark.spec("5.ids.uuid4")
def test_random_ids_are_version_four_and_never_the_same() -> None:
    drawn = [UUID(one) for ids in random(100) + random(1) + random(0) for one in astuple(ids)]

    assert ({(one.version, one.variant) for one in drawn}, len(set(drawn))) == ({(4, RFC_4122)}, 303)


@pytest.mark.spec("5.ids.uuid4")
def test_every_digit_of_a_random_id_is_drawn() -> None:
    drawn = [one for ids in random(200) for one in astuple(ids)]

    fixed = [place for place, digits in enumerate(zip(*drawn, strict=True)) if len(set(digits)) < 10]
    assert fixed == [8, 13, 14, 18, 19, 23]


@pytest.mark.parametrize(
    "arguments",
    [
        {"b": ["é😀", 1.5, None, True, [], {}, [[1]], {"é": {"b": 2, "a": 1}}] * 10_000, "a": {}},
        {"text": "é" * 100_000},
        {str(at): at for at in range(20_000)},
    ],
    ids=["many values", "a long text", "many members"],
)
def test_a_large_call_has_the_ids_of_its_whole_seed(arguments: dict[str, Any]) -> None:
    seed = json.dumps({"method": "m", "payload": arguments, "route": "r"}, sort_keys=True, separators=(",", ":"))

    ids = deterministic("m", "r", arguments)

    expected = [str(uuid5(NAMESPACE, f"{kind}:{seed}")) for kind in ("req", "trace", "span")]
    assert list(astuple(ids)) == expected


def test_a_large_call_is_encoded_in_pieces_whatever_its_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    encode = json.JSONEncoder.encode

    def counted(encoder: json.JSONEncoder, value: Any) -> str:
        sizes.append(len(encode(encoder, value)))
        return encode(encoder, value)

    def steps_of(arguments: Any) -> int:
        count = 0

        def step(_: object, event: str, __: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(step)
        try:
            deterministic("m", "r", arguments)
        finally:
            sys.setprofile(None)
        return count

    nested: Any = []
    for _ in range(700):
        nested = [nested]

    monkeypatch.setattr(json.JSONEncoder, "encode", counted)
    deterministic("m", "r", {"x": [0] * 30_000})
    assert len(sizes) == 1
    assert 60_000 < sizes.pop() < 65_536

    flat, deep = steps_of([[]] * 49_000), steps_of([nested] * 70)
    assert max(sizes) < 10
    assert deep < 2 * flat
