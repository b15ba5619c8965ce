"""Failures of the network over real sockets: each is a sentence that names the address and what to check."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from boj_harness import CODE, SPOT, BojHarness, failure, serving_boj
from certificates import write_certificate
from door_calls import rpc
from oj_harness import SAMPLE, OjHarness, serving_oj
from processes import BIN, PATIENCE_S, SIGNET, clean_env, piping
from signet.kernel.errors import Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest
from signet.settings.catalogue import find_toolset
from signet.toolsets.oj import OjSettings
from signet.upstream.http import HttpUpstream
from upstream_harness import DIRECT, listening

ASK = {"source": SAMPLE[0], "id": SAMPLE[1]}
SETTING = "X_BASE_URL"
CLASS_NAME = re.compile(r"[A-Za-z]*(Error|Exception|Errno)\b|aiohttp|ssl\.c")
"""What only a library would say."""
RUNNING = f"check that the service is running, and {SETTING}"


def sentence(url: str, *, proxied: bool = False, timeout_s: float = PATIENCE_S) -> str:
    """Return what is told of a request that fails, before or after its response began."""

    async def ask() -> str:
        spec = UpstreamSpec(base_url=url, address_setting=SETTING, timeout_s=timeout_s)
        client = HttpUpstream(spec, proxied=proxied)
        try:
            return (await client.send(UpstreamRequest("/path?secret=1"))).broken
        except Fault as fault:
            return fault.message.removeprefix("request failed: ")
        finally:
            await client.close()

    told = asyncio.run(ask())
    assert not CLASS_NAME.search(told), told
    assert "secret" not in told
    return told


@contextmanager
def accepting(converse: Callable[[socket.socket], None]) -> Iterator[int]:
    """Listen on a free port of loopback, and deal with each connection in turn, until the block ends."""

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.settimeout(PATIENCE_S)
                with suppress(OSError), connection:
                    converse(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def peer(reply: bytes) -> AbstractContextManager[int]:
    """Read what comes, send these bytes, whatever was asked, and hang up."""

    def converse(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(reply)

    return accepting(converse)


def tls_server(folder: Path) -> AbstractContextManager[int]:
    """Offer TLS with a certificate for localhost that nobody has signed but its owner."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*write_certificate(folder, "localhost"))
    return accepting(lambda connection: context.wrap_socket(connection, server_side=True).close())


