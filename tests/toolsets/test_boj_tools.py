"""The three tools of `boj-mcp-server` over pipes: what each asks the Bank of Japan for, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from boj_harness import (
    BUILT,
    CALL_RATE,
    CALLS,
    CODE,
    DATE,
    DEPOSITS,
    DI,
    LAYER,
    METADATA,
    SPOT,
    SPOT_TARGET,
    TARGETS,
    TOOLS,
    BojHarness,
    boj_sandbox,
    call,
    error_of,
    failure,
    kind_of,
    request,
    serving_boj,
)
from boj_messages import MANUAL, text_of
from door_calls import rpc
from drop_in_servers import VERSION
from processes import Pipe

SERVICES = "TK99F2000601GCQ01000"
MANNERS = list(product(["json", "csv"], ["jp", "en"]))
OK = {"status": 200, "message_id": "M181000I", "message": "正常に終了しました。"}
OK_EN = {"status": 200, "message_id": "M181000I", "message": "Successfully completed"}
NO_DATA = {
    "status": 200,
    "message_id": "M181030I",
    "message": "正常に終了しましたが、該当データはありませんでした。",
}
VALIDATION, REFUSED = (-32602, "VALIDATION_ERROR"), (-32602, "API_ERROR")
FAILED, TRANSPORT, DECODE = (-32603, "API_ERROR"), (-32603, "TRANSPORT_ERROR"), (-32603, "DECODE_ERROR")


@pytest.fixture(scope="module")
def process(bank: BojHarness) -> Iterator[Pipe]:
    """A server that asks again without a pause and keeps nothing."""
    with serving_boj(bank.url, "--retry-backoff-ms", "0", "--cache-s", "0") as pipe:
        yield pipe


@pytest.fixture
def pipe(bank: BojHarness, process: Pipe) -> Pipe:
    return process


def points(values: dict[str, str | None]) -> list[dict[str, str | None]]:
    return [{"survey_date": date, "value": value} for date, value in values.items()]


# --- what is asked

FULL_CODE = {
    "db": "CO", "codes": [DI, SERVICES], "format": "json", "lang": "jp", "start_date": "202401", "end_date": "202504",
    "start_position": 250,
}  # fmt: skip
FULL_LAYER = {
    "db": "BP01", "frequency": "M", "layers": ["1", "1", "1"], "format": "csv", "lang": "en", "start_date": "202504",
    "end_date": "202509",
}  # fmt: skip
ASKED: dict[str, tuple[str, dict[str, Any], str]] = {
    "codes, all of it": (
        CODE,
        FULL_CODE,
        (
            "/api/v1/getDataCode?format=json&lang=jp&db=CO&startDate=202401&endDate=202504"
            "&code=TK99F1000601GCQ01000%2CTK99F2000601GCQ01000&startPosition=250"
        ),
    ),
    "layers": (
        LAYER,
        FULL_LAYER,
        "/api/v1/getDataLayer?format=csv&lang=en&db=BP01&frequency=M&layer=1%2C1%2C1&startDate=202504&endDate=202509",
    ),
    "layers, a position": (
        LAYER,
        {"db": "MD10", "frequency": "Q", "layers": ["*"], "start_position": 255},
        "/api/v1/getDataLayer?db=MD10&frequency=Q&layer=%2A&startPosition=255",
    ),
    "a list": (
        METADATA,
        {"db": "PR01", "format": "csv", "lang": "jp"},
        "/api/v1/getMetadata?format=csv&lang=jp&db=PR01",
    ),
    "a database that nobody knows": (
        CODE,
        {"db": "UNKNOWN_DB", "codes": [DI]},
        "/api/v1/getDataCode?db=UNKNOWN_DB&code=TK99F1000601GCQ01000",
    ),
    "a database in small letters": (METADATA, {"db": "fm01"}, "/api/v1/getMetadata?db=FM01"),
    "white space around a database": (METADATA, {"db": " co "}, "/api/v1/getMetadata?db=%20CO%20"),
    "codes with odd signs, twice, in their order": (
        CODE,
        {"db": "IR01", "codes": ["MADR1Z@D", " a-b.c_d~e/f ", "MADR1Z@D"]},
        "/api/v1/getDataCode?db=IR01&code=MADR1Z%40D%2C%20a-b.c_d~e%2Ff%20%2CMADR1Z%40D",
    ),
    "layers in another spelling": (
        LAYER,
        {"db": "FM08", "frequency": "d", "layers": ["01", "+1", "*", "4294967295", "002"]},
        "/api/v1/getDataLayer?db=FM08&frequency=D&layer=1%2C1%2C%2A%2C4294967295%2C2",
    ),
    "words in capitals": (
        METADATA,
        {"db": "FM01", "format": "JSON", "lang": "EN"},
        "/api/v1/getMetadata?format=json&lang=en&db=FM01",
    ),
    "words as titles": (
        LAYER,
        {"db": "FM08", "frequency": "D", "layers": ["1"], "format": "Csv", "lang": "Jp", "start_date": "202610"},
        "/api/v1/getDataLayer?format=csv&lang=jp&db=FM08&frequency=D&layer=1&startDate=202610",
    ),
    "a frequency where none is needed": (
        CODE,
        {**SPOT, "frequency": "of no interest"},
        SPOT_TARGET,
    ),
    "a frequency that is none where none is needed": (
        CODE,
        {**SPOT, "frequency": 1},
        SPOT_TARGET,
    ),
    "a frequency that is none for a list": (
        METADATA,
        {**CALL_RATE, "frequency": [{"of": "no interest"}]},
        TARGETS[METADATA],
    ),
    "nulls": (
        CODE,
        {**SPOT, "format": None, "lang": None, "start_position": None, "include_raw": None},
        SPOT_TARGET,
    ),
    "the last position": (
        CODE,
        {"db": "CO", "codes": [DI], "start_position": 4_294_967_295},
        f"/api/v1/getDataCode?db=CO&code={DI}&startPosition=4294967295",
    ),
    **{
        f"the dates that {frequency} has at its ends": (
            LAYER,
            {"db": "BP01", "frequency": frequency, "layers": ["*"], "start_date": start, "end_date": end},
            f"/api/v1/getDataLayer?db=BP01&frequency={frequency}&layer=%2A&startDate={start}&endDate={end}",
        )
        for frequencies, start, end in (
            ("CY FY", "1850", "2050"),
            ("CH FH", "202401", "202402"),
            ("Q", "202401", "202404"),
            ("M W D", "202401", "202412"),
        )
        for frequency in frequencies.split()
    },
    "years at both ends": (
        CODE,
        {"db": "BP01", "codes": ["BPBP6KA"], "start_date": "1850", "end_date": "2050"},
        "/api/v1/getDataCode?db=BP01&startDate=1850&endDate=2050&code=BPBP6KA",
    ),
}


@pytest.mark.spec(
    "3.request.exact", "3.request.encoding", "3.input.first-rule", "3.input.spelling", "3.input.cases",
    "3.input.unknown-db", "3.input.layers-count", "3.input.layer-number", "3.input.year", "3.input.position",
    "3.input.date-by-frequency",
)  # fmt: skip
@pytest.mark.parametrize("row", ASKED)
def test_one_question_is_one_request_to_the_very_byte(bank: BojHarness, pipe: Pipe, row: str) -> None:
    name, arguments, target = ASKED[row]

    pipe.ask(request(name, arguments))

    assert [(seen.method, seen.target) for seen in bank.requests()] == [("GET", target)]


@pytest.mark.spec("3.request.headers")
@pytest.mark.parametrize("name", TOOLS)
def test_every_request_asks_for_gzip_and_says_who_asks(bank: BojHarness, pipe: Pipe, name: str) -> None:
    call(pipe, name, **CALLS[name])

    [seen] = bank.requests()
    assert seen.headers == {
        "host": bank.url.removeprefix("http://"),
        "accept": "*/*",
        "accept-encoding": "gzip",
        "user-agent": f"signet/{VERSION}",
    }


@pytest.mark.spec("3.request.headers")
def test_what_comes_packed_is_unpacked(bank: BojHarness, pipe: Pipe) -> None:
    answer = call(pipe, METADATA, db="CO")

    [seen] = bank.requests()
    assert answer["entries_count"] == 1504
    assert 0 < seen.body_bytes < len(bank.body("/api/v1/getMetadata?db=CO")) / 10


@pytest.mark.spec("3.request.headers")
@pytest.mark.parametrize("name", TOOLS)
def test_what_comes_plain_though_gzip_was_asked_for_is_read_too(bank: BojHarness, pipe: Pipe, name: str) -> None:
    packed = call(pipe, name, **CALLS[name])
    bank.order("huge", size=100_000)

    assert call(pipe, name, **CALLS[name]) == packed


@pytest.mark.spec("3.input.codes-1250")
def test_1250_codes_go_out_in_one_request(bank: BojHarness, pipe: Pipe) -> None:
    codes = [f"SAMPLE_CO_{number:04}" for number in range(3, 1253)]

    answer = call(pipe, CODE, db="CO", codes=codes, start_date="202504")

    assert len(bank.targets()) == 1
    assert (answer["series_count"], answer["next_position"]) == (250, 251)
    assert [series["series_code"] for series in answer["series"]] == codes[:250]


# --- what is answered


def di(code: str, name: str, values: dict[str, str | None]) -> dict[str, Any]:
    return {
        "series_code": code, "name_of_time_series_j": f"D.I./業況/大企業/{name}/実績", "name_of_time_series": None,
        "unit_j": "%ポイント", "unit": None, "frequency": "QUARTERLY", "category_j": "全国短観・判断項目",
        "category": None, "last_update": "20251216", "points": points(values), "extras": {},
    }  # fmt: skip


@pytest.mark.spec("3.output.structured", "3.output.next-position")
def test_series_by_their_codes_are_answered_whole(pipe: Pipe) -> None:
    answer = call(pipe, CODE, db="CO", codes=[DI, SERVICES], start_date="202401", end_date="202402")

    assert answer == {
        "meta": {**OK, "date": DATE},
        "parameter": {
            "format": None, "lang": None, "db": "CO", "start_date": "202401", "end_date": "202402",
            "start_position": None, "extras": {},
        },
        "next_position": None,
        "series_count": 2,
        "series": [
            di(DI, "製造業", {"202401": "11", "202402": "13"}),
            di(SERVICES, "非製造業", {"202401": "34", "202402": "33"}),
        ],
    }  # fmt: skip


@pytest.mark.spec("3.output.structured", "3.output.values")
def test_series_under_a_layer_are_answered_in_the_banks_own_digits(pipe: Pipe) -> None:
    """From a table in Shift_JIS; the last value has not been published yet."""
    asked = {"format": "csv", "start_date": "202504", "end_date": "202509"}

    answer = call(pipe, LAYER, db="BP01", frequency="M", layers=["1", "1", "1", "1"], **asked)

    values = ["22140.5155", "33965.80862", "13310.2756", "26843.19422", "37758.3084", None]
    assert answer == {
        "meta": {**OK, "date": DATE},
        "parameter": {
            "format": "CSV", "lang": None, "db": "BP01", "layer1": 1, "layer2": 1, "layer3": 1, "layer4": 1,
            "layer5": None, "frequency": "M", "start_date": "202504", "end_date": "202509", "start_position": None,
            "extras": {},
        },
        "next_position": None,
        "series_count": 1,
        "series": [
            {
                "series_code": "BPBP6JYNCB", "name_of_time_series_j": "経常収支", "name_of_time_series": None,
                "unit_j": "億円", "unit": None, "frequency": "MONTHLY", "category_j": "国際収支統計（6版基準）",
                "category": None, "last_update": "20251008",
                "points": points({f"20250{month}": value for month, value in enumerate(values, 4)}), "extras": {},
            }
        ],
    }  # fmt: skip


def entry(layers: tuple[int, ...], name: str, **others: str) -> dict[str, Any]:
    blank = dict.fromkeys(
        [
            "series_code", "name_of_time_series_j", "unit_j", "unit", "frequency", "category_j", "category",
            "start_of_the_time_series", "end_of_the_time_series", "last_update", "notes_j", "notes",
        ]
    )  # fmt: skip
    levels = {f"layer{number}": level for number, level in enumerate(layers, 1)}
    return {**blank, "name_of_time_series": name, **levels, **others, "extras": {}}


def rate(number: int, code: str, name: str, start: str) -> dict[str, Any]:
    ends = {"end_of_the_time_series": "20261008", "last_update": "20261009"}
    facts = {"unit": "percent per annum", "frequency": "DAILY", "category": "Call Rate"}
    full_name = f"Call Rate, Uncollateralized Overnight, {name} (Daily)"
    return entry((1, number, 0, 0, 0), full_name, series_code=code, start_of_the_time_series=start, **facts, **ends)


@pytest.mark.spec("3.output.structured", "3.output.metadata", "3.output.tolerant")
def test_a_list_has_headings_and_series_and_the_banks_unpadded_hour(pipe: Pipe) -> None:
    answer = call(pipe, METADATA, db="FM01", lang="en")

    volumes = "Volumes of Uncollateralized Overnight Call Transactions"
    assert answer == {
        "meta": {**OK_EN, "date": "2026-02-19T9:00:06.669+09:00"},
        "db": "FM01",
        "entries_count": 5,
        "entries": [
            entry((1, 0, 0, 0, 0), "Uncollateralized Overnight Call Rate (Updated every business day)"),
            rate(1, "STRDCLUCON", "Average", "19980105"),
            rate(2, "STRDCLUCONH", "Highest", "20050101"),
            rate(3, "STRDCLUCONL", "Lowest", "20050101"),
            entry(
                (2, 1, 0, 0, 0), volumes, series_code="STRDCLUCV", unit="100 million yen", frequency="DAILY",
                category=volumes, start_of_the_time_series="20170104", end_of_the_time_series="20261008",
                last_update="20261009",
            ),
        ],
    }  # fmt: skip


@pytest.mark.spec("3.output.formats", "3.output.no-raw")
@pytest.mark.parametrize(("form", "lang"), MANNERS)
@pytest.mark.parametrize("name", TOOLS)
def test_each_format_and_language_gives_the_same_shape(pipe: Pipe, name: str, form: str, lang: str) -> None:
    """Data come in the language asked for; lists in Japanese have both."""
    asked = {**CALLS[name], "format": form, "lang": lang}
    other = {**asked, "format": "csv" if form == "json" else "json"}

    answer, twin = call(pipe, name, **asked), call(pipe, name, **other)

    rows = answer["series"] if name != METADATA else answer["entries"][1:]
    spoken = {key for row in rows for key in ("name_of_time_series_j", "name_of_time_series") if row[key]}
    both = {"name_of_time_series_j", "name_of_time_series"}
    one = {"name_of_time_series_j"} if lang == "jp" else {"name_of_time_series"}
    assert answer["meta"] == {**(OK if lang == "jp" else OK_EN), "date": BUILT if name == METADATA else DATE}
    assert "raw" not in answer
    assert spoken == (both if name == METADATA and lang == "jp" else one)
    if name != METADATA:
        assert (answer["parameter"]["format"], answer["parameter"]["lang"]) == (form.upper(), lang.upper())
        twin["parameter"]["format"] = form.upper()
    assert answer == twin


@pytest.mark.spec("3.output.raw", "3.input.include-raw-default")
@pytest.mark.parametrize(("form", "lang"), MANNERS)
@pytest.mark.parametrize("name", TOOLS)
def test_the_raw_body_comes_on_request_decoded_and_unchanged(
    bank: BojHarness, pipe: Pipe, name: str, form: str, lang: str
) -> None:
    asked = {**CALLS[name], "format": form, "lang": lang}

    with_raw, without = call(pipe, name, **asked, include_raw=True), call(pipe, name, **asked, include_raw=False)

    target, again = bank.targets()
    encoding = "cp932" if (form, lang) == ("csv", "jp") else "utf-8"
    assert target == again
    assert with_raw.pop("raw") == bank.body(target).decode(encoding)
    assert with_raw == without


@pytest.mark.spec("3.output.values")
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_missing_value_is_null_and_zero_is_a_value(pipe: Pipe, form: str) -> None:
    daily = call(pipe, CODE, **SPOT, format=form)["series"][0]["points"]
    halves = call(pipe, LAYER, **DEPOSITS, format=form)["series"][0]["points"]

    assert daily[:5] == points(
        {"20261001": "157.56", "20261002": "157.94", "20261003": None, "20261004": None, "20261005": "157.74"}
    )
    assert halves == points({"202501": "9996571", "202502": "0", "202503": "10013142"})


@pytest.mark.spec("3.output.tolerant")
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_wildcard_is_echoed_as_it_was_asked(pipe: Pipe, form: str) -> None:
    answer = call(pipe, LAYER, db="TREE", frequency="M", layers=["1", "*", "1"], lang="en", format=form)

    assert answer["parameter"] == {
        "format": form.upper(), "lang": "EN", "db": "TREE", "layer1": 1, "layer2": "*", "layer3": 1, "layer4": None,
        "layer5": None, "frequency": "M", "start_date": None, "end_date": None, "start_position": None, "extras": {},
    }  # fmt: skip
    assert [series["series_code"] for series in answer["series"]] == ["A", "D"]


@pytest.mark.spec("3.output.one-page", "3.output.next-position")
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_page_that_is_not_the_last_is_one_request_and_says_where_to_go_on(
    bank: BojHarness, pipe: Pipe, form: str
) -> None:
    """250 series and the headings between them."""
    first = call(pipe, LAYER, db="MD10", frequency="Q", layers=["*"], start_date="202501", format=form)
    last = call(pipe, LAYER, db="MD10", frequency="Q", layers=["*"], start_date="202501", start_position=1100)

    assert len(bank.targets()) == 2
    assert (first["series_count"], first["next_position"]) == (250, 255)
    assert last["next_position"] is None


@pytest.mark.spec("3.output.next-position")
def test_pages_asked_for_by_their_next_position_are_the_whole_database_once(pipe: Pipe) -> None:
    listed = [row["series_code"] for row in call(pipe, METADATA, db="MD10", lang="en")["entries"] if row["series_code"]]
    position: int | None = 1
    found: list[str] = []
    while position is not None:
        page = call(pipe, LAYER, db="MD10", frequency="Q", layers=["*"], start_date="202503", start_position=position)
        found += [series["series_code"] for series in page["series"]]
        assert page["parameter"]["start_position"] == position
        position = page["next_position"]

    assert len(found) == 1214
    assert found == listed


def told(**changes: Any) -> dict[str, Any]:
    """An answer of the Bank's with one series, and what is different about it; None for what is not there."""
    row = {"SERIES_CODE": "A", "VALUES": {"SURVEY_DATES": [202401], "VALUES": [1]}}
    answer = {"STATUS": 200, "MESSAGEID": "M181000I", "MESSAGE": "Successfully completed", "RESULTSET": [row]}
    return {key: value for key, value in {**answer, **changes}.items() if value is not Ellipsis}


