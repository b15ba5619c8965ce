"""Who may call, and from where: what the settings of access make."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from signet.kernel.tools import Toolbox
from signet.settings.model import Settings
from signet.settings.process import DEFAULT_SCOPES
from signet.settings.usage import UsageError
from signet.system.advice import advise

if TYPE_CHECKING:
    from signet.kernel.caller import Authenticator
    from signet.operations.access.named_tokens import NamedTokens
    from signet.operations.access.oauth import OAuth
    from signet.operations.public_url import PublicUrl
    from signet.transports.messages import Request
    from signet.transports.proxies import TrustedProxies

__all__ = [
    "check_access",
    "is_protected",
    "open_authenticator",
    "open_pages",
    "open_proxies",
    "open_public_url",
    "refuse_open_door",
]

SCOPE: Final = re.compile(r"[!#-\[\]-~]{1,200}")
FOR_CLIENTS: Final = "offline_access"
"""The scope that a client asks for by itself, and that no resource names (it is about refresh tokens)."""


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
    _refuse_idle_settings(settings)
    if not is_protected(settings):
        return None
    from signet.operations.access.chain import open_chain
    from signet.operations.access.shared_token import SharedToken

    opaque: list[Authenticator] = []
    if settings.token is not None:
        opaque.append(SharedToken(settings.token))
    if settings.tokens_file is not None:
        opaque.append(_open_tokens(settings.tokens_file, warn))
    return open_chain(opaque, None if settings.oauth_issuer is None else _open_oauth(settings, warn))


def _open_oauth(settings: Settings, warn: Callable[[str], None]) -> Authenticator:
    """Return who knows the access tokens of an issuer; raise UsageError if a setting cannot be used."""
    try:
        is_alone = settings.token is None and settings.tokens_file is None
        return _oauth_of(settings, open_public_url(settings), warn, is_alone=is_alone)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _oauth_of(
    settings: Settings, public_url: PublicUrl | None, warn: Callable[[str], None], *, is_alone: bool = True
) -> OAuth:
    """Return the resource server; `warn` is called with what goes wrong later.

    `is_alone` is whether there are no other tokens than those of the issuer, whose names subjects could have.

    Raises:
        ValueError: a setting cannot be used, or is missing.
    """
    from signet.operations.access.issuer import Issuer
    from signet.operations.access.protected_resource import metadata_url

    issuer = _read("issuer", settings.oauth_issuer or "", with_query=False)
    place = settings.oauth_jwks_url
    place = None if place is None else _read("jwks-url", place, with_query=True)
    audience, scopes = _audience(settings, public_url), _scopes(settings.oauth_scopes)
    try:
        import cryptography  # noqa: F401 - PyJWT can be imported without it

        from signet.operations.access.access_token import OAUTH, Expected
        from signet.operations.access.jwks import Jwks
        from signet.operations.access.oauth import OAuth, Resource
    except ImportError:
        install = advise("extra", install="oauth")
        raise ValueError(f"--oauth-issuer needs PyJWT and cryptography, which are missing; type: {install}") from None

    where = "" if public_url is None else metadata_url(str(public_url))
    keys = Jwks(Issuer(issuer, place).fetch_keys, lambda why: warn(f"the keys of {issuer} cannot be fetched: {why}"))
    return OAuth(Resource(Expected(issuer, audience), scopes, where, "" if is_alone else OAUTH), keys)


def _read(name: str, text: str, *, with_query: bool) -> str:
    from signet.operations.access.issuer import read_url

    try:
        return read_url(text, with_query=with_query)
    except ValueError as error:
        variable = f"SIGNET_OAUTH_{name.replace('-', '_').upper()}"
        raise ValueError(f"--oauth-{name} ({variable}): {error}") from None


def _audience(settings: Settings, public_url: PublicUrl | None) -> str:
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


def _refuse_idle_settings(settings: Settings) -> None:
    """Raise UsageError for a setting of OAuth without an issuer: whoever wrote it thinks that tokens are asked for."""
    idle = (settings.oauth_audience, settings.oauth_jwks_url, settings.oauth_scopes != DEFAULT_SCOPES or None)
    for name, value in zip(("audience", "jwks-url", "scopes"), idle, strict=True):
        if settings.oauth_issuer is None and value is not None:
            variable = f"SIGNET_OAUTH_{name.replace('-', '_').upper()}"
            raise UsageError(f"--oauth-{name} ({variable}) needs the issuer of the tokens: write --oauth-issuer too")


def open_pages(settings: Settings) -> Mapping[str, bytes | Callable[[Request], bytes]]:
    """Return the pages that anybody may read: the metadata by which a client finds the issuer of its token."""
    if settings.oauth_issuer is None:
        return {}
    from signet.kernel.wire import encode
    from signet.operations.access.protected_resource import metadata_of, metadata_paths

    issuer, scopes, public_url = settings.oauth_issuer, settings.oauth_scopes.split(), open_public_url(settings)
    scheme = "http" if settings.tls_cert is None else "https"

    def page(request: Request) -> bytes:
        """Return the metadata under the name by which the server was asked."""
        url = f"{scheme}://{request.headers.get('host', '').lower()}{request.root}/mcp"
        return encode(metadata_of(url, issuer, scopes))

    if public_url is None:
        return dict.fromkeys(metadata_paths(""), page)
    return dict.fromkeys(metadata_paths(public_url.path), encode(metadata_of(f"{public_url}/mcp", issuer, scopes)))


def _open_tokens(path: str, warn: Callable[[str], None]) -> NamedTokens:
    from signet.operations.access.named_tokens import NamedTokens

    try:
        return NamedTokens(path, warn)
    except FileNotFoundError:
        make = advise("token.new", file=path)
        raise UsageError(f"there is no file of tokens {path} (SIGNET_TOKENS_FILE); make it: {make}") from None
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


def _ignore(_: str) -> None:
    """Do nothing: it is told when the server runs."""


def refuse_open_door(settings: Settings, toolbox: Toolbox, *, is_local: bool) -> None:
    """Raise UsageError if others can reach the server without a token, unless every tool is public."""
    private = [tool.name for tool in toolbox if not tool.public]
    if settings.wrapping is not None:
        # What wrapped servers list is not known before they run, and nothing of it is public.
        private += [f"the server {spec.name}" for spec in settings.wrapping.servers]
    if not private or is_protected(settings):
        return
    if not is_local:
        raise UsageError(f"{settings.host} can be reached by others and {private[0]} is not public: set SIGNET_TOKEN")
    if "*" in settings.host_names():
        # A page can make any name resolve to this machine, and call the server by it.
        raise UsageError(f"--allowed-hosts '*' lets any page call {private[0]}, which is not public: set SIGNET_TOKEN")
