"""Development mode on standard input and output: the client's pipe stays, and each generation of the tools has its own.

client ── lines ──▶ StdioReloader ──▶ the newest process      a cancellation goes to the process that has the call
client ◀── lines ── StdioReloader ◀── every process           a new process hears the client's `initialize` again
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from signet.commands.same_tools import SameTools
from signet.commands.stdio_process import is_person, tell_a_person
from signet.kernel.errors import INTERNAL, INVALID_REQUEST
from signet.kernel.wire import MessageHead, ResponseId, failure, message_head
from signet.settings.usage import UsageError
from signet.system.lines import LineSplitter
from signet.system.processes import PIPE
from signet.transports.pipes import MAX_LINE_BYTES, claim_stdout, has_reader

from .reloader import Generation, Reloader

__all__ = ["StdioReloader"]

READ_BYTES: Final = 1 << 16
HELLO_S: Final = 10.0
"""The time that a new process has to answer the client's `initialize`."""
LAST_CALLS_S: Final = 60.0
"""The time that a process that is replaced has for its last calls."""
LOOK_EVERY_S: Final = 0.1
CARRY_S: Final = 5.0
"""The time to read what a process wrote before it ended; a process that it left behind may hold the pipe open."""
LIST_CHANGED: Final = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
ENDED: Final = "the process of the tools ended before the answer; standard error says why"
NO_MESSAGE: Final = MessageHead()


class StdioGeneration(Generation):
    """A process at the end of two pipes."""

    def __init__(self, words: list[str]) -> None:
        super().__init__("stdio", words, pipe=PIPE)
        self._stdin = io.BufferedWriter(cast("io.RawIOBase", self.process.stdin))
        self.lines = io.BufferedReader(cast("io.RawIOBase", self.process.stdout))
        self._writing = threading.Lock()
        self.pending: dict[bytes, Any] = {}
        """The ids of the requests that are not answered."""
        self.hello: bytes | None = None
        """The id of the `initialize` whose answer the client has already."""
        self.greeted = threading.Event()
        """Set when that answer is read."""
        self.is_retired = False
        """Whether a newer process takes the requests."""
        self.is_closed = False
        """Whether everything that it wrote is read."""
        self.carried = threading.Event()

    def write(self, line: bytes) -> bool:
        """Send a line; return whether the process could take it."""
        try:
            with self._writing:
                self._stdin.write(line + b"\n")
                self._stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def hang_up(self) -> None:
        """Tell the process that nothing more comes: it answers what it has, and ends."""
        try:
            with self._writing:
                self._stdin.close()
        except OSError:
            # It has ended, with lines that it never read.
            return


