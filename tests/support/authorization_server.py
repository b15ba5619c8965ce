"""A small and complete OAuth 2.1 authorization server on loopback, with real keys, rotation, and faults to order.

RFC 8414 and OpenID metadata, dynamic client registration, authorization code with PKCE, refresh tokens, the `resource`
of RFC 8707 as the audience, access tokens as RFC 9068 has them. Everybody who asks for consent is given it, as `alice`.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from processes import PATIENCE_S

HUGE_BYTES = 5_000_000


@dataclass
class SigningKey:
    """A private key, and how the server publishes its other half."""

    kid: str
    algorithm: str
    private: Any

    @property
    def public(self) -> Any:
        return self.private.public_key()

    def jwk(self) -> dict[str, Any]:
        made = get_default_algorithms()[self.algorithm].to_jwk(self.public, as_dict=True)
        return {**made, "kid": self.kid, "alg": self.algorithm, "use": "sig"}


def new_key(algorithm: str = "RS256", kid: str | None = None) -> SigningKey:
    """Make a key for an algorithm."""
    if algorithm.startswith("ES"):
        private: Any = ec.generate_private_key(ec.SECP256R1() if algorithm == "ES256" else ec.SECP384R1())
    elif algorithm == "EdDSA":
        private = ed25519.Ed25519PrivateKey.generate()
    else:
        private = rsa.generate_private_key(65537, 2048)
    return SigningKey(kid or token_urlsafe(8), algorithm, private)


@dataclass
class AuthorizationServer:
    """The state of the server; tests change it while it runs."""

    audience: str
    """The audience of tokens that a test mints itself."""
    url: str = ""
    path: str = ""
    """The path of the issuer."""
    metadata_path: str = ""
    """Where the metadata is; empty for the place that RFC 8414 has for it."""
    keys: list[SigningKey] = field(default_factory=lambda: [new_key()])
    """The published keys; the last one signs."""
    trouble: str = ""
    """How the server misbehaves: hang, error, html, huge, redirect, other_issuer, no_keys, keys_elsewhere."""
    asked: Counter[str] = field(default_factory=Counter)
    """How often each path was asked for."""
    issued: list[str] = field(default_factory=list)
    clients: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refreshes: dict[str, dict[str, str]] = field(default_factory=dict)
    released: threading.Event = field(default_factory=threading.Event)
    """Set when hanging requests may end."""

    @property
    def issuer(self) -> str:
        return self.url + self.path

    @property
    def key(self) -> SigningKey:
        return self.keys[-1]

    def rotate(self, algorithm: str = "RS256") -> SigningKey:
        """Publish a new key, which signs from now on."""
        self.keys.append(new_key(algorithm))
        return self.key

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Return the claims of a good token, with some changed; None leaves one out."""
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.audience, "sub": "alice", "scope": "tools:call"}
        claims |= {"client_id": "tests", "iat": now, "exp": now + 300, "jti": token_urlsafe(8), **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key: SigningKey | None = None, headers: dict[str, Any] | None = None, **changes: Any) -> str:
        """Return an access token signed with a key, the current one unless another is given."""
        key = key or self.key
        named = {"kid": key.kid, "typ": "at+jwt", **(headers or {})}
        if named["kid"] is None:
            del named["kid"]
        made = jwt.encode(self.claims(**changes), key.private, key.algorithm, headers=named)
        self.issued.append(made)
        return made

    def metadata(self) -> dict[str, Any]:
        keys = "http://127.0.0.1:9/jwks" if self.trouble == "keys_elsewhere" else f"{self.url}/jwks"
        return {
            "issuer": "https://evil.example" if self.trouble == "other_issuer" else self.issuer,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "jwks_uri": keys,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "scopes_supported": ["tools:call"],
            "authorization_response_iss_parameter_supported": True,
        }

    def register(self, asked: dict[str, Any]) -> dict[str, Any]:
        client = {**asked, "client_id": token_urlsafe(8), "token_endpoint_auth_method": "none"}
        self.clients[client["client_id"]] = client
        return client

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser of somebody who consents is sent."""
        client = self.clients[asked["client_id"]]
        assert asked["redirect_uri"] in client["redirect_uris"]
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        code = token_urlsafe(16)
        self.codes[code] = asked
        answer = {"code": code, "state": asked["state"], "iss": self.issuer}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def exchange(self, asked: dict[str, str]) -> dict[str, Any] | None:
        """Return tokens for a code or a refresh token, each of which is good for one time."""
        if asked["grant_type"] == "refresh_token":
            granted = self.refreshes.pop(asked["refresh_token"], None)
        else:
            granted = self.codes.pop(asked["code"], None)
            proof = urlsafe_b64encode(sha256(asked["code_verifier"].encode()).digest()).decode().rstrip("=")
            if granted is None or (proof, asked["redirect_uri"]) != (
                granted["code_challenge"],
                granted["redirect_uri"],
            ):
                return None
        if granted is None or granted["client_id"] != asked["client_id"]:
            return None
        refresh, scope = token_urlsafe(16), granted.get("scope", "")
        self.refreshes[refresh] = granted
        made = self.token(aud=granted["resource"], scope=scope)
        return {
            "access_token": made,
            "token_type": "Bearer",
            "expires_in": 300,
            "scope": scope,
            "refresh_token": refresh,
        }


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        state, path = self.server.state, urlsplit(self.path).path
        state.asked[path] += 1
        if path == "/authorize":
            self._send(302, b"", location=state.authorize(dict(parse_qsl(urlsplit(self.path).query))))
        elif self._misbehaves(state.trouble):
            return
        elif path == "/jwks":
            keys = None if state.trouble == "no_keys" else [key.jwk() for key in state.keys]
            self._send(200, json.dumps({"keys": keys}).encode())
        elif path == (state.metadata_path or f"/.well-known/oauth-authorization-server{state.path}"):
            self._send(200, json.dumps(state.metadata()).encode())
        else:
            self._send(404, b"{}")

    def do_POST(self) -> None:
        state, body = self.server.state, self.rfile.read(int(self.headers["content-length"]))
        state.asked[self.path] += 1
        if self.path == "/register":
            self._send(201, json.dumps(state.register(json.loads(body))).encode())
            return
        tokens = state.exchange(dict(parse_qsl(body.decode())))
        answer = tokens or {"error": "invalid_grant"}
        self._send(400 if tokens is None else 200, json.dumps(answer).encode())

    def _misbehaves(self, trouble: str) -> bool:
        if trouble == "hang":
            self.server.state.released.wait(PATIENCE_S)
            self.close_connection = True
        elif trouble == "error":
            self._send(500, b"{}")
        elif trouble == "html":
            self._send(200, b"<html>Please log in</html>")
        elif trouble == "huge":
            self._send(200, b'{"keys": ["' + b"x" * HUGE_BYTES + b'"]}')
        elif trouble == "redirect":
            self._send(302, b"", location=f"http://localhost:{self.server.server_port}{self.path}")
        return trouble in {"hang", "error", "html", "huge", "redirect"}

    def _send(self, status: int, body: bytes, location: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if location:
            self.send_header("location", location)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class _Listener(ThreadingHTTPServer):
    state: AuthorizationServer
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing: whoever asked may leave."""


@contextlib.contextmanager
def authorization_server(
    audience: str = "https://tools.example/mcp", path: str = "", port: int = 0
) -> Iterator[AuthorizationServer]:
    """Run an authorization server until the block ends."""
    with _Listener(("127.0.0.1", port), _Handler) as listener:
        listener.state = AuthorizationServer(audience, f"http://127.0.0.1:{listener.server_port}", path)
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield listener.state
        finally:
            listener.state.released.set()
            listener.shutdown()
            thread.join()
