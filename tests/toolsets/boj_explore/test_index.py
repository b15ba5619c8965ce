"""The index: built from the played Bank's lists, searched, interrupted, resumed, shared, spoilt and made anew."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from boj_harness import BojHarness, boj_sandbox
from processes import PATIENCE_S, serving
from signet.kernel.errors import Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.recording import open_run
from signet.settings.model import Settings, open_log
from signet.system.files import user_cache
from signet.toolsets.boj.models import MetadataEntry
from signet.toolsets.boj_explore import crawl, lists, store
from signet.toolsets.boj_explore import shelf as shelf_module
from signet.toolsets.boj_explore.lists import read_rows
from signet.toolsets.boj_explore.service import (
    FoundCodes,
    FoundSeries,
    IndexState,
    open_shelf,
)
from signet.toolsets.boj_explore.shelf import ORDER, Shelf, folder_of
from signet.toolsets.boj_explore.upstream import IndexUpstream, index_request
from signet.toolsets.boj_explore.words import read_query
from signet.upstream.http import HttpUpstream

LISTED = "/api/v1/getMetadata"


@pytest.fixture(scope="module")
def process() -> Iterator[BojHarness]:
    with boj_sandbox() as harness:
        yield harness


@pytest.fixture
def bank(process: BojHarness) -> BojHarness:
    process.clear()
    return process


def opened(bank: BojHarness, folder: Path | None = None, **settings: str) -> IndexUpstream:
    flags = {"boj_base_url": bank.url, "toolsets": "boj-explore", "boj_retry_backoff_ms": "0", **settings}
    if folder is not None:
        flags["boj_index_dir"] = str(folder)
    read = Settings.read({}, flags)
    (enabled,) = read.enabled()
    service = open_run(read, open_log(read)).runtime(enabled).upstream
    assert isinstance(service, IndexUpstream)
    return service


def using(service: IndexUpstream, work: Callable[[IndexUpstream], Coroutine[Any, Any, Any]]) -> Any:
    async def run() -> Any:
        try:
            return await work(service)
        finally:
            await service.close()

    return asyncio.run(run())


async def built(service: IndexUpstream, **more: object) -> IndexState:
    answer = await service.send(index_request("build", wait_ms=60_000, **more))
    return msgspec.json.decode(answer.body, type=IndexState)


async def searched(service: IndexUpstream, query: str, **more: object) -> FoundSeries:
    answer = await service.send(index_request("search", q=query, **more))
    return msgspec.json.decode(answer.body, type=FoundSeries)


def listed(bank: BojHarness) -> list[str]:
    """The databases whose lists were asked for, in order."""
    return [target.rpartition("db=")[2] for target in bank.targets() if target.startswith(LISTED)]


@pytest.fixture(scope="module")
def full(process: BojHarness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the whole index."""
    process.clear()
    folder = tmp_path_factory.mktemp("index")
    state = using(opened(process, folder), built)
    assert (state.databases, state.missing, state.trouble) == (50, [], "")
    return folder


# --- searching


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("dollar yen", "FXERD01"),
        ("USD/JPY", "FXERD01"),
        ("ドル円", "FXERD01"),
        ("ドル・円", "FXERD01"),
        ("ﾄﾞﾙ円", "FXERD01"),
        ("最高値", "FXERD02"),
        ("fxerd07", "FXERD07"),
        ("tankan", "TK99F1000601GCQ01000"),
        ("短観", "TK99F1000601GCQ01000"),
        ("業況", "TK99F1000601GCQ01000"),
        ("業況 非製造業", "TK99F2000601GCQ01000"),
        ("大企業非製造業業況", "TK99F2000601GCQ01000"),
        ("business conditions large nonmanufacturing", "TK99F2000601GCQ01000"),
        ("経常収支", "BPBP6JYNCB"),
        ("current account", "BPBP6JYNCB"),
        ("輸出", "BPBP6JYNEX"),
        ("call rate", "STRDCLUCON"),
        ("コールレート", "STRDCLUCON"),
    ],
)
def test_a_question_in_either_language_finds_its_series_first(
    full: Path, bank: BojHarness, query: str, code: str
) -> None:
    shelf = open_shelf(msgspec.convert({"index_dir": str(full)}, type(opened(bank).index.crawl._settings)), bank.url)
    shelf.facts()

    found = shelf.search(read_query(query), None, None, 5)

    assert found.hits[0].code == code
    shelf.close()