@pytest.fixture
def closed() -> Iterator[str]:
    """A port that is taken and on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_closed_port_is_named(closed: str) -> None:
    assert sentence(closed) == f"nothing answers at {closed} (connection refused): {RUNNING}"


def test_a_host_that_no_name_server_knows_is_named() -> None:
    assert sentence("http://judge.invalid:8080") == (
        "the host name of http://judge.invalid:8080 is not known: "
        f"check how it is spelled in {SETTING}, and the network"
    )


def test_a_certificate_that_nobody_vouches_for_is_named(tmp_path: Path) -> None:
    with tls_server(tmp_path) as port:
        told = sentence(f"https://localhost:{port}")

    assert told.startswith(f"the certificate of https://localhost:{port} is not trusted (self")
    assert told.endswith("): check X_BASE_URL, or name its authority in SSL_CERT_FILE")


def test_a_certificate_of_another_host_is_named(tmp_path: Path) -> None:
    with tls_server(tmp_path) as port:
        url, trusted = f"https://127.0.0.1:{port}", str(tmp_path / "cert.pem")
        with serving_oj(url, env={"SSL_CERT_FILE": trusted}) as pipe:
            answer = pipe.ask(rpc("tools/call", {"name": "get_problem", "arguments": ASK}))

    assert answer["error"]["message"] == (
        f"request failed: the certificate of {url} is not trusted (IP address mismatch, certificate is not valid for "
        "'127.0.0.1'): check the backend's base URL (--base-url), or name its authority in SSL_CERT_FILE"
    )


def test_plain_http_behind_https_is_told() -> None:
    with peer(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        told = sentence(f"https://127.0.0.1:{port}")

    assert told == f"https://127.0.0.1:{port} does not speak TLS: check whether {SETTING} should begin with http://"


def test_tls_behind_plain_http_is_told() -> None:
    """A server that expects TLS answers with an alert."""
    with peer(b"\x15\x03\x01\x00\x02\x02\x46") as port:
        told = sentence(f"http://127.0.0.1:{port}")

    assert told == (
        f"http://127.0.0.1:{port} answers with something that is not HTTP: check {SETTING}, and whether it should "
        "begin with https://"
    )


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_peer_that_hangs_up_at_once_is_named(scheme: str) -> None:
    with peer(b"") as port:
        told = sentence(f"{scheme}://127.0.0.1:{port}")

    assert told.startswith(f"{scheme}://127.0.0.1:{port} ended the connection without an answer")
    assert told.endswith(f": check that the service is well, and {SETTING}")


def test_a_peer_that_hangs_up_in_the_middle_is_named() -> None:
    with peer(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{") as port:
        told = sentence(f"http://127.0.0.1:{port}")

    assert told == (
        f"http://127.0.0.1:{port} ended the connection in the middle of its answer: try again, and check the service "
        "if it stays so"
    )


def test_a_peer_that_never_answers_is_named(judge: OjHarness) -> None:
    judge.order("hang")

    assert sentence(judge.url, timeout_s=0.2) == f"no answer within 0.2 s from {judge.url}: {RUNNING}"


def test_the_address_that_a_redirect_led_to_is_named(judge: OjHarness, closed: str) -> None:
    judge.order("redirect_to", location=f"{closed}/elsewhere")

    assert sentence(judge.url).startswith(f"nothing answers at {closed} (connection refused)")


@pytest.mark.parametrize("location", ["ftp://example.com/x", "http://["])
def test_a_redirect_to_nowhere_names_the_address_that_sent_it(judge: OjHarness, location: str) -> None:
    judge.order("redirect_to", location=location)

    assert sentence(judge.url) == f"{judge.url} redirects to an address that cannot be used: check {SETTING}"


def test_a_proxy_that_is_not_there_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    monkeypatch.setenv("http_proxy", closed.replace("http://", "http://user:secret@"))
    monkeypatch.setenv("no_proxy", "")

    assert sentence("http://judge.invalid", proxied=True) == (
        "the proxy on the way to http://judge.invalid cannot be reached (connection refused): check HTTP_PROXY, "
        "HTTPS_PROXY, ALL_PROXY and NO_PROXY"
    )


@pytest.mark.parametrize(
    "value",
    [
        *("http://[::1", "http://user:secret@[::1", "http://:8080", "socks5://user:secret@127.0.0.1:1080"),
        *("http://127.0.0.1:99999", "http://"),
    ],
)
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_variable_that_is_no_url_of_a_proxy_is_named(
    monkeypatch: pytest.MonkeyPatch, judge: OjHarness, variable: str, value: str
) -> None:
    without_proxies(monkeypatch)
    monkeypatch.setenv(variable, value)

    told = sentence(judge.url, proxied=True)

    assert told == f"{variable} is not the URL of an HTTP proxy: write http://HOST:PORT, or remove it"


@pytest.mark.parametrize(("variable", "scheme"), [("HTTP_PROXY", "http"), ("https_proxy", "https")])
@pytest.mark.parametrize("value", ["garbage.invalid", "http://user:secret@garbage.invalid:3128"])
def test_a_proxy_whose_host_is_not_known_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, scheme: str, value: str
) -> None:
    without_proxies(monkeypatch)
    monkeypatch.setenv(variable, value)

    told = sentence(f"{scheme}://127.0.0.1:9", proxied=True)

    assert told == f"the host name of the proxy in {variable} is not known: check how it is spelled"


@pytest.mark.parametrize("value", ["", " "])
def test_a_proxy_variable_that_is_set_to_nothing_is_not_set(
    monkeypatch: pytest.MonkeyPatch, closed: str, value: str
) -> None:
    without_proxies(monkeypatch)
    monkeypatch.setenv("http_proxy", value)
    monkeypatch.setenv("ALL_PROXY", value)

    assert sentence(closed, proxied=True).startswith(f"nothing answers at {closed} ")


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all variables that name a proxy, or the hosts that need none."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def test_a_wrong_proxy_variable_is_told_by_the_drop_in_server(judge: OjHarness) -> None:
    environ = {name: "" for name in os.environ if name.lower().endswith("_proxy")}
    with piping(str(BIN / "oj-mcp-rs"), "--base-url", judge.url, env={**environ, "HTTP_PROXY": "http://[::1"}) as pipe:
        answer = pipe.ask(rpc("tools/call", {"name": "get_problem", "arguments": ASK}))

    assert "HTTP_PROXY is not the URL of an HTTP proxy" in answer["error"]["message"]
    assert judge.url not in answer["error"]["message"]


def test_a_proxy_that_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with peer(b"HTTP/1.1 403 Forbidden\r\n\r\n") as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "")
        told = sentence("https://judge.invalid", proxied=True)

    assert told == (
        "the proxy on the way to https://judge.invalid refuses to lead there (status 403): check HTTP_PROXY, "
        "HTTPS_PROXY, ALL_PROXY and NO_PROXY"
    )


# --- where people meet it


@pytest.mark.spec("1.S4.1.refused")
def test_the_online_judge_keeps_its_prefix(closed: str) -> None:
    with serving_oj(closed) as pipe:
        answer = pipe.ask(rpc("tools/call", {"name": "get_problem", "arguments": ASK}))

    assert answer["error"]["message"] == (
        f"request failed: nothing answers at {closed} (connection refused): check that the service is running, and the "
        "backend's base URL (--base-url)"
    )


def test_signet_names_the_variable_of_the_online_judge(closed: str) -> None:
    spec = find_toolset("oj").upstream

    assert spec is not None
    assert spec(OjSettings(base_url=closed)).address_setting == "the backend's base URL (OJ_BASE_URL)"


@pytest.mark.spec("1.S2.1.redirects-bytes")
def test_bytes_in_a_redirect_that_are_not_utf8_are_asked_for_and_not_left_out() -> None:
    moved = b"HTTP/1.1 301 Moved\r\nlocation: /caf\xe9\xc3\xa9\r\ncontent-length: 0\r\n\r\n"

    with listening(moved) as backend, serving_oj(backend.url) as pipe:
        pipe.ask(rpc("tools/call", {"name": "get_problem", "arguments": ASK}))

    targets = re.findall(rb"GET (\S+) ", backend.received)
    assert targets[1] == b"/caf%E9%C3%A9"


def test_the_bank_of_japan_names_its_variable(closed: str) -> None:
    with serving_boj(closed, "--retry-max", "0") as pipe:
        error = failure(pipe, CODE, **SPOT)

    assert error["message"] == (
        f"The Bank of Japan could not be asked: request failed: nothing answers at {closed} (connection refused): "
        "check that the service is running, and BOJ_BASE_URL"
    )


@pytest.mark.parametrize(
    ("status", "trouble"),
    [(200, "The answer of the Bank of Japan cannot be read"), (502, "The Bank of Japan could not be asked")],
)
def test_a_web_page_of_the_banks_address_is_told_without_its_html(bank: BojHarness, status: int, trouble: str) -> None:
    """Below 500 a page is an answer that cannot be read, and the Bank is not asked again."""
    bank.order("html", status=status)

    with serving_boj(bank.url, "--retry-max", "0") as pipe:
        error = failure(pipe, CODE, **SPOT)

    assert error["message"] == (
        f"{trouble}: {bank.url} answered with a web page (status {status}, text/html) and "
        "not with data: check BOJ_BASE_URL, and whether a proxy or a sign-in page stands in between"
    )


def test_a_download_says_the_same(closed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [SIGNET, "boj", "fetch", "FM08", "--codes", "FXERD01", "--out", str(tmp_path / "rates.csv")],
        env=clean_env({**DIRECT, "BOJ_BASE_URL": closed, "BOJ_RETRY_MAX": "0"}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 1
    assert f"nothing answers at {closed} (connection refused): check that the service is running, and" in done.stderr
    assert not CLASS_NAME.search(done.stderr)
