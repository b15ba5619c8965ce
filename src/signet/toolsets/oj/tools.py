"""The five tools of the online judge (spec 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import Struct

from signet.kernel.errors import Code
from signet.kernel.tools import READ_ONLY, Context, Tool, tool
from signet.kernel.upstream import UpstreamRequest

from . import api
from .models import Problem, Resolved, Similar, Status
from .render import problem_page, similar_page, status_page, wait_note

__all__ = ["TOOLS"]

MIN_QUERY_CHARS: Final = 3
MAX_QUERY_CHARS: Final = 2000
MAX_LIMIT: Final = 50


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
        to_content=lambda result: [{"type": "text", "text": result["markdown"]}],
        rest_errors=(("UNAUTHORIZED", 401), ("UPSTREAM_FAILED", 500), ("UPSTREAM_BROKEN", 500)),
        example=example or {},
        **rules,
    )


class DailyIn(Struct, frozen=True):
    """The day of the challenge to read."""

    domain: Literal["com", "cn"] = "com"
    date: str | None = None


def _check_day(args: DailyIn) -> None:
    if args.date is not None:
        api.ask_daily(args.domain, args.date)


@_tool("get_daily_challenge", "LeetCode daily challenge", explain=_check_day)
async def get_daily_challenge(args: DailyIn, ctx: Context) -> Markdown:
    """Reads LeetCode's problem of the day, today's (by UTC) unless a date is given.

    When the judge has not published it to the backend yet, the answer says when to ask again.
    """
    day = ctx.today() if args.date is None else args.date
    response = await ctx.send(api.ask_daily(args.domain, day))
    fetching = api.fetching(response)
    if fetching is not None:
        return Markdown(wait_note(fetching, day))
    return Markdown(await ctx.offload(lambda: problem_page(api.read(response, Problem), source="leetcode")))


class ProblemIn(Struct, frozen=True):
    """The problem to read."""

    source: str
    id: str


def _problem_request(args: ProblemIn) -> UpstreamRequest:
    return api.ask_problem(args.source, args.id)


@_tool("get_problem", "Read a problem", {"source": "leetcode", "id": "1"}, explain=_problem_request)
async def get_problem(args: ProblemIn, ctx: Context) -> Markdown:
    """Reads one problem's statement by its judge and its exact id there.

    With a URL, a slug or an id whose judge is not certain, use resolve_problem instead.
    """
    response = await ctx.send(_problem_request(args))
    return Markdown(await ctx.offload(lambda: problem_page(api.read(response, Problem))))


class SimilarIn(Struct, frozen=True):
    """The problem or the text to search by."""

    source: str | None = None
    id: str | None = None
    query: str | None = None
    limit: int = 10
    threshold: float = 0.0
    source_filter: str | None = None


def _trimmed(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments without white space at their ends, and without blank ones: spec 2 reads them so."""
    texts = {name: api.trim(value) for name, value in arguments.items() if isinstance(value, str)}
    return {name: texts.get(name, value) for name, value in arguments.items() if texts.get(name, value) != ""}


def _similar_request(args: SimilarIn) -> UpstreamRequest:
    """Return the request for similar problems; raise a Fault for the first rule that is broken, numbers first."""
    if not 1 <= args.limit <= MAX_LIMIT:
        raise api.refuse(f"limit is {args.limit}; give 1 to {MAX_LIMIT}")
    if not 0 <= args.threshold <= 1:
        raise api.refuse(f"threshold is {args.threshold:g}; give 0 to 1")
    options = api.similar_options(args.limit, args.threshold, api.trim(args.source_filter))
    query, source, problem_id = api.trim(args.query), api.trim(args.source), api.trim(args.id)
    if query and not MIN_QUERY_CHARS <= len(query) <= MAX_QUERY_CHARS:
        raise api.refuse(f"query has {len(query)} characters; write {MIN_QUERY_CHARS} to {MAX_QUERY_CHARS}")
    if not query and not (source and problem_id):
        raise api.refuse("nothing to search for: give a query, or both source and id")
    return api.ask_similar_with(query, options) if query else api.ask_similar_to(source, problem_id, options)


@_tool(
    "find_similar_problems",
    "Find similar problems",
    {"query": "shortest path in a grid", "limit": 5},
    tidy=_trimmed,
    explain=_similar_request,
)
async def find_similar_problems(args: SimilarIn, ctx: Context) -> Markdown:
    """Finds problems like a given one (source and id), or problems that a text describes (query).

    When a query is given it decides, and source and id are not looked at.
    """
    response = await ctx.send(_similar_request(args))
    return Markdown(await ctx.offload(lambda: similar_page(api.read(response, Similar))))


class ResolveIn(Struct, frozen=True):
    """The name of the problem to find."""

    query: str


def _resolve_request(args: ResolveIn) -> UpstreamRequest:
    return api.ask_resolve(args.query)


@_tool(
    "resolve_problem",
    "Look a problem up",
    {"query": "https://leetcode.com/problems/two-sum/"},
    explain=_resolve_request,
)
async def resolve_problem(args: ResolveIn, ctx: Context) -> Markdown:
    """Finds a problem by whatever names it: a URL, a slug, an id such as 1900A, or judge:id.

    The best way in when it is not certain which judge a problem belongs to.
    """
    resolved = await ctx.offload(api.read, await ctx.send(_resolve_request(args)), Resolved)
    if resolved.problem is None:
        if resolved.source in {None, "unknown"}:
            message = f"'{args.query[:200]}' names no problem of a known judge; give a URL, a slug or judge:id"
        else:
            message = f"Problem not found: {resolved.source}/{resolved.id}"
        raise api.refuse(message, Code.NOT_FOUND)
    return Markdown(await ctx.offload(problem_page, resolved.problem))


class StatusIn(Struct, frozen=True):
    """No arguments."""


@_tool("get_platform_status", "Judge platforms at a glance")
async def get_platform_status(args: StatusIn, ctx: Context) -> Markdown:
    """Counts, for each judge, its problems and those that lack a statement or cannot be searched yet.

    The server must have been started with a token.
    """
    if ctx.upstream is None or not ctx.upstream.has_token:
        raise api.refuse("authentication is required: start the server with --token or OJ_TOKEN", Code.UNAUTHORIZED)
    response = await ctx.send(api.STATUS)
    return Markdown(await ctx.offload(lambda: status_page(api.read(response, Status))))


TOOLS: Final = (get_daily_challenge, get_problem, find_similar_problems, resolve_problem, get_platform_status)