class StdioReloader(Reloader):
    """Carries lines between one client and the processes of the tools."""

    def __init__(self, words: list[str], same: Callable[[], SameTools]) -> None:
        """Reload the server of a command line; `same` returns what `tell_a_person` takes."""
        super().__init__(words)
        self._same = same
        self._links: list[StdioGeneration] = []
        self._newest: StdioGeneration | None = None
        self._lock = threading.Lock()
        """Held for what is known of requests, never while a line is written."""
        self._out = threading.Lock()
        self._hello: bytes | None = None
        self._initialized: bytes | None = None
        self._has_ended = False
        """Whether the client has sent its last line."""

    def run(self) -> int:
        """Claim standard output, and carry lines until standard input ends; return the exit status.

        Raises:
            UsageError: standard output is closed.
        """
        try:
            self._wire = claim_stdout()
        except OSError:
            raise UsageError("standard output is closed; start this with a pipe on it") from None
        if is_person():
            tell_a_person(self._same())
        return super().run()

    def start(self) -> Generation:
        """Start a process, and carry what it writes to the client."""
        link = StdioGeneration(self.words)
        with self._lock:
            self._links = [one for one in self._links if not one.is_closed] + [link]
        threading.Thread(target=self._carry_out, args=(link,), daemon=True).start()
        return link

    def switch(self, old: Generation | None, new: Generation) -> None:
        """Introduce the client to a new process, and send it what comes from now on."""
        assert isinstance(new, StdioGeneration)  # noqa: S101 - `start` makes no other
        if self._hello is not None:
            new.hello = key_of(read_message(self._hello).id)
            new.write(self._hello)
            new.greeted.wait(HELLO_S)
        if self._initialized is not None:
            new.write(self._initialized)
        with self._lock:
            is_first, self._newest = self._newest is None, new
        if isinstance(old, StdioGeneration):
            self._retire(old)
        if is_first:
            threading.Thread(target=self._carry_in, daemon=True).start()
        elif self._initialized is not None:
            self._send(LIST_CHANGED)

    def finish(self) -> None:
        """Let the processes answer what they have; after a signal, or when nobody reads, end them."""
        links = [link for link in self._links if not link.is_closed]
        for link in links:
            link.hang_up()
        while not all(link.process.has_ended() for link in links):
            if not self._has_ended or not has_reader(self._wire):
                for link in links:
                    link.end()
            self.wake.wait(LOOK_EVERY_S)
            self.wake.clear()
        for link in links:
            link.carried.wait(CARRY_S)

    def _retire(self, link: StdioGeneration) -> None:
        with self._lock:
            link.is_retired = True
            is_idle = not link.pending
        if is_idle:
            link.hang_up()
        else:
            timer = threading.Timer(LAST_CALLS_S, link.end)
            timer.daemon = True
            timer.start()

    def _carry_in(self) -> None:
        """Lead each line of the client to a process, until there are no more."""
        lines = LineSplitter(MAX_LINE_BYTES)
        chunk = b"."
        while chunk:
            try:
                chunk = os.read(0, READ_BYTES)
            except OSError:
                chunk = b""
            for line in lines.feed(chunk) if chunk else (lines.last(),):
                if line is None:
                    text = f"Invalid Request: a line may hold {MAX_LINE_BYTES} bytes"
                    self._send(failure(None, INVALID_REQUEST, text).body)
                elif line and not line.isspace():
                    self._lead(line, read_message(line))
        self._has_ended = self.is_stopping = True
        self.wake.set()

    def _lead(self, line: bytes, message: MessageHead) -> None:
        """Send one line to the process that it is for."""
        cancelled = cancelled_id(message)
        key = key_of(message.id if cancelled is None else cancelled)
        if message.method == "initialize" and message.is_request:
            self._hello, self._initialized = line, None
        elif message.method == "notifications/initialized":
            self._initialized = line
        with self._lock:
            link = self._newest
            if cancelled is not None:
                # Nobody waits for its answer.
                link = next((one for one in self._links if key in one.pending), link)
                if link is not None:
                    link.pending.pop(key, None)
            elif message.is_request and link is not None:
                link.pending[key] = message.id
        is_taken = link is not None and not link.is_closed and link.write(line)
        if not is_taken and link is not None:
            with self._lock:
                is_due = link.pending.pop(key, None) is not None
            if is_due and message.id is not UNSET:
                self._refuse(message.id)
        if link is not None and link.is_retired and not link.pending:
            link.hang_up()

    def _carry_out(self, link: StdioGeneration) -> None:
        """Carry each line of a process to the client, and answer what it leaves unanswered."""
        for line in link.lines:
            message = read_message(line) if link.pending or link.hello is not None else NO_MESSAGE
            key = key_of(message.id)
            if key == link.hello and message.method is UNSET:
                link.hello = None
                link.greeted.set()
                continue
            self._send(line.rstrip(b"\n"))
            with self._lock:
                if message.method is UNSET and message.id is not UNSET:
                    link.pending.pop(key, None)
                is_done = link.is_retired and not link.pending
            if is_done:
                link.hang_up()
        with self._lock:
            link.is_closed = True
            unanswered, link.pending = list(link.pending.values()), {}
        for request_id in unanswered:
            self._refuse(request_id)
        link.greeted.set()
        link.carried.set()

    def _refuse(self, request_id: ResponseId) -> None:
        self._send(failure(request_id, INTERNAL, ENDED).body)

    def _send(self, line: bytes) -> None:
        """Write one line to the client; one that is gone ends everything."""
        rest = memoryview(line + b"\n")
        try:
            with self._out:
                while rest:
                    rest = rest[os.write(self._wire, rest) :]
        except OSError:
            self.is_stopping = True
            self.wake.set()


def read_message(line: bytes) -> MessageHead:
    """Return what can be read of a line; nothing of one that is no message."""
    try:
        return message_head(line)
    except (ValueError, RecursionError):
        return NO_MESSAGE


def cancelled_id(message: MessageHead) -> Any:
    """Return the id of the request that a message cancels, or None."""
    if message.method != "notifications/cancelled":
        return None
    try:
        params = msgspec.json.decode(message.params)
    except (ValueError, RecursionError):
        return None
    return params.get("requestId") if isinstance(params, dict) else None


def key_of(request_id: Any) -> bytes:
    """Return a key that is equal for equal ids: 1 and "1" are not; empty for none."""
    return b"" if request_id is UNSET else msgspec.json.encode(request_id)
