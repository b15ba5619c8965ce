"""The sandbox of the Bank of Japan's API: over a real connection it answers as the real API was seen to answer."""

from __future__ import annotations

import csv
import gzip
import http.client
import io
import json
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from itertools import islice
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boj_messages import KNOWN_ENGLISH, order_of
from large_boj_lists import SERIES, GeneratedBytes, with_large_metadata
from processes import PATIENCE_S, Reply
from signet.sandbox import start_in_thread
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.server import Running
from signet.settings.catalogue import find_toolset
from signet.toolsets.boj.sandbox.api import build
from signet.toolsets.boj.sandbox.database import FAILING, RESERVED, SampleCatalogue
from signet.toolsets.boj.sandbox.messages import MESSAGES

NOW = datetime(2026, 2, 19, 11, 45, 38, 677_000, tzinfo=UTC)
DATE = "2026-02-19T20:45:38.677+09:00"
BUILT = "2026-02-19T9:00:06.669+09:00"
DONE = {"STATUS": 200, "MESSAGEID": "M181000I", "MESSAGE": "Successfully completed"}
DONE_J = {"STATUS": 200, "MESSAGEID": "M181000I", "MESSAGE": "正常に終了しました。"}
MB = 1_000_000

CODE, LAYER, METADATA = "getDataCode", "getDataLayer", "getMetadata"
MANNERS = [(format_, lang) for format_ in ("json", "csv") for lang in ("jp", "en")]
DI = "TK99F1000601GCQ01000"
FX_DAILY = [
    *(f"FXERD0{n}" for n in range(1, 8)),
    *(f"FXERD{n}" for n in range(31, 37)),
    "FXERD39",
    *(f"SAMPLE_FXD0{n}" for n in range(1, 9)),
]
DATABASES = [
    "IR01", "IR02", "IR03", "IR04", "FM01", "FM02", "FM03", "FM04", "FM05", "FM06", "FM07", "FM08", "FM09", "PS01",
    "PS02", "MD01", "MD02", "MD03", "MD04", "MD05", "MD06", "MD07", "MD08", "MD09", "MD10", "MD11", "MD12", "MD13",
    "MD14", "LA01", "LA02", "LA03", "LA04", "LA05", "BS01", "BS02", "FF", "OB01", "OB02", "CO", "PR01", "PR02",
    "PR03", "PR04", "PF01", "PF02", "BP01", "BIS", "DER", "OT",
]  # fmt: skip


@pytest.fixture(scope="module")
def bank() -> Iterator[Running]:
    running, stop = host_in_thread(with_large_metadata(build(clock=lambda: NOW)))
    yield running
    stop()


def fetch(bank: Running, target: str, headers: dict[str, str] | None = None, method: str = "GET") -> Reply:
    """Send one request and return the raw response."""
    connection = http.client.HTTPConnection(urlsplit(bank.url).netloc, timeout=PATIENCE_S)
    try:
        connection.request(method, target, headers=headers or {})
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def ask(bank: Running, endpoint: str, **parameters: object) -> Reply:
    """Call an endpoint."""
    return fetch(bank, f"/api/v1/{endpoint}?{urlencode(parameters)}")


def ask_json(bank: Running, endpoint: str, **parameters: object) -> Any:
    """Call an endpoint and return its JSON."""
    return ask(bank, endpoint, format="json", **parameters).json()


def table(reply: Reply, encoding: str = "utf-8") -> list[list[str]]:
    """Return the lines of a CSV response."""
    return list(csv.reader(io.StringIO(reply.body.decode(encoding), newline="")))


def codes_of(answer: Any) -> list[str]:
    return [series["SERIES_CODE"] for series in answer["RESULTSET"]]


def points_of(answer: Any) -> dict[int, Any]:
    """Return the values of the only series by period."""
    (series,) = answer["RESULTSET"]
    return dict(zip(series["VALUES"]["SURVEY_DATES"], series["VALUES"]["VALUES"], strict=True))


# --- bodies that the real API has sent ---------------------------------------------------------


def di(code: str, name: str, dates: list[int], values: list[int | None]) -> dict[str, Any]:
    return {
        "SERIES_CODE": code, "NAME_OF_TIME_SERIES_J": f"D.I./業況/大企業/{name}/実績", "UNIT_J": "%ポイント",
        "FREQUENCY": "QUARTERLY", "CATEGORY_J": "全国短観・判断項目", "LAST_UPDATE": 20251216,
        "VALUES": {"SURVEY_DATES": dates, "VALUES": values},
    }  # fmt: skip


def test_a_code_answer_is_the_banks_byte_for_byte(bank: Running) -> None:
    dates = [202401, 202402, 202403, 202404, 202501, 202502, 202503, 202504]
    parameters = {"format": "json", "lang": "jp", "db": "CO", "startDate": "202401", "endDate": "202504"}
    makers = di(DI, "製造業", dates, [11, 13, 13, 14, 12, 13, 14, 15])
    others = di("TK99F2000601GCQ01000", "非製造業", dates, [34, 33, 34, 33, 35, 34, 34, 34])

    reply = ask(bank, CODE, **parameters, code=f"{DI},TK99F2000601GCQ01000")

    echo = {"FORMAT": "JSON", "LANG": "JP", "DB": "CO", "STARTDATE": "202401", "ENDDATE": "202504", "STARTPOSITION": ""}
    whole = {**DONE_J, "DATE": DATE, "PARAMETER": echo, "NEXTPOSITION": None, "RESULTSET": [makers, others]}
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.body.decode() == json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def test_a_series_without_data_is_listed_with_nulls_and_told_so(bank: Running) -> None:
    answer = ask_json(bank, CODE, lang="jp", db="CO", code=DI, startDate="195001", endDate="195004")

    text = "正常に終了しましたが、該当データはありませんでした。"
    echo = {"FORMAT": "JSON", "LANG": "JP", "DB": "CO", "STARTDATE": "195001", "ENDDATE": "195004", "STARTPOSITION": ""}
    assert answer == {
        "STATUS": 200, "MESSAGEID": "M181030I", "MESSAGE": text, "DATE": DATE, "PARAMETER": echo, "NEXTPOSITION": None,
        "RESULTSET": [di(DI, "製造業", [195001, 195002, 195003, 195004], [None] * 4)],
    }  # fmt: skip


