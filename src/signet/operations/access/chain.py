"""Several ways to know a caller, asked in turn.

token ── shared token ── named tokens ── known: the principal
             └── looks like a JWT, and neither knows it ── OAuth
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from signet.kernel.caller import Authenticator, Principal
from signet.kernel.errors import Fault

from .challenges import challenge_of, missing_token, unknown_token

__all__ = ["Chain", "looks_signed", "open_chain"]


def looks_signed(token: str) -> bool:
    """Return whether a token has the three parts of a JWT; tokens of a file have no dot."""
    return token.count(".") == 2  # noqa: PLR2004 - three parts


class Chain:
    """Asks those who know opaque tokens, and for a signed one whoever knows its issuer."""

    def __init__(self, opaque: Sequence[Authenticator], signed: Authenticator | None = None) -> None:
        self._opaque = tuple(opaque)
        self._signed = signed

    def identify(self, token: str) -> Principal | Fault | Awaitable[Principal | Fault]:
        """Return the principal that the first one knows, or one fault."""
        if not token:
            return missing_token()
        told: Fault | None = None
        for one in self._opaque:
            found = one.identify(token)
            if not isinstance(found, Fault):
                return found
            # The last one is that of named tokens, which says more.
            told = found
        if self._signed is not None and (looks_signed(token) or told is None):
            return self._signed.identify(token)
        return told or unknown_token()

    def challenge(self, fault: Fault) -> str:
        """Return the `WWW-Authenticate` header of a refusal: that of OAuth says where a token can be had."""
        return challenge_of(fault) if self._signed is None else self._signed.challenge(fault)

    def reload(self) -> None:
        """Let all read again what they keep."""
        for one in (*self._opaque, *(() if self._signed is None else (self._signed,))):
            one.reload()


def open_chain(opaque: Sequence[Authenticator], signed: Authenticator | None = None) -> Authenticator:
    """Return who knows the callers: the only one there is, or a chain, which without anybody in it knows no token."""
    everybody = [*opaque, *(() if signed is None else (signed,))]
    return everybody[0] if len(everybody) == 1 else Chain(opaque, signed)
