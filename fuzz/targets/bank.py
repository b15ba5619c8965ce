"""The Bank's JSON and CSV: responses of its service, to results that keep their contracts, or faults."""

from __future__ import annotations

import contextlib
import json
import random
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from fuzz.odd_values import Verbatim, json_text, json_value, number, text
from fuzz.target import Run, Target, expect
from signet.app import SCHEMA_ROOT
from signet.kernel.encoded import EncodedResult
from signet.kernel.errors import Fault
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.spending import THREAD_WORK
from signet.kernel.upstream import UpstreamResponse
from signet.toolsets.boj.decode import json_size, read_data, read_metadata
from signet.toolsets.boj.digest import data_digest, metadata_digest
from signet.toolsets.boj.query import DataCodeIn, DataLayerIn, MetadataIn

__all__ = ["CSV", "JSON"]

FIXTURES = Path(__file__).parents[2] / "tests/fixtures/boj"
KINDS = ("API_ERROR", "DECODE_ERROR", "TRANSPORT_ERROR", "TOO_LARGE", "VALIDATION_ERROR")
FACTS = ("STATUS", "MESSAGEID", "MESSAGE", "DATE", "PARAMETER", "NEXTPOSITION", "RESULTSET", "DB")
COLUMNS = (
    "SERIES_CODE", "NAME_OF_TIME_SERIES_J", "NAME_OF_TIME_SERIES", "UNIT_J", "UNIT", "FREQUENCY", "CATEGORY_J",
    "CATEGORY", "LAST_UPDATE",
    "LAYER1", "LAYER2", "LAYER5", "START_OF_THE_TIME_SERIES", "END_OF_THE_TIME_SERIES", "NOTES", "NOTES_J",
    "SURVEY_DATES", "VALUES",
)  # fmt: skip
CELLS = (
    "FXERD01",
    "",
    "157.56",
    "-0",
    "1e5",
    "20261001",
    "202610",
    "2026",
    "null",
    "NA",
    "円",
    "Daily",
    "１２",
    '"a,b"',
    '"a""b"',
    '"',
    "ﾃｽﾄ",
    " x ",
    "\0",
)
PARAMETERS = ("FORMAT", "LANG", "DB", "STARTDATE", "ENDDATE", "STARTPOSITION", "CODE", "LAYER1", "FREQUENCY")
TOKENS = (
    *[f'"{word}"'.encode() for word in (*FACTS, *COLUMNS, *PARAMETERS)],
    *[one.encode() for one in (*CELLS, *FACTS, *COLUMNS)],
    b",", b"\r\n", b'"', b"\x81", b"\x83\x5c", b"\xef\xbb\xbf", b"STATUS,200\r\n", b"PARAMETER,DB,FM08\r\n", b"null",
    b"1e999", b"[[", b"<html>",
)  # fmt: skip
TYPES = (
    "application/json",
    "text/csv",
    "text/csv; charset=shift_jis",
    "text/csv; charset=utf-8",
    "application/json; charset=utf-8",
    "",
    "text/html",
)
ASKED = tuple(
    make(lang=lang, include_raw=raw)
    for raw in (False, True)
    for lang in (None, "jp", "en")
    for make in (
        partial(DataCodeIn, "CO", ("A",)),
        partial(DataLayerIn, "BP01", "M", ("*",)),
        partial(MetadataIn, "FM08"),
    )
)
SLUGS: dict[type, str] = {
    DataCodeIn: "boj.get_data_code",
    DataLayerIn: "boj.get_data_layer",
    MetadataIn: "boj.get_metadata",
}


def _maybe(chance: random.Random, value: Any) -> Any:
    return value if chance.random() < 0.93 else json_value(chance, 2)


def _row(chance: random.Random) -> dict[str, Any]:
    row: dict[str, Any] = {name: _maybe(chance, chance.choice(CELLS)) for name in COLUMNS[:16] if chance.random() < 0.7}
    if chance.random() < 0.6:
        count = chance.randrange(6)
        dates = [chance.choice((20261001, 202610, 2026, "20261001", number(chance))) for _ in range(count)]
        values = [
            chance.choice((1.5, None, "1.5", 0, number(chance), chance.randrange(99)))
            for _ in range(count + chance.choice((0, 0, 0, 1)))
        ]
        row["VALUES"] = _maybe(chance, {"SURVEY_DATES": _maybe(chance, dates), "VALUES": _maybe(chance, values)})
    return row