def test_a_wildcard_layer_answer_is_the_banks(bank: Running) -> None:
    answer = ask_json(bank, LAYER, lang="en", db="md10", frequency="q", layer="*", startPosition=1)
    second = ask_json(bank, LAYER, lang="en", db="md10", frequency="q", layer="*", startPosition=255)

    total, demand, current = answer["RESULTSET"][:3]
    name = "Total of All Depositors/Domestically Licensed Banks"
    assert list(answer) == ["STATUS", "MESSAGEID", "MESSAGE", "DATE", "PARAMETER", "NEXTPOSITION", "RESULTSET"]
    assert list(answer["PARAMETER"].items()) == [
        ("FORMAT", "JSON"), ("LANG", "EN"), ("DB", "md10"), ("LAYER1", "*"), ("LAYER2", ""), ("LAYER3", ""),
        ("LAYER4", ""), ("LAYER5", ""), ("FREQUENCY", "q"), ("STARTDATE", ""), ("ENDDATE", ""), ("STARTPOSITION", "1"),
    ]  # fmt: skip
    assert {key: value for key, value in total.items() if key != "VALUES"} == {
        "SERIES_CODE": "DLDDLKY45090_DLDD3DBTTL", "NAME_OF_TIME_SERIES": f"Total Value/Total Value/{name}",
        "UNIT": "100 million yen", "FREQUENCY": "QUARTERLY", "LAST_UPDATE": 20251112,
        "CATEGORY": "Amounts Outstanding of Deposits by Depositor (End of Period) (FH data)",
    }  # fmt: skip
    assert len(total["VALUES"]["VALUES"]) == 223
    assert total["VALUES"]["SURVEY_DATES"][:4] == [197001, 197002, 197003, 197004]
    assert total["VALUES"]["SURVEY_DATES"][-3:] == [202501, 202502, 202503]
    assert total["VALUES"]["VALUES"][:4] == [420297, 0, 450328, 0]
    assert total["VALUES"]["VALUES"][-3:] == [9996571, 0, 10013142]
    assert (demand["SERIES_CODE"], demand["VALUES"]["VALUES"][:4]) == (
        "DLDDLKY45090_DLDD3DBTTL1",
        [177794, 0, 184437, 0],
    )
    assert current["VALUES"]["SURVEY_DATES"][:4] == [200002, 200003, 200004, 200101]
    assert current["VALUES"]["VALUES"][:4] == [194999, 251633, 231933, 266900]
    assert second["RESULTSET"][0]["SERIES_CODE"] == "DLDDLKY45012_DLDD3DB3TL11"
    assert second["RESULTSET"][0]["VALUES"]["SURVEY_DATES"][0] == 199802
    assert second["RESULTSET"][0]["VALUES"]["VALUES"][:4] == [2030, 1971, 2028, 1938]


BP01 = """\
STATUS,200
MESSAGEID,M181000I
MESSAGE,正常に終了しました。
DATE,2026-02-19T20:45:38.677+09:00
PARAMETER,FORMAT,CSV
PARAMETER,LANG,
PARAMETER,DB,BP01
PARAMETER,LAYER1,1
PARAMETER,LAYER2,1
PARAMETER,LAYER3,1
PARAMETER,LAYER4,
PARAMETER,LAYER5,
PARAMETER,FREQUENCY,M
PARAMETER,STARTDATE,202504
PARAMETER,ENDDATE,202509
PARAMETER,STARTPOSITION,
NEXTPOSITION,
SERIES_CODE,NAME_OF_TIME_SERIES_J,UNIT_J,FREQUENCY,CATEGORY_J,LAST_UPDATE,SURVEY_DATES,VALUES
BPBP6JYNCB,経常収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202504,22140.5155
BPBP6JYNCB,経常収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202505,33965.80862
BPBP6JYNCB,経常収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202506,13310.2756
BPBP6JYNCB,経常収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202507,26843.19422
BPBP6JYNCB,経常収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202508,37758.3084
BPBP6JYNCB,経常収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202509,null
BPBP6JYNTS,貿易・サービス収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202504,-7754.330958
BPBP6JYNTS,貿易・サービス収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202505,-3709.980637
BPBP6JYNTS,貿易・サービス収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202506,2831.01933
BPBP6JYNTS,貿易・サービス収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202507,-8849.373046
BPBP6JYNTS,貿易・サービス収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202508,-840.0894788
BPBP6JYNTS,貿易・サービス収支,億円,MONTHLY,国際収支統計（6版基準）,20251008,202509,null
BPBP6JYNTB,貿易収支/ネット,億円,MONTHLY,国際収支統計（6版基準）,20251008,202504,-436.9270793
BPBP6JYNTB,貿易収支/ネット,億円,MONTHLY,国際収支統計（6版基準）,20251008,202505,-5110.572524
"""


def test_a_japanese_csv_answer_is_the_banks_in_its_encoding(bank: Running) -> None:
    parameters = {"db": "BP01", "frequency": "M", "startDate": "202504", "endDate": "202509", "layer": "1,1,1"}

    reply = ask(bank, LAYER, format="csv", **parameters)

    assert reply.headers["content-type"] == "text/csv"
    assert reply.body.startswith(BP01.replace("\n", "\r\n").encode("cp932"))
    lines = table(reply, "cp932")[18:]
    assert len(lines) == 235 * 6
    assert list(dict.fromkeys(line[0] for line in lines))[:5] == [
        "BPBP6JYNCB", "BPBP6JYNTS", "BPBP6JYNTB", "BPBP6JYNEX", "BPBP6JYNIM",
    ]  # fmt: skip


def test_an_english_csv_answer_is_the_banks_with_commas_in_quotes(bank: Running) -> None:
    reply = ask(bank, CODE, format="csv", lang="en", db="FM01", code="STRDCLUCON", startDate="202609", endDate="202609")

    lines = reply.body.decode().split("\r\n")
    start = 'STRDCLUCON,"Call Rate, Uncollateralized Overnight, Average (Daily)",percent per annum,DAILY,Call Rate'
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert lines[:12] == [
        "STATUS,200", "MESSAGEID,M181000I", "MESSAGE,Successfully completed", f"DATE,{DATE}", "PARAMETER,FORMAT,CSV",
        "PARAMETER,LANG,EN", "PARAMETER,DB,FM01", "PARAMETER,STARTDATE,202609", "PARAMETER,ENDDATE,202609",
        "PARAMETER,STARTPOSITION,", "NEXTPOSITION,",
        "SERIES_CODE,NAME_OF_TIME_SERIES,UNIT,FREQUENCY,CATEGORY,LAST_UPDATE,SURVEY_DATES,VALUES",
    ]  # fmt: skip
    assert [line for line in lines if ",2026092" in line][2:5] == [
        f"{start},20261009,20260922,null", f"{start},20261009,20260923,null", f"{start},20261009,20260924,1.227",
    ]  # fmt: skip
    assert len(lines) == 12 + 30 + 1