def test_a_search_can_be_narrowed(full: Path, bank: BojHarness) -> None:
    async def work(service: IndexUpstream) -> list[FoundSeries]:
        return [
            await searched(service, "rate", db="FM01", limit=50),
            await searched(service, "yen", frequency="M", limit=50),
            await searched(service, "yen", limit=2),
        ]

    by_database, by_frequency, few = using(opened(bank, full), work)

    assert {hit.db for hit in by_database.hits} == {"FM01"}
    assert {hit.frequency for hit in by_frequency.hits} == {"M"}
    assert len(few.hits) == 2 < few.total
    assert bank.requests() == (), "a whole and fresh index asks nobody"


def test_a_hit_has_all_that_the_list_says(full: Path, bank: BojHarness) -> None:
    found = using(opened(bank, full), lambda service: searched(service, "TK99F1000601GCQ01000"))

    (hit,) = found.hits
    assert (hit.db, hit.name, hit.name_j, hit.unit, hit.frequency, hit.start, hit.end) == (
        "CO", "D.I./Business Conditions/Large Enterprises/Manufacturing/Actual result", "D.I./業況/大企業/製造業/実績",
        "% points", "Q", "197402", "202603",
    )  # fmt: skip
    assert hit.path == ["TANKAN, All Enterprises", "Judgement Survey"]
    assert hit.path_j == ["全国短観", "判断項目"]
    assert found.index.built_at == "2026-02-19T09:00:06.669+09:00"


@pytest.mark.parametrize(
    ("code", "db", "best"),
    [
        ("FXERD1", "FM08", "FXERD01"), ("FXERD1", None, "FXERD01"), ("FXRED02", "FM08", "FXERD02"),
        ("TK99F1000601GCQ0100", "CO", "TK99F1000601GCQ01000"), ("fxerd001", "FM08", "FXERD01"),
    ],
)  # fmt: skip
def test_a_code_that_is_nearly_right_has_the_right_one_beside_it(
    full: Path, bank: BojHarness, code: str, db: str | None, best: str
) -> None:
    async def work(service: IndexUpstream) -> FoundCodes:
        answer = await service.send(index_request("find", codes=code, db=db))
        return msgspec.json.decode(answer.body, type=FoundCodes)

    (found,) = using(opened(bank, full), work).codes

    assert found.series == []
    assert found.closest[0].code == best


@pytest.fixture(scope="module")
def large() -> Iterator[Shelf]:
    """A database of 60,000 codes that begin and end alike."""
    shelf = Shelf(None)
    codes = [f"TK99F{number:07}GCQ0{end}000" for number in range(20_000) for end in range(3)]
    nothing: dict[str, Any] = dict.fromkeys(MetadataEntry.__struct_fields__)
    shelf.put("CO", "", lambda: (MetadataEntry(**{**nothing, "series_code": code, "extras": {}}) for code in codes))
    yield shelf
    shelf.close()


@pytest.mark.parametrize(
    "code",
    [
        "TK99F0018765GCQ0100", "TK99F0018765GCQ010000", "TK99F001876SGCQ01000", "TK99F0O18765GCQ01000",
        "KT99F0018765GCQ01000", "K99F0018765GCQ01000", "TK99F0018765GQC01000", "tk99f0018765gcq1000",
    ],
)  # fmt: skip
def test_a_misprint_is_mended_in_a_large_database_too(large: Shelf, code: str) -> None:
    assert "TK99F0018765GCQ01000" in [series.code for series in large.nearest(code, "CO", 12)]


def test_words_that_fts5_would_read_as_its_own_are_words(full: Path, bank: BojHarness) -> None:
    for query in ('"', 'a" OR "b', "NEAR(x y)", "col:x", "*", "-x", "'; DROP TABLE series; --", "%", "\x00", "AND"):
        assert using(opened(bank, full), lambda service, query=query: searched(service, query)).total >= 0