@pytest.mark.spec("3.output.next-position")
@pytest.mark.parametrize(
    ("given", "next_position"),
    [(..., None), (None, None), ("", None), ("null", None), (2, 2), ("251", 251), (4_294_967_295, 4_294_967_295)],
)
def test_the_next_position_is_always_there_and_as_given(
    bank: BojHarness, pipe: Pipe, given: object, next_position: int | None
) -> None:
    bank.answers(told(NEXTPOSITION=given))

    assert call(pipe, CODE, **SPOT)["next_position"] == next_position


@pytest.mark.spec("3.output.no-data")
@pytest.mark.parametrize("form", ["json", "csv"])
def test_no_data_is_a_success(pipe: Pipe, form: str) -> None:
    answer = call(pipe, CODE, db="CO", codes=[DI], start_date="195001", end_date="195004", format=form)

    assert answer["meta"] == {**NO_DATA, "date": DATE}
    assert answer["series"] == [di(DI, "製造業", dict.fromkeys(["195001", "195002", "195003", "195004"]))]


@pytest.mark.spec("3.output.no-data")
def test_no_data_with_no_series_is_a_success_too(bank: BojHarness, pipe: Pipe) -> None:
    bank.answers({"STATUS": 200, "MESSAGEID": "M181030I", "MESSAGE": NO_DATA["message"], "RESULTSET": []})

    answer = call(pipe, CODE, **SPOT)

    assert answer == {
        "meta": {**NO_DATA, "date": None},
        "parameter": {
            "format": None, "lang": None, "db": None, "start_date": None, "end_date": None, "start_position": None,
            "extras": {},
        },
        "next_position": None,
        "series_count": 0,
        "series": [],
    }  # fmt: skip


