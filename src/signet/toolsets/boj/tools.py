"""The three tools of the Bank of Japan, and how it is asked: what may be cached, when to try again (spec 3).

Only temporary failures are retried: a broken connection, and the Bank's own statuses 500 and 503.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import structs

from signet.kernel.encoded import EncodedResult
from signet.kernel.errors import Code, Fault
from signet.kernel.tools import READ_ONLY, Context, Tool, tool
from signet.kernel.upstream import NOT_GZIP, UpstreamRequest, UpstreamResponse

from . import BojSettings, max_result_bytes
from .faults import transport, validation
from .models import MAX_RESULT_BYTES, DataOut
from .query import DataCodeIn, DataLayerIn, MetadataIn, Q, check, request_of

__all__ = ["MAX_DELAY_MS", "TOOLS", "delay_ms", "may_cache"]

SUCCESS: Final = re.compile(rb'^\W*"?STATUS"?\s*[:,]\s*"?200\b')

MAX_DELAY_MS: Final = 2**63 - 1
"""The limit of a delay: the largest number that timers take."""

TEMPORARY: Final = frozenset({500, 503})  # rule: 3.retry.only
"""The Bank's statuses for temporary failures."""


def may_cache(request: UpstreamRequest, response: UpstreamResponse) -> bool:
    """Return True if a response may be cached: a complete and successful list of series."""
    is_complete = not response.cut and not response.broken
    # rule: 3.polite.kept
    return "/getMetadata?" in request.target and is_complete and SUCCESS.match(response.body[:200]) is not None


def delay_ms(settings: BojSettings, attempt: int, fault: Fault) -> int | None:
    """Return the delay after a failed attempt (counted from 0), or None if there is no retry."""
    if attempt >= settings.retry_max or not _is_temporary(fault):  # rule: 3.retry.count
        return None
    # 63 doublings reach the limit from any backoff, and a shift by a large number would take memory.
    return min(settings.retry_backoff_ms << min(attempt, 63), MAX_DELAY_MS)  # rule: 3.retry.backoff


def _is_temporary(fault: Fault) -> bool:
    error_type = fault.data.get("error_type")
    # rule: 3.retry.only/2
    return error_type == "TRANSPORT_ERROR" or (error_type == "API_ERROR" and fault.data.get("status") in TEMPORARY)


T = TypeVar("T")


def _adapt(fault: Fault) -> Fault:
    """Return a fault of the pipeline with the data of spec 3: a validation error, or an internal one."""
    if "error_type" in fault.data:
        return fault
    if fault.code is Code.INVALID_INPUT:
        return validation(fault.message)  # rule: 3.errors.schema
    data = {"error_type": "INTERNAL_ERROR", "message": fault.message}
    adapted = Fault(fault.code, fault.message, as_tool_result=True, data=data)
    adapted.__cause__ = fault.__cause__
    return adapted


def _summary(result: Any) -> str:
    """Return the digest of a large result; its module is loaded when there is one."""
    from .digest import data_digest, metadata_digest

    return data_digest(result) if "series" in result else metadata_digest(result)


def _next_page(result: Any) -> str:
    from .digest import next_page

    return next_page(result)


def _tool(name: str, title: str, example: dict[str, Any]) -> Callable[[Callable[[Any, Context], Any]], Tool]:
    """Return a decorator for a tool that reads from the Bank."""
    return tool(
        name=f"boj_{name}",  # rule: 3.goal
        slug=f"boj.{name}",
        title=title,
        annotations={**READ_ONLY, "openWorldHint": True},
        adapt_fault=_adapt,
        explain=check,
        max_result_bytes=MAX_RESULT_BYTES,
        raised_limit=max_result_bytes,
        validate_in_thread=True,
        summarize=_summary,
        remark=_next_page,
        example=example,
    )


@_tool("get_data_code", "Read Bank of Japan series by code", {"db": "FM08", "codes": ["FXERD01"], "lang": "en"})
async def get_data_code(args: DataCodeIn, ctx: Context) -> DataOut:
    """Reads observations of Bank of Japan time series by their codes, all of one frequency.

    Codes are found with boj_get_metadata. Periods are 2024 (year) or 202401 (half, quarter, month); names and units are
    Japanese unless lang is en. One call gives one page: when next_position is not null there is more, to be asked for
    with it as start_position.
    """
    from .decode import read_data

    return await _fetch(ctx, args, read_data)


@_tool("get_data_layer", "Read Bank of Japan series by layer", {"db": "FM08", "frequency": "D", "layers": ["1", "1"]})
async def get_data_layer(args: DataLayerIn, ctx: Context) -> DataOut:
    """Reads observations of every Bank of Japan series of one frequency under a place in a database's tree.

    Layers are one to five levels, each a number or *. Periods are 2024 (year) or 202401 (half, quarter, month); names
    and units are Japanese unless lang is en. One call gives one page: when next_position is not null there is more, to
    be asked for with it as start_position.
    """
    from .decode import read_data

    return await _fetch(ctx, args, read_data)


@_tool("get_metadata", "List a Bank of Japan database", {"db": "FM08", "lang": "en"})
async def get_metadata(args: MetadataIn, ctx: Context) -> EncodedResult:
    """Lists the series of a Bank of Japan database: code, name, unit, frequency, layers, first and last period.

    Use it first, to find the codes or layers to read. With lang en the names and units are English only, which is half
    as long.
    """
    from .decode import read_metadata

    return await _fetch(ctx, args, read_metadata)


async def _fetch(ctx: Context, args: Q, read: Callable[..., T]) -> T:
    """Check a query, send it and read its response; retry as the policy says, until the call is cancelled."""
    import asyncio

    query = check(args)
    request = request_of(query)
    read = partial(read, max_bytes=max_result_bytes(ctx.settings))
    attempt = 0  # rule: 3.retry.outcome
    while True:
        try:
            response = await _send(ctx, request)
            ctx.waiting("reading the answer")
            return await ctx.offload(read, response, query)  # rule: 3.output.one-page
        except Fault as fault:
            if fault.data.get("error_type") == "DECODE_ERROR" and ctx.upstream is not None:
                ctx.upstream.forget(request)
            pause_ms = delay_ms(ctx.settings, attempt, fault)  # rule: 3.retry.outcome/2
            if pause_ms is None:  # rule: 3.retry.outcome/3
                raise
            status = fault.data.get("status")
        attempt += 1
        what = "could not be asked" if status is None else f"answered {status}"
        ends_s = asyncio.get_running_loop().time() + pause_ms / 1000
        ctx.waiting(partial(_retry_words, what, ends_s, f"{attempt + 1} of {ctx.settings.retry_max + 1}"))
        await asyncio.sleep(pause_ms / 1000)  # rule: 3.runtime.concurrent
        request = structs.replace(request, is_retry=True)


def _retry_words(what: str, ends_s: float, which: str) -> str:
    """Return what a call waits for between two attempts."""
    import asyncio

    left_s = max(ends_s - asyncio.get_running_loop().time(), 0)
    return f"the Bank of Japan {what}: trying again in {left_s:.0f} s ({which})"


async def _send(ctx: Context, request: UpstreamRequest) -> UpstreamResponse:
    """Send a request once; raise a fault of the upstream as a transport error of spec 3."""
    try:
        response = await ctx.send(request)
    except Fault as fault:
        raise transport(fault.message) from None
    # A complete body that is not gzip is a decode error, which `read` raises.
    if response.broken and response.broken != NOT_GZIP:
        raise transport(response.broken)
    return response


TOOLS: Final = (get_data_code, get_data_layer, get_metadata)  # rule: 3.tools.three
