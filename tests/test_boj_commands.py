"""`signet boj` as a person types it, against a played Bank of Japan in a process of its own.

A command runs in this process, unless the test is about what is a process's own: kills and signals, terminals, closed
streams, limits, packages that are missing. Each command runs as a process at least once.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pty
import re
import resource
import signal
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import plotext
import pyarrow.parquet
import pytest
from matplotlib.font_manager import get_font_names
from PIL import Image

from commands_in_process import run_here, signet_here
from planted_files import LINKS, OBSTACLES, obstruct
from processes import BIN, PATIENCE_S, ROOT, SIGNET, Server, clean_env, run, serving_command
from signet.app import build_server
from signet.commands import boj_mcp
from signet.commands.boj import CREDIT, SAMPLE_SOURCE, SOURCE
from signet.commands.boj.chart import chart_of, scale_of
from signet.commands.boj.output_files import FORMATS, write_csv
from signet.commands.boj.partial_download import PartialDownload
from signet.commands.boj.plot import JAPANESE_FONTS, _figure, draw_text, paint
from signet.commands.boj.series_query import FetchedSeries, SeriesPage, SeriesQuery, origin_of
from signet.kernel.errors import Code, Fault
from signet.settings.model import Settings

DEPOSITS = ("MD10", "--layers", "*", "--frequency", "Q", "--start", "202301")
"""1,214 series, 250 to a page."""
STARTS = [None, "255", "507", "759", "1010"]
"""Where its pages start: headings are counted too."""

DAILY = ("FXERD01", "FXERD02", "FXERD03", "FXERD04", "FXERD05", "FXERD06", "FXERD07", "FXERD31")
RATES = ("FM08", "--codes", ",".join(DAILY), "--start", "200001")
"""Eight daily series of some 9,800 observations, more than 60,000 together."""

SPOT = ("FM08", "--codes", "FXERD01", "--start", "202610")
"""One series, for what does not depend on pages."""

QUESTION = SeriesQuery("here", "tool", {"db": "X", "lang": "en"})
GOES_ON = "the same command goes on where this one stopped"
COLUMNS = ["series_code", "name", "unit", "frequency", "survey_date", "date", "value"]


class Bank:
    """The played Bank, told what to do from outside."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.url = server.url

    def order(self, fault: str, **more: Any) -> None:
        assert self.server.post("/_sandbox/faults", {"fault": fault, **more}).status == 201

    def requests(self) -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = self.server.ask("GET", "/_sandbox/requests").json()["requests"]
        return seen

    def asked(self) -> list[str | None]:
        """The positions that were asked for, in order."""
        found = [re.search(r"startPosition=(\d+)", one["target"]) for one in self.requests()]
        return [one and one[1] for one in found]

    def await_fault(self, fault: str) -> None:
        """Return once a request has met a fault: it is in flight then, and stays there."""
        deadline = time.monotonic() + PATIENCE_S
        while all(one["fault"] != fault for one in self.requests()):
            assert time.monotonic() < deadline, f"nobody has met {fault}"
            time.sleep(0.01)


@pytest.fixture(scope="module")
def process() -> Iterator[Server]:
    with serving_command(SIGNET, "sandbox", "boj") as server:
        yield server


@pytest.fixture
def bank(process: Server) -> Bank:
    return fresh(process)


def fresh(process: Server) -> Bank:
    """Return the Bank without the faults and requests of the test before."""
    for path in ("/_sandbox/faults", "/_sandbox/requests"):
        assert process.ask("DELETE", path).status == 204
    return Bank(process)


