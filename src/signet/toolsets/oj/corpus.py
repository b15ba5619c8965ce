"""The parity corpus of the online-judge tools: results, and every kind of error that the backend can cause."""

from __future__ import annotations

from typing import Any, Final

from signet.kernel.toolset import CorpusRow

__all__ = ["ROWS"]

LANTERNS: Final = {"source": "leetcode", "id": "9001"}
DAY: Final = {"date": "2024-02-27"}
FETCHING: Final = {"date": "2024-02-29"}


def _fails(fault: str, **parameters: Any) -> tuple[dict[str, Any], ...]:
    return ({"fault": fault, **parameters},)


ROWS: Final[tuple[CorpusRow, ...]] = (
    ("a problem", "get_problem", LANTERNS),
    ("a problem beyond ASCII", "get_problem", {"source": "luogu", "id": "P90001"}),
    ("a daily challenge", "get_daily_challenge", DAY),
    ("a daily challenge in China", "get_daily_challenge", {"domain": "cn", **DAY}),
    ("a daily challenge to come (202)", "get_daily_challenge", FETCHING),
    ("problems like one", "find_similar_problems", LANTERNS),
    ("problems by a text", "find_similar_problems", {"query": "pairs that add up to a sum", "limit": 3}),
    ("a problem by its URL", "resolve_problem", {"query": "https://leetcode.com/problems/lantern-pairs/"}),
    ("how the judges are", "get_platform_status", {}),
    ("a problem that is not there (404)", "get_problem", {"source": "leetcode", "id": "1"}),
    ("a name that nobody knows (null)", "resolve_problem", {"query": "no-such-lantern"}),
    ("a judge that is none (400)", "get_problem", {"source": "no-judge", "id": "1"}),
    ("a day that is none", "get_daily_challenge", {"date": "2024-02-30"}),
    ("a day before the first (400)", "get_daily_challenge", {"date": "2019-01-01"}),
    ("nothing to look for", "find_similar_problems", {"limit": 3}),
    ("a misspelt argument", "get_problem", {**LANTERNS, "sauce": "x"}),
    ("arguments of the wrong types", "find_similar_problems", {"limit": "three", "threshold": 7}),
    ("an optional null", "find_similar_problems", {**LANTERNS, "query": None}),
    ("a judge that wants another token (401)", "get_problem", LANTERNS, _fails("status", status=401)),
    ("a judge that forbids (403)", "get_platform_status", {}, _fails("status", status=403)),
    ("a judge that cannot process (422)", "resolve_problem", {"query": "9001"}, _fails("status", status=422)),
    ("a judge in trouble (503)", "get_daily_challenge", DAY, _fails("status", status=503, detail="down for a while")),
    ("a judge behind a broken gate (502)", "get_problem", LANTERNS, _fails("html")),
    ("a page in place of JSON", "get_problem", LANTERNS, _fails("html", status=200)),
    ("a judge that hangs up", "get_problem", LANTERNS, _fails("close")),
    ("a judge whose connection breaks", "get_problem", LANTERNS, _fails("reset")),
    ("a judge that speaks no HTTP", "get_problem", LANTERNS, _fails("garbage")),
    ("a judge that breaks off", "get_problem", LANTERNS, _fails("cut")),
    ("a judge that sends broken JSON", "get_problem", LANTERNS, _fails("not_json")),
    ("a judge that sends too much", "get_problem", LANTERNS, _fails("huge")),
    ("a judge that sends in circles", "get_problem", LANTERNS, _fails("redirect_loop")),
)