@pytest.mark.spec("3.output.tolerant")
def test_what_the_bank_says_beyond_its_manual_is_passed_on(bank: BojHarness, pipe: Pipe) -> None:
    row = {
        "SERIES_CODE": " A ", "UNIT": "", "LAST_UPDATE": 20251216, "REMARK": "new", "NOTHING": None,
        "VALUES": {"SURVEY_DATES": [202401, "202402"], "VALUES": [0.30, "text"]},
    }  # fmt: skip
    bank.answers(told(PARAMETER={"DB": "X", "CODE": "A", "STARTPOSITION": "", "EMPTY": ""}, DATE=" ", RESULTSET=[row]))

    answer = call(pipe, CODE, **SPOT)

    assert answer["meta"]["date"] is None
    assert answer["parameter"]["extras"] == {"CODE": "A", "EMPTY": ""}
    assert answer["series"] == [
        {
            "series_code": "A", "name_of_time_series_j": None, "name_of_time_series": None, "unit_j": None,
            "unit": None, "frequency": None, "category_j": None, "category": None, "last_update": "20251216",
            "points": points({"202401": "0.3", "202402": "text"}), "extras": {"REMARK": "new", "NOTHING": None},
        }
    ]  # fmt: skip


@pytest.mark.spec("3.output.tolerant")
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize(
    "order",
    [
        {"fault": "wrong_type", "type": "text/plain"},
        {"fault": "wrong_type", "type": "text/csv"},
        {"fault": "no_type"},
        {"fault": "chunked", "size": 7},
        {"fault": "redirect", "hops": 10},
        {"fault": "wrong_type", "type": "application/json", "status": 500},
        {"fault": "wrong_type", "type": "application/json", "status": 404},
    ],
    ids=["text/plain", "text/csv", "no type", "chunks", "ten redirects", "HTTP 500", "HTTP 404"],
)
def test_an_answer_counts_by_its_body_however_it_was_sent(
    bank: BojHarness, pipe: Pipe, name: str, order: dict[str, Any]
) -> None:
    plain = call(pipe, name, **CALLS[name])
    bank.clear()
    bank.order(**order)

    assert call(pipe, name, **CALLS[name]) == plain
    assert len(bank.targets()) == (11 if order["fault"] == "redirect" else 1)


