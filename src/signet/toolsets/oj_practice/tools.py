"""The tool for practice: the samples of a problem as data."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from signet.kernel.errors import Fault
from signet.kernel.tools import READ_ONLY, Context, tool
from signet.kernel.upstream import UpstreamResponse
from signet.toolsets.oj import api
from signet.toolsets.oj.judges import explained
from signet.toolsets.oj.models import FullProblem
from signet.toolsets.oj.render import with_chinese

from .limits import limits_of
from .samples import Sample, samples_of

__all__ = ["TOOLS", "SamplesOut", "read_samples", "samples_out"]


class SamplesIn(Struct, frozen=True):
    """The problem whose samples to read."""

    source: str
    id: str


class SamplesOut(Struct, frozen=True):
    """The samples and limits of one problem."""

    source: str
    id: str
    title: str | None
    link: str | None
    samples: list[Sample]
    time_limit_ms: int | None
    memory_limit_mb: int | None
    reason: str | None


@tool(
    name="get_samples",
    slug="oj.get_samples",
    title="Samples of a problem as data",
    annotations={**READ_ONLY, "openWorldHint": True},
    rest_errors=(("UNAUTHORIZED", 401), ("UPSTREAM_FAILED", 500), ("UPSTREAM_BROKEN", 500)),
    example={"source": "codeforces", "id": "1900A"},
)
async def get_samples(args: SamplesIn, ctx: Context) -> SamplesOut:
    """Reads the samples of one problem as data, to test a program with: input, output, explanation, and limits.

    Only what the statement marks as input and output is taken; where there is nothing, reason says why. With a URL or
    an uncertain id, call resolve_problem first. Not for problems of a contest that is running: judges forbid it.
    """
    response = await ctx.send(api.ask_problem(args.source, args.id))
    return await ctx.offload(read_samples, response)


def read_samples(response: UpstreamResponse) -> SamplesOut:
    """Return the samples of the problem in a response.

    Raises:
        Fault: the backend refuses, or cannot be read; the text names the judges and the shapes of their ids.
    """
    try:
        return samples_out(api.read(response, FullProblem))
    except Fault as fault:
        raise explained(fault, response.status) from None


def samples_out(problem: FullProblem) -> SamplesOut:
    """Return the samples and limits of a problem."""
    problem = with_chinese(problem)
    content = problem.content or ""
    limits = limits_of(content)
    found = samples_of(content)
    reason = found.reason
    if not content.strip():
        why = "it is a paid problem" if problem.paid_only else "it was not crawled, or the judge hides it"
        reason = f"the backend has no statement of this problem: {why}"
    return SamplesOut(
        problem.source or "",
        str(problem.id),
        problem.title,
        problem.link,
        found.samples,
        limits.time_ms,
        limits.memory_mb,
        reason,
    )


TOOLS: Final = (get_samples,)
