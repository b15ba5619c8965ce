"""The header ladder of MCP over HTTP: what a modern request's headers say must be what its body says.

A proxy may route on these headers without reading the body, so a request that disagrees with itself
is refused (-32020) before anything else is made of it.
"""

from __future__ import annotations

import binascii
from typing import Any, Final, NamedTuple

from msgspec import UNSET, Raw

from .errors import HEADER_MISMATCH
from .protocol import Opening
from .schemas import schema_of
from .wire import Headers, Refused

__all__ = ["METHOD", "NAME", "VERSION", "Mirror", "check_mirrors", "check_routing", "mirrors"]

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAM_PREFIX: Final = "mcp-param-"
NAMED_METHODS: Final = ("tools/call",)
"""The served methods whose `params.name` is mirrored into `Mcp-Name`."""


def check_routing(headers: Headers, method: str, opening: Opening) -> None:
    """Compare the three routing headers with the body.

    Raises:
        Refused: -32020 for the first that is repeated, missing or different.
    """
    wanted = [(VERSION, opening.meta.version), (METHOD, method)]
    if method in NAMED_METHODS and opening.name is not UNSET:
        wanted.append((NAME, opening.name))
    for header, value in wanted:
        _hold(headers, header, value)


class Mirror(NamedTuple):
    """An argument that a client repeats in a header of its own."""

    header: str
    path: tuple[str, ...]
    type: str


def mirrors(contract: Raw) -> list[Mirror]:
    """Find the properties of an input contract that carry `x-mcp-header`."""
    if b"x-mcp-header" not in bytes(contract):
        return []
    return list(_found(schema_of(contract), ()))


def _found(schema: Any, path: tuple[str, ...]) -> list[Mirror]:
    found: list[Mirror] = []
    for name, part in schema.get("properties", {}).items():
        here = (*path, name)
        if "x-mcp-header" in part:
            found.append(Mirror(PARAM_PREFIX + part["x-mcp-header"].lower(), here, part["type"]))
        found += _found(part, here)
    return found


def check_mirrors(headers: Headers, mirrored: list[Mirror], arguments: dict[str, Any]) -> None:
    """Compare each mirrored argument with its header; both may be absent, a null argument counts as that.

    Raises:
        Refused: -32020 for the first pair that disagrees.
    """
    for header, path, kind in mirrored:
        value: Any = arguments
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None or isinstance(value, dict | list):
            if header in headers:
                raise Refused(HEADER_MISMATCH, f"{header} is sent, but the body has no such argument")
        elif kind == "integer" and _same_number(headers.get(header), value):
            continue
        else:
            _hold(headers, header, _plain(value))


def _hold(headers: Headers, header: str, value: object) -> None:
    if header in headers.repeated:
        raise Refused(HEADER_MISMATCH, f"{header} is sent more than once")
    given = headers.get(header)
    if given is None:
        raise Refused(HEADER_MISMATCH, f"{header} is missing: it must repeat what the body says")
    if _decoded(given) != value:
        raise Refused(HEADER_MISMATCH, f"{header} does not match the request body")


def _plain(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _same_number(given: str | None, value: object) -> bool:
    """Compare integers by value: `42` and `42.0` are one."""
    whole, _, fraction = (given or "").partition(".")
    if isinstance(value, bool) or not isinstance(value, int | float) or fraction.strip("0"):
        return False
    return whole.removeprefix("-").isdecimal() and len(whole) < 20 and int(whole) == value  # noqa: PLR2004 - 64 bits


def _decoded(given: str) -> str | None:
    """Undo the base64 wrapping of a value that does not fit a header; a broken one matches nothing."""
    if not (given.startswith("=?base64?") and given.endswith("?=")):
        return given
    payload = given[9:-2]
    try:
        raw = binascii.a2b_base64(payload, strict_mode=True)
        return raw.decode() if binascii.b2a_base64(raw, newline=False).decode() == payload else None
    except ValueError:
        return None
