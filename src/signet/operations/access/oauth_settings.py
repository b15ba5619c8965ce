"""What the settings of OAuth make: a resource server, or a sentence that says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from signet.advice import advise
from signet.operations.public_url import PublicUrl
from signet.settings.process import ProcessSettings

from .issuer import Issuer, read_url
from .protected_resource import metadata_url

if TYPE_CHECKING:
    from .oauth import OAuth

__all__ = ["open_oauth"]

SCOPE: Final = re.compile(r"[!#-\[\]-~]{1,200}")
FOR_CLIENTS: Final = "offline_access"
"""The scope that a client asks for by itself, and that no resource names (it is about refresh tokens)."""


def open_oauth(
    settings: ProcessSettings, public_url: PublicUrl | None, warn: Callable[[str], None], *, is_alone: bool = True
) -> OAuth:
    """Return the resource server; `warn` is called with what goes wrong later.

    `is_alone` is whether there are no other tokens than those of the issuer, whose names subjects could have.

    Raises:
        ValueError: a setting cannot be used, or is missing.
    """
    issuer = _read("issuer", settings.oauth_issuer or "", with_query=False)
    place = settings.oauth_jwks_url
    place = None if place is None else _read("jwks-url", place, with_query=True)
    audience, scopes = _audience(settings, public_url), _scopes(settings.oauth_scopes)
    try:
        import cryptography  # noqa: F401 - PyJWT can be imported without it

        from .access_token import OAUTH, Expected
        from .jwks import Jwks
        from .oauth import OAuth, Resource
    except ImportError:
        install = advise("extra", install="oauth")
        raise ValueError(f"--oauth-issuer needs PyJWT and cryptography, which are missing; type: {install}") from None

    where = "" if public_url is None else metadata_url(str(public_url))
    keys = Jwks(Issuer(issuer, place).fetch_keys, lambda why: warn(f"the keys of {issuer} cannot be fetched: {why}"))
    return OAuth(Resource(Expected(issuer, audience), scopes, where, "" if is_alone else OAUTH), keys)


def _read(name: str, text: str, *, with_query: bool) -> str:
    try:
        return read_url(text, with_query=with_query)
    except ValueError as error:
        variable = f"SIGNET_OAUTH_{name.replace('-', '_').upper()}"
        raise ValueError(f"--oauth-{name} ({variable}): {error}") from None


def _audience(settings: ProcessSettings, public_url: PublicUrl | None) -> str:
    """Return the audience that a token must name."""
    if settings.oauth_audience is not None:
        if not settings.oauth_audience.strip():
            raise ValueError("--oauth-audience (SIGNET_OAUTH_AUDIENCE) is empty: write what tokens have in 'aud'")
        return settings.oauth_audience
    if public_url is None:
        advice = "write --public-url URL (the audience is that URL with /mcp), or --oauth-audience TEXT"
        raise ValueError(f"--oauth-issuer needs to know for whom tokens are: {advice}")
    return f"{public_url}/mcp"


def _scopes(text: str) -> tuple[str, ...]:
    scopes = tuple(dict.fromkeys(text.split()))
    if not all(map(SCOPE.fullmatch, scopes)):
        advice = "write scopes separated by blanks, such as tools:call"
        raise ValueError(f"--oauth-scopes (SIGNET_OAUTH_SCOPES) has a character that no scope has: {advice}")
    if FOR_CLIENTS in scopes:
        raise ValueError(f"--oauth-scopes (SIGNET_OAUTH_SCOPES): {FOR_CLIENTS} is for clients to ask for; leave it out")
    return scopes
