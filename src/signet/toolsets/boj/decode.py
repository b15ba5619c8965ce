"""Decode the Bank of Japan's responses: bytes to results or faults.

    UpstreamResponse ── cut ──────────────────▶ Fault: too large
                     ── { or [ ── JsonResponse ┐
                     ── else ──── CsvResponse ─┴── STATUS 200 ──▶ DataOut, or a list as JSON
                     │                         ├── other status ▶ Fault: refused
                     └── a web page ───────────┴── unreadable ──▶ Fault: undecodable; transport for HTTP 5xx

Pure. The STATUS in the body decides, not the status of HTTP. The body tells its format, not the query: errors are
always JSON. Run it in a thread for long responses: no single step holds the interpreter for long, and of a list of
100 MB no copy is made beside the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Raw, structs

from signet.kernel.encoded import EncodedResult, ResultWriter
from signet.kernel.errors import Fault
from signet.kernel.upstream import UpstreamResponse

from .faults import refused, too_large, transport, undecodable
from .fields import NO_POINTS, as_parameter, clean, number
from .models import MAX_RESULT_BYTES, CodeParameter, DataOut, Head, LayerParameter, MetadataEntry, MetadataHead, Series
from .query import DataCodeIn, DataLayerIn, MetadataIn, Query
from .responses import MAX_DATA_VALUES, MAX_LIST_VALUES, SHIFT_JIS, BankResponse, CsvResponse, JsonResponse
from .validation import MAX_U32, unsigned

__all__ = ["json_size", "read_data", "read_entries", "read_metadata"]

Q = TypeVar("Q", DataCodeIn | DataLayerIn, MetadataIn)
R = TypeVar("R", DataOut, EncodedResult)

OK: Final = 200
SERVER_ERROR: Final = 500
MAX_STATUS: Final = 65_535
BOM: Final = b"\xef\xbb\xbf"
FIRST: Final = re.compile(rb"[ \t\r\n\v\f]*+(.?)", re.DOTALL)
CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)")
CHARSETS: Final = {"utf-8": "utf-8", "utf8": "utf-8"} | dict.fromkeys(
    ("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "cp932", "ms932"), SHIFT_JIS
)

PIECE_CHARS: Final = 65_536  # rule: @PIECE_CHARS

LESS_DATA: Final = "Ask for fewer series at a time or for a shorter span ({start_date}, {end_date}){without_raw}."
LESS_METADATA: Final = (
    "Ask with lang=en, which leaves out the Japanese names, and without include_raw; if that is still too much, read "
    'the series by their place, without the list: boj_get_data_layer with layers ["1", "1"], ["1", "2"] and so on.'
)
"""Remedies for a result that is too large, as templates of `faults`."""

MORE_BODY: Final = "BOJ_MAX_BODY_MB raises this limit"
MORE_RESULT: Final = "BOJ_MAX_RESULT_MB raises this limit"

_encode: Final = msgspec.json.Encoder().encode


class ResultLimit(NamedTuple):
    """The largest result, and the remedy for a larger one."""

    max_bytes: int
    remedy: str

    def check(self, size: int) -> None:
        """Raise Fault for a result of more bytes."""
        if size > self.max_bytes:  # rule: 3.limits.answered
            raise self.exceeded(f"the result has {size:,} bytes")

    def exceeded(self, what: str) -> Fault:
        """Return the fault for a result that is too large, with the setting that raises the limit."""
        limit = f"at most {self.max_bytes:,} are passed on ({MORE_RESULT})"
        return too_large(f"{what}, and {limit}", self.remedy)


def read_data(
    response: UpstreamResponse, query: DataCodeIn | DataLayerIn, *, max_bytes: int = MAX_RESULT_BYTES
) -> DataOut:
    """Decode observations; raise Fault if the Bank refused the query, or the response is unreadable or too large."""
    return _read(response, query, _data, ResultLimit(max_bytes, LESS_DATA))


def read_metadata(response: UpstreamResponse, query: MetadataIn, *, max_bytes: int = MAX_RESULT_BYTES) -> EncodedResult:
    """Decode a list of series and write it as JSON; raise Fault as `read_data` does."""
    return _read(response, query, _metadata, ResultLimit(max_bytes, LESS_METADATA))


def json_size(result: DataOut) -> int:
    """Return the size of a result as JSON, in small steps and without encoding its points again."""
    raw = result.raw
    bare = structs.replace(result, raw=UNSET if raw is UNSET else "", series=[])
    rows = [_series_size(series) for series in result.series]
    commas = max(len(rows) - 1, 0)
    return len(_encode(bare)) + sum(rows) + commas + (_text_size(raw) if isinstance(raw, str) else 0)


def _series_size(series: Series) -> int:
    bare = structs.replace(series, points=Raw(NO_POINTS))
    return len(_encode(bare)) - len(NO_POINTS) + memoryview(series.points).nbytes


def _text_size(text: str) -> int:
    pieces = (text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS))
    return sum(len(_encode(piece)) - len('""') for piece in pieces)


def read_entries(response: UpstreamResponse, query: MetadataIn) -> Iterator[MetadataEntry]:
    """Yield the rows of a list, headings included, however large the list is; raise Fault as `read_data` does."""
    _check_page(response)
    with _faults_of(response):
        opened = _open(response, query, ResultLimit(MAX_RESULT_BYTES, LESS_METADATA))
        _head(opened)
        yield from opened.entries()


def _read(
    response: UpstreamResponse, query: Q, make: Callable[[BankResponse, Q, ResultLimit], R], limit: ResultLimit
) -> R:
    """Return the result that `make` reads from a response."""
    _check_page(response)
    with _faults_of(response):
        return make(_open(response, query, limit), query, limit)


@contextmanager
def _faults_of(response: UpstreamResponse) -> Iterator[None]:
    """Raise every failure to read a response as a fault of spec 3."""
    try:
        yield
    except Fault as fault:
        if fault.data["error_type"] != "DECODE_ERROR" or "hint" in fault.data:
            raise
        why = fault.data["message"]
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError as error:
        why = str(error)
    else:
        return
    if response.status != OK:
        why = f"{why} (HTTP {response.status}, {response.content_type or 'no content type'})"
    raise transport(why) if response.status >= SERVER_ERROR else undecodable(why)


def _open(response: UpstreamResponse, query: Query, limit: ResultLimit) -> BankResponse:
    """Detect the format of a response by its first character, or else by its content type."""
    if response.broken:
        raise undecodable(response.broken)
    body = response.body
    start, first = _first(body)
    if response.cut:  # rule: 3.limits.read
        raise too_large(f"it has more than the {len(body):,} bytes that are read ({MORE_BODY})", limit.remedy)
    if query.include_raw and len(body) > limit.max_bytes:
        raise limit.exceeded(f"it has {len(body):,} bytes")
    if first in (b"{", b"[") or "json" in response.content_type:  # rule: 3.output.formats
        max_values = MAX_LIST_VALUES if isinstance(query, MetadataIn) else MAX_DATA_VALUES
        return JsonResponse(body, start, limit.remedy, max_values)
    return CsvResponse(body, start, _charsets(response, query.lang), limit.remedy)


def _first(body: bytes) -> tuple[int, bytes]:
    """Return the place behind a byte order mark, and the first character there that is not blank."""
    start = len(BOM) if body.startswith(BOM) else 0
    found = FIRST.match(body, start)
    return start, bytes(found[1]) if found is not None else b""


def _check_page(response: UpstreamResponse) -> None:
    """Raise Fault for a web page: trouble on the way from HTTP 500 on, else an answer that cannot be read."""
    if response.broken or _first(response.body)[1] != b"<":
        return
    kind = response.content_type.partition(";")[0].strip() or "no content type"
    text = (
        f"{response.origin} answered with a web page (status {response.status}, {kind}) and not with data: check "
        "BOJ_BASE_URL, and whether a proxy or a sign-in page stands in between"
    )
    raise transport(text) if response.status >= SERVER_ERROR else undecodable(text)


def _charsets(response: UpstreamResponse, lang: str | None) -> tuple[str, ...]:
    """Return the encodings that CSV may have: by its byte order mark, its content type, or the language."""
    if response.body.startswith(BOM):
        return ("utf-8",)
    declared = CHARSET.search(response.content_type)
    default = "utf-8" if lang == "en" else SHIFT_JIS
    named = CHARSETS.get(declared[1], default) if declared else default
    return tuple(dict.fromkeys((named, default)))


def _head(response: BankResponse) -> Head:
    """Read the head of a response, before anything else; raise Fault if the status is missing or no success."""
    text = clean(response.fact("STATUS"))
    status = unsigned(text) if text is not None else None
    if status is None or status > MAX_STATUS:
        raise undecodable("it has no STATUS" if text is None else f"STATUS is {text[:50]!r}")
    message_id, message = response.fact("MESSAGEID") or "", response.fact("MESSAGE") or ""
    if status != OK:  # rule: 3.output.no-data
        raise refused(status, message_id, message)
    return Head(status, message_id, message, clean(response.fact("DATE")))


def _data(response: BankResponse, query: DataCodeIn | DataLayerIn, limit: ResultLimit) -> DataOut:
    meta = _head(response)
    shape: Any = LayerParameter if isinstance(query, DataLayerIn) else CodeParameter
    parameter = as_parameter(shape, response.parameter())
    next_position = number("NEXTPOSITION", response.fact("NEXTPOSITION"))  # rule: 3.output.next-position
    series = response.series()
    raw = "".join(response.text()) if query.include_raw else UNSET  # rule: 3.output.no-raw
    result = DataOut(meta, parameter, next_position, len(series), series, raw)
    limit.check(json_size(result))
    return result


def _metadata(response: BankResponse, query: MetadataIn, limit: ResultLimit) -> EncodedResult:
    head = MetadataHead(_head(response), clean(response.fact("DB")) or "", MAX_U32)
    writer = ResultWriter("entries", len(_opening(head)))
    # The room for the opening may not be used up, so that the exact check comes last.
    room = limit.max_bytes + len(writer.body)
    for entry in response.entries():
        writer.append(entry)
        if len(writer.body) > room:
            text = f"the result has more than the {limit.max_bytes:,} bytes that are passed on ({MORE_RESULT})"
            raise too_large(text, limit.remedy)
    tail = _raw(response) if query.include_raw else iter((b"]}",))  # rule: 3.output.no-raw/2
    result = writer.end(_opening(structs.replace(head, entries_count=writer.count)), tail)
    limit.check(len(result.body))
    return result


def _opening(head: MetadataHead) -> bytes:
    """Return the JSON of a list up to its first row."""
    return _encode(head)[:-1] + b',"entries":['


def _raw(response: BankResponse) -> Iterator[bytes]:
    """Yield what follows the last row of a list, with the Bank's own text."""
    yield b'],"raw":"'
    for text in response.text():
        yield from (_encode(text[start : start + PIECE_CHARS])[1:-1] for start in range(0, len(text), PIECE_CHARS))
    yield b'"}'
