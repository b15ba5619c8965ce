"""Named tokens: what is kept of each, and which are valid.

A token carries 256 random bits, so nobody can find one by trying, with a fast hash or with a slow one: SHA-256 is the
right hash for it. What a person has chosen, such as a password, would need a slow one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from signet.kernel.caller import CALL_ALL

from .shared_token import NAME as SHARED_NAME

__all__ = ["Token", "are_whole", "broken_part", "check_name", "digest_of", "new_token", "read_expiry", "read_scopes"]

HASH_CHARS: Final = 64
PREFIX: Final = "signet_"
"""The beginning of every token, by which scanners for secrets find one."""
RANDOM_BYTES: Final = 32
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
HASH: Final = re.compile(r"[0-9a-f]{64}")
SCOPE: Final = re.compile(r"[!#-\[\]-~]{1,200}")
"""The characters of RFC 6749; the comma is taken for a separator where people write scopes."""
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
MAX_AGE: Final = timedelta(days=36_500)

Moment = Annotated[datetime, Meta(tz=True)]


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One line of the file of tokens."""

    name: str
    sha256: str
    scopes: tuple[str, ...]
    created: Moment
    expires: Moment | None = None
    revoked: Moment | None = None

    def state(self, now: datetime) -> str:
        """Return `valid`, `expired` or `revoked`."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "valid"


def broken_part(token: Token) -> str | None:
    """Return the name of the first part of a token that has a form of its own and breaks it."""
    if NAME.fullmatch(token.name) is None:
        return "name"
    if HASH.fullmatch(token.sha256) is None:
        return "sha256"
    return None if all(map(SCOPE.fullmatch, token.scopes)) else "scopes"


def are_whole(tokens: list[Token]) -> bool:
    """Return whether no token has a broken part; for thousands of tokens this is done while callers wait."""
    hashes = "".join([token.sha256 for token in tokens if len(token.sha256) == HASH_CHARS])
    scopes = {scope for token in tokens for scope in token.scopes}
    try:
        digits = 2 * len(bytes.fromhex(hashes))
    except ValueError:
        return False
    return (
        len(hashes) == digits == HASH_CHARS * len(tokens)
        and hashes == hashes.lower()
        and all(map(SCOPE.fullmatch, scopes))
        and all(map(NAME.fullmatch, [token.name for token in tokens]))
    )


def new_token(name: str, scopes: tuple[str, ...], expires: datetime | None) -> tuple[str, Token]:
    """Return the text of a new token, and what is kept of it."""
    text = PREFIX + token_urlsafe(RANDOM_BYTES)
    return text, Token(name, digest_of(text), scopes, datetime.now(UTC).replace(microsecond=0), expires)


def digest_of(text: str) -> str:
    """Return the hash by which a token is found: how long a search takes tells nothing about the hashes in the file."""
    return sha256(text.encode()).hexdigest()


def check_name(name: str) -> str:
    """Return the name of a token; raise ValueError if it cannot be used."""
    if NAME.fullmatch(name) is None:
        raise ValueError("a name has letters, digits and . _ @ + - , at most 100, and begins with a letter or digit")
    if name == SHARED_NAME:
        raise ValueError(f"{name} is the name of everybody who has the shared token (--token): write another")
    return name


def read_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes in a text, separated by blanks or commas; raise ValueError if they cannot be used."""
    scopes = tuple(dict.fromkeys(text.replace(",", " ").split()))
    if not scopes or not all(SCOPE.fullmatch(scope) for scope in scopes):
        raise ValueError(f"write scopes separated by blanks: {CALL_ALL} for all tools, {CALL_ALL}:SLUG for one")
    return scopes


def read_expiry(text: str, now: datetime) -> datetime:
    """Return the moment that a span such as 30d, or a date, stands for; raise ValueError if it cannot be used."""
    found = re.fullmatch(r"([0-9]{1,12})([smhdw])", text.strip())
    try:
        moment = _after(now, int(found[1]) * UNITS[found[2]]) if found else datetime.fromisoformat(text.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        is_usable = now < moment <= now + MAX_AGE
    except (ValueError, OverflowError):
        is_usable = False
    if not is_usable:
        raise ValueError("write a span such as 12h, 30d or 8w, or a date to come such as 2030-01-31")
    return moment


def _after(now: datetime, seconds: int) -> datetime:
    """Return a moment of a whole second, never earlier than the span says; now, if that is nothing."""
    if not seconds:
        return now
    return (now + timedelta(seconds=seconds, microseconds=999_999)).replace(microsecond=0)
