"""An access token of OAuth, a JWT as RFC 9068 has it: what it says, and whether it says it to us and for now.

Pure. Nothing here is proven: the signature is checked afterwards, over the same text.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from typing import Any, Final, NoReturn

import msgspec

from signet.kernel.caller import Principal

from .signing_keys import ALGORITHMS

__all__ = ["OAUTH", "AccessToken", "Expected", "read_token"]

OAUTH: Final = "oauth:"
"""The beginning of what a subject is counted by: no token in a file has a name with a colon."""
MAX_CHARS: Final = 16_384
FORM: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
TYPES: Final = frozenset({"at+jwt", "application/at+jwt", "jwt", "application/jwt"})
FOREIGN_KEYS: Final = ("jwk", "jku", "x5u", "x5c")
"""The headers by which a token brings its own key."""
NOT_BEFORE_LEEWAY_S: Final = 5.0
"""How far the issuer's clock may be ahead of ours. A token that has expired has expired."""
MAX_TIME_S: Final = 1e12
MAX_NAME_CHARS: Final = 255


class Expected(msgspec.Struct, frozen=True):
    """What a token must say: who issued it, and for whom."""

    issuer: str
    audience: str


class AccessToken(msgspec.Struct, frozen=True):
    """The part of a token that counts."""

    algorithm: str
    kid: str | None
    principal: Principal
    expires_s: float


def read_token(token: str, expected: Expected, now_s: float, prefix: str = "") -> AccessToken:
    """Return what a token says; `prefix` is what the name of its principal begins with.

    Raises:
        ValueError: it is not a token for us, or not now; the text goes on after "The access token" and repeats no
            part of it.
    """
    if len(token) > MAX_CHARS:
        raise ValueError(f"is longer than {MAX_CHARS} characters")
    if not FORM.fullmatch(token):
        raise ValueError("is not a signed JWT")
    header, claims = map(_read_part, token.split(".")[:2])
    algorithm, kid = _check_header(header)
    if claims.get("iss") != expected.issuer:
        raise ValueError("is from another issuer")
    audience = claims.get("aud")
    audiences = [audience] if isinstance(audience, str) else audience
    if not isinstance(audiences, list) or not all(isinstance(one, str) for one in audiences):
        raise ValueError("names no audience")
    if expected.audience not in audiences:
        raise ValueError("is for another audience")
    expires_s = _time(claims, "exp")
    if expires_s is None or now_s >= expires_s:
        raise ValueError("has expired" if expires_s is not None else "does not say when it expires")
    if (_time(claims, "nbf") or 0.0) > now_s + NOT_BEFORE_LEEWAY_S:
        raise ValueError("is not valid yet")
    subject = _name(claims)
    principal = Principal(prefix + subject, _scopes(claims), OAUTH + subject)
    return AccessToken(algorithm, kid, principal, expires_s)


def _read_part(part: str) -> dict[str, Any]:
    """Return the JSON object of a part; a name that comes twice could be read in two ways."""
    try:
        text = urlsafe_b64decode(part + "=" * (-len(part) % 4))
        value = json.loads(text.decode(), object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError("is not a signed JWT")  # noqa: TRY004 - it is a value from outside
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        _refuse("a name that comes twice")
    return found


def _refuse(what: str) -> NoReturn:
    raise ValueError(what)


def _check_header(header: dict[str, Any]) -> tuple[str, str | None]:
    """Return the algorithm and the id of the key."""
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise ValueError("is not signed with an algorithm that is allowed")
    if not isinstance(kind, str) or kind.lower() not in TYPES:
        raise ValueError("is a JWT of another type")
    if "crit" in header or "b64" in header:
        raise ValueError("needs an extension that is not known here")
    if any(name in header for name in FOREIGN_KEYS):
        raise ValueError("brings its own key")
    if kid is not None and not isinstance(kid, str):
        raise ValueError("names its key by something else than a text")
    return algorithm, kid


def _time(claims: dict[str, Any], name: str) -> float | None:
    """Return a time; None if there is none."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_TIME_S:
        raise ValueError(f"has a time in {name} that cannot be read")
    return float(value)


def _name(claims: dict[str, Any]) -> str:
    name = claims.get("sub")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS or not name.isprintable():
        raise ValueError("has no subject that can be used as a name")
    return name


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    """Return the scopes: a text with blanks in `scope`, or in `scp` a list or such a text."""
    given = claims.get("scope", claims.get("scp", ""))
    scopes = given.split() if isinstance(given, str) else given
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise ValueError("has scopes that cannot be read")
    return frozenset(scopes)
