"""The engine: start a process for each channel, run every call through every channel, stop all processes."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, Final, Self

import msgspec

from signet.app import SAMPLE_TOKEN
from signet.catalogue import find_toolset
from signet.journal.record import METHOD, VOLATILE
from signet.journal.retention import FOLDER, LATEST
from signet.kernel.ids import deterministic
from signet.kernel.schemas import PREFIX as TOOL_PREFIX
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.server import Running
from signet.settings import PREFIX, variable_prefixes
from signet.upstream.mcp_client import HttpTransport, StdioTransport, Transport
from signet.upstream.server_process import ServerProcess

from .channels import CHANNELS, IN_RECORD, Channel, ParsedReply, no_answer
from .corpus import CorpusCall
from .report import Observation, ParityReport, RecordFields, compare

__all__ = ["COMMANDS", "ProgressCallback", "SandboxUpstreams", "run_corpus"]


class SandboxUpstreams:
    """The sandboxes of some toolsets, while the `with` block lasts."""

    def __init__(self, toolsets: Iterable[str]) -> None:
        self._toolsets = [toolset for toolset in map(find_toolset, toolsets) if toolset.sandbox is not None]
        self._running: dict[str, Running] = {}
        self._stops = ExitStack()

    def __enter__(self) -> Self:
        now = datetime.now(UTC)
        with ExitStack() as stops:
            for toolset in self._toolsets:
                if toolset.sandbox is not None:
                    # Dates in answers are those of the clock.
                    sandbox = toolset.sandbox.build(SAMPLE_TOKEN, clock=lambda: now)
                    self._running[toolset.name], stop = host_in_thread(sandbox)
                    stops.callback(stop)
            self._stops = stops.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stops.close()

    def environ(self) -> dict[str, str]:
        """Return the variables by which a server finds the sandboxes, and under which it waits for nothing.

        Nothing is cached either: a fault that was ordered must be met.
        """
        variables: dict[str, str] = {}
        for toolset in self._toolsets:
            values = {"base_url": self._running[toolset.name].url, **toolset.without_waiting}
            if toolset.sandbox is not None and toolset.sandbox.wants_token:
                values["token"] = SAMPLE_TOKEN
            variables |= {f"{toolset.name}_{name}".upper(): str(value) for name, value in values.items()}
        return variables

    def order(self, toolset: str, faults: Iterable[dict[str, Any]]) -> None:
        """Order faults for the requests that the tools of a toolset make from now on."""
        for fault in faults:
            self._running[toolset].order(**fault)

    def clear(self) -> None:
        """Take all orders back."""
        for running in self._running.values():
            running.clear()


COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "stdio": (sys.executable, "-m", "signet", "stdio"),
    "serve": (sys.executable, "-m", "signet", "serve", "--port", "0", "--quiet"),
    "call": (sys.executable, "-m", "signet.commands.parity.cli_worker"),
}
"""The command line for each kind of channel; all settings are passed in the environment."""
TIMEOUT_S: Final = 90.0
"""How long to wait for a reply; longer than any call may take."""
MAX_BYTES: Final = 128 << 20
"""The longest reply that is read; more than any tool may return."""
GRACE_S: Final = 15.0
"""How long a process may take to end."""

ProgressCallback = Callable[[CorpusCall, Channel], None]


def _ignore(_: CorpusCall, __: Channel) -> None:
    pass


class ChannelRunner:
    """One channel with its process and its journal."""

    def __init__(self, channel: Channel, command: Sequence[str], environ: Mapping[str, str], log_dir: str) -> None:
        self.channel = channel
        self.log_dir = log_dir
        self.process = ServerProcess(command, {**environ, f"{PREFIX}LOG_DIR": log_dir})
        self._transport: Transport | None = None
        self._failure: str | None = None

    def call(self, call: CorpusCall) -> ParsedReply:
        """Make one call; a channel that failed to answer once is not asked again."""
        if self._failure is None:
            try:
                return self.channel.read(self._connected().exchange(self.channel.write(call), _first))
            except (OSError, EOFError, ValueError, HTTPException) as error:
                self._failure = self._describe(error)
        return no_answer(self._failure)

    def end(self) -> None:
        """Ask the process to end."""
        self.process.end(by_signal=self.channel.command == "serve")

    def _connected(self) -> Transport:
        """Return the transport to the process, after the handshake if the channel has one."""
        if self._transport is None:
            self._transport = self._connect()
            if self.channel.handshake is not None:
                self._transport.exchange(self.channel.handshake.initialize(0), _first)
                self._transport.notify(self.channel.handshake.initialized())
        return self._transport

    def _connect(self) -> Transport:
        if self.channel.command != "serve":
            return StdioTransport(self.process, timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES)
        try:
            url = self.process.url(TIMEOUT_S)
        except TimeoutError:
            raise ConnectionError("it does not say where it listens") from None
        return HttpTransport(url, timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES, is_local=True)

    def _describe(self, error: Exception) -> str:
        """Say why no reply came."""
        if isinstance(error, TimeoutError):
            return f"no answer within {TIMEOUT_S:g} s"
        if isinstance(error, EOFError):
            last_words = self.process.last_words()
            return f"it ended; it said: {last_words}" if last_words else "it ended without a word"
        return f"no HTTP answer ({type(error).__name__})" if isinstance(error, HTTPException) else str(error)


def _first(texts: Iterator[bytes]) -> bytes:
    return next(texts, b"").rstrip(b"\n")


def run_corpus(
    calls: list[CorpusCall],
    toolsets: Sequence[str],
    *,
    commands: Mapping[str, Sequence[str]] = COMMANDS,
    settings: Mapping[str, str] | None = None,
    on_progress: ProgressCallback = _ignore,
) -> ParityReport:
    """Run calls through every channel and compare the replies and the journal records.

    `commands` maps the name of a channel, or the kind of command it needs, to a command line; `settings` are further
    environment variables for all processes.
    """
    with tempfile.TemporaryDirectory(prefix="signet-parity-") as folder:
        with SandboxUpstreams(toolsets) as upstreams:
            environ = _environ(toolsets, {**upstreams.environ(), **(settings or {})})
            with _runners(commands, environ, folder) as runners:
                replies = [_call_all(call, runners, upstreams, on_progress) for call in calls]
        # The processes have ended, so their journals are complete.
        journals = [_records(runner.log_dir, calls) for runner in runners]
    observations = [
        [_observation(reply, journal[row]) for reply, journal in zip(replies[row], journals, strict=True)]
        for row in range(len(calls))
    ]
    return compare(calls, [channel.name for channel in CHANNELS], observations)


def _environ(toolsets: Sequence[str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of every process: without the user's settings, and without a proxy to the sandboxes."""
    ours = variable_prefixes()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(ours) and not name.lower().endswith("_proxy")
    }
    fixed = {f"{PREFIX}TOOLSETS": ",".join(toolsets), f"{PREFIX}DETERMINISTIC_IDS": "true"}
    return {**kept, **fixed, **settings}