def test_a_flow_of_funds_answer_is_the_banks(bank: Running) -> None:
    parameters = {"db": "FF", "frequency": "Q", "layer": "1,1,2", "startDate": "202401", "endDate": "202502"}

    answer = ask_json(bank, LAYER, lang="jp", **parameters, startPosition=1)
    lines = table(ask(bank, LAYER, format="csv", **parameters, startPosition=1), "cp932")

    deposits, second = answer["RESULTSET"]
    assert deposits == {
        "SERIES_CODE": "FOF_FFAS110A100", "NAME_OF_TIME_SERIES_J": "資産・現金・預金／中央銀行／ストック",
        "UNIT_J": "億円", "FREQUENCY": "QUARTERLY", "CATEGORY_J": "資金循環（０８ＳＮＡ）", "LAST_UPDATE": 20250918,
        "VALUES": {
            "SURVEY_DATES": [202401, 202402, 202403, 202404, 202501, 202502],
            "VALUES": [32962, 34048, 34101, 36242, 32675, 33702],
        },
    }  # fmt: skip
    assert (second["SERIES_CODE"], second["VALUES"]["VALUES"][:2]) == ("FOF_FFAS110A170", [32962, 34048])
    assert [line[1:] for line in lines if line[0] == "PARAMETER"][3:9] == [
        ["LAYER1", "1"], ["LAYER2", "1"], ["LAYER3", "2"], ["LAYER4", ""], ["LAYER5", ""], ["FREQUENCY", "Q"],
    ]  # fmt: skip


def heading(japanese: str, english: str, first: int) -> dict[str, Any]:
    blank = {"UNIT_J": "", "UNIT": "", "FREQUENCY": "", "CATEGORY_J": "", "CATEGORY": ""}
    layers = {"LAYER1": first, "LAYER2": 0, "LAYER3": 0, "LAYER4": 0, "LAYER5": 0}
    times = {
        "START_OF_THE_TIME_SERIES": "",
        "END_OF_THE_TIME_SERIES": "",
        "LAST_UPDATE": "",
        "NOTES_J": "",
        "NOTES": "",
    }
    names = {"SERIES_CODE": "", "NAME_OF_TIME_SERIES_J": japanese, "NAME_OF_TIME_SERIES": english}
    return {**names, **blank, **layers, **times}


def test_japanese_metadata_are_the_banks_in_both_languages(bank: Running) -> None:
    answer = ask_json(bank, METADATA, db="FM08")

    rows = answer["RESULTSET"]
    by_code = {row["SERIES_CODE"]: row for row in rows if row["SERIES_CODE"]}
    assert {key: value for key, value in answer.items() if key != "RESULTSET"} == {
        **DONE_J,
        "DATE": BUILT,
        "DB": "FM08",
    }
    assert list(answer) == ["STATUS", "MESSAGEID", "MESSAGE", "DATE", "DB", "RESULTSET"]
    assert rows[0] == heading("外国為替相場状況(日次）", "Foreign Exchange Rates (Daily)", 1)
    assert heading("外国為替相場状況 (月次)", "Foreign Exchange Rates (Monthly)", 2) in rows
    assert list(by_code["FXERD01"].items()) == [
        ("SERIES_CODE", "FXERD01"), ("NAME_OF_TIME_SERIES_J", "東京市場　ドル・円　スポット　9時時点"),
        ("NAME_OF_TIME_SERIES", "US.Dollar/Yen Spot Rate at 9:00 in JST, Tokyo Market"), ("UNIT_J", "￥／＄"),
        ("UNIT", "Yen per U.S. Dollar"), ("FREQUENCY", "DAILY"), ("CATEGORY_J", "外国為替市況"),
        ("CATEGORY", "Foreign Exchange Rates"), ("LAYER1", 1), ("LAYER2", 1), ("LAYER3", 0), ("LAYER4", 0),
        ("LAYER5", 0), ("START_OF_THE_TIME_SERIES", "19990101"), ("END_OF_THE_TIME_SERIES", "20261008"),
        ("LAST_UPDATE", "20261009"), ("NOTES_J", ""), ("NOTES", ""),
    ]  # fmt: skip
    average = "US.Dollar/Yen Spot Rate at 17:00 in JST, Average in the Month, Tokyo Market"
    assert by_code["FXERM07"] == {
        "SERIES_CODE": "FXERM07", "NAME_OF_TIME_SERIES_J": "東京市場　ドル・円　スポット　17時時点/月中平均",
        "NAME_OF_TIME_SERIES": average, "UNIT_J": "1ドルにつき円", "UNIT": "Yen per U.S. Dollar",
        "FREQUENCY": "MONTHLY", "CATEGORY_J": "外国為替市況", "CATEGORY": "Foreign Exchange Rates", "LAYER1": 2,
        "LAYER2": 1, "LAYER3": 2, "LAYER4": 0, "LAYER5": 0, "START_OF_THE_TIME_SERIES": "197301",
        "END_OF_THE_TIME_SERIES": "202609", "LAST_UPDATE": "20261002", "NOTES_J": "", "NOTES": "See note(a).",
    }  # fmt: skip
    frequencies = [row["FREQUENCY"] for row in rows]
    assert {name: frequencies.count(name) for name in frequencies} == {"": 4, "DAILY": 22, "MONTHLY": 36}


FM01 = f"""\
STATUS,200
MESSAGEID,M181000I
MESSAGE,Successfully completed
DATE,{BUILT}
DB,FM01
SERIES_CODE,NAME_OF_TIME_SERIES,UNIT,FREQUENCY,CATEGORY,LAYER1,LAYER2,LAYER3,LAYER4,LAYER5,START_OF_THE_TIME_SERIES,\
END_OF_THE_TIME_SERIES,LAST_UPDATE,NOTES
,Uncollateralized Overnight Call Rate (Updated every business day),,,,1,0,0,0,0,,,,
STRDCLUCON,"Call Rate, Uncollateralized Overnight, Average (Daily)",percent per annum,DAILY,Call Rate,1,1,0,0,0,\
19980105,20261008,20261009,
STRDCLUCONH,"Call Rate, Uncollateralized Overnight, Highest (Daily)",percent per annum,DAILY,Call Rate,1,2,0,0,0,\
20050101,20261008,20261009,
STRDCLUCONL,"Call Rate, Uncollateralized Overnight, Lowest (Daily)",percent per annum,DAILY,Call Rate,1,3,0,0,0,\
20050101,20261008,20261009,
STRDCLUCV,Volumes of Uncollateralized Overnight Call Transactions,100 million yen,DAILY,\
Volumes of Uncollateralized Overnight Call Transactions,2,1,0,0,0,20170104,20261008,20261009,
"""


@pytest.mark.parametrize("db", sorted(SampleCatalogue().names))
def test_a_list_names_the_last_period_that_the_data_have(bank: Running, db: str) -> None:
    rows = ask(bank, METADATA, db=db, lang="en").json()["RESULTSET"]
    row = next((row for row in rows if row["SERIES_CODE"]), None)
    if row is None:
        return

    [series] = ask(bank, CODE, db=db, code=row["SERIES_CODE"], lang="en").json()["RESULTSET"]

    assert str(series["VALUES"]["SURVEY_DATES"][-1]) == row["END_OF_THE_TIME_SERIES"]
    assert str(series["LAST_UPDATE"]) == row["LAST_UPDATE"]


def test_english_csv_metadata_are_the_banks(bank: Running) -> None:
    reply = ask(bank, METADATA, format="csv", lang="en", db="FM01")

    assert reply.body.decode() == FM01.replace("\n", "\r\n")


