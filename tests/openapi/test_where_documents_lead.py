"""Where a document may lead: secrets go to one origin, and a document from a public address to public addresses."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE_S, ROOT, clean_env, run
from signet.openapi.plan import DocumentPlan, OperationPlan, ServerPlan
from signet.openapi.servers import elsewhere_note, origin_of, service_of

from .documents import document, echo, made, operation, written
from .every_operation import call_all

SECRETS = {
    "TEST_TOKEN": "s3cret-token",
    "TEST_API_KEY": "s3cret-key",
    "TEST_PASSWORD": "s3cret-word",
    "TEST_USERNAME": "me",
}
NAMES = str(ROOT / "tests/support/public_loopback_server.py")


@dataclass
class Origin:
    """A server on one address of loopback; it keeps the paths that it was asked for."""

    port: int = 0
    replies: dict[str, Any] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)


@contextlib.contextmanager
def serving_at(address: str, port: int = 0) -> Iterator[Origin]:
    """Answer each path with JSON, or with a redirect to a text, until the block ends."""
    origin = Origin()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            origin.paths.append(self.path)
            reply = origin.replies.get(self.path, {"asked": self.path})
            is_moved = isinstance(reply, str)
            body = b"" if is_moved else json.dumps(reply).encode()
            self.send_response(302 if is_moved else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if is_moved:
                self.send_header("Location", reply)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer((address, port), Handler) as server:
        origin.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield origin
        finally:
            server.shutdown()
            thread.join()


# --- secrets

SCHEMES = {
    "token": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "key"},
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("place", ["path", "operation"])
def test_a_server_of_another_origin_gets_no_secret(tmp_path: Path, scheme: str, place: str) -> None:
    with echo() as service, echo() as other:
        servers = {"servers": [{"url": f"{other.url}/v2"}]}
        own = operation(operationId="own", **(servers if place == "operation" else {}))
        paths = {
            "/x": {"get": operation(operationId="send")},
            "/y": {"get": own, **(servers if place == "path" else {})},
        }
        value = document(paths, servers=[{"url": service.url}], security=[{scheme: []}],
                         components={"securitySchemes": {scheme: SCHEMES[scheme]}})  # fmt: skip
        notes: list[str] = []

        outcomes = call_all(made(tmp_path, value, notes=notes), [("send", {}), ("own", {})], **SECRETS)

        assert [one.fault for one in outcomes] == [None, None]
        (with_secret,), (without,) = service.received, other.received
    sent = [f"{one.target} {sorted(dict(one.headers).items())}" for one in (with_secret, without)]
    assert ["s3cret" in one or "bWU6czNjcmV0LXdvcmQ=" in one for one in sent] == [True, False]
    assert notes[-1].endswith(
        f"test.json: own states another server ({other.url}) and is called there without secrets: "
        f"secrets go to {service.url} alone, unless TEST_BASE_URL is set"
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_redirect_to_another_origin_carries_no_secret(tmp_path: Path, scheme: str) -> None:
    with echo() as service, echo() as other:
        one = operation(operationId="send", security=[{scheme: []}])
        value = document({"/x": {"get": one}}, servers=[{"url": service.url}],
                         components={"securitySchemes": {scheme: SCHEMES[scheme]}})  # fmt: skip
        service.order("redirect_to", location=f"{other.url}/moved", times=1)

        (outcome,) = call_all(made(tmp_path, value), [("send", {})], **SECRETS)

        (moved,) = other.received
    sent = f"{moved.target} {sorted(dict(moved.headers).items())}"
    assert outcome.fault is None
    assert ("s3cret" in sent, "bWU6czNjcmV0LXdvcmQ=" in sent) == (False, False)


def test_the_address_of_the_operator_gets_the_secrets_of_all_operations(tmp_path: Path) -> None:
    value = document({"/x": {"get": operation(operationId="own", servers=[{"url": "https://other.example"}])}})
    notes: list[str] = []
    with echo() as service:
        toolset = made(tmp_path, value, notes=notes, environ={"TEST_BASE_URL": service.url})
        call_all(toolset, [("own", {})], TEST_BASE_URL=service.url, TEST_TOKEN="s3cret-token")
        (request,) = service.received

    assert dict(request.headers)["authorization"] == "Bearer s3cret-token"
    assert notes == []


def test_an_operation_of_another_origin_that_asks_for_a_secret_says_why_it_got_none(tmp_path: Path) -> None:
    value = document({"/x": {"get": operation(operationId="own", servers=[{"url": "replaced"}])}})
    with echo() as other:
        value["paths"]["/x"]["get"]["servers"] = [{"url": other.url}]
        value["servers"] = [{"url": "https://pets.example"}]
        other.order("status", status=401)
        (outcome,) = call_all(made(tmp_path, value), [("own", {})], **SECRETS)

    assert outcome.fault is not None
    assert outcome.fault.message.endswith(
        "(this operation states a server of its own, which gets no secrets unless TEST_BASE_URL is set)"
    )


def test_a_command_tells_which_operations_get_no_secrets(tmp_path: Path) -> None:
    """Also when the plan of the document was kept."""
    with echo() as other:
        own = [{"url": other.url}]
        paths = {f"/{n}": {"get": operation(operationId=f"op{n}", servers=own)} for n in range(7)}
        value = document(paths, servers=[{"url": "https://pets.example"}])
        path = written(tmp_path, value, "pets.json")
        env = {"PETS_TOKEN": "s3cret-token", "XDG_CACHE_HOME": str(tmp_path / "cache"), "SIGNET_JOURNAL": "no"}
        done = [run("call", "--toolsets", f"openapi:{path}", "op3", env=env) for _ in range(2)]
        received = other.received

    assert [one.returncode for one in done] == [0, 0]
    assert ["authorization" in dict(one.headers) for one in received] == [False, False]
    told = f"op0, op1, op2, op3, op4 and 2 more state another server ({other.url}) and are called there without secrets"
    assert [one.stderr.decode().count(told) for one in done] == [1, 1]


@pytest.mark.parametrize(
    ("general", "own", "is_elsewhere"),
    [
        ("https://a.example/v1", "https://a.example/v2", False),
        ("https://a.example", "https://A.Example:443/", False),
        ("https://a.example", "http://a.example", True),
        ("https://a.example", "https://a.example:8443", True),
        ("https://a.example", "https://a.example.", True),
        ("https://a.example", "https://a.example@b.example", True),
        ("https://a.example", "https://a.example\\@b.example", True),
        ("https://a.example", "https://b.example/https://a.example", True),
        ("https://a.example", "//b.example", True),
        ("https://a.example", "/v2", True),
        ("/", "https://b.example", True),
        ("https://{x}", "https://{x}", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(general: str, own: str, is_elsewhere: bool) -> None:
    one = OperationPlan(name="t", slug="t", title="", description="", method="GET", path="/",
                        servers=(ServerPlan(own, "/file.json"),))  # fmt: skip
    plan = DocumentPlan(title="", version="", servers=(ServerPlan(general, "/file.json"),), schemes={},
                        operations=(one,), notes=(), sources={})  # fmt: skip

    assert service_of(plan, one)[1] is is_elsewhere


def test_a_relative_server_is_of_the_origin_of_its_document() -> None:
    one = OperationPlan(name="t", slug="t", title="", description="", method="GET", path="/",
                        servers=(ServerPlan("//b.example/v2", "https://a.example/api.json"),))  # fmt: skip
    home = ServerPlan("/v1", "https://a.example/api.json")
    plan = DocumentPlan(title="", version="", servers=(home,), schemes={}, operations=(one,), notes=(), sources={})

    assert service_of(plan, one) == ("https://b.example/v2", True)
    assert elsewhere_note(plan, "T_BASE_URL") == (
        "t states another server (https://b.example) and is called there without secrets: "
        "secrets go to https://a.example alone, unless T_BASE_URL is set"
    )
    assert origin_of("ftp://a.example") == ""


# --- addresses


def called(names: dict[str, list[str]], url: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Call the tool of a document in a process for which 127.0.0.1 is a public address."""
    words = [sys.executable, NAMES, json.dumps(names), "call", "--toolsets", f"openapi:{url}", "ask", "--json", "{}"]
    env = clean_env(
        {"XDG_CACHE_HOME": str(folder), "SIGNET_JOURNAL": "no", "NO_PROXY": "*", "no_proxy": "*", **environ}
    )
    return subprocess.run(words, capture_output=True, env=env, timeout=PATIENCE_S, check=False)


