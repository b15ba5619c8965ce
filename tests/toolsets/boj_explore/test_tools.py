"""The three tools, through the pipeline, with the played Bank behind them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from boj_harness import DATE, BojHarness, boj_sandbox
from signet.app import build_server, resolve
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Outcome
from signet.kernel.server import QUIET_CONTEXT, Server
from signet.settings.model import Settings
from signet.toolsets.boj.sources import CREDIT
from signet.toolsets.boj_explore import codes, series
from signet.toolsets.boj_explore.upstream import index_request

DI = "TK99F1000601GCQ01000"


class Explorer:
    """A server whose tools are called one after the other, in one event loop."""

    def __init__(self, runner: asyncio.Runner, server: Server) -> None:
        self._runner = runner
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.server = server

    def outcome(self, tool: str, **arguments: Any) -> Outcome:
        context = msgspec.structs.replace(QUIET_CONTEXT, progress=lambda *report: self.progress.append(report))

        async def call() -> Outcome:
            pending = self.server.pipeline.run(Call(tool, arguments, context))
            return pending if isinstance(pending, Outcome) else await pending

        return self._runner.run(call())

    def call(self, tool: str, **arguments: Any) -> Any:
        outcome = self.outcome(tool, **arguments)
        assert outcome.fault is None, outcome.fault
        return outcome.result

    def fault(self, tool: str, **arguments: Any) -> Fault:
        fault = self.outcome(tool, **arguments).fault
        assert fault is not None
        assert fault.as_tool_result, "a model reads it"
        return fault

    def close(self) -> None:
        self._runner.run(self.server.close())


@pytest.fixture(scope="module")
def process() -> Iterator[BojHarness]:
    with boj_sandbox() as harness:
        yield harness


@pytest.fixture(scope="module")
def explorer(process: BojHarness) -> Iterator[Explorer]:
    settings = Settings.read(
        {}, {"boj_base_url": process.url, "toolsets": "boj-explore", "boj_retry_backoff_ms": "0", "boj_cache_s": "0"}
    )
    with asyncio.Runner() as runner:
        explorer = Explorer(runner, build_server(settings))
        yield explorer
        explorer.close()


@pytest.fixture
def bank(process: BojHarness) -> BojHarness:
    process.clear()
    return process


def read(explorer: Explorer, *codes: str, **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = explorer.call("boj_get_series", codes=list(codes), **more)
    return result


# --- search and databases


def test_a_hit_leads_to_the_call_that_reads_it(explorer: Explorer) -> None:
    found = explorer.call("boj_search", query="ドル円", limit=1)
    (hit,) = found["hits"]

    answer = explorer.call(hit["next"]["tool"], **hit["next"]["arguments"], start="2026-10-01")

    assert found["total"] > 1
    assert found["index"] == {
        "databases": 50, "series": 4234, "built_at": "2026-02-19T09:00:06.669+09:00", "missing": [],
    }  # fmt: skip
    assert {key: hit[key] for key in ("code", "db", "name", "name_j", "unit", "frequency", "start", "end")} == {
        "code": "FXERD01", "db": "FM08", "name": "US.Dollar/Yen Spot Rate at 9:00 in JST, Tokyo Market",
        "name_j": "東京市場　ドル・円　スポット　9時時点", "unit": "Yen per U.S. Dollar", "frequency": "D",
        "start": "19990101", "end": "20261008",
    }  # fmt: skip
    assert answer["series"][0]["values"][:2] == ["157.56", "157.94"]


def test_a_search_that_finds_nothing_names_the_closest_codes(explorer: Explorer) -> None:
    found = explorer.call("boj_search", query="FXERD1")

    assert (found["hits"], found["total"], found["matched"]) == ([], 0, "none")
    assert found["closest"][0]["code"] == "FXERD01"
    assert "did you mean FM08:FXERD01" in found["note"]


def test_words_that_no_series_has_together_find_those_that_have_most(explorer: Explorer) -> None:
    found = explorer.call("boj_search", query="dollar yen spot banana")

    assert found["matched"] == "some"
    assert found["hits"][0]["code"] == "FXERD01"


def test_an_answer_says_what_is_not_indexed_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """One list is there, and the others do not come while the call waits."""
    monkeypatch.setattr(codes, "STEPS", 2)
    monkeypatch.setattr(codes, "STEP_MS", 10)
    with boj_sandbox() as bank, asyncio.Runner() as runner:
        settings = Settings.read({}, {"boj_base_url": bank.url, "toolsets": "boj-explore"})
        explorer = Explorer(runner, build_server(settings))
        first = explorer.server.upstreams[0].send(index_request("build", db="FM08", only=1, wait_ms=60_000))
        runner.run(asyncio.wait_for(first, None))
        bank.order("hang", match="getMetadata")

        found = explorer.call("boj_search", query="ドル円", limit=1)

        explorer.close()
    assert found["hits"][0]["code"] == "FXERD01"
    assert found["index"]["databases"] == 1
    assert len(found["index"]["missing"]) == 49
    assert "49 of 50 databases are not indexed yet: ask again" in found["note"]
    assert explorer.progress[0] == (1, 50, "1 of 50 databases are indexed")


def test_a_search_with_nothing_to_search_in_is_told(bank: BojHarness) -> None:
    bank.order("close")
    settings = Settings.read({}, {"boj_base_url": bank.url, "toolsets": "boj-explore", "boj_retry_max": "0"})
    with asyncio.Runner() as runner:
        explorer = Explorer(runner, build_server(settings))
        fault = explorer.fault("boj_search", query="ドル円")
        explorer.close()

    assert fault.code is Code.INTERNAL_ERROR
    assert "still empty: The Bank of Japan could not be asked" in fault.message


def test_a_database_that_is_none_is_told_with_those_that_are_alike(explorer: Explorer) -> None:
    fault = explorer.fault("boj_search", query="yen", db="FM8")

    assert fault.code is Code.NOT_FOUND
    assert "FM08 (Foreign Exchange Rates)" in fault.message


def test_databases_are_listed_by_words_of_either_language(explorer: Explorer, bank: BojHarness) -> None:
    every = explorer.call("boj_list_databases")["databases"]
    some = explorer.call("boj_list_databases", query="実効")
    none = explorer.call("boj_list_databases", query="banana")

    assert len(every) == 50
    assert some["note"] == ""
    assert some["databases"] == [
        {
            "code": "FM09", "name": "Effective Exchange Rate", "name_j": "実効為替レート",
            "category": "Financial Markets", "category_j": "マーケット関連",
        }
    ]  # fmt: skip
    assert none["databases"] == []
    assert "boj_search" in none["note"]
    assert bank.requests() == ()


def test_nulls_count_as_absent(explorer: Explorer) -> None:
    assert explorer.call("boj_list_databases", query=None) == explorer.call("boj_list_databases")


# --- series


@pytest.mark.parametrize(
    ("codes", "more"),
    [
        (["FXERD01"], {}),
        (["fxerd01"], {"db": "fm08"}),
        (["FM08'FXERD01"], {}),
        (["FM08:FXERD01"], {}),
        (["fm08：FXERD01"], {}),
        (["FM08\u2019FXERD01"], {"db": "CO"}),
        ([" FM08 : FXERD01 "], {}),
    ],
)
def test_a_code_may_be_written_as_people_write_it(explorer: Explorer, codes: list[str], more: dict[str, str]) -> None:
    answer = read(explorer, *codes, start="2026-10-01", end="2026-10-05", **more)

    assert answer["series"] == [
        {
            "code": "FXERD01", "db": "FM08", "name": "US.Dollar/Yen Spot Rate at 9:00 in JST, Tokyo Market",
            "unit": "Yen per U.S. Dollar", "frequency": "D",
            "periods": ["20261001", "20261002", "20261003", "20261004", "20261005"],
            "dates": ["2026-10-01", "2026-10-02", "2026-10-03", "2026-10-04", "2026-10-05"],
            "values": ["157.56", "157.94", None, None, "157.74"], "last_update": "20261009",
        }
    ]  # fmt: skip
    assert (answer["units"], answer["truncated"], answer["note"]) == ("level", False, "")


def test_a_series_that_is_written_in_two_ways_comes_once_and_in_its_place(explorer: Explorer) -> None:
    codes = ("FM08:FXERD02", "fm08:fxerd01", "FM08:FXERD01", "FM08'fxerd02", "FM08:FXERD03")

    answer = read(explorer, *codes, start="2026-10")

    assert [one["code"] for one in answer["series"]] == ["FXERD02", "FXERD01", "FXERD03"]


def test_series_that_are_asked_for_one_by_one_may_be_cut_too(bank: BojHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of a large database is not asked for, so that only the Bank knows that the frequencies differ."""
    monkeypatch.setattr(series, "MAX_PAGES", 1)
    body = json.loads(bank.body(f"/api/v1/getDataCode?lang=en&db=CO&code={DI}"))
    bank.refuses("M181014E", match="%2C", lang="en")
    bank.answers({**body, "NEXTPOSITION": 2}, match=f"code={DI}")
    settings = Settings.read({}, {"boj_base_url": bank.url, "toolsets": "boj-explore"})
    with asyncio.Runner() as runner:
        explorer = Explorer(runner, build_server(settings))
        answer = read(explorer, f"CO:{DI}", "CO:TK99F2000601GCQ01000")
        explorer.close()

    assert answer["truncated"]
    assert "the last series are not here" in answer["note"]