@pytest.mark.spec("3.output.tolerant")
def test_a_parameter_of_null_is_none(bank: BojHarness, pipe: Pipe) -> None:
    bank.answers(told(PARAMETER=None))

    parameter = call(pipe, LAYER, **DEPOSITS)["parameter"]

    assert parameter == {
        **dict.fromkeys(["format", "lang", "db", "layer1", "layer2", "layer3", "layer4", "layer5", "frequency"]),
        **dict.fromkeys(["start_date", "end_date", "start_position"]),
        "extras": {},
    }


@pytest.mark.spec("3.output.structured")
@pytest.mark.parametrize("name", TOOLS)
def test_the_text_beside_the_structured_result_is_the_same_json_without_blanks(pipe: Pipe, name: str) -> None:
    result = pipe.ask(request(name, CALLS[name]))["result"]

    [block] = result["content"]
    assert block["text"] == json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))


@pytest.mark.spec("3.output.structured")
@pytest.mark.parametrize("name", TOOLS)
def test_both_eras_of_the_protocol_give_the_same_result(pipe: Pipe, name: str) -> None:
    params = {"name": name, "arguments": CALLS[name]}

    old = pipe.ask(rpc("tools/call", params))["result"]
    new = pipe.ask(rpc("tools/call", params, modern=True))["result"]

    assert {key: new[key] for key in old} == old


