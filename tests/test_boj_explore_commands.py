"""`signet boj search`, `info` and `index` as a person types them, against a played Bank in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands_in_process import run_here
from processes import PATIENCE_S, SIGNET, Server, clean_env, run, serving_command
from signet.commands.boj import command
from signet.toolsets.boj_explore.columns import UNITS
from terminals import run_on_terminal


@pytest.fixture(scope="module")
def process() -> Iterator[Server]:
    with serving_command(SIGNET, "sandbox", "boj") as server:
        yield server


@pytest.fixture
def bank(process: Server) -> Server:
    for path in ("/_sandbox/faults", "/_sandbox/requests"):
        assert process.ask("DELETE", path).status == 204
    return process


@pytest.fixture(scope="module")
def folder(process: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the whole index."""
    folder = tmp_path_factory.mktemp("index")
    done = run("boj", "index", "--boj-index-dir", str(folder), "--boj-base-url", process.url)
    assert done.returncode == 0, done.stderr
    assert b"50 of 50 databases with 4,234 series are indexed" in done.stderr
    return folder


def test_an_index_without_a_folder_is_not_kept() -> None:
    done = run("boj", "index", "--sandbox")

    (*_, last) = done.stderr.decode().splitlines()
    extent = "signet: 50 of 50 databases with 4,234 series are indexed"
    assert last == f"{extent}; the index is not kept: write --boj-index-dir DIR to keep it"


def listed(bank: Server) -> list[str]:
    """The databases whose lists were asked for."""
    seen = bank.ask("GET", "/_sandbox/requests").json()["requests"]
    return [one["target"].rpartition("db=")[2] for one in seen if "getMetadata" in one["target"]]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_index_that_is_broken_off_goes_on(bank: Server, tmp_path: Path, how: signal.Signals) -> None:
    assert bank.post("/_sandbox/faults", {"fault": "hang", "match": "db=FM05", "times": 1}).status == 201
    command = [SIGNET, "boj", "index", "--boj-index-dir", str(tmp_path), "--boj-base-url", bank.url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=clean_env()) as process:
        deadline = time.monotonic() + PATIENCE_S
        while "FM05" not in listed(bank):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(how)
        _, said = process.communicate(timeout=PATIENCE_S)
    before = listed(bank)
    assert bank.ask("DELETE", "/_sandbox/requests").status == 204

    done = run_here(*command[1:])

    assert done.returncode == 0, done.stderr
    assert b"50 of 50 databases" in done.stderr
    assert (process.returncode, b"the same command goes on" in said) == (
        (130, True) if how is signal.SIGINT else (-signal.SIGKILL, False)
    )
    after = listed(bank)
    assert before[-1] == "FM05"
    assert len(before) + len(after) == 51, "the list that did not come is asked for again, and no other"
    assert not list(tmp_path.glob("*/*.new-*"))


def test_an_index_that_is_there_asks_nobody(bank: Server, folder: Path) -> None:
    done = run_here("boj", "index", "--boj-index-dir", str(folder), "--boj-base-url", bank.url)

    assert done.returncode == 0
    assert listed(bank) == []


def test_an_index_that_cannot_be_written_is_told_with_its_folder(bank: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    done = run_here("boj", "index", "--boj-index-dir", str(tmp_path / "file"), "--boj-base-url", bank.url)

    assert done.returncode == 1
    assert f"{tmp_path / 'file'}/" in done.stderr.decode()
    assert b"the index cannot be written (" in done.stderr


@pytest.mark.parametrize(
    ("words", "code"), [(("dollar", "yen"), "FXERD01"), (("ドル円",), "FXERD01"), (("短観",), "TK99F1000601GCQ01000")]
)
def test_a_search_prints_a_line_for_each_series(bank: Server, folder: Path, words: tuple[str, ...], code: str) -> None:
    done = run_here("boj", "search", *words, "--limit", "2", "--boj-index-dir", str(folder), "--boj-base-url", bank.url)

    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.decode().splitlines()]
    assert (len(lines), lines[0][1]) == (2, code)
    assert listed(bank) == []