def test_clients_are_not_told_where_the_index_is(bank: BojHarness, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    flags = {"boj_base_url": bank.url, "toolsets": "boj-explore", "boj_index_dir": str(tmp_path / "file")}
    with asyncio.Runner() as runner:
        explorer = Explorer(runner, build_server(Settings.read({}, flags)))
        found = explorer.call("boj_search", query="ドル円")
        explorer.close()

    assert "the index cannot be written" in found["note"]
    assert str(tmp_path) not in str(found)


def test_names_are_japanese_when_they_are_asked_for_so(explorer: Explorer) -> None:
    (one,) = read(explorer, "FM08:FXERD01", start="2026-10", lang="jp")["series"]

    assert (one["name"], one["unit"]) == ("東京市場　ドル・円　スポット　9時時点", "￥／＄")


def test_the_citation_has_the_banks_credit(explorer: Explorer, bank: BojHarness) -> None:
    answer = read(explorer, "FM08:FXERD01", start="2026-10")
    citation = answer["citation"]

    assert citation["dataset"] == "Foreign Exchange Rates (FM08)"
    assert citation["series"] == ["FM08:FXERD01"]
    assert citation["retrieved_at"] == DATE
    assert citation["url"] == f"{bank.url}/api/v1/getDataCode?lang=en&db=FM08&startDate=202610&code=FXERD01"
    assert citation["sentence"].endswith(f"series FXERD01, retrieved 2026-02-19. {CREDIT}")
    assert answer["table"].splitlines()[1:3] == ["  20261001  157.56", "  20261002  157.94"]


def test_quarters_are_asked_for_by_dates_months_or_quarters(explorer: Explorer) -> None:
    spans = [("2024-02", "2024-05-01"), ("2024Q1", "2024Q2"), ("202401", "202402"), ("2024-01-01", "2024-06-30")]

    answers = [read(explorer, f"CO:{DI}", start=start, end=end)["series"][0] for start, end in spans]

    assert [(one["periods"], one["dates"], one["values"]) for one in answers] == [
        (["202401", "202402"], ["2024-01-01", "2024-04-01"], ["11", "13"])
    ] * len(spans)


def test_changes_at_the_start_of_a_span_are_computed_with_what_is_before_it(
    explorer: Explorer, bank: BojHarness
) -> None:
    # So that the frequency is known, and only a span is asked for.
    explorer.call("boj_search", query=DI)
    (one,) = read(explorer, f"CO:{DI}", start="2025Q1", end="2025Q2", units="percent_change_year_ago")["series"]

    # 11 and 13 a year before.
    assert one["values"] == ["9.0909", "0.0000"]
    assert one["unit"] == "percent change from a year ago"
    assert "startDate=202304" in bank.targets()[-1]


def test_a_lower_frequency_is_computed_by_the_named_method(explorer: Explorer) -> None:
    answers = {
        method: read(explorer, f"CO:{DI}", start="2024", end="2024", frequency="CY", method=method)
        for method in ("average", "end", "sum")
    }

    # 11, 13, 13, 14
    assert {method: one["series"][0]["values"] for method, one in answers.items()} == {
        "average": ["12.75"], "end": ["14"], "sum": ["51"],
    }  # fmt: skip
    assert {one["series"][0]["frequency"] for one in answers.values()} == {"CY"}
    assert [one["method"] for one in answers.values()] == list(answers)


def test_an_index_may_have_a_base_outside_of_its_span(explorer: Explorer) -> None:
    answer = read(explorer, f"CO:{DI}", start="2025Q1", end="2025Q1", units="index", base="2024Q1")

    assert answer["series"][0]["values"] == ["109.0909"]
    assert (answer["base"], answer["series"][0]["unit"]) == ("2024Q1", "index, 2024Q1 = 100")


def test_periods_that_a_lower_frequency_is_asked_for_by_are_those_of_the_result(explorer: Explorer) -> None:
    def rates(**more: str) -> dict[str, Any]:
        (one,) = read(explorer, "FM09:FX180110001", **more)["series"]
        return one

    quarter = rates(start="202003", end="202003", frequency="Q")
    years = rates(start="2024", end="2026", frequency="FY")
    half = rates(start="2020H1", end="2020H1", frequency="FH")

    assert (quarter["periods"], quarter["dates"]) == (["202003"], ["2020-07-01"]), "the third quarter"
    assert years["periods"] == ["2024", "2025", "2026"]
    assert None not in years["values"]
    assert half["dates"] == ["2020-04-01"]


@pytest.mark.parametrize(("base", "frequency", "hundred"), [("2020", "FY", "2020"), ("2020-02", "Q", "202001")])
def test_the_base_of_a_lower_frequency_is_whole_periods_of_it(
    explorer: Explorer, base: str, frequency: str, hundred: str
) -> None:
    def index(**more: str) -> dict[str, str]:
        (one,) = read(explorer, "FM09:FX180110001", units="index", base=base, frequency=frequency, **more)["series"]
        return dict(zip(one["periods"], one["values"], strict=True))

    whole, late, early = index(), index(start="2024"), index(end="2010")

    assert whole[hundred] == "100.0000"
    assert late
    assert early
    assert late.items() <= whole.items()
    assert early.items() <= whole.items()


def test_series_of_several_databases_and_frequencies_come_in_their_order(explorer: Explorer) -> None:
    codes = [f"CO:{DI}", "FM08:FXERD01", "LA03:DLKCK_DLKCTL", "IR02:SAMPLE_IR02_W11", "IR02:SAMPLE_IR02_W41"]

    answer = read(explorer, *codes, start="2024-01", end="2024-03")

    assert [(one["db"], one["code"]) for one in answer["series"]] == [tuple(code.split(":")) for code in codes]
    assert [one["frequency"] for one in answer["series"]] == ["Q", "D", "FY", "W", "W"]
    assert answer["series"][2]["dates"] == ["2023-04-01"], "the fiscal year that ends in March 2024"
    assert answer["series"][3]["dates"][0] == "2024-01-01", "a Monday"
    assert answer["series"][4]["dates"][0] == "2024-01-04", "a Thursday"


def test_every_page_is_read(explorer: Explorer, bank: BojHarness) -> None:
    codes = [f"FM08:FXERD0{n}" for n in range(1, 8)]

    answer = read(explorer, *codes, frequency="M", start="1999-01")

    assert len(answer["series"]) == 7
    assert not answer["truncated"]
    assert len([target for target in bank.targets() if "getDataCode" in target]) == 2


def test_an_answer_has_a_bound_and_says_how_to_ask_for_less(explorer: Explorer) -> None:
    answer = read(explorer, "FM08:FXERD01", "FM08:FXERD02", "FM08:FXERD03")

    assert answer["truncated"]
    assert sum(len(one["values"]) for one in answer["series"]) <= series.MAX_POINTS
    assert "give start and end, fewer codes, or a lower frequency" in answer["note"]
    assert answer["series"][0]["periods"][-1] == "20261008", "the latest are kept"


def test_a_code_that_is_nearly_right_is_told_with_the_right_one(explorer: Explorer) -> None:
    faults = [explorer.fault("boj_get_series", codes=[code]) for code in ("FM08:FXERD1", "FXERD1")]

    assert [fault.code for fault in faults] == [Code.NOT_FOUND] * 2
    assert all("did you mean FM08:FXERD01" in fault.message for fault in faults)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"codes": ["  "]}, "codes is empty"),
        ({"codes": ["FM08:FXERD01"], "units": "index"}, "needs base"),
        ({"codes": ["FM08:FXERD01"], "base": "2020"}, "take no base"),
        ({"codes": ["FM08:FXERD01"], "method": "sum"}, "give frequency too"),
        ({"codes": ["FM08:FXERD01"], "start": "yesterday"}, "write 2020, 2020-01"),
        ({"codes": ["FM08:FXERD01"], "start": "2025", "end": "2024"}, "comes after"),
        ({"codes": [f"CO:{DI}"], "frequency": "M"}, "cannot be read at the frequency M"),
        ({"codes": [f"CO:{DI}"], "units": "index", "base": "1960"}, "no value other than 0"),
        ({"codes": []}, "codes"),
        ({"codes": ["FXERD01,FXERD02"]}, "give each code as an item of its own, ['FXERD01', 'FXERD02']"),
        ({"codes": ["FM08:FXERD01", "FXERD02， FXERD03"]}, "give each code as an item of its own"),
        ({"codes": ["FM08:FXERD01"], "units": "percent"}, "units"),
    ],
)
def test_what_cannot_be_asked_for_is_told_as_a_result(explorer: Explorer, arguments: dict[str, Any], word: str) -> None:
    fault = explorer.fault("boj_get_series", **arguments)

    assert fault.code is Code.INVALID_INPUT
    assert word in fault.message