def _json(chance: random.Random) -> bytes:
    value: dict[str, Any] = {
        "STATUS": _maybe(chance, chance.choice((200, "200", 400, 500))),
        "MESSAGEID": _maybe(chance, "M181000I"),
        "MESSAGE": _maybe(chance, "正常に終了しました。"),
        "DATE": _maybe(chance, "2026-10-16T14:00:08.361+09:00"),
        "PARAMETER": _maybe(chance, {name: chance.choice(CELLS) for name in PARAMETERS}),
        "NEXTPOSITION": _maybe(chance, chance.choice((None, 255, "255", ""))),
        "DB": _maybe(chance, "FM08"),
        "RESULTSET": _maybe(chance, [_row(chance) for _ in range(chance.randrange(4))]),
    }
    value = {
        name if chance.random() < 0.95 else name.lower(): one for name, one in value.items() if chance.random() < 0.95
    }
    return json_text(value if chance.random() < 0.98 else Verbatim("[1]"), chance).encode("utf-8", "surrogatepass")


def _csv(chance: random.Random) -> bytes:
    lines = [[name, chance.choice(("200", "FM08", "", *CELLS))] for name in FACTS[:4]]
    lines[0][1] = chance.choice(("200",) * 9 + ("400", "x"))
    lines += [["PARAMETER", name, chance.choice(CELLS)] for name in PARAMETERS if chance.random() < 0.6]
    columns = [name for name in COLUMNS if chance.random() < 0.7]
    lines += [["NEXTPOSITION", chance.choice(("", "255", "x"))], columns if chance.random() < 0.95 else []]
    lines += [
        [chance.choice(CELLS) for _ in range(max(0, len(columns) + chance.choice((0, 0, 0, 1, -1))))]
        for _ in range(chance.randrange(8))
    ]
    if chance.random() < 0.1:
        lines.insert(chance.randrange(len(lines)), [text(chance)])
    written = chance.choice(("\r\n", "\r\n", "\n")).join(",".join(line) for line in lines)
    return written.encode(chance.choice(("cp932", "utf-8", "utf-8-sig")), "replace")


def _seeds(ending: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(FIXTURES.glob(f"*.{ending}"))]


def _run(registry: SchemaRegistry, data: bytes) -> None:
    chance = random.Random(zlib.crc32(data))
    query = chance.choice(ASKED)
    response = UpstreamResponse(chance.choice((200, 200, 200, 404, 503)), chance.choice(TYPES), data)
    try:
        result: Any = read_metadata(response, query) if isinstance(query, MetadataIn) else read_data(response, query)
    except Fault as fault:
        expect(fault.data.get("error_type") in KINDS, "a fault is of spec 3", fault.data)
        json.dumps(fault.data).encode()
        msgspec.json.encode([fault.data, fault.message])
        return
    if isinstance(result, EncodedResult):
        body = bytes(result.body)
        parts = [row for part in result.parts() for row in part["entries"]]
        expect(
            parts == list(result.rows) == json.loads(body)["entries"], "the parts of a list are its rows", len(parts)
        )
    else:
        body = msgspec.json.encode(result)
        expect(json_size(result) == len(body), "the size of a result is that of its JSON", json_size(result), len(body))
    value = json.loads(body)
    contract = registry.load_tool_io(SLUGS[type(query)]).output_validator
    expect(contract.is_valid(value, THREAD_WORK), "a result keeps its contract", value)
    digest = metadata_digest(value) if isinstance(query, MetadataIn) else data_digest(value)
    expect(digest.strip(), "a digest says something")
    if not isinstance(query, MetadataIn):
        expect(value["series_count"] == len(value["series"]), "the series are counted", value["series_count"])


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    yield partial(_run, SchemaRegistry(schema_root=SCHEMA_ROOT))


JSON = Target(
    name="bank-json",
    about="the Bank's responses in JSON, to results of spec 3",
    open=_open,
    seeds=partial(_seeds, "json"),
    generate=_json,
    tokens=TOKENS,
    rooms=("toolsets/boj/",),
)
CSV = Target(
    name="bank-csv",
    about="the Bank's tables in CSV, in Shift_JIS and UTF-8, to results of spec 3",
    open=_open,
    seeds=partial(_seeds, "csv"),
    generate=_csv,
    tokens=TOKENS,
    rooms=("toolsets/boj/",),
)
TARGET = (JSON, CSV)