def pets(server: str, **more: Any) -> dict[str, Any]:
    return document({"/pets": {"get": operation(operationId="ask", **more)}}, servers=[{"url": server}])


NOT_ASKED = "is not asked: it is 127.0.0.2 (loopback), and the document came from a public address"


@pytest.mark.parametrize("way", ["general", "own", "rebinding"])
def test_a_document_from_a_public_address_reaches_no_internal_one_by_name(tmp_path: Path, way: str) -> None:
    names = {"docs.example": ["127.0.0.1", "127.0.0.2"], "inside.example": ["127.0.0.2"]}
    with serving_at("127.0.0.1") as docs, serving_at("127.0.0.2", docs.port) as inside:
        here = f"http://docs.example:{docs.port}"
        there = here if way == "rebinding" else f"http://inside.example:{docs.port}"
        own = {"servers": [{"url": there}]} if way == "own" else {}
        docs.replies["/pets.json"] = pets(here if way == "own" else there, **own)

        done = called(names, f"{here}/pets.json", tmp_path)

        assert (docs.paths, inside.paths) == (["/pets.json"], [])
    host = there.removeprefix("http://").partition(":")[0]
    assert done.returncode != 0
    assert f"{host} {NOT_ASKED}: set PETS_BASE_URL if you mean this address" in done.stderr.decode()


