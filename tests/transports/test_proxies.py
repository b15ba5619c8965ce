"""Trusted proxies: whose word on the address of a client is believed, and where the address goes."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import misbehaving_server
from processes import PATIENCE_S, SIGNET, Server, clean_env, serving
from signet.kernel.events import Events
from signet.kernel.exchange import Exchange
from signet.kernel.server import Server as McpServer
from signet.kernel.wire import Headers
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.team.access import check_access
from signet.transports.asgi import AsgiApp, _request_of
from signet.transports.connection import Connection
from signet.transports.guard import Guard
from signet.transports.heads import parse_head
from signet.transports.messages import Request, Response
from signet.transports.proxies import TrustedProxies
from signet.transports.slots import ConnectionLimits, Slots
from signet.transports.web_app import App

NETS = "10.0.0.0/8, 192.0.2.1, 2001:db8::5, unix"
XFF = "x-forwarded-for"
HEAD = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 203.0.113.7\r\n\r\n"


def found(peer: str, *fields: tuple[str, str], nets: str = NETS) -> tuple[str, str]:
    """Return the address of the client that a request of this peer with these headers is from, and its network."""
    headers = Headers([name for name, _ in fields], [value for _, value in fields])
    request = Request("GET", "/", headers, address=peer, network="that of the peer")
    TrustedProxies(nets).find_client(request)
    return request.address, request.network


def address(peer: str, *fields: tuple[str, str], nets: str = NETS) -> str:
    """Return the address of the client that a request of this peer with these headers is from."""
    return found(peer, *fields, nets=nets)[0]


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:5123", "203.0.113.7"),
        ("6.6.6.6, 203.0.113.7", "203.0.113.7"),
        ("6.6.6.6,203.0.113.7 , 10.9.9.9,10.1.1.1", "203.0.113.7"),
        ("not an address, 203.0.113.7, 192.0.2.1", "203.0.113.7"),
        ("10.5.5.5, 10.6.6.6", "10.5.5.5"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, ::ffff:10.1.1.1", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"),
        ("[2001:db8:1:2:3:4:5:6]:443", "2001:db8:1:2:3:4:5:6"),
        ("203.0.113.7, 2001:db8::5", "203.0.113.7"),
        # What cannot be read is nobody's address: that of the proxy counts.
        ("", "10.1.1.1"),
        ("unknown", "10.1.1.1"),
        ("203.0.113.7, unknown", "10.1.1.1"),
        ("203.0.113.7,", "10.1.1.1"),
        ("203.0.113.7, , 10.2.2.2", "10.1.1.1"),
        ("203.0.113.999", "10.1.1.1"),
        ("203.0.113.7:", "10.1.1.1"),
        ("203.0.113.7:99999999", "10.1.1.1"),
        ("[203.0.113.7", "10.1.1.1"),
        ("fe80::1%eth0", "10.1.1.1"),
        ("0x7f.1", "10.1.1.1"),
        ("127.1", "10.1.1.1"),
        ("203.0.113.7\x00", "10.1.1.1"),
        ("\u0661.2.3.4", "10.1.1.1"),
        ("1" * 60_000, "10.1.1.1"),
    ],
)
def test_the_last_address_that_is_not_a_trusted_proxy_is_the_clients(forwarded: str, client: str) -> None:
    assert address("10.1.1.1", (XFF, forwarded)) == client


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("for=203.0.113.7", "203.0.113.7"),
        ("For=203.0.113.7;proto=https;by=10.1.1.1", "203.0.113.7"),
        ('proto=https; for="203.0.113.7:4711" ;host=example.org', "203.0.113.7"),
        ('for="[2001:db8:1:2::3]:4711"', "2001:db8:1:2::3"),
        ("for=6.6.6.6, for=203.0.113.7, for=10.2.2.2", "203.0.113.7"),
        ("for=6.6.6.6;host=a, for=203.0.113.7;host=b", "203.0.113.7"),
        # A quotation that a client has opened swallows nothing of what the proxy has written.
        ('for="6.6.6.6, for=203.0.113.7', "203.0.113.7"),
        # Neither does a host that a client has chosen make an element.
        ('for=203.0.113.7;host="a,for=6.6.6.6"', "10.1.1.1"),
        ('for=203.0.113.7;host="a,for=6.6.6.6;x="', "10.1.1.1"),
        ('for=203.0.113.7;host="a\\",for=6.6.6.6;x=\\""', "10.1.1.1"),
        ("for=unknown", "10.1.1.1"),
        ("for=_hidden", "10.1.1.1"),
        ("proto=https", "10.1.1.1"),
        ("for=203.0.113.7;for=6.6.6.6", "10.1.1.1"),
        ("xfor=6.6.6.6", "10.1.1.1"),
        ("", "10.1.1.1"),
        ("for=203.0.113.7;" + "a=b;" * 15_000 + "a=b", "10.1.1.1"),
    ],
)
def test_forwarded_is_read_where_there_is_no_x_forwarded_for(forwarded: str, client: str) -> None:
    assert address("10.1.1.1", ("forwarded", forwarded)) == client


def test_x_forwarded_for_wins_over_forwarded() -> None:
    assert address("10.1.1.1", ("forwarded", "for=6.6.6.6"), (XFF, "203.0.113.7")) == "203.0.113.7"


def test_lines_of_one_header_are_one_list_in_their_order() -> None:
    head = b"GET / HTTP/1.1\r\nhost: h\r\nx-forwarded-for: 6.6.6.6, 203.0.113.7\r\nX-Forwarded-For: 10.2.2.2\r\n\r\n"
    parsed = parse_head(head)
    request = Request(parsed.method, parsed.path, parsed.headers, parsed.version, "10.1.1.1")

    TrustedProxies(NETS).find_client(request)

    assert request.address == "203.0.113.7"


@pytest.mark.parametrize("peer", ["203.0.113.9", "192.0.2.2", "11.0.0.1", "::1", "127.0.0.1"])
@pytest.mark.parametrize("name", [XFF, "forwarded", "x-real-ip"])
def test_nobody_else_is_believed(peer: str, name: str) -> None:
    assert address(peer, (name, "6.6.6.6"), ("forwarded", "for=6.6.6.6")) == peer


def test_a_proxy_of_ipv6_is_trusted_by_its_exact_address_and_not_by_its_network() -> None:
    assert address("2001:db8::5", (XFF, "203.0.113.7")) == "203.0.113.7"
    assert address("2001:db8::6", (XFF, "203.0.113.7")) == "2001:db8::6"


def test_the_client_of_a_proxy_is_counted_by_its_own_network() -> None:
    assert found("10.1.1.1", (XFF, "2001:db8:1:2:3:4:5:6")) == ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64")
    assert found("10.1.1.1", (XFF, "203.0.113.7")) == ("203.0.113.7", "")
    assert found("10.1.1.1", (XFF, "unknown")) == ("10.1.1.1", "that of the peer")


@pytest.fixture
def server(tmp_path: Path) -> McpServer:
    return misbehaving_server.build(str(tmp_path))


def test_a_connection_tells_the_exact_address_of_its_peer(server: McpServer) -> None:
    believed = asyncio.run(_exchange_of_peer(server, ("2001:db8::5", 1, 0, 0)))
    another = asyncio.run(_exchange_of_peer(server, ("2001:db8::6", 1, 0, 0)))

    assert (believed.caller.address, another.caller.address) == ("203.0.113.7", "2001:db8::6")


def test_a_connection_whose_head_cannot_be_read_tells_the_exact_address_too(server: McpServer) -> None:
    noted = asyncio.run(_exchange_of_peer(server, ("fe80::6%eth0", 1, 0, 0), b"GET / HTTP/9.9\r\n\r\n"))

    assert (noted.status, noted.caller.address) == (400, "fe80::6")


async def _exchange_of_peer(served: McpServer, peer: tuple[object, ...], head: bytes = HEAD) -> Exchange:
    """Return the exchange that is noted of a request that comes from a peer."""
    noted: list[Exchange] = []
    app = App(served, Guard(), {}, events=Events(exchange=noted.append), proxies=TrustedProxies(NETS))
    connection = Connection(app, Slots(ConnectionLimits()))
    connection.connection_made(_Wire(peer))
    connection.data_received(head)
    return noted[0]


@pytest.mark.parametrize(
    ("client", "told", "headers", "status"),
    [
        (("2001:db8::6", 1), "2001:db8::6", [], 200),
        (("::ffff:203.0.113.7", 1), "203.0.113.7", [], 200),
        (("a name: its own", 1), "a name: its own", [], 200),
        (("2001:db8::6", 1), "2001:db8::6", [(b"host", b"again")], 400),
        (None, "", [(b"host", b"again")], 400),
    ],
)
def test_under_another_server_the_client_is_told_the_same_way(
    server: McpServer, client: tuple[str, int] | None, told: str, headers: list[tuple[bytes, bytes]], status: int
) -> None:
    noted: list[Exchange] = []
    app = AsgiApp(App(server, Guard(), {}, events=Events(exchange=noted.append), proxies=TrustedProxies(NETS)))
    scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": [(b"host", b"localhost"), *headers]}

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b""}

    async def send(_: object) -> None:
        pass

    asyncio.run(app({**scope, "client": client}, receive, send))

    assert [(one.status, one.caller.address) for one in noted] == [(status, told)]


def test_all_addresses_of_one_network_have_one_share_under_any_server(server: McpServer) -> None:
    for one in ("2001:db8:1:2::3", "2001:db8:1:2::4"):
        scope = {"method": "GET", "path": "/healthz", "headers": [(b"host", b"localhost")], "client": (one, 1)}
        assert _request_of(scope).network == "2001:db8:1:2::/64"
    app = App(server, Guard(), {}, proxies=TrustedProxies(NETS))

    counted, _ = asyncio.run(_awaited_of(app, ["2001:db8:1:2::3", "2001:db8:1:2::4", "2001:db8:1:3::3"]))

    assert counted == {"2001:db8:1:2::/64": 2, "2001:db8:1:3::/64": 1}


class _Wire(asyncio.Transport):
    def __init__(self, peer: tuple[object, ...]) -> None:
        super().__init__({"peername": peer})

    def write(self, data: object) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        pass


def test_a_unix_socket_is_believed_only_if_it_is_named() -> None:
    assert address("", (XFF, "203.0.113.7")) == "203.0.113.7"
    assert address("", (XFF, "203.0.113.7"), nets="0.0.0.0/0, ::/0") == ""
    assert address("", (XFF, "unknown")) == ""


def test_no_more_than_so_many_proxies_in_a_row_are_looked_at() -> None:
    assert address("10.1.1.1", (XFF, "203.0.113.7" + ", 10.2.2.2" * 31)) == "203.0.113.7"
    assert address("10.1.1.1", (XFF, "203.0.113.7" + ", 10.2.2.2" * 6000)) == "10.2.2.2"


@pytest.mark.parametrize(
    "text", ["localhost", "10.0.0.1/8", "10.0.0.0/33", "*", "10.0.0", "unix:/run/s.sock", "10.0.0.1 10.0.0.2"]
)
def test_what_is_no_address_and_no_network_stops_the_start(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"^--trusted-proxies \(SIGNET_TRUSTED_PROXIES\): .*write addresses or networks"
    ):
        check_access(Settings(trusted_proxies=text))


# --- a running server


@pytest.fixture(scope="module")
def behind() -> Iterator[Server]:
    flags = ("--toolsets", "plantuml", "--trusted-proxies", "127.0.0.1", "--log", "http=info", "--no-journal")
    with serving(*flags) as server:
        yield server


def refused(server: Server, source: str, forwarded: str) -> str:
    """Send a request that is refused from an address of this machine; return the line of the log about it."""
    before = len(server.stderr())
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S, (source, 0)) as connection:
        head = f"GET /healthz HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-for: {forwarded}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 421 ")
    return server.stderr()[before:].partition("request.refused ")[2].strip()


def test_the_log_has_the_address_that_a_trusted_proxy_tells_and_no_other(behind: Server) -> None:
    facts = "status=421 reason=HOST_NOT_ALLOWED"

    assert refused(behind, "127.0.0.1", "6.6.6.6, 203.0.113.7") == f"address=203.0.113.7 {facts}"
    assert refused(behind, "127.0.0.1", "nonsense") == f"address=127.0.0.1 {facts}"
    assert refused(behind, "127.0.0.2", "6.6.6.6, 203.0.113.7") == f"address=127.0.0.2 {facts}"


def test_without_the_setting_nobody_is_believed() -> None:
    with serving("--toolsets", "plantuml", "--log", "http=info", "--no-journal") as server:
        assert refused(server, "127.0.0.1", "6.6.6.6").startswith("address=127.0.0.1 ")


def test_behind_a_unix_socket_the_client_is_the_forwarded_one(tmp_path: Path) -> None:
    path, log = tmp_path / "s", tmp_path / "log"
    flags = ("--toolsets", "plantuml", "--trusted-proxies", "unix", "--log", "http=info", "--no-journal")
    command = [SIGNET, "serve", "--host", f"unix:{path}", *flags]
    with log.open("wb") as sink, subprocess.Popen(command, stderr=sink, env=clean_env(), cwd=tmp_path) as process:
        try:
            while b"Ctrl-C" not in log.read_bytes():
                assert process.poll() is None
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE_S)
                connection.connect(str(path))
                connection.sendall(b"GET / HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-for: 203.0.113.7\r\n\r\n")
                answer = connection.recv(65_536)
        finally:
            process.terminate()

    assert answer.startswith(b"HTTP/1.1 421 ")
    assert "request.refused address=203.0.113.7 status=421" in log.read_text()


def test_clients_of_one_proxy_have_shares_of_their_own(tmp_path: Path) -> None:
    app = App(misbehaving_server.build(str(tmp_path)), Guard(), {}, proxies=TrustedProxies(NETS))

    assert asyncio.run(_awaited_of(app, ["203.0.113.7", "203.0.113.8", "203.0.113.7"])) == [
        {"203.0.113.7": 2, "203.0.113.8": 1},
        {},
    ]


async def _awaited_of(app: App, clients: list[str]) -> list[dict[str, int]]:
    """Send calls that hang, each for a client of one proxy; return what is counted before and after they are left."""
    calls = []
    for client in clients:
        headers = Headers(["host", "content-type", XFF], ["localhost", "application/json", client])
        request = Request("POST", "/api/tools/hangs", headers, address="10.1.1.1", body=b"{}")
        assert app.admit(request) is None
        answer = app.answer(request)
        assert not isinstance(answer, Response)
        calls.append(asyncio.ensure_future(answer))
    await asyncio.sleep(0)
    counted = dict(app._shares.awaited._held)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    return [counted, dict(app._shares.awaited._held)]
