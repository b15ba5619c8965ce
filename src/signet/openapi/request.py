"""A request of a tool, made from its arguments: target, headers, cookies and body. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import UpstreamRequest

from .body import body_of
from .encoding import path_text, query_pairs, quoted, reserved, unquoted
from .plan import OperationPlan, ParameterPlan

__all__ = ["build_request", "cookie_header"]

IN_PATH: Final = re.compile(r"\{([^{}/]+)\}")
DOTS: Final = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)
"""A part of a path that leads elsewhere."""
SAFE: Final = "/:@!$&'()*+,;=~-._%"


def build_request(plan: OperationPlan, arguments: Mapping[str, Any]) -> UpstreamRequest:
    """Return the request of a call: its target is a path below the address of the service.

    Raises:
        Fault: an argument leads to another path, or cannot stand in a header.
    """
    given = {one: arguments[one.argument] for one in plan.parameters if one.argument in arguments}
    values = {one: value for one, value in given.items() if value is not None}
    headers = [("Accept", plan.accept)]
    headers += [(one.name, _header(one, value)) for one, value in values.items() if one.place == "header"]
    cookies = [pair for one, value in values.items() if one.place == "cookie" for pair in _pairs(one, value)]
    if cookies:
        headers.append(("Cookie", cookie_header(cookies)))
    body = body_of(plan.body, arguments) if plan.body is not None else None
    if body is not None:
        headers.append(("Content-Type", body[0]))
    target = _path(plan, values)
    query = "&".join(f"{name}={text}" for one, value in values.items() if one.place == "query"
                     for name, text in _pairs(one, value))  # fmt: skip
    if query:
        target = f"{target}{'&' if '?' in target else '?'}{query}"
    return UpstreamRequest(target, plan.method, tuple(headers), body[1] if body is not None else b"")


def cookie_header(pairs: list[tuple[str, str]]) -> str:
    """Return the header of some cookies, whose names and values are encoded."""
    return "; ".join(f"{name}={text}" for name, text in pairs)


def _pairs(one: ParameterPlan, value: Any) -> list[tuple[str, str]]:
    quote = reserved if one.is_reserved else quoted
    if one.is_json:
        return [(quoted(one.name), quote(_json(value)))]
    return list(query_pairs(one.name, value, one.style, explode=one.explode, quote=quote))


def _json(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _header(one: ParameterPlan, value: Any) -> str:
    text = _json(value) if one.is_json else path_text(one.name, value, "simple", unquoted, explode=one.explode)
    if not all(" " <= char <= "~" or char == "\t" for char in text):
        raise Fault(Code.INVALID_INPUT, f"{one.argument} has characters that no HTTP header can carry")
    return text


def _path(plan: OperationPlan, values: Mapping[ParameterPlan, Any]) -> str:
    """Return the path with its parameters filled in; a fragment of the template is never sent."""
    from urllib.parse import quote

    texts = {one.name: _in_path(one, value) for one, value in values.items() if one.place == "path"}
    template, _, query = plan.path.partition("#")[0].partition("?")
    parts = IN_PATH.split(template)
    path = "".join(texts.get(part, "") if place % 2 else quote(part, safe=SAFE) for place, part in enumerate(parts))
    if any(DOTS.fullmatch(part) for part in path.split("/")):
        raise Fault(Code.INVALID_INPUT, f"an argument of {plan.name} makes a part of the path that is only dots")
    return f"{path}?{quote(query, safe=SAFE)}" if query else path


def _in_path(one: ParameterPlan, value: Any) -> str:
    text = quoted(_json(value)) if one.is_json else path_text(one.name, value, one.style, explode=one.explode)
    if not text:
        message = f"{one.argument} is empty: it is a part of the path, which would be another one without it"
        raise Fault(Code.INVALID_INPUT, message)
    return text
