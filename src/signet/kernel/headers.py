"""The ladder of a modern request: its envelope, and over HTTP headers that say what its body says.

A proxy may route on these headers without reading the body, so a request that disagrees with itself
is refused (-32020) before anything else is made of it.
"""

from __future__ import annotations

import binascii
from typing import Any, Final, NamedTuple

from msgspec import UNSET, Raw

from .errors import HEADER_MISMATCH
from .protocol import Meta, check_meta, check_version
from .schemas import schema_of
from .wire import Headers, ProtocolError

__all__ = [
    "METHOD",
    "NAME",
    "VERSION",
    "ParamHeader",
    "check_modern",
    "check_param_headers",
    "check_routing",
    "in_era",
    "param_headers",
]

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAM_PREFIX: Final = "mcp-param-"
NAMED_METHODS: Final = ("tools/call",)
"""The served methods whose `params.name` is mirrored into `Mcp-Name`."""


def check_modern(method: str, name: object, meta: Meta, headers: Headers | None) -> None:
    """Check a modern request: its `_meta`, then its headers, then that its version is served.

    Raises:
        ProtocolError: the first check that fails.
    """
    try:
        check_meta(meta)
        if headers is not None:
            check_routing(headers, method, name, meta.version)
        check_version(meta)
    except ProtocolError as error:
        raise in_era(error, modern=True) from None


def in_era(error: ProtocolError, *, modern: bool) -> ProtocolError:
    """Return the error, marked with the era of the request that it refuses."""
    error.modern = modern
    return error


def check_routing(headers: Headers, method: str, name: object, version: object) -> None:
    """Compare the three routing headers with the body.

    Raises:
        ProtocolError: -32020 for the first header that is repeated, missing or different.
    """
    for header in (VERSION, METHOD, NAME):
        if header in headers.repeated:
            raise ProtocolError(HEADER_MISMATCH, f"{header} is sent more than once")
    _hold(VERSION, headers.get(VERSION), version)
    _hold(METHOD, headers.get(METHOD), method)
    if method in NAMED_METHODS and name is not UNSET:
        _hold(NAME, _decoded(headers.get(NAME)), name, sent=NAME in headers)


class ParamHeader(NamedTuple):
    """An argument that a client repeats in a header of its own."""

    header: str
    path: tuple[str, ...]
    type: str


def param_headers(contract: Raw) -> list[ParamHeader]:
    """Find the properties of an input contract that carry `x-mcp-header`."""
    if b"x-mcp-header" not in bytes(contract):
        return []
    return list(_found(schema_of(contract), ()))


def _found(schema: Any, path: tuple[str, ...]) -> list[ParamHeader]:
    found: list[ParamHeader] = []
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, part in properties.items() if isinstance(properties, dict) else ():
        here = (*path, name)
        mark = part.get("x-mcp-header") if isinstance(part, dict) else None
        if isinstance(mark, str):
            found.append(ParamHeader(PARAM_PREFIX + mark.lower(), here, str(part.get("type"))))
        found += _found(part, here)
    return found


def check_param_headers(headers: Headers, mirrored: list[ParamHeader], arguments: dict[str, Any]) -> None:
    """Compare each mirrored argument with its header; both may be absent, a null argument counts as that.

    Raises:
        Refused: -32020 for the first pair that disagrees.
    """
    for header, path, kind in mirrored:
        value: Any = arguments
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if header in headers.repeated:
            raise ProtocolError(HEADER_MISMATCH, f"{header} is sent more than once")
        if value is None or isinstance(value, dict | list):
            if header in headers:
                raise ProtocolError(HEADER_MISMATCH, f"{header} is sent, but the body has no such argument")
        elif not (kind == "integer" and _same_number(headers.get(header), value)):
            _hold(header, _decoded(headers.get(header)), _plain(value), sent=header in headers)


def _hold(header: str, given: str | None, value: object, *, sent: bool = False) -> None:
    if given is None and not sent:
        raise ProtocolError(HEADER_MISMATCH, f"{header} is missing: it must repeat what the body says")
    if given != value:
        raise ProtocolError(HEADER_MISMATCH, f"{header} does not match the request body")


def _plain(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _same_number(given: str | None, value: object) -> bool:
    """Compare integers by value: `42` and `42.0` are one."""
    whole, dot, fraction = (given or "").partition(".")
    if isinstance(value, bool) or not isinstance(value, int | float) or fraction.strip("0") or (dot and not fraction):
        return False
    return whole.removeprefix("-").isdecimal() and len(whole) < 20 and int(whole) == value  # noqa: PLR2004 - 64 bits


def _decoded(given: str | None) -> str | None:
    """Undo the base64 wrapping of a value that does not fit a header; a broken one matches nothing."""
    if given is None or not (given.startswith("=?base64?") and given.endswith("?=")):
        return given
    payload = given[9:-2]
    try:
        raw = binascii.a2b_base64(payload, strict_mode=True)
        return raw.decode() if binascii.b2a_base64(raw, newline=False).decode() == payload else None
    except ValueError:
        return None