def test_a_reference_of_a_public_document_is_not_read_from_an_internal_address(tmp_path: Path) -> None:
    """The name has another address at the second lookup."""
    names = {"docs.example": ["127.0.0.1", "127.0.0.2", "127.0.0.1"]}
    with serving_at("127.0.0.1") as docs, serving_at("127.0.0.2", docs.port) as inside:
        here = f"http://docs.example:{docs.port}"
        inside.replies["/secret.json"] = {"name": "q", "in": "query", "schema": {"const": "internal"}}
        docs.replies["/pets.json"] = pets(here, parameters=[{"$ref": "/secret.json"}])

        done = called(names, f"{here}/pets.json", tmp_path)

        assert (docs.paths, inside.paths) == (["/pets.json", "/pets"], [])
    assert done.returncode == 0, done.stderr
    assert f"docs.example {NOT_ASKED}" in done.stderr.decode()


@pytest.mark.parametrize("what", ["document", "service"])
def test_a_redirect_does_not_lead_a_public_document_inside(tmp_path: Path, what: str) -> None:
    names = {"docs.example": ["127.0.0.1"], "inside.example": ["127.0.0.2"]}
    with serving_at("127.0.0.1") as docs, serving_at("127.0.0.2") as inside:
        here, there = f"http://docs.example:{docs.port}", f"http://inside.example:{inside.port}/pets.json"
        docs.replies["/pets.json"] = there if what == "document" else pets(here)
        docs.replies["/pets"] = there

        done = called(names, f"{here}/pets.json", tmp_path)

        assert inside.paths == []
    assert done.returncode != 0
    assert "the redirect to inside.example is refused" in done.stderr.decode()


def test_the_operator_may_send_the_calls_of_a_public_document_inside(tmp_path: Path) -> None:
    names = {"docs.example": ["127.0.0.1"], "inside.example": ["127.0.0.2"]}
    with serving_at("127.0.0.1") as docs, serving_at("127.0.0.2") as inside:
        docs.replies["/pets.json"] = pets("https://pets.example")
        address = f"http://inside.example:{inside.port}/v1"

        done = called(names, f"http://docs.example:{docs.port}/pets.json", tmp_path, PETS_BASE_URL=address)

        assert inside.paths == ["/v1/pets"]
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", ["name", "address", "file"])
def test_a_document_from_an_internal_address_or_a_file_goes_on_leading_inside(tmp_path: Path, source: str) -> None:
    names = {"inside.example": ["127.0.0.2"]}
    with serving_at("127.0.0.2") as inside:
        there = f"http://inside.example:{inside.port}"
        inside.replies["/pets.json"] = pets(there)
        where = {"name": f"{there}/pets.json", "address": f"http://127.0.0.2:{inside.port}/pets.json"}
        where["file"] = written(tmp_path, pets(there), "pets.json")

        done = called(names, where[source], tmp_path)

        assert inside.paths[-1] == "/pets"
    assert done.returncode == 0, done.stderr


def test_a_document_from_behind_a_proxy_counts_as_public(tmp_path: Path) -> None:
    with serving_at("127.0.0.2") as inside, serving_at("127.0.0.1") as proxy:
        url = "http://docs.example/pets.json"
        proxy.replies[url] = pets(f"http://inside.example:{inside.port}")
        bypass = {"NO_PROXY": "inside.example", "no_proxy": "inside.example"}
        environ = {"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}", "http_proxy": f"http://127.0.0.1:{proxy.port}"}

        done = called({"127.0.0.1": ["127.0.0.1"], "inside.example": ["127.0.0.2"]}, url, tmp_path, **environ, **bypass)

        assert (proxy.paths, inside.paths) == ([url], [])
    assert f"inside.example {NOT_ASKED}" in done.stderr.decode()
