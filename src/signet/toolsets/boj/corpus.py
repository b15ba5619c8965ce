"""The parity corpus of the Bank of Japan tools: results, and every kind of error that the Bank's API can cause."""

from __future__ import annotations

from typing import Any, Final

from signet.kernel.toolset import CorpusRow

__all__ = ["ROWS"]

SPOT: Final = {"db": "FM08", "codes": ["FXERD01"], "start_date": "202601", "end_date": "202602"}
DEPOSITS: Final = {"db": "MD10", "frequency": "Q", "layers": ["1", "1", "1"], "start_date": "202501"}


def _fails(fault: str, **parameters: Any) -> tuple[dict[str, Any], ...]:
    return ({"fault": fault, **parameters},)


ROWS: Final[tuple[CorpusRow, ...]] = (
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