def test_japanese_csv_metadata_have_the_columns_of_both_languages(bank: Running) -> None:
    lines = table(ask(bank, METADATA, format="csv", db="FM08"), "cp932")

    assert lines[5] == [
        "SERIES_CODE", "NAME_OF_TIME_SERIES_J", "NAME_OF_TIME_SERIES", "UNIT_J", "UNIT", "FREQUENCY", "CATEGORY_J",
        "CATEGORY", "LAYER1", "LAYER2", "LAYER3", "LAYER4", "LAYER5", "START_OF_THE_TIME_SERIES",
        "END_OF_THE_TIME_SERIES", "LAST_UPDATE", "NOTES_J", "NOTES",
    ]  # fmt: skip
    assert len(lines) == 6 + 62


def test_values_that_were_seen_are_kept_and_gaps_are_null(bank: Running) -> None:
    spot = points_of(ask_json(bank, CODE, db="FM08", code="FXERD01", startDate="202610", endDate="202610"))
    judged = points_of(ask_json(bank, CODE, lang="en", db="CO", code=DI, startDate="202504", endDate="202603"))

    assert [spot[20261000 + day] for day in range(1, 6)] == [157.56, 157.94, None, None, 157.74]
    assert judged == {202504: 15, 202601: 17, 202602: 22, 202603: 24}


# --- asking ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format_", "lang"), MANNERS)
@pytest.mark.parametrize("endpoint", [CODE, LAYER])
def test_json_and_csv_tell_the_same_in_each_language(bank: Running, endpoint: str, format_: str, lang: str) -> None:
    which = {"code": "MABS1AN11,MABS1AN11@"} if endpoint == CODE else {"frequency": "M", "layer": "1"}
    parameters = {"lang": lang, "db": "MD01", "startDate": "202401", "endDate": "202412", **which}
    suffix = "_J" if lang == "jp" else ""
    columns = ["SERIES_CODE", f"NAME_OF_TIME_SERIES{suffix}", f"UNIT{suffix}", "FREQUENCY", f"CATEGORY{suffix}"]

    reply = ask(bank, endpoint, format=format_, **parameters)

    answer = ask_json(bank, endpoint, **parameters)
    assert [list(series) for series in answer["RESULTSET"]] == [[*columns, "LAST_UPDATE", "VALUES"]] * 2
    if format_ == "json":
        assert reply.json() == answer
        return
    lines = table(reply, "cp932" if lang == "jp" else "utf-8")
    header = next(number for number, line in enumerate(lines) if line[0] == "SERIES_CODE")
    assert lines[header] == [*columns, "LAST_UPDATE", "SURVEY_DATES", "VALUES"]
    assert [line[1:] for line in lines if line[0] == "PARAMETER"] == [
        [name, "CSV" if name == "FORMAT" else value] for name, value in answer["PARAMETER"].items()
    ]
    assert lines[header + 1 :] == [
        [str(series[name]) for name in [*columns, "LAST_UPDATE"]] + [str(date), "null" if value is None else str(value)]
        for series in answer["RESULTSET"]
        for date, value in zip(series["VALUES"]["SURVEY_DATES"], series["VALUES"]["VALUES"], strict=True)
    ]


@pytest.mark.parametrize("db", DATABASES)
def test_each_of_the_fifty_databases_tells_its_rows_and_has_what_they_name(bank: Running, db: str) -> None:
    answers = {manner: ask(bank, METADATA, format=manner[0], lang=manner[1], db=db) for manner in MANNERS}

    rows = answers["json", "jp"].json()["RESULTSET"]
    english = answers["json", "en"].json()["RESULTSET"]
    layers = [tuple(row[f"LAYER{n}"] for n in range(1, 6)) for row in rows]
    codes = [row["SERIES_CODE"] for row in rows if row["SERIES_CODE"]]
    assert english == [{key: value for key, value in row.items() if not key.endswith("_J")} for row in rows]
    for lang, told_rows in (("jp", rows), ("en", english)):
        lines = table(answers["csv", lang], "cp932" if lang == "jp" else "utf-8")
        assert lines[5:] == [list(rows[0] if lang == "jp" else english[0])] + [
            [str(value) for value in row.values()] for row in told_rows
        ]
    assert layers == sorted(set(layers))
    assert len(set(codes)) == len(codes) > 0
    assert rows[0]["SERIES_CODE"] == ""
    first = next(row for row in rows if row["SERIES_CODE"])
    answer = ask_json(bank, CODE, lang="en", db=db, code=first["SERIES_CODE"])
    assert answer["MESSAGEID"] == "M181000I"
    assert str(answer["RESULTSET"][0]["VALUES"]["SURVEY_DATES"][0]) == first["START_OF_THE_TIME_SERIES"]
    assert answer["RESULTSET"][0]["FREQUENCY"] == first["FREQUENCY"]


def test_names_and_values_may_be_in_any_case_and_order_and_are_echoed_as_sent(bank: Running) -> None:
    target = "/api/v1/getDataCode?CODE=tk99f1000601gcq01000&STARTDATE=202401&Db=cO&LANG=En&enddate=202401&FORMAT=jSoN"

    answer = fetch(bank, target).json()

    assert answer["PARAMETER"] == {
        "FORMAT": "JSON", "LANG": "EN", "DB": "cO", "STARTDATE": "202401", "ENDDATE": "202401", "STARTPOSITION": "",
    }  # fmt: skip
    assert codes_of(answer) == [DI]
    assert ask_json(bank, METADATA, db="fm01")["DB"] == "FM01"


@pytest.mark.parametrize(
    "path", ["/api/v1/getdatacode", "/API/v1/getDataCode", "/api/v1/getDbList", "/", "/getMetadata"]
)
def test_a_path_in_another_case_or_of_nothing_is_not_found(bank: Running, path: str) -> None:
    assert fetch(bank, f"{path}?db=FM08").status == 404


def test_only_get_and_head_are_answered(bank: Running) -> None:
    refused = fetch(bank, "/api/v1/getMetadata?db=FM01", method="POST")
    head = fetch(bank, "/api/v1/getMetadata?db=FM01", method="HEAD")

    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")
    assert (head.status, head.body, int(head.headers["content-length"]) > 0) == (200, b"", True)


@pytest.mark.parametrize("accepted", ["gzip", "br, gzip;q=0.5", "GZIP"])
def test_an_answer_is_compressed_for_who_takes_it_so(bank: Running, accepted: str) -> None:
    target = "/api/v1/getDataCode?format=csv&db=LA03&code=SAMPLE_LA03_M1"

    plain, packed = fetch(bank, target), fetch(bank, target, {"accept-encoding": accepted})
    refused = fetch(bank, "/api/v1/getMetadata", {"accept-encoding": accepted})

    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert json.loads(gzip.decompress(refused.body))["MESSAGEID"] == "M181004E"


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0", "gzip; q=0.0, br"])
def test_an_answer_is_plain_for_who_does_not(bank: Running, accepted: str) -> None:
    reply = fetch(bank, "/api/v1/getMetadata?db=FM01", {"accept-encoding": accepted})

    assert "content-encoding" not in reply.headers
    assert reply.json()["DB"] == "FM01"