# --- what is not asked

MANY = [f"C{number}" for number in range(1251)]
BROKEN: dict[str, tuple[str, dict[str, Any], str]] = {
    "V1 no database": (METADATA, {"db": ""}, "DB is required"),
    "V1 a blank database": (CODE, {"db": " \t", "codes": ["A"]}, "DB is required"),
    "V1 a blank in full width": (METADATA, {"db": "\u3000"}, "DB is required"),
    "V1 a blank code": (CODE, {"db": "CO", "codes": ["A", " "]}, "CODE is required"),
    "V1 a blank layer": (LAYER, {"db": "CO", "frequency": "Q", "layers": [""]}, "LAYER is required"),
    "V2 a database beyond ASCII": (METADATA, {"db": "ＣＯ"}, "ASCII"),
    "V2 a code beyond ASCII, before V3": (CODE, {"db": "CO", "codes": ["é<"]}, "ASCII"),
    "V2 a layer beyond ASCII": (LAYER, {"db": "CO", "frequency": "Q", "layers": ["１"]}, "ASCII"),
    **{f"V3 {sign} in a database": (METADATA, {"db": f"CO{sign}"}, "forbidden character") for sign in "<>!|\\;'\""},
    "V3 a code with its database in front": (CODE, {"db": "IR01", "codes": ["IR01'MADR1Z@D"]}, "forbidden character '"),
    "V3 a forbidden sign in a layer": (
        LAYER,
        {"db": "CO", "frequency": "Q", "layers": ["1;"]},
        "forbidden character ;",
    ),
    "V4 two databases": (METADATA, {"db": "CO,FM08"}, "comma"),
    "V5 two codes in one": (CODE, {"db": "CO", "codes": ["A,B"]}, "comma"),
    "V6 no codes": (CODE, {"db": "CO", "codes": []}, "at least one series code"),
    "V7 1251 codes": (CODE, {"db": "CO", "codes": MANY}, "1250"),
    "V8 no layers": (LAYER, {"db": "CO", "frequency": "Q", "layers": []}, "one to five levels"),
    "V8 six layers": (LAYER, {"db": "CO", "frequency": "Q", "layers": ["1"] * 6}, "takes 1 to 5 levels and has 6"),
    **{
        f"V9 the layer {layer!r}": (LAYER, {"db": "CO", "frequency": "Q", "layers": [layer]}, "positive integer")
        for layer in ("0", "-1", "1.0", "1,1", " 1", "abc", "**", "4294967296")
    },
    "V10 a date with a hyphen": (CODE, {**SPOT, "start_date": "2026-1"}, "numeric"),
    "V10 a date in full width": (CODE, {**SPOT, "end_date": "２０２６０１"}, "numeric"),
    "V11 an empty date": (CODE, {**SPOT, "start_date": ""}, "wrong length"),
    "V11 a day": (CODE, {**SPOT, "end_date": "20261001"}, "wrong length"),
    "V12 the thirteenth month": (CODE, {**SPOT, "start_date": "202613"}, "ends in 13"),
    "V12 month zero": (CODE, {**SPOT, "end_date": "202600"}, "ends in 00"),
    "V13 a month for years": (LAYER, {**DEPOSITS, "frequency": "CY"}, "CY and FY"),
    "V13 the third half of a fiscal year": (LAYER, {**DEPOSITS, "frequency": "FH", "end_date": "202503"}, "CH and FH"),
    "V13 the thirteenth month": (LAYER, {**DEPOSITS, "frequency": "M", "end_date": "202513"}, "M, W and D"),
    "V13 the thirteenth month for weeks": (LAYER, {**DEPOSITS, "frequency": "W", "end_date": "202513"}, "M, W and D"),
    "V13 a year for halves": (LAYER, {**DEPOSITS, "frequency": "FH", "start_date": "2025"}, "CH and FH"),
    "V13 the third half": (LAYER, {**DEPOSITS, "frequency": "CH", "start_date": "202503"}, "CH and FH"),
    "V13 the fifth quarter": (LAYER, {**DEPOSITS, "end_date": "202505"}, "frequency Q"),
    "V13 a day for days": (LAYER, {**DEPOSITS, "frequency": "D", "start_date": "20250101"}, "M, W and D"),
    "V14 before 1850": (CODE, {**SPOT, "start_date": "184912"}, "1850"),
    "V14 after 2050, before V12": (CODE, {**SPOT, "end_date": "205113"}, "2050"),
    "V15 a year and a month": (CODE, {**SPOT, "start_date": "2026"}, "same format"),
    "V16 the end before the start": (CODE, {**SPOT, "start_date": "202611"}, "in order"),
    "V17 position zero": (CODE, {**SPOT, "start_position": 0}, "must be 1 or greater"),
    "V17 position zero under a layer": (LAYER, {**DEPOSITS, "start_position": 0}, "must be 1 or greater"),
    "an unknown frequency": (LAYER, {**DEPOSITS, "frequency": "QUARTERLY"}, "FREQUENCY"),
    "a frequency in mixed case": (LAYER, {**DEPOSITS, "frequency": "cY"}, "FREQUENCY"),
    "an unknown format": (METADATA, {"db": "CO", "format": "xml"}, "FORMAT"),
    "an unknown language": (METADATA, {"db": "CO", "lang": "fr"}, "LANG"),
}


@pytest.mark.spec(
    "3.errors.validation", "3.errors.data", "3.errors.canonical", "3.input.first-rule", "3.input.blank",
    "3.input.ascii", "3.input.forbidden", "3.input.db-comma", "3.input.code-comma", "3.input.codes-empty",
    "3.input.codes-1250", "3.input.layers-count", "3.input.layer-number", "3.input.date-digits",
    "3.input.date-length", "3.input.date-suffix", "3.input.date-by-frequency", "3.input.year",
    "3.input.same-format", "3.input.order", "3.input.position",
)  # fmt: skip
@pytest.mark.parametrize("row", BROKEN)
def test_what_breaks_a_rule_is_told_and_not_sent(bank: BojHarness, pipe: Pipe, row: str) -> None:
    name, arguments, word = BROKEN[row]

    error = failure(pipe, name, **arguments)

    assert error["code"] == -32602
    assert error["data"] == {
        "canonical_code": "INVALID_INPUT",
        "error_type": "VALIDATION_ERROR",
        "message": error["message"],
    }
    assert word in error["message"]
    assert bank.targets() == []


