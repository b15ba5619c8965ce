"""The three endpoints of the Bank of Japan's API over the samples.

    SandboxRequest ── SampleQuery ── Catalogue ──┬── getDataCode, getDataLayer ── selection ──┐
                                                 └── getMetadata ─────────────────────────────┤
    SandboxResponse, with gzip if requested ◀── responses ◀───────────────────────────────────┘

Paths are case-sensitive, names and values of parameters are not. A failed check is a `Fault` named by its message id.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Final

import msgspec

from signet.kernel.errors import Fault
from signet.sandbox.message import SandboxRequest, SandboxResponse

from .database import Catalogue
from .query import SampleQuery
from .responses import METADATA_DATE, SAMPLE, ResponseFormat, data_response, echo_of, metadata_body, refusal
from .selection import select_by_code, select_by_layer

__all__ = ["ROOT", "TAKES_GZIP", "BojSandboxApi", "japan_now"]

ROOT: Final = "/api/v1"
TAKES_GZIP: Final = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", re.IGNORECASE)
GZIP_HEADERS: Final = {"content-encoding": "gzip", "vary": "accept-encoding"}
JAPAN: Final = timezone(timedelta(hours=9))
NOT_FOUND: Final = SandboxResponse(404, b"<html><body><h1>404 Not Found</h1></body></html>", "text/html", SAMPLE)

Endpoint = Callable[[SampleQuery, ResponseFormat], SandboxResponse]


def japan_now() -> datetime:
    """Return the current time in Japan."""
    return datetime.now(JAPAN)


class BojSandboxApi:
    """The handler of all requests."""

    def __init__(self, catalogue: Catalogue, clock: Callable[[], datetime] = japan_now) -> None:
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
            return endpoint(query, ResponseFormat(query.format(), lang, date))
        except Fault as fault:
            return refusal(fault, lang, date)

    def _data_code(self, query: SampleQuery, layout: ResponseFormat) -> SandboxResponse:
        query.require(db="M181004E", code="M181006E")
        selection = select_by_code(self._catalogue.find(query.text("db")), query)
        return data_response(layout, echo_of(query, by_layer=False), selection)

    def _data_layer(self, query: SampleQuery, layout: ResponseFormat) -> SandboxResponse:
        query.require(db="M181004E", frequency="M181017E", layer="M181019E")
        query.levels()
        selection = select_by_layer(self._catalogue.find(query.text("db")), query)
        return data_response(layout, echo_of(query, by_layer=True), selection)

    def _metadata(self, query: SampleQuery, layout: ResponseFormat) -> SandboxResponse:
        query.require(db="M181004E")
        database = self._catalogue.find(query.text("db"))
        layout = msgspec.structs.replace(layout, date=METADATA_DATE)
        return layout.response(metadata_body(layout, database.code, database.rows))