@pytest.fixture(scope="module")
def whole(process: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a fetch gives that nobody breaks off, in a process of its own for each form."""
    folder = tmp_path_factory.mktemp("whole")
    for form in FORMATS:
        done = run("boj", "fetch", *DEPOSITS, "--boj-base-url", process.url, "--out", str(folder / f"all.{form}"))
        assert done.returncode == 0, done.stderr
    return {form: (folder / f"all.{form}").read_bytes() for form in FORMATS}


@pytest.fixture(scope="module")
def three_pages(process: Server, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The part that a fetch leaves which is killed while it waits for its fourth page."""
    return killed(fresh(process), tmp_path_factory.mktemp("killed") / "all.csv", 4).read_bytes()


def shaped(origin: str) -> str:
    """What figures are called that are not the Bank's."""
    return f"figures from {origin}, in the shape of {SOURCE}"


def command(bank: Bank, out: Path, question: tuple[str, ...] = DEPOSITS, *more: str) -> list[str]:
    return [SIGNET, "boj", "fetch", *question, "--boj-base-url", bank.url, "--out", str(out), *more]


def fetch(
    bank: Bank, out: Path, question: tuple[str, ...] = DEPOSITS, *more: str
) -> subprocess.CompletedProcess[bytes]:
    done = run_here(*command(bank, out, question, *more)[1:])
    assert b"Traceback" not in done.stderr, done.stderr
    assert done.stdout == b""
    return done


@contextlib.contextmanager
def stuck(bank: Bank, out: Path, page: int) -> Iterator[subprocess.Popen[bytes]]:
    """A fetch that waits for its n-th page, which never comes; those before it are on the disk."""
    start = STARTS[page - 1]
    bank.order("hang", match="getDataLayer" if start is None else f"startPosition={start}", times=1)
    process = subprocess.Popen(command(bank, out), stderr=subprocess.PIPE, env=clean_env())
    try:
        bank.await_fault("hang")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def killed(bank: Bank, out: Path, page: int) -> Path:
    """Kill a fetch while it waits for its n-th page; give the part that it leaves."""
    with stuck(bank, out, page) as process:
        process.kill()
        process.wait(PATIENCE_S)
    part = part_of(out)
    assert part.read_bytes().count(b"\n") == page, "a header, and the pages before"
    return part


def part_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.part")


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def shown_on_a_terminal(*args: str, stream: str) -> str:
    """Run a command with one of its streams on a terminal; give what is seen there."""
    here, there = pty.openpty()
    process = subprocess.Popen(
        [SIGNET, *args],
        stdin=subprocess.DEVNULL,
        stdout=there if stream == "stdout" else subprocess.DEVNULL,
        stderr=there if stream == "stderr" else subprocess.DEVNULL,
        env=clean_env({"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}),
    )
    os.close(there)
    seen = bytearray()
    # A terminal whose other end is closed gives an error in place of an end.
    with contextlib.suppress(OSError):
        while piece := os.read(here, 1 << 16):
            seen += piece
    os.close(here)
    assert process.wait(PATIENCE_S) == 0, seen
    return seen.decode()


# --- databases ----------------------------------------------------------------------------------


def test_a_pipe_gets_a_line_for_each_of_the_50_databases_in_both_languages() -> None:
    done = run("boj", "databases")

    rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
    assert done.returncode == 0
    assert len(rows) == len({row[0] for row in rows}) == 50
    assert ["FM08", "Foreign Exchange Rates", "外国為替市況", "Financial Markets"] in rows


@pytest.mark.parametrize("text", ["exchange", "EXCHANGE rates", "外国為替", "fm08", "ＦＭ０８"])
def test_a_database_is_found_by_its_words_in_either_language_however_they_are_typed(text: str) -> None:
    done = run_here("boj", "databases", *text.split())

    assert done.returncode == 0
    assert "FM08" in [line.split("\t")[0] for line in done.stdout.decode().splitlines()]


def test_databases_are_given_as_json_too() -> None:
    done = run_here("boj", "databases", "tankan", "--json")

    assert json.loads(done.stdout) == [
        {
            "code": "CO",
            "japanese": "短観",
            "english": "TANKAN",
            "category_japanese": "短観",
            "category_english": "TANKAN",
        }
    ]


def test_a_text_that_no_database_has_is_told_and_fails() -> None:
    done = run_here("boj", "databases", "nothing of the kind")

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"'nothing of the kind'" in done.stderr


def test_a_terminal_gets_a_table_under_headings() -> None:
    seen = shown_on_a_terminal("boj", "databases", "exchange", stream="stdout")

    assert "Japanese name" in seen
    assert "Financial Markets" in seen
    assert "外国為替市況" in seen


def test_an_output_without_japanese_is_no_reason_for_a_traceback() -> None:
    done = run("boj", "databases", "tankan", env={"PYTHONIOENCODING": "ascii"})

    assert (done.returncode, done.stdout, done.stderr) == (0, b"CO\tTANKAN\t??\tTANKAN\n", b"")


# --- fetch: what it gives -----------------------------------------------------------------------


def test_a_fetch_of_more_than_250_series_has_all_of_them(whole: dict[str, bytes]) -> None:
    rows = list(csv.reader(io.StringIO(whole["csv"].decode())))

    codes = Counter(row[0] for row in rows[1:])
    assert rows[0] == COLUMNS
    assert len(codes) == 1214
    assert set(codes.values()) == {11}, "the quarters from 202301 to 202503"
    assert rows[1][2:5] == ["100 million yen", "QUARTERLY", "202301"]


def test_a_fetch_of_more_than_60000_observations_has_all_of_them(bank: Bank, tmp_path: Path) -> None:
    out = tmp_path / "rates.csv"

    done = fetch(bank, out, RATES)

    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert done.returncode == 0
    assert bank.asked() == [None, "7"]
    assert list(dict.fromkeys(row["series_code"] for row in rows)) == list(DAILY)
    assert len(rows) > 60_000
    friday, saturday = (next(row for row in rows if row["survey_date"] == day) for day in ("20261002", "20261003"))
    assert (friday["value"], saturday["value"]) == ("157.94", "")


def test_the_three_forms_say_the_same(process: Server, whole: dict[str, bytes]) -> None:
    """JSON has the Bank's own digits, Parquet doubles; what is missing is nothing in each of them."""
    by_csv = [tuple(row.values()) for row in csv.DictReader(io.StringIO(whole["csv"].decode()))]
    told = json.loads(whole["json"], parse_float=str, parse_int=str)
    by_json = [
        (*(one[name] for name in COLUMNS[:4]), point["survey_date"], point["date"], point["value"] or "")
        for one in told["series"]
        for point in one["points"]
    ]
    table = pyarrow.parquet.read_table(io.BytesIO(whole["parquet"]))

    assert by_json == by_csv
    assert (told["source"], told["db"], told["lang"]) == (shaped(process.url), "MD10", "en")
    assert table.column_names == COLUMNS
    assert [str(kind) for kind in table.schema.types] == ["string"] * 5 + ["date32[day]", "double"]
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (*row[:-2], date.fromisoformat(row[-2]), float(row[-1]) if row[-1] else None) for row in by_csv
    ]


def test_json_is_written_without_a_blank_and_in_one_order(whole: dict[str, bytes]) -> None:
    told = json.loads(whole["json"])

    assert whole["json"] == json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    assert list(told) == ["source", "db", "lang", "series"]


def series_of(frequency: str, values: Mapping[str, str | None]) -> FetchedSeries:
    points = msgspec.json.encode([{"survey_date": date, "value": value} for date, value in values.items()])
    return FetchedSeries("S", None, None, frequency, msgspec.Raw(points))


FORMULAS = ["=1+1", "+1a", "-", "-1+1", "@SUM(A1)", "\t=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_name_or_unit_that_is_a_formula_is_text_to_a_spreadsheet(text: str) -> None:
    safe, plain = io.BytesIO(), io.BytesIO()
    page = SeriesPage(1, None, [msgspec.structs.replace(series_of("M", {"202401": "-1.5"}), name=text, unit=text)])

    write_csv(safe, QUESTION, [page])
    write_csv(plain, QUESTION, [page], spreadsheet_safe=False)

    rows = [list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))[1] for file in (safe, plain)]
    assert rows == [
        ["S", f"'{text}", f"'{text}", "M", "202401", "2024-01-01", "-1.5"],
        ["S", text, text, "M", "202401", "2024-01-01", "-1.5"],
    ]


@pytest.mark.parametrize(("text", "cell"), [("\r=1", "' =1"), ("a\r=1", "a =1")])
def test_a_carriage_return_begins_no_row(text: str, cell: str) -> None:
    file = io.BytesIO()
    page = SeriesPage(1, None, [msgspec.structs.replace(series_of("M", {"202401": "1"}), name=text)])

    write_csv(file, QUESTION, [page])

    assert file.getvalue().decode().split("\n")[1] == f"S,{cell},,M,202401,2024-01-01,1"


@pytest.mark.parametrize("text", ["-1.5", "plain", "2020=100", "", None])
def test_numbers_and_other_texts_are_written_as_they_are(text: str | None) -> None:
    file = io.BytesIO()
    page = SeriesPage(1, None, [msgspec.structs.replace(series_of("M", {"202401": "1"}), name=text, unit=text)])

    write_csv(file, QUESTION, [page])

    assert file.getvalue().decode().splitlines()[1] == f"S,{text or ''},{text or ''},M,202401,2024-01-01,1"


@pytest.mark.parametrize(("flags", "name"), [((), "'=1+1"), (("--no-spreadsheet-safe",), "=1+1")])
def test_a_fetch_makes_formulas_harmless_unless_told_otherwise(
    bank: Bank, tmp_path: Path, flags: tuple[str, ...], name: str
) -> None:
    out = tmp_path / "rates.csv"
    values = {"SURVEY_DATES": [202610], "VALUES": [-1]}
    row = {"SERIES_CODE": "FXERD01", "NAME_OF_TIME_SERIES": "=1+1", "UNIT": "@U", "FREQUENCY": "MONTHLY"}
    answer = json.dumps(
        {"STATUS": 200, "MESSAGEID": "M181000I", "MESSAGE": "OK", "RESULTSET": [{**row, "VALUES": values}]}
    )
    bank.order("answer", body=answer)

    done = run_here(*command(bank, out, RATES)[1:], *flags)

    assert done.returncode == 0, done.stderr
    assert out.read_text().splitlines()[1].split(",")[1] == name


def refused_by_parquet(value: str) -> Code:
    with pytest.raises(Fault, match=f"'{value}'") as caught:
        FORMATS["parquet"](io.BytesIO(), QUESTION, [SeriesPage(1, None, [series_of("MONTHLY", {"202401": value})])])

    return caught.value.code


def test_a_value_keeps_its_digits_and_a_missing_one_is_nothing() -> None:
    """What is no number is text in CSV and JSON; Parquet, whose column has doubles only, refuses what is none."""
    told = {"202401": "1.50", "202402": None, "202403": "-0", "202404": "1E+2"}
    odd = {"202401": "n.a."}
    written = {}
    for form, values in (("csv", told | odd), ("json", told | odd), ("parquet", told)):
        file = io.BytesIO()
        FORMATS[form](file, QUESTION, [SeriesPage(1, None, []), SeriesPage(1, None, [series_of("MONTHLY", values)])])
        written[form] = file.getvalue()

    refused = [refused_by_parquet(value) for value in ("n.a.", "1e999", "-1e999")]

    assert [line.split(b",")[-1] for line in written["csv"].splitlines()[1:]] == [b"n.a.", b"", b"-0", b"1E+2"]
    assert re.findall(rb'"value":(.*?)}', written["json"]) == [b'"n.a."', b"null", b"-0", b"1E+2"]
    assert pyarrow.parquet.read_table(io.BytesIO(written["parquet"])).column("value").to_pylist() == [1.5, None, 0, 100]
    assert refused == [Code.INVALID_OUTPUT] * 3


def test_names_are_japanese_when_they_are_asked_for_so(bank: Bank, tmp_path: Path) -> None:
    out = tmp_path / "rates.json"
    question = ("fm08", "--codes", " FXERD01", "--start", "202610", "--lang", "jp")

    fetch(bank, out, question)

    (series,) = json.loads(out.read_bytes())["series"]
    assert (series["name"], series["unit"]) == ("東京市場　ドル・円　スポット　9時時点", "￥／＄")
    assert series["points"][:3] == [
        {"survey_date": "20261001", "date": "2026-10-01", "value": 157.56},
        {"survey_date": "20261002", "date": "2026-10-02", "value": 157.94},
        {"survey_date": "20261003", "date": "2026-10-03", "value": None},
    ]


def test_what_goes_to_standard_output_is_told_as_such(bank: Bank) -> None:
    done = run_here(*command(bank, Path("-"))[1:])

    assert done.stdout.startswith(b"series_code,")
    assert b"signet: wrote to standard output: 5 pages, " in done.stderr


def test_a_log_gets_a_line_for_each_page(bank: Bank, tmp_path: Path) -> None:
    done = fetch(bank, tmp_path / "all.csv")

    *pages, last, _ = done.stderr.decode().splitlines()
    assert [int(re.findall(r"[\d,]+(?= series)", line)[0].replace(",", "")) for line in pages] == [
        250, 500, 750, 1000, 1214,
    ]  # fmt: skip
    assert last.startswith(f"signet: wrote {tmp_path / 'all.csv'}: 5 pages, 1,214 series, ")


SPAN = ("--start", "202401", "--end", "202406")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ("FM08", "--codes", "FXERD01", *SPAN),
            (
                "periods from 20240101 to 20240630 (DAILY, written YYYYMMDD), unit: Yen per U.S. Dollar, "
                "names and units in English (--lang jp: in Japanese)"
            ),
        ),
        (
            ("FM08", "--codes", "FXERD01,FXERD06", "--lang", "jp", *SPAN),
            (
                "periods from 20240101 to 20240630 (DAILY, written YYYYMMDD), unit: ￥／＄; 百万ドル, "
                "names and units in Japanese (--lang en: in English)"
            ),
        ),
        (
            ("FM09", "--codes", "FX180110001", *SPAN),
            (
                "periods from 202401 to 202406 (MONTHLY, written YYYYMM), unit: CY 2020=100, "
                "names and units in English (--lang jp: in Japanese)"
            ),
        ),
        (
            ("FM08", "--codes", "FXERD01", "--start", "204901"),
            (
                "there is no value in the span asked for; `signet call boj_get_metadata db=FM08 lang=en` tells where "
                "each series starts and ends"
            ),
        ),
    ],
)
def test_a_fetch_ends_with_a_line_on_periods_units_and_language(
    bank: Bank, tmp_path: Path, args: tuple[str, ...], told: str
) -> None:
    done = run_here("boj", "fetch", *args, "--boj-base-url", bank.url, "--out", str(tmp_path / "it.csv"))

    assert done.stderr.decode().splitlines()[-1] == f"signet: {told}"


