"""The body of a request, made from arguments: JSON, a form, parts with files, text or bytes. Pure."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault

from .encoding import query_pairs, quoted, reserved, text_of
from .plan import BodyPlan, FieldPlan

__all__ = ["body_of"]

FIELD_NAME: Final = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})
"""How a browser writes the name of a field in the head of its part."""


def body_of(plan: BodyPlan, arguments: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Return the media type and the bytes of a body; None where nothing of it is given.

    Raises:
        Fault: an argument that is a file is no base64.
    """
    fields = plan.fields
    if plan.whole:
        if plan.whole not in arguments:
            return None
        given = arguments[plan.whole]
        if plan.kind in {"json", "text", "binary"}:
            return plan.media_type, _whole(plan, given)
        given = given if isinstance(given, dict) else {}
        values = given
        fields = tuple([FieldPlan(name, name) for name in given])
    else:
        values = {one.name: arguments[one.argument] for one in fields if one.argument in arguments}
        if not values and not plan.is_required:
            return None
    if plan.kind == "json":
        return plan.media_type, msgspec.json.encode(values)
    if plan.kind == "form":
        return plan.media_type, _form(fields, values)
    return _multipart(plan, fields, values)


def _whole(plan: BodyPlan, value: Any) -> bytes:
    if plan.kind == "json":
        return msgspec.json.encode(value)
    return text_of(value).encode() if plan.kind == "text" else _decoded(plan.whole, value)


def _decoded(argument: str, value: Any) -> bytes:
    try:
        return b64decode(text_of(value), validate=True)
    except (binascii.Error, ValueError):
        raise Fault(Code.INVALID_INPUT, f"{argument} is no base64: encode the bytes of the file") from None


def _form(fields: tuple[FieldPlan, ...], values: Mapping[str, Any]) -> bytes:
    """Return the pairs of a form; an object is JSON, unless a style is stated."""
    pairs: list[tuple[str, str]] = []
    for field in fields:
        if field.name not in values:
            continue
        value, style = values[field.name], field.style or "form"
        if not field.style and isinstance(value, dict):
            value = text_of(value)
        quote = reserved if field.is_reserved else quoted
        pairs += query_pairs(field.name, value, style, explode=field.explode, quote=quote)
    return "&".join(f"{name}={text}" for name, text in pairs).replace("%20", "+").encode()


def _multipart(plan: BodyPlan, fields: tuple[FieldPlan, ...], values: Mapping[str, Any]) -> tuple[str, bytes]:
    parts: list[bytes] = []
    for field in fields:
        if field.name not in values:
            continue
        value = values[field.name]
        # A list is a part for each of its values.
        parts += [_part(field, one) for one in (value if isinstance(value, list) else [value])]
    # From the content, so that equal calls are equal requests to a recording.
    boundary = f"signet-{sha256(b''.join(parts)).hexdigest()[:32]}"
    body = b"".join(b"--%b\r\n%b\r\n" % (boundary.encode(), part) for part in parts)
    return f"{plan.media_type}; boundary={boundary}", body + b"--%b--\r\n" % boundary.encode()


def _part(field: FieldPlan, value: Any) -> bytes:
    name = field.name.translate(FIELD_NAME)
    head = f'Content-Disposition: form-data; name="{name}"'
    if field.is_file:
        content_type, data = field.content_type or "application/octet-stream", _decoded(field.argument, value)
        head += f'; filename="{name}"'
    else:
        content_type = field.content_type or ("application/json" if isinstance(value, dict | list) else "")
        data = text_of(value).encode()
    head += f"\r\nContent-Type: {content_type}" if content_type else ""
    return f"{head}\r\n\r\n".encode() + data
