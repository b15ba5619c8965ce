"""An issuer that is away, hangs or lies: nobody is let in for it, and callers whose keys are known do not notice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from authorization_server import AuthorizationServer, authorization_server, new_key
from door_calls import rpc
from processes import Reply, Server, free_port, serving
from signet.operations.access.issuer import Issuer, metadata_urls

CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})
LIES = {
    "error": "answers with the status 500",
    "html": "is no JSON object",
    "huge": "has more than 262144 bytes",
    "redirect": "leads to another server",
    "other_issuer": "is about another issuer",
    "no_keys": "holds no keys",
}


@pytest.fixture
def issuer() -> Iterator[AuthorizationServer]:
    with authorization_server() as running:
        yield running


def call(server: Server, token: str) -> Reply:
    return server.post("/mcp", CALL, {"authorization": f"Bearer {token}"})


def protected(url: str) -> tuple[str, ...]:
    return "--toolsets", "plantuml", "--oauth-issuer", url, "--public-url", "https://tools.example"


@pytest.mark.parametrize("trouble", [*LIES, "hang"])
def test_an_issuer_in_trouble_gives_no_keys(issuer: AuthorizationServer, trouble: str) -> None:
    issuer.trouble = trouble

    with pytest.raises((OSError, ValueError)) as caught:
        asyncio.run(Issuer(issuer.issuer).fetch_keys())

    assert LIES.get(trouble, "no answer within 5 s") in str(caught.value)


@pytest.mark.parametrize("trouble", ["html", "other_issuer", "hang"])
def test_a_token_that_cannot_be_decided_is_answered_with_the_time_to_come_again(
    issuer: AuthorizationServer, trouble: str
) -> None:
    issuer.trouble = trouble
    with serving(*protected(issuer.issuer)) as server:
        token = issuer.token()
        undecided, forged = call(server, token), call(server, issuer.token(new_key("RS256", issuer.key.kid)))
        expired = call(server, issuer.token(exp=1))
        wait_s = int(undecided.headers["retry-after"])
        issuer.trouble = ""
        issuer.released.set()
        time.sleep(wait_s)
        while (later := call(server, token)).status == 503:
            time.sleep(int(later.headers["retry-after"]))
        server.wait_for("cannot be fetched")
        said = server.stderr()

    assert (undecided.status, forged.status, expired.status, later.status) == (503, 503, 401, 200)
    assert 1 <= wait_s <= 2
    assert "www-authenticate" not in undecided.headers
    assert said.count("cannot be fetched") == 1
    assert LIES.get(trouble, "no answer within 5 s") in said


@pytest.mark.parametrize("trouble", ["error", "other_issuer"])
def test_known_keys_stay_good_while_the_issuer_is_in_trouble(issuer: AuthorizationServer, trouble: str) -> None:
    with serving(*protected(issuer.issuer)) as server:
        first = call(server, issuer.token())
        issuer.trouble = trouble
        unknown = call(server, issuer.token(new_key()))
        others = [call(server, issuer.token()).status for _ in range(5)]
        forged = call(server, issuer.token(new_key("RS256", issuer.key.kid)))

    assert (first.status, unknown.status, forged.status) == (200, 503, 401)
    assert others == [200] * 5


def test_a_server_starts_before_its_issuer() -> None:
    port = free_port()
    with serving(*protected(f"http://127.0.0.1:{port}")) as server:
        with authorization_server() as elsewhere:
            early = call(server, elsewhere.token(iss=f"http://127.0.0.1:{port}"))
        with authorization_server(port=port) as issuer:
            token = issuer.token()
            while (late := call(server, token)).status == 503:
                time.sleep(int(late.headers["retry-after"]))

    assert (early.status, late.status) == (503, 200)


def test_a_hanging_issuer_does_not_delay_those_whose_keys_are_known(issuer: AuthorizationServer) -> None:
    with serving(*protected(issuer.issuer)) as server, server.connect() as waiting:
        token = issuer.token()
        assert call(server, token).status == 200
        issuer.trouble = "hang"
        asked = sum(issuer.asked.values())
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {issuer.token(new_key())}\r\n"
        waiting.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        while sum(issuer.asked.values()) == asked:
            time.sleep(0.01)
        others = [call(server, token).status for _ in range(20)]
        answer = waiting.recv(100)

    assert others == [200] * 20
    assert answer.startswith(b"HTTP/1.1 503")


def test_an_issuer_elsewhere_cannot_send_us_to_this_machine() -> None:
    metadata = {"issuer": "https://auth.example", "jwks_uri": "http://127.0.0.1:9/jwks"}

    with pytest.raises(ValueError, match="names a jwks_uri without TLS"):
        Issuer("https://auth.example")._keys_place(metadata, "its metadata")


@pytest.mark.parametrize("place", ["file:///etc/passwd", "http://10.0.0.1/jwks", "ftp://auth.example/", "", None, 7])
def test_keys_are_fetched_with_tls_or_from_this_machine(place: object) -> None:
    metadata = {"issuer": "http://localhost:1", "jwks_uri": place}

    with pytest.raises(ValueError, match="names no jwks_uri that is an https URL"):
        Issuer("http://localhost:1")._keys_place(metadata, "its metadata")


def test_the_metadata_of_an_issuer_is_looked_for_where_the_standards_put_it() -> None:
    assert metadata_urls("https://auth.example/") == [
        "https://auth.example/.well-known/oauth-authorization-server",
        "https://auth.example/.well-known/openid-configuration",
    ]
    assert metadata_urls("https://auth.example/realms/one") == [
        "https://auth.example/.well-known/oauth-authorization-server/realms/one",
        "https://auth.example/.well-known/openid-configuration/realms/one",
        "https://auth.example/realms/one/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize("place", ["/.well-known/openid-configuration/one", "/one/.well-known/openid-configuration"])
def test_the_keys_of_an_issuer_that_has_the_metadata_of_openid_alone_are_found(place: str) -> None:
    with authorization_server(path="/one") as issuer:
        issuer.metadata_path = place
        keys = asyncio.run(Issuer(issuer.issuer).fetch_keys())

        assert keys == [issuer.key.jwk()]
