"""The Bank of Japan's answers, read: bytes to results or faults.

    Answer ── cut ──────────────▶ Fault: too large
           ── a web page ───────▶ Fault: transport
           ── { or [ ── Document ┐
           ── else ──── Table ───┴── STATUS 200 ──▶ DataOut, MetadataOut
                                 ├── another ─────▶ Fault: refused
                                 └── unreadable ──▶ Fault: undecodable; transport, if HTTP says that the server broke

Pure. The body's STATUS decides, not that of HTTP. The format that was asked for decides nothing: errors are always
JSON. For long answers, to be run beside the event loop: no single step holds the interpreter for long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, structs

from signet.kernel.errors import Fault
from signet.kernel.upstream import UpstreamResponse

from .csv_response import CsvResponse
from .faults import refused, too_large, transport, undecodable
from .fields import as_parameter, clean, number
from .json_response import JsonResponse
from .models import MAX_RESULT_BYTES, CodeParameter, DataOut, Head, LayerParameter, MetadataEntry, MetadataOut, Series
from .points import EMPTY
from .query import DataCodeIn, DataLayerIn, MetadataIn, Query
from .validation import unsigned

__all__ = ["check_size", "read_data", "read_metadata"]

Q = TypeVar("Q", DataCodeIn | DataLayerIn, MetadataIn)
R = TypeVar("R", DataOut, MetadataOut)

OK: Final = 200
SERVER_BROKE: Final = 500
MAX_STATUS: Final = 65_535
BOM: Final = b"\xef\xbb\xbf"
BLANK: Final = b" \t\r\n\v\f"
CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)")
CHARSETS: Final = {"utf-8": "utf-8", "utf8": "utf-8"} | dict.fromkeys(
    ("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "cp932", "ms932"), "cp932"
)
"""Shift_JIS as Windows has it, because the Bank's tables hold characters that plain Shift_JIS lacks."""

PIECE_CHARS: Final = 65_536

LESS_DATA: Final = (
    "Ask for fewer series at a time or for a shorter span (start_date, end_date), and without include_raw."
)
LESS_METADATA: Final = (
    "Ask with lang=en, which leaves out the Japanese names, and without include_raw; if that is still too much, read "
    'the series by their place, without the list: boj_get_data_layer with layers ["1", "1"], ["1", "2"] and so on.'
)

_encode: Final = msgspec.json.Encoder().encode


class Limit(NamedTuple):
    """What a result may weigh, and how to ask for less."""

    max_bytes: int
    advice: str


class ResponsePage(Protocol):
    """An answer, opened; what is in it is read when it is asked for."""

    def fact(self, name: str) -> str | None:
        """Give a line of the head."""

    def parameter(self) -> dict[str, str | None]:
        """Give what the Bank says that it understood."""

    def series(self) -> list[Series]:
        """Give the rows of a data answer."""

    def entries(self) -> list[MetadataEntry]:
        """Give the rows of a metadata answer."""

    def text(self) -> str:
        """Give the whole answer as text."""


def read_data(
    answer: UpstreamResponse, query: DataCodeIn | DataLayerIn, *, max_bytes: int = MAX_RESULT_BYTES
) -> DataOut:
    """Read an answer with observations.

    Raises:
        Fault: the Bank refused, the answer cannot be read, or it or its result is too large.
    """
    return _read(answer, query, _data, Limit(max_bytes, LESS_DATA))


def read_metadata(answer: UpstreamResponse, query: MetadataIn, *, max_bytes: int = MAX_RESULT_BYTES) -> MetadataOut:
    """Read an answer that lists a database's series.

    Raises:
        Fault: the Bank refused, the answer cannot be read, or it or its result is too large.
    """
    return _read(answer, query, _metadata, Limit(max_bytes, LESS_METADATA))


def check_size(result: DataOut | MetadataOut) -> int:
    """Give the size of a result as JSON, in small steps and without writing its points a second time."""
    raw = result.raw
    bare = structs.replace(result, raw=UNSET if raw is UNSET else "")
    if isinstance(bare, DataOut):
        rows = [_weigh_series(series) for series in bare.series]
        bare = structs.replace(bare, series=[])
    else:
        rows = [len(_encode(entry)) for entry in bare.entries]
        bare = structs.replace(bare, entries=[])
    commas = max(len(rows) - 1, 0)
    return len(_encode(bare)) + sum(rows) + commas + (_weigh_text(raw) if isinstance(raw, str) else 0)


