"""The OAuth 2.1 resource server: whose access tokens are accepted, and how a client is told what to bring.

token ── seen before? ── read_token ── the key is known ────────── signature ── principal
                                └── it is not ── the issuer is asked ──┘  │ └── 401
                                                  │     └─ a wrong one ───┘
                                                  └── it does not answer ── 503
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Generator
from hashlib import sha256
from time import time
from typing import Any, Final

import msgspec

from signet.kernel.caller import Principal
from signet.kernel.errors import INSUFFICIENT_SCOPE, Code, Fault

from .access_token import AccessToken, Expected, read_token
from .challenges import MISSING, missing_token, unauthorized
from .jwks import Jwks
from .signing_keys import KeySet, SigningKey

__all__ = ["MALFORMED", "OAuth", "Resource"]

MALFORMED: Final = "MALFORMED_AUTHORIZATION"
UNDECIDED: Final = "ISSUER_UNREACHABLE"
BEARER: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The form of every bearer token (RFC 6750)."""
MAX_ACCEPTED: Final = 10_000
MAX_TRIED: Final = 4
"""The number of keys with the same id that are tried."""
NOT_QUOTED: Final = re.compile(r"[^ !#-\[\]-~]")
"""What no value of a challenge may have in it."""


class Resource(msgspec.Struct, frozen=True):
    """This server, as an authorization server and its clients know it."""

    expected: Expected
    scopes: tuple[str, ...] = ()
    """The scopes that a client is told to ask for first."""
    metadata_url: str = ""
    """Where the metadata of the resource is; empty if it is not known under which URL clients reach it."""
    prefix: str = ""
    """What the names of subjects begin with, so that none is the name of another token."""


class OAuth:
    """Knows the subjects of one issuer's access tokens."""

    def __init__(self, resource: Resource, jwks: Jwks, clock: Callable[[], float] = time) -> None:
        self._resource = resource
        self._jwks = jwks
        self._clock = clock
        self._accepted: dict[bytes, tuple[Principal, float]] = {}
        """The tokens that the current keys have proven, by their digests, and when each expires."""
        self._keys: KeySet | None = None

    def identify(self, token: str) -> Principal | Fault | Awaitable[Principal | Fault]:
        """Return the principal of an access token or a fault; an awaitable if the issuer has to be asked."""
        if not token:
            return missing_token()
        keys = self._jwks.current()
        digest = sha256(token.encode()).digest()
        if keys is not None and keys is self._keys:
            principal, expires_s = self._accepted.get(digest, (None, 0.0))
            if principal is not None and self._clock() < expires_s:
                return principal
        if not BEARER.fullmatch(token):
            return Fault(Code.UNAUTHORIZED, "The header Authorization is malformed", name=MALFORMED, status=400)
        try:
            said = read_token(token, self._resource.expected, self._clock(), self._resource.prefix)
        except ValueError as error:
            return unauthorized(f"The access token {error}")
        found = keys.find(said.algorithm, said.kid) if keys is not None else []
        if keys is None or not found:
            return _Undecided(lambda: self._decide(token, digest, said))
        proven = self._prove(token, digest, said, found)
        is_unnamed = said.kid is None and len(found) > 1
        if isinstance(proven, Principal) or is_unnamed or not self._jwks.may_doubt(said.kid):
            return proven
        return _Undecided(lambda: self._decide_again(token, digest, said, keys, proven))

    def challenge(self, fault: Fault) -> str:
        """Return the `WWW-Authenticate` header of a refusal."""
        place, why = {"resource_metadata": self._resource.metadata_url}, {"error_description": fault.message}
        scope = {"scope": " ".join(self._resource.scopes)}
        if fault.name == INSUFFICIENT_SCOPE:
            return _bearer({"error": "insufficient_scope", "scope": fault.data["scope"], **place, **why})
        if fault.message == MISSING:
            return _bearer({**place, **scope})
        error = "invalid_request" if fault.name == MALFORMED else "invalid_token"
        return _bearer({**place, **scope, "error": error, **why})

    def reload(self) -> None:
        """Fetch the issuer's keys again."""
        self._jwks.reload()

    async def _decide(self, token: str, digest: bytes, said: AccessToken) -> Principal | Fault:
        """Return the principal of a token, after asking the issuer for keys."""
        keys = self._jwks.current() or await self._jwks.renewed()
        if keys is None:
            return self._undecided()
        found: list[SigningKey] | None = keys.find(said.algorithm, said.kid)
        if not found:
            found = await self._jwks.seek(said.algorithm, said.kid)
        return self._undecided() if found is None else self._prove(token, digest, said, found)

    async def _decide_again(
        self, token: str, digest: bytes, said: AccessToken, tried: KeySet, refused: Fault
    ) -> Principal | Fault:
        """Return the principal of a token that no known key has signed: its issuer may have another key by now."""
        found = await self._jwks.seek(said.algorithm, said.kid, tried)
        return self._prove(token, digest, said, found) if found else refused

    def _prove(self, token: str, digest: bytes, said: AccessToken, found: list[SigningKey]) -> Principal | Fault:
        """Return the principal if one of the keys has signed the token, and keep that for the next time."""
        if not found:
            return unauthorized("The access token is signed with a key that its issuer does not publish")
        if said.kid is None and len(found) > 1:
            return unauthorized("The access token does not say which key of its issuer has signed it")
        if not any(key.signed(token, said.algorithm) for key in found[:MAX_TRIED]):
            return unauthorized("The access token has a wrong signature")
        keys = self._jwks.current()
        if keys is not self._keys:
            self._accepted, self._keys = {}, keys
        if len(self._accepted) >= MAX_ACCEPTED:
            del self._accepted[next(iter(self._accepted))]
        self._accepted[digest] = said.principal, said.expires_s
        return said.principal

    def _undecided(self) -> Fault:
        """Return the fault for a token of which nobody can say now whether it is good."""
        wait_s = max(1, -int(-self._jwks.wait_s() // 1))
        message = f"The issuer of access tokens does not answer with its keys: try again in {wait_s} s"
        data = {"retryAfterMs": wait_s * 1000}
        return Fault(Code.INTERNAL_ERROR, message, name=UNDECIDED, status=503, as_tool_result=False, data=data)


class _Undecided:
    """A decision that begins when it is awaited: a request that is refused for another reason needs none."""

    def __init__(self, decide: Callable[[], Awaitable[Principal | Fault]]) -> None:
        self._decide = decide

    def __await__(self) -> Generator[Any, Any, Principal | Fault]:
        return self._decide().__await__()


def _bearer(values: dict[str, str]) -> str:
    """Return a challenge with the values that are there, none of which can end its quotes."""
    pairs = [f'{name}="{NOT_QUOTED.sub("?", value)}"' for name, value in values.items() if value]
    return f"Bearer {', '.join(pairs)}" if pairs else "Bearer"
