"""Places: what is said of a value that breaks its contract, and how much work it takes when the value is hostile."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from processes import ROOT
from signet.kernel.envelope import open_envelope
from signet.kernel.errors import Fault
from signet.kernel.outcome import Call, Outcome, PreparedCall
from signet.kernel.pipeline import Pipeline
from signet.kernel.places import marks_in_words, place_of_type, wrong_type
from signet.kernel.schema_work import measure_value
from signet.kernel.schemas import Contract, ContractError, SchemaRegistry
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import NULL_CONTEXT, Tool, Toolbox
from signet.kernel.wire import ProtocolError

STRINGS: Final = {"type": "array", "items": {"type": "string"}}
ROW: Final = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
SCHEMA: Final = {
    "$id": "urn:test:shapes",
    "type": "object",
    "properties": {
        "list": {"type": "array", "items": {"$ref": "#/$defs/text"}},
        "rows": {"type": "array", "items": ROW},
        "text": {"type": "string", "maxLength": 5},
        "choice": {"enum": ["x", "y"]},
        "either": {"anyOf": [STRINGS, {"type": "integer"}]},
        "a/b ~%": {"type": "array", "items": ROW},
    },
    "additionalProperties": False,
    "$defs": {"text": {"type": "string"}},
}
SMALL: Final = 32_768
LARGE: Final = 524_288
MAX_EXPLAINED: Final = 1_500
"""The values of which the validator may be asked for all errors, in one message."""


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


HOSTILE: Final[dict[str, Callable[[int], Any]]] = {
    "wrong items": lambda size: {"list": [0] * (size // 2)},
    "a wrong item at the end": lambda size: {"list": [*([""] * (size // 3)), 0]},
    "wrong rows": lambda size: {"rows": [{"n": "", "q": 1}] * (size // 14)},
    "empty rows": lambda size: {"rows": [{}] * (size // 3)},
    "wide rows": lambda size: {"rows": [{"n": [0] * 900}] * (size // 1_800)},
    "unknown members": lambda size: {f"k{number}": 0 for number in range(size // 10)},
    "unknown members with long names": lambda size: {f"{number}" * 1_000: 0 for number in range(size // 5_000)},
    "a long text": lambda size: {"text": "x" * size},
    "a list instead of a choice": lambda size: {"choice": [0] * (size // 2)},
    "no branch of two": lambda size: {"either": [0] * (size // 2)},
    "deep items": lambda size: {"list": [nested(200)] * (size // 400)},
    "deep rows": lambda size: {"rows": [{"n": nested(100)}] * (size // 200)},
    "all wrong": lambda size: {
        "list": [0] * (size // 8),
        "choice": [0] * (size // 8),
        "either": [0] * (size // 8),
        "q": [0] * (size // 8),
    },
    "no object": lambda size: [0] * (size // 2),
}
ENVELOPES: Final[dict[str, Callable[[int], Any]]] = {
    "a list as id": lambda size: {"id": [0] * (size // 2)},
    "an object as id": lambda size: {"id": {f"k{number}": 0 for number in range(size // 10)}},
    "a deep id": lambda size: {"id": [nested(200)] * (size // 400)},
    "a list as tool": lambda size: {"params": {"tool": [0] * (size // 2), "input": {}}},
    "a long text as tool": lambda size: {"params": {"tool": "x" * size, "input": {}}},
    "a list as input": lambda size: {"params": {"tool": "mcp.tool:x", "input": [0] * (size // 2)}},
    "unknown members": lambda size: {f"k{number}": 0 for number in range(size // 10)},
    "no object": lambda size: [0] * (size // 2),
}


class Work:
    """The work that naming places takes: function calls, and what the validator is asked for."""

    def __init__(self) -> None:
        self.calls = 0
        self.checked_bytes = 0
        self.explained_bytes = 0
        self.explained_values = 0

    def measure(self, act: Callable[[], object]) -> None:
        self.calls = self.checked_bytes = self.explained_bytes = self.explained_values = 0
        sys.setprofile(self._count)
        try:
            act()
        finally:
            sys.setprofile(None)

    def _count(self, _: object, event: str, __: object) -> None:
        self.calls += event in {"call", "c_call"}


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Count what all validators that are compiled from now on are asked for."""
    counted = Work()
    compiled = jsonschema_rs.Draft202012Validator

    class CountingValidator:
        def __init__(self, schema: Any, **options: Any) -> None:
            self._validator = compiled(schema, **options)

        def is_valid(self, instance: Any) -> bool:
            counted.checked_bytes += len(msgspec.json.encode(instance))
            return self._validator.is_valid(instance)

        def iter_errors(self, instance: Any) -> Any:
            body = msgspec.json.encode(instance)
            counted.explained_bytes += len(body)
            counted.explained_values += sum(body.count(sign) for sign in (b",", b"[", b"{"))
            return self._validator.iter_errors(instance)

    monkeypatch.setattr(jsonschema_rs, "Draft202012Validator", CountingValidator)
    return counted


