"""The contracts of the Bank of Japan's tools, at their limits: what each argument takes, what each answer holds."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from signet.app import SCHEMA_ROOT
from signet.kernel.schemas import Contract, SchemaRegistry

REGISTRY = SchemaRegistry(schema_root=SCHEMA_ROOT)
LARGEST = 4_294_967_295
"""The largest number of 32 bits, which spec 3's client counts with."""

Rules = dict[str, tuple[list[Any], list[Any]]]
"""By argument: what is taken, and what is refused."""

TEXT: tuple[list[Any], list[Any]] = (
    ["C", "C" * 64, " C D", *(f"A{sign}" for sign in "#$%&()*+-./:=?@[]^_`{}~")],
    ["", " ", "C" * 65, None, "ＣＯ", *(f"A{sign}" for sign in "<>!|\\;'\",\n")],
)
DATE: tuple[list[Any], list[Any]] = (
    ["1850", "2050", "185001", "205012", None],
    ["", "1849", "2051", "202400", "202413", "20241", "2024\n", "202401\n", "20240101"],
)
POSITION: tuple[list[Any], list[Any]] = ([1, LARGEST, None], [0, LARGEST + 1, "1"])
FORMAT: tuple[list[Any], list[Any]] = (["json", "csv", "JSON", "CSV", "Json", "Csv", None], ["xml", "", "jSON"])
LANG: tuple[list[Any], list[Any]] = (["jp", "en", "JP", "EN", "Jp", "En", None], ["ja", "", "eN"])
ANYTHING: tuple[list[Any], list[Any]] = (["", "x" * 65, None, 1, 1.5, True, [], {"a": []}], [])
CODES = ["CY", "FY", "CH", "FH", "Q", "M", "W", "D"]
PERIOD: tuple[list[Any], list[Any]] = (
    [
        "1850",
        "2051",
        " 2024 ",
        "2024-1",
        "2024/12/31",
        "2024 Q4",
        "2024h2",
        "202401",
        "20240131",
        "2024" + " " * 28,
        None,
    ],
    ["", "202", "1849", "2052", "2024Q5", "2024H3", "2024-001", "2024" + " " * 29, "2024" + "\n" * 28],
)

ASKED: dict[str, tuple[dict[str, Any], Rules]] = {
    "boj.get_data_code": (
        {"db": "CO", "codes": ["A"]},
        {
            "db": TEXT,
            "codes": ([["A"] * 1_250, *([one] for one in TEXT[0])], [[], ["A"] * 1_251, *([one] for one in TEXT[1])]),
            "format": FORMAT,
            "lang": LANG,
            "start_date": DATE,
            "end_date": DATE,
            "start_position": POSITION,
            "frequency": ANYTHING,
        },
    ),
    "boj.get_data_layer": (
        {"db": "CO", "frequency": "Q", "layers": ["1"]},
        {
            "db": TEXT,
            "frequency": (
                [*CODES, *(code.lower() for code in CODES), "Cy", "Fy", "Ch", "Fh"],
                ["", "cY", "MONTHLY", None],
            ),
            "layers": (
                [["1"] * 5, ["*"], ["+1"], [str(LARGEST)], ["0" * 63 + "1"]],
                [[], ["1"] * 6, [""], ["0"], ["-1"], ["**"], ["1.0"], [str(LARGEST + 1)], ["0" * 64 + "1"], ["1\n"]],
            ),
            "format": FORMAT,
            "lang": LANG,
            "start_date": DATE,
            "end_date": DATE,
            "start_position": POSITION,
        },
    ),
    "boj.get_metadata": ({"db": "CO"}, {"db": TEXT, "format": FORMAT, "lang": LANG, "frequency": ANYTHING}),
    "boj.get_series": (
        {"codes": ["A"]},
        {
            "codes": (
                [["A"] * 50, ["FM08'FXERD01"], ["IR01:A"], ["IR01/MADR1Z@D"], [" " * 127 + "A"]],
                [[], ["A"] * 51, [""], [" "], ["A'B'C"], ["A B"], ["A,B"], [" " * 128 + "A"]],
            ),
            "db": (["A", "FM08", " " * 63 + "A", None], ["", " ", "FM-08", " " * 64 + "A"]),
            "start": PERIOD,
            "end": PERIOD,
            "base": PERIOD,
            "lang": (["en", "jp", None], ["EN", ""]),
            "units": (
                ["level", "change", "percent_change", "percent_change_year_ago", "index", "log", None],
                ["", "percent"],
            ),
            "frequency": ([*CODES, None], ["", "q"]),
            "method": (["average", "end", "sum", None], ["", "mean"]),
        },
    ),
    "boj.list_databases": ({}, {"query": (["", "x" * 500, None], ["x" * 501])}),
    "boj.search": (
        {"query": "x"},
        {
            "query": (["x", "x" * 500], ["", "x" * 501, None]),
            "db": (["", "x" * 64, None], ["x" * 65]),
            "frequency": ([*CODES, None], ["", "q"]),
            "limit": ([1, 50, None], [0, 51, "1"]),
        },
    ),
}
REQUIRED = {
    "boj.get_data_code": {"db", "codes"},
    "boj.get_data_layer": {"db", "frequency", "layers"},
    "boj.get_metadata": {"db"},
    "boj.get_series": {"codes"},
    "boj.list_databases": set(),
    "boj.search": {"query"},
}

