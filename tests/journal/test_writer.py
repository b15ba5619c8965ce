"""The journal on disk: whole lines, one file a process, a link to the latest, five kept, no call harmed."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from door_calls import rpc
from journals import FOLDER, LATEST, records_in
from processes import PATIENCE_S, SIGNET, clean_env, piping, serving
from signet.journal import writer
from signet.journal.record import Recorder
from signet.journal.retention import Retention, open_journal
from signet.journal.writer import JournalWriter
from signet.kernel.errors import unknown_tool
from signet.kernel.events import Events
from signet.kernel.outcome import Call, Outcome
from signet.kernel.tools import NULL_CONTEXT
from signet.system.line_file import LineFile

CALL = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}}
KEYS = {
    "agentId", "attempt", "durationMs", "error", "inputBytes", "metadata", "method", "outputBytes", "requestId",
    "route", "spanId", "status", "stepId", "taskId", "traceId", "transport", "ts",
}  # fmt: skip


def stdio(folder: Path, *flags: str) -> tuple[str, ...]:
    return SIGNET, "stdio", "--toolsets", "plantuml", "--log-dir", str(folder), *flags


@pytest.mark.spec("5.journal.keys")
def test_a_record_has_exactly_the_keys_of_the_contract(tmp_path: Path) -> None:
    with piping(*stdio(tmp_path)) as pipe:
        pipe.ask(rpc("tools/call", CALL))
        pipe.finish()

    (record,) = records_in(tmp_path)

    assert set(record) == KEYS
    assert set(record["metadata"]) == {"schemaVersion", "deterministic", "toolId", "promptId"}
    assert list(record) == sorted(record)


@pytest.mark.spec("5.journal.folder")
@pytest.mark.parametrize(
    ("flags", "log_dir"), [([], "runs"), (["--log-dir", "elsewhere"], "elsewhere"), (["--no-journal"], None)]
)
def test_a_journal_stands_below_runs_where_the_server_is_started_unless_told_otherwise(
    tmp_path: Path, flags: list[str], log_dir: str | None
) -> None:
    message = json.dumps(rpc("tools/call", CALL)).encode()
    folder = f"{log_dir}/mcp_server/envelope_validation"

    command = [SIGNET, "stdio", *flags]
    subprocess.run(command, input=message, cwd=tmp_path, env=clean_env(), check=True, capture_output=True)

    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if not path.is_dir())
    if log_dir is None:
        assert found == []
        return
    ignore, journal, latest = found
    assert (ignore, (tmp_path / ignore).read_bytes()) == (f"{log_dir}/.gitignore", b"*\n")
    assert re.fullmatch(re.escape(folder) + r"/envelope_validation\.\d{8}T\d{6}Z\.[-0-9a-f]{36}\.\d+\.jsonl", journal)
    assert latest == f"{folder}/envelope_validation.latest.jsonl"
    assert len((tmp_path / latest).read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize("command", ["oj-mcp-rs", "boj-mcp-server"])
def test_the_drop_in_servers_keep_none_unless_asked(tmp_path: Path, command: str) -> None:
    flags = ["--base-url", "http://127.0.0.1:1"]
    asked = json.dumps(rpc("tools/call", {"name": "nobody"})).encode()
    start = [str(Path(SIGNET).parent / command), *flags]

    subprocess.run(start, input=asked, cwd=tmp_path, env=clean_env(), check=True, capture_output=True)
    untouched = list(tmp_path.iterdir())
    subprocess.run(
        [*start, "--log-dir", "asked"], input=asked, cwd=tmp_path, env=clean_env(), check=True, capture_output=True
    )

    assert untouched == []
    assert len(records_in(tmp_path / "asked")) == 1


@pytest.mark.spec("5.journal.latest")
def test_the_link_to_the_latest_is_relative_and_leads_to_this_run(tmp_path: Path) -> None:
    for _ in range(2):
        with piping(*stdio(tmp_path)) as pipe:
            pipe.ask(rpc("tools/call", CALL))
            pipe.finish()

    link = tmp_path / "mcp_server/envelope_validation/envelope_validation.latest.jsonl"
    journals = sorted(path for path in (tmp_path / FOLDER).iterdir() if not path.is_symlink())

    assert not link.readlink().is_absolute()
    assert len(journals) == 2
    assert link.resolve() == max(journals, key=lambda path: path.stat().st_mtime_ns)


def test_the_last_five_are_kept_and_one_that_is_written_whatever_its_age(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    oldest = open_journal(str(tmp_path))
    oldest.append(b"{}\n")
    for number in range(8):
        before = set(folder.iterdir())
        open_journal(str(tmp_path)).close()
        (fresh,) = set(folder.iterdir()) - before
        os.utime(fresh, (2_000_000_000 + number, 2_000_000_000 + number))

    left = [path for path in folder.iterdir() if not path.is_symlink()]
    oldest.close()

    assert len(left) <= 7, "five, the one just begun, and the one that is written"
    assert any(path.stat().st_size for path in left), "the one that is being written is still there"


def test_what_others_have_left_in_the_folder_does_not_matter(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "envelope_validation.jsonl").write_text("theirs", encoding="utf-8")

    open_journal(str(tmp_path)).close()

    assert (folder / "envelope_validation.jsonl").read_text(encoding="utf-8") == "theirs"


def test_the_processes_of_one_run_count_as_one(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    for run in range(7):
        for worker in range(6):
            path = folder / f"envelope_validation.20260101T000000Z.run-{run}.{worker}.jsonl"
            path.write_text("{}\n", encoding="utf-8")
            os.utime(path, (1_700_000_000 + run, 1_700_000_000 + run))

    open_journal(str(tmp_path), "run-now").close()

    left = {path.name.split(".")[2] for path in folder.iterdir() if not path.is_symlink()}
    assert left == {f"run-{run}" for run in range(3, 7)} | {"run-now"}
    assert len(list(folder.glob("*.run-6.*"))) == 6


def test_several_workers_never_write_into_one_file(tmp_path: Path) -> None:
    with serving("--toolsets", "plantuml", "--workers", "2", "--log-dir", str(tmp_path)) as server:
        for _ in range(40):
            server.post("/mcp", rpc("tools/call", CALL))

    journals = [path for path in (tmp_path / FOLDER).iterdir() if not path.is_symlink()]
    records = [json.loads(line) for path in journals for line in path.read_text(encoding="utf-8").splitlines()]

    assert len(records) == 40
    assert 1 <= len(journals) <= 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_no_record_is_lost_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with piping(*stdio(tmp_path)) as pipe:
        for _ in range(25):
            pipe.ask(rpc("tools/call", CALL))
        pipe.process.send_signal(number)
        assert pipe.process.wait(PATIENCE_S) == 0

    assert len(records_in(tmp_path)) == 25


def test_no_record_is_lost_when_the_server_is_told_to_stop(tmp_path: Path) -> None:
    with serving("--toolsets", "plantuml", "--log-dir", str(tmp_path)) as server:
        for _ in range(25):
            server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"})

    assert len(records_in(tmp_path)) == 25


def test_a_hundred_thousand_calls_with_a_signal_in_the_middle_leave_a_record_for_every_answer(tmp_path: Path) -> None:
    line = json.dumps(rpc("tools/call", CALL)).encode() + b"\n"
    command = stdio(tmp_path)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_env()) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        writer = os.fork()
        if writer == 0:
            try:
                server.stdin.write(line * 100_000)
                server.stdin.flush()
            finally:
                os._exit(0)
        server.stdin.close()
        answers = 0
        while chunk := os.read(server.stdout.fileno(), 1 << 20):
            answers += chunk.count(b"\n")
            if answers > 50_000 and server.poll() is None:
                server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE_S)
        os.waitpid(writer, 0)

    records = records_in(tmp_path)

    assert 50_000 < answers <= len(records)
    assert all(record["status"] == "ok" for record in records)


def test_a_killed_process_leaves_whole_lines_only(tmp_path: Path) -> None:
    with piping(*stdio(tmp_path)) as pipe:
        for _ in range(300):
            pipe.ask(rpc("tools/call", CALL))
        journal = tmp_path / FOLDER / LATEST
        while not journal.exists() or not journal.stat().st_size:
            pipe.ask(rpc("tools/call", CALL))
        pipe.process.kill()
        pipe.process.wait()

    assert journal.read_bytes().endswith(b"\n")
    assert records_in(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_warning_and_no_failed_call(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder", encoding="utf-8")

    with piping(*stdio(in_the_way)) as pipe:
        answers = [pipe.ask(rpc("tools/call", CALL)) for _ in range(5)]
        status, _, err = pipe.finish()

    assert all(answer["result"]["isError"] is False for answer in answers)
    assert status == 0
    assert err.count(b"journal.unwritable") == 1
    assert b"Traceback" not in err


def test_a_full_disk_leaves_whole_lines_and_no_failed_call(tmp_path: Path) -> None:
    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    asked = b"".join(json.dumps(rpc("tools/call", CALL)).encode() + b"\n" for _ in range(20))
    done = subprocess.run(
        stdio(tmp_path), input=asked, capture_output=True, env=clean_env(), preexec_fn=small, check=True
    )

    assert done.stdout.count(b'"isError":false') == 20
    assert done.stderr.count(b"journal.unwritable") == 1
    assert 0 < len(records_in(tmp_path)) < 20


def test_lines_that_could_not_be_written_are_written_before_the_next_ones(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.write_text("in the way", encoding="utf-8")
    writer = JournalWriter(str(folder), Recorder(), lambda _: None)
    unknown = Outcome(Call("nobody", {}, NULL_CONTEXT), None, fault=unknown_tool("nobody"))
    for _ in range(3):
        writer.push(unknown, 0.0)
    writer.flush()

    folder.unlink()
    for _ in range(2):
        writer.push(unknown, 0.0)
    writer.close()

    assert [record["stepId"] for record in records_in(folder)] == [1, 2, 3, 4, 5]


def test_of_lines_that_cannot_be_written_the_last_twenty_thousand_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.write_text("in the way", encoding="utf-8")
    writer = JournalWriter(str(folder), Recorder(), lambda _: None)
    unknown = Outcome(Call("nobody", {}, NULL_CONTEXT), None, fault=unknown_tool("nobody"))
    for _ in range(20_010):
        writer.push(unknown, 0.0)
    writer.flush()

    folder.unlink()
    writer.close()

    assert [record["stepId"] for record in records_in(folder)] == list(range(11, 20_011))


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads that take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_outcomes_that_many_threads_push_at_once_leave_one_record_each_by_one_writing_thread(tmp_path: Path) -> None:
    unknown = Outcome(Call("nobody", {}, NULL_CONTEXT), None, fault=unknown_tool("nobody"))
    steps, writing = [], []
    for number in range(20):
        writer = JournalWriter(str(tmp_path / str(number)), Recorder(), print)
        together = threading.Barrier(8)

        def push_many(push: Callable[..., None] = writer.push, wait: Callable[..., int] = together.wait) -> None:
            wait()
            for _ in range(20):
                push(unknown, 0.0)

        threads = [threading.Thread(target=push_many) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writing.append([thread.name for thread in threading.enumerate()].count("journal"))
        writer.close()
        steps.append([record["stepId"] for record in records_in(tmp_path / str(number))])

    assert steps == [list(range(1, 161))] * 20
    assert writing == [1] * 20


def test_where_nothing_can_be_pointed_at_the_journal_is_written_all_the_same(tmp_path: Path) -> None:
    (tmp_path / FOLDER / LATEST).mkdir(parents=True)

    with piping(*stdio(tmp_path)) as pipe:
        for _ in range(3):
            pipe.ask(rpc("tools/call", CALL))
        assert pipe.finish()[0] == 0

    (journal,) = (tmp_path / FOLDER).glob("*Z.*.jsonl")
    assert len(journal.read_text(encoding="utf-8").splitlines()) == 3
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir()) == sorted([journal.name, LATEST])


@pytest.mark.spec("5.journal.keys")
@pytest.mark.parametrize("flags", [["--deterministic-ids"], ["--record"], ["--record", "--deterministic-ids"]])
def test_arguments_nested_as_deep_as_can_be_read_cost_no_record(tmp_path: Path, flags: list[str]) -> None:
    flags = [part for flag in flags for part in ((flag, str(tmp_path / "tape")) if flag == "--record" else (flag,))]
    deep = [
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"encodePlantUML","arguments":'
        b'{"plantumlCode":"A","token":%s}}}\n' % (depth, b"[" * depth + b"]" * depth)
        for depth in range(450, 1000, 5)
    ]
    done = subprocess.run(
        stdio(tmp_path, *flags),
        input=b"".join(deep),
        capture_output=True,
        env=clean_env(),
        timeout=PATIENCE_S,
        check=True,
    )

    answered = done.stdout.count(b'"result"')
    assert answered > 50
    assert len(records_in(tmp_path)) == answered
    assert b"Traceback" not in done.stderr


def test_a_journal_is_for_its_owner_to_write(tmp_path: Path) -> None:
    open_journal(str(tmp_path)).close()

    (journal,) = (path for path in (tmp_path / FOLDER).iterdir() if not path.is_symlink())

    assert not stat.S_IMODE(journal.stat().st_mode) & 0o022


def test_secrets_are_taken_out_before_anything_is_written(tmp_path: Path) -> None:
    token = "f3b1c9d2-secret"
    probe = {"name": f"nobody token={token} password: hunter2 Authorization: Bearer abc.def", "arguments": {}}

    with serving("--toolsets", "plantuml", "--log-dir", str(tmp_path), env={"SIGNET_TOKEN": token}) as server:
        server.post("/mcp", rpc("tools/call", probe), {"authorization": f"Bearer {token}"})

    written = (tmp_path / FOLDER / LATEST).read_text(encoding="utf-8")

    error = json.loads(written)["error"]["message"]
    assert token not in error
    assert "hunter2" not in error
    assert "abc.def" not in error


INTERVAL = """
import importlib, os, sys
end = os._exit
def tell():
    print(sys.getswitchinterval(), file=sys.stderr, flush=True)
