"""The three endpoints over the samples, as the Bank of Japan's API answers them.

    Request ── Query ── Catalogue.find ──┬── getDataCode, getDataLayer ── selection ── data
                                         └── getMetadata ── metadata, or whole ──▶ Response, gzip where it is asked for

Paths are case-sensitive, names and values of parameters are not. A check that fails is a `Fault` with the message's id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Final

import msgspec

from signet.kernel.errors import Fault
from signet.sandbox.message import SandboxRequest, SandboxResponse

from .catalogue import WHOLE, Catalogue
from .data import echo_of, told_data
from .large_metadata import gzipped, whole_of
from .metadata import BUILT, told_metadata
from .query import SampleQuery
from .response_format import SAMPLE, ResponseFormat, refusal
from .selection import by_code, by_layer

__all__ = ["ROOT", "BojSandboxApi", "japan_now"]

ROOT: Final = "/api/v1"
TAKES_GZIP: Final = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", re.IGNORECASE)
JAPAN: Final = timezone(timedelta(hours=9))
NOTHING: Final = SandboxResponse(404, b"<html><body><h1>404 Not Found</h1></body></html>", "text/html", SAMPLE)


def japan_now() -> datetime:
    """Tell the time in Japan."""
    return datetime.now(JAPAN)


class BojSandboxApi:
    """Answers requests as the Bank's API would."""

    def __init__(self, catalogue: Catalogue, clock: Callable[[], datetime] = japan_now) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._routes: dict[str, Callable[[SampleQuery, ResponseFormat], SandboxResponse]] = {
            f"{ROOT}/getDataCode": self._data_code,
            f"{ROOT}/getDataLayer": self._data_layer,
            f"{ROOT}/getMetadata": self._metadata,
        }

    def __call__(self, request: SandboxRequest) -> SandboxResponse:
        """Answer one request."""
        answer = self._routes.get(request.path)
        if answer is None:
            return NOTHING
        if request.method not in ("GET", "HEAD"):
            return SandboxResponse(405, type=None, headers={"allow": "GET, HEAD", **SAMPLE})
        return _coded(request, self._answer(answer, SampleQuery(request.query)))

    def _answer(
        self, answer: Callable[[SampleQuery, ResponseFormat], SandboxResponse], query: SampleQuery
    ) -> SandboxResponse:
        date = self._clock().astimezone(JAPAN).isoformat(timespec="milliseconds")
        # What is found wrong before the language is known is told in English.
        lang = "en"
        try:
            lang = query.lang()
            return answer(query, ResponseFormat(query.format(), lang, date))
        except Fault as fault:
            return refusal(fault, lang, date)

    def _data_code(self, query: SampleQuery, manner: ResponseFormat) -> SandboxResponse:
        query.need(db="M181004E", code="M181006E")
        page = by_code(self._catalogue.find(query.text("db")), query)
        return told_data(manner, echo_of(query, by_layer=False), page)

    def _data_layer(self, query: SampleQuery, manner: ResponseFormat) -> SandboxResponse:
        query.need(db="M181004E", frequency="M181017E", layer="M181019E")
        query.levels()
        page = by_layer(self._catalogue.find(query.text("db")), query)
        return told_data(manner, echo_of(query, by_layer=True), page)

    def _metadata(self, query: SampleQuery, manner: ResponseFormat) -> SandboxResponse:
        query.need(db="M181004E")
        database = self._catalogue.find(query.text("db"))
        built = msgspec.structs.replace(manner, date=BUILT)
        if database.code == WHOLE:
            return built.response(whole_of(built, database))
        return built.response(told_metadata(built, database.code, database.rows))


def _coded(request: SandboxRequest, response: SandboxResponse) -> SandboxResponse:
    """Compress an answer for a client that takes it so."""
    if not TAKES_GZIP.search(request.headers.get("accept-encoding", "")):
        return response
    headers = {**response.headers, "content-encoding": "gzip", "vary": "accept-encoding"}
    return msgspec.structs.replace(response, body=gzipped(response.body), headers=headers)
