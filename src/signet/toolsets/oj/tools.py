"""The five tools of the online judge (spec 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from signet.kernel.errors import Code, Fault
from signet.kernel.tools import READ_ONLY, Context, Tool, tool
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse

from . import api
from .judges import explained, not_resolved, unknown_judges
from .models import Daily, FullDaily, FullProblem, FullResolved, Problem, Resolved, Similar, Status
from .render import problem_page, similar_page, status_page, wait_note

__all__ = ["TOOLS"]

MIN_QUERY_CHARS: Final = 3  # rule: 2.T3.query-short
MAX_QUERY_CHARS: Final = 2000  # rule: 2.T3.query-long
MAX_LIMIT: Final = 50
NUMBERS: Final = frozenset({"limit", "threshold"})
NO_SIMILAR: Final = "No similar problems were found."


class Markdown(Struct, frozen=True):
    """A text for people and models."""

    markdown: str


def _tool(
    name: str, title: str, example: dict[str, Any] | None = None, **rules: Any
) -> Callable[[Callable[[Any, Context], Any]], Tool]:
    """Return a decorator that makes a function a tool that asks the judge's backend."""
    return tool(
        name=name,
        slug=f"oj.{name}",
        title=title,
        annotations={**READ_ONLY, "openWorldHint": True},
        to_content=lambda result: [{"type": "text", "text": result["markdown"]}],  # rule: 2.common.markdown
        rest_errors=(("UNAUTHORIZED", 401), ("UPSTREAM_FAILED", 500), ("UPSTREAM_BROKEN", 500)),
        example=example or {},
        **rules,
    )


def _is_as_specified(ctx: Context) -> bool:
    """Return whether pages have the lines of spec 2 and no others, as the drop-in server's do."""
    return getattr(ctx.settings, "as_specified", False)


