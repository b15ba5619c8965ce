"""What the settings of a team make: who knows the callers, and the gate before their calls.

Each part is loaded if a setting asks for it; without one, it costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signet.settings import Settings

if TYPE_CHECKING:
    from signet.kernel.gate import Gate
    from signet.transports.guard import Authenticator

__all__ = ["open_authenticator", "open_gate"]


def open_authenticator(settings: Settings) -> Authenticator | None:
    """Return who knows the callers, where they have to say who they are."""
    if settings.token is None:
        return None
    from signet.operations.access.shared_token import SharedToken

    return SharedToken(settings.token)


def open_gate(settings: Settings) -> Gate | None:
    """Return the gate before all calls, where there are rules for callers."""
    if settings.tokens_file is None and settings.oauth_issuer is None:
        return None
    from signet.operations.access.scopes import ScopeGate

    return ScopeGate()