@contextmanager
def _runners(
    commands: Mapping[str, Sequence[str]], environ: Mapping[str, str], folder: str
) -> Iterator[list[ChannelRunner]]:
    """Start a process for each channel; at the end ask all of them to end, then wait for each."""
    runners: list[ChannelRunner] = []
    with ExitStack() as waits, ExitStack() as ends:
        for number, channel in enumerate(CHANNELS):
            command = commands.get(channel.name) or commands[channel.command]
            with _signals_deferred():
                runner = ChannelRunner(channel, command, environ, os.path.join(folder, str(number)))
                waits.callback(runner.process.close, GRACE_S)
                ends.callback(runner.end)
            runners.append(runner)
        yield runners


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Defer signals until a process that was started is certain to be stopped."""
    received: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _: received.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for deferred in received:
            signal.raise_signal(deferred)


def _call_all(
    call: CorpusCall, runners: list[ChannelRunner], upstreams: SandboxUpstreams, on_progress: ProgressCallback
) -> list[ParsedReply]:
    replies = []
    for runner in runners:
        on_progress(call, runner.channel)
        upstreams.order(call.toolset, call.order)
        try:
            replies.append(runner.call(call))
        finally:
            upstreams.clear()
    return replies


def _observation(reply: ParsedReply, record: RecordFields | None) -> Observation:
    code = reply.code
    if code == IN_RECORD:
        error = (record or {}).get("error")
        code = str(error.get("code")) if isinstance(error, dict) else "NO_RECORD"
    return Observation(reply.result, code, record)


# --- journals


def _records(log_dir: str, calls: list[CorpusCall]) -> list[RecordFields | None]:
    """Return the journal record of each call without its volatile fields, or None where it is missing."""
    records = _read_journal(os.path.join(log_dir, FOLDER, LATEST))
    if len(records) == len(calls):
        return [_without_volatile(record) for record in records]
    # Records are missing or superfluous: match them by the deterministic id of each call.
    matched: list[RecordFields | None] = []
    start = 0
    for call in calls:
        wanted = _request_id(call)
        places = range(start, len(records))
        place = next((place for place in places if records[place].get("requestId") == wanted), None)
        matched.append(None if place is None else _without_volatile(records[place]))
        start = start if place is None else place + 1
    return matched


def _read_journal(path: str) -> list[RecordFields]:
    try:
        with open(path, "rb") as file:
            return [msgspec.json.decode(line, type=dict[str, Any]) for line in file.read().splitlines()]
    except OSError:
        return []


def _request_id(call: CorpusCall) -> str:
    arguments = {"arguments": call.arguments, "toolId": TOOL_PREFIX + call.slug}
    return deterministic(METHOD, "tool", arguments).request_id


def _without_volatile(record: RecordFields) -> RecordFields:
    return {name: value for name, value in record.items() if name not in VOLATILE}
