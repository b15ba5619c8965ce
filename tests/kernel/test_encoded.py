"""Results that are JSON already: rows that become values when they are read, and large ones checked part by part."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.app import SCHEMA_ROOT
from signet.kernel.encoded import EncodedResult, EncodedRows, ResultWriter
from signet.kernel.errors import Code
from signet.kernel.outcome import Call, Outcome
from signet.kernel.pipeline import Mode, Pipeline
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool, Toolbox, ToolsetRuntime

BATCH = 256
LARGE = 4_194_304
OUTPUT: Final = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "raw": {"type": "string"},
    },
    "required": ["n", "rows"],
    "additionalProperties": False,
}


class In(msgspec.Struct, frozen=True):
    """No arguments."""


def written(rows: list[Any], raw: str | None = None) -> EncodedResult:
    """Write rows as a tool does: how many there are stands before them."""
    writer = ResultWriter("rows", 32)
    for row in rows:
        writer.append(row)
    tail = [b"]}"] if raw is None else [b'],"raw":', msgspec.json.encode(raw), b"}"]
    return writer.end(b'{"n":%d,"rows":[' % len(rows), iter(tail))


@given(
    st.lists(st.dictionaries(st.text(), st.text() | st.none()), max_size=9), st.integers(0, 70), st.none() | st.text()
)
def test_what_is_written_is_read_again_in_any_way(some: list[Any], times: int, raw: str | None) -> None:
    rows = some * times
    whole = {"n": len(rows), "rows": rows, **({} if raw is None else {"raw": raw})}

    result = written(rows, raw)

    assert json.loads(result.body) == whole
    assert (len(result.rows), list(result.rows), list(reversed(result.rows))) == (len(rows), rows, rows[::-1])
    assert result.rows[:3] == rows[:3]
    assert {**result.view(), "rows": list(result.view()["rows"])} == whole
    parts = list(result.parts())
    assert [row for part in parts for row in part["rows"]] == rows
    assert max(len(part["rows"]) for part in parts) <= BATCH
    assert all(part.keys() == whole.keys() and part["n"] == len(rows) for part in parts)


@pytest.mark.parametrize("size", [1_000, 10_000, 600_000, 3_000_000])
def test_rows_that_are_long_come_in_smaller_batches(size: int) -> None:
    """As Python values, many small members take ten times their text."""
    rows = [{"a": f"{number}" + "x" * size} for number in range(12_000_000 // size)]

    result = written(rows)

    batches = [part["rows"] for part in result.parts()]
    same = [row for batch in batches for row in batch] == rows
    assert same
    assert [row["a"][:2] for row in reversed(result.rows)] == [row["a"][:2] for row in reversed(rows)]
    assert max(len(batch) for batch in batches) <= BATCH
    assert max(sum(len(row["a"]) for row in batch[:-1]) for batch in batches) < 1_048_576


def test_a_row_that_is_not_there_is_an_index_error() -> None:
    result = written([{"a": "x"}] * 300)

    with pytest.raises(IndexError):
        result.rows[300]
    assert result.rows[-1] == result.rows[299] == {"a": "x"}


def finished(
    tmp_path_factory: pytest.TempPathFactory, value: EncodedResult, mode: Mode = Mode.ENFORCE, **facts: Any
) -> Outcome:
    root = tmp_path_factory.mktemp("schemas")
    (root / "tools").mkdir()
    bundle = {"tool": "test.list", "input": {"type": "object"}, "output": OUTPUT}
    (root / "tools/test.list.json").write_text(json.dumps(bundle), encoding="utf-8")
    (root / "tool_io.schema.json").write_text("{}", encoding="utf-8")
    tool = Tool(name="list", slug="test.list", title="T", description="D", args=In, run=lambda *_: value, **facts)
    runtimes = {"test.list": ToolsetRuntime(None, 2 * LARGE, str)}
    pipeline = Pipeline(Toolbox((tool,)), SchemaRegistry(schema_root=root), mode=mode, runtimes=runtimes)
    outcome = pipeline.run(Call("list", {}, QUIET_CONTEXT))
    assert isinstance(outcome, Outcome)
    return outcome


ROOM: Final = {"max_result_bytes": 8 * LARGE}
ROWS: Final = [{"a": "x" * 1_000}] * 5_000


@pytest.mark.parametrize("raw", [None, "y" * 3_000_000])
def test_a_large_result_that_keeps_its_contract_is_passed_on_without_a_copy(
    tmp_path_factory: pytest.TempPathFactory, raw: str | None
) -> None:
    value = written(ROWS, raw)

    outcome = finished(tmp_path_factory, value, **ROOM)

    assert outcome.fault is None
    assert outcome.body is value.body
    assert isinstance(outcome.result["rows"], EncodedRows)


@pytest.mark.parametrize("place", [0, 2_500, 4_999])
@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.SHADOW, Mode.OFF])
def test_a_large_result_that_breaks_its_contract_in_one_row_is_seen(
    tmp_path_factory: pytest.TempPathFactory, place: int, mode: Mode
) -> None:
    rows = [*ROWS[:place], {"a": 5}, *ROWS[place + 1 :]]

    outcome = finished(tmp_path_factory, written(rows), mode, **ROOM)

    violation = outcome.fault or outcome.shadow_violation
    assert (outcome.fault is not None, violation is not None) == (mode is Mode.ENFORCE, mode is not Mode.OFF)
    if violation is not None:
        assert (violation.code, violation.stage) == (Code.INVALID_OUTPUT, "output")


def test_a_large_result_that_breaks_its_contract_beside_its_rows_is_seen(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    writer = ResultWriter("rows", 32)
    for row in ROWS:
        writer.append(row)

    outcome = finished(tmp_path_factory, writer.end(b'{"n":"many","rows":[', iter((b"]}",))), **ROOM)

    assert outcome.fault is not None


@pytest.mark.parametrize(
    ("rows", "facts", "is_refused"),
    [
        (5_000, {"max_result_bytes": LARGE}, True),
        (5_000, {"max_result_bytes": LARGE, "raised_limit": lambda limit: limit}, False),
        (9_000, {"max_result_bytes": LARGE, "raised_limit": lambda limit: limit}, True),
        (10, {"max_result_bytes": 1_000}, True),
        (10, {"max_result_bytes": 1_000, "raised_limit": lambda limit: limit}, False),
    ],
)
def test_a_setting_may_raise_the_limit_of_a_result(
    tmp_path_factory: pytest.TempPathFactory, rows: int, facts: dict[str, Any], is_refused: bool
) -> None:
    outcome = finished(tmp_path_factory, written([{"a": "x" * 1_000}] * rows), **facts)

    assert (outcome.fault is not None) == is_refused


def test_a_small_result_is_a_value_like_any_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = finished(tmp_path_factory, written([{"a": "x"}]))

    assert outcome.body == b'{"n":1,"rows":[{"a":"x"}]}'
    assert type(outcome.body) is bytes
    assert outcome.result == {"n": 1, "rows": [{"a": "x"}]}


def test_the_contract_of_a_list_asks_nothing_of_all_rows_together() -> None:
    """What holds for each batch of rows holds for all of them."""
    schema = msgspec.json.decode(SchemaRegistry(schema_root=SCHEMA_ROOT).load_bundle("boj.get_metadata").output)

    assert schema["properties"]["entries"].keys() == {"type", "description", "items"}
    assert not schema.keys() & {"allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "maxProperties"}
