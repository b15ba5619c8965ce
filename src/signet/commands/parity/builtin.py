"""The built-in corpus: every tool in the box, and every way in which a call can go wrong there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .corpus import CorpusCall

__all__ = ["built_in"]

DIAGRAM: Final = "@startuml\nAlice -> Bob: hello\n@enduml"
LARGE: Final = "@startuml\n" + "".join(f"A{n} -> B{n}: message {n}\n" for n in range(1500)) + "@enduml"
"""Large enough that its encoding leaves the event loop."""
TOO_LARGE_CHARS: Final = 51_201

SPOT: Final = {"db": "FM08", "codes": ["FXERD01"], "start_date": "202601", "end_date": "202602"}
DEPOSITS: Final = {"db": "MD10", "frequency": "Q", "layers": ["1", "1", "1"], "start_date": "202501"}
LANTERNS: Final = {"source": "leetcode", "id": "9001"}
DAY: Final = {"date": "2024-02-27"}
FETCHING: Final = {"date": "2024-02-29"}


def _fails(fault: str, **facts: Any) -> tuple[dict[str, Any], ...]:
    return ({"fault": fault, **facts},)


CorpusRow = tuple[str, str, dict[str, Any]] | tuple[str, str, dict[str, Any], tuple[dict[str, Any], ...]]

PLANTUML: Final[tuple[CorpusRow, ...]] = (
    ("a diagram", "encodePlantUML", {"plantumlCode": DIAGRAM}),
    ("a large diagram", "encodePlantUML", {"plantumlCode": LARGE}),
    ("a diagram beyond ASCII", "encodePlantUML", {"plantumlCode": "@startuml\nさくら --> Zoë: 🌸 ≠ \\u0000\n@enduml"}),
    (
        "a diagram and more",
        "encodePlantUML",
        {"plantumlCode": DIAGRAM, "theme": "plain", "deep": {"n": [1, 2.5, None]}},
    ),
    ("no diagram", "encodePlantUML", {}),
    ("an empty diagram", "encodePlantUML", {"plantumlCode": " \n\u3000"}),
    ("a diagram that is a number", "encodePlantUML", {"plantumlCode": 42}),
    ("a diagram that is too large", "encodePlantUML", {"plantumlCode": "A" * TOO_LARGE_CHARS}),
    ("a null for a diagram", "encodePlantUML", {"plantumlCode": None}),
)

OJ: Final[tuple[CorpusRow, ...]] = (
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

BOJ: Final[tuple[CorpusRow, ...]] = (
    ("series by code", "boj_get_data_code", SPOT),
    ("series by code, the Bank's own text too", "boj_get_data_code", {**SPOT, "lang": "en", "include_raw": True}),
    ("series by layer", "boj_get_data_layer", DEPOSITS),
    ("series by layer, from a table", "boj_get_data_layer", {**DEPOSITS, "format": "csv", "lang": "en"}),
    ("a list of series", "boj_get_metadata", {"db": "FM01", "lang": "en"}),
    ("a large list of series", "boj_get_metadata", {"db": "CO"}),
    ("no series in the span", "boj_get_data_code", {**SPOT, "start_date": "190001", "end_date": "190012"}),
    ("no codes", "boj_get_data_code", {"db": "FM08"}),
    ("a misspelt question", "boj_get_metadata", {"db": "FM08", "language": "en"}),
    ("dates in the wrong order", "boj_get_data_code", {**SPOT, "start_date": "202602", "end_date": "202601"}),
    ("a database that is not ASCII", "boj_get_metadata", {"db": "外国為替"}),
    ("a frequency that is none", "boj_get_data_layer", {**DEPOSITS, "frequency": "X"}),
    ("a database that is none (400)", "boj_get_metadata", {"db": "NONE"}),
    ("a code that is none (400)", "boj_get_data_code", {**SPOT, "codes": ["FXERD01", "NONE"]}),
    ("a Bank in trouble (500)", "boj_get_data_code", {"db": "FAIL500", "codes": ["X"]}),
    ("a Bank without its database (503)", "boj_get_data_layer", {**DEPOSITS, "db": "FAIL503"}),
    ("a Bank that answers when asked again", "boj_get_data_code", SPOT, _fails("close", times=1)),
    ("a Bank that hangs up", "boj_get_data_code", SPOT, _fails("close")),
    ("a Bank whose connection breaks", "boj_get_data_layer", DEPOSITS, _fails("reset")),
    ("a Bank that breaks off", "boj_get_metadata", {"db": "FM01"}, _fails("cut")),
    ("a Bank that sends broken JSON", "boj_get_data_code", SPOT, _fails("not_json")),
    ("a Bank that sends nothing", "boj_get_data_layer", DEPOSITS, _fails("empty")),
    ("a Bank that sends a page", "boj_get_metadata", {"db": "FM01"}, _fails("html", status=200)),
    ("a Bank that sends too much", "boj_get_metadata", {"db": "FM01"}, _fails("huge", size=16_777_217)),
)

ANY: Final[tuple[CorpusRow, ...]] = (
    ("a tool that nobody has", "nobody", {"x": 1}),
    ("a tool that nobody has, beyond ASCII", "nobody", {"x": "ない", "y": [True, None, 1.5]}),
)

ROWS: Final = {"plantuml": PLANTUML, "boj": BOJ, "oj": OJ}


def built_in(toolsets: Iterable[str]) -> list[CorpusCall]:
    """Give the calls for some toolsets, and those for which none is needed."""
    rows = [row for toolset in toolsets for row in ROWS.get(toolset, ())]
    return [CorpusCall(row[0], row[1], arguments=row[2], order=row[3] if len(row) > 3 else ()) for row in (*rows, *ANY)]  # noqa: PLR2004
