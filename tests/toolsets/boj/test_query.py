"""What may be asked of the Bank of Japan: every rule, their order, and the request byte for byte."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from signet.app import SCHEMA_ROOT
from signet.kernel.errors import Fault
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.upstream import UpstreamRequest
from signet.toolsets.boj.query import (
    DataCodeIn,
    DataLayerIn,
    MetadataIn,
    check,
    request_of,
)

REGISTRY = SchemaRegistry(schema_root=SCHEMA_ROOT)
TOOLS = {"boj.get_data_code": DataCodeIn, "boj.get_data_layer": DataLayerIn, "boj.get_metadata": MetadataIn}
CODE = DataCodeIn("CO", ("TK99F1000601GCQ01000",))
LAYER = DataLayerIn("BP01", "M", ("1", "1", "1"))
METADATA = MetadataIn("FM08")
FORBIDDEN = "<>!|\\;'\""


def asked(args: Any) -> UpstreamRequest:
    """Return the request of a query, after its check."""
    return request_of(check(args))


def outcome(args: Any) -> UpstreamRequest | Fault:
    """Return the request of a query, or its fault."""
    try:
        return asked(args)
    except Fault as fault:
        return fault


def refusal(args: Any) -> str:
    """Return the message of a refused query, after a check that it is a VALIDATION_ERROR with that text."""
    fault = outcome(args)
    assert isinstance(fault, Fault)
    assert (fault.code, fault.as_tool_result, fault.mcp_code) == ("INVALID_INPUT", True, -32602)
    assert fault.data == {"error_type": "VALIDATION_ERROR", "message": fault.message}
    return fault.message


@pytest.mark.spec("3.input.blank")
@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u3000", "\u00a0\u2003"])
def test_a_blank_value_counts_as_missing(blank: str) -> None:
    refusals = [
        refusal(structs.replace(METADATA, db=blank)),
        refusal(structs.replace(CODE, codes=("A", blank))),
        refusal(structs.replace(LAYER, layers=(blank,))),
    ]

    assert refusals == [f"{name} is required and must not be blank" for name in ("DB", "CODE", "LAYER")]


@pytest.mark.spec("3.input.ascii")
@pytest.mark.parametrize("value", ["\uff23\uff2f", "é<", "CO\u3000"])
def test_a_value_must_be_ascii_and_this_is_told_before_what_is_forbidden(value: str) -> None:
    refusals = [
        refusal(structs.replace(METADATA, db=value)),
        refusal(structs.replace(CODE, codes=(value,))),
        refusal(structs.replace(LAYER, layers=(value,))),
    ]

    said = f"'{value}' must be ASCII: half-width letters, digits and signs only"
    assert refusals == [f"{name} {said}" for name in ("DB", "CODE", "LAYER")]


@pytest.mark.spec("3.input.forbidden")
@pytest.mark.parametrize("char", FORBIDDEN)
def test_eight_characters_are_forbidden(char: str) -> None:
    value = f"IR01{char}MADR1Z@D"

    refusals = [
        refusal(structs.replace(METADATA, db=value)),
        refusal(structs.replace(CODE, codes=("A", value))),
        refusal(structs.replace(LAYER, layers=("1", value))),
    ]

    assert refusals == [f"{name} '{value}' has the forbidden character {char}" for name in ("DB", "CODE", "LAYER")]


@pytest.mark.spec("3.input.db-comma")
@pytest.mark.parametrize("args", [CODE, LAYER, METADATA])
def test_a_database_with_a_comma_is_two(args: Any) -> None:
    told = refusal(structs.replace(args, db="CO,FF"))

    assert told == "DB 'CO,FF' has a comma in it: name one database at a time"


@pytest.mark.spec("3.input.code-comma")
def test_a_code_with_a_comma_is_two() -> None:
    told = refusal(structs.replace(CODE, codes=("A", "B,C")))

    assert told == "CODE 'B,C' has a comma in it: give each series code as an item of its own"


@pytest.mark.spec("3.input.codes-empty")
def test_no_code_at_all_is_refused() -> None:
    told = refusal(structs.replace(CODE, codes=()))

    assert told == "CODE is required: give at least one series code"


@pytest.mark.spec("3.input.codes-1250")
def test_1250_codes_may_be_asked_for_and_1251_may_not() -> None:
    codes = tuple(f"C{number}" for number in range(1251))

    most = asked(structs.replace(CODE, codes=codes[:1250]))
    told = refusal(structs.replace(CODE, codes=codes))

    assert most.target.count("%2C") == 1249
    assert told == "CODE takes at most 1250 series codes and has 1251"


@pytest.mark.spec("3.input.layers-count")
def test_there_are_one_to_five_layers() -> None:
    none, six = structs.replace(LAYER, layers=()), structs.replace(LAYER, layers=("1",) * 6)

    assert refusal(none) == 'LAYER is required: give one to five levels, or "*" for all'
    assert refusal(six) == "LAYER takes 1 to 5 levels and has 6"
    assert "layer=1%2C1%2C1%2C1%2C1&" in asked(structs.replace(six, layers=("1",) * 5, start_date="202401")).target


@pytest.mark.spec("3.input.layer-number")
@pytest.mark.parametrize(
    "layer",
    ["0", "-1", "-0", "1.0", "1,1", " 1", "1 ", "abc", "**", "+", "++1", "1_0", "4294967296", "9" * 5000, "000"],
)
def test_a_layer_is_a_star_or_a_positive_integer_of_32_bits(layer: str) -> None:
    told = refusal(structs.replace(LAYER, layers=("1", layer)))

    shown = layer if len(layer) <= 50 else layer[:50] + "…"
    assert told == f"LAYER '{shown}' must be * or a positive integer"


@pytest.mark.spec("3.input.date-digits")
@pytest.mark.parametrize("date", ["2024-01", "\uff12\uff10\uff12\uff14", "abcd", "2024 1", "+20241"])
@pytest.mark.parametrize("args", [CODE, LAYER])
def test_a_date_is_written_in_digits(args: Any, date: str) -> None:
    told = refusal(structs.replace(args, start_date=date))

    assert told == f"STARTDATE '{date}' must be numeric: the date is written in digits only"


@pytest.mark.spec("3.input.date-length")
@pytest.mark.parametrize("date", ["", "2", "20241", "20240101"])
def test_a_date_for_codes_has_four_or_six_digits(date: str) -> None:
    told = refusal(structs.replace(CODE, end_date=date))

    shape = "YYYY, or YYYY and two digits from 01 to 12 for the half, quarter or month"
    assert told == f"ENDDATE '{date}' has the wrong length: the date is written {shape}"


@pytest.mark.spec("3.input.date-suffix")
@pytest.mark.parametrize(("date", "keeps"), [("202400", False), ("202401", True), ("202412", True), ("202413", False)])
def test_what_follows_the_year_for_codes_is_01_to_12(date: str, keeps: bool) -> None:
    args = structs.replace(CODE, start_date=date)

    if keeps:
        assert f"startDate={date}&" in asked(args).target
    else:
        assert refusal(args).startswith(f"STARTDATE {date} ends in {date[4:]}: the date is written YYYY")


@pytest.mark.spec("3.input.date-by-frequency")
@pytest.mark.parametrize(
    ("frequencies", "good", "bad"),
    [
        ("CY FY", ["1850", "2050"], ["202401", "20240101", ""]),
        ("CH FH", ["202401", "202402"], ["2024", "202400", "202403", "20240101"]),
        ("Q", ["202401", "202404"], ["2024", "202400", "202405", "20240101"]),
        ("M W D", ["202401", "202412"], ["2024", "202400", "202413", "20240101"]),
    ],
)
def test_a_date_for_layers_is_written_as_its_frequency_wants_it(
    frequencies: str, good: list[str], bad: list[str]
) -> None:
    for frequency in frequencies.split():
        args = structs.replace(LAYER, frequency=frequency)

        assert all(f"startDate={date}" in asked(structs.replace(args, start_date=date)).target for date in good)
        assert all(frequency in refusal(structs.replace(args, end_date=date)).split("frequenc")[1] for date in bad)


@pytest.mark.spec("3.input.year")
@pytest.mark.parametrize("date", ["1849", "2051", "184913", "000000", "205199"])
def test_a_year_is_1850_to_2050_and_is_told_before_what_follows_it(date: str) -> None:
    told = refusal(structs.replace(CODE, start_date=date))

    assert told == f"STARTDATE {date} has a year outside 1850 to 2050"


@pytest.mark.spec("3.input.same-format")
def test_both_dates_are_written_alike() -> None:
    told = refusal(structs.replace(CODE, start_date="2024", end_date="202401"))

    assert told == "STARTDATE 2024 and ENDDATE 202401 must have the same format"


@pytest.mark.spec("3.input.order")
@pytest.mark.parametrize("args", [CODE, LAYER])
def test_the_start_comes_before_the_end_or_with_it(args: Any) -> None:
    backwards = structs.replace(args, start_date="202402", end_date="202401")

    told = refusal(backwards)
    same = asked(structs.replace(backwards, end_date="202402"))

    assert told == "STARTDATE 202402 comes after ENDDATE 202401: give them in order"
    assert "startDate=202402&endDate=202402" in same.target


@pytest.mark.spec("3.input.position")
@pytest.mark.parametrize("args", [CODE, LAYER])
def test_a_position_starts_at_one(args: Any) -> None:
    told = refusal(structs.replace(args, start_position=0))
    last = asked(structs.replace(args, start_position=4_294_967_295))

    assert told == "STARTPOSITION must be 1 or greater"
    assert last.target.endswith("&startPosition=4294967295")


@pytest.mark.spec("3.input.cases")
@pytest.mark.parametrize("change", [str.upper, str.lower, str.title])
def test_choices_may_be_written_in_upper_lower_or_title_case(change: Any) -> None:
    args = DataLayerIn("bp01", change("FY"), ("*",), change("csv"), change("en"))

    target = asked(args).target

    assert target == "/api/v1/getDataLayer?format=csv&lang=en&db=BP01&frequency=FY&layer=%2A"


@pytest.mark.spec("3.input.cases")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"frequency": "cY"}, "FREQUENCY must be one of CY, FY, CH, FH, Q, M, W, D, not 'cY'"),
        ({"frequency": "MONTHLY"}, "FREQUENCY must be one of CY, FY, CH, FH, Q, M, W, D, not 'MONTHLY'"),
        ({"format": "xml"}, "FORMAT must be one of json, csv, not 'xml'"),
        ({"format": ""}, "FORMAT must be one of json, csv, not ''"),
        ({"lang": "ja"}, "LANG must be one of jp, en, not 'ja'"),
    ],
)
def test_another_choice_is_refused_with_those_there_are(change: dict[str, str], told: str) -> None:
    assert refusal(structs.replace(LAYER, **change)) == told


@pytest.mark.spec("3.input.first-rule")
def test_of_many_broken_rules_for_codes_the_first_is_told() -> None:
    args = DataCodeIn("", (), "xml", "ja", "2024-01", "1", 0)
    mended: list[dict[str, Any]] = [
        {"format": "json"},
        {"lang": "jp"},
        {"db": "é"},
        {"db": "a<"},
        {"db": "a,b"},
        {"db": "CO"},
        {"codes": ("A",) * 1251},
        {"codes": ("", "é")},
        {"codes": ("é",)},
        {"codes": ("<", ",")},
        {"codes": ("A,B",)},
        {"codes": ("A",)},
        {"start_date": "2"},
        {"start_date": "184900"},
        {"start_date": "202400"},
        {"start_date": "202402"},
        {"end_date": "2024"},
        {"end_date": "202401"},
        {"end_date": "202402"},
    ]

    told = [refusal(args)]
    for change in mended:
        args = structs.replace(args, **change)
        told.append(refusal(args))

    shown = [re.sub(r"'.*?'|\d{6}", "·", text).split(":")[0] for text in told]
    assert shown == [
        "FORMAT must be one of json, csv, not ·",
        "LANG must be one of jp, en, not ·",
        "DB is required and must not be blank",
        "DB · must be ASCII",
        "DB · has the forbidden character <",
        "DB · has a comma in it",
        "CODE is required",
        "CODE takes at most 1250 series codes and has 1251",
        "CODE is required and must not be blank",
        "CODE · must be ASCII",
        "CODE · has the forbidden character <",
        "CODE · has a comma in it",
        "STARTDATE · must be numeric",
        "STARTDATE · has the wrong length",
        "STARTDATE · has a year outside 1850 to 2050",
        "STARTDATE · ends in 00",
        "ENDDATE · has the wrong length",
        "STARTDATE · and ENDDATE 2024 must have the same format",
        "STARTDATE · comes after ENDDATE ·",
        "STARTPOSITION must be 1 or greater",
    ]


@pytest.mark.spec("3.input.first-rule")
def test_of_many_broken_rules_for_layers_the_first_is_told() -> None:
    args = DataLayerIn("", "X", (), "xml", "ja", "2024-01", "1", 0)
    mended: list[dict[str, Any]] = [
        {"frequency": "Q"},
        {"format": "json"},
        {"lang": "jp"},
        {"db": "CO"},
        {"layers": ("1",) * 6},
        {"layers": ("1", "")},
        {"layers": ("1", "é<")},
        {"layers": ("<",)},
        {"layers": ("0", "<")},
        {"layers": ("1",)},
        {"start_date": "2024"},
        {"start_date": "184905"},
        {"start_date": "202405"},
        {"start_date": "202404"},
        {"end_date": "202403"},
        {"end_date": "202404"},
    ]

    told = [refusal(args)]
    for change in mended:
        args = structs.replace(args, **change)
        told.append(refusal(args))

    names = [text.split()[0] for text in told]
    assert names == [
        *("FREQUENCY", "FORMAT", "LANG", "DB"),
        *("LAYER",) * 6,
        *("STARTDATE",) * 4,
        "ENDDATE",
        "STARTDATE",
        "STARTPOSITION",
    ]
    assert told[4:10] == [
        'LAYER is required: give one to five levels, or "*" for all',
        "LAYER takes 1 to 5 levels and has 6",
        "LAYER is required and must not be blank",
        "LAYER 'é<' must be ASCII: half-width letters, digits and signs only",
        "LAYER '<' has the forbidden character <",
        "LAYER '0' must be * or a positive integer",
    ]


@pytest.mark.spec("3.request.exact")
@pytest.mark.parametrize(
    ("args", "target"),
    [
        (
            DataCodeIn("co", ("TK99F1000601GCQ01000", "TK99F2000601GCQ01000"), "json", "jp", "202401", "202504", 250),
            (
                "/api/v1/getDataCode?format=json&lang=jp&db=CO&startDate=202401&endDate=202504"
                "&code=TK99F1000601GCQ01000%2CTK99F2000601GCQ01000&startPosition=250"
            ),
        ),
        (
            DataLayerIn("BP01", "M", ("1", "1", "1"), "csv", "en", "202504", "202509"),
            (
                "/api/v1/getDataLayer?format=csv&lang=en&db=BP01&frequency=M&layer=1%2C1%2C1"
                "&startDate=202504&endDate=202509"
            ),
        ),
        (
            DataLayerIn("MD10", "q", ("*",), start_position=1),
            "/api/v1/getDataLayer?db=MD10&frequency=Q&layer=%2A&startPosition=1",
        ),
        (MetadataIn("PR01", "csv", "jp"), "/api/v1/getMetadata?format=csv&lang=jp&db=PR01"),
        (MetadataIn("fm08"), "/api/v1/getMetadata?db=FM08"),
        (
            DataCodeIn("UNKNOWN_DB", ("TK99F1000601GCQ01000",)),
            "/api/v1/getDataCode?db=UNKNOWN_DB&code=TK99F1000601GCQ01000",
        ),
        (
            DataCodeIn("ir01", ("MADR1Z@D", "a b/c?d&e=f#g%h+i~j.k-l_m")),
            "/api/v1/getDataCode?db=IR01&code=MADR1Z%40D%2Ca%20b%2Fc%3Fd%26e%3Df%23g%25h%2Bi~j.k-l_m",
        ),
        (
            DataLayerIn("DER", "CH", ("1", "*", "2")),
            "/api/v1/getDataLayer?db=DER&frequency=CH&layer=1%2C%2A%2C2",
        ),
    ],
)
def test_a_request_is_written_byte_for_byte(args: Any, target: str) -> None:
    assert asked(args) == UpstreamRequest(target)


@pytest.mark.spec("3.input.unknown-db")
def test_a_database_that_nobody_knows_is_for_the_bank_to_refuse() -> None:
    assert asked(MetadataIn("nowhere")) == UpstreamRequest("/api/v1/getMetadata?db=NOWHERE")


@pytest.mark.spec("3.input.spelling")
def test_only_the_database_layers_and_choices_are_written_anew() -> None:
    code = check(DataCodeIn(" co ", (" a", "b", "B", "b"), "CSV", "Jp"))
    layer = check(DataLayerIn("bp01", "fh", ("01", "+1", "*", "0007", "4294967295")))

    assert code == DataCodeIn(" CO ", (" a", "b", "B", "b"), "csv", "jp")
    assert layer == DataLayerIn("BP01", "FH", ("1", "1", "*", "7", "4294967295"))
    assert request_of(code) == UpstreamRequest(
        "/api/v1/getDataCode?format=csv&lang=jp&db=%20CO%20&code=%20a%2Cb%2CB%2Cb"
    )


@pytest.mark.spec("3.input.frequency-only-layer")
def test_a_frequency_is_an_argument_for_layers_only_and_required_there() -> None:
    assert {slug: "frequency" in schema_of(slug)["properties"] for slug in TOOLS} == {
        "boj.get_data_code": False,
        "boj.get_data_layer": True,
        "boj.get_metadata": False,
    }
    assert {slug: "frequency" in schema_of(slug)["required"] for slug in TOOLS} == {
        "boj.get_data_code": False,
        "boj.get_data_layer": True,
        "boj.get_metadata": False,
    }


def schema_of(slug: str) -> dict[str, Any]:
    """Read a tool's input contract."""
    decoded: dict[str, Any] = msgspec.json.decode(REGISTRY.load_bundle(slug).input)
    return decoded


