"""One problem for the commands, found by URL or id, through the toolset's upstream and its folder of statements."""

from __future__ import annotations

import asyncio
import re
from typing import Final, TypeVar

from msgspec import Struct

from signet.app import resolve
from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import Upstream, UpstreamRequest
from signet.recording import open_run
from signet.settings.catalogue import find_toolset
from signet.settings.model import Settings, open_log
from signet.system.files import user_cache
from signet.toolsets.oj import api
from signet.toolsets.oj.judges import JUDGES, explained, not_resolved
from signet.toolsets.oj.models import FullProblem, FullResolved
from signet.toolsets.oj.render import problem_page, with_chinese
from signet.toolsets.oj.statement_cache import NoBackend, StatementCache
from signet.toolsets.oj_practice.tools import SamplesOut, samples_out

__all__ = ["FoundProblem", "find_problem"]

T = TypeVar("T")

FINDER: Final = "write judge:id, or the problem's URL"

_ID: Final = re.compile(rf"({'|'.join(JUDGES)})[:/ ]([^\s/:]+)", re.IGNORECASE)


class FoundProblem(Struct, frozen=True):
    """A problem: the page of its statement, and its samples."""

    page: str
    samples: SamplesOut
    has_statement: bool = True

    @property
    def name(self) -> str:
        """Return the name of a folder for it."""
        return re.sub(r"[^\w.-]+", "_", f"{self.samples.source}-{self.samples.id}").strip(".") or "problem"

    @property
    def reads_stdin(self) -> bool:
        """Whether programs read the samples; LeetCode calls a function with arguments instead."""
        return self.samples.source != "leetcode"


def find_problem(query: str, settings: Settings, *, keep: bool, offline: bool) -> FoundProblem:
    """Return the problem that a URL, a slug, an id or `judge:id` names.

    Raises:
        Fault: there is none, or the backend cannot be asked.
        UsageError: no backend is set.
    """
    settings = resolve(settings)
    toolset = find_toolset("oj-practice")
    if keep and not settings.sandbox:
        own = settings.of(toolset)
        folder = own.cache or user_cache("oj")
        if offline and own.base_url is None:
            return asyncio.run(_ask(StatementCache(NoBackend(), folder, offline=True), query.strip()))
        settings = settings.with_toolset(toolset, cache=folder, offline=offline)
    (enabled,) = settings.enabled()
    upstream = open_run(settings, open_log(settings)).runtime(enabled).upstream
    if upstream is None:
        raise Fault(Code.INTERNAL_ERROR, "no backend is set")
    return asyncio.run(_ask(upstream, query.strip()))


async def _ask(upstream: Upstream, query: str) -> FoundProblem:
    try:
        by_id = _ID.fullmatch(query)
        if by_id is not None:
            problem = await _read(upstream, api.ask_problem(by_id[1].lower(), by_id[2]), FullProblem)
        else:
            resolved = await _read(upstream, api.ask_resolve(query), FullResolved)
            if resolved.problem is None:
                message = not_resolved(query, resolved.source, resolved.id)
                raise explained(Fault(Code.NOT_FOUND, message), 0, FINDER)
            problem = resolved.problem
    finally:
        await upstream.close()
    has_statement = bool((with_chinese(problem).content or "").strip())
    return FoundProblem(problem_page(problem), samples_out(problem), has_statement)


async def _read(upstream: Upstream, request: UpstreamRequest, shape: type[T]) -> T:
    response = await upstream.send(request)
    try:
        return api.read(response, shape)
    except Fault as fault:
        raise explained(fault, response.status, FINDER) from None
