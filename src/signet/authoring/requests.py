"""A request to a service as an author writes it: its target, its headers, and which of them are secret. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict

from signet.kernel.errors import Code, Fault
from signet.system.redaction import MIN_CHARS
from signet.system.secret_patterns import names_secret

__all__ = ["Params", "RequestOptions", "fixed_headers", "header_pairs", "secrets_of", "target_of"]

Params = Mapping[str, Any] | Sequence[tuple[str, Any]] | None
"""A query: its names and values."""


class RequestOptions(TypedDict, total=False):
    """What a request may have beside its method and its path."""

    params: Params
    json: Any
    body: bytes | str
    headers: Mapping[str, str] | None


Pairs = tuple[tuple[str, str], ...]

TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
DOTS: Final = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)
"""A part of a path that leads elsewhere."""
SAFE: Final = "/?&=+:@!$'()*,;~-._%"
"""What a target has as it is written: a percent sign begins what is encoded already."""


def target_of(service: str, path: str, params: Params) -> str:
    """Return the target of a request to a service: its name, the path and the query.

    Raises:
        Fault: the path leads out of the service's address.
    """
    from urllib.parse import quote, urlencode

    if "://" in path.partition("?")[0]:
        raise _refused(f"'{path[:100]}' has an address of its own: write a path below that of {service}")
    path = quote(path if path.startswith("/") else f"/{path}", safe=SAFE)
    plain, _, query = path.partition("?")
    if any(DOTS.fullmatch(part) for part in plain.split("/")):
        raise _refused(f"'{plain[:100]}' leads out of the address of {service}: it has a part that is only dots")
    if params is not None:
        pairs = params.items() if isinstance(params, Mapping) else params
        written = urlencode([(name, one) for name, value in pairs for one in _texts(value)])
        query = "&".join(filter(None, [query, written]))
    return f"//{service}{plain}" + (f"?{query}" if query else "")


def _texts(value: Any) -> list[str]:
    """Return the texts of a value of a query."""
    if value is None:
        return []
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, list | tuple | set | frozenset):
        return [text for one in value for text in _texts(one)]
    return [str(value)]


def header_pairs(headers: Mapping[str, str] | None) -> Pairs:
    """Return headers as pairs; raise ValueError, which repeats no value, for one that HTTP cannot carry."""
    pairs = tuple([(name, str(value)) for name, value in (headers or {}).items()])
    for name, value in pairs:
        if not TOKEN.fullmatch(name):
            raise ValueError(f"{name[:100]!r} cannot name a header")
        if not all(" " <= char <= "~" or char == "\t" for char in value):
            raise ValueError(f"the header {name} has characters that no HTTP header can carry")
    return pairs


def fixed_headers(headers: Pairs, token: str | None) -> Pairs:
    """Return the headers of every request, with the bearer token where there is one."""
    if token is None or not token.strip():
        return headers
    if not all(" " <= char <= "~" for char in token.strip()):
        # The text does not repeat the token.
        raise ValueError("the token has characters that no HTTP header can carry")
    return (*headers, ("Authorization", f"Bearer {token.strip()}"))


def secrets_of(headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return what headers carry that nobody may read: whole values, and what stands behind a scheme or a name."""
    found: dict[str, None] = {}
    for name, value in headers:
        if names_secret(name, "header"):
            parts = [re.sub(r"^[\w-]+[ =]+", "", part) for part in re.split(r"[;,]\s*", value)]
            # A short part may be an ordinary word.
            found |= dict.fromkeys([value, *(part for part in parts if len(part) >= MIN_CHARS)])
    return tuple([secret for secret in found if secret.strip()])


def _refused(message: str) -> Fault:
    return Fault(Code.INVALID_INPUT, message)