HEAD = {"status": 200, "message_id": "M181000I", "message": "…", "date": None}
SERIES = dict.fromkeys(
    ("name_of_time_series_j", "name_of_time_series", "unit_j", "unit", "frequency", "category_j", "category")
)
SPAN = {"format": None, "lang": None, "db": None, "start_date": None, "end_date": None}
DATA = {
    "meta": HEAD,
    "next_position": 1,
    "series_count": 1,
    "series": [
        {
            "series_code": "A",
            **SERIES,
            "last_update": None,
            "points": [{"survey_date": "202401", "value": None}],
            "extras": {"NEW": "x"},
        }
    ],
}
LAYERS = ("layer1", "layer2", "layer3", "layer4", "layer5")
HIT = {
    **dict.fromkeys(("code", "db", "name", "name_j", "unit", "frequency", "start", "end", "database"), "x"),
    "next": {"tool": "boj_get_series", "arguments": {"codes": ["x"]}},
    "path": ["x"],
    "current": True,
}
GIVEN: dict[str, dict[str, Any]] = {
    "boj.get_data_code": {**DATA, "parameter": {**SPAN, "start_position": 1, "extras": {"NEW": None}}},
    "boj.get_data_layer": {
        **DATA,
        "parameter": {
            **SPAN,
            **dict.fromkeys(LAYERS, "*"),
            "frequency": "M",
            "start_position": 1,
            "extras": {"N": "x"},
        },
    },
    "boj.get_metadata": {
        "meta": HEAD,
        "db": "CO",
        "entries_count": 1,
        "entries": [
            {
                "series_code": None,
                **SERIES,
                **dict.fromkeys(LAYERS, 1),
                **dict.fromkeys(("start_of_the_time_series", "end_of_the_time_series", "last_update")),
                "notes_j": None,
                "notes": None,
                "extras": {"NEW": "x"},
            }
        ],
    },
    "boj.get_series": {
        "series": [
            {
                **dict.fromkeys(("code", "db", "name", "unit", "frequency"), "x"),
                "periods": ["2024"],
                "dates": ["2024-01-01"],
                "values": [None],
                "last_update": None,
            }
        ],
        "units": "level",
        "base": None,
        "method": None,
        "truncated": False,
        "note": "",
        "table": "",
        "citation": {
            **dict.fromkeys(("source", "dataset", "url", "retrieved_at", "sentence"), "x"),
            "series": ["x"],
        },
    },
    "boj.list_databases": {
        "databases": [dict.fromkeys(("code", "name", "name_j", "category", "category_j"), "x")],
        "note": "",
    },
    "boj.search": {
        "hits": [HIT],
        "total": 1,
        "index": {"databases": 1, "series": 1, "built_at": None, "missing": []},
        "matched": "all",
        "closest": [HIT],
        "note": "",
    },
}
"""An answer of each tool, with every member that it always has."""

OPEN = {"extras", "arguments"}
"""Objects whose members are the Bank's, or a tool's."""
COUNT: tuple[list[Any], list[Any]] = ([0, LARGEST], [-1, None])
PLACE: tuple[list[Any], list[Any]] = ([0, LARGEST, None], [-1, LARGEST + 1])
BOUNDS: dict[str, Rules] = {
    "boj.get_data_code": {"next_position": PLACE, "series_count": COUNT, "parameter/start_position": PLACE},
    "boj.get_data_layer": {
        "next_position": PLACE, "series_count": COUNT, "parameter/start_position": PLACE,
        **{f"parameter/{one}": ([0, LARGEST, "*", None], [-1, LARGEST + 1, "1", "", "*1"]) for one in LAYERS},
    },
    "boj.get_metadata": {"entries_count": COUNT, **{f"entries/0/{layer}": PLACE for layer in LAYERS}},
    "boj.get_series": {"units": (ASKED["boj.get_series"][1]["units"][0][:-1], ["x", None]),
                       "method": ASKED["boj.get_series"][1]["method"]},
    "boj.list_databases": {},
    "boj.search": {
        "total": COUNT, "index/databases": COUNT, "index/series": COUNT,
        "matched": (["all", "some", "none"], ["", None]),
        "hits": ([[], [HIT] * 50], [[HIT] * 51]),
    },
}  # fmt: skip