# --- building


def test_the_likely_database_is_asked_for_first() -> None:
    async def work(service: IndexUpstream) -> None:
        await service.send(index_request("build", q="dollar yen", wait_ms=0))
        await service.send(index_request("build", q="dollar yen", db="FM08", wait_ms=60_000))

    # A Bank of its own: the crawl is cut off with a request on its way, which no other test is to see.
    with boj_sandbox() as bank:
        using(opened(bank), work)

        assert listed(bank)[0] == "FM08"


def test_one_database_can_be_asked_for_alone(bank: BojHarness) -> None:
    state = using(opened(bank), lambda service: built(service, db="FM01", only=1))

    assert listed(bank) == ["FM01"]
    assert state.databases == 1
    assert "FM01" not in state.missing


def test_what_an_interruption_left_is_gone_on_with(bank: BojHarness, tmp_path: Path) -> None:
    """The crawl is cut off while it waits for a list that never comes."""
    bank.order("hang", match="db=FM05")

    async def cut(service: IndexUpstream) -> None:
        build = asyncio.ensure_future(service.send(index_request("build", wait_ms=60_000)))
        await asyncio.to_thread(bank.once, lambda seen: any("db=FM05" in one.target for one in seen))
        build.cancel()

    using(opened(bank, tmp_path), cut)
    before = listed(bank)
    bank.clear()

    state = using(opened(bank, tmp_path), built)

    assert state.missing == []
    assert before[-1] == "FM05"
    assert sorted([*before[:-1], *listed(bank)]) == sorted(ORDER), "nothing is asked for twice, but what did not come"


def test_a_server_that_goes_on_living_goes_on_building(bank: BojHarness) -> None:
    async def work(service: IndexUpstream) -> IndexState:
        await service.send(index_request("build", wait_ms=0))
        await asyncio.to_thread(bank.once, lambda seen: len(seen) == len(ORDER))
        return await built(service)

    assert using(opened(bank), work).databases == 50
    assert sorted(listed(bank)) == sorted(ORDER)


def test_a_list_is_asked_for_again_when_it_is_old(bank: BojHarness, full: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(full, folder)
    (path,) = folder.glob("*/FM08.sqlite3")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE facts SET built_s = built_s - 8 * 86400")
    connection.close()

    async def work(service: IndexUpstream) -> IndexState:
        state = await built(service)
        await service.index.crawl.go(wait_s=60)
        return state

    state = using(opened(bank, folder), work)

    assert listed(bank) == ["FM08"]
    assert state.missing == [], "what is old is searched until it is replaced"


@pytest.mark.parametrize("spoilt", [b"", b"no database at all", None], ids=["empty", "text", "cut"])
def test_a_store_that_cannot_be_read_is_made_anew(
    bank: BojHarness, full: Path, tmp_path: Path, spoilt: bytes | None
) -> None:
    folder = tmp_path / "index"
    shutil.copytree(full, folder)
    (path,) = folder.glob("*/FM08.sqlite3")
    path.write_bytes(path.read_bytes()[:3000] if spoilt is None else spoilt)

    state = using(opened(bank, folder), built)

    assert state.missing == []
    assert listed(bank) == ["FM08"]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["FIFO", "folder"])