def test_japanese_csv_holds_letters_that_only_cp932_has(bank: Running) -> None:
    reply = ask(bank, CODE, format="csv", db="LA03", code="SAMPLE_LA03_M1", startDate="202401", endDate="202401")

    assert "①規則による生成値、1～12月、－は該当なし" in reply.body.decode("cp932")
    with pytest.raises(UnicodeDecodeError):
        reply.body.decode("shift_jis")


def test_every_answer_says_that_it_is_a_sample(bank: Running) -> None:
    replies = [ask(bank, METADATA, db="FM01"), ask(bank, METADATA, db="no"), fetch(bank, "/")]

    about = fetch(bank, "/_sandbox").json()

    assert [reply.headers["x-data"] for reply in replies] == ["sample"] * 3
    assert (about["data"], about["plays"]) == ("sample data", "the Bank of Japan's statistics API")
    assert list(about["databases"]) == DATABASES
    assert about["reserved"] == RESERVED


# --- periods -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("db", "code", "period", "dates"),
    [
        ("BP01", "BPBP6KA", ("2020", "2022"), [2020, 2021, 2022]),
        ("LA03", "DLKCK_DLKCTL", ("2023", "2025"), [2023, 2024, 2025]),
        ("DER", "D5101010101501", ("202302", "202401"), [202302, 202401]),
        ("FF", "FOF_FFZ120A298TT", ("202401", "202501"), [202401, 202402, 202501]),
        ("FF", "FOF_FFAS100A100", ("202403", "202501"), [202403, 202404, 202501]),
        ("FM09", "FX180110001", ("202411", "202502"), [202411, 202412, 202501, 202502]),
        ("IR02", "SAMPLE_IR02_W11", ("202402", "202402"), [20240205, 20240212, 20240219, 20240226]),
        ("IR02", "SAMPLE_IR02_W41", ("202402", "202402"), [20240201, 20240208, 20240215, 20240222, 20240229]),
        ("IR01", "MADR1Z@D", ("202402", "202402"), list(range(20240201, 20240230))),
    ],
)
def test_periods_are_written_as_their_frequency_has_them(
    bank: Running, db: str, code: str, period: tuple[str, str], dates: list[int]
) -> None:
    answer = ask_json(bank, CODE, db=db, code=code, startDate=period[0], endDate=period[1])

    assert list(points_of(answer)) == dates


def test_without_dates_a_series_is_told_from_its_start_to_its_end(bank: Running) -> None:
    rate = points_of(ask_json(bank, CODE, db="IR01", code="MADR1Z@D"))

    assert (len(rate), min(rate), max(rate)) == (52_470, 18821011, 20260607)


def test_dates_beyond_a_series_are_told_as_null_and_a_period_of_none_tells_nothing(bank: Running) -> None:
    beyond = points_of(ask_json(bank, CODE, db="BP01", code="BPBP6KA", startDate="1994", endDate="2026"))
    after = ask_json(bank, CODE, db="BP01", code="BPBP6KA", startDate="2030")
    after_csv = table(ask(bank, CODE, format="csv", lang="en", db="BP01", code="BPBP6KA", startDate="2030"))

    assert [year for year, value in beyond.items() if value is None] == [1994, 1995, 2025, 2026]
    assert (after["MESSAGEID"], after["RESULTSET"]) == ("M181030I", [])
    assert after_csv[-1][0] == "SERIES_CODE"


def test_a_zero_is_a_value_and_a_closed_day_is_none(bank: Running) -> None:
    half = points_of(ask_json(bank, CODE, db="MD10", code="SAMPLE_MD10_0004", startDate="202001", endDate="202004"))
    days = points_of(ask_json(bank, CODE, db="FM01", code="STRDCLUCONH", startDate="202601", endDate="202601"))

    assert [value == 0 for value in half.values()] == [False, True, False, True]
    assert None not in half.values()
    closed = [day - 20260100 for day, value in days.items() if value is None]
    assert closed == [1, 2, 3, 4, 10, 11, 17, 18, 24, 25, 31]


def test_a_series_has_gaps_where_its_rule_says(bank: Running) -> None:
    values = points_of(ask_json(bank, CODE, db="LA03", code="SAMPLE_LA03_M1", startDate="202001", endDate="202412"))

    missing = [date for date, value in values.items() if value is None]
    assert missing == [202005, 202210]


# --- layers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "codes"),
    [
        ("*", "ABCDEFGHIJKLM"),
        ("1,1", "ABC"),
        ("1,*,1", "AD"),
        ("2,2,*", "JKLM"),
        ("*,1", "ABCGHI"),
        ("2", "GHIJKLM"),
        ("2,2,2,2,*", "M"),
        ("01,1", "ABC"),
        ("*,*,*,1", "JL"),
        ("3", ""),
    ],
)
def test_a_layer_selects_the_series_of_the_manuals_tree(bank: Running, layer: str, codes: str) -> None:
    answer = ask_json(bank, LAYER, db="TREE", frequency="M", layer=layer)

    assert "".join(codes_of(answer)) == codes
    assert answer["MESSAGEID"] == ("M181000I" if codes else "M181030I")


def test_a_layer_answer_has_only_the_frequency_that_is_asked_for(bank: Running) -> None:
    fiscal = ask_json(bank, LAYER, db="LA03", frequency="fy", layer="*", startDate="2024", endDate="2025")
    weekly = ask_json(bank, LAYER, db="IR02", frequency="W", layer="*", startDate="202402", endDate="202402")
    none = ask_json(bank, LAYER, db="LA03", frequency="D", layer="*")

    assert {series["FREQUENCY"] for series in fiscal["RESULTSET"]} == {"ANNUAL(MAR)"}
    assert {series["FREQUENCY"] for series in weekly["RESULTSET"]} == {"WEEKLY(MONDAY)", "WEEKLY(THURSDAY)"}
    assert (none["MESSAGEID"], none["RESULTSET"]) == ("M181030I", [])


# --- paging ------------------------------------------------------------------------------------


def pages(bank: Running, endpoint: str, **parameters: object) -> Iterator[Any]:
    """Follow the next positions until there is none."""
    position: int | None = 1
    while position is not None:
        answer = ask_json(bank, endpoint, **parameters, startPosition=position)
        yield answer
        position = answer["NEXTPOSITION"]


def test_pages_of_a_layer_go_on_at_rows_of_the_database_headings_counted(bank: Running) -> None:
    answers = list(pages(bank, LAYER, db="MD10", frequency="Q", layer="*"))

    rows = ask_json(bank, METADATA, db="MD10")["RESULTSET"]
    assert [answer["NEXTPOSITION"] for answer in answers] == [255, 507, 759, 1010, None]
    assert [len(answer["RESULTSET"]) for answer in answers] == [250, 250, 250, 250, 214]
    assert [code for answer in answers for code in codes_of(answer)] == [
        row["SERIES_CODE"] for row in rows if row["SERIES_CODE"]
    ]
    for answer in answers[1:]:
        position = int(answer["PARAMETER"]["STARTPOSITION"])
        assert codes_of(answer)[0] == rows[position - 1]["SERIES_CODE"]


