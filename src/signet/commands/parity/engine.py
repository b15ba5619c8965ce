"""The engine: starts what each way needs, plays every call through every way, stops all of it again."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from signet.settings import PREFIX, variable_prefixes

from .channels import CHANNELS, Channel
from .clients import ChannelClient, HttpChannelClient, StdioChannelClient
from .corpus import CorpusCall
from .journals import records_of
from .parsed_reply import IN_RECORD, ParsedReply, silent
from .report import Observation, ParityReport, compare
from .server_process import ServerProcess
from .upstreams import SandboxUpstreams

__all__ = ["COMMANDS", "play"]

COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "stdio": (sys.executable, "-m", "signet", "stdio"),
    "serve": (sys.executable, "-m", "signet", "serve", "--port", "0", "--quiet"),
    "call": (sys.executable, "-m", "signet.commands.parity.cli_worker"),
}
"""What is started for each kind of way; all else is told by the environment."""

ProgressCallback = Callable[[CorpusCall, Channel], None]


def _unseen(_: CorpusCall, __: Channel) -> None:
    """Show nobody."""


class ChannelRunner:
    """One way, with its process, its wire and its journal."""

    def __init__(self, way: Channel, command: Sequence[str], environ: Mapping[str, str], log_dir: str) -> None:
        self.way = way
        self.log_dir = log_dir
        self.child = ServerProcess(command, {**environ, f"{PREFIX}LOG_DIR": log_dir})
        self._wire: ChannelClient = (
            HttpChannelClient(self.child) if way.command == "serve" else StdioChannelClient(self.child)
        )
        self._greetings = list(way.greeting)
        self._gone = ""

    def ask(self, asked: CorpusCall) -> ParsedReply:
        """Make one call; a way that once did not answer is not asked again."""
        try:
            if self._gone:
                return silent(self._gone)
            while self._greetings:
                self._wire.exchange(self._greetings.pop(0))
            return self.way.read(self._wire.exchange(self.way.write(asked)))
        except OSError as error:
            self._gone = str(error)
            return silent(self._gone)

    def end(self) -> None:
        """Ask the process to end."""
        self.child.end(by_signal=self.way.command == "serve")


def play(
    calls: list[CorpusCall],
    toolsets: Sequence[str],
    *,
    commands: Mapping[str, Sequence[str]] = COMMANDS,
    told: Mapping[str, str] | None = None,
    watch: ProgressCallback = _unseen,
) -> ParityReport:
    """Play calls over every way and compare what each said and wrote down.

    `commands` gives a command line by a way's name, or by the kind of command that it needs; `told` are further
    settings for all of them.
    """
    with tempfile.TemporaryDirectory(prefix="signet-parity-") as folder:
        with SandboxUpstreams(toolsets) as upstreams:
            environ = _environ(toolsets, {**upstreams.environ(), **(told or {})})
            with _players(commands, environ, folder) as players:
                said = [_ask_all(asked, players, upstreams, watch) for asked in calls]
        # The processes have ended: their journals are whole.
        records = [records_of(player.log_dir, calls) for player in players]
    heard = [
        [_heard(answer, records[way][number]) for way, answer in enumerate(answers)]
        for number, answers in enumerate(said)
    ]
    return compare(calls, [way.name for way in CHANNELS], heard)


def _environ(toolsets: Sequence[str], told: Mapping[str, str]) -> dict[str, str]:
    """Give the environment of every process: nothing of the user's settings, no proxy before the sandboxes."""
    ours = variable_prefixes()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(ours) and not name.lower().endswith("_proxy")
    }
    ids = {f"{PREFIX}TOOLSETS": ",".join(toolsets), f"{PREFIX}DETERMINISTIC_IDS": "true"}
    return {**kept, **ids, **told}


@contextmanager
def _players(
    commands: Mapping[str, Sequence[str]], environ: Mapping[str, str], folder: str
) -> Iterator[list[ChannelRunner]]:
    """Start a process for each way; at the end ask all of them to end, then see them end."""
    players: list[ChannelRunner] = []
    with ExitStack() as waits, ExitStack() as ends:
        for number, way in enumerate(CHANNELS):
            command = commands.get(way.name) or commands[way.command]
            with _undisturbed():
                player = ChannelRunner(way, command, environ, os.path.join(folder, str(number)))
                waits.callback(player.child.wait)
                ends.callback(player.end)
            players.append(player)
        yield players


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold signals back until what was started is sure to be stopped."""
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for one in came:
            signal.raise_signal(one)


def _ask_all(
    asked: CorpusCall, players: list[ChannelRunner], upstreams: SandboxUpstreams, watch: ProgressCallback
) -> list[ParsedReply]:
    answers = []
    for player in players:
        watch(asked, player.way)
        upstreams.order(asked.toolset, asked.order)
        try:
            answers.append(player.ask(asked))
        finally:
            upstreams.clear()
    return answers


def _heard(said: ParsedReply, record: dict[str, object] | None) -> Observation:
    code = said.code
    if code == IN_RECORD:
        error = (record or {}).get("error")
        code = str(error.get("code")) if isinstance(error, dict) else "NO_RECORD"
    return Observation(said.result, code, record)
