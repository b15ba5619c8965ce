"""Records: the same call leaves the same record through every door, and the golden ones stay as they are."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import msgspec
import pytest

import misbehaving_server
from door_calls import doors, invocation, rpc
from journals import ROUTING, VOLATILE, differences, records_in
from processes import ROOT, SIGNET, Pipe, Server, piping, serving
from signet.journal.record import MAX_LINE_BYTES, JournalEntry, Recorder, logged
from signet.journal.writer import PAGE_BYTES, USUAL_LINE_BYTES, paged
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.pipeline import Mode, Pipeline
from signet.kernel.tools import NULL_CONTEXT
from signet.settings.catalogue import find_toolset
from signet.settings.model import Settings

GOLDEN = ROOT / "tests/fixtures/mcp/envelope_validation_golden.jsonl"
DIAGRAM = {"plantumlCode": "@startuml\nA --> B\n@enduml"}
CALLS: list[tuple[str, str, Any]] = [
    ("encodePlantUML", "plantuml.encode", DIAGRAM),
    ("encodePlantUML", "plantuml.encode", {}),
    ("encodePlantUML", "plantuml.encode", {"plantumlCode": "A" * 51_201}),
    ("nobody", "nobody.knows", {"x": 1}),
]


def steady(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in (*VOLATILE, *ROUTING)}


@pytest.fixture
def both(tmp_path: Path) -> Any:
    flags = ("--toolsets", "plantuml", "--deterministic-ids", "--log-dir")
    with (
        serving(*flags, str(tmp_path / "http")) as server,
        piping(SIGNET, "stdio", *flags, str(tmp_path / "stdio")) as pipe,
    ):
        yield server, pipe, tmp_path


@pytest.mark.spec("5.parity.equal")
def test_the_same_calls_leave_the_same_records_through_every_door(both: tuple[Server, Pipe, Path]) -> None:
    server, pipe, folder = both
    for door, ask in doors(server, pipe).items():
        for name, slug, arguments in CALLS:
            known = name if "envelope" not in door else slug
            ask(known, slug, arguments)
    pipe.finish()
    server.process.terminate()
    server.process.wait()

    by_door: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in [*records_in(folder / "http"), *records_in(folder / "stdio")]:
        route = "/api/tools" if record["route"].startswith("/api/tools") else record["route"]
        route = "/mcp/tool" if route.startswith("/mcp/tool") else route
        by_door.setdefault((record["transport"], route), []).append(record)

    assert len(by_door) == 5
    journals = list(by_door.values())
    first = [steady(record) for record in journals[0] if record["metadata"]["toolId"] == "plantuml.encode"][:3]
    for journal in journals[1:]:
        told = [steady(record) for record in journal if record["metadata"]["toolId"] == "plantuml.encode"][:3]
        assert differences(first, told) == {}


@pytest.mark.spec("5.ids.same-everywhere")
def test_ids_that_follow_from_the_call_are_equal_through_every_door(both: tuple[Server, Pipe, Path]) -> None:
    server, pipe, folder = both
    for ask in doors(server, pipe).values():
        ask("encodePlantUML", "plantuml.encode", DIAGRAM)
    pipe.finish()
    server.process.terminate()
    server.process.wait()

    written = [*records_in(folder / "http"), *records_in(folder / "stdio")]

    assert len(written) == 7
    assert len({(record["requestId"], record["traceId"], record["spanId"]) for record in written}) == 1
    assert all(record["metadata"]["deterministic"] is True for record in written)


@pytest.mark.spec("5.golden.fixture", "5.golden.deepdiff")
def test_a_call_over_http_and_stdio_leaves_the_golden_records(both: tuple[Server, Pipe, Path]) -> None:
    server, pipe, folder = both
    envelope = invocation("plantuml.encode", DIAGRAM)
    server.post("/mcp/tool/plantuml.encode", envelope)
    pipe.ask(envelope)
    pipe.finish()
    server.process.terminate()
    server.process.wait()

    written = [*records_in(folder / "http"), *records_in(folder / "stdio")]
    golden = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]

    excluded = [f"root[{number}]['{name}']" for number in (0, 1) for name in VOLATILE]
    assert differences(golden, written, ignore_order=False, exclude_paths=excluded) == {}
    assert [(record["transport"], record["route"]) for record in golden] == [
        ("http", "/mcp/tool/plantuml.encode"),
        ("stdio", "mcp.tool.invoke"),
    ]
    assert steady(golden[0]) == steady(golden[1])


GOLDEN_RECORD = {
    "agentId": "mcp_server",
    "attempt": 0,
    "error": None,
    "inputBytes": len(b'{"input":{"plantumlCode":"@startuml\\nA --> B\\n@enduml"},"tool":"mcp.tool:plantuml.encode"}'),
    "metadata": {"deterministic": True, "promptId": None, "schemaVersion": "0.1.0", "toolId": "plantuml.encode"},
    "method": "mcp.tool.invoke",
    "outputBytes": len(
        b'{"url":"https://www.plantuml.com/plantuml/svg/SoWkIImgAStDuN9KqDMrKt3YSaZDIm7o0G",'
        b'"encoded":"SoWkIImgAStDuN9KqDMrKt3YSaZDIm7o0G","format":"svg"}'
    ),
    "status": "ok",
    "stepId": 1,
    "taskId": "06cV2A_mcp_envelope_and_schema_validation_A",
}
"""What is steady in the golden records, written by hand: sizes are those of compact JSON."""


@pytest.mark.spec("5.golden.fixture")
def test_the_golden_records_are_one_for_http_and_one_for_stdio_and_written_by_hand() -> None:
    golden = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]

    doors_of = [("http", "/mcp/tool/plantuml.encode"), ("stdio", "mcp.tool.invoke")]
    assert [{name: one[name] for name in one if name not in VOLATILE} for one in golden] == [
        {**GOLDEN_RECORD, "transport": transport, "route": route} for transport, route in doors_of
    ]
    assert [set(VOLATILE) <= set(one) for one in golden] == [True, True]


@pytest.mark.spec("5.golden.deepdiff")
@pytest.mark.parametrize(
    "name", ["ts", "traceId", "spanId", "requestId", "durationMs", "transport", "route", *GOLDEN_RECORD]
)
def test_the_comparison_overlooks_the_volatile_fields_and_no_other(name: str) -> None:
    golden = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    changed = [golden[0], {**golden[1], name: "changed"}]
    missing = [golden[0], {key: value for key, value in golden[1].items() if key != name}]

    excluded = [f"root[{number}]['{one}']" for number in (0, 1) for one in VOLATILE]
    found = [differences(golden, other, ignore_order=False, exclude_paths=excluded) for other in (changed, missing)]

    is_volatile = name in {"ts", "traceId", "spanId", "requestId", "durationMs"}
    assert [one == {} for one in found] == [is_volatile, is_volatile]


def ids_by_the_book(slug: str, arguments: Any) -> tuple[str, ...]:
    """Derive the ids of a call by the recipe: UUID5 of a kind and of the canonical JSON of what is asked."""
    seed = {"method": "mcp.tool.invoke", "route": "tool"}
    text = json.dumps(
        {**seed, "payload": {"arguments": arguments, "toolId": f"mcp.tool:{slug}"}},
        sort_keys=True,
        separators=(",", ":"),
    )
    namespace = UUID("c1fd1c20-77b7-4f73-b39c-8ed2dd2f2d8c")
    return tuple(str(uuid5(namespace, f"{kind}:{text}")) for kind in ("req", "trace", "span"))


def recorded_ids(folder: Path, *flags: str) -> list[tuple[str, ...]]:
    """Make two calls through each door of one stdio server; return the ids in its journal."""
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", *flags, "--log-dir", str(folder)) as pipe:
        for number, arguments in enumerate([DIAGRAM, {"plantumlCode": "é"}] * 3):
            call = {"name": "encodePlantUML", "arguments": arguments}
            pipe.ask(
                invocation("plantuml.encode", arguments, number)
                if number < 2
                else rpc("tools/call", call, modern=number < 4, request_id=number)
            )
        pipe.finish()
    return [(one["requestId"], one["traceId"], one["spanId"]) for one in records_in(folder)]


@pytest.mark.spec("5.ids.uuid5", "5.ids.distinct", "5.ids.same-everywhere")
def test_a_journal_has_the_derived_ids_whatever_door_and_request_id(tmp_path: Path) -> None:
    ids = recorded_ids(tmp_path, "--deterministic-ids")

    expected = [ids_by_the_book("plantuml.encode", one) for one in (DIAGRAM, {"plantumlCode": "é"})]
    assert ids == expected * 3
    assert len({one for call in expected for one in call}) == 6


@pytest.mark.spec("5.ids.uuid4", "5.ids.distinct", "5.ids.same-everywhere")
def test_a_journal_has_drawn_ids_unless_others_are_asked_for(tmp_path: Path) -> None:
    drawn = [UUID(one) for call in recorded_ids(tmp_path) for one in call]

    assert ({one.version for one in drawn}, len(set(drawn))) == ({4}, 18)


def test_an_envelope_that_is_none_leaves_a_record_too(both: tuple[Server, Pipe, Path]) -> None:
    _, pipe, folder = both
    pipe.ask({"jsonrpc": "2.0", "id": 1, "method": "mcp.tool.invoke", "params": {"tool": "mcp.tool:plantuml.encode"}})
    pipe.finish()

    (record,) = records_in(folder / "stdio")

    assert record["status"] == "error"
    assert record["error"]["code"] == "INVALID_INPUT"


@pytest.mark.spec("5.modes")
@pytest.mark.parametrize(
    ("mode", "arguments", "told"),
    [
        (Mode.ENFORCE, {"n": -1}, ("INVALID_INPUT", None)),
        (Mode.SHADOW, {"n": -1}, (None, "INVALID_INPUT")),
        (Mode.OFF, {"n": -1}, (None, None)),
        (Mode.ENFORCE, {"n": 1, "lie": True}, ("INVALID_INPUT", None)),
        (Mode.SHADOW, {"n": 1}, (None, None)),
    ],
)
def test_what_breaks_an_input_contract_is_refused_noted_or_not_looked_at(
    tmp_path: Path, mode: Mode, arguments: Any, told: tuple[str | None, str | None]
) -> None:
    outcome = odd_pipeline(tmp_path, mode).run(Call("fine", arguments, NULL_CONTEXT))

    assert isinstance(outcome, Outcome)
    assert (outcome.fault and outcome.fault.code, outcome.shadow_violation and outcome.shadow_violation.code) == told


@pytest.mark.spec("5.modes")
@pytest.mark.parametrize(
    ("mode", "told"),
    [(Mode.ENFORCE, ("INVALID_OUTPUT", None)), (Mode.SHADOW, (None, "INVALID_OUTPUT")), (Mode.OFF, (None, None))],
)
def test_what_breaks_an_output_contract_is_refused_noted_or_not_looked_at(
    tmp_path: Path, mode: Mode, told: tuple[str | None, str | None]
) -> None:
    outcome = odd_pipeline(tmp_path, mode).run(Call("lies", {}, NULL_CONTEXT))

    assert isinstance(outcome, Outcome)
    assert (outcome.fault and outcome.fault.code, outcome.shadow_violation and outcome.shadow_violation.code) == told


def odd_pipeline(folder: Path, mode: Mode) -> Pipeline:
    server = misbehaving_server.build(str(folder))
    return Pipeline(server.pipeline.toolbox, server.pipeline.registry, mode=mode)


def test_what_was_only_noted_says_so_in_the_journal() -> None:
    shadow_violation = Fault(Code.INVALID_INPUT, "n: -1 is less than 0")
    entry = JournalEntry(Call("x", {}, NULL_CONTEXT), None, None, shadow_violation, 2, 0.0, 0.0)

    (record,) = Recorder().records([entry])

    assert (record.status, record.error) == (
        "ok",
        {"code": "INVALID_INPUT", "message": "n: -1 is less than 0", "details": {"mode": "shadow"}},
    )


def test_enforcing_is_the_default() -> None:
    assert Settings().validation == "enforce"


def test_in_shadow_a_violation_stands_beside_the_failure_that_follows_it() -> None:
    failure, violation = Fault(Code.INTERNAL_ERROR, "choked on -1"), Fault(Code.INVALID_INPUT, "n: -1 is less than 0")
    entry = JournalEntry(Call("x", {}, NULL_CONTEXT), None, failure, violation, 2, 0.0, 0.0)

    (record,) = Recorder().records([entry])

    noted = {"code": "INVALID_INPUT", "message": "n: -1 is less than 0"}
    details = {"mode": "shadow", "violation": noted}
    assert (record.status, record.error) == (
        "error",
        {"code": "INTERNAL_ERROR", "message": "choked on -1", "details": details},
    )


@pytest.mark.parametrize("violates", [False, True])
def test_no_line_is_longer_than_the_writer_reckons_with(violates: bool) -> None:
    worst = "\x01" * 10_000
    entry = JournalEntry(
        Call(worst, {}, NULL_CONTEXT, Door("http", worst, "x")),
        None,
        Fault(Code.INVALID_INPUT, worst),
        Fault(Code.INVALID_INPUT, worst) if violates else None,
        2**53,
        time.time(),
        1e6,
    )

    (record,) = Recorder().records([entry])

    assert 1000 < len(msgspec.json.encode(record)) < MAX_LINE_BYTES


@pytest.mark.parametrize("end", [0, 1, 4000, 4095, 4096, 100_000])
def test_no_line_crosses_a_page_of_the_file(end: int) -> None:
    if 0 < PAGE_BYTES - end % PAGE_BYTES < USUAL_LINE_BYTES:
        end += PAGE_BYTES - end % PAGE_BYTES
    lines = [b'{"n":"' + b"x" * (number * 37 % 900) + b'"}' for number in range(500)]

    at, told = end, paged(b"".join(line + b"\n" for line in lines), end).splitlines(keepends=True)
    for line in told:
        assert at // PAGE_BYTES == (at + len(line) - 1) // PAGE_BYTES
        at += len(line)

    assert [json.loads(line) for line in told] == [json.loads(line) for line in lines]
    assert at % PAGE_BYTES == 0 or PAGE_BYTES - at % PAGE_BYTES >= USUAL_LINE_BYTES


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_padding_adds_a_fifth_at_most_however_few_lines_are_written_at_once(at_once: int) -> None:
    line, end = b"x" * 599 + b"\n", 0
    for _ in range(3000 // at_once):
        end += len(paged(line * at_once, end))

    assert end < 1.2 * len(line) * (3000 // at_once) * at_once


def test_where_a_line_had_to_cross_a_page_the_next_ones_do_not() -> None:
    end = PAGE_BYTES - 100
    lines = [b'"%s"' % (b"x" * 500)] * 8

    text = paged(b"".join(line + b"\n" for line in lines), end)

    assert [json.loads(line) for line in text.splitlines()] == [json.loads(line) for line in lines]
    assert (end + len(text)) % PAGE_BYTES == 0


def test_routes_that_callers_make_up_are_cleaned_and_not_remembered_for_ever() -> None:
    recorder = Recorder()
    tool = find_toolset("plantuml").tools()[0]
    entries = [
        JournalEntry(
            Call("x", {}, NULL_CONTEXT, Door("http", f"/api/tools/token={number}/x", "rest")),
            tool,
            None,
            None,
            2,
            0.0,
            0.0,
        )
        for number in range(5000)
    ]

    routes = {record.route for record in recorder.records(entries)}

    assert routes == {"/api/tools/token=[redacted]"}
    assert len(recorder._templates) <= 1000


def test_the_time_of_a_call_is_told_in_milliseconds_to_the_microsecond() -> None:
    entry = JournalEntry(Call("x", {}, NULL_CONTEXT), None, None, None, 2, 0.0, 1.2345679)

    (record,) = Recorder().records([entry])

    assert record.duration_ms == 1234.567


@pytest.mark.parametrize(
    ("fault", "known", "expected"),
    [
        (None, True, {"tool": "plantuml.encode", "arguments": {"n": 1}, "result": {"m": 2}}),
        (
            Fault(Code.INVALID_INPUT, "password=abc is wrong"),
            True,
            {
                "tool": "plantuml.encode",
                "arguments": {"n": 1},
                "error": {"code": "INVALID_INPUT", "message": "password=[redacted] is wrong"},
            },
        ),
        (
            Fault(Code.NOT_FOUND, "no"),
            False,
            {"tool": "x", "arguments": {"n": 1}, "error": {"code": "NOT_FOUND", "message": "no"}, "by_name": True},
        ),
        (
            Fault(Code.INVALID_INPUT, "no"),
            False,
            {"tool": "x", "error": {"code": "INVALID_INPUT", "message": "no"}, "by_name": True},
        ),
    ],
)
def test_a_recorded_call_has_its_arguments_if_it_began_and_a_result_or_an_error(
    fault: Fault | None, known: bool, expected: dict[str, Any]
) -> None:
    call = Call("x", {"n": 1}, NULL_CONTEXT, Door("http", "/mcp", "x", by_name=True))

    line = logged("id", call, find_toolset("plantuml").tools()[0] if known else None, fault, b'{"m":2}')

    told = json.loads(msgspec.json.encode(line))
    assert told.pop("requestId") == "id"
    assert {name: value for name, value in told.items() if value not in ("", False)} == expected


def test_the_time_of_a_record_is_in_utc_to_the_millisecond() -> None:
    entry = JournalEntry(Call("x", {}, NULL_CONTEXT), None, None, None, 2, 1_767_225_599.0625, 0.0)

    (record,) = Recorder().records([entry])

    assert record.ts == "2025-12-31T23:59:59.062Z"
