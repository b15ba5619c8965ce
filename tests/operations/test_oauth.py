"""Access tokens of an authorization server: good ones are served, and every other one is refused."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from authorization_server import AuthorizationServer, SigningKey, authorization_server, new_key
from commands_in_process import run_here
from door_calls import invocation, rpc
from processes import PATIENCE_S, SIGNET, Reply, Server, run, serving, serving_command
from signet.kernel.caller import Principal
from signet.kernel.errors import Fault
from signet.operations.access.access_token import Expected
from signet.operations.access.issuer import Issuer
from signet.operations.access.jwks import Jwks
from signet.operations.access.oauth import OAuth, Resource

PUBLIC = "https://tools.example"
CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})
METADATA_URL = "https://tools.example/.well-known/oauth-protected-resource/mcp"
CHALLENGE = f'Bearer resource_metadata="{METADATA_URL}", scope="tools:call"'
DOORS = {
    "/mcp": CALL,
    "/api/tools/encodePlantUML": {"plantumlCode": "A"},
    "/mcp/tool/plantuml.encode": invocation("plantuml.encode", {"plantumlCode": "A"}),
}


@pytest.fixture(scope="module")
def issuer() -> Iterator[AuthorizationServer]:
    with authorization_server() as running:
        running.keys += [new_key("ES256"), new_key("RS256")]
        yield running


@pytest.fixture(scope="module")
def server(issuer: AuthorizationServer) -> Iterator[Server]:
    with protected(issuer) as running:
        yield running


def protected(issuer: AuthorizationServer, *flags: str) -> Any:
    return serving("--toolsets", "plantuml", "--oauth-issuer", issuer.issuer, "--public-url", PUBLIC, *flags)


def call(server: Server, token: str, path: str = "/mcp") -> Reply:
    return server.post(path, DOORS[path], {"authorization": f"Bearer {token}"})


def part(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def signed(issuer: AuthorizationServer, payload: bytes) -> str:
    """Sign any text as the issuer."""
    return jwt.api_jws.encode(payload, issuer.key.private, "RS256", headers={"kid": issuer.key.kid, "typ": "at+jwt"})


@pytest.mark.parametrize("path", DOORS)
def test_a_good_token_opens_every_door(issuer: AuthorizationServer, server: Server, path: str) -> None:
    reply = call(server, issuer.token(), path)

    assert reply.status == 200, reply.body


def test_every_allowed_algorithm_is_checked_with_its_key() -> None:
    with authorization_server() as issuer, protected(issuer) as server:
        for algorithm in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"):
            issuer.rotate(algorithm)
            good, forged = issuer.token(), issuer.token(new_key(algorithm, issuer.key.kid))

            assert call(server, good).status == 200, algorithm
            assert call(server, forged).status == 401, algorithm


def authenticator(issuer: AuthorizationServer) -> OAuth:
    keys = Jwks(Issuer(issuer.issuer).fetch_keys, print)
    return OAuth(Resource(Expected(issuer.issuer, issuer.audience)), keys)


async def identified(oauth: OAuth, token: str) -> Principal | Fault:
    found = oauth.identify(token)
    return found if isinstance(found, Principal | Fault) else await found


def test_the_subject_is_the_name_of_the_caller_and_the_scopes_are_its_own(issuer: AuthorizationServer) -> None:
    token = issuer.token(sub="auth0|bob", scope="tools:call:a b")

    found = asyncio.run(identified(authenticator(issuer), token))

    assert found == Principal("auth0|bob", frozenset({"tools:call:a", "b"}), "oauth:auth0|bob")


def test_who_has_been_seen_is_known_without_waiting(issuer: AuthorizationServer) -> None:
    async def act() -> list[bool]:
        oauth, token = authenticator(issuer), issuer.token()
        first = oauth.identify(token)
        await identified(oauth, token)
        return [
            isinstance(found, Principal) for found in (first, oauth.identify(token), oauth.identify(issuer.token()))
        ]

    assert asyncio.run(act()) == [False, True, True]


def test_no_more_tokens_are_kept_than_there_is_room_for(
    issuer: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signet.operations.access.oauth.MAX_ACCEPTED", 3)

    async def act() -> int:
        oauth = authenticator(issuer)
        for token in [issuer.token() for _ in range(10)]:
            assert isinstance(await identified(oauth, token), Principal)
        return len(oauth._accepted)

    assert asyncio.run(act()) == 3


def test_other_tokens_are_good_beside_those_of_the_issuer(issuer: AuthorizationServer) -> None:
    flags = ("--toolsets", "plantuml", "--oauth-issuer", issuer.issuer, "--public-url", PUBLIC)
    tokens = ("a.shared.token", issuer.token(sub="token"), "another", issuer.token(exp=1))
    with serving(*flags, "--access-log", env={"SIGNET_TOKEN": "a.shared.token"}) as server:
        replies = [call(server, token) for token in tokens]
        # The name of a subject cannot be taken for that of another token.
        server.wait_for("principal=token ")
        server.wait_for("principal=oauth:token ")

    assert [reply.status for reply in replies] == [200, 200, 401, 401]
    for reply in replies[2:]:
        assert reply.headers["www-authenticate"].startswith(f'{CHALLENGE}, error="invalid_token"')


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": ["https://other.example", "https://tools.example/mcp"]},
        {"scope": None, "scp": ["tools:call"]},
        {"scope": None, "scp": "openid tools:call"},
        {"scope": "tools:call:plantuml.encode"},
        {"nbf": -10},
        {"exp": 100.5},
    ],
)
def test_other_forms_of_a_good_token_are_good(
    issuer: AuthorizationServer, server: Server, changes: dict[str, Any]
) -> None:
    # Times are written from now on: these cases were collected some minutes ago.
    now = time.time()
    claims = {name: now + value if isinstance(value, int | float) else value for name, value in changes.items()}

    assert call(server, issuer.token(**claims)).status == 200


@pytest.mark.parametrize("kind", ["JWT", "at+jwt", "application/at+jwt", None])
def test_the_types_of_access_tokens_are_good(issuer: AuthorizationServer, server: Server, kind: str | None) -> None:
    assert call(server, issuer.token(headers={"typ": kind})).status == 200


def hostile() -> dict[str, Callable[[AuthorizationServer], str]]:
    def confused(issuer: AuthorizationServer) -> str:
        """Sign with the public key as the secret."""
        secret = issuer.key.public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        text = f"{part({'alg': 'HS256', 'kid': issuer.key.kid, 'typ': 'at+jwt'})}.{part(issuer.claims())}"
        return f"{text}.{part(hmac.digest(secret, text.encode(), hashlib.sha256))}"

    def tampered(issuer: AuthorizationServer) -> str:
        header, _, signature = issuer.token(sub="bob").split(".")
        return f"{header}.{part(issuer.claims(sub='root'))}.{signature}"

    def unsigned(issuer: AuthorizationServer, algorithm: str) -> str:
        return f"{part({'alg': algorithm, 'typ': 'at+jwt'})}.{part(issuer.claims())}."

    def brought(issuer: AuthorizationServer, name: str) -> str:
        own = new_key()
        value = own.jwk() if name == "jwk" else "https://evil.example/key"
        return issuer.token(own, headers={name: value, "kid": issuer.key.kid})

    def twice(issuer: AuthorizationServer) -> str:
        claims = json.dumps(issuer.claims(aud=None))
        return signed(issuer, f'{{"aud": "https://other.example", "aud": "{issuer.audience}", {claims[1:]}'.encode())

    def with_curve_of_another(issuer: AuthorizationServer) -> str:
        """Name the EC key in a token that says RS256."""
        return issuer.token(issuer.keys[-1], headers={"kid": issuer.keys[-2].kid})

    now = int(time.time())
    changes: dict[str, dict[str, Any]] = {
        "expired": {"exp": now - 1},
        "expires never": {"exp": None},
        "expires at infinity": {"exp": float("inf")},
        "expires at a text": {"exp": "9999999999"},
        "not yet valid": {"nbf": now + 3600},
        "wrong audience": {"aud": "https://other.example/mcp"},
        "audience without the path": {"aud": "https://tools.example"},
        "audience with a slash": {"aud": "https://tools.example/mcp/"},
        "no audience": {"aud": None},
        "audience in an object": {"aud": {"https://tools.example/mcp": 1}},
        "audience in a list of lists": {"aud": [["https://tools.example/mcp"]]},
        "wrong issuer": {"iss": "https://evil.example"},
        "no issuer": {"iss": None},
        "no subject": {"sub": None},
        "subject with a line end": {"sub": "alice\nroot"},
        "scopes as numbers": {"scope": None, "scp": [1]},
    }
    tokens: dict[str, Callable[[AuthorizationServer], str]] = {
        name: lambda issuer, change=change: issuer.token(**change) for name, change in changes.items()
    }
    return tokens | {
        "issuer with a slash": lambda issuer: issuer.token(iss=f"{issuer.issuer}/"),
        "alg none": lambda issuer: unsigned(issuer, "none"),
        "alg None": lambda issuer: unsigned(issuer, "nOnE"),
        "no signature": lambda issuer: unsigned(issuer, "RS256"),
        "a signature of another token": lambda issuer: (
            f"{issuer.token().rpartition('.')[0]}.{issuer.token(sub='eve').rpartition('.')[2]}"
        ),
        "HS256 with the public key": confused,
        "an EC key for RS256": with_curve_of_another,
        "unknown kid": lambda issuer: issuer.token(new_key()),
        "no kid where two keys fit": lambda issuer: issuer.token(headers={"kid": None}),
        "kid of another, own key": lambda issuer: issuer.token(new_key("RS256", issuer.key.kid)),
        "jwk header": lambda issuer: brought(issuer, "jwk"),
        "jku header": lambda issuer: brought(issuer, "jku"),
        "x5u header": lambda issuer: brought(issuer, "x5u"),
        "crit header": lambda issuer: issuer.token(headers={"crit": ["exp"], "exp": 1}),
        "tampered payload": tampered,
        "audience twice": twice,
        "wrong typ": lambda issuer: issuer.token(headers={"typ": "dpop+jwt"}),
        "typ of a logout token": lambda issuer: issuer.token(headers={"typ": "logout+jwt"}),
        "over 16 KiB": lambda issuer: issuer.token(padding="x" * 16_384),
        "deep nesting": lambda issuer: signed(issuer, b"[" * 5000),
        "no JSON": lambda issuer: signed(issuer, b"\xff\xfe"),
        "a list": lambda issuer: signed(issuer, b"[]"),
        "opaque": lambda _: "0123456789abcdef",
        "five parts": lambda issuer: issuer.token() + ".a.b",
    }


@pytest.mark.parametrize("name", hostile())
def test_a_hostile_token_is_refused_at_every_door(issuer: AuthorizationServer, server: Server, name: str) -> None:
    token = hostile()[name](issuer)

    replies = [call(server, token, path) for path in DOORS]

    assert [reply.status for reply in replies] == [401, 401, 401]
    for reply in replies:
        assert reply.headers["www-authenticate"].startswith(f'{CHALLENGE}, error="invalid_token", error_description="')
        assert token not in reply.body.decode()
        assert token not in str(reply.headers)
    assert call(server, issuer.token()).status == 200


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("expired", "The access token has expired"),
        ("wrong audience", "The access token is for another audience"),
        ("unknown kid", "The access token is signed with a key that its issuer does not publish"),
        ("tampered payload", "The access token has a wrong signature"),
        ("crit header", "The access token needs an extension that is not known here"),
        ("jku header", "The access token brings its own key"),
        ("alg none", "The access token is not a signed JWT"),
        ("HS256 with the public key", "The access token is not signed with an algorithm that is allowed"),
    ],
)
def test_a_client_is_told_why_its_token_is_refused(
    issuer: AuthorizationServer, server: Server, name: str, why: str
) -> None:
    reply = call(server, hostile()[name](issuer))

    assert reply.headers["www-authenticate"] == f'{CHALLENGE}, error="invalid_token", error_description="{why}"'
    assert reply.json()["error"]["message"] == why


def test_without_a_token_a_client_is_told_where_to_get_one(server: Server) -> None:
    reply = server.post("/mcp", CALL)

    assert (reply.status, reply.headers["www-authenticate"]) == (401, CHALLENGE)


def test_a_token_in_the_query_is_none(issuer: AuthorizationServer, server: Server) -> None:
    reply = server.post(f"/mcp?access_token={issuer.token()}", CALL)

    assert (reply.status, reply.headers["www-authenticate"]) == (401, CHALLENGE)


@pytest.mark.parametrize("words", ["two words", 'quo"te', "caf\xe9", "a,b"])
def test_a_malformed_header_is_a_bad_request(server: Server, words: str) -> None:
    reply = server.ask("POST", "/mcp", b"{}", {"content-type": "application/json", "authorization": f"Bearer {words}"})

    assert reply.status == 400
    assert 'error="invalid_request"' in reply.headers["www-authenticate"]


def test_a_token_without_the_scope_is_told_which_one_it_needs(issuer: AuthorizationServer, server: Server) -> None:
    token = issuer.token(scope="tools:call:other.tool openid")

    replies = [call(server, token, path) for path in DOORS]

    assert [reply.status for reply in replies] == [403, 403, 403]
    for reply in replies:
        assert reply.headers["www-authenticate"] == (
            'Bearer error="insufficient_scope", scope="tools:call:plantuml.encode", '
            f'resource_metadata="{METADATA_URL}", error_description="'
            'The token does not allow encodePlantUML: ask for one with the scope tools:call:plantuml.encode"'
        )


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"])
def test_the_metadata_is_there_for_everybody(issuer: AuthorizationServer, server: Server, path: str) -> None:
    reply = server.ask("GET", path, headers={"origin": "https://anywhere.example"})

    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.json() == {
        "resource": "https://tools.example/mcp",
        "authorization_servers": [issuer.issuer],
        "scopes_supported": ["tools:call"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Signet",
    }


def test_a_page_elsewhere_may_ask_for_the_metadata_with_headers_of_its_own(server: Server) -> None:
    asked = {"origin": "https://anywhere.example", "access-control-request-headers": "mcp-protocol-version"}

    reply = server.ask("OPTIONS", "/.well-known/oauth-protected-resource/mcp", headers=asked)

    assert (reply.status, reply.headers["access-control-allow-origin"]) == (204, "*")
    assert reply.headers["access-control-allow-headers"] == "mcp-protocol-version"
    assert server.post("/.well-known/oauth-protected-resource/mcp", {}).status == 405


def test_a_public_url_with_a_path_is_canonical_everywhere() -> None:
    with authorization_server("https://tools.example:8443/team/mcp", path="/realms/one") as issuer:
        flags = ("--oauth-issuer", issuer.issuer, "--public-url", "HTTPS://Tools.Example:8443/team/")
        with serving("--toolsets", "plantuml", *flags) as server:
            root = "/.well-known/oauth-protected-resource"
            paths = (root, f"{root}/mcp", f"{root}/team/mcp", f"{root}/team", f"/team{root}/mcp", f"/team{root}")
            pages = [server.ask("GET", path) for path in paths]
            challenge = server.post("/team/mcp", CALL).headers["www-authenticate"]
            called = server.post("/team/mcp", CALL, {"authorization": f"Bearer {issuer.token()}"})

    assert [page.status for page in pages] == [200] * 6
    assert {page.json()["resource"] for page in pages} == {"https://tools.example:8443/team/mcp"}
    assert f'resource_metadata="https://tools.example:8443/team{root}/mcp"' in challenge
    assert called.status == 200


def test_without_a_public_url_the_audience_is_what_was_written() -> None:
    with authorization_server("api://an-application") as issuer:
        flags = ("--oauth-issuer", issuer.issuer, "--oauth-audience", "api://an-application", "--oauth-scopes", "a b")
        with serving("--toolsets", "plantuml", *flags) as server:
            page = server.ask("GET", "/.well-known/oauth-protected-resource/mcp").json()
            challenge = server.post("/mcp", CALL).headers["www-authenticate"]
            good, bad = call(server, issuer.token()), call(server, issuer.token(aud=f"{server.url}/mcp"))

    assert (page["resource"], page["scopes_supported"]) == (f"{server.url}/mcp", ["a", "b"])
    assert challenge == 'Bearer scope="a b"'
    assert (good.status, bad.status) == (200, 401)


def test_the_place_of_the_keys_may_be_written_down() -> None:
    with authorization_server() as issuer, protected(issuer, "--oauth-jwks-url", f"{issuer.url}/jwks") as server:
        assert call(server, issuer.token()).status == 200
        assert set(issuer.asked) == {"/jwks"}


def test_keys_of_a_token_that_was_seen_are_not_asked_for_again() -> None:
    with authorization_server() as issuer, protected(issuer) as server:
        token = issuer.token()
        statuses = {call(server, token).status for _ in range(20)} | {call(server, issuer.token()).status}

        assert statuses == {200}
        assert issuer.asked == {"/.well-known/oauth-authorization-server": 1, "/jwks": 1}


def test_tokens_with_unknown_keys_make_one_request_to_the_issuer() -> None:
    with authorization_server() as issuer, protected(issuer) as server, ThreadPoolExecutor(8) as threads:
        assert call(server, issuer.token()).status == 200
        strangers = [issuer.token(key) for key in [new_key("ES256") for _ in range(40)]]
        statuses = list(threads.map(lambda token: call(server, token).status, strangers))

        assert set(statuses) == {401}
        assert issuer.asked["/jwks"] == 2
        assert call(server, issuer.token()).status == 200


def test_the_first_calls_share_one_request_to_the_issuer() -> None:
    with authorization_server() as issuer, protected(issuer) as server, ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(lambda token: call(server, token).status, [issuer.token() for _ in range(16)]))

        assert set(statuses) == {200}
        assert issuer.asked["/jwks"] == 1


def test_keys_are_rotated_under_load_without_a_wrong_answer() -> None:
    """Three times: the next key signs from one moment to the next, and the old one is retired while calls run."""
    with authorization_server() as issuer, protected(issuer) as server, ThreadPoolExecutor(8) as threads:
        for algorithm in ("ES256", "RS256", "EdDSA"):
            old = issuer.key
            before = list(threads.map(lambda _: call(server, issuer.token()).status, range(30)))
            running = [threads.submit(lambda: call(server, issuer.token()).status) for _ in range(60)]
            issuer.rotate(algorithm)
            during = [future.result() for future in running]
            issuer.keys.remove(old)
            issuer.rotate("ES256")
            after = list(threads.map(lambda _: call(server, issuer.token()).status, range(30)))

            assert set(before + during + after) == {200}
            # The search for the newest key has shown that this one is gone.
            assert call(server, issuer.token(old)).status == 401


def test_another_key_under_the_same_id_is_found_by_the_first_token_that_it_has_signed() -> None:
    with authorization_server() as issuer, protected(issuer) as server:
        old = issuer.token()
        assert call(server, old).status == 200
        issuer.keys = [new_key("RS256", issuer.key.kid)]

        assert call(server, issuer.token()).status == 200
        assert call(server, old).status == 401


def test_tokens_that_are_forged_under_a_known_id_make_one_request_and_delay_no_new_key() -> None:
    with authorization_server() as issuer, protected(issuer) as server:
        assert call(server, issuer.token()).status == 200
        forger = new_key("RS256", issuer.key.kid)
        assert {call(server, issuer.token(forger)).status for _ in range(10)} == {401}
        assert issuer.asked["/jwks"] == 2
        issuer.rotate("ES256")

        assert call(server, issuer.token()).status == 200


def test_a_key_of_an_odd_form_is_left_out_and_the_others_are_used() -> None:
    with authorization_server() as issuer, protected(issuer) as server:
        issuer.keys.insert(0, _Odd("odd", "RS256", new_key().private))

        assert call(server, issuer.token()).status == 200


class _Odd(SigningKey):
    def jwk(self) -> dict[str, Any]:
        return {**super().jwk(), "use": ["sig"]}


def test_a_token_that_was_accepted_is_refused_when_its_key_is_gone() -> None:
    with authorization_server() as issuer, protected(issuer) as server:
        token = issuer.token()
        assert call(server, token).status == 200
        issuer.keys = [new_key()]

        # A stranger makes the server look at the keys again.
        assert call(server, issuer.token(new_key())).status == 401
        assert call(server, token).status == 401
        assert call(server, issuer.token()).status == 200


def test_a_token_that_was_accepted_is_refused_when_it_expires(issuer: AuthorizationServer) -> None:
    async def act() -> list[str]:
        clock = [1_800_000_000.0]
        keys = Jwks(Issuer(issuer.issuer).fetch_keys, print)
        oauth = OAuth(Resource(Expected(issuer.issuer, issuer.audience)), keys, lambda: clock[-1])
        token, found = issuer.token(exp=1_800_000_300), []
        for moment in (1_800_000_000.0, 1_800_000_299.0, 1_800_000_300.0):
            clock.append(moment)
            found.append(await identified(oauth, token))
        return [one.message if isinstance(one, Fault) else one.name for one in found]

    assert asyncio.run(act()) == ["alice", "alice", "The access token has expired"]


def test_a_signal_makes_the_server_look_at_the_keys() -> None:
    with authorization_server() as issuer, protected(issuer) as server:
        token = issuer.token()
        assert call(server, token).status == 200
        issuer.keys = [new_key()]
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE_S
        while call(server, token).status == 200:
            assert time.monotonic() < deadline

        assert call(server, token).status == 401
        assert issuer.asked["/jwks"] == 2


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"ISSUER": "http://auth.example"}, "--oauth-issuer (SIGNET_OAUTH_ISSUER): without TLS anybody on the way"),
        ({"ISSUER": "nonsense"}, "--oauth-issuer (SIGNET_OAUTH_ISSUER): it is no https URL with a host"),
        ({"ISSUER": "https://me:secret@auth.example"}, "it is no https URL with a host"),
        ({"ISSUER": "https://auth.example?a=b"}, "it has a query or a fragment; leave it out"),
        ({"ISSUER": "https://auth.example"}, "--oauth-issuer needs to know for whom tokens are: write --public-url"),
        ({"ISSUER": "https://auth.example", "AUDIENCE": "a", "JWKS_URL": "http://10.0.0.1/"}, "SIGNET_OAUTH_JWKS_URL"),
        ({"ISSUER": "https://auth.example", "AUDIENCE": "a", "SCOPES": 'a"b'}, "has a character that no scope has"),
        ({"ISSUER": "https://auth.example", "AUDIENCE": "a", "SCOPES": "offline_access"}, "is for clients to ask for"),
        ({"AUDIENCE": "a"}, "--oauth-audience (SIGNET_OAUTH_AUDIENCE) needs the issuer of the tokens"),
        ({"JWKS_URL": "https://auth.example"}, "--oauth-jwks-url (SIGNET_OAUTH_JWKS_URL) needs the issuer"),
        ({"SCOPES": "a"}, "--oauth-scopes (SIGNET_OAUTH_SCOPES) needs the issuer of the tokens"),
    ],
)
def test_a_setting_that_cannot_be_used_stops_the_start(variables: dict[str, str], sentence: str) -> None:
    env = {f"SIGNET_OAUTH_{name}": value for name, value in variables.items()}

    done = run_here("serve", "--port", "0", "--toolsets", "plantuml", env=env)

    assert done.returncode == 2
    assert sentence in done.stderr.decode()
    assert "secret" not in done.stderr.decode()


@pytest.mark.parametrize("package", ["jwt", "cryptography"])
def test_without_the_extra_the_start_says_what_to_install(package: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    flags = ("--oauth-issuer", "https://auth.example", "--public-url", PUBLIC)

    done = run("serve", "--port", "0", "--toolsets", "plantuml", *flags, env={"PYTHONPATH": str(tmp_path)})

    assert done.returncode == 2
    assert "[oauth]'" in done.stderr.decode()


def test_no_token_is_written_anywhere(tmp_path: Path) -> None:
    """Good, bad and undecided ones: not in the log, the journal or an answer."""
    flags = ("--port", "0", "--toolsets", "plantuml", "--public-url", PUBLIC, "--log", "trace")
    with authorization_server() as issuer:
        tokens = [issuer.token(), issuer.token(exp=1), issuer.token(new_key()), issuer.token(scope="")]
        command = (SIGNET, "serve", *flags, "--oauth-issuer", issuer.issuer, "--log-dir", str(tmp_path))
        with serving_command(*command) as server:
            issuer.trouble = "html"
            replies = [call(server, tokens[0])]
            issuer.trouble = ""
            while call(server, tokens[0]).status == 503:
                time.sleep(0.1)
            replies += [call(server, token, path) for token in tokens for path in DOORS]
            log = server.stderr()
        written = log + "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    answers = "".join(f"{reply.headers}{reply.body.decode()}" for reply in replies)

    assert {reply.status for reply in replies} == {200, 401, 403, 503}
    assert "plantuml.encode" in written
    parts = [text for token in tokens for text in token.split(".") if len(text) > 20]
    assert [text for text in parts if text in written or text in answers] == []
    assert re.search(r"request\.refused", log)
