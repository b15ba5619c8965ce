"""Servers for the proof of parity: the real ones with a fault at one door, or misbehaving tools with a journal.

`mutant_server.py FAULT KIND` with a fault of `FAULTS`, or `odd`, and `stdio`, `serve` or `call`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import misbehaving_server
from signet.app import open_journal
from signet.kernel.events import Events
from signet.kernel.pipeline import Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.server import Server
from signet.recording import open_run
from signet.settings.model import Settings, open_log


def none() -> None:
    """Change nothing."""


def result() -> None:
    """REST answers another format."""
    from signet.transports import rest

    original = rest.to_response

    def mutant(outcome: Any, headers: Any) -> Any:
        return original(outcome.replace(b'"svg"', b'"png"') if isinstance(outcome, bytes) else outcome, headers)

    rest.to_response = mutant


def code() -> None:
    """The envelope gives every fault the same code."""
    from signet.kernel.errors import CanonicalError

    table = CanonicalError.to_jsonrpc_error
    CanonicalError.to_jsonrpc_error = staticmethod(lambda _: table("INTERNAL_ERROR"))


def record() -> None:
    """The journal counts steps in twos."""
    from signet.journal.record import Recorder

    records = Recorder.records

    def in_twos(self: Recorder, entries: list[Any]) -> Any:
        return [replace(record, step_id=2 * record.step_id) for record in records(self, entries)]

    Recorder.records = in_twos  # type: ignore[method-assign]


def forgets() -> None:
    """The journal leaves out the second call."""
    from signet.journal.record import Recorder

    records = Recorder.records
    seen: list[Any] = []

    def forgetful(self: Recorder, entries: list[Any]) -> Any:
        start = len(seen)
        seen.extend(entries)
        return records(self, [entry for place, entry in enumerate(entries, start) if place != 1])

    Recorder.records = forgetful  # type: ignore[method-assign]


def mumbles() -> None:
    """MCP answers with text that is not JSON."""
    from signet.kernel import protocol

    protocol._tool_result = lambda *_, **__: b"{hm"


def dies() -> None:
    """Any call ends the process."""
    Pipeline.run = lambda *_: os._exit(3)  # type: ignore[method-assign, assignment]


def hands_over() -> None:
    """Leave a file named after the process."""
    (Path(os.environ["PIDS"]) / str(os.getpid())).touch()


FAULTS: dict[str, Callable[[], None]] = {
    one.__name__: one for one in (none, result, code, record, forgets, mumbles, dies, hands_over)
}


def real(kind: str) -> None:
    from signet.commands.cli import main
    from signet.commands.parity.cli_worker import main as call

    if kind == "call":
        call()
    else:
        sys.exit(main([kind, *(["--port", "0"] if kind == "serve" else [])]))


def build(folder: str) -> Server:
    """Build the misbehaving server with a journal."""
    settings = Settings.read(os.environ, {})
    events = Events(clock=time.perf_counter)
    journal = open_journal(settings, open_log(settings), open_run(settings, open_log(settings)), events)
    assert journal is not None
    plain = misbehaving_server.build(folder).pipeline
    pipeline = Pipeline(plain.toolbox, plain.registry, timeout_s=misbehaving_server.TIMEOUT_S, events=events)
    return Server(pipeline, Identity("odd", "1"), "Odd tools.", (), journal.close)


def misbehaving(kind: str) -> None:
    """Serve the misbehaving tools."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "call":
            from signet.commands.parity.cli_worker import main as call

            call(partial(build, folder))
        elif kind == "stdio":
            from signet.commands.stdio_process import run_stdio

            run_stdio(Settings, lambda _: build(folder))
        else:
            serve(folder)


def serve(folder: str) -> None:
    from signet.transports.guard import Guard
    from signet.transports.listening import bind
    from signet.transports.web_app import App
    from signet.transports.workers import WorkerService, end_on_signals
    from signet.transports.workers import serve as serve_web

    end_on_signals()
    listener = bind("127.0.0.1", 0)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    serve_web(WorkerService(lambda: App(build(folder), Guard(), {"version": "1"}), listener))


if __name__ == "__main__":
    fault, kind = sys.argv[1:]
    if fault == "odd":
        misbehaving(kind)
    else:
        FAULTS[fault]()
        real(kind)