def _trimmed(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the texts without white space at their ends: spec 2 reads them so. A text is never a number."""
    return {
        name: api.trim(value) if isinstance(value, str) and name not in NUMBERS else value
        for name, value in arguments.items()
    }


def _trimmed_or_absent(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the same without the texts that are blank."""
    texts = _trimmed(arguments)
    return {name: value for name, value in texts.items() if value != "" or name in NUMBERS}


class DailyIn(Struct, frozen=True):
    """The day of the challenge to read."""

    domain: Literal["com", "cn"] = "com"  # rule: 2.T1.domain
    date: str | None = None


def _check_day(args: DailyIn) -> None:
    if args.date is not None:
        api.ask_daily(args.domain, args.date)


@_tool("get_daily_challenge", "LeetCode daily challenge", explain=_check_day)
async def get_daily_challenge(args: DailyIn, ctx: Context) -> Markdown:
    """Reads LeetCode's problem of the day, today's (by UTC) unless a date is given.

    When the judge has not published it to the backend yet, the answer says when to ask again.
    """
    day = ctx.today() if args.date is None else args.date  # rule: 2.T1.date-default
    response = await ctx.send(api.ask_daily(args.domain, day))
    fetching = api.fetching(response)
    if fetching is not None:  # rule: 1.S4.5.not-an-error
        return Markdown(wait_note(fetching, day))
    is_plain = _is_as_specified(ctx)

    def page() -> str:
        return problem_page(_daily(response, day, is_plain=is_plain), source="leetcode")  # rule: 2.T1.source

    return Markdown(await ctx.offload(page))


def _daily(response: UpstreamResponse, day: str, *, is_plain: bool) -> Problem:
    """Return the problem of the day, whichever form the backend's answer has."""
    if not api.is_list_of_problems(response):
        return api.read(response, Problem if is_plain else FullProblem)
    daily = api.read(response, Daily if is_plain else FullDaily)
    if not daily.problems:
        raise api.refuse(f"the backend has no daily challenge of {day}", Code.NOT_FOUND)
    if not isinstance(daily, FullDaily):
        return daily.problems[0]
    return replace(daily.problems[0], date=daily.date, domain=str(daily.source).removeprefix("leetcode."))


class ProblemIn(Struct, frozen=True):
    """The problem to read."""

    source: str  # rule: 2.T2.required
    id: str


def _problem_request(args: ProblemIn) -> UpstreamRequest:
    return api.ask_problem(args.source, args.id)


@_tool("get_problem", "Read a problem", {"source": "leetcode", "id": "1"}, tidy=_trimmed, explain=_problem_request)
async def get_problem(args: ProblemIn, ctx: Context) -> Markdown:
    """Reads one problem's statement by its judge and its exact id there.

    With a URL, a slug or an id whose judge is not certain, use resolve_problem instead.
    """
    response = await ctx.send(_problem_request(args))
    if _is_as_specified(ctx):
        return Markdown(await ctx.offload(lambda: problem_page(api.read(response, Problem))))
    try:
        return Markdown(await ctx.offload(lambda: problem_page(api.read(response, FullProblem))))
    except Fault as fault:
        raise explained(fault, response.status) from None


class SimilarIn(Struct, frozen=True):
    """The problem or the text to search by."""

    source: str | None = None
    id: str | None = None
    query: str | None = None
    limit: int = 10  # rule: 2.T3.limit-default
    threshold: float = 0.0  # rule: 2.T3.threshold-default
    source_filter: str | None = None


def _similar_request(args: SimilarIn) -> UpstreamRequest:
    """Return the request for similar problems; raise a Fault for the first rule that is broken, numbers first."""
    if not 1 <= args.limit <= MAX_LIMIT:  # rule: 2.T3.limit-range
        raise api.refuse(f"limit is {args.limit}; give 1 to {MAX_LIMIT}")
    if not 0 <= args.threshold <= 1:  # rule: 2.T3.threshold-range
        raise api.refuse(f"threshold is {args.threshold:g}; give 0 to 1")
    options = api.similar_options(args.limit, args.threshold, api.trim(args.source_filter))
    query, source, problem_id = api.trim(args.query), api.trim(args.source), api.trim(args.id)
    if query and not MIN_QUERY_CHARS <= len(query) <= MAX_QUERY_CHARS:  # rule: 2.T3.query-bounds
        raise api.refuse(f"query has {len(query)} characters; write {MIN_QUERY_CHARS} to {MAX_QUERY_CHARS}")
    if not query and not (source and problem_id):  # rule: 2.T3.needs-both
        raise api.refuse("nothing to search for: give a query, or both source and id")
    # rule: 2.T3.query-decides
    return api.ask_similar_with(query, options) if query else api.ask_similar_to(source, problem_id, options)


@_tool(
    "find_similar_problems",
    "Find similar problems",
    {"query": "shortest path in a grid", "limit": 5},  # rule: @find_similar_problems
    tidy=_trimmed_or_absent,
    explain=_similar_request,
)
async def find_similar_problems(args: SimilarIn, ctx: Context) -> Markdown:
    """Finds problems like a given one (source and id), or problems that a text describes (query).

    When a query is given it decides, and source and id are not looked at.
    """
    response = await ctx.send(_similar_request(args))
    note = "" if _is_as_specified(ctx) else f"{NO_SIMILAR} {unknown_judges(args.source_filter or '')}".strip()
    return Markdown(await ctx.offload(lambda: similar_page(api.read(response, Similar), note)))


class ResolveIn(Struct, frozen=True):
    """The name of the problem to find."""  # rule: 2.T4.required/2

    query: str


def _resolve_request(args: ResolveIn) -> UpstreamRequest:
    return api.ask_resolve(args.query)


@_tool(
    "resolve_problem",
    "Look a problem up",
    {"query": "https://leetcode.com/problems/two-sum/"},
    tidy=_trimmed,
    explain=_resolve_request,
)
async def resolve_problem(args: ResolveIn, ctx: Context) -> Markdown:
    """Finds a problem by whatever names it: a URL, a slug, an id such as 1900A, or judge:id.

    The best way in when it is not certain which judge a problem belongs to.
    """
    shape = Resolved if _is_as_specified(ctx) else FullResolved
    resolved = await ctx.offload(api.read, await ctx.send(_resolve_request(args)), shape)
    if resolved.problem is None:
        message = not_resolved(args.query, resolved.source, resolved.id)
        raise explained(api.refuse(message, Code.NOT_FOUND), 0, "give judge:id, a URL or a slug")  # rule: 2.T4.unknown
    return Markdown(await ctx.offload(problem_page, resolved.problem))  # rule: 2.T4.nested


class StatusIn(Struct, frozen=True):
    """No arguments."""  # rule: 2.T5.no-parameters


@_tool("get_platform_status", "Judge platforms at a glance")
async def get_platform_status(args: StatusIn, ctx: Context) -> Markdown:
    """Counts, for each judge, its problems and those that lack a statement or cannot be searched yet.

    The server must have been started with a token.
    """
    if ctx.upstream is None or not ctx.upstream.has_token:  # rule: 1.S4.2.token
        flag = "--token" if _is_as_specified(ctx) else "--oj-token"
        raise api.refuse(f"authentication is required: start the server with {flag} or OJ_TOKEN", Code.UNAUTHORIZED)
    response = await ctx.send(api.STATUS)
    return Markdown(await ctx.offload(lambda: status_page(api.read(response, Status))))


# rule: 1.S3.tools-list
TOOLS: Final = (get_daily_challenge, get_problem, find_similar_problems, resolve_problem, get_platform_status)
