"""How much of the journal is kept: runs, size and age, at the start and in a long run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from commands_in_process import run_here
from door_calls import rpc
from journals import FOLDER
from processes import PATIENCE_S, SIGNET, piping, serving
from signet.journal.record import Recorder
from signet.journal.retention import Retention, RunHold, find_latest_run, open_journal, parse_age, remove_old
from signet.journal.writer import JournalWriter
from signet.kernel.errors import unknown_tool
from signet.kernel.outcome import Call, Outcome
from signet.kernel.tools import NULL_CONTEXT

CALL = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}}
UNKNOWN = Outcome(Call("nobody", {}, NULL_CONTEXT), None, fault=unknown_tool("nobody"))
DAY_S = 86_400


def put(log_dir: Path, run_name: str, *, size: int = 3, age_s: float = 0, worker: int = 1) -> Path:
    """Put a journal of another run into the folder."""
    folder = log_dir / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"envelope_validation.20260101T000000Z.{run_name}.{worker}.jsonl"
    path.write_bytes(b"{}\n" + b" " * (size - 3))
    written_s = time.time() - age_s
    os.utime(path, (written_s, written_s))
    return path


def runs_in(log_dir: Path) -> set[str]:
    return {path.name.split(".")[2] for path in (log_dir / FOLDER).iterdir() if not path.is_symlink()}


def size_of(log_dir: Path) -> int:
    return sum(path.stat().st_size for path in (log_dir / FOLDER).iterdir() if not path.is_symlink())


def serve_one_call(log_dir: Path, *flags: str) -> None:
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", "--log-dir", str(log_dir), *flags) as pipe:
        pipe.ask(rpc("tools/call", CALL))
        assert pipe.finish()[0] == 0


@pytest.mark.parametrize(("flags", "kept"), [((), 4), (("--journal-keep", "2"), 1), (("--journal-keep", "50"), 8)])
def test_so_many_runs_are_kept_with_the_present_one(tmp_path: Path, flags: tuple[str, ...], kept: int) -> None:
    for number in range(8):
        put(tmp_path, f"run-{number}", age_s=DAY_S - number * 60)

    serve_one_call(tmp_path, *flags)

    others = {name for name in runs_in(tmp_path) if name.startswith("run-")}
    assert others == {f"run-{number}" for number in range(8 - kept, 8)}
    assert len(runs_in(tmp_path)) == kept + 1


def test_journals_that_are_older_than_the_age_are_removed_and_one_that_is_written_is_not(tmp_path: Path) -> None:
    for hours in (1, 11, 13, 100):
        put(tmp_path, f"run-{hours}", age_s=hours * 3600)
    written = open_journal(str(tmp_path), "run-written", Retention(runs=50))
    (path,) = (tmp_path / FOLDER).glob("*run-written*")
    os.utime(path, (1_600_000_000, 1_600_000_000))

    serve_one_call(tmp_path, "--journal-max-age", "12h", "--journal-keep", "50")

    written.close()
    assert {"run-1", "run-11", "run-written"} <= runs_in(tmp_path)
    assert not {"run-13", "run-100"} & runs_in(tmp_path)


def test_of_the_folder_the_oldest_files_go_first_until_it_is_as_small_as_it_may_be(tmp_path: Path) -> None:
    for number in range(6):
        put(tmp_path, f"run-{number}", size=250_000, age_s=DAY_S - number * 60)

    serve_one_call(tmp_path, "--journal-max-mb", "1", "--journal-keep", "50")

    assert {name for name in runs_in(tmp_path) if name.startswith("run-")} == {"run-3", "run-4", "run-5"}
    assert size_of(tmp_path) <= 1_000_000


def test_the_limits_hold_at_the_start_before_the_first_call(tmp_path: Path) -> None:
    put(tmp_path, "run-old", age_s=40 * DAY_S)

    flags = ("--toolsets", "plantuml", "--log-dir", str(tmp_path), "--journal-max-age", "30d")
    with serving(*flags) as server:
        assert server.ask("GET", "/healthz").status == 200

    assert runs_in(tmp_path) == set()


def test_a_run_that_is_over_the_bound_by_itself_keeps_its_newest_records(tmp_path: Path) -> None:
    other = put(tmp_path, "run-other", size=10_000, age_s=60)
    retention = Retention(max_bytes=200_000)
    writer = JournalWriter(str(tmp_path), Recorder(), print, None, "run-mine", retention=retention)
    for _ in range(40):
        for _ in range(50):
            writer.push(UNKNOWN, 0.0)
        writer.flush()
        assert size_of(tmp_path) <= retention.max_bytes
    writer.close()

    files = [Path(path) for path in find_latest_run(str(tmp_path / FOLDER))]
    steps = sorted(json.loads(line)["stepId"] for path in files for line in path.read_bytes().splitlines())
    assert not other.exists(), "what others wrote goes first"
    assert steps == list(range(steps[0], 2001))
    assert 100 < len(steps) < 2000
    assert len(files) > 2


def test_a_batch_that_is_larger_than_the_bound_is_divided_too(tmp_path: Path) -> None:
    writer = JournalWriter(str(tmp_path), Recorder(), print, None, "run", retention=Retention(max_bytes=100_000))
    for _ in range(3000):
        writer.push(UNKNOWN, 0.0)
    writer.close()

    assert 50_000 < size_of(tmp_path) <= 100_000


def test_a_long_run_begins_a_new_file_in_time_and_drops_what_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = JournalWriter(str(tmp_path), Recorder(), print, None, "run", retention=Retention(max_age_s=1000.0))
    now = time.monotonic()
    for step in range(3):
        monkeypatch.setattr("signet.journal.writer.time.monotonic", lambda step=step: now + step * 101)
        writer.push(UNKNOWN, 0.0)
        writer.flush()
    writer.close()
    files = sorted((tmp_path / FOLDER).glob("*.run.*"))
    assert len(files) == 3, "each record finds a file that is as old as one may be"
    first = next(path for path in files if not path.name.endswith((".2.jsonl", ".3.jsonl")))
    os.utime(first, (1_600_000_000, 1_600_000_000))

    remove_old(str(tmp_path), Retention(max_age_s=1000.0), "run")

    assert not first.exists()


def test_what_has_become_too_old_is_removed_while_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signet.journal.writer.LOOK_S", 0.0)
    writer = JournalWriter(str(tmp_path), Recorder(), print, None, "run", retention=Retention(max_age_s=3600.0))
    writer.push(UNKNOWN, 0.0)
    writer.flush()
    old = put(tmp_path, "run-old", age_s=7200)
    deadline = time.monotonic() + 30
    while old.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    writer.close()


def test_the_journals_of_a_server_that_runs_stay_when_its_workers_were_replaced(tmp_path: Path) -> None:
    flags = ("--toolsets", "plantuml", "--workers", "2", "--log-dir", str(tmp_path))
    with serving(*flags) as server:
        for _ in range(20):
            server.post("/mcp", rpc("tools/call", CALL))
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE_S
        # Each worker writes its records before it ends, and the new workers have none.
        while records_of(mine := journals(tmp_path)) < 20 or any(map(is_at_work, mine)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert records_of(mine) == 20

        for _ in range(6):
            serve_one_call(tmp_path)

        assert all(path.exists() for path in mine)
    for _ in range(2):
        serve_one_call(tmp_path)
    assert not any(path.exists() for path in mine), "the run has ended, and there are five later ones"


def journals(folder: Path) -> list[Path]:
    """Return the journals in a folder, without the link to the latest."""
    return [path for path in (folder / FOLDER).glob("*.jsonl") if not path.is_symlink()]


def records_of(paths: list[Path]) -> int:
    """Return how many records there are in journals."""
    return sum(len(path.read_bytes().splitlines()) for path in paths)


def is_at_work(path: Path) -> bool:
    """Return whether the process that wrote a journal runs."""
    return Path(f"/proc/{path.resolve().name.split('.')[3]}").exists()


def test_a_run_that_has_filled_a_file_is_present_before_it_begins_the_next(tmp_path: Path) -> None:
    writer = JournalWriter(str(tmp_path), Recorder(), print, None, "run", retention=Retention(max_bytes=1000))
    writer.push(UNKNOWN, 0.0)
    writer.flush()
    (path,) = (tmp_path / FOLDER).glob("*.run.*")
    os.utime(path, (1_600_000_000, 1_600_000_000))

    for number in range(6):
        open_journal(str(tmp_path), f"run-{number}").close()

    assert path.exists()
    writer.push(UNKNOWN, 0.0)
    writer.close()
    assert len(list((tmp_path / FOLDER).glob("*.run.*"))) == 2


def test_a_hold_keeps_a_run_and_lets_it_go_with_its_pieces(tmp_path: Path) -> None:
    old, new = put(tmp_path, "run", age_s=60, worker=1), put(tmp_path, "run", age_s=30, worker=2)
    hold = RunHold(str(tmp_path), "run")
    hold.take()
    hold.take()

    for number in range(6):
        open_journal(str(tmp_path), f"run-{number}").close()
    assert (old.exists(), new.exists()) == (True, True)

    remove_old(str(tmp_path), Retention(max_bytes=1), "run")
    assert (old.exists(), new.exists()) == (False, True), "a size may still remove what is finished"
    RunHold(str(tmp_path / "none"), "run").take()


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("12h", 43_200), (" 30d ", 2_592_000), ("4w", 2_419_200)]
)
def test_an_age_is_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert parse_age(text) == seconds


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("stdio",)])
@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *(("--journal-max-age", value) for value in ("30", "d", "0d", "-1d", "1y", "1e3s")),
        *(("--journal-max-mb", value) for value in ("0", "-1", "x")),
        *(("--journal-keep", value) for value in ("0", "x")),
    ],
)
def test_a_value_that_is_none_keeps_the_server_from_starting(command: tuple[str, ...], flag: str, value: str) -> None:
    done = run_here(*command, "--toolsets", "plantuml", "--no-journal", flag, value)

    assert done.returncode == 2
    assert flag.strip("-").replace("-", "_") in done.stderr.decode().replace("-", "_").lower()


def test_git_sees_nothing_of_the_journal_in_a_folder_that_was_there_before(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/theirs.txt").write_text("theirs", encoding="utf-8")

    for _ in range(2):
        open_journal(str(tmp_path / "runs")).close()

    command = ["git", "status", "--porcelain", "-uall"]
    status = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert status.stdout == b"?? runs/theirs.txt\n"
