"""The engine: start a process for each channel, run every call through every channel, stop all processes."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, Final

import msgspec

from signet.app import SAMPLE_TOKEN
from signet.console.door_messages import read_mcp, read_relayed
from signet.journal.record import METHOD, VOLATILE
from signet.journal.retention import FOLDER, LATEST
from signet.kernel.ids import deterministic
from signet.kernel.schemas import PREFIX as TOOL_PREFIX
from signet.mcp.plain_http import PlainHttp
from signet.mcp.server_process import ServerProcess, StdioTransport, Transport
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.server import Running
from signet.settings.catalogue import find_toolset, target_of
from signet.settings.fields import join_list
from signet.settings.names import PREFIX, variable_prefixes

from .channels import CHANNELS, IN_RECORD, NO_ANSWER, Channel
from .corpus import CorpusCall
from .report import Observation, ParityReport, RecordFields, compare

__all__ = ["COMMANDS", "ProgressCallback", "run_corpus"]

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


class ChannelRunner:
    """One channel with its process and its journal."""

    def __init__(self, channel: Channel, command: Sequence[str], environ: Mapping[str, str], log_dir: str) -> None:
        self.channel = channel
        self.read = channel.read
        self.find = _first
        """Return the reply among the texts of an exchange."""
        self.log_dir = log_dir
        self.process = ServerProcess(command, {**environ, f"{PREFIX}LOG_DIR": log_dir})
        self._transport: Transport | None = None
        self._failure: str | None = None

    def call(self, call: CorpusCall) -> Observation:
        """Make one call; a channel that failed to answer once is not asked again."""
        if self._failure is None:
            try:
                return self.read(self._connected().exchange(self.channel.write(call), self.find))
            except (OSError, EOFError, ValueError, HTTPException) as error:
                self._failure = self._describe(error)
        return Observation(self._failure, NO_ANSWER)

    def end(self) -> None:
        """Ask the process to end."""
        self.process.close_input()
        if self.channel.command == "serve":
            self.process.signal(signal.SIGTERM)

    def _connected(self) -> Transport:
        """Return the transport to the process, after the handshake if the channel has one."""
        if self._transport is None:
            self._transport = self._connect()
            if self.channel.handshake is not None:
                self._transport.exchange(self.channel.handshake.initialize(0), self.find)
                self._transport.notify(self.channel.handshake.initialized())
        return self._transport

    def _connect(self) -> Transport:
        if self.channel.command != "serve":
            return StdioTransport(self.process, timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES)
        try:
            url = self.process.url(TIMEOUT_S)
        except TimeoutError:
            raise ConnectionError("it does not say where it listens") from None
        return PlainHttp(url, timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES, is_local=True)

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


def _reply(texts: Iterator[bytes]) -> bytes:
    """Return the reply among messages: a stream begins with an event without one, and a server may notify first."""
    lines = (text.rstrip(b"\n") for text in texts if text.strip())
    return next((line for line in lines if "method" not in msgspec.json.decode(line, type=dict[str, msgspec.Raw])), b"")


def run_corpus(
    calls: list[CorpusCall],
    toolsets: Sequence[str],
    *,
    commands: Mapping[str, Sequence[str]] = COMMANDS,
    settings: Mapping[str, str] | None = None,
    on_progress: ProgressCallback = lambda _, __: None,
    is_relayed: bool = False,
) -> ParityReport:
    """Run calls through every channel and compare the replies and the journal records.

    `commands` maps the name of a channel, or the kind of command it needs, to a command line; `settings` are further
    environment variables for all processes. Tools of wrapped servers are relayed: MCP delivers their own words.
    """
    with tempfile.TemporaryDirectory(prefix="signet-parity-") as folder:
        with _sandboxes(toolsets) as sandboxes:
            environ = _environ(toolsets, {**_upstream_variables(sandboxes), **(settings or {})})
            with _runners(commands, environ, folder) as runners:
                for runner in runners if is_relayed else ():
                    runner.find, runner.read = _reply, read_relayed if runner.read is read_mcp else runner.read
                replies = [_call_all(call, runners, sandboxes, on_progress) for call in calls]
        # The processes have ended, so their journals are complete.
        journals = [_records(runner.log_dir, calls) for runner in runners]
    observations = [
        [_with_record(reply, journal[row]) for reply, journal in zip(replies[row], journals, strict=True)]
        for row in range(len(calls))
    ]
    return compare(calls, [channel.name for channel in CHANNELS], observations)


@contextmanager
def _sandboxes(toolsets: Iterable[str]) -> Iterator[dict[str, Running]]:
    """Run the sandbox of each toolset that has one."""
    now = datetime.now(UTC)
    running: dict[str, Running] = {}
    with ExitStack() as stops:
        for toolset in map(find_toolset, dict.fromkeys(find_toolset(name).domain for name in toolsets)):
            if toolset.sandbox is not None:
                # Dates in answers are those of the clock.
                sandbox = toolset.sandbox.build(SAMPLE_TOKEN, clock=lambda: now)
                running[toolset.name], stop = host_in_thread(sandbox)
                stops.callback(stop)
        yield running


def _upstream_variables(sandboxes: Mapping[str, Running]) -> dict[str, str]:
    """Return the variables by which a server finds the sandboxes, and under which it waits for nothing.

    Nothing is cached either: a fault that was ordered must be met.
    """
    variables: dict[str, str] = {}
    for name, running in sandboxes.items():
        toolset = find_toolset(name)
        values = {"base_url": running.url, **toolset.without_waiting}
        if toolset.sandbox is not None and toolset.sandbox.wants_token:
            values["token"] = SAMPLE_TOKEN
        variables |= {f"{name}_{setting}".upper(): str(value) for setting, value in values.items()}
    return variables


def _environ(toolsets: Sequence[str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of every process: without settings but those of users' own toolsets, and without a proxy.

    A proxy would stand before the sandboxes; where there is none, it may lead to the services of the user's tools.
    """
    own = tuple([f"{name}_".replace("-", "_").upper() for name in toolsets if find_toolset(name).has_services])
    ours = tuple([prefix for prefix in variable_prefixes() if prefix not in own])
    has_sandbox = any(find_toolset(name).sandbox is not None for name in toolsets)
    kept = {
        name: value
        for name, value in os.environ.items()
        if (not name.startswith(ours) or name.removeprefix(PREFIX).startswith(own))
        and not (has_sandbox and name.lower().endswith("_proxy"))
    }
    # An empty file of settings stands before the one in the working folder.
    fixed = {
        f"{PREFIX}TOOLSETS": join_list(dict.fromkeys(target_of(find_toolset(name)) for name in toolsets)),
        f"{PREFIX}DETERMINISTIC_IDS": "true",
        f"{PREFIX}CONFIG": os.devnull,
    }
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
    call: CorpusCall, runners: list[ChannelRunner], sandboxes: Mapping[str, Running], on_progress: ProgressCallback
) -> list[Observation]:
    """Make one call through every channel; the faults that it orders are meant for no other call."""
    replies = []
    for runner in runners:
        on_progress(call, runner.channel)
        for fault in call.order:
            sandboxes[call.toolset].order(**fault)
        try:
            replies.append(runner.call(call))
        finally:
            for running in sandboxes.values():
                running.clear()
    return replies


