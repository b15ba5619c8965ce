"""Decode the Bank of Japan's responses: bytes to results or faults.

    UpstreamResponse ── cut ──────────────────▶ Fault: too large
                     ── a web page ───────────▶ Fault: transport
                     ── { or [ ── JsonResponse ┐
                     ── else ──── CsvResponse ─┴── STATUS 200 ──▶ DataOut, MetadataOut
                                               ├── other status ▶ Fault: refused
                                               └── unreadable ──▶ Fault: undecodable; transport for HTTP 5xx

Pure. The STATUS in the body decides, not the status of HTTP. The body tells its format, not the query: errors are
always JSON. Run it in a thread for long responses: no single step holds the interpreter for long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Raw, structs

from signet.kernel.errors import Fault
from signet.kernel.upstream import UpstreamResponse

from .faults import refused, too_large, transport, undecodable
from .fields import NO_POINTS, as_parameter, clean, number
from .models import MAX_RESULT_BYTES, CodeParameter, DataOut, Head, LayerParameter, MetadataOut, Series
from .query import DataCodeIn, DataLayerIn, MetadataIn, Query
from .responses import BankResponse, CsvResponse, JsonResponse
from .validation import unsigned

__all__ = ["json_size", "read_data", "read_metadata"]

Q = TypeVar("Q", DataCodeIn | DataLayerIn, MetadataIn)
R = TypeVar("R", DataOut, MetadataOut)

OK: Final = 200
SERVER_ERROR: Final = 500
MAX_STATUS: Final = 65_535
BOM: Final = b"\xef\xbb\xbf"
BLANK: Final = b" \t\r\n\v\f"
CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)")
CHARSETS: Final = {"utf-8": "utf-8", "utf8": "utf-8"} | dict.fromkeys(
    ("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "cp932", "ms932"), "cp932"
)
"""Windows' variant of Shift_JIS: the Bank's tables hold characters that plain Shift_JIS lacks."""

PIECE_CHARS: Final = 65_536

LESS_DATA: Final = "Ask for fewer series at a time or for a shorter span ({start_date}, {end_date}){without_raw}."
LESS_METADATA: Final = (
    "Ask with lang=en, which leaves out the Japanese names, and without include_raw; if that is still too much, read "
    'the series by their place, without the list: boj_get_data_layer with layers ["1", "1"], ["1", "2"] and so on.'
)
"""Remedies for a result that is too large, as templates of `faults`."""

_encode: Final = msgspec.json.Encoder().encode


class ResultLimit(NamedTuple):
    """The largest result, and the remedy for a larger one."""

    max_bytes: int
    remedy: str


def read_data(
    response: UpstreamResponse, query: DataCodeIn | DataLayerIn, *, max_bytes: int = MAX_RESULT_BYTES
) -> DataOut:
    """Decode observations; raise Fault if the Bank refused the query, or the response is unreadable or too large."""
    return _read(response, query, _data, ResultLimit(max_bytes, LESS_DATA))


def read_metadata(response: UpstreamResponse, query: MetadataIn, *, max_bytes: int = MAX_RESULT_BYTES) -> MetadataOut:
    """Decode a list of series; raise Fault as `read_data` does."""
    return _read(response, query, _metadata, ResultLimit(max_bytes, LESS_METADATA))


def json_size(result: DataOut | MetadataOut) -> int:
    """Return the size of a result as JSON, in small steps and without encoding its points again."""
    raw = result.raw
    bare = structs.replace(result, raw=UNSET if raw is UNSET else "")
    if isinstance(bare, DataOut):
        rows = [_series_size(series) for series in bare.series]
        bare = structs.replace(bare, series=[])
    else:
        rows = [len(_encode(entry)) for entry in bare.entries]
        bare = structs.replace(bare, entries=[])
    commas = max(len(rows) - 1, 0)
    return len(_encode(bare)) + sum(rows) + commas + (_text_size(raw) if isinstance(raw, str) else 0)


def _series_size(series: Series) -> int:
    bare = structs.replace(series, points=Raw(NO_POINTS))
    return len(_encode(bare)) - len(NO_POINTS) + memoryview(series.points).nbytes


def _text_size(text: str) -> int:
    pieces = (text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS))
    return sum(len(_encode(piece)) - len('""') for piece in pieces)


def _read(response: UpstreamResponse, query: Q, make: Callable[[BankResponse, Q], R], limit: ResultLimit) -> R:
    """Return the result that `make` reads from a response; raise every failure as a fault of spec 3."""
    try:
        result = make(_open(response, query, limit), query)
    except Fault as fault:
        if fault.data["error_type"] != "DECODE_ERROR" or "hint" in fault.data:
            raise
        why = fault.data["message"]
    except (ValueError, RecursionError) as error:
        why = str(error)
    else:
        _check_size(result, limit)
        return result
    if response.status != OK:
        why = f"{why} (HTTP {response.status}, {response.content_type or 'no content type'})"
    raise transport(why) if response.status >= SERVER_ERROR else undecodable(why)


def _open(response: UpstreamResponse, query: Query, limit: ResultLimit) -> BankResponse:
    """Detect the format of a response by its first character, or else by its content type."""
    if response.broken:
        raise undecodable(response.broken)
    body = response.body.removeprefix(BOM)
    first = body.lstrip(BLANK)[:1]
    opens_json = first in {b"{", b"["}
    if first == b"<" or ("html" in response.content_type and not opens_json):
        raise transport(_web_page(response))
    if response.cut:
        raise too_large(f"it has more than the {len(response.body):,} bytes that are read", limit.remedy)
    if query.include_raw and len(body) > limit.max_bytes:
        raise too_large(f"it has {len(body):,} bytes, and at most {limit.max_bytes:,} are passed on", limit.remedy)
    if opens_json or "json" in response.content_type:
        return JsonResponse(body, limit.remedy)
    return CsvResponse(body, _charset(response, query.lang), limit.remedy)


def _web_page(response: UpstreamResponse) -> str:
    kind = response.content_type.partition(";")[0].strip() or "no content type"
    return (
        f"{response.origin} answered with a web page (status {response.status}, {kind}) and not with data: check "
        "BOJ_BASE_URL, and whether a proxy or a sign-in page stands in between"
    )


def _check_size(result: DataOut | MetadataOut, limit: ResultLimit) -> None:
    size = json_size(result)
    if size > limit.max_bytes:
        raise too_large(f"the result has {size:,} bytes, and at most {limit.max_bytes:,} are passed on", limit.remedy)


def _charset(response: UpstreamResponse, lang: str | None) -> str:
    """Return the encoding of CSV: that of its byte order mark, of its content type, or the default of the language."""
    if response.body.startswith(BOM):
        return "utf-8"
    declared = CHARSET.search(response.content_type)
    default = "utf-8" if lang == "en" else "cp932"
    return CHARSETS.get(declared[1], default) if declared else default


def _head(response: BankResponse) -> Head:
    """Read the head of a response, before anything else; raise Fault if the status is missing or no success."""
    text = clean(response.fact("STATUS"))
    status = unsigned(text) if text is not None else None
    if status is None or status > MAX_STATUS:
        raise undecodable("it has no STATUS" if text is None else f"STATUS is {text[:50]!r}")
    message_id, message = response.fact("MESSAGEID") or "", response.fact("MESSAGE") or ""
    if status != OK:
        raise refused(status, message_id, message)
    return Head(status, message_id, message, clean(response.fact("DATE")))


def _data(response: BankResponse, query: DataCodeIn | DataLayerIn) -> DataOut:
    meta = _head(response)
    shape: Any = LayerParameter if isinstance(query, DataLayerIn) else CodeParameter
    parameter = as_parameter(shape, response.parameter())
    next_position = number("NEXTPOSITION", response.fact("NEXTPOSITION"))
    series = response.series()
    raw = response.text() if query.include_raw else UNSET
    return DataOut(meta, parameter, next_position, len(series), series, raw)


def _metadata(response: BankResponse, query: MetadataIn) -> MetadataOut:
    meta = _head(response)
    entries = response.entries()
    raw = response.text() if query.include_raw else UNSET
    return MetadataOut(meta, clean(response.fact("DB")) or "", len(entries), entries, raw)