@pytest.mark.spec("3.input.include-raw-default", "3.compat.required")
def test_the_contracts_ask_for_no_more_than_they_ever_did_and_raw_is_off() -> None:
    required = {slug: schema_of(slug)["required"] for slug in TOOLS}

    assert required == {
        "boj.get_data_code": ["db", "codes"],
        "boj.get_data_layer": ["db", "frequency", "layers"],
        "boj.get_metadata": ["db"],
    }
    assert [schema_of(slug)["properties"]["include_raw"]["default"] for slug in TOOLS] == [False] * 3
    assert [args.include_raw for args in (CODE, LAYER, METADATA)] == [False] * 3


COMMON = {"db", "format", "lang", "include_raw"}
SPAN = {"start_date", "end_date", "start_position"}
NAMES = {
    "boj.get_data_code": {*COMMON, *SPAN, "codes"},
    "boj.get_data_layer": {*COMMON, *SPAN, "frequency", "layers"},
    "boj.get_metadata": COMMON,
}
"""The arguments of each tool."""


@pytest.mark.spec("3.input.names")
@pytest.mark.parametrize("slug", NAMES)
def test_a_contract_names_every_argument_in_words_and_no_other(slug: str) -> None:
    contract = schema_of(slug)

    assert "additionalProperties" not in contract
    assert set(contract["properties"]) == NAMES[slug]
    assert all(len(part["description"]) > 10 for part in contract["properties"].values())


