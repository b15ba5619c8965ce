"""Where redirects may lead: the kinds of addresses, and requests over real sockets that are never sent.

The tests stay on loopback: 127.0.0.1 is declared public, 127.0.0.2 keeps its kind and plays the internal network.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from boj_harness import CALL_RATE, METADATA, request, serving_boj
from door_calls import rpc
from oj_harness import SAMPLE, OjHarness, serving_oj
from processes import Pipe, free_port
from signet.kernel.errors import Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest
from signet.upstream.egress import Egress, address_kind, literal_address
from signet.upstream.http import HttpUpstream
from upstream_harness import http_answer, listening

TARGET = f"/api/v1/problems/{SAMPLE[0]}/{SAMPLE[1]}"
PROBLEM_CALL = rpc("tools/call", {"name": "get_problem", "arguments": {"source": SAMPLE[0], "id": SAMPLE[1]}})
PROXY_VARIABLES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


def redirect_to(location: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n".encode()


# --- addresses


@pytest.mark.parametrize(
    ("kind", "addresses"),
    [
        ("public", "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0"),
        ("public", "169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 223.255.255.255"),
        ("public", "2000::1 2606:4700::1111 2a00:1450::1 ::ffff:8.8.8.8 2002:808:808::1 64:ff9b::8.8.8.8"),
        ("unspecified", "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0 64:ff9b::0.0.0.0"),
        ("loopback", "127.0.0.1 127.255.255.254 ::1 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1 ::FFFF:7F00:1"),
        ("loopback", "64:ff9b::127.0.0.1 2002:7f00:1::1"),
        ("link-local", "169.254.0.0 169.254.169.254 fe80::1 fe80::1%eth0 febf::1 ::ffff:169.254.169.254"),
        ("link-local", "64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::"),
        ("private", "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.1 fc00::1 fdff::1 fec0::1"),
        ("private", "::ffff:10.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::8.8.8.8 2002:c0a8:1::1"),
        ("shared", "100.64.0.0 100.127.255.255 ::ffff:100.64.0.1"),
        ("multicast", "224.0.0.1 239.255.255.255 ff02::1"),
        ("reserved", "192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 240.0.0.1 255.255.255.255"),
        ("reserved", "2001::1 2001:db8::1 3fff::1 ::127.0.0.1 ::ffff:0:127.0.0.1 100::1 4000::1"),
        ("reserved", "localhost 127.1 2130706433 1.2.3.4.5 judge.example"),
    ],
)
def test_an_address_has_a_kind(kind: str, addresses: str) -> None:
    assert {address: address_kind(address) for address in addresses.split()} == dict.fromkeys(addresses.split(), kind)
    assert address_kind("") == "reserved"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0X7F000001", "127.0.0.1"),
        ("0177.0.0.01", "127.0.0.1"),
        ("127%2e0.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("localhost", "127.0.0.1"),
        ("LocalHost.", "127.0.0.1"),
        ("a.localhost", "127.0.0.1"),
        ("::1", "::1"),
        ("fe80::1%25eth0", "fe80::1%eth0"),
        ("judge.example", ""),
        ("notlocalhost", ""),
        ("127.0.0.1.example", ""),
        ("a%00b", ""),
        ("", ""),
    ],
)
def test_an_address_is_recognised_in_every_notation(host: str, address: str) -> None:
    assert literal_address(host) == address


# --- on the wire


def kind_of(address: str) -> str:
    return "public" if address == "127.0.0.1" else address_kind(address)


class Names(AbstractResolver):
    """A resolver whose answers are given: each lookup of a name takes its next answer, and the last answer stays."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): answer for name, answer in answers.items()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        answers = self.answers[host.rstrip(".")]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in addresses
        ]

    async def close(self) -> None:
        """Release nothing."""


