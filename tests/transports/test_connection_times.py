"""How long a connection waits for its client in each of its states, and what it does when that is over; no socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from math import inf

import pytest

import misbehaving_server
from processes import PATIENCE_S
from signet.transports import connection as connections
from signet.transports import slots
from signet.transports.connection import Connection
from signet.transports.guard import Guard
from signet.transports.slots import ConnectionLimits, Slots
from signet.transports.web_app import App

LIMITS = ConnectionLimits(head_s=11, body_s=13, write_s=17, idle_s=19, linger_s=23, half_closed_s=29)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def post(tool: str, body: bytes, *fields: bytes, length: int | None = None) -> bytes:
    """Return a call, whose body may be announced as longer than it is."""
    size = b"Content-Length: %d" % (len(body) if length is None else length)
    line = b"POST /api/tools/%b HTTP/1.1" % tool.encode()
    return b"\r\n".join((line, b"Host: localhost", b"Content-Type: application/json", size, *fields, b"", body))


class Wire(asyncio.Transport):
    """A transport that notes what is done with it."""

    def __init__(self, peer: tuple[object, ...], **facts: object) -> None:
        super().__init__({"peername": peer, **facts})
        self.sent = b""
        self.done: list[str] = []
        self.unsent = 0
        self.can_end = True

    def write(self, data: bytes) -> None:  # type: ignore[override]
        self.sent += data

    def writelines(self, parts: Iterable[bytes]) -> None:  # type: ignore[override]
        self.sent += b"".join(parts)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:  # noqa: ARG002
        self.done.append(f"at most {high} unsent")

    def is_closing(self) -> bool:
        return "close" in self.done or "abort" in self.done

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def can_write_eof(self) -> bool:
        return self.can_end

    def write_eof(self) -> None:
        self.done.append("end")

    def close(self) -> None:
        self.done.append("close")

    def abort(self) -> None:
        self.done.append("abort")

    def pause_reading(self) -> None:
        self.done.append("pause")

    def resume_reading(self) -> None:
        self.done.append("resume")


class Line:
    """A connection, its transport and the time."""

    def __init__(self, app: App, clock: list[float], **facts: object) -> None:
        self._clock = clock
        self.slots = Slots(LIMITS)
        self.connection = Connection(app, self.slots)
        self.wire = Wire(("192.0.2.1", 1), **facts)
        self.connection.connection_made(self.wire)
        assert self.wire.done == ["at most 1 unsent"]
        self.wire.done.clear()

    def after(self, seconds: float, data: bytes = b"") -> float:
        """Let time pass and bytes come; return how long the client has from then on."""
        self._clock[0] += seconds
        if data:
            self.connection.data_received(data)
            self.end_turn()
        return self.connection.deadline - self._clock[0]

    def end_turn(self) -> None:
        """Write what was answered in this turn of the loop."""
        self.connection._writer.flush()

    async def answered(self, count: int = 1) -> None:
        """Wait for a number of responses."""
        async with asyncio.timeout(PATIENCE_S):
            while self.wire.sent.count(b"HTTP/1.1 200 OK") < count:  # noqa: ASYNC110 - nobody tells of them
                await asyncio.sleep(0)

    def told(self) -> tuple[int, str]:
        """Return the status and the words of the only response, an error."""
        head, _, body = self.wire.sent.partition(b"\r\n\r\n")
        assert b"\r\nconnection: close" in head.lower()
        return int(head.split()[1]), json.loads(body)["error"]["message"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    for module in (slots, connections):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    return App(misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")), 60.0), Guard(), {"version": "1"})


@pytest.fixture
def on_line(app: App, clock: list[float]) -> Callable[[Callable[[Line], Awaitable[None]]], None]:
    """Give what runs a scenario with a new connection."""

    def run(scenario: Callable[[Line], Awaitable[None]], **facts: object) -> None:
        async def opened() -> None:
            await scenario(Line(app, clock, **facts))

        asyncio.run(opened())

    return run


Run = Callable[..., None]


def test_the_first_head_has_its_time_from_the_start_and_later_ones_from_their_first_byte(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        assert line.after(0) == 11
        assert line.after(4, HEALTH[:1]) == 7
        assert line.after(4, HEALTH[1:5]) == 3
        assert line.wire.sent == b""
        assert line.after(1, HEALTH[5:]) == 19
        assert line.wire.sent.startswith(b"HTTP/1.1 200 OK\r\n")
        assert line.after(4) == 15
        assert line.after(0, HEALTH[:1]) == 11
        assert line.after(4, HEALTH[1:5]) == 7
        assert line.after(1, HEALTH[5:]) == 19
        assert line.wire.sent.count(b"HTTP/1.1 200 OK\r\n") == 2
        assert line.wire.done == []

    on_line(scenario)


def test_a_body_has_its_time_from_the_end_of_its_head(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        assert line.after(4, post("fine", b'{"n"', length=7)) == 13
        assert line.after(4, b":5") == 9
        assert line.wire.sent == b""
        assert line.after(4, b"}") == 19
        assert line.wire.sent.endswith(b'"result":{"n":5}}')

    on_line(scenario)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"", (408, "The head did not come within 11 s")),
        (HEALTH[:-1], (408, "The head did not come within 11 s")),
        (HEALTH + HEALTH[:-1], (408, "The head did not come within 11 s")),
        (post("fine", b"{", length=2), (408, "The body did not come within 13 s")),
    ],
    ids=["nothing", "a part of a head", "a part of the second head", "a part of a body"],
)
def test_a_client_in_the_middle_of_a_request_is_told_that_its_time_is_over(
    on_line: Run, sent: bytes, told: tuple[int, str]
) -> None:
    async def scenario(line: Line) -> None:
        if sent:
            line.after(1, sent)
        line.wire.sent = line.wire.sent.partition(b'{"status":"ok"}')[2]
        line.connection.expire()

        assert line.told() == told
        assert line.wire.done == ["end"]
        line.after(1, HEALTH)
        assert line.told() == told

    on_line(scenario)


def test_an_idle_client_is_closed_without_a_word(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        line.after(0, HEALTH)
        line.wire.sent = b""
        line.connection.expire()

        assert (line.wire.sent, line.wire.done, line.after(0)) == (b"", ["abort"], inf)
        line.after(0, HEALTH)
        assert line.wire.sent == b""

    on_line(scenario)


@pytest.mark.parametrize(("unsent", "left_s"), [(0, 23), (1, 17)])
def test_the_last_response_may_be_taken_in_a_time_of_its_own(on_line: Run, unsent: int, left_s: float) -> None:
    async def scenario(line: Line) -> None:
        line.wire.unsent = unsent

        assert line.after(0, LAST) == left_s
        assert line.wire.done == ["end"]
        sent = line.wire.sent
        line.after(0, HEALTH)
        assert line.wire.sent == sent
        line.connection.expire()
        assert line.wire.done == ["end", "abort"]

    on_line(scenario)


def test_a_transport_whose_one_side_cannot_end_is_closed_after_the_last_response(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        line.wire.can_end = False
        line.after(0, LAST)

        assert line.wire.done == ["close"]

    on_line(scenario)


def test_while_a_call_runs_its_client_has_all_time_and_afterwards_that_of_an_idle_one(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        assert line.after(0, post("waits", b"{}")) == inf
        assert line.connection.waits_since == inf
        assert line.after(0, HEALTH[:5]) == inf
        await line.answered()
        assert line.after(0) == 11
        assert line.after(1, HEALTH[5:]) == 19

    on_line(scenario)


def test_a_client_that_stops_sending_while_its_call_runs_has_a_short_time(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        line.after(0, post("waits", b"{}"))

        assert line.connection.eof_received() is True
        assert line.after(0) == 29
        await line.answered()
        await asyncio.sleep(0)
        assert line.wire.done == ["end"]

    on_line(scenario)


def test_a_client_that_stops_sending_and_awaits_nothing_is_closed(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        assert line.connection.eof_received() is False
        line.after(0, HEALTH)
        assert line.connection.eof_received() is False
        line.after(0, LAST)
        assert line.connection.eof_received() is False

    on_line(scenario)


def test_a_client_of_tls_cannot_stop_sending_alone(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        line.after(0, post("waits", b"{}"))

        assert line.connection.eof_received() is False
        line.connection.connection_lost(None)
        await asyncio.sleep(0)

    on_line(scenario, sslcontext=object())


def test_a_client_that_does_not_read_has_a_time_to_do_so_and_is_answered_no_further(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        line.after(0, HEALTH)
        line.wire.sent = b""
        line.connection.pause_writing()

        assert line.after(0) == 17
        assert line.after(1, HEALTH) == 16
        assert line.wire.sent == b""
        line.connection.resume_writing()
        line.end_turn()
        assert line.wire.sent.startswith(b"HTTP/1.1 200 OK\r\n")
        assert line.after(0) == 19
        line.connection.pause_writing()
        line.connection.expire()
        assert line.wire.done == ["abort"]

    on_line(scenario)


@pytest.mark.parametrize(("size", "done"), [(65_536, []), (65_537, ["pause"])])
def test_no_more_than_64_kibibytes_are_read_ahead_of_an_answer(on_line: Run, size: int, done: list[str]) -> None:
    async def scenario(line: Line) -> None:
        ahead = HEALTH * (size // len(HEALTH) + 1)
        line.after(0, post("waits", b"{}"))
        line.after(0, ahead[:size])
        assert line.wire.done == done
        line.after(0, ahead[size : size + 1])
        assert line.wire.done == ["pause"]
        await line.answered(1 + size // len(HEALTH))
        await asyncio.sleep(0)
        assert line.wire.done == ["pause", "resume"]

    on_line(scenario)


def test_after_64_requests_in_one_breath_others_have_their_turn(on_line: Run) -> None:
    async def scenario(line: Line) -> None:
        line.after(0, HEALTH * 129)
        answered = [line.wire.sent.count(b"HTTP/1.1 200 OK")]
        for _ in range(2):
            await asyncio.sleep(0)
            line.end_turn()
            answered.append(line.wire.sent.count(b"HTTP/1.1 200 OK"))

        assert answered == [64, 128, 129]

    on_line(scenario)


@pytest.mark.parametrize(
    ("sent", "is_closed"),
    [(b"", True), (HEALTH, True), (HEALTH[:5], True), (post("fine", b"{", length=2), True), (LAST, False)],
    ids=["new", "idle", "a part of a head", "a part of a body", "ended"],
)
@pytest.mark.parametrize("is_retiring", [False, True])
def test_at_the_end_a_connection_that_waits_is_closed_and_a_replaced_one_not_in_a_request(
    on_line: Run, sent: bytes, is_closed: bool, is_retiring: bool
) -> None:
    async def scenario(line: Line) -> None:
        if sent:
            line.after(0, sent)
        line.wire.done.clear()
        line.slots.is_retiring = is_retiring
        line.connection.drain()

        in_request = sent not in (b"", HEALTH, LAST)
        assert line.wire.done == (["close"] if is_closed and not (is_retiring and in_request) else [])

    on_line(scenario)


def test_while_all_places_are_taken_a_client_is_told_so_and_beyond_a_number_nothing(app: App) -> None:
    async def scenario() -> None:
        places = Slots(ConnectionLimits(connections=1))
        wires = []
        for number in range(259):
            wire, connection = Wire((f"192.0.2.{number % 200}", 1)), Connection(app, places)
            connection.connection_made(wire)
            if not number:
                connection.data_received(post("waits", b"{}"))
            wires.append(wire)

        head, _, body = wires[1].sent.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert json.loads(body)["error"] == {"code": "NO_PLACE", "message": "All places are taken: try again"}
        assert [bool(wire.sent) for wire in wires] == [False, *[True] * 256, False, False]
        assert ["abort" in wire.done for wire in wires] == [False] * 257 + [True] * 2
        places.release(connection)

    asyncio.run(scenario())
