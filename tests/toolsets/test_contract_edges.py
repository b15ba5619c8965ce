"""The contracts of the judge's and the diagrams' tools at their edges: the last value taken, the first refused.

The numbers are those of the specifications and of docs/reference.md; both validators are asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from signet.app import SCHEMA_ROOT
from signet.kernel.schemas import SchemaRegistry

REGISTRY = SchemaRegistry(schema_root=SCHEMA_ROOT)


class Edges(msgspec.Struct):
    """One side of a contract: a value that is taken, and for single fields what is taken and what is refused."""

    whole: dict[str, Any]
    fields: dict[str, tuple[list[Any], list[Any]]] = {}


def text(least: int, most: int) -> tuple[list[Any], list[Any]]:
    return ["x" * least, "x" * most], ["x" * (least - 1), "x" * (most + 1), 5]


def optional(edges: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
    return [*edges[0], None], edges[1]


SEGMENT = (["x", "x" * 256, "...", ". ."], ["", "x" * 257, " ", ".", "..", None, 5])
"""A segment of a path, which a URL must not lose."""
CODE = (["x", "x" * 51_200], ["", "x" * 51_201, None, 5])
COUNT = ([0, 1, None], [-1, 0.5, "1"])
SIZE = ([0, 1], [-1, None, 0.5])
WORD = (["SrJGjLDm0W0", "-_"], ["", "a b", "a+b", "a\n", None])
NULLABLE = (["", "x", None], [5])

INPUTS = {
    "oj.get_problem": Edges({"source": "leetcode", "id": "1"}, {"source": SEGMENT, "id": SEGMENT}),
    "oj.get_samples": Edges({"source": "leetcode", "id": "1"}, {"source": SEGMENT, "id": SEGMENT}),
    "oj.resolve_problem": Edges(
        {"query": "two-sum"}, {"query": (["x", "x" * 8_192, "...", " ."], ["", "x" * 8_193, " ", "..", None])}
    ),
    "oj.get_daily_challenge": Edges(
        {},
        {
            "domain": (["com", "cn", None], ["", "org", 5]),
            "date": (
                ["2026-01-31", "2020-04-01", "1999-12-09", None],
                ["2026-13-01", "2026-00-01", "2026-01-32", "2026-1-31", "12026-01-31", "2026-01-31\n", "", 5],
            ),
        },
    ),
    "oj.find_similar_problems": Edges(
        {},
        {
            "source": optional(text(1, 256)),
            "id": optional(text(1, 256)),
            "query": (["abc", "a b", "x" * 2_000, None], ["ab", "x" * 2_001, " ab ", "abc ", " abc", 5]),
            "limit": ([1, 50, None], [0, 51, 1.5, "10"]),
            "threshold": ([0, 0.5, 1, None], [-0.5, 1.5, "0"]),
            "source_filter": optional(text(1, 1_024)),
        },
    ),
    "oj.get_platform_status": Edges({}),
    "plantuml.encode": Edges({"plantumlCode": "A"}, {"plantumlCode": (["", "x" * 60_000], [None, 5])}),
    "plantuml.check": Edges({"plantumlCode": "A"}, {"plantumlCode": CODE}),
    "plantuml.render": Edges(
        {"plantumlCode": "A"},
        {
            "plantumlCode": CODE,
            "format": (["svg", "png", "txt", None], ["uml", "", "SVG"]),
            "dark": ([True, False, None], ["true", 1]),
        },
    ),
    "plantuml.link": Edges(
        {"plantumlCode": "A"},
        {
            "plantumlCode": CODE,
            "format": (["svg", "png", "txt", "uml", None], ["pdf", "", "SVG"]),
            "server": (
                ["http://a", "https://a/b", "https://" + "a" * 192, None],
                ["ftp://a", "a.example", "https://", "https://a?b", "https://a/b\n", "https://" + "a" * 193, ""],
            ),
        },
    ),
    "plantuml.decode": Edges(
        {"encoded": "SrJGjLDm0W0"}, {"encoded": (["x", "x" * 2_097_152], ["", " ", "x" * 2_097_153, None])}
    ),
}

MARKDOWN = Edges({"markdown": "x"}, {"markdown": (["", "x" * 102_417], ["x" * 102_418, None])})
SAMPLE = {"input": "1", "output": "2", "explanation": None}
ERROR = {"line": 1, "message": "m", "source": "s"}
OUTPUTS = {
    "oj.get_problem": MARKDOWN,
    "oj.resolve_problem": MARKDOWN,
    "oj.get_daily_challenge": MARKDOWN,
    "oj.find_similar_problems": MARKDOWN,
    "oj.get_platform_status": MARKDOWN,
    "oj.get_samples": Edges(
        {"source": "a", "id": "1", "title": None, "link": None, "samples": [], "time_limit_ms": None,
         "memory_limit_mb": None, "reason": None},
        {
            "title": NULLABLE,
            "link": NULLABLE,
            "reason": NULLABLE,
            "time_limit_ms": COUNT,
            "memory_limit_mb": COUNT,
            "samples": (
                [[SAMPLE], [SAMPLE] * 50, [{**SAMPLE, "explanation": "why"}]],
                [[SAMPLE] * 51, [{**SAMPLE, "more": 1}], None]
                + [[{name: one for name, one in SAMPLE.items() if name != missing}] for missing in SAMPLE],
            ),
        },
    ),
    "plantuml.encode": Edges(
        {"url": "https://www.plantuml.com/plantuml/svg/A", "encoded": "A", "format": "svg"},
        {
            "url": (
                ["https://www.plantuml.com/plantuml/svg/A-_z"],
                ["https://www.plantuml.com/plantuml/svg/", "https://www.plantuml.com/plantuml/svg/A\n", "http://a/A"],
            ),
            "encoded": WORD,
            "format": (["svg"], ["png", None]),
        },
    ),
    "plantuml.check": Edges(
        {"ok": True, "errors": [], "diagram": None},
        {
            "ok": ([True, False], [None, 1]),
            "errors": (
                [[ERROR], [{**ERROR, "line": None, "source": None}]],
                [[ERROR, ERROR], [{**ERROR, "line": 0}], [{**ERROR, "more": 1}], None]
                + [[{name: one for name, one in ERROR.items() if name != missing}] for missing in ERROR],
            ),
            "diagram": NULLABLE,
        },
    ),
    "plantuml.render": Edges(
        {"format": "svg", "mimeType": "image/svg+xml", "data": "<svg/>", "width": 1, "height": 1},
        {
            "format": (["svg", "png", "txt"], ["uml", None]),
            "mimeType": (["image/svg+xml", "image/png", "text/plain"], ["text/html", None]),
            "data": (["", "x"], [None]),
            "width": SIZE,
            "height": SIZE,
        },
    ),
    "plantuml.link": Edges(
        {"url": "https://a/svg/A", "encoded": "A", "format": "svg", "length": 1, "warning": None},
        {
            "url": (["http://a", "https://a"], ["ftp://a", "", None]),
            "encoded": WORD,
            "format": (["svg", "png", "txt", "uml"], ["pdf", None]),
            "length": ([1, 2], [0, 0.5, None]),
            "warning": NULLABLE,
        },
    ),
    "plantuml.decode": Edges(
        {"plantumlCode": "A"}, {"plantumlCode": (["", "x" * 1_048_576], ["x" * 1_048_577, None])}
    ),
}  # fmt: skip


def taken(slug: str, side: str, value: object) -> bool:
    """Ask both validators, which must agree."""
    io = REGISTRY.load_tool_io(slug)
    ours: bool = (io.input_validator if side == "input" else io.output_validator).is_valid(value)
    contract = msgspec.json.decode(getattr(REGISTRY.load_bundle(slug), side))
    assert ours == jsonschema.Draft202012Validator(contract).is_valid(value), "two validators disagree"
    return ours


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("slug", INPUTS)
def test_a_contract_takes_and_refuses_what_it_says(slug: str, side: str) -> None:
    edges = (INPUTS if side == "input" else OUTPUTS)[slug]

    assert taken(slug, side, edges.whole)
    for name, (good, bad) in edges.fields.items():
        assert [one for one in good if not taken(slug, side, {**edges.whole, name: one})] == [], name
        assert [one for one in bad if taken(slug, side, {**edges.whole, name: one})] == [], name


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("slug", INPUTS)
def test_a_contract_needs_each_of_its_fields(slug: str, side: str) -> None:
    whole = (INPUTS if side == "input" else OUTPUTS)[slug].whole

    without = [{name: one for name, one in whole.items() if name != missing} for missing in whole]

    assert [one for one in without if taken(slug, side, one)] == []


@pytest.mark.parametrize("slug", OUTPUTS)
def test_a_result_has_no_other_fields_and_arguments_may_have_more(slug: str) -> None:
    assert not taken(slug, "output", {**OUTPUTS[slug].whole, "more": 1})
    assert taken(slug, "input", {**INPUTS[slug].whole, "more": 1})


def test_every_tool_of_the_two_sets_has_its_edges_here() -> None:
    slugs = {
        path.stem for path in Path(SCHEMA_ROOT, "tools").glob("*.json") if path.stem.startswith(("oj.", "plantuml."))
    }

    assert slugs == INPUTS.keys() == OUTPUTS.keys()


@pytest.mark.parametrize(
    ("slug", "name", "least"),
    [
        ("oj.get_problem", "source", 1),
        ("oj.get_problem", "id", 1),
        ("oj.get_samples", "source", 1),
        ("oj.get_samples", "id", 1),
        ("oj.resolve_problem", "query", 1),
        ("oj.find_similar_problems", "query", 3),
        ("plantuml.decode", "encoded", 1),
    ],
)
def test_the_least_length_is_published_where_a_pattern_asks_for_it_too(slug: str, name: str, least: int) -> None:
    """Forms and models read the number, and few of them the pattern."""
    part = msgspec.json.decode(REGISTRY.load_bundle(slug).input)["properties"][name]

    assert part.get("anyOf", [part])[0]["minLength"] == least