texts = st.text(max_size=12) | st.text(alphabet="0123456789*+-, ", max_size=7) | st.sampled_from(["CO", "202401", "Q"])
optional = st.none() | texts
positions = st.none() | st.integers(0, 4_294_967_295)
questions = (
    st.builds(DataCodeIn, texts, st.lists(texts, max_size=3).map(tuple), *[optional] * 4, positions, st.booleans())
    | st.builds(DataLayerIn, texts, texts, st.lists(texts, max_size=6).map(tuple), *[optional] * 4, positions)
    | st.builds(MetadataIn, texts, optional, optional)
)
sound_texts = st.text(alphabet=st.characters(max_codepoint=127, exclude_characters=FORBIDDEN + ","), min_size=1).filter(
    lambda text: text.strip("\t\n\v\f\r ") != ""
)
months = st.builds("{:04}{:02}".format, st.integers(1850, 2050), st.integers(1, 12))
spans = st.lists(months, min_size=2, max_size=2).map(sorted)


@pytest.mark.spec("3.input.first-rule")
@given(questions)
def test_any_question_is_refused_or_becomes_a_plain_request(args: Any) -> None:
    came = outcome(args)

    if isinstance(came, Fault):
        assert came.data == {"error_type": "VALIDATION_ERROR", "message": came.message}
    else:
        assert re.fullmatch(r"/api/v1/get(DataCode|DataLayer|Metadata)\?[A-Za-z0-9._~%&=-]+", came.target)


