"""`signet audit verify`: each kind of tampering is found, and the first bad line is named."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from audit_logs import lines_in, rehashed
from commands_in_process import run_here
from door_calls import rpc
from processes import SIGNET, piping, serving

CALL = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}}
Lines = list[bytes]


def write_log(path: Path, calls: int = 6, env: dict[str, str] | None = None) -> None:
    """Let a server write a log: a first line, one for each call, a last line."""
    flags = ("--toolsets", "plantuml", "--no-journal", "--audit-log", str(path))
    with piping(SIGNET, "stdio", *flags, env=env) as pipe:
        for _ in range(calls):
            pipe.ask(rpc("tools/call", CALL))
        assert pipe.finish()[0] == 0


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "audit.log"
    write_log(path)
    return path


@pytest.fixture
def log(original: Path, tmp_path: Path) -> Iterator[Path]:
    """A log of eight lines, with its head."""
    path = tmp_path / "audit.log"
    shutil.copyfile(original, path)
    shutil.copyfile(f"{original}.head", f"{path}.head")
    return path


def verify(*paths: Path, env: dict[str, str] | None = None) -> tuple[int, str]:
    done = run_here("audit", "verify", *map(str, paths), env=env)
    return done.returncode, done.stdout.decode()


def test_a_log_as_it_was_written_is_good(log: Path) -> None:
    status, told = verify(log)

    assert status == 0
    assert "good: 8 lines, 6 requests, 6 accepted calls; the end is closed" in told
    assert f"seq 8, hash {lines_in(log)[-1]['hash']}" in told


def test_one_call_is_told_in_the_singular(tmp_path: Path) -> None:
    write_log(tmp_path / "audit.log", calls=1)

    assert "good: 3 lines, 1 request, 1 accepted call; " in verify(tmp_path / "audit.log")[1]


def swapped(lines: Lines) -> Lines:
    return [*lines[:3], lines[4], lines[3], *lines[5:]]


def flipped(lines: Lines) -> Lines:
    digit = b"1" if lines[3][-4:-3] == b"0" else b"0"
    return [*lines[:3], lines[3][:-4] + digit + lines[3][-3:], *lines[4:]]


def remade(lines: Lines) -> Lines:
    return [*lines[:3], rehashed(lines[3], lambda content: content.replace(b'"OK"', b'"NO"')), *lines[4:]]


TAMPERED: dict[str, tuple[Callable[[Lines], Lines], int, str]] = {
    "a value edited": (lambda lines: [*lines[:3], lines[3].replace(b'"OK"', b'"KO"'), *lines[4:]], 4, "changed"),
    "a hash edited": (flipped, 4, "changed"),
    "a blank added": (lambda lines: [*lines[:3], lines[3].replace(b":200", b": 200"), *lines[4:]], 4, "changed"),
    "edited and hashed anew": (remade, 5, "does not follow"),
    "a line removed": (lambda lines: lines[:3] + lines[4:], 4, "a line is missing"),
    "lines removed": (lambda lines: lines[:2] + lines[5:], 3, "3 lines are missing"),
    "the first line removed": (lambda lines: lines[1:], 1, "missing before it"),
    "a line repeated": (lambda lines: lines[:4] + lines[3:], 5, "repeated"),
    "a line moved": (swapped, 4, "out of order"),
    "a blank line": (lambda lines: [*lines[:3], b"\n", *lines[3:]], 4, "no line of an audit log"),
    "something else": (lambda lines: [*lines[:3], b"{}\n", *lines[3:]], 4, "no line of an audit log"),
    "a long line": (lambda lines: [*lines[:3], b"x" * 100_000 + b"\n", *lines[3:]], 4, "too long"),
    "the last line cut": (lambda lines: [*lines[:7], lines[7][:100]], 8, "half a line"),
    "the last line removed": (lambda lines: lines[:7], 8, "1 line is missing at the end"),
    "the last lines removed": (lambda lines: lines[:5], 6, "3 lines are missing at the end"),
    "all but the first removed": (lambda lines: lines[:1], 2, "7 lines are missing at the end"),
    "all removed": (lambda _: [], 1, "empty"),
}


@pytest.mark.parametrize("kind", TAMPERED)
@pytest.mark.parametrize("with_head", [True, False])
def test_tampering_is_found_at_its_line(log: Path, kind: str, *, with_head: bool) -> None:
    change, number, why = TAMPERED[kind]
    log.write_bytes(b"".join(change(log.read_bytes().splitlines(keepends=True))))
    if not with_head:
        Path(f"{log}.head").unlink()
        why = "the end is open" if "at the end" in why else why

    status, told = verify(log)

    assert status == 1
    assert told.startswith(f"{log}: line {number}: ")
    assert why in told


def test_a_server_that_goes_on_behind_a_cut_does_not_hide_it(log: Path) -> None:
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:5]) + b'{"kind":"req')

    write_log(log, 2)

    status, told = verify(log)
    assert status == 1
    assert "line 6: 3 lines are missing" in told


def test_while_a_server_writes_the_end_is_open(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with serving("--toolsets", "plantuml", "--no-journal", "--audit-log", str(path)) as server:
        server.post("/mcp", rpc("tools/call", CALL))
        status, told = verify(path)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))
        cut = verify(path)

    assert (status, "the end is open: a server writes to it" in told) == (0, True)
    assert (cut[0], "line 2: 1 line is missing at the end" in cut[1]) == (1, True)


def test_a_key_keeps_others_from_making_the_chain_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    write_log(path, 2, {"SIGNET_AUDIT_KEY": "canary-key"})

    assert verify(path, env={"SIGNET_AUDIT_KEY": "canary-key"})[0] == 0
    status, told = verify(path)
    assert (status, "line 1: " in told, "set SIGNET_AUDIT_KEY" in told) == (1, True, True)
    assert verify(path, env={"SIGNET_AUDIT_KEY": "another"})[0] == 1
    path.write_bytes(b"".join(rehashed(line, bytes) for line in path.read_bytes().splitlines(keepends=True)))
    assert verify(path, env={"SIGNET_AUDIT_KEY": "canary-key"})[0] == 1
    assert b"canary" not in path.read_bytes()


def test_a_hash_that_was_kept_elsewhere_shows_whether_the_log_still_holds_it(log: Path) -> None:
    kept = lines_in(log)[3]["hash"]

    assert run_here("audit", "verify", str(log), "--contains", kept).returncode == 0
    done = run_here("audit", "verify", str(log), "--contains", "0" * 64)
    assert (done.returncode, b"no line has the hash" in done.stdout) == (1, True)


@pytest.mark.parametrize("words", [["verify"], ["verify", "none.log"], ["verify", "."], ["other"]])
def test_what_cannot_be_verified_is_a_usage_error(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run([SIGNET, "audit", *words], cwd=tmp_path, capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_was_compressed_is_verified_with_the_one_that_follows_it(log: Path) -> None:
    old, packed = log.with_name("audit.log.1"), log.with_name("audit.log.1.gz")
    log.rename(old)
    write_log(log, 1)
    packed.write_bytes(gzip.compress(old.read_bytes()))

    status, told = verify(packed, log)

    assert (status, "audit.log.1.gz: good: 8 lines, 6 requests" in told) == (0, True)
    lines = old.read_bytes().splitlines(keepends=True)
    packed.write_bytes(gzip.compress(b"".join([*lines[:3], *lines[4:]])))
    assert verify(packed)[1].startswith(f"{packed}: line 4: a line is missing")
    whole = gzip.compress(old.read_bytes())
    for damaged in (whole[:-20], whole[:-8] + bytes(8), whole[:20] + b"\xff" * 20 + whole[40:]):
        packed.write_bytes(damaged)
        status, told = verify(packed)
        assert (status, "damaged" in told or "changed" in told) == (1, True), told
    packed.write_bytes(gzip.compress(bytes(100_000_000)))
    assert verify(packed)[0] == 2


@pytest.mark.parametrize("is_packed", [False, True])
def test_standard_input_is_verified(log: Path, *, is_packed: bool) -> None:
    def status(text: bytes, *files: str) -> int:
        text = gzip.compress(text) if is_packed else text
        return subprocess.run(
            [SIGNET, "audit", "verify", *files], input=text, capture_output=True, check=False
        ).returncode

    whole = log.read_bytes()

    assert status(whole, "-") == 0
    assert status(whole.replace(b'"OK"', b'"KO"', 1), "-") == 1
    assert status(whole, "-", "-") == 2
    assert status(b"something else\n", "-") == 2


def test_what_is_no_audit_log_is_no_alarm_unless_it_was_one(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_bytes(b"GET / 200\n")
    head = run_here("audit", "verify", f"{log}.head")
    none = run_here("audit", "verify", str(other))
    log.write_bytes(b"GET / 200\n")

    assert (head.returncode, none.returncode, verify(log)[0]) == (2, 2, 1)
    assert (head.stdout, none.stdout) == (b"", b"")
    assert head.stderr == f"signet: {log}.head is the head of an audit log: verify {log}\n".encode()
    assert none.stderr == f"signet: {other} is not an audit log\n".encode()


def test_lines_that_were_added_are_found_by_the_head(log: Path) -> None:
    """Three lines may be those of a process that was killed before it wrote the head; a fourth one is made up."""
    head = Path(f"{log}.head")
    behind = head.read_bytes()
    write_log(log, 1)
    head.write_bytes(behind)
    assert verify(log)[0] == 0
    write_log(log, 1)
    head.write_bytes(behind)

    status, told = verify(log)

    assert (status, "line 12: it was added" in told) == (1, True)


def test_a_large_log_is_verified_in_little_memory(original: Path, tmp_path: Path) -> None:
    """The same program on a hundred thousand lines needs hardly more than on eight."""
    path = tmp_path / "audit.log"
    build = """
