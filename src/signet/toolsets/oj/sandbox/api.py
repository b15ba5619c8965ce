"""The backend's routes over the samples: shapes, statuses and texts as the real one has them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from signet.kernel.errors import Code, Fault
from signet.sandbox.message import SandboxRequest, SandboxResponse, json_response, problem_response

from .daily import RETRY_AFTER_S, Calendar
from .listing import list_problems, list_tags
from .problem import SOURCES
from .problem_store import ProblemStore
from .query import QueryParameters
from .resolve import identify
from .search import Hit, Search

__all__ = ["VERSION", "OjSandboxApi"]

VERSION: Final = "0.2.1+sample"
"""The backend that is played, and the word that it is not it."""

DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50
MAX_NEIGHBOURS: Final = 200
MIN_QUERY_BYTES: Final = 3
MAX_QUERY_BYTES: Final = 2000

NOTHING: Final = SandboxResponse(404, type=None)
"""The answer on a route that does not exist."""

Route = tuple[re.Pattern[str], Callable[..., SandboxResponse]]


def utc_now() -> datetime:
    """Tell the time."""
    return datetime.now(UTC)


class OjSandboxApi:
    """Answers requests as the backend would, with its bearer check when a token is given."""

    def __init__(self, shelf: ProblemStore, token: str | None = None, clock: Callable[[], datetime] = utc_now) -> None:
        self._shelf = shelf
        self._search = Search(shelf.samples)
        self._calendar = Calendar(shelf.of("leetcode"), clock)
        self._token = token
        self._open: tuple[Route, ...] = ((re.compile("/health"), self._health),)
        self._guarded: tuple[Route, ...] = (
            (re.compile("/status"), self._status),
            (re.compile("/api/v1/daily"), self._daily),
            (re.compile("/api/v1/problems/([^/]+)/([^/]+)"), self._problem),
            (re.compile("/api/v1/problems/([^/]+)"), self._list),
            (re.compile("/api/v1/tags/([^/]+)"), self._tags),
            (re.compile("/api/v1/similar"), self._similar_to_text),
            (re.compile("/api/v1/similar/([^/]+)/([^/]+)"), self._similar_to_problem),
            (re.compile("/api/v1/resolve/(.+)"), self._resolve),
        )

    def __call__(self, request: SandboxRequest) -> SandboxResponse:
        """Answer one request."""
        for route, answer in (*self._open, *self._guarded):
            if found := route.fullmatch(request.path):
                if request.method not in ("GET", "HEAD"):
                    return SandboxResponse(405, type=None, headers={"allow": "GET,HEAD"})
                if (route, answer) in self._guarded and not self._may_enter(request):
                    return problem_response(401, "missing or invalid token")
                try:
                    return answer(QueryParameters(request.query), *map(unquote, found.groups()))
                except Fault as fault:
                    return _refusal(fault)
        return NOTHING

    def _may_enter(self, request: SandboxRequest) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        known = (self._token or "").encode()
        return self._token is None or (scheme == "Bearer" and hmac.compare_digest(given.encode("latin-1"), known))

    def _health(self, _: QueryParameters) -> SandboxResponse:
        return json_response({"status": "ok", "db": True, "sqlite_vec": False, "vec_dimension": None})

    def _status(self, _: QueryParameters) -> SandboxResponse:
        return json_response({"version": VERSION, "platforms": self._shelf.counts()})

    def _daily(self, query: QueryParameters) -> SandboxResponse:
        found = self._calendar.ask(query)
        if found is None:
            return json_response({"status": "fetching", "retry_after": RETRY_AFTER_S}, HTTPStatus.ACCEPTED)
        return json_response(found)

    def _problem(self, _: QueryParameters, source: str, problem_id: str) -> SandboxResponse:
        _check_source(source)
        problem = self._shelf.find(source, problem_id)
        return problem_response(404, "problem not found") if problem is None else json_response(problem)

    def _list(self, query: QueryParameters, source: str) -> SandboxResponse:
        _check_source(source)
        return json_response(list_problems(self._shelf.of(source), query))

    def _tags(self, _: QueryParameters, source: str) -> SandboxResponse:
        _check_source(source)
        return json_response(list_tags(self._shelf.of(source)))

    def _similar_to_text(self, query: QueryParameters) -> SandboxResponse:
        bounds = _bounds(query)
        text = query.get("q", query.get("query", "")).strip()
        if len(text) > 1 and text[0] == text[-1] == '"':
            text = text[1:-1]
        if not text:
            raise Fault(Code.INVALID_INPUT, "query parameter is required")
        size = len(text.encode("utf-8", "replace"))
        if size < MIN_QUERY_BYTES:
            raise Fault(Code.INVALID_INPUT, f"query must be at least {MIN_QUERY_BYTES} characters")
        if size > MAX_QUERY_BYTES:
            raise Fault(Code.INVALID_INPUT, f"query must be at most {MAX_QUERY_BYTES} characters")
        return _found(query, bounds, *self._search.by_text(text))

    def _similar_to_problem(self, query: QueryParameters, source: str, problem_id: str) -> SandboxResponse:
        bounds = _bounds(query)
        found = self._search.by_id(source, problem_id)
        if found is None:
            return problem_response(404, "no embedding found for this problem")
        return _found(query, bounds, *found)

    def _resolve(self, _: QueryParameters, text: str) -> SandboxResponse:
        # Decoded twice, once by the router and once more here, as the backend does.
        source, problem_id = identify(unquote(text))
        if source == "leetcode" and not (problem_id.isascii() and problem_id.isdigit()):
            problem_id = problem_id.lower()
            known = self._shelf.find_slug(source, problem_id)
            problem_id = known.id if known else problem_id
        return json_response({"source": source, "id": problem_id, "problem": self._shelf.find(source, problem_id)})


def _bounds(query: QueryParameters) -> tuple[int, float]:
    """Read the numbers of a search; the backend's framework does so before the backend looks at anything."""
    return min(query.whole("limit", DEFAULT_LIMIT), MAX_LIMIT), query.real("threshold", 0.0)


def _found(query: QueryParameters, bounds: tuple[int, float], told: str | None, hits: list[Hit]) -> SandboxResponse:
    """Cut what was found to what was asked for: the filter comes after the nearest neighbours, so rows may be few."""
    limit, threshold = bounds
    near = [hit for hit in hits if hit.similarity >= threshold][: min(limit * 4, MAX_NEIGHBOURS)]
    if (wanted := query.get("source")) is not None:
        sources = {name.strip() for name in wanted.split(",")}
        near = [hit for hit in near if hit.source in sources]
    return json_response({"rewritten_query": told, "results": near[:limit]})


def _check_source(source: str) -> None:
    if source not in SOURCES:
        raise Fault(Code.INVALID_INPUT, f"invalid source: {source}")


def _refusal(fault: Fault) -> SandboxResponse:
    """Write a refusal: in plain text where the backend's framework refuses before the backend sees it."""
    if fault.name == "QUERY":
        return SandboxResponse(fault.status, fault.message.encode(), "text/plain; charset=utf-8")
    return problem_response(fault.status, fault.message)
