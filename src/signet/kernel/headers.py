"""The checks of a modern request: its `_meta`, and over HTTP the headers that repeat parts of its body.

A proxy may route by these headers without reading the body. A request whose headers and body differ is therefore
refused (-32020) before anything else is done with it.
"""

from __future__ import annotations

import binascii
from typing import Any, Final, NamedTuple

from msgspec import UNSET, Raw

from .arguments import plain_view
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
    "headers_of",
    "in_era",
    "param_headers",
]

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAM_PREFIX: Final = "mcp-param-"
NAMED_METHODS: Final = ("tools/call",)
"""The served methods whose `params.name` is repeated in `Mcp-Name`."""

BASE64_START: Final = "=?base64?"
BASE64_END: Final = "?="
"""The marks around a header value that is base64, because the plain value does not fit into a header."""

MAX_INTEGER_CHARS: Final = 19
"""The longest header value that is read as an integer: 64-bit numbers have up to 19 digits."""


def check_modern(method: str, name: object, meta: Meta, headers: Headers | None) -> None:
    """Check `_meta`, headers and version of a modern request; raise ProtocolError for the first that is wrong."""
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
    """Raise ProtocolError (-32020) for the first routing header that is repeated, missing or unlike the body."""
    if headers.repeated:
        for header in (VERSION, METHOD, NAME):
            if header in headers.repeated:
                raise ProtocolError(HEADER_MISMATCH, f"{header} is sent more than once")
    _check_equal(VERSION, headers.get(VERSION), version)
    _check_equal(METHOD, headers.get(METHOD), method)
    if method in NAMED_METHODS and name is not UNSET:
        _check_equal(NAME, _decoded(headers.get(NAME)), name, sent=NAME in headers)


class ParamHeader(NamedTuple):
    """An argument that a client repeats in a header."""

    header: str
    path: tuple[str, ...]
    type: str


def param_headers(contract: Raw) -> list[ParamHeader]:
    """Return the header of each property of an input contract that has `x-mcp-header`."""
    if b"x-mcp-header" not in bytes(contract):
        return []
    return _param_headers(schema_of(contract), ())


def _param_headers(schema: Any, path: tuple[str, ...]) -> list[ParamHeader]:
    headers: list[ParamHeader] = []
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, subschema in properties.items() if isinstance(properties, dict) else ():
        subpath = (*path, name)
        mark = subschema.get("x-mcp-header") if isinstance(subschema, dict) else None
        if isinstance(mark, str):
            headers.append(ParamHeader(PARAM_PREFIX + mark.lower(), subpath, _type_of(subschema)))
        headers += _param_headers(subschema, subpath)
    return headers


def _type_of(schema: dict[str, Any]) -> str:
    """Return the type of a property; one that may be null has the type that it has otherwise."""
    plain, _ = plain_view({"properties": {"": schema}})
    return str(plain["properties"][""].get("type"))


def check_param_headers(headers: Headers, mirrored: list[ParamHeader], arguments: dict[str, Any]) -> None:
    """Compare each repeated argument with its header; both may be absent, and a null argument counts as absent.

    Raises:
        ProtocolError: -32020 for the first pair that differs.
    """
    for header, path, kind in mirrored:
        value = _argument(arguments, path)
        if header in headers.repeated:
            raise ProtocolError(HEADER_MISMATCH, f"{header} is sent more than once")
        if value is None or isinstance(value, dict | list):
            if header in headers:
                raise ProtocolError(HEADER_MISMATCH, f"{header} is sent, but the body has no such argument")
        elif not (kind == "integer" and _is_same_number(headers.get(header), value)):
            _check_equal(header, _decoded(headers.get(header)), _header_text(value), sent=header in headers)


def headers_of(mirrored: list[ParamHeader], arguments: Any) -> tuple[tuple[str, str], ...]:
    """Return the headers that repeat arguments, as a client has to send them."""
    values = ((header, _argument(arguments, path)) for header, path, _ in mirrored)
    return tuple([(h, _header_text(v)) for h, v in values if v is not None and not isinstance(v, dict | list)])


def _argument(arguments: Any, path: tuple[str, ...]) -> Any:
    """Return the argument at a path, or None."""
    value = arguments
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _check_equal(header: str, text: str | None, value: object, *, sent: bool = False) -> None:
    """Compare the text of a header with the body; `sent` tells a header that cannot be decoded from a missing one."""
    if text is None and not sent:
        raise ProtocolError(HEADER_MISMATCH, f"{header} is missing: it must repeat what the body says")
    if text != value:
        raise ProtocolError(HEADER_MISMATCH, f"{header} does not match the request body")


def _header_text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _is_same_number(text: str | None, value: object) -> bool:
    """Return whether a header and an integer argument have the same value: `42` equals `42.0`."""
    whole, dot, fraction = (text or "").partition(".")
    if isinstance(value, bool) or not isinstance(value, int | float) or fraction.strip("0") or (dot and not fraction):
        return False
    return whole.removeprefix("-").isdecimal() and len(whole) <= MAX_INTEGER_CHARS and int(whole) == value


def _decoded(text: str | None) -> str | None:
    """Return the text of a header, with base64 undone; None if the base64 is broken."""
    if text is None or not (text.startswith(BASE64_START) and text.endswith(BASE64_END)):
        return text
    payload = text[len(BASE64_START) : -len(BASE64_END)]
    try:
        raw = binascii.a2b_base64(payload, strict_mode=True)
        return raw.decode() if binascii.b2a_base64(raw, newline=False).decode() == payload else None
    except ValueError:
        return None