def test_a_position_of_one_layer_holds_for_another_of_the_same_database(bank: Running) -> None:
    all_of_it = ask_json(bank, LAYER, db="MD10", frequency="Q", layer="*", startPosition=507)
    part = ask_json(bank, LAYER, db="MD10", frequency="Q", layer="1,5", startPosition=507)

    assert codes_of(part) == codes_of(all_of_it)[:10]


def test_pages_of_codes_go_on_at_places_in_the_list(bank: Running) -> None:
    """The limit of values is reached long before the limit of series."""
    answers = list(pages(bank, CODE, db="FM08", code=",".join(FX_DAILY)))
    by_layer = list(pages(bank, LAYER, db="FM08", frequency="D", layer="1"))

    points = [sum(len(series["VALUES"]["VALUES"]) for series in answer["RESULTSET"]) for answer in answers]
    assert [answer["NEXTPOSITION"] for answer in answers] == [6, 11, None]
    assert [len(answer["RESULTSET"]) for answer in answers] == [5, 5, 12]
    assert [code for answer in answers for code in codes_of(answer)] == FX_DAILY
    assert points == [51_076, 50_715, 59_876]
    assert {answer["MESSAGEID"] for answer in answers} == {"M181000I"}
    assert [answer["NEXTPOSITION"] for answer in by_layer] == [7, 12, None]
    assert [answer["RESULTSET"] for answer in by_layer] == [answer["RESULTSET"] for answer in answers]


def test_whichever_limit_comes_first_cuts(bank: Running) -> None:
    codes = ",".join(f"SAMPLE_CO_{n:04}" for n in range(3, 303))

    few_values = ask_json(bank, CODE, db="CO", code=codes, startDate="202001", endDate="202904")
    many_values = ask_json(bank, CODE, db="CO", code=codes, startDate="195001", endDate="202404")

    assert (len(few_values["RESULTSET"]), few_values["NEXTPOSITION"]) == (250, 251)
    assert (len(many_values["RESULTSET"]), many_values["NEXTPOSITION"]) == (200, 201)


def test_exactly_at_a_limit_nothing_is_cut(bank: Running) -> None:
    codes = [f"SAMPLE_CO_{n:04}" for n in range(3, 253)]

    answer = ask_json(bank, CODE, db="CO", code=",".join(codes), startDate="199001", endDate="204904")

    assert sum(len(series["VALUES"]["VALUES"]) for series in answer["RESULTSET"]) == 60_000
    assert (codes_of(answer), answer["NEXTPOSITION"]) == (codes, None)


def test_a_series_that_alone_is_over_the_limit_is_not_cut(bank: Running) -> None:
    answer = ask_json(bank, CODE, db="IR01", code="MADR1Z@D,MADR1Z@D", startDate="185001", endDate="205012")

    assert len(points_of(answer)) == 73_414
    assert answer["NEXTPOSITION"] == 2


def test_the_same_code_twice_is_told_twice(bank: Running) -> None:
    answer = ask_json(bank, CODE, db="CO", code=f"{DI},{DI}", startDate="202401", endDate="202401")

    assert codes_of(answer) == [DI, DI]


def test_a_position_after_the_last_finds_no_data(bank: Running) -> None:
    answer = ask_json(bank, CODE, db="CO", code=DI, startPosition=2)

    assert (answer["MESSAGEID"], answer["RESULTSET"], answer["NEXTPOSITION"]) == ("M181030I", [], None)


def test_1250_codes_are_taken(bank: Running) -> None:
    codes = [f"SAMPLE_CO_{n:04}" for n in range(3, 1253)]

    answer = ask_json(
        bank, CODE, db="CO", code=",".join(codes), startDate="202401", endDate="202401", startPosition=1001
    )

    assert codes_of(answer) == codes[1000:]


def test_a_layer_is_counted_before_its_frequency(bank: Running) -> None:
    """800 monthly and 500 quarterly series are too many, even for a request about the monthly series."""
    over = ask_json(bank, LAYER, db="BP01", frequency="M", layer="1")
    under = list(pages(bank, LAYER, db="BP01", frequency="M", layer="1,1", startDate="202508", endDate="202508"))
    fits = ask_json(bank, LAYER, db="MD10", frequency="Q", layer="*", startDate="202503", endDate="202503")

    assert over["MESSAGEID"] == "M181007E"
    assert [len(answer["RESULTSET"]) for answer in under] == [250, 250, 250, 50]
    assert fits["MESSAGEID"] == "M181000I"


# --- messages ----------------------------------------------------------------------------------