def _weigh_series(series: Series) -> int:
    bare = structs.replace(series, points=Raw(EMPTY))
    return len(_encode(bare)) - len(EMPTY) + memoryview(series.points).nbytes


def _weigh_text(text: str) -> int:
    pieces = (text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS))
    return sum(len(_encode(piece)) - len('""') for piece in pieces)


def _read(answer: UpstreamResponse, query: Q, make: Callable[[ResponsePage, Q], R], limit: Limit) -> R:
    """Open an answer and make a result of it; whatever is wrong with it becomes a fault."""
    try:
        result = make(_opened(answer, query, limit), query)
    except Fault as fault:
        if fault.data["error_type"] != "DECODE_ERROR" or "hint" in fault.data:
            raise
        why = fault.data["message"]
    except (ValueError, RecursionError) as error:
        why = str(error)
    else:
        return _bounded(result, limit)
    if answer.status != OK:
        why = f"{why} (HTTP {answer.status}, {answer.content_type or 'no content type'})"
    raise transport(why) if answer.status >= SERVER_BROKE else undecodable(why)


def _opened(answer: UpstreamResponse, query: Query, limit: Limit) -> ResponsePage:
    """Tell what an answer is by its first character, and where that tells nothing by its content type."""
    if answer.broken:
        raise undecodable(answer.broken)
    body = answer.body.removeprefix(BOM)
    first = body.lstrip(BLANK)[:1]
    opens = first in {b"{", b"["}
    if first == b"<" or ("html" in answer.content_type and not opens):
        message = f"a web page came in place of an answer (HTTP {answer.status})"
        raise transport(message)
    if answer.cut:
        message = f"it has more than the {len(answer.body):,} bytes that are read"
        raise too_large(message, limit.advice)
    if query.include_raw and len(body) > limit.max_bytes:
        message = f"it has {len(body):,} bytes, and at most {limit.max_bytes:,} are passed on"
        raise too_large(message, limit.advice)
    is_json = opens or "json" in answer.content_type
    return (
        JsonResponse(body, limit.advice) if is_json else CsvResponse(body, _charset(answer, query.lang), limit.advice)
    )


def _bounded(result: R, limit: Limit) -> R:
    size = check_size(result)
    if size > limit.max_bytes:
        message = f"the result has {size:,} bytes, and at most {limit.max_bytes:,} are passed on"
        raise too_large(message, limit.advice)
    return result


def _charset(answer: UpstreamResponse, lang: str | None) -> str:
    """Tell a table's characters: by its mark, by what it says, or by the language that was asked for."""
    if answer.body.startswith(BOM):
        return "utf-8"
    said = CHARSET.search(answer.content_type)
    usual = "utf-8" if lang == "en" else "cp932"
    return CHARSETS.get(said[1], usual) if said else usual


def _head(page: ResponsePage) -> Head:
    """Read how it went, before anything else.

    Raises:
        Fault: not well, or it does not say.
    """
    told = clean(page.fact("STATUS"))
    status = unsigned(told) if told is not None else None
    if status is None or status > MAX_STATUS:
        raise undecodable("it has no STATUS" if told is None else f"STATUS is {told[:50]!r}")
    message_id, message = page.fact("MESSAGEID") or "", page.fact("MESSAGE") or ""
    if status != OK:
        raise refused(status, message_id, message)
    return Head(status, message_id, message, clean(page.fact("DATE")))


def _data(page: ResponsePage, query: DataCodeIn | DataLayerIn) -> DataOut:
    meta = _head(page)
    shape: Any = LayerParameter if isinstance(query, DataLayerIn) else CodeParameter
    parameter = as_parameter(shape, page.parameter())
    next_position = number("NEXTPOSITION", page.fact("NEXTPOSITION"))
    series = page.series()
    raw = page.text() if query.include_raw else UNSET
    return DataOut(meta, parameter, next_position, len(series), series, raw)


def _metadata(page: ResponsePage, query: MetadataIn) -> MetadataOut:
    meta = _head(page)
    entries = page.entries()
    raw = page.text() if query.include_raw else UNSET
    return MetadataOut(meta, clean(page.fact("DB")) or "", len(entries), entries, raw)
