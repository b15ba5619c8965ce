"""The one token that all callers share: `--token`."""

from __future__ import annotations

from hmac import compare_digest
from typing import Final

from signet.kernel.caller import Principal
from signet.kernel.errors import Fault

from .challenges import challenge_of, missing_token, unknown_token

__all__ = ["NAME", "SharedToken"]

NAME: Final = "token"
"""The name of whoever has the shared token: nobody knows more of them."""


class SharedToken:
    """Knows one token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._principal = Principal(NAME)

    def identify(self, token: str) -> Principal | Fault:
        """Return the principal of the token, or the fault for one that is missing or another."""
        if not token:
            return missing_token()
        if compare_digest(token.encode(), self._token):
            return self._principal
        return unknown_token()

    def challenge(self, fault: Fault) -> str:
        """Return the `WWW-Authenticate` header of a refusal."""
        return challenge_of(fault)

    def reload(self) -> None:
        """Do nothing: the token is a setting."""
