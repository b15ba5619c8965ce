"""Raw messages over the pipes of a server: servers that flood, hang or will not end."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

import pytest

from processes import PATIENCE_S, clean_env
from signet.kernel.protocol import Identity
from signet.mcp import server_process
from signet.mcp.messages import MessageBuilder, read_raw
from signet.mcp.server_process import ServerProcess, StdioTransport
from signet.system import processes

ME = Identity("tests", "1")
SOON_S = 0.3
SMALL = 1 << 16


@contextlib.contextmanager
def process(*command: str, grace_s: float = PATIENCE_S) -> Iterator[ServerProcess]:
    server = ServerProcess(command, clean_env())
    try:
        yield server
    finally:
        server.close(grace_s)
        assert server.status is not None


def python(program: str) -> contextlib.AbstractContextManager[ServerProcess]:
    return process(sys.executable, "-c", program, grace_s=SOON_S)


def ask(server: ServerProcess, timeout_s: float = PATIENCE_S) -> object:
    transport = StdioTransport(server, timeout_s=timeout_s, max_bytes=SMALL)
    return transport.exchange(
        MessageBuilder("2026-07-28", ME).request(0, "tools/list", {}), lambda texts: read_raw(texts, 0)
    )


# --- processes that misbehave


@pytest.mark.parametrize(
    "program",
    [
        "import sys\nwhile True: sys.stdout.write('x' * 65536)",
        "while True: print('{}')",
        """while True: print('{"jsonrpc":"2.0","id":0,"method":"ping"}')""",
    ],
    ids=["one endless line", "other messages", "requests of its own"],
)
def test_a_server_that_floods_is_a_clear_error(program: str) -> None:
    with python(program) as server, pytest.raises(ValueError, match=f"longer than {SMALL} bytes"):
        ask(server)


@pytest.mark.parametrize("program", ["input(); input()", "import time; time.sleep(60)"])
def test_a_server_that_never_answers_is_a_clear_error(program: str) -> None:
    with python(program) as server, pytest.raises(TimeoutError, match="it does not answer in time"):
        ask(server, SOON_S)


def test_a_server_that_never_reads_is_a_clear_error() -> None:
    with python("import time; time.sleep(60)") as server:
        transport = StdioTransport(server, timeout_s=SOON_S)
        message = MessageBuilder("2026-07-28", ME).request(0, "x", {"text": "x" * (1 << 20)})

        with pytest.raises(TimeoutError):
            transport.exchange(message, list)
        with pytest.raises(TimeoutError):
            transport.notify(message)


def test_a_server_that_ends_says_its_last_words() -> None:
    with python("import sys; print('x' * 10**6, file=sys.stderr); sys.exit('out of order\\n')") as server:
        with pytest.raises((EOFError, BrokenPipeError)):
            ask(server)

        assert server.last_words() == "out of order"


def test_messages_without_end_hold_up_nobody() -> None:
    program = "import sys\nfor n in range(2000): sys.stderr.write('x' * 9999)\nprint(input() and 1)"

    with python(program) as server:
        with pytest.raises(EOFError):
            ask(server)

        assert server.last_words() == "x" * 200


@pytest.mark.parametrize("deaf_to", ["", "signal.SIGTERM"])
def test_a_server_that_will_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, deaf_to: str) -> None:
    if deaf_to:
        monkeypatch.setattr(processes, "GRACE_S", SOON_S)
    deaf = f"signal.signal({deaf_to}, signal.SIG_IGN); " if deaf_to else ""
    server = ServerProcess(
        (sys.executable, "-c", f"import signal, time; {deaf}print('up', flush=True); time.sleep(60)")
    )
    server.receive(time.monotonic() + PATIENCE_S, SMALL)

    server.close(SOON_S)

    assert server.status == (-9 if deaf_to else -15)


def test_a_pipe_that_somebody_else_holds_does_not_keep_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "SETTLE_S", SOON_S)
    program = (
        "import os, time\n"
        "if not (pid := os.fork()):\n"
        "    time.sleep(60)\n"
        "print(pid, flush=True)\n"
        "input()\n"
        "os._exit(0)\n"
    )
    server = ServerProcess((sys.executable, "-c", program))
    heir = int(server.receive(time.monotonic() + PATIENCE_S, SMALL))
    try:
        with pytest.raises(TimeoutError):
            ask(server, SOON_S)

        server.close()

        assert server.status == 0
    finally:
        os.kill(heir, 9)
        server.close()
