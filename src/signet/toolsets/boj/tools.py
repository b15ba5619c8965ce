"""The three tools of the Bank of Japan (spec 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from signet.kernel.errors import Code, Fault
from signet.kernel.tools import READ_ONLY, Context, Tool, tool
from signet.kernel.upstream import NOT_GZIP, UpstreamRequest, UpstreamResponse

from .faults import transport, validation
from .models import MAX_RESULT_BYTES, DataOut, MetadataOut
from .query import (
    DataCodeIn,
    DataLayerIn,
    MetadataIn,
    ask_data_code,
    ask_data_layer,
    ask_metadata,
    check_data_code,
    check_data_layer,
    check_metadata,
)
from .retry import Retry, delay_ms

__all__ = ["TOOLS"]

T = TypeVar("T")


def _face(fault: Fault) -> Fault:
    """Give the pipeline's own faults the faces of spec 3: what is not valid, and what is nobody's but ours."""
    if "error_type" in fault.data:
        return fault
    if fault.code is Code.INVALID_INPUT:
        return validation(fault.message)
    faced = Fault(fault.code, fault.message, data={"error_type": "INTERNAL_ERROR", "message": fault.message})
    faced.__cause__ = fault.__cause__
    return faced


def _tool(name: str, title: str, example: dict[str, Any]) -> Callable[[Callable[[Any, Context], Any]], Tool]:
    """Make a tool that asks the Bank."""
    return tool(
        name=f"boj_{name}",
        slug=f"boj.{name}",
        title=title,
        annotations={**READ_ONLY, "openWorldHint": True},
        adapt_fault=_face,
        max_result_bytes=MAX_RESULT_BYTES,
        validate_in_thread=True,
        example=example,
    )


@_tool("get_data_code", "Read Bank of Japan series by code", {"db": "FM08", "codes": ["FXERD01"], "lang": "en"})
async def get_data_code(args: DataCodeIn, ctx: Context) -> DataOut:
    """Reads observations of Bank of Japan time series by their codes, all of one frequency.

    One call gives one page: when next_position is not null there is more, to be asked for with it as start_position.
    Codes are found with boj_get_metadata.
    """
    from .decode import read_data

    query = check_data_code(args)
    return await _answered(ctx, ask_data_code(query), lambda answer: read_data(answer, query))


@_tool("get_data_layer", "Read Bank of Japan series by layer", {"db": "FM08", "frequency": "D", "layers": ["1", "1"]})
async def get_data_layer(args: DataLayerIn, ctx: Context) -> DataOut:
    """Reads observations of every Bank of Japan series of one frequency under a place in a database's tree.

    Layers are one to five levels, each a number or *. One call gives one page: when next_position is not null there
    is more, to be asked for with it as start_position.
    """
    from .decode import read_data

    query = check_data_layer(args)
    return await _answered(ctx, ask_data_layer(query), lambda answer: read_data(answer, query))


@_tool("get_metadata", "List a Bank of Japan database", {"db": "FM08", "lang": "en"})
async def get_metadata(args: MetadataIn, ctx: Context) -> MetadataOut:
    """Lists the series of a Bank of Japan database: code, name, unit, frequency, layers, first and last period.

    Use it first, to find the codes or layers to read.
    """
    from .decode import read_metadata

    query = check_metadata(args)
    return await _answered(ctx, ask_metadata(query), lambda answer: read_metadata(answer, query))


async def _answered(ctx: Context, ask: UpstreamRequest, read: Callable[[UpstreamResponse], T]) -> T:
    """Ask until there is an answer or the policy gives up; a call that is cancelled asks no more."""
    retry = Retry(ctx.settings.retry_max, ctx.settings.retry_backoff_ms)
    attempt = 0
    while True:
        try:
            return await ctx.offload(read, await _sent(ctx, ask))
        except Fault as fault:
            if fault.data.get("error_type") == "DECODE_ERROR" and ctx.upstream is not None:
                ctx.upstream.forget(ask)
            wait_ms = delay_ms(retry, attempt, fault)
            if wait_ms is None:
                raise
        await asyncio.sleep(wait_ms / 1000)
        attempt += 1


async def _sent(ctx: Context, ask: UpstreamRequest) -> UpstreamResponse:
    """Ask once, and give the way out's own faults the names of spec 3."""
    try:
        answer = await ctx.send(ask)
    except Fault as fault:
        raise transport(fault.message) from None
    # A body that came whole and cannot be unpacked is an answer that cannot be read, like any other.
    if answer.broken and answer.broken != NOT_GZIP:
        raise transport(answer.broken)
    return answer


TOOLS: Final = (get_data_code, get_data_layer, get_metadata)
