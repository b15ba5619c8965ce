"""The audit log on standard output: its lines and nothing else, one chain for all processes, verified from a pipe."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from audit_logs import events_in, lines_in, requests_in
from door_calls import rpc
from processes import PATIENCE_S, SIGNET, Server, clean_env, free_port, piping, run
from signet.operations.audit.chain import Seal, Tail
from signet.operations.audit.stream import AuditStream

TALKATIVE = '''
"""Tools that print."""
import subprocess

import signet

print("the module is loaded")


@signet.tool
def shout(word: str) -> str:
    """Return a word in capitals, and print it in two ways."""
    print("printed")
    subprocess.run(["echo", "printed by a child"], check=True)
    return word.upper()
'''
HEADLESS = "standard input has no head: lines that were cut off at the end cannot be noticed"


@contextmanager
def serving_to(out: Path, *flags: str, env: dict[str, str] | None = None) -> Iterator[Server]:
    """Run `signet serve` with its standard output in a file, until the block ends."""
    port, log = free_port(), out.with_suffix(".stderr")
    with out.open("wb") as stdout, log.open("wb") as stderr:
        command = [SIGNET, "serve", "--port", str(port), "--no-journal", *flags]
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=clean_env(env), cwd=out.parent)
    server = Server(process, port, log)
    try:
        server.wait_for("is listening on")
        deadline = time.monotonic() + PATIENCE_S
        while not _answers(server):
            assert process.poll() is None, server.stderr()
            assert time.monotonic() < deadline
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def _answers(server: Server) -> bool:
    try:
        return server.ask("GET", "/healthz").status == 200
    except OSError:
        return False


def verify(content: bytes, *flags: str, env: dict[str, str] | None = None) -> tuple[int, list[str]]:
    """Verify a log from standard input; return the exit status and the lines of the output."""
    done = run("audit", "verify", "-", *flags, stdin=content, env=env)
    return done.returncode, done.stdout.decode().splitlines()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_lines_are_one_chain_and_nothing_else_is_printed(tmp_path: Path, workers: str) -> None:
    (tmp_path / "talkative.py").write_text(TALKATIVE)
    out = tmp_path / "out"
    flags = ("--audit-log", "-", "--workers", workers, "--toolsets", "talkative.py")
    with serving_to(out, *flags, env={"TMPDIR": str(tmp_path)}) as server:
        while events_in(out).count("started") < int(workers):
            assert server.process.poll() is None, server.stderr()
        statuses = {server.post("/api/tools/shout", {"word": "a"}).status for _ in range(12)}

    assert statuses == {200}
    assert sum(line["tool"] == "talkative.shout" for line in requests_in(out)) == 12
    assert events_in(out).count("started") == events_in(out).count("stopped") == int(workers)
    assert [line["seq"] for line in lines_in(out)] == list(range(1, len(lines_in(out)) + 1))
    status, told = verify(out.read_bytes())
    assert (status, told[1]) == (0, HEADLESS)
    assert "the end is closed" in told[0]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(("signet-audit", "-"))] == []


def test_a_log_that_is_still_written_is_verified_up_to_its_last_line(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving_to(out, "--audit-log", "-", env={"SIGNET_AUDIT_KEY": "a key"}) as server:
        server.ask("GET", "/api/tools")
        content = out.read_bytes()

    status, told = verify(content, env={"SIGNET_AUDIT_KEY": "a key"})
    assert (status, told[1]) == (0, HEADLESS)
    assert "the end is open" in told[0]
    assert verify(content)[0] == 1, "another key"
    assert verify(content.replace(b'"status":200', b'"status":500', 1), env={"SIGNET_AUDIT_KEY": "a key"})[0] == 1


def test_on_stdio_it_is_an_error_at_the_start() -> None:
    ended = run("stdio", "--audit-log", "-", "--no-journal", stdin=b"")

    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"standard output carries the messages of this server" in ended.stderr


def test_a_settings_file_may_name_standard_output(tmp_path: Path) -> None:
    (tmp_path / "signet.toml").write_text('audit_log = "-"\n')
    out = tmp_path / "out"
    with serving_to(out):
        pass

    assert events_in(out) == ["started", "stopped"]


def test_where_nobody_reads_the_request_is_refused_and_the_chain_goes_on_afterwards() -> None:
    reading, writing = os.pipe()
    stream = AuditStream(writing, Seal(None))
    lines = iter(range(10_000))

    def make(tail: Tail) -> bytes:
        tail.seq = next(lines)
        return b"%d\n" % tail.seq + b"x" * 6_000 + b"\n"

    with pytest.raises(OSError, match="not read"):
        deque(iter(lambda: stream.append(make), True), maxlen=0)
    with pytest.raises(OSError, match="not read"):
        stream.append(make)
    content = os.read(reading, 1 << 20)
    stream.append(make)
    content += os.read(reading, 1 << 20)
    stream.close()
    for fd in (reading, writing):
        os.close(fd)

    whole = [text for text in content.split(b"\n") if text and text[:1] != b"x"]
    assert [int(text) for text in whole] == sorted(int(text) for text in whole)
    assert all(len(text) == 6_000 for text in content.split(b"\n") if text[:1] == b"x"), "no line is cut"


def test_verify_says_that_the_head_of_a_file_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with piping(SIGNET, "stdio", "--audit-log", str(path), "--no-journal") as pipe:
        pipe.ask(rpc("ping", {}))
        pipe.finish()
    whole = run("audit", "verify", str(path))
    Path(f"{path}.head").unlink()
    headless = run("audit", "verify", str(path))

    assert (whole.returncode, headless.returncode) == (0, 0)
    told = f"{path}.head is missing or unreadable: lines that were cut off at the end cannot be noticed"
    assert told not in whole.stdout.decode()
    assert headless.stdout.decode().splitlines()[1] == told