TOO_MANY = ",".join(["X"] * 1251)
REFUSED: list[tuple[str, str, dict[str, str]]] = [
    *(("M181001E", CODE, {"db": "CO", "code": f"A{letter}B"}) for letter in "<>\"!|\\;'”Ａ　é"),
    ("M181001E", CODE, {"db": "IR01", "code": "IR01'MADR1Z@D"}),
    ("M181001E", LAYER, {"db": "TREE", "frequency": "M", "layer": "1", "unknown": "<"}),
    ("M181002E", METADATA, {"db": "CO", "lang": "fr"}),
    ("M181003E", METADATA, {"db": "CO", "format": "xml"}),
    ("M181004E", CODE, {"code": DI}),
    ("M181004E", LAYER, {"frequency": "Q", "layer": "*"}),
    ("M181004E", METADATA, {"db": ""}),
    ("M181005E", CODE, {"db": "UNKNOWN_DB", "code": DI}),
    ("M181005E", LAYER, {"db": " CO ", "frequency": "Q", "layer": "*"}),
    ("M181005E", METADATA, {"db": "FM10"}),
    ("M181006E", CODE, {"db": "CO"}),
    ("M181006E", CODE, {"db": "CO", "code": ""}),
    ("M181007E", CODE, {"db": "CO", "code": TOO_MANY}),
    ("M181007E", LAYER, {"db": "CO", "frequency": "Q", "layer": "*"}),
    *(("M181008E", CODE, {"db": "CO", "code": DI, "startDate": date}) for date in ("20240", "202413", "20240101")),
    *(("M181009E", CODE, {"db": "CO", "code": DI, "endDate": date}) for date in ("202", "202400", "2024010112")),
    *(("M181010E", CODE, {"db": "CO", "code": DI, "startDate": date}) for date in ("184904", "2024Q1", "2024-01", "x")),
    *(("M181010E", LAYER, {"db": "CO", "frequency": "Q", "layer": "1", "endDate": date}) for date in ("205101", "1e3")),
    ("M181011E", CODE, {"db": "CO", "code": DI, "startDate": "202402", "endDate": "202401"}),
    *(("M181012E", CODE, {"db": "CO", "code": DI, "startPosition": n}) for n in ("0", "-1", "1.5", "x", "9" * 5000)),
    ("M181013E", CODE, {"db": "CO", "code": "NONE"}),
    ("M181014E", CODE, {"db": "IR01", "code": "MADR1Z@D,MADR1M"}),
    ("M181014E", CODE, {"db": "IR02", "code": "SAMPLE_IR02_W11,SAMPLE_IR02_W41"}),
    *(("M181015E", CODE, {"db": "CO", "code": DI, "startDate": date}) for date in ("202405", "2024")),
    ("M181015E", LAYER, {"db": "LA03", "frequency": "FY", "layer": "2", "startDate": "202401"}),
    ("M181015E", LAYER, {"db": "DER", "frequency": "CH", "layer": "1", "startDate": "202403"}),
    ("M181016E", CODE, {"db": "CO", "code": DI, "endDate": "202412"}),
    ("M181016E", LAYER, {"db": "FM08", "frequency": "D", "layer": "1", "endDate": "2024"}),
    ("M181017E", LAYER, {"db": "CO", "layer": "*"}),
    *(("M181018E", LAYER, {"db": "CO", "frequency": f, "layer": "*"}) for f in ("QUARTERLY", "W1", "Y")),
    ("M181019E", LAYER, {"db": "CO", "frequency": "Q"}),
    ("M181019E", LAYER, {"db": "CO", "frequency": "Q", "layer": ",1"}),
    ("M181019E", LAYER, {"db": "CO", "frequency": "Q", "layer": "1,1,1,1,1,1"}),
    *(
        ("M181020E", LAYER, {"db": "CO", "frequency": "Q", "layer": layer})
        for layer in ("0", "-1", "a", "1,,2", "1,", "1.0", "**", "1" * 5000)
    ),
    *((message_id, METADATA, {"db": db}) for db, message_id in FAILING.items()),
    *((message_id, CODE, {"db": db.lower(), "code": "A"}) for db, message_id in FAILING.items()),
]


@pytest.mark.parametrize("lang", ["jp", "en"])
@pytest.mark.parametrize(
    ("message_id", "endpoint", "parameters"), REFUSED, ids=[f"{m}-{e}-{str(p)[:60]}" for m, e, p in REFUSED]
)
def test_a_question_that_is_none_is_refused_with_its_message(
    bank: Running, message_id: str, endpoint: str, parameters: dict[str, str], lang: str
) -> None:
    reply = ask(bank, endpoint, **{"lang": lang, "format": "csv", **parameters})

    message = MESSAGES[message_id]
    text = (message.japanese if lang == "jp" else message.english).format(n=2 if message_id == "M181014E" else 1)
    assert reply.headers["content-type"] == "application/json"
    assert reply.status == message.status
    assert list(reply.json().items()) == [
        ("STATUS", message.status), ("MESSAGEID", message_id), ("MESSAGE", text), ("DATE", DATE),
    ]  # fmt: skip


def test_there_are_24_messages_and_each_can_be_had() -> None:
    """Other tests prove the two messages of success."""
    assert len(MESSAGES) == 24
    assert {message_id for message_id, _, _ in REFUSED} | {"M181000I", "M181030I"} == set(MESSAGES)


def test_the_texts_that_the_bank_was_seen_to_send_are_its_own(bank: Running) -> None:
    english = {message_id: MESSAGES[message_id].english for message_id in KNOWN_ENGLISH}
    missing = ask_json(bank, CODE, db="CO", code=f"{DI},NONE")
    missing_english = ask_json(bank, CODE, lang="en", db="CO", code=f"{DI},{DI},NONE,NONE")

    assert english == {
        "M181000I": "Successfully completed", "M181001E": "Invalid input parameters",
        "M181002E": "Invalid language setting", "M181005E": "Invalid database name",
        "M181013E": "Nonexistent series code：{n}", "M181018E": "Invalid frequency",
    }  # fmt: skip
    assert missing["MESSAGE"] == "指定した系列コードは存在しません。：2番目のコード"
    assert missing_english["MESSAGE"] == "Nonexistent series code：3"


@pytest.mark.parametrize(
    ("message_id", "endpoint", "parameters"),
    [
        ("M181001E", CODE, {"lang": "<", "format": "x"}),
        ("M181002E", CODE, {"lang": "x", "format": "x"}),
        ("M181003E", CODE, {"format": "x"}),
        ("M181004E", CODE, {"startPosition": "0"}),
        ("M181006E", CODE, {"db": "NONE", "startPosition": "0"}),
        ("M181005E", CODE, {"db": "NONE", "code": TOO_MANY}),
        ("M181007E", CODE, {"db": "CO", "code": TOO_MANY, "startDate": "x"}),
        ("M181008E", CODE, {"db": "CO", "code": "NONE", "startDate": "1", "endDate": "1"}),
        ("M181012E", CODE, {"db": "CO", "code": "NONE", "startPosition": "0"}),
        ("M181013E", CODE, {"db": "IR01", "code": "MADR1Z@D,MADR1M,NONE"}),
        ("M181014E", CODE, {"db": "IR01", "code": "MADR1Z@D,MADR1M", "startDate": "2024"}),
        ("M181015E", CODE, {"db": "CO", "code": DI, "startDate": "2024", "endDate": "2025"}),
        ("M181017E", LAYER, {"db": "NONE"}),
        ("M181019E", LAYER, {"db": "NONE", "frequency": "x"}),
        ("M181005E", LAYER, {"db": "NONE", "frequency": "x", "layer": "x"}),
        ("M181018E", LAYER, {"db": "CO", "frequency": "x", "layer": "x"}),
        ("M181020E", LAYER, {"db": "CO", "frequency": "Q", "layer": "x", "startDate": "x"}),
        ("M181015E", LAYER, {"db": "CO", "frequency": "Q", "layer": "*", "startDate": "2024"}),
    ],
)
def test_what_is_there_is_looked_at_before_what_it_says_and_that_before_what_exists(
    bank: Running, message_id: str, endpoint: str, parameters: dict[str, str]
) -> None:
    assert ask(bank, endpoint, **parameters).json()["MESSAGEID"] == message_id


WORDS = st.sampled_from(
    ["", "*", "1", "1,1", "0", "CO", "co", "TREE", "A,B", DI, "Q", "M", "D", "csv", "json", "en", "2024", "202401", "<"]
) | st.text(max_size=8)
NAMES = st.sampled_from(
    ["db", "code", "layer", "frequency", "startDate", "endDate", "startPosition", "lang", "format", "x"]
)