# A server that leaves work behind does not return.
os._exit = lambda status: (tell(), end(status))
module, function, *arguments = sys.argv[1:]
getattr(importlib.import_module(module), function)(arguments)
tell()
"""
WORKER = """
import sys
from signet.commands.serve import _start_worker
from signet.settings.model import Settings
log_dir, journal = sys.argv[1:]
_start_worker(Settings(toolsets="plantuml", log_dir=log_dir, journal=journal == "journal", console=False))
print(sys.getswitchinterval(), file=sys.stderr)
"""
USUAL_S, SHORT_S = 0.005, 0.0005


def interval_of(folder: Path, code: str, *arguments: str) -> float:
    """Give the time for which a thread may hold the interpreter at the end of a process."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, input=b"", cwd=folder, env=clean_env(), check=True, capture_output=True)
    return float(done.stderr.split()[-1])


def test_calls_go_before_records_in_every_server_that_keeps_a_journal(tmp_path: Path) -> None:
    """The thread that writes the journal gives the interpreter back ten times as soon as Python would have it."""
    log, base_url = ("--log-dir", "log"), ("--base-url", "http://127.0.0.1:1")
    servers = {
        "signet stdio": (INTERVAL, "signet.commands.cli", "main", "stdio"),
        "oj-mcp-rs": (INTERVAL, "signet.commands.oj_mcp", "main", *base_url, *log),
        "boj-mcp-server": (INTERVAL, "signet.commands.boj_mcp", "main", *base_url, *log),
        "signet serve": (WORKER, "log", "journal"),
    }

    intervals = {name: interval_of(tmp_path, *server) for name, server in servers.items()}

    assert intervals == dict.fromkeys(servers, SHORT_S)