@pytest.fixture
def registry(tmp_path: Path, work: Work) -> SchemaRegistry:
    """The envelope's contract, and those of a tool that takes hostile values and of one that returns them."""
    assert work.calls == 0
    (tmp_path / "tools").mkdir()
    for name in ("envelope.schema.json", "tool_io.schema.json"):
        shutil.copy(ROOT / "codex/specs/schemas" / name, tmp_path / name)
    anything = {"type": "object"}
    for slug, pair in {"test.in": (SCHEMA, anything), "test.out": (anything, SCHEMA)}.items():
        bundle = {"tool": slug, "input": pair[0], "output": pair[1]}
        (tmp_path / f"tools/{slug}.json").write_text(json.dumps(bundle), encoding="utf-8")
    return SchemaRegistry(schema_root=tmp_path)


def pipeline_of(registry: SchemaRegistry, name: str) -> Pipeline:
    tool = Tool(
        name=name, slug=f"test.{name}", title="T", description="D", args=dict, run=lambda args, _: args,
        max_result_bytes=2 * LARGE,
    )  # fmt: skip
    return Pipeline(Toolbox((tool,)), registry)


def check_work(work: Work, act: Callable[[Any], object], shape: Callable[[int], Any]) -> None:
    """Check that sixteen times the bytes take at most sixteen times the work, and the same work to explain."""
    act(shape(10_000))  # what is compiled once is not counted
    small, large = shape(SMALL), shape(LARGE)

    work.measure(lambda: act(small))
    small_calls = work.calls
    work.measure(lambda: act(large))

    size = len(msgspec.json.encode(large))
    assert size > LARGE / 3
    assert work.explained_values <= MAX_EXPLAINED
    assert work.explained_bytes <= 1.1 * size
    assert work.checked_bytes <= 6 * size
    # A large result is decoded in chunks, by two calls for each byte at most.
    assert work.calls <= 16 * small_calls + 2 * size


@pytest.mark.parametrize("shape", HOSTILE.values(), ids=HOSTILE)
def test_hostile_arguments_are_refused_with_work_in_proportion(
    work: Work, registry: SchemaRegistry, shape: Callable[[int], Any]
) -> None:
    pipeline = pipeline_of(registry, "in")

    def refuse(arguments: Any) -> None:
        outcome = pipeline.prepare(Call("in", arguments, QUIET_CONTEXT))

        assert isinstance(outcome, Outcome)
        assert isinstance(outcome.fault, Fault)
        assert len(outcome.fault.message) < 5_000

    check_work(work, refuse, shape)


@pytest.mark.parametrize("shape", HOSTILE.values(), ids=HOSTILE)
def test_hostile_results_are_refused_with_work_in_proportion(
    work: Work, registry: SchemaRegistry, shape: Callable[[int], Any]
) -> None:
    pipeline = pipeline_of(registry, "out")
    prepared = pipeline.prepare(Call("out", {}, QUIET_CONTEXT))
    assert isinstance(prepared, PreparedCall)

    def refuse(result: Any) -> None:
        fault = pipeline.finish(prepared, result).fault

        assert fault is not None
        assert isinstance(fault.__cause__, ContractError)
        assert 1 <= len(fault.__cause__.places) <= 11

    check_work(work, refuse, shape)


@pytest.mark.parametrize("shape", ENVELOPES.values(), ids=ENVELOPES)
def test_hostile_envelopes_are_refused_with_work_in_proportion(
    work: Work, registry: SchemaRegistry, shape: Callable[[int], Any]
) -> None:
    def refuse(envelope: Any) -> None:
        with pytest.raises(ProtocolError) as caught:
            open_envelope(registry, envelope, NULL_CONTEXT)

        assert isinstance(caught.value.__cause__, ContractError)
        assert 1 <= len(caught.value.__cause__.places) <= 11

    check_work(work, refuse, shape)


def named_by_validator(value: Any) -> list[tuple[str, str]]:
    """Return the first ten places that the validator itself names."""
    errors = [
        (".".join(map(str, error.instance_path)), error.message)
        for error in jsonschema_rs.Draft202012Validator(SCHEMA).iter_errors(value)
    ]
    cut = [(shown(path), shown(message)) for path, message in errors[:10]]
    return cut + [("", "and more")] * (len(errors) > 10)