@pytest.mark.spec("3.input.first-rule")
def test_each_of_the_17_rules_is_broken_once() -> None:
    assert {row.split()[0] for row in BROKEN if row.startswith("V")} == {f"V{number}" for number in range(1, 18)}


@pytest.mark.spec("3.input.first-rule")
def test_of_several_broken_rules_the_first_in_their_order_is_told(bank: BojHarness, pipe: Pipe) -> None:
    """Each fault is mended in turn; what is wrong last is told last."""
    wrong = {"db": "", "codes": [], "start_date": "x", "end_date": "y", "start_position": 0}
    mended: dict[str, Any] = {"db": "CO", "codes": [DI], "start_date": "202402", "end_date": "202401"}

    first = [failure(pipe, CODE, **wrong)["message"].split()[0]]
    for name, value in mended.items():
        wrong[name] = value
        first.append(failure(pipe, CODE, **wrong)["message"].split()[0])
    wrong["end_date"] = "202402"
    first.append(failure(pipe, CODE, **wrong)["message"].split()[0])

    assert first == ["DB", "CODE", "STARTDATE", "ENDDATE", "STARTDATE", "STARTPOSITION"]
    assert bank.targets() == []


BREACHES: dict[str, tuple[str, dict[str, Any], str]] = {
    "no database": (METADATA, {}, "db"),
    "a database that is null": (METADATA, {"db": None}, "db"),
    "a number as database": (METADATA, {"db": 1}, "db"),
    "no codes": (CODE, {"db": "CO"}, "codes"),
    "codes in one text": (CODE, {"db": "CO", "codes": "A,B"}, "codes"),
    "a number among the codes": (CODE, {"db": "CO", "codes": ["A", 1]}, "codes"),
    "no frequency": (LAYER, {"db": "CO", "layers": ["1"]}, "frequency"),
    "no layers": (LAYER, {"db": "CO", "frequency": "Q"}, "layers"),
    "a number as layer": (LAYER, {"db": "CO", "frequency": "Q", "layers": [1]}, "layers"),
    "a number as date": (CODE, {**SPOT, "start_date": 202401}, "start_date"),
    "a text as position": (CODE, {**SPOT, "start_position": "1"}, "start_position"),
    "half a position": (CODE, {**SPOT, "start_position": 1.5}, "start_position"),
    "a position below zero": (CODE, {**SPOT, "start_position": -1}, "start_position"),
    "a position beyond 32 bits": (CODE, {**SPOT, "start_position": 4_294_967_296}, "start_position"),
    "a text as a switch": (CODE, {**SPOT, "include_raw": "yes"}, "include_raw"),
    "a number as a switch": (METADATA, {"db": "CO", "include_raw": 1}, "include_raw"),
    "a format that is no text": (METADATA, {"db": "CO", "format": ["json"]}, "format"),
    "a near miss of an argument": (METADATA, {"db": "CO", "lagn": "en"}, "'lagn': did you mean 'lang'?"),
    "an argument in another spelling": (
        CODE,
        {"db": "CO", "codes": ["A"], "startDate": "202401"},
        "'startDate': did you mean 'start_date'?",
    ),
}


@pytest.mark.spec("3.errors.validation", "3.errors.schema", "3.errors.canonical", "3.input.first-rule")
@pytest.mark.parametrize("row", BREACHES)
def test_what_breaks_the_contract_is_told_like_a_broken_rule(bank: BojHarness, pipe: Pipe, row: str) -> None:
    name, arguments, word = BREACHES[row]

    error = failure(pipe, name, **arguments)

    assert error["code"] == -32602
    assert error["data"] == {
        "canonical_code": "INVALID_INPUT",
        "error_type": "VALIDATION_ERROR",
        "message": error["message"],
    }
    assert word in error["message"]
    assert bank.targets() == []


IGNORED: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "a name that n8n adds": (METADATA, {**CALL_RATE, "toolCallId": "call_1"}, ["toolCallId"]),
    "all that n8n adds": (
        CODE,
        {**SPOT, "sessionId": "s", "action": "sendMessage", "chatInput": "yen?", "toolCallId": "call_1"},
        ["sessionId", "action", "chatInput", "toolCallId"],
    ),
    "layers for codes": (CODE, {**SPOT, "layers": ["1"]}, ["layers"]),
    "a span for a list": (METADATA, {**CALL_RATE, "start_date": "202401"}, ["start_date"]),
    "a null": (METADATA, {**CALL_RATE, "session": None}, ["session"]),
}


@pytest.mark.spec("3.input.unknown")
@pytest.mark.parametrize("row", IGNORED)
def test_an_argument_that_no_tool_knows_is_ignored_and_named(bank: BojHarness, pipe: Pipe, row: str) -> None:
    name, arguments, ignored = IGNORED[row]

    result = pipe.ask(rpc("tools/call", {"name": name, "arguments": arguments}))["result"]

    assert (result["isError"], result["_meta"]) == (False, {"ignored_arguments": ignored})
    assert len(bank.targets()) == 1


@pytest.mark.spec("3.input.unknown")
def test_where_nothing_is_ignored_nothing_is_said_of_it(bank: BojHarness, pipe: Pipe) -> None:
    result = pipe.ask(rpc("tools/call", {"name": METADATA, "arguments": {**CALL_RATE, "format": None}}))["result"]

    assert set(result) == {"content", "structuredContent", "isError"}
    assert len(bank.targets()) == 1


@pytest.mark.spec("3.errors.schema")
@pytest.mark.parametrize("name", TOOLS)
def test_a_call_without_arguments_breaks_the_contract(bank: BojHarness, pipe: Pipe, name: str) -> None:
    error = error_of(pipe.ask(rpc("tools/call", {"name": name})))

    assert kind_of(error) == VALIDATION
    assert bank.targets() == []


# --- what the Bank refuses

