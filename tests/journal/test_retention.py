"""The folder of the journals under attack: nothing in it blocks a server or is written through."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from door_calls import rpc
from journals import FOLDER, LATEST, records_in
from planted_files import OBSTACLES, obstruct
from processes import PATIENCE_S, SIGNET, piping, serving
from signet.journal import retention
from signet.journal.retention import open_journal

CALL = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}}
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def calls_until_signal(log_dir: Path, number: signal.Signals) -> tuple[int, int, bytes]:
    """Make calls until the journal has been tried, send a signal; return the good answers, the status and stderr."""
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", "--log-dir", str(log_dir)) as pipe:
        # Two thousand entries wake the writer early.
        pipe.send(*[rpc("tools/call", CALL)] * 2000)
        answers = [pipe.receive() for _ in range(2000)]
        pipe.process.send_signal(number)
        status, _, err = pipe.finish()
    return sum(answer["result"]["isError"] is False for answer in answers), status, err


@pytest.mark.parametrize("place", ["", FOLDER])
@pytest.mark.parametrize("kind", [kind for kind in OBSTACLES if kind != "folder"])
def test_an_obstacle_in_the_place_of_the_folder_is_one_warning_and_no_failed_call(
    tmp_path: Path, kind: str, place: str
) -> None:
    is_intact = obstruct(tmp_path / "log" / place, kind, tmp_path / "aside")

    good, status, err = calls_until_signal(tmp_path / "log", SIGNALS[len(kind) % 2])

    assert (good, status) == (2000, 0)
    assert err.count(b"journal.unwritable") == len(err.splitlines()) == 1
    assert is_intact()


@pytest.mark.parametrize(("kind", "number"), [("FIFO", signal.SIGINT), *((kind, signal.SIGTERM) for kind in OBSTACLES)])
def test_obstacles_among_the_old_journals_neither_block_nor_vanish(
    tmp_path: Path, kind: str, number: signal.Signals
) -> None:
    """A journal is opened before it is removed, to see if it is still written."""
    folder = tmp_path / "log" / FOLDER
    for run in range(9):
        open_journal(str(tmp_path / "log"), f"run-{run}").close()
    for path in folder.iterdir():
        if not path.is_symlink():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    old = folder / "envelope_validation.20200101T000000Z.run-x.1.jsonl"
    is_intact = obstruct(old, kind, tmp_path / "aside")
    os.utime(old, (1_600_000_000, 1_600_000_000), follow_symlinks=False)

    good, status, err = calls_until_signal(tmp_path / "log", number)

    assert (good, status, err) == (2000, 0, b"")
    assert len(records_in(tmp_path / "log")) == 2000
    # A second name of a file is removed as any old journal; the file itself stays.
    assert is_intact() if kind != "hard link" else (tmp_path / "aside/target").read_bytes() == b"theirs\n"


@pytest.mark.spec("5.journal.latest")
@pytest.mark.parametrize("kind", ["FIFO", "link to /dev/full", "dangling link", "link to a file"])
def test_the_link_to_the_latest_is_replaced_and_never_written_through(tmp_path: Path, kind: str) -> None:
    latest = tmp_path / "log" / FOLDER / LATEST
    obstruct(latest, kind, tmp_path / "aside")
    before = {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()}

    good, status, err = calls_until_signal(tmp_path / "log", signal.SIGTERM)

    assert (good, status, err) == (2000, 0, b"")
    (journal,) = (path for path in latest.parent.iterdir() if path != latest)
    # Looked at before it is read: to read a FIFO that is still there would take for ever.
    assert (latest.is_symlink(), latest.resolve()) == (True, journal)
    assert len(records_in(tmp_path / "log")) == 2000
    assert {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()} == before


def test_an_http_server_with_a_fifo_among_its_journals_answers_everybody_and_ends(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    for run in range(9):
        os.mkfifo(folder / f"envelope_validation.20200101T000000Z.run-{run}.1.jsonl")

    with serving("--toolsets", "plantuml", "--log-dir", str(tmp_path)) as server:
        for _ in range(30):
            assert server.post("/mcp", rpc("tools/call", CALL)).status == 200
            assert server.ask("GET", "/healthz").status == 200
        server.process.terminate()
        assert server.process.wait(PATIENCE_S) == 0

    assert len(records_in(tmp_path)) == 30


@pytest.mark.spec("5.journal.folder")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_journal_and_the_folders_made_for_it_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs").chmod(0o755)

    before = os.umask(umask)
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", "--log-dir", str(tmp_path / "theirs/runs")) as pipe:
        os.umask(before)
        pipe.ask(rpc("tools/call", CALL))
        assert pipe.finish()[0] == 0

    modes = {
        path.name if path.is_dir() else path.suffix or path.name: stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    folders = {"theirs": 0o755, "runs": 0o700, "mcp_server": 0o700, "envelope_validation": 0o700}
    assert modes == {**folders, ".jsonl": 0o600, ".gitignore": 0o600}


def test_git_sees_nothing_of_a_folder_that_was_made_for_the_journal(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    open_journal(str(tmp_path / "runs")).close()

    status = subprocess.run(["git", "status", "--porcelain"], cwd=tmp_path, capture_output=True, check=True)
    assert status.stdout == b""


def test_a_folder_that_was_there_before_is_left_to_its_owner(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "own/.gitignore").write_bytes(b"theirs\n")

    open_journal(str(tmp_path / "kept")).close()
    open_journal(str(tmp_path / "own")).close()

    assert not (tmp_path / "kept/.gitignore").exists()
    assert (tmp_path / "own/.gitignore").read_bytes() == b"theirs\n"


def test_a_journal_whose_lock_cannot_be_asked_for_counts_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without locks no journal is removed that somebody may be writing."""

    def no_locks(*_: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    (tmp_path / FOLDER).mkdir(parents=True)
    for run in "abc":
        (tmp_path / FOLDER / f"envelope_validation.20260101T000000Z.{run}.jsonl").write_bytes(b"")

    retention.remove_old(str(tmp_path), retention.Retention(runs=1))

    assert len(list((tmp_path / FOLDER).iterdir())) == 3


@pytest.mark.parametrize(("link", "latest"), [("a", "a"), ("b", "b"), ("gone", "b")])
def test_the_link_tells_which_run_was_started_last(tmp_path: Path, link: str, latest: str) -> None:
    """Both were started within one second; a link that leads nowhere leaves it to the names."""
    for run in ("a", "b"):
        (tmp_path / f"envelope_validation.20260101T000000Z.{run}.jsonl").write_bytes(b"")
    (tmp_path / "envelope_validation.latest.jsonl").symlink_to(f"envelope_validation.20260101T000000Z.{link}.jsonl")

    (found,) = retention.find_latest_run(str(tmp_path))

    assert Path(found).name == f"envelope_validation.20260101T000000Z.{latest}.jsonl"


def test_a_run_holds_one_journal_at_a_time(tmp_path: Path) -> None:
    open_journal(str(tmp_path), run="r").close()
    hold = retention.RunHold(str(tmp_path), "r")

    hold.take()
    first = hold._held
    hold.take()

    assert first is not None
    assert hold._held not in {None, first}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(first)


def test_a_new_folder_is_hidden_as_a_whole_and_one_that_was_there_in_part(tmp_path: Path) -> None:
    for name in ("kept", "hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "hidden/.gitignore").write_bytes(b"*\n")
    for name in ("new", "kept", "hidden"):
        open_journal(str(tmp_path / name)).close()

    hidden = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob(".gitignore"))

    assert hidden == ["hidden/.gitignore", "kept/mcp_server/.gitignore", "new/.gitignore"]
    assert {(tmp_path / path).read_bytes() for path in hidden} == {b"*\n"}


def test_the_first_file_of_a_process_has_no_number_in_its_name(tmp_path: Path) -> None:
    for given in ({}, {"piece": 2}):
        open_journal(str(tmp_path), run="r", **given).close()
    open_journal(str(tmp_path), run="s", piece=1).close()

    names = sorted(path.name.split(".")[2:] for path in (tmp_path / FOLDER).iterdir() if not path.is_symlink())

    process = str(os.getpid())
    assert names == [["r", process, "2", "jsonl"], ["r", process, "jsonl"], ["s", process, "jsonl"]]


@pytest.mark.parametrize(("max_bytes", "left"), [(300, 3), (299, 2)])
def test_journals_may_be_as_large_as_allowed_together(tmp_path: Path, max_bytes: int, left: int) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    for run in "abc":
        (tmp_path / FOLDER / f"envelope_validation.20260101T000000Z.{run}.jsonl").write_bytes(b"x" * 100)

    retention.remove_old(str(tmp_path), retention.Retention(max_bytes=max_bytes))

    assert len(list((tmp_path / FOLDER).iterdir())) == left


@pytest.mark.parametrize(
    ("max_age_s", "left"), [(1000.0, [1001, 1000]), (None, [1001, 1000, 999, 0])], ids=["an age", "no age"]
)
def test_a_journal_is_removed_when_it_is_older_than_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_age_s: float | None, left: list[int]
) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    monkeypatch.setattr(retention.time, "time", lambda: 2000.0)
    for written_s in (0, 999, 1000, 1001):
        path = tmp_path / FOLDER / f"envelope_validation.20260101T000000Z.r.{written_s}.jsonl"
        path.write_bytes(b"x")
        os.utime(path, (written_s, written_s))

    retention.remove_old(str(tmp_path), retention.Retention(max_age_s=max_age_s))

    assert sorted((int(path.stat().st_mtime) for path in (tmp_path / FOLDER).iterdir()), reverse=True) == left