def shown(text: str) -> str:
    """Return the beginning of a text, and what it says at its end about a length."""
    length = re.search(r" is longer than \d+ characters$", text)
    return text if len(text) <= 200 else f"{text[:200]}…{length[0] if length else ''}"


@pytest.mark.parametrize("shape", HOSTILE.values(), ids=HOSTILE)
def test_a_heavy_value_is_described_as_the_validator_would(shape: Callable[[int], Any]) -> None:
    value = shape(20_000)

    places = Contract(SCHEMA, "").places(value)

    assert places == named_by_validator(value)


def test_parts_below_names_with_special_characters_are_found() -> None:
    value = {"a/b ~%": [{"n": 1}] * 2_000 + [{"n": "x"}]}

    places = Contract(SCHEMA, "").places(value)

    assert places == [("a/b ~%.2000.n", '"x" is not of type "integer"')]


def test_a_list_that_is_too_long_is_shown_by_its_beginning_and_its_limit() -> None:
    contract = Contract({"type": "array", "items": {"type": "integer"}, "maxItems": 3}, "")

    places = contract.places([7] * 5_000)

    assert places == [("", "[" + "7," * 99 + "7… has more than 3 items")]


def test_a_heavy_value_with_nothing_to_say_of_its_length_is_shown_by_its_beginning() -> None:
    places = Contract({"not": {"type": "array"}}, "").places([7] * 5_000)

    assert places == [("", "[" + "7," * 99 + "7…")]


@pytest.mark.parametrize("size", [300, 5_000, 4_194_304])
def test_how_long_a_text_may_be_is_said_of_a_text_of_any_size(size: int) -> None:
    places = Contract({"type": "string", "maxLength": 5}, "").places("x" * size)

    assert places == [("", '"' + "x" * 199 + "… is longer than 5 characters")]


def test_a_deep_and_heavy_value_is_shown_by_its_beginning() -> None:
    value = {"text": [nested(900)] * 10}

    places = Contract(SCHEMA, "").places(value)

    assert places == [("text", "[" * 200 + "…")]


@pytest.mark.parametrize("count", [1, 5_000], ids=["light", "heavy"])
@pytest.mark.parametrize(
    ("schema", "fault", "keyword"),
    [
        ({"type": "integer"}, "x", "type"),
        ({"required": ["n"]}, {"m": 1}, "required"),
        ({"properties": {}, "additionalProperties": False}, {"m": 1}, "additionalProperties"),
        ({"maxLength": 5}, "x" * 5_000_000, "maxLength"),
    ],
    ids=["type", "required", "additional", "length"],
)
def test_a_violation_has_the_keyword_and_the_value_that_breaks_it(
    count: int, schema: dict[str, Any], fault: Any, keyword: str
) -> None:
    value = [1] * count + [fault]

    found = Contract({"items": schema}, "").violations(value)

    assert [(one.path, one.keyword, one.value) for one in found] == [(str(count), keyword, fault)]


def test_the_violations_are_the_places_in_full() -> None:
    value = {"rows": [{"n": "x"}] * 5_000, "list": "y" * 5_000}
    contract = Contract(SCHEMA, "")

    found = [(one.path, one.message) for one in contract.violations(value)]

    assert [(path, shown(message)) for path, message in found] == contract.places(value)


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from(["list", "rows", "text", "choice", "either", "q"]),
        st.lists(st.sampled_from([0, "x", None, {"n": 1}, {"n": "x"}, {}, {"n": 1, "q": 2}, [1]]), max_size=5).map(
            lambda items: items * 400
        ),
    )
)
def test_a_heavy_value_is_valid_or_has_places_as_the_validator_says(value: dict[str, Any]) -> None:
    contract = Contract(SCHEMA, "")

    places = contract.places(value)

    assert bool(places) != contract.is_valid(value)
    assert {path.partition(".")[0] for path, _ in places} <= {
        path.partition(".")[0] for path, _ in named_by_validator(value)
    } | {""}


@pytest.mark.parametrize(
    ("value", "weight"),
    [(1, 1), ("x" * 2048, 3), ([1, 2, [3]], 5), ({"a": 1, "b": {}}, 5), (["x"] * 101, 102)],
)
def test_a_value_weighs_as_many_values_names_and_kib_as_it_has_up_to_the_limit(value: object, weight: int) -> None:
    assert measure_value(value, 100).weight == weight


class Item(msgspec.Struct):
    count: int


