"""The one token that all callers share: `--token`."""

from __future__ import annotations

from hmac import compare_digest
from typing import Final

from signet.kernel.caller import Principal
from signet.kernel.errors import Code, Fault

__all__ = ["SharedToken", "unauthorized"]

NAME: Final = "token"
"""The name of whoever has the shared token: nobody knows more of them."""


def unauthorized(message: str) -> Fault:
    """Return the fault for a request whose token is missing, or is none that is known."""
    return Fault(Code.UNAUTHORIZED, message, as_tool_result=False)


class SharedToken:
    """Knows one token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._principal = Principal(NAME)

    def identify(self, token: str) -> Principal | Fault:
        """Return the principal of the token, or the fault for any other."""
        if compare_digest(token.encode(), self._token):
            return self._principal
        return unauthorized("Send the server's token as 'Authorization: Bearer …'")

    def challenge(self, _: Fault) -> str:
        """Return the `WWW-Authenticate` header of a refusal."""
        return "Bearer"