def test_what_is_no_file_in_the_place_of_a_store_stops_nothing(
    bank: BojHarness, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """A FIFO is opened for reading when somebody writes to it; SQLite would wait for that in a thread, for ever."""
    place = Path(folder_of(str(tmp_path), bank.url))
    place.mkdir()
    make(place / "FM08.sqlite3")
    flags = ("--toolsets", "boj-explore", "--boj-base-url", bank.url, "--boj-index-dir", str(tmp_path), "--no-journal")
    with serving(*flags) as server:
        found = server.post("/api/tools/boj_search", {"query": "FXERD01"})
        server.process.terminate()
        ended = server.process.wait(PATIENCE_S)

    assert (found.status, ended) == (200, 0)
    assert b"FXERD01" in found.body


def test_two_at_once_ask_for_each_list_once(bank: BojHarness, tmp_path: Path) -> None:
    async def both() -> list[IndexState]:
        services = [opened(bank, tmp_path), opened(bank, tmp_path)]
        try:
            return list(await asyncio.gather(*map(built, services)))
        finally:
            for service in services:
                await service.close()

    states = asyncio.run(both())

    assert [state.missing for state in states] == [[], []]
    assert sorted(listed(bank)) == sorted(ORDER)


def test_a_folder_that_cannot_be_written_leaves_an_index_in_memory(bank: BojHarness, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    async def work(service: IndexUpstream) -> tuple[IndexState, FoundSeries]:
        return await built(service), await searched(service, "ドル円")

    state, found = using(opened(bank, tmp_path / "file"), work)

    assert state.missing == []
    assert "cannot be written" in state.trouble
    assert found.hits[0].code == "FXERD01"


def test_a_store_that_the_disk_has_no_room_for_is_kept_in_memory(
    bank: BojHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself says that the disk is full, as it does at the limit of pages."""
    real = store.write_store

    def limited(path: str, *rest: Any) -> Any:
        with monkeypatch.context() as small:
            if path != ":memory:":
                small.setattr(store, "TABLES", "PRAGMA max_page_count=20;" + store.TABLES)
            return real(path, *rest)

    monkeypatch.setattr(shelf_module, "write_store", limited)

    state = using(opened(bank, tmp_path), lambda service: built(service, db="MD10", only=1))

    assert state.databases == 1
    assert "full" in state.trouble
    assert list(tmp_path.glob("*/*.new-*")) == []


def test_a_bank_that_cannot_be_reached_is_told_with_what_is_there(bank: BojHarness, full: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(full, folder)
    for name in ("FM01", "CO"):
        (path,) = folder.glob(f"*/{name}.sqlite3")
        path.unlink()
    bank.order("close")

    async def work(service: IndexUpstream) -> tuple[IndexState, FoundSeries]:
        return await built(service), await searched(service, "ドル円")

    state, found = using(opened(bank, folder), work)

    assert sorted(state.missing) == ["CO", "FM01"]
    assert "could not be asked" in state.trouble
    assert found.hits[0].code == "FXERD01"


def test_a_list_that_cannot_be_read_does_not_stop_the_others(bank: BojHarness) -> None:
    bank.order("not_json", match="db=FM05")

    state = using(opened(bank), built)

    assert state.missing == ["FM05"]
    assert "cannot be read" in state.trouble


def test_a_list_that_was_refused_once_comes_with_a_later_search(
    bank: BojHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl, "RETRY_S", 0.0)
    bank.order("not_json", match="db=CO", times=1)

    async def work(service: IndexUpstream) -> list[list[str]]:
        return [(await built(service)).missing, (await built(service)).missing]

    assert using(opened(bank), work) == [["CO"], []]
    assert listed(bank).count("CO") == 2
    assert len(listed(bank)) == 51


def test_lists_that_grow_old_while_the_server_lives_are_asked_for_again(
    bank: BojHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = time.time()

    async def work(service: IndexUpstream) -> None:
        await built(service)
        monkeypatch.setattr(time, "time", lambda: now_s + 400 * 86_400)
        await service.index.crawl.go(wait_s=60)

    using(opened(bank), work)

    assert sorted(listed(bank)) == sorted([*ORDER, *ORDER])


def test_lists_that_cannot_be_kept_are_not_asked_for_with_every_search(
    bank: BojHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(crawl, "RETRY_S", 3600.0)
    monkeypatch.setattr(shelf_module, "MAX_SERIES_IN_MEMORY", -1)

    async def work(service: IndexUpstream) -> list[IndexState]:
        return [await built(service), await built(service)]

    states = using(opened(bank, tmp_path / "file"), work)

    assert [state.databases for state in states] == [0, 0]
    assert sorted(listed(bank)) == sorted(ORDER)


def test_a_search_while_one_list_is_asked_for_gets_the_others_too(bank: BojHarness) -> None:
    async def work(service: IndexUpstream) -> IndexState:
        await service.send(index_request("build", db="FM08", only=1, wait_ms=0))
        return await built(service, q="tankan")

    assert using(opened(bank), work).missing == []
    assert sorted(listed(bank)) == sorted(ORDER)


# --- folders


def test_each_origin_has_a_folder_of_its_own() -> None:
    names = {folder_of("/r", origin) for origin in ("https://a.example", "https://b.example", "http://a.example:81/x")}

    assert len(names) == 3
    assert all(os.path.dirname(name) == "/r" for name in names)
    assert folder_of("/r", "https://../..") == "/r/_"


def test_the_index_is_in_the_users_cache_folder_but_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, bank: BojHarness
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    settings = opened(bank).index.crawl._settings

    assert user_cache("boj") == "/somewhere/signet/boj"
    assert (
        open_shelf(settings, "https://www.stat-search.boj.or.jp").folder
        == "/somewhere/signet/boj/www.stat-search.boj.or.jp"
    )
    assert open_shelf(settings, "http://127.0.0.1:8").folder is None
    assert open_shelf(settings, "http://localhost:8").folder is None


def test_files_of_the_index_are_the_users_alone(full: Path) -> None:
    (folder,) = full.iterdir()

    assert {path.stat().st_mode & 0o777 for path in folder.glob("*.sqlite3")} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


# --- lists


def test_a_list_larger_than_any_answer_of_the_tools_is_read_row_by_row() -> None:
    row = {"NAME_OF_TIME_SERIES": 'a "quoted" {name}', "FREQUENCY": "MONTHLY", **{f"X{n}": n for n in range(12)}}
    head = {"STATUS": 200, "MESSAGEID": "M181000I", "MESSAGE": "x", "DATE": "2026-02-19T9:00:06.669+09:00", "DB": "CO"}
    body = json.dumps({**head, "RESULTSET": [{**row, "SERIES_CODE": f"S{n}"} for n in range(60_000)]}).encode()

    rows = list(read_rows(UpstreamResponse(200, "application/json", body), "CO"))

    assert body.count(b",") > 700_000, "more than `boj_get_metadata` reads"
    assert len(rows) == 60_000
    assert (rows[-1].series_code, rows[-1].name_of_time_series) == ("S59999", 'a "quoted" {name}')


def test_the_limits_of_a_list_go_with_its_request() -> None:
    request = lists.request_list("CO")

    assert request.target == "/api/v1/getMetadata?lang=jp&db=CO"
    assert request.max_body_bytes > 99_000_000
    assert not request.is_plain, "so large a body is neither cached nor shared"


@pytest.mark.parametrize(("limit", "is_cut"), [(0, True), (1_000_000, False)])
def test_a_request_may_have_a_limit_of_its_own(bank: BojHarness, limit: int, is_cut: bool) -> None:
    async def ask() -> UpstreamResponse:
        client = HttpUpstream(UpstreamSpec(base_url=bank.url, max_body_bytes=100))
        try:
            return await client.send(UpstreamRequest("/api/v1/getMetadata?db=FM08", max_body_bytes=limit))
        finally:
            await client.close()

    response = asyncio.run(ask())

    assert response.cut is is_cut
    assert isinstance(response.body, bytes if is_cut else bytearray), "what is large is not copied"


def test_a_request_may_have_a_time_of_its_own(bank: BojHarness) -> None:
    bank.order("hang")

    async def ask() -> None:
        client = HttpUpstream(UpstreamSpec(base_url=bank.url, timeout_s=3600))
        try:
            await client.send(UpstreamRequest("/api/v1/getMetadata?db=FM08", timeout_s=0.05))
        finally:
            await client.close()

    with pytest.raises(Fault, match=r"within 0\.05 s"):
        asyncio.run(ask())


def test_an_sqlite_without_trigrams_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "TEXTS", store.TEXTS.replace("fts5", "fts6"))

    assert "FTS5" in store.check_sqlite()


def test_a_shelf_in_memory_has_no_folder() -> None:
    assert Shelf(None).facts() == {}