class Order(msgspec.Struct):
    due: dt.date
    items: list[Item] = []
    by_number: dict[int, Item] = {}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"due": "soon"}, ("due", "Invalid RFC3339 encoded date")),
        (
            {"due": "2026-01-01", "items": [{"count": 1}, {"count": "x"}]},
            ("items.1.count", "Expected `int`, got `str`"),
        ),
        (
            {"due": "2026-01-01", "by_number": {"1": {"count": "x"}}},
            ("by_number.*.count", "Expected `int`, got `str`"),
        ),
        ({}, ("", "Object missing required field `due`")),
    ],
)
def test_the_place_of_a_wrong_type_is_written_as_any_other(value: Any, place: tuple[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, Order, str_keys=True)

    assert place_of_type(caught.value) == place


def test_the_place_of_a_wrong_key_is_that_of_its_object() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"due": "2026-01-01", "by_number": {"x": {"count": 1}}}, Order, str_keys=True)

    assert place_of_type(caught.value)[0] == "by_number"
    assert wrong_type(caught.value).endswith(" (a key)")


@pytest.mark.parametrize("count", [1, 50_000])
def test_a_mark_never_repeats_the_value(count: int) -> None:
    """Of a heavy value the search may find no keyword."""
    either = {"anyOf": [{"type": "string"}, {"maxItems": 0}]}
    schema = {"type": "object", "properties": {"a": either}, "required": ["b"]}
    contract = Contract(schema, "")

    marks = [one.mark for one in contract.violations({"a": ["secret-value"] * count})]

    found = "anyOf" if count == 1 else "schema"
    assert {mark.text for mark in marks} == {'the whole result (required "b")', f"a ({found})"}
    assert "secret-value" not in marks_in_words(marks)


CODE: Final = {"type": "string", "pattern": "^[A-Z0-9]{2}$"}
WORDED: Final[list[tuple[Any, Any, str]]] = [
    ({**CODE, "description": "Database code"}, "f8", '"f8" does not have the form that it must have (Database code)'),
    ({**CODE, "examples": ["FM"]}, "f8", '"f8" does not have the form that it must have, such as "FM"'),
    (CODE, "x" * 100, f'"{"x" * 59}… does not have the form that it must have'),
    ({"not": {"pattern": "\\n"}}, "a\n", '"a\\n" has a line break, and must have none'),
    ({"not": {"pattern": "^x"}}, "xy", '"xy" does not have the form that it must have'),
    ({"not": {"const": 5}}, 5, '{"const":5} is not allowed for 5'),
    ({"items": {"$ref": "#/$defs/code"}, "$defs": {"code": CODE}}, ["f8"], '"f8" does not have the form that it must'),
    ({"propertyNames": CODE}, {"f8": 1}, "a name in it does not have the form that it must have"),
    ({"properties": {"x": {"type": "string"}}}, {"x": 5}, '5 is not of type "string"'),
]


@pytest.mark.parametrize(("schema", "value", "words"), WORDED)
def test_a_message_has_the_words_of_the_contract_and_no_regular_expression(
    schema: dict[str, Any], value: object, words: str
) -> None:
    contract = Contract(schema, "")

    messages = [message for _, message in contract.places(value)]

    assert len(messages) == 1
    assert messages[0].startswith(words)
    assert "[A-Z" not in messages[0]
    assert [one.message for one in contract.violations(value)] == messages


@pytest.mark.parametrize("path", sorted((ROOT / "src/signet/schemas/tools").glob("*.json")), ids=lambda path: path.stem)
def test_no_tool_shows_a_regular_expression(path: Path) -> None:
    """For a value that breaks the pattern of each of its texts, alone and in a list of many."""
    schema = json.loads(path.read_bytes())["input"]
    for name, part in schema["properties"].items():
        for option in [part, *part.get("anyOf", ())]:
            inner = option.get("items", option)
            if "pattern" in inner:
                wrong = next(text for text in ("\n\u0007", "\n") if not Contract(inner, "").is_valid(text))
                value = [wrong] * 2_000 if "items" in option else wrong
                messages = [text for _, text in Contract(schema, "").places({name: value})]
                assert messages
                assert inner["pattern"] not in "".join(messages)
                assert "does not match" not in "".join(messages)


def test_the_error_of_a_type_shows_no_regular_expression() -> None:
    class Asked(msgspec.Struct):
        url: Annotated[str, msgspec.Meta(pattern="^https?://[a-z'` -]+$")]

    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"url": "ftp"}, Asked)

    assert place_of_type(caught.value) == ("url", "Expected `str` of another form")