def test_a_search_on_a_terminal_of_80_columns_keeps_words_and_codes_whole(bank: Server, folder: Path) -> None:
    where = ("--boj-index-dir", str(folder), "--boj-base-url", bank.url)

    status, seen = run_on_terminal("boj", "search", "短観", "--limit", "2", *where)

    assert status == 0
    lines = [line.rstrip() for line in seen.splitlines()]
    assert lines[0].split() == ["series", "name", "in", "both", "languages;", "unit;", "frequency,", "periods"]
    words = " ".join(" ".join(lines).split())
    assert "CO:TK99F1000601GCQ01000 D.I./Business Conditions/Large" in words
    assert "Enterprises/Manufacturing/Actual" in words
    assert "D.I./業況/大企業/製造業/実績 % points; Q, 197402 to 202603" in words
    assert len(lines) <= 1 + 2 * 4 + 1, "four lines for a hit at most, and the number of all hits"


def test_a_search_is_given_as_json_too(bank: Server, folder: Path) -> None:
    done = run_here(
        "boj", "search", "yen", "--frequency", "m", "--json", "--boj-index-dir", str(folder), "--boj-base-url", bank.url
    )

    found = json.loads(done.stdout)
    assert {hit["frequency"] for hit in found["hits"]} == {"M"}
    assert found["index"]["missing"] == []


def test_a_search_that_finds_nothing_fails_with_the_closest_codes(bank: Server, folder: Path) -> None:
    done = run_here("boj", "search", "FXERD1", "--boj-index-dir", str(folder), "--boj-base-url", bank.url)

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"did you mean FM08:FXERD01" in done.stderr


def test_info_shows_what_the_bank_says(bank: Server) -> None:
    """Without an index one list is asked for, that of the database."""
    done = run("boj", "info", "fm08", "FXERD01", "FXERD1", "--boj-base-url", bank.url)

    shown = done.stdout.decode()
    assert done.returncode == 1, "one of the codes is none"
    assert "東京市場　ドル・円　スポット　9時時点" in shown
    assert "Yen per U.S. Dollar" in shown
    assert "19990101 to 20261008" in shown
    assert b"did you mean FM08:FXERD01" in done.stderr
    assert listed(bank) == ["FM08"]


@pytest.mark.parametrize("code", ["FM08:FXERD01", "FM08'FXERD01"])
def test_a_code_may_be_written_after_its_database(bank: Server, tmp_path: Path, code: str) -> None:
    out = ("--start", "202610", "--out", str(tmp_path / "x.csv"))

    info = run_here("boj", "info", "FM08", code, "--boj-base-url", bank.url)
    fetch = run_here("boj", "fetch", "FM08", "--codes", f"{code},FXERD02", *out, "--boj-base-url", bank.url)
    other = run_here("boj", "info", "FM01", code, "--boj-base-url", bank.url)

    assert info.stdout.startswith(b"FM08:FXERD01\n")
    assert fetch.returncode == 0, fetch.stderr
    assert b"\nFXERD01," in (tmp_path / "x.csv").read_bytes()
    assert other.returncode == 2
    assert b"is a series of FM08, not of FM01" in other.stderr


def test_a_fetch_of_an_unknown_code_names_the_closest_ones(bank: Server, tmp_path: Path) -> None:
    done = run_here(
        "boj",
        "fetch",
        "FM08",
        "--codes",
        "FXERD01,FXERD2",
        "--out",
        str(tmp_path / "x.csv"),
        "--boj-base-url",
        bank.url,
    )

    assert done.returncode == 1
    assert b"no series FXERD2 in FM08 (M181013E); did you mean FM08:FXERD02" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_none_is_told(bank: Server) -> None:
    done = run_here("boj", "info", "FM99", "X", "--boj-base-url", bank.url)

    assert done.returncode == 1
    assert b"there is no database 'FM99'" in done.stderr


def test_the_flag_offers_the_units_of_the_tool() -> None:
    assert command.UNITS == UNITS