@pytest.mark.parametrize("command", ["fetch", "plot"])
def test_the_help_tells_how_periods_are_written_what_units_are_and_the_languages(command: str) -> None:
    text = run_here("boj", command, "--help").stdout.decode()

    rows = re.findall(r"^  ([A-Z]+(?:, [A-Z]+)?) ", text.partition("periods, by the frequency")[2], re.MULTILINE)
    assert rows == ["CY, FY", "CH, FH", "Q", "M", "W, D"]
    words = " ".join(text.split())
    assert "units and values: a unit is written as the Bank gives it" in words
    assert "language: the commands ask for English unless --lang jp is given" in words


def test_a_terminal_is_told_how_the_series_of_a_database_are_listed() -> None:
    seen = shown_on_a_terminal("boj", "databases", "exchange", stream="stdout")

    assert "To list its series: signet call boj_get_metadata db=FM08 lang=en" in seen
    assert "signet call boj_get_metadata db=FM08 lang=en" in run_here("boj", "databases", "--help").stdout.decode()


def test_a_fetch_that_nobody_listens_to_goes_on(bank: Bank, tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "all.csv"

    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *command(bank, out)], env=clean_env(), timeout=PATIENCE_S, check=False
    )

    assert done.returncode == 0
    assert out.read_bytes() == whole["csv"]


def test_a_terminal_gets_a_bar(bank: Bank, tmp_path: Path) -> None:
    seen = shown_on_a_terminal(*command(bank, tmp_path / "rates.csv", RATES)[1:], stream="stderr")

    assert "\x1b[" in seen
    assert "━━━" in seen
    assert "2 pages, 8 series" in seen