REMEDIES = {
    "M181001E": "full-width", "M181002E": "lang", "M181003E": "format", "M181004E": "db", "M181005E": "50 databases",
    "M181006E": "codes", "M181007E": "1,250", "M181008E": "start_date", "M181009E": "end_date", "M181010E": "1850",
    "M181011E": "start_date and end_date", "M181012E": "next_position", "M181013E": "boj_get_metadata",
    "M181014E": "one frequency", "M181015E": "start_date", "M181016E": "end_date", "M181017E": "frequency",
    "M181018E": "frequency", "M181019E": "layers", "M181020E": "layers", "M181090S": "ask again",
    "M181091S": "ask again",
}  # fmt: skip
"""A word that tells what to do about each of the Bank's refusals."""


@pytest.mark.spec("3.errors.hint")
def test_all_of_the_banks_24_messages_are_tried_here() -> None:
    assert {*REMEDIES, "M181000I", "M181030I"} == set(MANUAL)
    assert len(MANUAL) == 24


@pytest.mark.spec("3.errors.api-400", "3.errors.api-other", "3.errors.data", "3.errors.hint", "3.errors.canonical")
@pytest.mark.parametrize("http_status", ["the same", "200"])
@pytest.mark.parametrize("message_id", REMEDIES)
def test_a_refusal_of_the_banks_is_passed_on_with_a_remedy(
    bank: BojHarness, pipe: Pipe, message_id: str, http_status: str
) -> None:
    status, japanese, printed = MANUAL[message_id]
    text = japanese.format(n=1)
    bank.refuses(message_id, status=200 if http_status == "200" else status)

    error = failure(pipe, CODE, **SPOT)

    hint, meaning = error["data"].pop("hint"), error["data"].pop("meaning")
    assert error["code"] == (-32602 if status == 400 else -32603)
    assert error["data"] == {
        "canonical_code": "INVALID_INPUT" if status == 400 else "INTERNAL_ERROR",
        "error_type": "API_ERROR",
        "status": status,
        "message_id": message_id,
        "message": text,
    }
    assert REMEDIES[message_id] in hint
    assert meaning == printed
    assert error["message"].endswith(f"{text} ({printed}). {hint}")
    assert message_id in error["message"]


REFUSALS: dict[str, tuple[str, dict[str, Any], str, int]] = {
    "an unknown database": (METADATA, {"db": "NONE"}, "M181005E", 0),
    "an unknown code": (CODE, {"db": "CO", "codes": [DI, "NONE"]}, "M181013E", 2),
    "codes of two frequencies": (CODE, {"db": "IR01", "codes": ["MADR1Z@D", "MADR1M"]}, "M181014E", 2),
    "a start of another frequency": (CODE, {"db": "CO", "codes": [DI], "start_date": "202405"}, "M181015E", 0),
    "an end of another frequency": (CODE, {"db": "CO", "codes": [DI], "end_date": "2024"}, "M181016E", 0),
    "too many series under a layer": (LAYER, {"db": "CO", "frequency": "Q", "layers": ["*"]}, "M181007E", 0),
    "trouble at the Bank": (METADATA, {"db": "FAIL500"}, "M181090S", 0),
    "trouble with its database": (METADATA, {"db": "FAIL503"}, "M181091S", 0),
}
"""Questions that only the Bank can find wrong; the number of the code that its message names."""


@pytest.mark.spec("3.errors.api-400", "3.errors.api-other", "3.errors.data")
@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("lang", ["jp", "en"])
@pytest.mark.parametrize("row", REFUSALS)
def test_what_only_the_bank_can_find_wrong_is_told_in_its_words(pipe: Pipe, row: str, lang: str, form: str) -> None:
    name, arguments, message_id, place = REFUSALS[row]

    error = failure(pipe, name, **arguments, lang=lang, format=form)

    data = error["data"]
    status = MANUAL[message_id][0]
    assert kind_of(error) == (REFUSED if status == 400 else FAILED)
    assert (data["status"], data["message_id"], data["message"]) == (
        status,
        message_id,
        text_of(message_id, lang, place),
    )


@pytest.mark.spec("3.errors.hint", "3.errors.data")
@pytest.mark.parametrize("message_id", ["M189999E", ""])
def test_a_message_that_nobody_knows_has_no_hint(bank: BojHarness, pipe: Pipe, message_id: str) -> None:
    bank.answers({"STATUS": 400, "MESSAGEID": message_id, "MESSAGE": "new"}, status=400)

    error = failure(pipe, CODE, **SPOT)

    assert error["data"] == {
        "canonical_code": "INVALID_INPUT",
        "error_type": "API_ERROR",
        "status": 400,
        "message_id": message_id,
        "message": "new",
    }


@pytest.mark.spec("3.errors.api-other", "3.errors.data")
@pytest.mark.parametrize("status", [201, 204, 401, 403, 404, 429, 502, 504, 65_535])
def test_any_other_status_of_the_banks_is_an_internal_error(bank: BojHarness, pipe: Pipe, status: int) -> None:
    bank.answers({"STATUS": status, "MESSAGEID": "X", "MESSAGE": "so it is"})

    error = failure(pipe, METADATA, **CALL_RATE)

    assert error["code"] == -32603
    assert error["data"] == {
        "canonical_code": "INTERNAL_ERROR",
        "error_type": "API_ERROR",
        "status": status,
        "message_id": "X",
        "message": "so it is",
    }


@pytest.mark.spec("3.output.tolerant", "3.errors.api-400")
def test_a_refusal_with_nulls_where_its_data_would_be_is_a_refusal(bank: BojHarness, pipe: Pipe) -> None:
    body = {"STATUS": "400", "MESSAGEID": "M181005E", "MESSAGE": "x", "PARAMETER": None, "RESULTSET": None}
    bank.answers(body)

    assert kind_of(failure(pipe, METADATA, **CALL_RATE)) == REFUSED


# --- what nobody can read


def row_of(**changes: Any) -> list[dict[str, Any]]:
    row = {"SERIES_CODE": "A", "VALUES": {"SURVEY_DATES": [202401], "VALUES": [1]}, **changes}
    return [{key: value for key, value in row.items() if value is not Ellipsis}]