class Inside:
    """A server on the internal network that counts its connections and keeps the first line of each request."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.lines: list[bytes] = []
        self.reply = http_answer({})

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                self.lines.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
                writer.write(self.reply)

    async def answers_a_bystander(self) -> bool:
        """Connect as somebody else; connections are accepted in order, so that none made before is left uncounted."""
        before = self.connections
        reader, writer = await asyncio.open_connection("127.0.0.2", self.port)
        with contextlib.closing(writer):
            writer.write(b"GET /bystander HTTP/1.1\r\n\r\n")
            answer = await reader.readuntil(b"\r\n")
        self.lines.remove(b"GET /bystander HTTP/1.1")
        self.connections -= 1
        return answer == b"HTTP/1.1 200 OK\r\n" and self.connections == before


@contextlib.asynccontextmanager
async def internal_network(port: int = 0) -> AsyncIterator[Inside]:
    inside = Inside()
    server = await asyncio.start_server(inside.converse, "127.0.0.2", port)
    inside.port = server.sockets[0].getsockname()[1]
    try:
        yield inside
    finally:
        server.close()


@contextlib.asynccontextmanager
async def client_of(origin: str, **names: list[list[str]]) -> AsyncIterator[HttpUpstream]:
    client = HttpUpstream(UpstreamSpec(base_url=origin), egress=Egress(kind_of, Names(**names)))
    try:
        yield client
    finally:
        await client.close()


async def outcome(client: HttpUpstream, target: str = TARGET) -> str | int:
    """Send a request and return its status, or the sentence of its fault."""
    try:
        return (await client.send(UpstreamRequest(target))).status
    except Fault as fault:
        return str(fault)


@pytest.mark.spec("1.S2.1.redirects-inwards")
@pytest.mark.parametrize(
    ("host", "shown", "reason"),
    [
        ("127.0.0.2", "127.0.0.2", "127.0.0.2 (loopback)"),
        ("127.0.0.2.", "127.0.0.2.", "127.0.0.2 (loopback)"),
        ("127.2", "127.2", "127.0.0.2 (loopback)"),
        ("2130706434", "2130706434", "127.0.0.2 (loopback)"),
        ("0x7F.2", "0x7f.2", "127.0.0.2 (loopback)"),
        ("0177.0.0.2", "0177.0.0.2", "127.0.0.2 (loopback)"),
        ("[::ffff:127.0.0.2]", "::ffff:7f00:2", "::ffff:7f00:2 (loopback)"),
        ("user:secret@127.0.0.2", "127.0.0.2", "127.0.0.2 (loopback)"),
        ("inside.example", "inside.example", "127.0.0.2 (loopback)"),
        ("INSIDE.example.", "inside.example.", "127.0.0.2 (loopback)"),
    ],
)
def test_a_redirect_from_a_public_address_never_connects_to_an_internal_one(
    judge: OjHarness, host: str, shown: str, reason: str
) -> None:
    async def run() -> None:
        async with internal_network() as inside, client_of(judge.url, inside_example=[["127.0.0.2"]]) as client:
            judge.order("redirect_to", location=f"HTTP://{host}:{inside.port}/secret", times=1)

            assert await outcome(client) == (
                f"request failed: the redirect to {shown} is refused: it leads from a public address to {reason}"
            )
            assert await inside.answers_a_bystander()
            assert (inside.connections, inside.lines) == (0, [])
            assert await outcome(client) == 200

    asyncio.run(run())

    assert judge.targets() == [TARGET] * 2


def test_a_name_that_changes_its_address_is_checked_when_it_is_connected_to(judge: OjHarness) -> None:
    async def run() -> None:
        port = judge.url.rpartition(":")[2]
        lookups = [["127.0.0.1"], ["127.0.0.2"]]
        async with (
            internal_network() as inside,
            client_of(f"http://judge.example:{port}", judge_example=lookups) as client,
        ):
            judge.order("redirect_to", location=f"http://judge.example:{inside.port}/secret", times=1)

            assert await outcome(client) == (
                "request failed: the redirect to judge.example is refused: "
                "it leads from a public address to 127.0.0.2 (loopback)"
            )
            assert await inside.answers_a_bystander()
            assert (inside.connections, inside.lines) == (0, [])

    asyncio.run(run())


def test_of_the_addresses_of_a_name_only_the_public_ones_are_tried(judge: OjHarness) -> None:
    async def run() -> None:
        both = ["127.0.0.2", "127.0.0.1"]
        async with internal_network(free_port()) as inside, client_of(judge.url, both_example=[both]) as client:
            judge.order("redirect_to", location=f"http://both.example:{inside.port}/secret", times=1)
            with contextlib.closing(await asyncio.start_server(inside.converse, "127.0.0.1", inside.port)):
                assert await outcome(client) == 200
            assert await inside.answers_a_bystander()
            assert inside.connections == 1

            judge.order("redirect_to", location=f"http://both.example:{inside.port}/secret", times=1)
            await client.close()
            assert "it leads from a public address to 127.0.0.2 (loopback)" in str(await outcome(client))
            assert await inside.answers_a_bystander()
            assert inside.connections == 1

    asyncio.run(run())


def test_a_kept_connection_is_checked_like_a_new_one(judge: OjHarness) -> None:
    """The configured origin is internal, which is allowed; a public server in between may not send the client back."""

    async def run() -> None:
        async with internal_network() as inside:
            origin = f"http://inside.example:{inside.port}"
            inside.reply = redirect_to(judge.url + TARGET)
            judge.order("redirect_to", location=f"{origin}/secret")
            async with client_of(origin, inside_example=[["127.0.0.2"]]) as client:
                assert await outcome(client, "/start") == (
                    "request failed: the redirect to inside.example is refused: "
                    "it leads from a public address to 127.0.0.2 (loopback)"
                )
                assert (inside.connections, inside.lines) == (1, [b"GET /start HTTP/1.1"])

                inside.reply = http_answer({})
                assert await outcome(client, "/again") == 200
                assert inside.connections == 1

    asyncio.run(run())


def test_an_internal_origin_may_redirect_to_internal_addresses() -> None:
    async def run() -> None:
        async with internal_network() as origin, internal_network() as other:
            origin.reply = redirect_to(f"http://other.example:{other.port}/there")
            async with client_of(f"http://127.0.0.2:{origin.port}", other_example=[["127.0.0.2"]]) as client:
                assert await outcome(client) == 200
            assert other.lines == [b"GET /there HTTP/1.1"]

    asyncio.run(run())


@pytest.mark.parametrize(("hops", "expected"), [(10, 200), (11, "request failed: more than 10 redirects")])
def test_ten_redirects_between_public_addresses_are_followed(judge: OjHarness, hops: int, expected: str | int) -> None:
    judge.order("redirect", hops=hops)

    async def run() -> str | int:
        async with client_of(judge.url) as client:
            return await outcome(client)

    assert asyncio.run(run()) == expected
    assert len(judge.targets()) == 11


# --- the commands


def failure(pipe: Pipe) -> str:
    return str(pipe.ask(PROBLEM_CALL)["error"]["message"])


@pytest.fixture
def no_proxy_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_proxy_variables")
@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254 (link-local)"),
        ("http://0xa9.0xfe.43518/", "169.254.169.254 (link-local)"),
        ("http://[::ffff:10.0.0.1]/", "::ffff:a00:1 (private)"),
        ("http://localhost/", "127.0.0.1 (loopback)"),
    ],
)
def test_a_proxy_is_not_asked_for_an_internal_address(location: str, reason: str) -> None:
    with listening(redirect_to(location)) as proxy:
        with serving_oj("http://judge.example", env={"HTTP_PROXY": proxy.url, "NO_PROXY": "", "no_proxy": ""}) as pipe:
            assert failure(pipe).endswith(f"is refused: it leads from a public address to {reason}")

        assert proxy.received.count(b"HTTP/1.1\r\n") == 1


@pytest.mark.usefixtures("no_proxy_variables")
def test_a_redirect_from_behind_a_proxy_does_not_connect_to_loopback() -> None:
    with listening(http_answer({})) as inside, listening(redirect_to(f"{inside.url}/secret")) as proxy:
        with serving_oj("http://judge.example", env={"HTTP_PROXY": proxy.url}) as pipe:
            assert failure(pipe) == (
                "request failed: the redirect to 127.0.0.1 is refused: "
                "it leads from a public address to 127.0.0.1 (loopback)"
            )

        assert inside.connections == []


@pytest.mark.usefixtures("no_proxy_variables")
def test_the_bank_cannot_redirect_to_loopback_either() -> None:
    with listening(http_answer({})) as inside, listening(redirect_to(f"{inside.url}/secret")) as proxy:
        with serving_boj("http://bank.example", "--retry-backoff-ms", "0", env={"HTTP_PROXY": proxy.url}) as pipe:
            assert "127.0.0.1 (loopback)" in str(pipe.ask(request(METADATA, CALL_RATE)))

        assert inside.connections == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 and its key, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(signed.public_bytes(pem) + private)
    return path


@contextlib.contextmanager
def listening_with_tls(certificate: Path, replies: dict[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Answer each path over TLS until the block ends; yield the URL and the paths so far."""
    paths: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def converse() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = server.accept()
                with contextlib.suppress(OSError), context.wrap_socket(peer, server_side=True) as stream:
                    while head := stream.recv(65_536):
                        paths.append(head.split()[1].decode())
                        stream.sendall(replies[paths[-1]])

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=converse)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.getsockname()[1]}", paths
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.spec("1.S2.1.tls", "1.S2.1.redirects-inwards")
@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_a_redirect_never_leaves_https(certificate: Path, scheme: str) -> None:
    """The second server is where the first one is, on loopback: only the scheme is wrong."""
    replies: dict[str, Any] = {}
    with listening(http_answer({})) as plain, listening_with_tls(certificate, replies) as (url, paths):
        replies[TARGET] = redirect_to("/second")
        replies["/second"] = redirect_to(f"{scheme}://127.0.0.1:{plain.port}/third")
        with serving_oj(url, env={"SSL_CERT_FILE": str(certificate)}) as pipe:
            assert failure(pipe) == (
                f"request failed: the redirect to 127.0.0.1 is refused: it leads from https to {scheme}"
            )

        assert paths == [TARGET, "/second"]
        assert plain.connections == []
