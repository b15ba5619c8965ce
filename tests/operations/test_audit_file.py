"""The file of an audit log under stress: moved away, cut, full, locked; the chain holds, or the request is refused."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from audit_logs import events_in, lines_in, requests_in
from commands_in_process import run_here
from door_calls import rpc
from processes import PATIENCE_S, SIGNET, Server, piping, run, serving
from signet.kernel.caller import Caller, Principal
from signet.kernel.errors import Fault
from signet.kernel.exchange import Exchange
from signet.operations.audit.log import AuditLog
from signet.system import files

CALL = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}}
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
EXCHANGE = Exchange(Caller(address="127.0.0.1"), "rest", "POST /api/tools/x", 200)


def open_log(path: Path, warnings: list[str] | None = None) -> AuditLog:
    log = AuditLog(str(path), None, lambda _: "", [].append if warnings is None else warnings.append)
    log.start()
    return log


def flags_of(path: Path) -> tuple[str, ...]:
    return "--toolsets", "plantuml", "--no-journal", "--audit-log", str(path)


def call(server: Server) -> Any:
    return server.post("/mcp", rpc("tools/call", CALL))


def verify(*paths: Path) -> int:
    return run_here("audit", "verify", *map(str, paths)).returncode


def test_a_file_that_is_moved_away_is_closed_and_the_next_one_follows_it(tmp_path: Path) -> None:
    path, old = tmp_path / "audit.log", tmp_path / "audit.log.1"
    with serving(*flags_of(path), "--workers", "2") as server:
        calls = 0
        deadline = time.monotonic() + PATIENCE_S
        while events_in(path).count("started") < 2 or calls < 20:
            assert time.monotonic() < deadline
            call(server)
            calls += 1
        path.rename(old)
        while not path.exists() or events_in(path).count("continued") < 2:
            assert time.monotonic() < deadline
            call(server)
            calls += 1

    before, after = lines_in(old), lines_in(path)

    assert before[-1]["event"] == "rotated"
    assert (after[0]["event"], after[0]["lines"]) == ("continued", 1)
    assert (after[0]["prev"], after[0]["seq"]) == (before[-1]["hash"], before[-1]["seq"] + 1)
    assert len(requests_in(old)) + len(requests_in(path)) == calls
    assert [verify(old), verify(path), verify(old, path), verify(path, old)] == [0, 1, 0, 1]
    hashes = [before[-1]["hash"], before[-2]["hash"]]
    assert [run("audit", "verify", str(path), "--follows", known).returncode for known in hashes] == [0, 1]
    old.write_bytes(b"".join(old.read_bytes().splitlines(keepends=True)[:-1]))
    assert [verify(old), verify(old, path)] == [1, 1]


def test_a_file_that_was_moved_while_no_server_ran_is_followed_too(tmp_path: Path) -> None:
    path, old = tmp_path / "audit.log", tmp_path / "audit.log.1"
    for _ in range(2):
        log = open_log(path)
        log(EXCHANGE)
        log.close()
        if not old.exists():
            path.rename(old)

    assert lines_in(path)[0]["prev"] == lines_in(old)[-1]["hash"]
    assert events_in(path)[:2] == ["unclosed", "started"]
    assert [verify(old, path), verify(path)] == [0, 1]


@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize("is_removed", [True, False])
def test_a_file_that_was_removed_or_emptied_is_missed_for_ever(
    tmp_path: Path, *, is_running: bool, is_removed: bool
) -> None:
    path, kept = tmp_path / "audit.log", tmp_path / "kept.log"
    log = open_log(path)
    log(EXCHANGE)
    if not is_running:
        log.close()
    kept.write_bytes(path.read_bytes())
    last = lines_in(path)[-1]["hash"]
    if is_removed:
        path.unlink()
    else:
        os.truncate(path, 0)
    log = log if is_running else open_log(path)
    log(EXCHANGE)
    if not path.exists():
        # The next look at the name of the file finds that it is gone.
        log._file._looked_s = 0.0
        log(EXCHANGE)
    log.close()
    open_log(path).close()

    first = lines_in(path)[0]
    assert first["seq"] > 1
    assert first["lines"] == 1
    assert verify(path) == 1
    if not (is_running and is_removed):
        assert (first["prev"], first["event"]) == (last, "unclosed")
        assert verify(kept, path) == 0, "the lines are there after all"


def test_many_writers_in_many_files_make_one_chain_although_it_is_moved_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    stop = threading.Event()
    counts = [0, 0, 0]

    def write(number: int) -> None:
        log = open_log(path)
        while not stop.is_set():
            log(EXCHANGE)
            counts[number] += 1
        log.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    moved = []
    for number in range(3):
        while not path.exists() or path.stat().st_size < 20_000:
            time.sleep(0.01)
        moved.append(tmp_path / f"moved.{number}")
        path.rename(moved[-1])
    while not path.exists() or path.stat().st_size < 20_000:
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()

    files = [*moved, path]
    assert sum(len(requests_in(file)) for file in files) == sum(counts)
    assert verify(*files) == 0


def test_after_a_thousand_lines_or_a_minute_there_is_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.log"
    log = open_log(path)
    for _ in range(1500):
        log(EXCHANGE)
    assert events_in(path) == ["started", "periodic"]
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 61)
    log(EXCHANGE)
    log(EXCHANGE)
    log.close()

    checkpoints = [line for line in lines_in(path) if line["kind"] == "checkpoint"]
    assert [line["event"] for line in checkpoints] == ["started", "periodic", "periodic", "stopped"]
    assert [line["lines"] for line in checkpoints] == [1, 1002, 1503, 1506]
    assert verify(path) == 0


def test_where_the_disk_is_full_requests_are_refused_until_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with serving(*flags_of(path)) as server:
        for _ in range(20):
            call(server)
        whole = path.read_bytes()
        pid, (_, hard) = server.process.pid, resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (len(whole) + 100, hard))
        refused = [call(server), server.post("/api/tools/encodePlantUML", CALL["arguments"]), server.ask("GET", "/")]
        after = path.read_bytes()
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
        again = call(server)
        told = server.stderr()

    assert [reply.status for reply in refused] == [503] * 3
    assert refused[1].json()["error"]["code"] == "AUDIT_UNAVAILABLE"
    assert refused[0].headers["retry-after"] == "1"
    assert after == whole, "a line that was written in part is removed"
    assert again.status == 200
    assert len(requests_in(path)) == 21
    assert told.count("audit.unwritable") == 2, "when it begins and when it ends"
    assert verify(path) == 0


def test_where_the_disk_is_full_the_process_lives_and_is_not_ready(tmp_path: Path) -> None:
    """A supervisor that asks `/healthz` leaves the process alone, and a balancer that asks `/readyz` passes it over."""
    path = tmp_path / "audit.log"
    with serving(*flags_of(path), "--access-log") as server:
        call(server)
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (path.stat().st_size + 100, limits[1]))
        answers = {page: server.ask("GET", page) for page in ("/healthz", "/readyz", "/", "/healthz/", "/openapi.json")}
        called = call(server)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limits)
        again = [server.ask("GET", page).status for page in ("/healthz", "/readyz")]
        server.wait_for('"GET /readyz" status=200')
        told = [line for line in server.stderr().splitlines() if "GET /healthz" in line]

    statuses = {page: reply.status for page, reply in answers.items()}
    assert statuses == {"/healthz": 200, "/readyz": 503, "/": 503, "/healthz/": 200, "/openapi.json": 503}
    assert answers["/healthz"].json() == {"status": "ok"}
    assert (called.status, again) == (503, [200, 200])
    assert [line.count("status=200") for line in told] == [1, 1, 1], "the access log has the status that was sent"
    assert verify(path) == 0


def test_on_stdio_a_call_is_refused_with_its_id(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with piping(SIGNET, "stdio", *flags_of(path)) as pipe:
        pipe.ask(rpc("tools/call", CALL))
        limits = resource.prlimit(pipe.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pipe.process.pid, resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
        refused = pipe.ask(rpc("tools/call", CALL, request_id="x7"))
        resource.prlimit(pipe.process.pid, resource.RLIMIT_FSIZE, limits)
        answered = pipe.ask(rpc("tools/call", CALL, request_id="x8"))
        pipe.finish()

    assert (refused["id"], refused["error"]["code"]) == ("x7", -32603)
    assert refused["error"]["data"] == {"canonical_code": "INTERNAL_ERROR"}
    assert answered["result"]["isError"] is False
    assert len(requests_in(path)) == 2


def test_a_lock_that_another_process_keeps_refuses_the_request(tmp_path: Path) -> None:
    path, warnings = tmp_path / "audit.log", list[str]()
    log = open_log(path, warnings)
    with Path(f"{path}.head").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Fault) as refused:
            log(EXCHANGE)
    log(EXCHANGE)
    log.close()

    assert (refused.value.name, refused.value.status) == ("AUDIT_UNAVAILABLE", 503)
    assert (len(requests_in(path)), len(warnings)) == (1, 2)


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_line_waits_longer_while_others_write_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_busy: bool
) -> None:
    """A process that holds the lock and writes nothing hangs; one that writes is only busy."""
    path = tmp_path / "audit.log"
    log, other = open_log(path), open_log(path)
    turns: list[bool] = []

    def lock_late(file: int, **how: Any) -> bool:
        if file != log._file._head or len(turns) > 5:
            return files.lock(file, **how)
        turns.append(True)
        if is_busy:
            other(EXCHANGE)
        return False

    monkeypatch.setattr("signet.operations.audit.file.lock", lock_late)
    if is_busy:
        log(EXCHANGE)
    else:
        with pytest.raises(Fault):
            log(EXCHANGE)
    monkeypatch.undo()
    log.close()
    other.close()

    assert len(requests_in(path)) == (7 if is_busy else 0)
    assert len(turns) == (6 if is_busy else 2)
    assert verify(path) == 0


def test_half_a_line_that_a_killed_process_left_is_removed_and_the_chain_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = open_log(path)
    log(EXCHANGE)
    log.release()
    with path.open("ab") as file:
        file.write(b'{"kind":"request","time":"2026')

    log = open_log(path)
    log.close()

    assert events_in(path) == ["started", "started", "stopped"]
    assert verify(path) == 0


def test_a_head_that_is_behind_or_gone_costs_nothing(tmp_path: Path) -> None:
    path, head = tmp_path / "audit.log", tmp_path / "audit.log.head"
    log = open_log(path)
    behind = head.read_bytes()
    log(EXCHANGE)
    log.close()
    for content in (behind, b""):
        head.write_bytes(content)
        log = open_log(path)
        log(EXCHANGE)
        log.close()

    assert len(requests_in(path)) == 3
    assert lines_in(path)[-1]["lines"] == len(lines_in(path))
    assert verify(path) == 0


def test_names_from_outside_are_cut_and_written_in_ascii(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = open_log(path)
    evil = "\u202eevil\x1b[31m\x7f\x85\U0001f600\n"
    log(Exchange(Caller(Principal(evil), evil, evil * 1000, "00-" + evil), "rest", f"{evil} /x", 200))
    log.close()

    (line,) = requests_in(path)

    assert (line["principal"], line["address"], line["method"], line["traceId"]) == (evil, evil, "unknown", None)
    assert len(line["requestId"]) == 128
    assert set(path.read_bytes()) <= set(range(0x20, 0x7F)) | {0x0A}
    assert verify(path) == 0


def test_a_name_and_an_id_are_whole_and_the_longest_line_is_within_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = open_log(path)
    caller = Caller(Principal("\U0001f600" * 255), "\U0001f600" * 300, "\U0001f600" * 128, TRACE)
    log(Exchange(caller, "stdio envelope", "mcp.tool.invoke", 400, "INSUFFICIENT_SCOPE", took_s=1e9))
    log.close()

    (line,) = requests_in(path)

    assert (len(line["principal"]), len(line["requestId"])) == (255, 128)
    assert 6000 < max(map(len, path.read_bytes().splitlines(keepends=True))) < 8192 - 512, "room for the name of a tool"
    assert verify(path) == 0


def test_the_file_and_its_head_are_private(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    open_log(path).close()

    assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {
        "audit.log": 0o600,
        "audit.log.head": 0o600,
    }
    assert json.loads((tmp_path / "audit.log.head").read_bytes())["seq"] == 2