def test_a_fetch_leaves_nothing_but_its_file(bank: Bank, tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text("of yesterday")

    done = fetch(bank, tmp_path / "all.csv", SPOT)

    assert done.returncode == 0
    assert left_in(tmp_path) == ["all.csv"]


@pytest.mark.parametrize("form", FORMATS)
def test_the_embedded_sample_data_are_called_so(tmp_path: Path, form: str) -> None:
    """A table is plain rows and says nothing of itself; who fetched it is told."""
    out = tmp_path / f"rates.{form}"

    done = run("boj", "fetch", "FM09", "--codes", "FX180110001", "--sandbox", "--out", str(out))

    assert done.returncode == 0, done.stderr
    assert done.stderr.decode().splitlines()[-2].endswith(f"; source: {SAMPLE_SOURCE}")
    assert source_in(out) == (None if form == "csv" else SAMPLE_SOURCE)


def source_in(out: Path) -> str | None:
    """Whose figures a file says that it has, if it does."""
    if out.suffix == ".json":
        source: str = json.loads(out.read_bytes())["source"]
        return source
    if out.suffix == ".parquet":
        return str(pyarrow.parquet.read_schema(out).metadata[b"source"], "utf-8")
    return None


@pytest.mark.parametrize(
    "url",
    [
        "https://www.stat-search.boj.or.jp",
        "https://www.stat-search.boj.or.jp/mirror",
        "HTTPS://WWW.Stat-Search.BOJ.or.jp:443/",
    ],
)
def test_figures_of_the_public_host_are_the_banks(url: str) -> None:
    settings = Settings.read({}, {"toolsets": "boj", "boj_base_url": url})

    origin = origin_of(settings, build_server(settings))

    assert SeriesQuery(origin, "tool", {}).source == SOURCE


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("https://example.com/secret/www.stat-search.boj.or.jp", "https://example.com"),
        ("https://www.stat-search.boj.or.jp.example.com", "https://www.stat-search.boj.or.jp.example.com"),
    ],
)
def test_figures_of_any_other_host_are_not_the_banks(url: str, origin: str) -> None:
    settings = Settings.read({}, {"toolsets": "boj", "boj_base_url": url})

    found = origin_of(settings, build_server(settings))

    assert SeriesQuery(found, "tool", {}).source == shaped(origin)


def test_figures_of_a_recording_are_whose_they_were_then(tmp_path: Path) -> None:
    asked = ("boj", "fetch", "FM09", "--codes", "FX180110001")
    env = {"SIGNET_RECORD": str(tmp_path / "cassette")}
    recorded = run(*asked, "--sandbox", "--out", str(tmp_path / "then.json"), env=env)

    env = {"SIGNET_REPLAY": str(tmp_path / "cassette")}
    replayed = run(*asked, "--out", str(tmp_path / "now.json"), env=env)

    assert (recorded.returncode, replayed.returncode) == (0, 0), replayed.stderr
    assert re.fullmatch(shaped(r"http://127\.0\.0\.1:\d+"), source_in(tmp_path / "now.json") or "")


# --- fetch: broken off and gone on with -----------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "page"), [("csv", 1), ("csv", 2), ("csv", 3), ("csv", 5), ("json", 3), ("parquet", 3)]
)
def test_a_fetch_that_is_killed_and_started_again_gives_the_same_bytes(
    bank: Bank, tmp_path: Path, whole: dict[str, bytes], form: str, page: int
) -> None:
    """And asks for no page twice but the one that was in flight."""
    out = tmp_path / f"all.{form}"
    killed(bank, out, page)

    done = fetch(bank, out)

    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == whole[form]
    assert bank.asked() == [*STARTS[:page], *STARTS[page - 1 :]]
    assert left_in(tmp_path) == [out.name]


