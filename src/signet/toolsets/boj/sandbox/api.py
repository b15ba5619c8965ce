"""The three endpoints of the Bank of Japan's API over the samples.

    SandboxRequest ── SampleQuery ── SampleCatalogue ──┬── getDataCode, getDataLayer ── windows of series ──┐
                                                 └── getMetadata ─────────────────────────────────────┤
    SandboxResponse, with gzip if requested ◀─────────────────────────────────────────────────────────┘

Paths are case-sensitive, names and values of parameters are not. A failed check is a `Fault` named by its message id.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta, timezone
from typing import Any, Final

import msgspec

from signet.kernel.errors import Fault
from signet.sandbox.message import Clock, Sandbox, SandboxRequest, SandboxResponse, utc_now

from .database import LEVELS, RESERVED, SampleCatalogue
from .messages import DONE, LANGS, MESSAGES, NO_DATA, text_of
from .query import SampleQuery, select_by_code, select_by_layer
from .series import SampleRow, SampleSeries, SampleWindow

__all__ = ["BojSandboxApi", "build", "metadata_body"]

METADATA_DATE: Final = "2026-02-19T9:00:06.669+09:00"
"""The date of all metadata; the Bank writes its hour without a leading zero."""

SAMPLE: Final = {"x-data": "sample"}
"""The header that marks every response as sample data."""

FORMATS: Final = ("json", "csv")
LINE_END: Final = "\r\n"
MISSING: Final = "null"
"""A missing value in CSV."""

BLANK_ROW: Final = SampleRow(layers=(0,) * LEVELS, names=("", ""))


class ResponseFormat(msgspec.Struct, frozen=True):
    """The format, the language and the date of a response."""

    format: str
    lang: str
    date: str

    @property
    def encoding(self) -> str:
        """The text encoding."""
        return "cp932" if (self.format, self.lang) == ("csv", "jp") else "utf-8"

    def response(self, body: bytes) -> SandboxResponse:
        """Return a response with this body; the Bank declares the encoding of English CSV only."""
        if self.format == "json":
            return SandboxResponse(200, body, headers=SAMPLE)
        return SandboxResponse(200, body, "text/csv; charset=utf-8" if self.lang == "en" else "text/csv", SAMPLE)


def echo_of(query: SampleQuery, *, by_layer: bool) -> dict[str, str]:
    """Return the parameters to echo: format and language in capitals, the rest as sent, empty if not sent."""
    echo = {"FORMAT": query.text("format").upper(), "LANG": query.text("lang").upper(), "DB": query.text("db")}
    if by_layer:
        levels = query.levels()
        echo |= {f"LAYER{n}": level for n, level in enumerate(levels + [""] * (LEVELS - len(levels)), 1)}
        echo["FREQUENCY"] = query.text("frequency")
    return echo | {name.upper(): query.text(name) for name in ("startDate", "endDate", "startPosition")}


def data_response(
    layout: ResponseFormat, echo: Mapping[str, str], windows: list[SampleWindow], next_position: int | None
) -> SandboxResponse:
    """Return the values of some series; if all of them are missing, the message says that there is no data."""
    has_data = any(value is not None for _, _, values in windows for value in values)
    head = _head(DONE if has_data else NO_DATA, layout.lang, layout.date)
    if layout.format == "csv":
        parameters = [("PARAMETER", *item) for item in echo.items()]
        lines = [*head.items(), *parameters, ("NEXTPOSITION", next_position)]
        return layout.response(_data_csv(layout.lang, lines, windows).encode(layout.encoding))
    results = [
        {**_attributes(series, layout.lang), "VALUES": {"SURVEY_DATES": dates, "VALUES": values}}
        for series, dates, values in windows
    ]
    document = {**head, "PARAMETER": echo, "NEXTPOSITION": next_position, "RESULTSET": results}
    return layout.response(msgspec.json.encode(document))


def metadata_body(layout: ResponseFormat, db: str, rows: Iterable[SampleRow]) -> bytes:
    """Return the metadata of a database: its rows with headings, in both languages if Japanese is requested."""
    head = {**_head(DONE, layout.lang, layout.date), "DB": db}
    fields = [_metadata_fields(row, layout.lang) for row in rows]
    if layout.format == "json":
        return msgspec.json.encode({**head, "RESULTSET": fields})
    columns = _metadata_fields(BLANK_ROW, layout.lang)
    return _csv([*head.items(), columns, *(row.values() for row in fields)]).encode(layout.encoding)


def _head(message_id: str, lang: str, date: str, n: int = 0) -> dict[str, Any]:
    """Return the keys that every response begins with."""
    text = text_of(message_id, lang, n)
    return {"STATUS": MESSAGES[message_id].status, "MESSAGEID": message_id, "MESSAGE": text, "DATE": date}


def _data_csv(lang: str, lines: list[tuple[Any, ...]], windows: Iterable[SampleWindow]) -> str:
    """Write one line per value, each with the attributes of its series."""
    name, unit, category = (_key(name, lang) for name in ("NAME_OF_TIME_SERIES", "UNIT", "CATEGORY"))
    columns = ("SERIES_CODE", name, unit, "FREQUENCY", category, "LAST_UPDATE", "SURVEY_DATES", "VALUES")
    text = [_csv([*lines, columns])]
    for series, dates, values in windows:
        start = _csv([_attributes(series, lang).values()]).removesuffix(LINE_END)
        cells = (MISSING if value is None else value for value in values)
        text += [f"{start},{date},{cell}{LINE_END}" for date, cell in zip(dates, cells, strict=True)]
    return "".join(text)


def _attributes(series: SampleSeries, lang: str) -> dict[str, Any]:
    return {
        "SERIES_CODE": series.code,
        **_texts("NAME_OF_TIME_SERIES", series.names, lang),
        **_texts("UNIT", series.units, lang),
        "FREQUENCY": series.frequency_name,
        **_texts("CATEGORY", series.categories, lang),
        "LAST_UPDATE": series.last_update,
    }


def _metadata_fields(row: SampleRow, lang: str) -> dict[str, Any]:
    langs = LANGS if lang == "jp" else (lang,)
    start, end, last_update = row.listed
    return {
        "SERIES_CODE": row.code,
        **_texts("NAME_OF_TIME_SERIES", row.names, *langs),
        **_texts("UNIT", row.units, *langs),
        "FREQUENCY": row.frequency_name,
        **_texts("CATEGORY", row.categories, *langs),
        **{f"LAYER{n}": layer for n, layer in enumerate(row.layers, 1)},
        "START_OF_THE_TIME_SERIES": start,
        "END_OF_THE_TIME_SERIES": end,
        "LAST_UPDATE": last_update,
        **_texts("NOTES", row.notes, *langs),
    }


def _texts(name: str, pair: tuple[str, str], *langs: str) -> dict[str, str]:
    return {_key(name, lang): pair[LANGS.index(lang)] for lang in langs}


def _key(name: str, lang: str) -> str:
    return f"{name}_J" if lang == "jp" else name


def _csv(lines: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator=LINE_END).writerows(lines)
    return text.getvalue()


ROOT: Final = "/api/v1"
TAKES_GZIP: Final = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", re.IGNORECASE)
GZIP_HEADERS: Final = {"content-encoding": "gzip", "vary": "accept-encoding"}
JAPAN: Final = timezone(timedelta(hours=9))
NOT_FOUND: Final = SandboxResponse(404, b"<html><body><h1>404 Not Found</h1></body></html>", "text/html", SAMPLE)

Endpoint = Callable[[SampleQuery, ResponseFormat], SandboxResponse]


class BojSandboxApi:
    """The handler of all requests."""

    def __init__(self, catalogue: SampleCatalogue, clock: Clock = utc_now) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._endpoints: dict[str, Endpoint] = {
            f"{ROOT}/getDataCode": self._data_code,
            f"{ROOT}/getDataLayer": self._data_layer,
            f"{ROOT}/getMetadata": self._metadata,
        }

    def __call__(self, request: SandboxRequest) -> SandboxResponse:
        """Return the response to a request, compressed if the client accepts gzip."""
        endpoint = self._endpoints.get(request.path)
        if endpoint is None:
            return NOT_FOUND
        if request.method not in ("GET", "HEAD"):
            return SandboxResponse(405, type=None, headers={"allow": "GET, HEAD", **SAMPLE})
        response = self._answer(endpoint, SampleQuery(request.query))
        if not TAKES_GZIP.search(request.headers.get("accept-encoding", "")):
            return response
        body = gzip.compress(response.body, 6, mtime=0)
        return msgspec.structs.replace(response, body=body, headers={**response.headers, **GZIP_HEADERS})

    def _answer(self, endpoint: Endpoint, query: SampleQuery) -> SandboxResponse:
        date = self._clock().astimezone(JAPAN).isoformat(timespec="milliseconds")
        # Errors that are found before the language is known are in English.
        lang = "en"
        try:
            lang = query.lang()
            return endpoint(query, ResponseFormat(query.choice("format", FORMATS, "M181003E"), lang, date))
        except Fault as fault:
            # An error is JSON in any format.
            head = _head(fault.name, lang, date, fault.data["n"])
            return SandboxResponse(fault.status, msgspec.json.encode(head), headers=SAMPLE)

    def _data_code(self, query: SampleQuery, layout: ResponseFormat) -> SandboxResponse:
        query.require(db="M181004E", code="M181006E")
        page = select_by_code(self._catalogue.find(query.text("db")), query)
        return data_response(layout, echo_of(query, by_layer=False), *page)

    def _data_layer(self, query: SampleQuery, layout: ResponseFormat) -> SandboxResponse:
        query.require(db="M181004E", frequency="M181017E", layer="M181019E")
        query.levels()
        page = select_by_layer(self._catalogue.find(query.text("db")), query)
        return data_response(layout, echo_of(query, by_layer=True), *page)

    def _metadata(self, query: SampleQuery, layout: ResponseFormat) -> SandboxResponse:
        query.require(db="M181004E")
        database = self._catalogue.find(query.text("db"))
        layout = msgspec.structs.replace(layout, date=METADATA_DATE)
        return layout.response(metadata_body(layout, database.code, database.rows))


def build(_: str | None = None, clock: Clock = utc_now) -> Sandbox:
    """Build the sandbox; `clock` gives the date of responses, and the token is ignored as the API has none."""
    catalogue = SampleCatalogue()
    about = {
        "plays": "the Bank of Japan's statistics API",
        "databases": {code: english for code, (_, english) in catalogue.names.items()},
        "reserved": RESERVED,
    }
    return Sandbox("boj", BojSandboxApi(catalogue, clock), about)