def test_a_database_that_the_bank_does_not_have_is_told_with_those_that_are_alike(explorer: Explorer) -> None:
    fault = explorer.fault("boj_get_series", codes=["FM8:FXERD01"])

    assert fault.code is Code.NOT_FOUND
    assert "did you mean FM08" in fault.message


def test_a_series_of_a_large_database_is_read_without_its_list(bank: BojHarness) -> None:
    settings = Settings.read({}, {"boj_base_url": bank.url, "toolsets": "boj-explore"})
    with asyncio.Runner() as runner:
        explorer = Explorer(runner, build_server(settings))
        (one,) = read(explorer, f"CO:{DI}", start="2024Q1", end="2024-06-30")["series"]
        explorer.close()

    assert (one["periods"], one["values"]) == (["202401", "202402"], ["11", "13"])
    assert [target for target in bank.targets() if "getMetadata" in target] == []


def test_a_bank_in_trouble_is_told_as_a_result(explorer: Explorer, bank: BojHarness) -> None:
    bank.order("close")

    fault = explorer.fault("boj_get_series", codes=["FM08:FXERD01"])

    assert fault.code is Code.INTERNAL_ERROR
    assert "could not be asked" in fault.message


# --- recorded and replayed


def test_what_was_recorded_is_replayed_without_the_bank(bank: BojHarness, tmp_path: Path) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("boj_search", {"query": "ドル円", "limit": 2}),
        ("boj_search", {"query": "FXERD1"}),
        ("boj_get_series", {"codes": ["FXERD01"], "start": "2026-10", "units": "change"}),
        ("boj_get_series", {"codes": ["FM08:FXERD1"]}),
        ("boj_list_databases", {"query": "為替"}),
    ]

    def bodies(**flags: str) -> list[object]:
        settings = resolve(Settings.read({}, {"toolsets": "boj-explore", **flags}))
        with asyncio.Runner() as runner:
            explorer = Explorer(runner, build_server(settings))
            outcomes = [explorer.outcome(tool, **arguments) for tool, arguments in calls]
            explorer.close()
        return [outcome.body or str(outcome.fault) for outcome in outcomes]

    recorded = bodies(boj_base_url=bank.url, record=str(tmp_path / "tape"))
    bank.clear()

    assert bodies(replay=str(tmp_path / "tape")) == recorded
    assert bank.requests() == ()