@pytest.mark.spec("3.request.encoding")
@given(sound_texts, st.lists(sound_texts, min_size=1, max_size=5), spans, st.integers(1, 4_294_967_295))
def test_a_request_says_what_was_asked(db: str, codes: list[str], span: list[str], position: int) -> None:
    args = DataCodeIn(db, tuple(codes), None, "en", *span, position)

    said = parse_qsl(urlsplit(asked(args).target).query, keep_blank_values=True, strict_parsing=True)

    assert said == [
        ("lang", "en"),
        ("db", db.upper()),
        ("startDate", span[0]),
        ("endDate", span[1]),
        ("code", ",".join(codes)),
        ("startPosition", str(position)),
    ]


@given(sound_texts, st.lists(st.integers(1, 4_294_967_295).map(str) | st.just("*"), min_size=1, max_size=5), spans)
def test_a_question_that_was_checked_is_left_as_it_is(db: str, layers: list[str], span: list[str]) -> None:
    once = check(DataLayerIn(db, "w", tuple(layers), "Json", "JP", *span))

    assert check(once) == once


printable = st.text(
    alphabet=st.characters(min_codepoint=32, max_codepoint=126, exclude_characters=FORBIDDEN + ","),
    min_size=1,
    max_size=64,
).filter(lambda text: text.strip(" ") != "")
spelt = st.sampled_from(["{}", "+{}", "00{}", "+0{}"])
levels = st.just("*") | st.builds(str.format, spelt, st.integers(1, 4_294_967_295))
cases = st.sampled_from([str.upper, str.lower, str.title])
choices = st.builds(lambda case, word: case(word), cases, st.sampled_from(["json", "csv"]))
languages = st.builds(lambda case, word: case(word), cases, st.sampled_from(["jp", "en"]))
frequencies = st.builds(
    lambda case, word: case(word), cases, st.sampled_from(["CY", "FY", "CH", "FH", "Q", "M", "W", "D"])
)


@given(
    st.fixed_dictionaries(
        {"db": printable, "frequency": frequencies, "layers": st.lists(levels, min_size=1, max_size=5)},
        optional={
            "format": choices,
            "lang": languages,
            "start_date": months,
            "start_position": st.integers(1, 2**32 - 1),
        },
    ),
    st.lists(printable, min_size=1, max_size=5),
)
def test_no_contract_refuses_what_the_rules_let_through(query: dict[str, Any], codes: list[str]) -> None:
    by_code = {"codes": codes, **{name: value for name, value in query.items() if name != "layers"}}

    REGISTRY.load_tool_io("boj.get_data_layer").input_validator.validate(query)
    REGISTRY.load_tool_io("boj.get_data_code").input_validator.validate(by_code)


@pytest.mark.parametrize("many", [1, 250, 1_250])
def test_no_contract_refuses_as_many_codes_as_the_bank_takes(many: int) -> None:
    codes = [f"FXERD{number:04}" for number in range(many)]

    REGISTRY.load_tool_io("boj.get_data_code").input_validator.validate({"db": "FM08", "codes": codes})
