"""Attack a server of our own on loopback for minutes, and watch a bystander, memory and descriptors.

    heads       2,500 connections that send their heads byte by byte
    bodies      4,200 connections whose bodies never come, more than there are slots
    busy        512 connections that each make one call after the other
    processes   sessions of one address with a process each, beside another address that has one
    threads     slow calls of plain functions from one address, and calls that are left
    handshakes  2,400 TLS connections of seven addresses that say nothing
    unread      calls with answers of 15 MB that eight addresses do not read, over REST and in sessions
    schemas     values, results and pages of tools whose schemas are dear to compile or to check
    mixed       valid calls through every door and every kind of hostile traffic, from many addresses at once

Each part starts one server, prints a line every ten seconds, and stops the server by its process id. The exit status
is 1 if a bystander saw an error, the server died, or memory or descriptors rose and stayed (tests/attack/trend.py).
Clients have addresses of 127.0.0.0/8, so this needs Linux; nothing leaves the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import selectors
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/support"))

from attack import starving
from attack.clients import allow_descriptors, connect, post, read_answers
from attack.observation import CALLS, MIB, Bystander, Observed
from attack.schemas import ask_once, schemas, write_settings
from attack.starving import ask
from attack.traffic import HEAD, HOSTILE, STREAM, VALID, Kind
from attack.trend import Sample, Trend
from attack.wrapped_processes import starve
from certificates import write_certificate
from door_calls import rpc
from processes import PATIENCE_S, Server, serving_limited

LEFT_OVER = 128 * MIB
"""The memory that a server may hold more after a part than before: the heaps of its threads keep what they once had."""
HELD = 256 * MIB
"""The memory that thousands of connections may take while they are open."""
HELD_OF = {"unread": 448 * MIB}
"""The same where answers are left unread: they may take 256 MiB, and those that come at this moment the rest."""
LEFT_OVER_OF = {"unread": 320 * MIB}
"""What may stay for a minute: sessions keep answers for clients that come back, and the heap what it once had."""
LARGE_BYTES = 15_500_000
UNREAD_EACH = 10
VALID_CLIENTS = 3
HOSTILE_CLIENTS = 8


DIED = "the server died"


@dataclass
class Attack:
    """One part: its server, what has been counted, and what went wrong."""

    server: Server
    seconds: float
    every_s: float
    is_encrypted: bool = False
    requests: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    _begun: float = field(default_factory=time.monotonic)

    @property
    def process(self) -> Observed:
        """Return the server as the kernel sees it."""
        return Observed(self.server.process.pid)

    def stand_by(self) -> None:
        """Ask like a client with good manners until the attack is over, and note each error."""
        bystander = Bystander(self.server.port, is_encrypted=self.is_encrypted)
        while not self.over.wait(0.02):
            try:
                bystander.ask()
                self.requests["bystander"] += 2
            except (AssertionError, OSError) as error:
                self.errors.append(f"bystander: {error!r}"[:300])

    def repeat(self, kinds: dict[str, Kind], source: str, seed: int, *, valid: bool) -> None:
        """Send traffic of one kind after the other from an address until the attack is over."""
        chance = random.Random(seed)
        while not self.over.is_set():
            name = chance.choice(list(kinds))
            try:
                answers = kinds[name](self.server.port, source, chance)
            except (AssertionError, OSError) as error:
                # A hostile client may be hung up on at any time; a valid one may not.
                if valid:
                    self.errors.append(f"{name}: {error!r}"[:300])
                continue
            self.requests[name] += max(1, len(answers))
            self.statuses.update(answer.status for answer in answers)

    def watch(self) -> None:
        """Print a line every few seconds until the time is over or the server has died."""
        self._begun = time.monotonic()
        while (passed := time.monotonic() - self._begun) < self.seconds:
            self.over.wait(min(self.every_s, self.seconds - passed))
            if self.server.process.poll() is not None:
                self.errors.append(f"{DIED}: {self.server.stderr()[-2000:]}")
                break
            at_s = time.monotonic() - self._begun
            self.samples.append(Sample(at_s, self.process.memory(), self.process.descriptors()))
            print(
                f"  {at_s:6.0f} s  {sum(self.requests.values()):9} requests  {len(self.errors)} errors of bystanders  "
                f"{self.samples[-1].memory / MIB:6.1f} MiB  {self.samples[-1].descriptors:5} descriptors",
                flush=True,
            )
        self.over.set()

    @contextlib.contextmanager
    def running(self, *work: Callable[[], None]) -> Iterator[None]:
        """Run work in threads, and a bystander beside it, until the attack is over."""
        threads = [threading.Thread(target=each, daemon=True) for each in (self.stand_by, *work)]
        for thread in threads:
            thread.start()
        yield
        self.over.set()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
            if thread.is_alive():
                self.errors.append("a client still waits for an answer")


def mixed(attack: Attack) -> None:
    """Send every kind of traffic at once."""
    addresses = [f"127.0.0.{place}" for place in range(2, 2 + VALID_CLIENTS + HOSTILE_CLIENTS)]
    work = [
        partial(attack.repeat, VALID if seed < VALID_CLIENTS else HOSTILE, source, seed, valid=seed < VALID_CLIENTS)
        for seed, source in enumerate(addresses)
    ]
    with attack.running(*work):
        attack.watch()


def heads(attack: Attack) -> None:
    """Hold 2,500 connections by heads that come byte by byte."""
    _hold(attack, 2500, 3, HEAD + b"X-Slow: ", b"x")


def bodies(attack: Attack) -> None:
    """Hold 4,200 connections by bodies that do not come."""
    _hold(attack, 4200, 5, HEAD + b"Content-Length: 100000\r\n\r\n", b"")


def _hold(attack: Attack, count: int, addresses: int, first: bytes, more: bytes) -> None:
    """Keep up a number of connections that make the server wait; one that is closed is opened again."""

    def hold() -> None:
        clients: dict[int, socket.socket] = {}
        while not attack.over.is_set():
            for place in range(count):
                if attack.over.is_set():
                    break
                try:
                    if place not in clients:
                        clients[place] = connect(attack.server.port, f"127.0.0.{2 + place % addresses}")
                        clients[place].sendall(first)
                        attack.requests["waiting"] += 1
                    elif _is_closed(clients[place], more):
                        clients.pop(place).close()
                        attack.requests["closed"] += 1
                except OSError:
                    clients.pop(place, socket.socket()).close()
            attack.over.wait(0.5)
        for client in clients.values():
            client.close()

    with attack.running(hold):
        attack.watch()


def _is_closed(client: socket.socket, more: bytes) -> bool:
    """Send a little more; return whether the server has answered or hung up."""
    client.settimeout(0)
    try:
        client.send(more)
        return client.recv(1 << 16) is not None
    except BlockingIOError:
        return False
    except OSError:
        return True


def busy(attack: Attack) -> None:
    """Keep 512 connections busy, each with one call at a time; each call must succeed."""

    def keep_busy() -> None:
        calls = list(CALLS.values())
        with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
            for place in range(512):
                client = stack.enter_context(
                    contextlib.closing(connect(attack.server.port, f"127.0.0.{2 + place % 4}"))
                )
                client.sendall(calls[place % len(calls)])
                selector.register(client, selectors.EVENT_READ, place)
            while not attack.over.is_set():
                for key, _ in selector.select(1):
                    client = key.fileobj  # type: ignore[assignment] # it was registered as one
                    try:
                        [answer] = read_answers(client, 1)
                        client.sendall(calls[key.data % len(calls)])
                    except (AssertionError, OSError) as error:
                        attack.errors.append(f"busy: {error!r}"[:300])
                        selector.unregister(client)
                        continue
                    attack.statuses[answer.status] += 1
                    attack.requests["busy"] += 1

    with attack.running(keep_busy):
        attack.watch()
    if set(attack.statuses) != {200}:
        attack.errors.append(f"busy: statuses {dict(attack.statuses)}")


def handshakes(attack: Attack) -> None:
    """Hold 2,400 TLS connections that say nothing, of seven addresses."""
    _hold(attack, 2400, 7, b"", b"")


def unread(attack: Attack) -> None:
    """Ask for answers of 15 MB from eight addresses, and read none."""

    def leave(source: str, seed: int) -> None:
        chance = random.Random(seed)
        clients: list[socket.socket] = []
        while not attack.over.wait(0.3):
            if len(clients) >= UNREAD_EACH:
                clients.pop(chance.randrange(len(clients))).close()
            with contextlib.suppress(OSError, AssertionError):
                clients.append(connect(attack.server.port, source, 4096))
                clients[-1].sendall(_large_call(clients[-1], in_session=chance.choice((True, False))))
                attack.requests["large"] += 1
        for client in clients:
            client.close()

    with attack.running(*(partial(leave, f"127.0.0.{2 + place}", place) for place in range(8))):
        attack.watch()


def _large_call(client: socket.socket, *, in_session: bool) -> bytes:
    """Return a call with a large answer; of a session, which is opened before."""
    arguments = {"size": LARGE_BYTES}
    if not in_session:
        return post("/api/tools/big_large", arguments)
    who = {"name": "attack", "version": "1"}
    hello = rpc("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who})
    client.sendall(post("/mcp", hello, [STREAM]))
    [opened] = read_answers(client, 1)
    fields = [STREAM, ("Mcp-Session-Id", opened.headers["mcp-session-id"]), ("Mcp-Protocol-Version", "2025-11-25")]
    return post("/mcp", rpc("tools/call", {"name": "big_large", "arguments": arguments}), fields)


PARTS: dict[str, tuple[Callable[[Attack], None], float]] = {
    "heads": (heads, 1),
    "bodies": (bodies, 1),
    "busy": (busy, 1),
    "processes": (starve, 1),
    "threads": (starving.threads, 1),
    "handshakes": (handshakes, 1),
    "unread": (unread, 1),
    "schemas": (schemas, 1),
    "mixed": (mixed, 10),
}
"""Each part, and how many minutes it takes unless others are told."""


@contextlib.contextmanager
def serving_for(name: str) -> Iterator[Server]:
    """Run the server of a part: with TLS for handshakes, with a wrapped server for large answers and schemas."""
    flags = ["--toolsets", f"plantuml,conformance,waiting,{starving.TOOLS}", "--call-timeout-s", "5"]
    with tempfile.TemporaryDirectory() as folder:
        if name == "handshakes":
            certificate, key = write_certificate(Path(folder), "localhost")
            flags += ["--tls-cert", certificate, "--tls-key", key]
        if name == "unread":
            large = Path(__file__).resolve().parent.parent / "tests/attack/large_server.py"
            config = Path(folder) / "signet.toml"
            config.write_text(f'[servers.big]\ncommand = "{sys.executable}"\nargs = ["{large}"]\n')
            flags = ["--toolsets", "plantuml,conformance,waiting", "--config", str(config)]
        if name == "schemas":
            flags += ["--config", str(write_settings(Path(folder)))]
        with serving_limited(*flags) as server:
            # The process of a wrapped server starts with the first call, and is no part of the attack.
            if name == "schemas":
                ask_once(server.port)
            if name == "unread":
                ask(server.port, "big_large", {"size": 1})
            yield server


def run(name: str, minutes: float, every_s: float) -> bool:
    """Run one part and print what it found; return whether all went well."""
    part = PARTS[name][0]
    print(f"{name}: {part.__doc__} For {minutes:g} minutes.", flush=True)
    with serving_for(name) as server:
        attack = Attack(server, minutes * 60, every_s, is_encrypted=name == "handshakes")
        bystander = Bystander(server.port, is_encrypted=attack.is_encrypted)
        for _ in range(100):
            bystander.ask()
        # The journal's file is opened a moment after the first calls.
        time.sleep(1)
        memory, descriptors = attack.process.memory(), attack.process.descriptors()
        attack.process.forget_peak()
        part(attack)
        died = [error for error in attack.errors if error.startswith(DIED)]
        others = Counter(error for error in attack.errors if error not in died)
        problems = died + [f"{count} times {error}" for error, count in others.most_common(10)]
        if server.process.poll() is None:
            problems += _left_over(attack, memory, descriptors, name)
            if "Traceback" in server.stderr():
                problems.append(f"the server printed a traceback: {server.stderr()[-2000:]}")
    trend = Trend.of(attack.samples)
    print(f"  {dict(attack.requests.most_common())}, statuses {dict(attack.statuses.most_common())}")
    print(
        f"  second half: {trend.memory_per_minute / MIB:+.2f} MiB and {trend.descriptors_per_minute:+.1f} descriptors "
        f"a minute; {len(attack.errors)} errors of bystanders"
    )
    problems += trend.complaints()
    for line in [f"  FAILED: {problem}" for problem in problems] or ["  passed"]:
        print(line, flush=True)
    return not problems


def _left_over(attack: Attack, memory: int, descriptors: int, name: str) -> list[str]:
    """Return what the server holds more than before, once its clients have left."""
    deadline = time.monotonic() + 2 * PATIENCE_S
    while attack.process.descriptors() > descriptors and time.monotonic() < deadline:
        time.sleep(0.2)
    more, peak = attack.process.memory() - memory, attack.process.peak() - memory
    still = attack.process.descriptors() - descriptors
    print(f"  after it: {more / MIB:+.1f} MiB (at most {peak / MIB:+.1f}), {still:+} descriptors")
    found = [f"{still} descriptors are still held"] if still > 0 else []
    found += [f"{more / MIB:.0f} MiB are still held"] if more > LEFT_OVER_OF.get(name, LEFT_OVER) else []
    return found + ([f"{peak / MIB:.0f} MiB were held"] if peak > HELD_OF.get(name, HELD) else [])


def main() -> int:
    """Run the parts that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts to run (default: all)")
    parser.add_argument("--minutes", type=float, help="how long each part takes (default: 1; mixed: 10)")
    parser.add_argument("--every", type=float, default=10.0, metavar="S", help="seconds between lines (default: 10)")
    args = parser.parse_args()
    allow_descriptors(16_384)
    # A server that does not end when it is told to ends this program too.
    results = [run(name, args.minutes or PARTS[name][1], args.every) for name in args.parts or PARTS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