def _with_record(reply: Observation, record: RecordFields | None) -> Observation:
    code = reply.code
    if code == IN_RECORD:
        error = (record or {}).get("error")
        code = str(error.get("code")) if isinstance(error, dict) else "NO_RECORD"
    return Observation(reply.result, code, record)


# --- journals


def _records(log_dir: str, calls: list[CorpusCall]) -> list[RecordFields | None]:
    """Return the journal record of each call without its volatile fields, or None where it is missing."""
    records: list[RecordFields] = []
    with suppress(OSError), open(os.path.join(log_dir, FOLDER, LATEST), "rb") as file:
        records += [msgspec.json.decode(line, type=dict[str, Any]) for line in file.read().splitlines()]
    matched: Sequence[RecordFields | None] = records if len(records) == len(calls) else _matched(records, calls)
    return [
        None if record is None else {name: value for name, value in record.items() if name not in VOLATILE}
        for record in matched
    ]


def _matched(records: list[RecordFields], calls: list[CorpusCall]) -> list[RecordFields | None]:
    """Match records to calls by their deterministic ids, as records are missing or superfluous."""
    ids = [record.get("requestId") for record in records]
    matched: list[RecordFields | None] = []
    start = 0
    for call in calls:
        arguments = {"arguments": call.arguments, "toolId": TOOL_PREFIX + call.slug}
        wanted = deterministic(METHOD, "tool", arguments).request_id
        found = wanted in ids[start:]
        start = ids.index(wanted, start) + 1 if found else start
        matched.append(records[start - 1] if found else None)
    return matched