def test_a_server_without_a_journal_leaves_the_interpreter_as_it_is(tmp_path: Path) -> None:
    base_url = ("--base-url", "http://127.0.0.1:1")
    servers = {
        "signet stdio": (INTERVAL, "signet.commands.cli", "main", "stdio", "--no-journal"),
        "oj-mcp-rs": (INTERVAL, "signet.commands.oj_mcp", "main", *base_url),
        "boj-mcp-server": (INTERVAL, "signet.commands.boj_mcp", "main", *base_url),
        "signet serve": (WORKER, "log", "no journal"),
    }

    intervals = {name: interval_of(tmp_path, *server) for name, server in servers.items()}

    assert intervals == dict.fromkeys(servers, USUAL_S)


def test_a_journal_by_itself_leaves_the_interpreter_as_it_is(tmp_path: Path) -> None:
    """Whoever builds a server inside of another program decides about that program's threads."""
    before = sys.getswitchinterval()
    writer = JournalWriter(str(tmp_path), Recorder(), print)
    call = Call("nobody", {}, NULL_CONTEXT)

    writer.push(Outcome(call, None, fault=unknown_tool("nobody")), 0.0)
    writer.close()

    assert len(records_in(tmp_path)) == 1
    assert sys.getswitchinterval() == before


if sys.platform == "win32":
    raise RuntimeError("these tests speak of signals and links as POSIX has them")