@given(st.sampled_from([CODE, LAYER, METADATA]), st.lists(st.tuples(NAMES, WORDS), max_size=9))
def test_whatever_is_asked_the_answer_is_one_of_the_messages(
    bank: Running, endpoint: str, parameters: list[tuple[str, str]]
) -> None:
    reply = fetch(bank, f"/api/v1/{endpoint}?{urlencode(parameters, errors='replace')}")

    if reply.headers["content-type"].startswith("text/csv"):
        encoding = "utf-8" if "utf-8" in reply.headers["content-type"] else "cp932"
        head = {line[0]: line[1] for line in table(reply, encoding)[:3]}
    else:
        head = reply.json()
    assert reply.status == int(head["STATUS"]) == MESSAGES[head["MESSAGEID"]].status


def test_a_message_can_be_ordered_and_is_then_over(bank: Running) -> None:
    bank.order(**order_of("M181090S", times=1))
    bank.order(**order_of("M181091S", lang="en", times=1))

    first, second, third = (ask(bank, METADATA, format="json", lang="en", db="FM01") for _ in range(3))

    assert (first.status, first.json()["MESSAGE"]) == (500, MESSAGES["M181090S"].japanese)
    assert (second.status, second.json()["MESSAGE"]) == (503, MESSAGES["M181091S"].english)
    assert (third.status, third.json()["MESSAGEID"]) == (200, "M181000I")


# --- the same everywhere, and never too much ---------------------------------------------------

PROBE = """
import hashlib, urllib.request
from datetime import UTC, datetime
from signet.toolsets.boj.sandbox.api import build
from signet.sandbox.hosting import host_in_thread
running, stop = host_in_thread(build(clock=lambda: datetime(2026, 2, 19, tzinfo=UTC)))
for target in TARGETS:
    with urllib.request.urlopen(running.url + "/api/v1/" + target) as answer:
        print(hashlib.sha256(answer.read()).hexdigest())
stop()
"""
TARGETS = [
    "getMetadata?db=BP01",
    "getMetadata?db=OT&format=csv",
    "getDataLayer?db=BP01&frequency=M&layer=1,1",
    "getDataLayer?db=IR02&frequency=W&layer=*&format=csv",
    "getDataCode?db=FM08&code=FXERD31",
]


def test_answers_are_the_same_from_run_to_run() -> None:
    probe = PROBE.replace("TARGETS", repr(TARGETS))
    command = [sys.executable, "-c", probe]

    runs = [
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2")
    ]

    assert runs[0] == runs[1]
    assert len(set(runs[0].split())) == len(TARGETS)


def test_values_that_are_made_by_rule_are_made_by_the_same_rule_for_ever(bank: Running) -> None:
    """Users may rely on values that they have written down."""
    euro = points_of(ask_json(bank, CODE, db="FM08", code="FXERD31", startDate="202401", endDate="202401"))
    index = points_of(ask_json(bank, CODE, db="OT", code="SAMPLE_OT_M1", startDate="202401", endDate="202404"))

    assert list(euro.values())[:10] == [None, None, None, 1.2257, 1.2231, None, None, 1.226, 1.2235, 1.2315]
    assert index == {202401: 95.3, 202402: 95.4, 202403: 95.5, 202404: 96.3}


def stream(bank: Running, target: str, headers: dict[str, str]) -> Iterator[bytes]:
    """Yield a response in pieces, without keeping them."""
    connection = http.client.HTTPConnection(urlsplit(bank.url).netloc, timeout=PATIENCE_S)
    try:
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        while piece := answer.read(65_536):
            yield piece
    finally:
        connection.close()


@pytest.mark.parametrize("accepted", ["identity", "gzip"])
def test_the_metadata_of_a_huge_database_are_never_held_whole(bank: Running, accepted: str) -> None:
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS if accepted == "gzip" else zlib.MAX_WBITS)
    size = rows = sent = 0
    last = b""

    tracemalloc.start()
    try:
        for piece in stream(bank, "/api/v1/getMetadata?db=CO_WHOLE", {"accept-encoding": accepted}):
            sent += len(piece)
            plain = unpack.decompress(piece) if accepted == "gzip" else piece
            size += len(plain)
            rows += (last[-12:] + plain).count(b'"SERIES_CODE"')
            last = plain
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    headings = 4
    assert 95 * MB < size < 105 * MB
    assert sent == size if accepted == "identity" else sent < 5 * MB
    assert rows == SERIES["CO_WHOLE"] + headings
    assert last.endswith(b"}]}")
    assert peak < 16 * MB


class Code(msgspec.Struct):
    """The part of a row that a test can hold 166,513 times."""

    SERIES_CODE: str


class Listing(msgspec.Struct):
    """Metadata with such rows."""

    DB: str
    RESULTSET: list[Code]


@pytest.mark.parametrize(("format_", "lang"), MANNERS)
def test_the_metadata_of_a_huge_database_are_whole_in_each_manner(bank: Running, format_: str, lang: str) -> None:
    reply = ask(bank, METADATA, format=format_, lang=lang, db="CO_WHOLE")

    if format_ == "json":
        answer = msgspec.json.decode(reply.body, type=Listing)
        codes, db = [row.SERIES_CODE for row in answer.RESULTSET], answer.DB
    else:
        lines = csv.reader(io.StringIO(reply.body.decode("cp932" if lang == "jp" else "utf-8"), newline=""))
        *_, (_, db), header = islice(lines, 6)
        codes = [line[0] for line in lines if len(line) == len(header)]
    series = [code for code in codes if code]
    assert len(set(series)) == len(series) == SERIES["CO_WHOLE"]
    assert (series[0], db) == (DI, "CO")


@given(st.integers(-90, 90), st.integers(-90, 90))
def test_any_part_of_what_is_made_while_it_is_sent_is_that_part_of_the_whole(start: int, stop: int) -> None:
    made = GeneratedBytes.of(b"opening", b",row 1000000", 5, b"end")
    plain = b"opening,row 1000000,row 1000001,row 1000002,row 1000003,row 1000004end"

    assert (len(made), made[start:stop]) == (len(plain), plain[start:stop])
    assert start not in range(-len(plain), len(plain)) or made[start] == plain[start]


def test_a_client_that_leaves_is_not_sent_the_rest() -> None:
    running, stop = host_in_thread(with_large_metadata(build()))
    pieces = stream(running, "/api/v1/getMetadata?db=CO_WHOLE", {})

    next(pieces)
    pieces.close()
    stop()

    (seen,) = running.requests
    assert seen.body_bytes < 50 * MB


def test_the_samples_are_small_and_can_be_written_in_the_banks_encoding() -> None:
    samples = [path.read_bytes() for path in (files("signet.toolsets.boj.sandbox") / "samples").iterdir()]

    for sample in samples:
        sample.decode().encode("cp932")

    assert sum(map(len, samples)) < 200_000


def test_it_is_started_by_its_name() -> None:
    url, stop = start_in_thread(find_toolset("boj"))
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)

    try:
        connection.request("GET", "/_sandbox")
        about = json.loads(connection.getresponse().read())
    finally:
        connection.close()
        stop()

    assert find_toolset("boj").sandbox is not None
    assert about["sandbox"] == "boj"
