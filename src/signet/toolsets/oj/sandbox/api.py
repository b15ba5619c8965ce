"""The backend's endpoints over the samples, with the shapes, statuses and texts of the real backend."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from datetime import UTC, date, timedelta, timezone
from functools import cached_property
from http import HTTPStatus
from math import isfinite, nan
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec

from signet.kernel.errors import Code, Fault
from signet.sandbox.message import (
    Clock,
    Sandbox,
    SandboxRequest,
    SandboxResponse,
    json_response,
    problem_response,
    utc_now,
)

from .problem_store import SOURCES, ProblemStore, SampleProblem, identify
from .search import SearchHit, SearchIndex

__all__ = ["RETRY_AFTER_S", "DailyCalendar", "OjSandboxApi", "build"]

FIRST_DAY: Final = date(2020, 4, 1)
ALWAYS_FETCHING: Final = date(2024, 2, 29)
FIRST_FETCHING: Final = date(2024, 2, 28)
RETRY_AFTER_S: Final = 30

DOMAINS: Final = {"leetcode.com": "com", "leetcode.cn": "cn"}
ZONES: Final = {"com": UTC, "cn": timezone(timedelta(hours=8))}

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class DailyCalendar:
    """The dates and the problems that are assigned to them in turn."""

    def __init__(self, problems: list[SampleProblem], clock: Clock) -> None:
        self._problems = [it for it in problems if it.content is not None and it.title is not None]
        self._clock = clock
        self._fetched: set[str] = set()

    def find(self, query: dict[str, str]) -> dict[str, Any] | None:
        """Return the problem of the requested date, or None while it is being fetched.

        Raises:
            Fault: the date, the domain or the source is invalid.
        """
        domain = _domain(query.get("domain"), query.get("source"))
        day = self._day(query.get("date"), domain)
        if day == ALWAYS_FETCHING or (day == FIRST_FETCHING and domain not in self._fetched):
            self._fetched.add(domain)
            return None
        # Another step for the second domain, so that the two domains differ.
        place = day.toordinal() * (1 if domain == "com" else 7)
        fields = msgspec.structs.asdict(self._problems[place % len(self._problems)])
        del fields["source"]
        return {"date": day.isoformat(), "domain": domain, **fields}

    def _day(self, text: str | None, domain: str) -> date:
        today = self._clock().astimezone(ZONES[domain]).date()
        if text is None:
            return today
        if not _DATE.fullmatch(text):
            raise _invalid("invalid date format, expected YYYY-MM-DD")
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise _invalid("invalid calendar date") from None
        if day < FIRST_DAY:
            raise _invalid("date must be >= " + FIRST_DAY.isoformat())
        if day > today:
            raise _invalid("date must be <= today")
        return day


def _domain(domain: str | None, source: str | None) -> str:
    if domain not in (None, *ZONES):
        raise _invalid("domain must be 'com' or 'cn'")
    if source is None:
        return domain or "com"
    if source not in DOMAINS:
        raise _invalid(f"invalid source '{source}', expected 'leetcode.com' or 'leetcode.cn'")
    if domain not in (None, DOMAINS[source]):
        raise _invalid("domain and source conflict")
    return DOMAINS[source]


def _invalid(detail: str) -> Fault:
    return Fault(Code.INVALID_INPUT, detail)


VERSION: Final = "0.2.1+sample"
"""The version of the real backend, marked as a sample."""

DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50
MAX_NEIGHBOURS: Final = 200
MIN_QUERY_BYTES: Final = 3
MAX_QUERY_BYTES: Final = 2000
MAX_WHOLE: Final = 2**32 - 1

OPEN: Final = "/health"
"""The only path that needs no token."""

NO_ROUTE: Final = SandboxResponse(404, type=None)

Parameters = dict[str, str]


class OjSandboxApi:
    """The handler of all requests; with a token it checks the bearer token as the backend does."""

    def __init__(self, store: ProblemStore, token: str | None = None, clock: Clock = utc_now) -> None:
        self._store = store
        self._calendar = DailyCalendar(store.of("leetcode"), clock)
        self._token = token
        routes: dict[str, Callable[..., SandboxResponse]] = {
            OPEN: self._health,
            "/status": self._status,
            "/api/v1/daily": self._daily,
            "/api/v1/problems/([^/]+)/([^/]+)": self._problem,
            "/api/v1/similar": self._similar_to_text,
            "/api/v1/similar/([^/]+)/([^/]+)": self._similar_to_problem,
            "/api/v1/resolve/(.+)": self._resolve,
        }
        self._routes = [(re.compile(path), answer) for path, answer in routes.items()]

    @cached_property
    def _search(self) -> SearchIndex:
        """The index, built when a search first asks for it: it takes longer than the rest of a start."""
        return SearchIndex(self._store.entries)

    def __call__(self, request: SandboxRequest) -> SandboxResponse:
        """Return the response to a request."""
        for path, answer in self._routes:
            if match := path.fullmatch(request.path):
                if request.method not in ("GET", "HEAD"):
                    return SandboxResponse(405, type=None, headers={"allow": "GET,HEAD"})
                if request.path != OPEN and not self._is_authorised(request):
                    return problem_response(401, "missing or invalid token")
                # Of equal names the first counts.
                query = dict(reversed(parse_qsl(request.query, keep_blank_values=True)))
                try:
                    return answer(query, *map(unquote, match.groups()))
                except Fault as fault:
                    return _refusal(fault)
        return NO_ROUTE

    def _is_authorised(self, request: SandboxRequest) -> bool:
        if self._token is None:
            return True
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme == "Bearer" and hmac.compare_digest(token.encode("latin-1"), self._token.encode())

    def _health(self, _: Parameters) -> SandboxResponse:
        return json_response({"status": "ok", "db": True, "sqlite_vec": False, "vec_dimension": None})

    def _status(self, _: Parameters) -> SandboxResponse:
        return json_response({"version": VERSION, "platforms": self._store.counts()})

    def _daily(self, query: Parameters) -> SandboxResponse:
        problem = self._calendar.find(query)
        if problem is None:
            return json_response({"status": "fetching", "retry_after": RETRY_AFTER_S}, HTTPStatus.ACCEPTED)
        return json_response(problem)

    def _problem(self, _: Parameters, source: str, problem_id: str) -> SandboxResponse:
        if source not in SOURCES:
            raise Fault(Code.INVALID_INPUT, f"invalid source: {source}")
        problem = self._store.find(source, problem_id)
        return problem_response(404, "problem not found") if problem is None else json_response(problem)

    def _similar_to_text(self, query: Parameters) -> SandboxResponse:
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
        return _results(query, bounds, *self._search.by_text(text))

    def _similar_to_problem(self, query: Parameters, source: str, problem_id: str) -> SandboxResponse:
        bounds = _bounds(query)
        neighbours = self._search.by_id(source, problem_id)
        if neighbours is None:
            return problem_response(404, "no embedding found for this problem")
        return _results(query, bounds, *neighbours)

    def _resolve(self, _: Parameters, text: str) -> SandboxResponse:
        # Like the backend, decode a second time after the router.
        source, problem_id = identify(unquote(text))
        if source == "leetcode" and not (problem_id.isascii() and problem_id.isdigit()):
            problem_id = problem_id.lower()
            problem = self._store.find_slug(source, problem_id)
            problem_id = problem.id if problem else problem_id
        return json_response({"source": source, "id": problem_id, "problem": self._store.find(source, problem_id)})


def _bounds(query: Parameters) -> tuple[int, float]:
    """Read limit and threshold; the backend's framework does so before the backend checks anything else.

    Raises:
        Fault: the limit is not an unsigned 32-bit integer, or the threshold is not a finite number.
    """
    limit, threshold = query.get("limit", str(DEFAULT_LIMIT)), query.get("threshold", "0")
    if not (limit.isascii() and limit.isdigit()) or len(limit) > len(str(MAX_WHOLE)) or int(limit) > MAX_WHOLE:
        raise _not_a_number("limit")
    try:
        number = float(threshold)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise _not_a_number("threshold")
    return min(int(limit), MAX_LIMIT), number


def _results(
    query: Parameters, bounds: tuple[int, float], rewritten: str | None, hits: list[SearchHit]
) -> SandboxResponse:
    """Cut the hits to the request; the source filter sees only the nearest neighbours, so results may be few."""
    limit, threshold = bounds
    near = [hit for hit in hits if hit.similarity >= threshold][: min(limit * 4, MAX_NEIGHBOURS)]
    if (source_filter := query.get("source")) is not None:
        sources = {name.strip() for name in source_filter.split(",")}
        near = [hit for hit in near if hit.source in sources]
    return json_response({"rewritten_query": rewritten, "results": near[:limit]})


def _refusal(fault: Fault) -> SandboxResponse:
    """Return a refusal; the backend's framework refuses a malformed query in plain text."""
    if fault.name == "QUERY":
        return SandboxResponse(fault.status, fault.message.encode(), "text/plain; charset=utf-8")
    return problem_response(fault.status, fault.message)


def _not_a_number(name: str) -> Fault:
    return Fault(Code.INVALID_INPUT, f"the query string cannot be read: {name} must be a number", name="QUERY")


def build(token: str | None = None, clock: Clock = utc_now) -> Sandbox:
    """Build the sandbox; with a token it requires this bearer token, and `clock` decides which day is today."""
    store = ProblemStore.load()
    ids = {source: [problem.id for problem in store.of(source)] for source in SOURCES}
    return Sandbox("oj", OjSandboxApi(store, token, clock), {"plays": "an online-judge backend", "problems": ids})
