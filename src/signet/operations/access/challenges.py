"""The refusals of tokens: a fault with a sentence, and the `WWW-Authenticate` header of RFC 6750 that goes with it."""

from __future__ import annotations

from typing import Final

from signet.kernel.errors import INSUFFICIENT_SCOPE, Code, Fault

__all__ = ["challenge_of", "missing_token", "unauthorized", "unknown_token"]

MISSING: Final = "Send a token as 'Authorization: Bearer …'"


def unauthorized(message: str) -> Fault:
    """Return the fault for a request whose token is missing, or is none that is known."""
    return Fault(Code.UNAUTHORIZED, message, as_tool_result=False)


def missing_token() -> Fault:
    """Return the fault for a request without a token."""
    return unauthorized(MISSING)


def unknown_token() -> Fault:
    """Return the fault for a request whose token is none of the server's."""
    return unauthorized("This token is not known: ask the server's operator for one")


def challenge_of(fault: Fault) -> str:
    """Return the header of a refusal; one that sent no token is told no error, as RFC 6750 has it."""
    if fault.name == INSUFFICIENT_SCOPE:
        return f'Bearer error="insufficient_scope", scope="{fault.data["scope"]}"'
    if fault.message == MISSING:
        return "Bearer"
    # RFC 6750 allows neither quotation marks nor backslashes in a description.
    description = fault.message.replace('"', "'").replace("\\", "/")
    return f'Bearer error="invalid_token", error_description="{description}"'