UNREADABLE: dict[str, Any] = {
    "no status": told(STATUS=...),
    "a status that is no number": told(STATUS="fine"),
    "a status beyond 16 bits": told(STATUS=65_536),
    "an array": [],
    "series that are none": told(RESULTSET={}),
    "series that are null": told(RESULTSET=None),
    "a series that is none": told(RESULTSET=[1]),
    "a series without a code": told(RESULTSET=row_of(SERIES_CODE=" ")),
    "a series without values": told(RESULTSET=row_of(VALUES=...)),
    "fewer values than dates": told(RESULTSET=row_of(VALUES={"SURVEY_DATES": [202401, 202402], "VALUES": [1]})),
    "a date that is null": told(RESULTSET=row_of(VALUES={"SURVEY_DATES": [None], "VALUES": [1]})),
    "a value in a value": told(RESULTSET=row_of(VALUES={"SURVEY_DATES": [202401], "VALUES": [[1]]})),
    "values without dates": told(RESULTSET=row_of(VALUES={"VALUES": [1]})),
    "a next position that is none": told(NEXTPOSITION="next"),
    "a parameter that is none": told(PARAMETER=[]),
    "a layer that is none": told(PARAMETER={"LAYER1": "x"}),
    "an old shape": {"STATISTICS_DATA": {"RESULT": {"STATUS": "0"}}},
}


@pytest.mark.spec("3.errors.decode", "3.errors.data", "3.errors.canonical")
@pytest.mark.parametrize("row", UNREADABLE)
def test_an_answer_that_nobody_can_read_is_told_as_such(bank: BojHarness, pipe: Pipe, row: str) -> None:
    bank.answers(UNREADABLE[row])

    error = failure(pipe, LAYER, **DEPOSITS)

    assert error["code"] == -32603
    assert set(error["data"]) == {"canonical_code", "error_type", "message"}
    assert error["data"]["error_type"] == "DECODE_ERROR"
    assert error["message"].endswith(error["data"]["message"])


@pytest.mark.spec("3.errors.decode")
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("fault", ["not_json", "empty", "invalid_utf8"])
def test_a_body_that_is_none_is_told_as_such(bank: BojHarness, pipe: Pipe, name: str, fault: str) -> None:
    bank.order(fault)

    assert kind_of(failure(pipe, name, **CALLS[name])) == DECODE


@pytest.mark.spec("3.errors.decode")
@pytest.mark.parametrize(
    "body",
    [
        "STATUS,fine\r\n",
        "plain words\r\n",
        "SERIES_CODE,SURVEY_DATES\r\nA,202401\r\n",
        "STATUS,200\r\nNEXTPOSITION,x\r\n",
    ],
)
def test_a_table_that_is_none_is_told_as_such(bank: BojHarness, pipe: Pipe, body: str) -> None:
    bank.order("answer", body=body, type="text/csv")

    assert kind_of(failure(pipe, CODE, **SPOT)) == DECODE


@pytest.mark.spec("3.errors.decode")
def test_what_is_not_the_gzip_that_it_claims_to_be_is_told_as_such(bank: BojHarness, pipe: Pipe) -> None:
    bank.order("answer", body="this is not gzip", headers={"content-encoding": "gzip"})

    assert kind_of(failure(pipe, CODE, **SPOT)) == DECODE


@pytest.mark.spec("3.errors.transport", "3.errors.data", "3.errors.canonical")
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("fault", ["close", "reset", "cut", "cut_chunked", "garbage", "redirect_loop", "html"])
def test_when_no_answer_of_the_banks_came_back_that_is_told(
    bank: BojHarness, pipe: Pipe, name: str, fault: str
) -> None:
    bank.order(fault)

    error = failure(pipe, name, **CALLS[name])

    assert error["code"] == -32603
    assert set(error["data"]) == {"canonical_code", "error_type", "message"}
    assert error["data"]["error_type"] == "TRANSPORT_ERROR"
    assert error["message"].endswith(error["data"]["message"])


@pytest.mark.spec("3.errors.transport")
def test_a_bank_that_is_not_there_is_told() -> None:
    with boj_sandbox() as gone:
        pass

    with serving_boj(gone.url, "--retry-backoff-ms", "0") as pipe:
        assert kind_of(failure(pipe, METADATA, **CALL_RATE)) == TRANSPORT


@pytest.mark.spec("3.errors.transport", "3.errors.data")
def test_a_call_that_outlasts_the_time_of_all_calls_has_an_error_type_too(bank: BojHarness) -> None:
    bank.order("hang")

    with serving_boj(bank.url, env={"SIGNET_CALL_TIMEOUT_S": "0.3"}) as pipe:
        error = pipe.ask(request(METADATA, CALL_RATE))["error"]

    assert error["code"] == -32603
    assert set(error["data"]) == {"canonical_code", "error_type", "message"}


@pytest.mark.spec("3.errors.transport", "3.errors.decode", "3.errors.api-other")
def test_the_next_call_after_each_fault_is_served(bank: BojHarness) -> None:
    faults = ["close", "reset", "cut", "cut_chunked", "garbage", "redirect_loop", "html", "not_json", "empty", "status"]

    with serving_boj(bank.url, "--retry-max", "0") as pipe:
        for fault in faults:
            bank.order(fault, times=1)

            failure(pipe, CODE, **SPOT)
            assert call(pipe, CODE, **SPOT)["meta"]["date"] == DATE, fault


@pytest.mark.spec("3.errors.data")
def test_errors_name_no_place_in_the_program(bank: BojHarness, pipe: Pipe) -> None:
    said = []
    for fault in ("close", "cut", "garbage", "not_json", "html", "invalid_utf8"):
        bank.clear()
        bank.order(fault)
        said.append(json.dumps(pipe.ask(request(CODE, SPOT))))

    assert [text for text in said if "Traceback" in text or ".py" in text or "Error:" in text] == []


@pytest.mark.spec("3.request.exact")
def test_the_calls_of_these_tests_ask_for_what_they_say(bank: BojHarness, pipe: Pipe) -> None:
    for name, arguments in CALLS.items():
        call(pipe, name, **arguments)

    assert bank.targets() == list(TARGETS.values())
