"""What the settings of a team make: who knows the callers, and the gate before their calls.

Each part is loaded if a setting asks for it; without one, it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from signet.settings import Settings, UsageError

if TYPE_CHECKING:
    from signet.kernel.caller import Authenticator
    from signet.kernel.gate import Gate
    from signet.operations.access.named_tokens import NamedTokens
    from signet.operations.public_url import PublicUrl
    from signet.transports.proxies import TrustedProxies

__all__ = [
    "check_access",
    "is_protected",
    "open_authenticator",
    "open_gate",
    "open_proxies",
    "open_public_url",
]


def is_protected(settings: Settings) -> bool:
    """Return whether callers have to say who they are."""
    return any(one is not None for one in (settings.token, settings.tokens_file, settings.oauth_issuer))


def check_access(settings: Settings) -> None:
    """Raise UsageError if a setting that says who may call, and from where, cannot be used."""
    open_authenticator(settings, _ignore)
    open_public_url(settings)
    open_proxies(settings)


def open_authenticator(settings: Settings, warn: Callable[[str], None]) -> Authenticator | None:
    """Return who knows the callers, where they have to say who they are; raise UsageError if a file cannot be used.

    `warn` is called with what goes wrong later.
    """
    if not is_protected(settings):
        return None
    from signet.operations.access.chain import open_chain
    from signet.operations.access.shared_token import SharedToken

    opaque: list[Authenticator] = []
    if settings.token is not None:
        opaque.append(SharedToken(settings.token))
    if settings.tokens_file is not None:
        opaque.append(_open_tokens(settings.tokens_file, warn))
    return open_chain(opaque)


def _open_tokens(path: str, warn: Callable[[str], None]) -> NamedTokens:
    from signet.operations.access.named_tokens import NamedTokens

    try:
        return NamedTokens(path, warn)
    except FileNotFoundError:
        advice = "signet token new NAME --tokens-file FILE makes it"
        raise UsageError(f"there is no file of tokens {path} (SIGNET_TOKENS_FILE); {advice}") from None
    except OSError as error:
        raise UsageError(f"cannot read the tokens in {path} ({error.strerror})") from None
    except ValueError as error:
        raise UsageError(f"cannot use the tokens in {path}: {error}") from None


def open_public_url(settings: Settings) -> PublicUrl | None:
    """Return the URL under which clients reach the server, if it is set; raise UsageError if it cannot be used."""
    if settings.public_url is None:
        return None
    from signet.operations.public_url import read_public_url

    try:
        return read_public_url(settings.public_url)
    except ValueError as error:
        raise UsageError(f"--public-url (SIGNET_PUBLIC_URL): {error}") from None


def open_proxies(settings: Settings) -> TrustedProxies | None:
    """Return the proxies whose word on their clients is believed; raise UsageError if they cannot be read."""
    if not settings.trusted_proxies.strip():
        return None
    from signet.transports.proxies import TrustedProxies

    try:
        return TrustedProxies(settings.trusted_proxies)
    except ValueError as error:
        raise UsageError(f"--trusted-proxies (SIGNET_TRUSTED_PROXIES): {error}") from None


def open_gate(settings: Settings) -> Gate | None:
    """Return the gate before all calls, where there are rules for callers."""
    if settings.tokens_file is None and settings.oauth_issuer is None:
        return None
    from signet.operations.access.scopes import ScopeGate

    return ScopeGate()


def _ignore(_: str) -> None:
    """Do nothing: it is told when the server runs."""
