"""The tools of the station: read a value, write a note."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import Struct

from signet.kernel.errors import Code, Fault
from signet.kernel.tools import Context, tool
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse

NOT_FOUND: Final = 404


class ReadIn(Struct, frozen=True):
    """Which sensor to read."""

    sensor: str
    unit: Literal["celsius", "kelvin"] | None = None


class Reading(Struct, frozen=True):
    """A value, the unit it is in, and the day it was asked for."""

    value: float
    unit: str
    day: str


class NoteIn(Struct, frozen=True):
    """What to write down."""

    text: str


class Noted(Struct, frozen=True):
    """The note's number."""

    number: int


def decoded(response: UpstreamResponse, shape: type[Struct], subject: str) -> Struct:
    if response.status == NOT_FOUND:
        raise Fault(Code.NOT_FOUND, f"the station has no {subject}")
    if response.status >= NOT_FOUND - 4:
        raise Fault(Code.INTERNAL_ERROR, f"the station answered {response.status}")
    return msgspec.json.decode(response.body, type=shape)


@tool(name="station_read", slug="station.read", title="Read a sensor", example={"sensor": "roof"})
async def read(args: ReadIn, ctx: Context) -> Reading:
    """Reads the temperature of one sensor of the weather station."""
    unit = args.unit or ctx.settings.unit
    response = await ctx.send(UpstreamRequest(f"/v1/sensors/{args.sensor}"))
    value = decoded(response, Reading, f"sensor '{args.sensor}'").value  # type: ignore[attr-defined]
    return Reading(round(value + (273.15 if unit == "kelvin" else 0.0), 2), unit, ctx.today())


@tool(
    name="station_note",
    slug="station.note",
    title="Write a note",
    example={"text": "all is well"},
    annotations={"readOnlyHint": False, "idempotentHint": True, "openWorldHint": True},
)
async def note(args: NoteIn, ctx: Context) -> Noted:
    """Writes a note into the station's log and returns its number."""
    headers = (("Content-Type", "application/json"), ("X-Station", "north"))
    body = msgspec.json.encode({"text": args.text})
    return decoded(await ctx.send(UpstreamRequest("/v1/notes?draft=no", "PUT", headers, body)), Noted, "log")  # type: ignore[return-value]


TOOLS: Final = (read, note)
