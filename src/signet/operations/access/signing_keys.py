"""The keys of an issuer: which of them may check a signature, and with which algorithms."""

from __future__ import annotations

from typing import Any, Final

import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from jwt.api_jws import PyJWS

__all__ = ["ALGORITHMS", "KeySet", "SigningKey", "read_keys"]

RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
FITTING: Final[dict[tuple[Any, Any], tuple[str, ...]]] = {
    ("RSA", None): RSA,
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
"""The algorithms of each kind of key: a public key is never taken for a secret."""
ALGORITHMS: Final = frozenset(name for names in FITTING.values() for name in names)
PUBLIC: Final = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
RSA_BITS: Final = range(2048, 8193)
MAX_CHARS: Final = 1400
"""The longest part of a key: 8192 bits in Base64."""
MAX_EXPONENT_CHARS: Final = 8
MAX_KEYS: Final = 100
JWS: Final = PyJWS(algorithms=sorted(ALGORITHMS))


class SigningKey(msgspec.Struct, frozen=True):
    """A public key, and the algorithms that it may be used with."""

    kid: Any
    algorithms: frozenset[str]
    key: Any

    def signed(self, token: str, algorithm: str) -> bool:
        """Return whether the signature of a token was made with the private half of this key."""
        try:
            JWS.decode_complete(token, self.key, algorithms=[algorithm])
        except (jwt.PyJWTError, ValueError):
            return False
        return True


class KeySet(msgspec.Struct, frozen=True):
    """The usable keys of an issuer at one time."""

    published: list[Any]
    keys: tuple[SigningKey, ...]

    @property
    def ids(self) -> frozenset[str]:
        """Return the ids of the keys that have one."""
        return frozenset(one.kid for one in self.keys if one.kid is not None)

    def find(self, algorithm: str, kid: str | None) -> list[SigningKey]:
        """Return the keys that fit an algorithm and have the id; without an id, all that fit."""
        return [one for one in self.keys if algorithm in one.algorithms and kid in {None, one.kid}]


def read_keys(published: list[Any]) -> KeySet:
    """Return the usable keys among those that are published; all others are left out."""
    keys = [key for jwk in published[:MAX_KEYS] if (key := _read(jwk)) is not None]
    return KeySet(published, tuple(keys))


def _read(jwk: Any) -> SigningKey | None:
    """Return a key for signatures, or None if it is none, or none of a kind and size that is allowed."""
    if not isinstance(jwk, dict) or not _is_for_signatures(jwk):
        return None
    kind, kid, algorithm = jwk.get("kty"), jwk.get("kid"), jwk.get("alg")
    curve = None if kind == "RSA" else jwk.get("crv")
    if not isinstance(kind, str) or not isinstance(curve, str | None) or not isinstance(kid, str | None):
        return None
    fitting = [name for name in FITTING.get((kind, curve), ()) if algorithm in {None, name}]
    # Public parts alone: what else is there would make it another key.
    parts = {name: jwk.get(name) for name in PUBLIC.get(kind, ())}
    are_texts = all(isinstance(part, str) and len(part) <= MAX_CHARS for part in parts.values())
    if not fitting or not are_texts or len(parts.get("e") or "") > MAX_EXPONENT_CHARS:
        return None
    try:
        key = jwt.PyJWK({"kty": kind, **parts}, fitting[0]).key
    except (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, ArithmeticError, LookupError):
        return None
    return SigningKey(kid, frozenset(fitting), key) if kind != "RSA" or key.key_size in RSA_BITS else None


def _is_for_signatures(jwk: dict[str, Any]) -> bool:
    operations = jwk.get("key_ops")
    verifies = operations is None or (isinstance(operations, list) and "verify" in operations)
    use, algorithm = jwk.get("use"), jwk.get("alg")
    return verifies and (use is None or use == "sig") and isinstance(algorithm, str | None)