def test_threads_that_push_at_once_start_one_writer_and_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large requests are handled by threads; each of these begins when all of them are there."""
    starts: list[str] = []
    together = threading.Barrier(8)
    make = threading.Thread.__init__

    def counted(thread: threading.Thread, **given: Any) -> None:
        make(thread, **given)
        if thread.name == "journal":
            starts.append(thread.name)
            time.sleep(0.01)

    monkeypatch.setattr(threading.Thread, "__init__", counted)
    writer = JournalWriter(str(tmp_path), Recorder(), warn=print)
    outcome = Outcome(Call("x", {}, NULL_CONTEXT), None, fault=unknown_tool("x"))

    def push() -> None:
        together.wait()
        for _ in range(500):
            writer.push(outcome, 0.0)

    threads = [threading.Thread(target=push) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()

    assert starts == ["journal"]
    assert len(records_in(tmp_path)) == 4_000


def test_whoever_watches_is_told_of_each_record_once_and_of_no_empty_batch(tmp_path: Path) -> None:
    calls, records, written = [], [], []
    writer = JournalWriter(
        str(tmp_path), Recorder(), pytest.fail, calls.append,
        events=Events(written=lambda number, lag_s: written.append((number, lag_s)), records=records.append),
    )  # fmt: skip
    for number in range(3):
        writer.push(Outcome(Call("x", {"n": number}, NULL_CONTEXT), None, body=b"%d" % number), 0.0)
    writer.flush()
    writer.flush()
    writer.close()

    assert all(calls)
    assert all(records)
    told = [
        [(entry.call.arguments["n"], entry.body) for batch in batches for entry, _ in batch]
        for batches in (calls, records)
    ]
    assert told == [[(0, b"0"), (1, b"1"), (2, b"2")]] * 2
    assert (sum(number for number, _ in written), {lag_s for _, lag_s in written}) == (3, {0.0})


def test_without_a_folder_records_are_made_for_the_watcher_alone() -> None:
    records, written = [], []
    events = Events(written=lambda *told: written.append(told), records=records.append)
    writer = JournalWriter(None, Recorder(), pytest.fail, events=events)
    writer.push(Outcome(Call("x", {}, NULL_CONTEXT), None, body=b"{}"), 0.0)
    writer.close()

    (((entry, record),),) = records
    assert (entry.body, record.output_bytes, written) == (b"", 2, [])


def test_a_file_ends_with_the_batch_that_fills_it(tmp_path: Path) -> None:
    journal = JournalWriter(str(tmp_path), Recorder(), pytest.fail, retention=Retention(max_bytes=100_000))
    for _ in range(12):
        for _ in range(10):
            journal.push(Outcome(Call("x" * 50, {}, NULL_CONTEXT), None, body=b"{}"), 0.0)
        journal.flush()
    journal.close()

    sizes = [path.stat().st_size for path in sorted((tmp_path / FOLDER).glob("*.jsonl")) if not path.is_symlink()]

    batch = sum(sizes) / 12
    assert len(sizes) > 2
    assert all(10_000 <= size < 10_000 + 1.5 * batch for size in sizes[:-1])


def test_the_age_of_the_oldest_unwritten_record_is_told_until_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, told, write = [100.0], [], LineFile.append
    monkeypatch.setattr(writer.time, "time", lambda: now[0])
    journal = JournalWriter(
        str(tmp_path), Recorder(), lambda _: None, events=Events(written=lambda *one: told.append(one))
    )
    monkeypatch.setattr(journal, "_start", lambda: None)
    for pushed_s, flushed_s, put in (
        (100, 103, _no_space),
        (104, 110, _no_space),
        (111, 112, write),
        (113, 115, write),
    ):
        now[0] = float(pushed_s)
        journal.push(Outcome(Call("x", {}, NULL_CONTEXT), None, body=b"{}"), 0.0)
        now[0] = float(flushed_s)
        monkeypatch.setattr(LineFile, "append", put)
        journal.flush()
    monkeypatch.setattr(LineFile, "append", _no_space)
    journal.push(Outcome(Call("x", {}, NULL_CONTEXT), None, body=b"{}"), 0.0)
    now[0] = 119.0
    journal.flush()

    assert told == [(0, 3.0), (0, 10.0), (3, 0.0), (1, 0.0), (0, 4.0)]


def test_each_outage_is_one_warning_and_one_message_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    journal = JournalWriter(str(tmp_path), Recorder(), told.append)
    monkeypatch.setattr(journal, "_start", lambda: None)
    write = LineFile.append
    for put in (write, _no_space, _no_space, write, write, _no_space):
        monkeypatch.setattr(LineFile, "append", put)
        journal.push(Outcome(Call("x", {}, NULL_CONTEXT), None, body=b"{}"), 0.0)
        journal.flush()

    warning = f"No space left on device: {tmp_path}"
    assert told == [warning, "it can be written again", warning]
    assert len(records_in(tmp_path)) == 5


def test_a_writer_that_is_closed_has_ended_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    journal = JournalWriter(None, Recorder(), pytest.fail, events=Events(records=lambda _: told.append("written")))

    def run() -> None:
        journal._wake.wait()
        time.sleep(0.02)
        told.append("ended")

    monkeypatch.setattr(journal, "_run", run)
    journal.push(Outcome(Call("x", {}, NULL_CONTEXT), None, body=b"{}"), 0.0)
    journal.close()

    assert told == ["ended", "written"]


def test_a_long_queue_wakes_the_writer_and_the_longest_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = JournalWriter(None, Recorder(), pytest.fail)
    flushed: list[int] = []
    monkeypatch.setattr(journal, "_start", lambda: None)
    monkeypatch.setattr(journal, "flush", lambda: flushed.append(len(journal._queue)))
    outcome = Outcome(Call("x", {}, NULL_CONTEXT), None, body=b"{}")
    woken = []
    for number in range(1, 50_001):
        journal.push(outcome, 0.0)
        if journal._wake.is_set():
            woken.append(number)
            journal._wake.clear()

    assert (woken[0], len(woken)) == (1000, 49_001)
    assert flushed == [50_000]


def test_the_one_warning_names_the_file_that_failed_or_else_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    (tmp_path / "file").write_bytes(b"")
    for folder in ("file/below", "full"):
        journal = JournalWriter(str(tmp_path / folder), Recorder(), warnings.append)
        for _ in range(2):
            journal.push(Outcome(Call("x", {}, NULL_CONTEXT), None, body=b"{}"), 0.0)
            journal.flush()
        journal.close()
        monkeypatch.setattr(LineFile, "append", _no_space)

    assert warnings == [f"Not a directory: {tmp_path / 'file'}", f"No space left on device: {tmp_path / 'full'}"]


def _no_space(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