def test_a_fetch_may_be_killed_again_and_again(bank: Bank, tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "all.csv"

    for page in (2, 3, 3, 5):
        killed(bank, out, page)
        bank.server.ask("DELETE", "/_sandbox/requests")
    fetch(bank, out)

    assert out.read_bytes() == whole["csv"]
    assert bank.asked() == STARTS[4:]


@pytest.mark.parametrize("missing_bytes", [1, 2, 70, 20_000])
def test_a_line_that_was_being_written_is_asked_for_again(
    bank: Bank, tmp_path: Path, whole: dict[str, bytes], three_pages: bytes, missing_bytes: int
) -> None:
    """A kill, or a loss of power, in the middle of a page: the pages before it are good."""
    out = tmp_path / "all.csv"
    part_of(out).write_bytes(three_pages[:-missing_bytes])

    done = fetch(bank, out)

    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == whole["csv"]
    assert bank.asked() == STARTS[2:]


def test_a_page_that_was_changed_on_the_disk_is_asked_for_again(
    bank: Bank, tmp_path: Path, whole: dict[str, bytes], three_pages: bytes
) -> None:
    out = tmp_path / "all.csv"
    header, first, second, third = three_pages.splitlines(keepends=True)
    changed = second.replace(b'"value":"0"', b'"value":"1"', 1)
    part_of(out).write_bytes(header + first + changed + third)

    fetch(bank, out)

    assert changed != second
    assert out.read_bytes() == whole["csv"]
    assert bank.asked() == STARTS[1:]


def test_what_a_kill_left_of_the_file_itself_is_written_over(
    bank: Bank, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "all.csv"
    (tmp_path / "all.csv.part.new").write_bytes(whole["csv"][:1000])

    fetch(bank, out)

    assert out.read_bytes() == whole["csv"]
    assert left_in(tmp_path) == ["all.csv"]


def test_ctrl_c_says_how_to_go_on(bank: Bank, tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "all.csv"
    with stuck(bank, out, 3) as process:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert errors.decode().splitlines()[-1].startswith("signet: interrupted; 2 pages, 500 series, ")
    assert errors.decode().splitlines()[-1].endswith(GOES_ON)
    assert left_in(tmp_path) == ["all.csv.part"]
    fetch(bank, out)
    assert out.read_bytes() == whole["csv"]


def test_an_error_in_the_middle_says_how_to_go_on(bank: Bank, tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "all.csv"
    bank.order("html", match="startPosition=507", times=1)

    done = fetch(bank, out, DEPOSITS, "--boj-retry-max", "0")
    again = fetch(bank, out)

    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1].endswith(GOES_ON)
    assert again.returncode == 0
    assert out.read_bytes() == whole["csv"]
    assert bank.asked() == [*STARTS[:3], *STARTS[2:]]


@pytest.mark.parametrize("page", [1, 2])
def test_a_bank_that_says_to_go_on_where_it_began_is_not_asked_for_ever(bank: Bank, tmp_path: Path, page: int) -> None:
    at, match = (1, "getDataLayer") if page == 1 else (255, "startPosition=255")
    loop = {"STATUS": 200, "MESSAGEID": "M181000I", "MESSAGE": "", "NEXTPOSITION": at, "RESULTSET": []}
    bank.order("answer", match=match, body=json.dumps(loop))

    done = fetch(bank, tmp_path / "all.csv")

    assert done.returncode == 1
    assert f"go on at position {at}, which is not after {at}" in done.stderr.decode()
    assert bank.asked() == STARTS[:page]
    assert left_in(tmp_path) == [[], ["all.csv.part"]][page - 1]


def test_what_the_bank_refuses_leaves_nothing_in_the_way(bank: Bank, tmp_path: Path) -> None:
    """A code that is misspelt can be written right at once."""
    out = tmp_path / "rates.csv"

    refused = fetch(bank, out, ("FM08", "--codes", "NOPE"))
    right = fetch(bank, out, SPOT)

    assert (refused.returncode, right.returncode) == (1, 0)
    assert b"M181013E" in refused.stderr
    assert b"in --codes, counted from 1; look it up with `signet call boj_get_metadata db=DB`" in refused.stderr
    assert GOES_ON.encode() not in refused.stderr


def test_a_bank_that_cannot_be_reached_is_told_in_a_sentence(tmp_path: Path) -> None:
    out = tmp_path / "all.csv"

    done = run_here("boj", "fetch", *DEPOSITS, "--boj-base-url", "http://127.0.0.1:9", "--out", str(out))

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert b"the same command begins again" in done.stderr
    assert left_in(tmp_path) == []


def test_pages_of_another_question_are_not_gone_on_with(bank: Bank, tmp_path: Path) -> None:
    """Unless they are discarded."""
    out = tmp_path / "all.csv"
    part = killed(bank, out, 3)
    before = part.read_bytes()
    other = (*DEPOSITS, "--end", "202302")

    refused = fetch(bank, out, other)
    kept = part.read_bytes()
    restarted = fetch(bank, out, other, "--restart")

    assert (refused.returncode, restarted.returncode) == (1, 0)
    assert b"another question" in refused.stderr
    assert b"--restart" in refused.stderr
    assert kept == before
    assert Counter(row["survey_date"] for row in csv.DictReader(io.StringIO(out.read_text()))) == {
        "202301": 1214,
        "202302": 1214,
    }


def test_pages_of_another_version_are_not_gone_on_with(bank: Bank, tmp_path: Path) -> None:
    out = tmp_path / "all.csv"
    part_of(out).write_bytes(b'{"signet_part":99,"more":{}}\n{"a":"page"}\n')

    done = fetch(bank, out)

    assert done.returncode == 1
    assert b"another version of Signet" in done.stderr
    assert bank.asked() == []


@pytest.mark.parametrize("restart", [(), ("--restart",)], ids=["plain", "restart"])
@pytest.mark.parametrize("content", [b"a thesis\n", b"a note", b"\xff\xd8\n\xff\n"], ids=["text", "note", "picture"])
def test_a_file_that_is_no_part_of_a_fetch_is_left_alone(
    bank: Bank, tmp_path: Path, content: bytes, restart: tuple[str, ...]
) -> None:
    out = tmp_path / "all.csv"
    part_of(out).write_bytes(content)

    done = fetch(bank, out, DEPOSITS, *restart)

    assert done.returncode == 1
    assert b"is in the way" in done.stderr
    assert part_of(out).read_bytes() == content


def test_two_fetches_do_not_write_into_one_part(bank: Bank, tmp_path: Path) -> None:
    out = tmp_path / "all.csv"
    with stuck(bank, out, 2):
        second = fetch(bank, out)

    assert second.returncode == 1
    assert b"another process" in second.stderr


def full_at(limit_bytes: int, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command on a disk that takes no file beyond a size."""
    env = {name: value for name, value in clean_env().items() if not name.startswith("COVERAGE_")}
    return subprocess.run(
        args, capture_output=True, env=env, timeout=PATIENCE_S, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes)),
    )  # fmt: skip


def test_a_disk_that_is_full_while_pages_come_loses_none_of_them(
    bank: Bank, tmp_path: Path, whole: dict[str, bytes], three_pages: bytes
) -> None:
    out = tmp_path / "all.csv"
    part = part_of(out)
    part.write_bytes(three_pages)

    done = full_at(len(three_pages) + 1000, *command(bank, out))
    kept = part.read_bytes()
    bank.server.ask("DELETE", "/_sandbox/requests")
    again = fetch(bank, out)

    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert f"cannot write {part} (" in done.stderr.decode().splitlines()[-1]
    assert done.stderr.decode().splitlines()[-1].endswith(GOES_ON)
    assert kept == three_pages, "three pages, and nothing of the fourth"
    assert again.returncode == 0
    assert out.read_bytes() == whole["csv"]
    assert bank.asked() == STARTS[3:]


@pytest.mark.parametrize("form", FORMATS)
def test_a_disk_that_is_full_when_the_file_is_written_loses_nothing(
    bank: Bank, tmp_path: Path, whole: dict[str, bytes], form: str
) -> None:
    """The next run has every page already and asks for none; the pages are the same for every form."""
    out, out_csv = tmp_path / f"all.{form}", tmp_path / "all.csv"

    first = full_at(len(whole["csv"]) - 1, *command(bank, out_csv))
    part_of(out_csv).rename(part_of(out))
    second = full_at(1000, *command(bank, out))
    left = left_in(tmp_path)
    third = fetch(bank, out)

    for done, file in ((first, out_csv), (second, out)):
        last = done.stderr.decode().splitlines()[-1]
        assert done.returncode == 1
        assert b"Traceback" not in done.stderr
        assert last.startswith(f"signet: cannot write {file} (")
        assert last.endswith(GOES_ON)
    assert left == [f"all.{form}.part"]
    assert third.returncode == 0
    assert out.read_bytes() == whole[form]
    assert bank.asked() == STARTS


def test_a_part_is_good_wherever_it_is_cut(tmp_path: Path) -> None:
    """Every length that a file can be left with: the pages that are whole are taken, the rest is dropped."""
    pages = [page_of(1, 3), page_of(3, 4), page_of(4, None)]
    path = tmp_path / "all.csv.part"
    right = filled(path, pages)
    ends = [place + 1 for place, byte in enumerate(right) if byte == ord("\n")]

    for size in range(len(right) + 1):
        path.write_bytes(right[:size])
        part = PartialDownload(path, QUESTION)
        whole_pages = max(0, sum(end <= size for end in ends) - 1)
        assert (part.pages, part.next) == (whole_pages, [1, 3, 4, None][whole_pages])
        for page in pages[whole_pages:]:
            part.add(page)
        assert list(part.stored()) == pages
        part.close(keep=True)
        assert path.read_bytes() == right


def page_of(start: int, following: int | None) -> SeriesPage:
    return SeriesPage(start, following, [FetchedSeries(f"S{start}", "ä\n,", None, "MONTHLY", msgspec.Raw(b"[]"))])


def filled(path: Path, pages: list[SeriesPage]) -> bytes:
    part = PartialDownload(path, QUESTION)
    for page in pages:
        part.add(page)
    part.close(keep=True)
    return path.read_bytes()


@pytest.mark.parametrize("kind", OBSTACLES)
def test_a_part_that_is_no_file_of_ones_own_is_told_and_left_as_it_is(bank: Bank, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "all.csv"
    is_intact = obstruct(part_of(out), kind, tmp_path / "aside")

    done = fetch(bank, out)

    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"signet: cannot write {part_of(out)} (")
    assert bank.asked() == []
    assert is_intact()
    assert left_in(tmp_path) == ["all.csv.part", "aside"]


@pytest.mark.parametrize("kind", OBSTACLES)
def test_what_is_in_the_place_of_the_new_file_is_not_written_through(bank: Bank, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "all.csv"
    obstruct(tmp_path / "all.csv.part.new", kind, tmp_path / "aside")
    theirs = {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()}

    done = fetch(bank, out, SPOT)

    is_replaced = kind in {*LINKS, "hard link"}
    assert done.returncode == (0 if is_replaced else 1)
    assert out.is_file() is is_replaced
    assert {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()} == theirs


@pytest.mark.parametrize("kind", ["FIFO", "link to a FIFO", "link to /dev/full"])
def test_an_output_that_is_no_regular_file_is_refused_before_anybody_is_asked(
    bank: Bank, tmp_path: Path, kind: str
) -> None:
    is_intact = obstruct(tmp_path / "all.csv", kind, tmp_path / "aside")

    done = fetch(bank, tmp_path / "all.csv")

    assert done.returncode == 2
    assert b"is not a regular file" in done.stderr
    assert bank.asked() == []
    assert is_intact()


@pytest.mark.parametrize(("umask", "mode"), [(0o000, 0o666), (0o022, 0o644)])
def test_a_part_is_private_and_the_output_follows_the_umask(bank: Bank, tmp_path: Path, umask: int, mode: int) -> None:
    out = tmp_path / "all.csv"
    before = os.umask(umask)
    try:
        part_mode = stat.S_IMODE(killed(bank, out, 2).stat().st_mode)
        done = fetch(bank, out)
    finally:
        os.umask(before)

    assert done.returncode == 0
    assert (part_mode, stat.S_IMODE(out.stat().st_mode)) == (0o600, mode)


def test_a_part_whose_path_leads_elsewhere_by_now_is_read_by_its_descriptor(tmp_path: Path) -> None:
    pages = [page_of(1, 3), page_of(3, None)]
    path = tmp_path / "all.csv.part"
    part = PartialDownload(path, QUESTION)
    part.add(pages[0])
    path.unlink()
    path.symlink_to("/dev/zero")

    part.add(pages[1])
    stored = list(part.stored())
    part.close(keep=True)

    assert stored == pages


def test_a_page_that_was_moved_is_not_taken(tmp_path: Path) -> None:
    """Whole lines in another order are no pages: each starts where the one before it says."""
    path = tmp_path / "all.csv.part"
    header, *lines = filled(path, [page_of(1, 3), page_of(3, 4), page_of(4, None)]).splitlines(keepends=True)
    path.write_bytes(header + lines[0] + lines[2] + lines[1])

    part = PartialDownload(path, QUESTION)
    part.close(keep=True)

    assert (part.pages, part.next) == (1, 3)
    assert path.read_bytes() == header + lines[0]


# --- fetch: what cannot be asked for ------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("FM08", "--codes", "A", "--out", "all.xlsx"), ".parquet"),
        (("FM08", "--codes", "A", "--out", "folder.csv"), "folder"),
        (("FM08", "--codes", "A", "--start", "2024-01", "--out", "all.csv"), "--start"),
        (("FM08", "--codes", "A,,B", "--out", "all.csv"), "--codes is required"),
        (("FM08", "--layers", "*", "--out", "all.csv"), "--frequency"),
        (("FM08", "--codes", "A", "--frequency", "M", "--out", "all.csv"), "--frequency"),
        (("FM08", "--layers", "0", "--frequency", "M", "--out", "all.csv"), "--layers '0'"),
        (("FM08", "--layers", "*", "--frequency", "X", "--out", "all.csv"), "--frequency must"),
        (("FM08", "--codes", "A", "--layers", "*", "--out", "all.csv"), "not allowed"),
        (("FM08", "--codes", "A"), "--out"),
        (("FM08", "--out", "all.csv"), "--codes"),
        (("FM08", "--codes", "A", "--boj-base-url", "ftp://x", "--out", "all.csv"), "http"),
        (("FM08", "--codes", "A", "--boj-retry-max", "many", "--out", "all.csv"), "--boj-retry-max"),
        (("FM08", "--codes", "A", "--out", "all.csv", "--speed"), "--speed"),
    ],
)
def test_a_mistake_of_use_is_told_in_a_sentence_with_status_2(tmp_path: Path, args: tuple[str, ...], word: str) -> None:
    (tmp_path / "folder.csv").mkdir()

    done = signet_here(tmp_path, "boj", "fetch", *args)

    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert word in done.stderr.decode()
    assert left_in(tmp_path) == ["folder.csv"]


def test_a_folder_that_is_not_there_is_told_before_anybody_is_asked(bank: Bank, tmp_path: Path) -> None:
    done = fetch(bank, tmp_path / "nowhere" / "all.csv")

    assert done.returncode == 1
    assert b"nowhere" in done.stderr
    assert bank.asked() == []


def without(folder: Path, *names: str) -> dict[str, str]:
    """An environment in which packages are not installed."""
    for name in names:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"raise ImportError('no {name} here')\n")
    return {"PYTHONPATH": str(folder)}


def test_parquet_without_pyarrow_says_what_to_install(bank: Bank, tmp_path: Path) -> None:
    done = run(*command(bank, tmp_path / "all.parquet")[1:], env=without(tmp_path, "pyarrow"))

    assert done.returncode == 2
    assert re.search(r"pip install .*\[parquet\]', or write .csv or .json$", done.stderr.decode())
    assert bank.asked() == []


# --- plot ---------------------------------------------------------------------------------------

INDEXES = ("plot", "FM09", "--codes", "FX180110001,FX180110002", "--start", "200001", "--end", "200912")
SAMPLES = ("plot", "FM08", "--codes", "SAMPLE_FXM01", "--start", "202001", "--end", "202012")
"""A year in which one month is missing."""


def plot(bank: Bank, *args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    done = run_here("boj", *args, "--boj-base-url", bank.url, env=env)
    assert b"Traceback" not in done.stderr, done.stderr
    return done


def test_a_pipe_gets_the_series_drawn_in_plain_text(bank: Bank) -> None:
    done = run("boj", *INDEXES, "--boj-base-url", bank.url)

    told = done.stdout.decode()
    lines = told.splitlines()
    assert done.returncode == 0
    assert "\x1b" not in told
    assert lines[0] == "FM09  Effective Exchange Rate"
    assert lines[1] == "Unit: CY 2020=100"
    assert "2000" in lines[-7]
    assert lines[-6:] == [
        "  ** FX180110001  Nominal Effective Exchange Rate",
        "  ++ FX180110002  Real Effective Exchange Rate",
        "Periods: one value per month, 2000-01 to 2009-12",
        "Language: names and units in English (--lang jp: in Japanese)",
        f"Source: {shaped(bank.url)}",
        CREDIT,
    ]
    assert told.count("*") > 20
    assert told.count("+") > 20
    assert max(map(len, lines[:-1])) <= 100


def test_a_terminal_gets_the_series_drawn_in_colours(bank: Bank) -> None:
    seen = shown_on_a_terminal("boj", *INDEXES, "--boj-base-url", bank.url, stream="stdout")

    assert "\x1b[38;5;" in seen
    assert "FX180110002  Real Effective Exchange Rate" in seen


def test_a_missing_value_is_a_gap_in_the_drawing(bank: Bank) -> None:
    """March is missing: in some column between two that are drawn, nothing is."""
    done = plot(bank, *SAMPLES, env={"COLUMNS": "110"})

    canvas = [line.split("┤")[-1].split("│")[1 if "┤" not in line else 0] for line in done.stdout.decode().splitlines()
              if line.endswith("│")]  # fmt: skip
    columns = ["*" in column for column in map("".join, zip(*canvas, strict=True))]
    drawn = "".join("*" if one else " " for one in columns).strip()
    assert len(drawn.split()) == 2


def test_series_of_two_units_stand_in_two_panels(bank: Bank) -> None:
    done = plot(bank, "plot", "FM08", "--codes", "FXERD01,FXERD06", "--start", "202601")

    lines = done.stdout.decode().splitlines()
    assert [line for line in lines if line.startswith("Unit: ")] == [
        "Unit: Yen per U.S. Dollar", "Unit: million U.S. Dollars",
    ]  # fmt: skip


def test_a_png_is_a_picture(bank: Bank, tmp_path: Path) -> None:
    out = tmp_path / "rates.png"

    done = plot(bank, *INDEXES, "--out", str(out))

    assert done.returncode == 0, done.stderr
    with Image.open(out) as picture:
        picture.load()
        assert (picture.format, picture.size[0]) == ("PNG", 1350)
        assert len(picture.convert("RGB").getcolors(1 << 20) or []) > 10, "it is not blank"
    assert left_in(tmp_path) == ["rates.png"]


def test_an_svg_is_a_picture_with_names_source_and_credit_and_always_the_same(bank: Bank, tmp_path: Path) -> None:
    first, second = tmp_path / "one.svg", tmp_path / "two.SVG"
    asked = ("boj", *INDEXES, "--boj-base-url", bank.url, "--out")

    here, apart = run_here(*asked, str(first)), run(*asked, str(second))

    assert (here.returncode, apart.returncode) == (0, 0)

    text = first.read_text()
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    for told in ("FM09", "Nominal Effective Exchange Rate", "CY 2020=100", shaped(bank.url), CREDIT):
        assert f"{told}" in text
    assert "sample data" not in text
    assert first.read_bytes() == second.read_bytes()


def test_a_picture_of_sample_data_is_labelled_so(tmp_path: Path) -> None:
    out = tmp_path / "rates.svg"

    done = run("boj", *INDEXES, "--sandbox", "--out", str(out))

    assert done.returncode == 0, done.stderr
    assert b"(sample data)" in done.stdout.splitlines()[0]
    assert "<!-- sample data -->" in out.read_text()


def test_the_picture_in_the_docs_is_drawn_by_its_script(tmp_path: Path) -> None:
    out = tmp_path / "drawn.png"

    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/plot_picture.py"), str(out)],
        capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    with Image.open(out) as drawn, Image.open(ROOT / "docs/images/boj-plot.png") as kept:
        assert drawn.size == kept.size


def test_japanese_names_need_a_font_that_has_them(bank: Bank, tmp_path: Path) -> None:
    """In text they are as they are; in a picture they would be boxes."""
    there_is_one = bool(set(JAPANESE_FONTS) & set(get_font_names()))

    text = plot(bank, *INDEXES, "--lang", "jp")
    picture = plot(bank, *INDEXES, "--lang", "jp", "--out", str(tmp_path / "rates.png"))

    assert "名目実効為替レート" in text.stdout.decode()
    assert picture.returncode == (0 if there_is_one else 2)
    assert there_is_one or b"no font with Japanese characters" in picture.stderr
    assert len(picture.stderr.splitlines()) == 1, "nothing of what matplotlib says of its fonts"


@pytest.mark.parametrize(
    ("args", "status", "word"),
    [
        (("plot", "FM08", "--codes", "NOPE"), 1, "M181013E"),
        (("plot", "FM08", "--codes", "FXERD01", "--start", "195001", "--end", "195001"), 1, "nothing to draw"),
        (("plot", "FM08", "--codes", ",".join(["FXERD01"] * 17)), 2, "fewer --codes"),
        (("plot", "FM08", "--codes", "FXERD01", "--out", "rates.pdf"), 2, ".svg"),
        (("plot", "FM08", "--codes", "FXERD01", "--start", "202601", "--out", "/nowhere/rates.svg"), 1, "nowhere"),
        (("plot", "FM08"), 2, "--codes"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_a_sentence(bank: Bank, args: tuple[str, ...], status: int, word: str) -> None:
    done = plot(bank, *args)

    assert (done.returncode, done.stdout) == (status, b"")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert word in done.stderr.decode()


@pytest.mark.parametrize("missing", ["plotext", "matplotlib"])
def test_drawing_without_its_packages_says_what_to_install(bank: Bank, tmp_path: Path, missing: str) -> None:
    asked = ("boj", *INDEXES, "--boj-base-url", bank.url, "--out", str(tmp_path / "rates.png"))

    done = run(*asked, env=without(tmp_path, missing))

    assert done.returncode == 2
    assert re.search(r"pip install .*\[plot\]'$", done.stderr.decode())
    assert bank.asked() == []


def test_a_reader_who_has_had_enough_of_a_fetch_is_told_nothing_that_is_not_so(bank: Bank, tmp_path: Path) -> None:
    """Nothing is kept of what went to standard output, so that no command goes on with it."""
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [SIGNET, "boj", "fetch", "FM08", "--codes", "FXERD01", "--boj-base-url", bank.url, "--out", "-"],
        stdout=writing, stderr=subprocess.PIPE, env=clean_env(), timeout=PATIENCE_S, check=False, cwd=tmp_path,
    )  # fmt: skip
    os.close(writing)

    assert done.returncode == 1
    assert [line.partition(" so far")[1] for line in done.stderr.decode().splitlines()] == [" so far"]
    assert list(tmp_path.iterdir()) == []


def test_a_fetch_to_standard_output_that_fails_names_no_file(bank: Bank) -> None:
    done = run("boj", "fetch", "FAIL503", "--codes", "A", "--boj-base-url", bank.url, "--out", "-")

    assert done.returncode == 1
    assert "the same command" not in done.stderr.decode()
    assert "part" not in done.stderr.decode()


def test_a_reader_who_has_had_enough_of_a_drawing_still_gets_the_picture(bank: Bank, tmp_path: Path) -> None:
    out = tmp_path / "rates.svg"
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [SIGNET, "boj", *INDEXES, "--boj-base-url", bank.url, "--out", str(out)],
        stdout=writing, stderr=subprocess.PIPE, env=clean_env(), timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    os.close(writing)

    assert done.stderr == f"signet: wrote {out}\n".encode()
    assert out.exists()


# --- what is drawn where ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frequency", "first", "last", "ticks"),
    [
        ("ANNUAL", "2001", "2004", ["2001", "2002", "2003", "2004"]),
        ("ANNUAL(MAR)", "1975", "2025", ["1980", "1990", "2000", "2010", "2020"]),
        ("SEMIANNUAL", "202001", "202102", ["2020 H1", "2020 H2", "2021 H1", "2021 H2"]),
        ("SEMIANNUAL(SEP)", "201301", "202501", ["2014", "2016", "2018", "2020", "2022", "2024"]),
        ("QUARTERLY", "202302", "202403", ["2023 Q2", "2023 Q3", "2023 Q4", "2024 Q1", "2024 Q2", "2024 Q3"]),
        ("QUARTERLY", "202002", "202403", ["2021", "2022", "2023", "2024"]),
        ("MONTHLY", "202411", "202503", ["2024-11", "2024-12", "2025-01", "2025-02", "2025-03"]),
        ("MONTHLY", "202311", "202503", ["2024-01", "2024-04", "2024-07", "2024-10", "2025-01"]),
        ("WEEKLY(MONDAY)", "20240101", "20240129",
         ["2024-01-01", "2024-01-08", "2024-01-15", "2024-01-22", "2024-01-29"]),
        ("DAILY", "20240227", "20240301", ["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"]),
        ("DAILY", "20240102", "20240701", ["2024-02", "2024-03", "2024-04", "2024-05", "2024-06", "2024-07"]),
        ("DAILY", "18821011", "20261008", ["1900", "1925", "1950", "1975", "2000", "2025"]),
    ],
)  # fmt: skip
def test_dates_on_the_axis_are_those_of_the_frequency(frequency: str, first: str, last: str, ticks: list[str]) -> None:
    scale = scale_of(frequency)

    found = scale.ticks(scale.place(first), scale.place(last), 6)

    assert [text for _, text in found] == ticks
    assert all(scale.place(first) <= place <= scale.place(last) for place, _ in found)


@pytest.mark.parametrize(
    ("frequency", "label"),
    [("MONTHLY", "202413"), ("QUARTERLY", "202405"), ("DAILY", "20240230"), ("ANNUAL", "x"), ("HOURLY", "1")],
)
def test_a_date_that_is_none_is_not_drawn(frequency: str, label: str) -> None:
    with pytest.raises(Fault):
        scale_of(frequency).place(label)


@pytest.mark.parametrize(
    ("frequency", "values", "runs"),
    [
        ("MONTHLY", {"202401": "1", "202402": None, "202403": "0", "202404": "3"}, [[1], [0, 3]]),
        ("MONTHLY", {"202401": "1", "202403": "2"}, [[1], [2]]),
        ("DAILY", {"20240105": "1", "20240106": None, "20240107": None, "20240108": "2"}, [[1, 2]]),
        ("DAILY", {"20240104": "1", "20240105": None, "20240106": None, "20240108": "2"}, [[1], [2]]),
        ("WEEKLY(FRIDAY)", {"20240105": "1", "20240112": "2", "20240126": "3"}, [[1, 2], [3]]),
    ],
    ids=["null", "no row", "weekend", "holiday", "week"],
)
def test_a_curve_is_cut_where_a_value_is_missing(
    frequency: str, values: dict[str, str | None], runs: list[list[float]]
) -> None:
    """Zero is a value; a weekend in a daily series is no gap."""
    chart = chart_of(QUESTION, [series_of(frequency, values)])

    (curve,) = chart.panels[0].curves
    assert [[value for _, value in run] for run in curve.runs] == runs


@pytest.mark.parametrize("value", ["n.a.", "NaN", "Infinity", "1e999", "-1e999", "1e301", "-1.7e308"])
def test_what_is_no_number_or_too_large_a_one_is_not_drawn(value: str) -> None:
    with pytest.raises(Fault) as caught:
        chart_of(QUESTION, [series_of("MONTHLY", {"202401": "1", "202402": value})])

    assert (caught.value.code, f"'{value}'" in caught.value.message) == (Code.INVALID_OUTPUT, True)


@pytest.mark.parametrize("value", ["5", "12345678", "1234567890.5", "-123456789012"])
def test_the_unit_stands_within_the_picture_whatever_the_numbers_are(value: str) -> None:
    chart = chart_of(QUESTION, [series_of("MONTHLY", {"202401": "1", "202402": value})])

    figure = _figure(chart)

    figure.draw_without_rendering()
    for axes in figure.axes:
        unit = axes.yaxis.label.get_window_extent()
        numbers = [label.get_window_extent() for label in axes.get_yticklabels()]
        assert unit.x0 >= 0
        assert all(unit.x1 <= number.x0 for number in numbers)


@pytest.mark.parametrize("color", [False, True], ids=["signs", "colours"])
@pytest.mark.parametrize("values", [("1e300", "-1e300"), ("1e300", "1e300"), ("5e-324", "-5e-324")], ids=" ".join)
def test_the_largest_numbers_and_the_smallest_are_drawn(values: tuple[str, str], color: bool) -> None:
    chart = chart_of(QUESTION, [series_of("MONTHLY", dict(zip(("202401", "202402"), values, strict=True)))])
    picture = io.BytesIO()

    text = draw_text(plotext, chart, (80, 20), color=color)
    paint(chart, picture, "svg")

    assert text.startswith("X\n")
    assert picture.getvalue().endswith(b"</svg>\n")


def test_a_value_beyond_all_doubles_is_told_and_not_drawn(bank: Bank) -> None:
    series = '{"SERIES_CODE":"A","FREQUENCY":"MONTHLY","VALUES":{"SURVEY_DATES":[202401,202402],"VALUES":[1,1e999]}}'
    bank.order("answer", body=f'{{"STATUS":200,"RESULTSET":[{series}]}}')

    done = plot(bank, "plot", "FM09", "--codes", "A")

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"signet: series A has the value '1e999', which is too large to draw\n"


# --- the command itself -------------------------------------------------------------------------


def test_the_credit_is_the_same_wherever_it_is_shown() -> None:
    assert boj_mcp.CREDIT == CREDIT
    assert CREDIT in " ".join(run_here("boj", "--help").stdout.decode().split())


@pytest.mark.parametrize("command", ["databases", "fetch", "plot"])
def test_each_command_has_help_of_its_own(command: str) -> None:
    done = run("boj", command, "--help")

    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: signet boj {command} ".encode())


def test_other_commands_load_nothing_of_it() -> None:
    probe = """
import sys
from signet.commands.cli import parser
parser(["stdio"]); parser(["--help"])
print([name for name in sys.modules if name.startswith("signet.commands.boj")])
"""

    done = subprocess.run([BIN / "python", "-c", probe], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_asking_for_help_loads_nothing_heavy() -> None:
    probe = """
import sys
from signet.commands.cli import parser
parser(["boj"])
print({"rich", "matplotlib", "plotext", "pyarrow", "aiohttp", "asyncio", "msgspec"} & set(sys.modules))
"""

    done = subprocess.run([BIN / "python", "-c", probe], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
