"""The five tools of the online judge (spec 2)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from signet.kernel.errors import Code
from signet.kernel.tools import READ_ONLY, Context, tool

from . import api
from .models import Problem, Resolved, Similar, Status
from .render import problem_page, similar_page, status_page, wait_note

__all__ = ["TOOLS"]

ASKS_OUTSIDE: Final = {**READ_ONLY, "openWorldHint": True}
REST_ERRORS: Final = (("UNAUTHORIZED", 401), ("UPSTREAM_FAILED", 500), ("UPSTREAM_BROKEN", 500))
MIN_QUERY_CHARS: Final = 3
MAX_QUERY_CHARS: Final = 2000


class Markdown(Struct, frozen=True):
    """A text for people and models."""

    markdown: str


def _text(result: Any) -> list[dict[str, str]]:
    return [{"type": "text", "text": result["markdown"]}]


class DailyIn(Struct, frozen=True, forbid_unknown_fields=True):
    """Which day's challenge to read."""

    domain: Literal["com", "cn"] = "com"
    date: str | None = None


@tool(
    name="get_daily_challenge",
    slug="oj.get_daily_challenge",
    title="LeetCode daily challenge",
    annotations=ASKS_OUTSIDE,
    to_content=_text,
    rest_errors=REST_ERRORS,
)
async def get_daily_challenge(args: DailyIn, ctx: Context) -> Markdown:
    """Reads LeetCode's problem of the day, today's (by UTC) unless a date is given.

    When the judge has not published it to the backend yet, the answer says when to ask again.
    """
    day = ctx.today() if args.date is None else args.date
    answer = await ctx.send(api.ask_daily(args.domain, day))
    waiting = api.fetching(answer)
    if waiting is not None:
        return Markdown(wait_note(waiting, day))
    problem = api.read(answer, Problem)
    return Markdown(await ctx.offload(lambda: problem_page(problem, source="leetcode")))


class ProblemIn(Struct, frozen=True, forbid_unknown_fields=True):
    """Which problem to read."""

    source: str
    id: str


@tool(
    name="get_problem",
    slug="oj.get_problem",
    title="Read a problem",
    annotations=ASKS_OUTSIDE,
    to_content=_text,
    rest_errors=REST_ERRORS,
    example={"source": "leetcode", "id": "1"},
)
async def get_problem(args: ProblemIn, ctx: Context) -> Markdown:
    """Reads one problem's statement by its judge and its exact id there.

    With a URL, a slug or an id whose judge is not certain, use resolve_problem instead.
    """
    problem = api.read(await ctx.send(api.ask_problem(args.source, args.id)), Problem)
    return Markdown(await ctx.offload(problem_page, problem))


class SimilarIn(Struct, frozen=True, forbid_unknown_fields=True):
    """What to find the like of."""

    source: str | None = None
    id: str | None = None
    query: str | None = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 10
    threshold: Annotated[float, Meta(ge=0, le=1)] = 0.0
    source_filter: str | None = None


@tool(
    name="find_similar_problems",
    slug="oj.find_similar_problems",
    title="Find similar problems",
    annotations=ASKS_OUTSIDE,
    to_content=_text,
    rest_errors=REST_ERRORS,
    example={"query": "shortest path in a grid", "limit": 5},
)
async def find_similar_problems(args: SimilarIn, ctx: Context) -> Markdown:
    """Finds problems like a given one (source and id), or problems that a text describes (query).

    When a query is given it decides, and source and id are not looked at.
    """
    options = api.similar_options(args.limit, args.threshold, api.trim(args.source_filter))
    query, source, problem_id = api.trim(args.query), api.trim(args.source), api.trim(args.id)
    if query and not MIN_QUERY_CHARS <= len(query) <= MAX_QUERY_CHARS:
        message = f"query has {len(query)} characters; write {MIN_QUERY_CHARS} to {MAX_QUERY_CHARS}"
        raise api.refuse(message)
    if not query and not (source and problem_id):
        message = "nothing to search for: give a query, or both source and id"
        raise api.refuse(message)
    ask = api.ask_similar_with(query, options) if query else api.ask_similar_to(source, problem_id, options)
    return Markdown(similar_page(api.read(await ctx.send(ask), Similar)))


class ResolveIn(Struct, frozen=True, forbid_unknown_fields=True):
    """What to look up."""

    query: str


@tool(
    name="resolve_problem",
    slug="oj.resolve_problem",
    title="Look a problem up",
    annotations=ASKS_OUTSIDE,
    to_content=_text,
    rest_errors=REST_ERRORS,
    example={"query": "https://leetcode.com/problems/two-sum/"},
)
async def resolve_problem(args: ResolveIn, ctx: Context) -> Markdown:
    """Finds a problem by whatever names it: a URL, a slug, an id such as 1900A, or judge:id.

    The best way in when it is not certain which judge a problem belongs to.
    """
    found = api.read(await ctx.send(api.ask_resolve(args.query)), Resolved)
    if found.problem is None:
        if found.source in {None, "unknown"}:
            message = f"'{args.query[:200]}' names no problem of a known judge; give a URL, a slug or judge:id"
        else:
            message = f"Problem not found: {found.source}/{found.id}"
        raise api.refuse(message, Code.NOT_FOUND)
    return Markdown(await ctx.offload(problem_page, found.problem))


class StatusIn(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to say."""


@tool(
    name="get_platform_status",
    slug="oj.get_platform_status",
    title="Judge platforms at a glance",
    annotations=ASKS_OUTSIDE,
    to_content=_text,
    rest_errors=REST_ERRORS,
)
async def get_platform_status(args: StatusIn, ctx: Context) -> Markdown:
    """Counts, for each judge, its problems and those that lack a statement or cannot be searched yet.

    The server must have been started with a token.
    """
    if ctx.upstream is None or not ctx.upstream.has_token:
        message = "authentication is required: start the server with --token or OJ_TOKEN"
        raise api.refuse(message, Code.UNAUTHORIZED)
    return Markdown(status_page(api.read(await ctx.send(api.ask_status()), Status)))


TOOLS: Final = (get_daily_challenge, get_problem, find_similar_problems, resolve_problem, get_platform_status)