def disagreements(contract: Contract, whole: dict[str, Any], rules: Rules) -> list[tuple[str, Any]]:
    """Return the values that a contract refuses against the rules, or takes."""
    assert contract.is_valid(whole)
    return [
        (path, value)
        for path, (taken, refused) in rules.items()
        for value, is_taken in [*((one, True) for one in taken), *((one, False) for one in refused)]
        if contract.is_valid(put(whole, path, value)) is not is_taken
    ]


def put(whole: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with another value at a place."""
    changed = copy.deepcopy(whole)
    *way, last = path.split("/")
    part: Any = changed
    for name in way:
        part = part[int(name) if isinstance(part, list) else name]
    part[last] = value
    return changed


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Give every object of an answer that has members of its own, with its place."""
    if isinstance(value, dict) and not (path and path[-1] in OPEN):
        yield path, value
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from objects(inner, (*path, name)) if not (path and path[-1] in OPEN) else ()


@pytest.mark.parametrize("slug", ASKED)
def test_each_argument_is_taken_up_to_its_limits(slug: str) -> None:
    whole, rules = ASKED[slug]

    assert disagreements(REGISTRY.load_tool_io(slug).input_validator, whole, rules) == []


@pytest.mark.parametrize("slug", ASKED)
def test_an_argument_that_must_be_there_may_not_be_left_out(slug: str) -> None:
    whole, _ = ASKED[slug]
    contract = REGISTRY.load_tool_io(slug).input_validator

    refused = {name for name in whole if not contract.is_valid({key: whole[key] for key in whole if key != name})}

    assert refused == REQUIRED[slug]


@pytest.mark.parametrize("slug", GIVEN)
def test_numbers_and_choices_of_an_answer_keep_to_their_limits(slug: str) -> None:
    assert disagreements(REGISTRY.load_tool_io(slug).output_validator, GIVEN[slug], BOUNDS[slug]) == []


@pytest.mark.parametrize("slug", GIVEN)
def test_an_answer_has_every_member_and_no_other(slug: str) -> None:
    contract = REGISTRY.load_tool_io(slug).output_validator
    answer = json.loads(json.dumps(GIVEN[slug]))  # no two parts of it are one object
    taken = []
    for path, part in objects(answer):
        for name in list(part):
            value = part.pop(name)
            taken += [(*path, name)] if contract.is_valid(answer) else []
            part[name] = value
        part["another"] = "x"
        taken += [(*path, "another")] if contract.is_valid(answer) else []
        del part["another"]

    assert contract.is_valid(answer)
    assert taken == []


@pytest.mark.parametrize("slug", ["boj.get_data_code", "boj.get_data_layer", "boj.get_metadata"])
def test_the_raw_body_is_a_text_where_there_is_one(slug: str) -> None:
    contract = REGISTRY.load_tool_io(slug).output_validator

    assert contract.is_valid({**GIVEN[slug], "raw": "{}"})
    assert not contract.is_valid({**GIVEN[slug], "raw": None})


@pytest.mark.parametrize("slug", ["boj.get_data_code", "boj.get_data_layer", "boj.get_metadata"])
def test_the_head_of_an_answer_is_that_of_a_success(slug: str) -> None:
    contract = REGISTRY.load_tool_io(slug).output_validator

    assert not contract.is_valid(put(GIVEN[slug], "meta/status", 201))


LENGTHS = {
    "boj.get_data_code": {"db": (1, 64), "codes": (1, 64), "start_date": (None, 6), "end_date": (None, 6)},
    "boj.get_data_layer": {"db": (1, 64), "layers": (1, 64), "start_date": (None, 6), "end_date": (None, 6)},
    "boj.get_metadata": {"db": (1, 64)},
    "boj.get_series": {"codes": (1, 128), "db": (1, 64), "start": (4, 32), "end": (4, 32), "base": (4, 32)},
}


@pytest.mark.parametrize("slug", LENGTHS)
def test_the_lengths_of_a_pattern_are_published_as_numbers_too(slug: str) -> None:
    """A client shows them to people, who read no patterns."""
    published = msgspec.json.decode(REGISTRY.load_bundle(slug).input)["properties"]
    parts = {name: published[name] for name in LENGTHS[slug]}
    texts = {name: part.get("items") or part.get("anyOf", [part])[0] for name, part in parts.items()}

    assert {name: (text.get("minLength"), text.get("maxLength")) for name, text in texts.items()} == LENGTHS[slug]