import sys
from signet.operations.audit.chain import Seal, Tail, add_line
from signet.operations.audit.line import CheckpointLine, RequestLine
seal, tail = Seal(), Tail()
with open(sys.argv[1], "wb") as file:
    file.write(add_line(tail, CheckpointLine("t", "started", "p", 0, False), seal))
    for _ in range(100_000):
        told = ("t", None, "a", "rest", "POST", "x", "d" * 64, "OK", None, 200, 1.0, False, None, None)
        file.write(add_line(tail, RequestLine(*told), seal))
    file.write(add_line(tail, CheckpointLine("t", "stopped", "p", 0, False), seal))
"""
    subprocess.run([Path(SIGNET).parent / "python", "-c", build, str(path)], check=True)
    measure = """
import resource, sys
from signet.commands.cli import main
status = main(["audit", "verify", sys.argv[1]])
print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

    def peak_kb(log: Path) -> int:
        done = subprocess.run(
            [Path(SIGNET).parent / "python", "-c", measure, str(log)], capture_output=True, check=True, env=os.environ
        )
        status, peak = done.stdout.split()[-2:]
        assert status == b"0"
        return int(peak)

    assert path.stat().st_size > 30_000_000
    assert peak_kb(path) < peak_kb(original) + 8192
    assert re.search("100002 lines, 100000 requests, 100000 accepted calls", verify(path)[1])
