"""Tools whose arguments are easily changed on the way: large numbers, names and values that look alike, empty ones."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

import signet

READS = {"readOnlyHint": True}


@signet.tool(annotations=READS, example={"number": 9007199254740993})
def echo(
    number: int, least: Annotated[int, Meta(ge=9007199254740993)] = 9007199254740995, more: Any = None
) -> dict[str, Any]:
    """Return what was given."""
    return {"number": number, "least": least, "more": more}


@signet.tool(annotations=READS)
def alike(
    単位: Literal["a", "b"] = "a",  # noqa: N803, PLC2401 - a name without a letter of ASCII is the case
    期間: Literal["c", "d"] = "c",  # noqa: N803, PLC2401 - a name without a letter of ASCII is the case
    a_b: str = "x",
) -> dict[str, Any]:
    """Return what was given."""
    return {"単位": 単位, "期間": 期間, "a_b": a_b}


@signet.tool(annotations=READS)
def case(
    kind: Literal["m", "M"],
    text: str,
    code: Annotated[str, Meta(pattern="^[a-z]+-[0-9]{4}$")],
    tags: list[str] | None = None,
) -> dict[str, Any]:
    """Return what was given."""
    return {"kind": kind, "text": text, "code": code, "tags": tags}


@signet.tool(annotations=READS, example={})
def propose() -> dict[str, Any]:
    """Return a list of things and calls to make next."""
    things: list[dict[str, Any]] = [
        {"name": f"Thing {number}", **{f"field{one}": one for one in range(12)}} for number in range(15)
    ]
    things[3]["next"] = {"tool": "echo", "arguments": {"number": 9007199254740993}}
    return {"things": things, "other": {"tool": "nowhere", "arguments": {}}}
