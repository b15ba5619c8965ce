"""Files of lines: complete lines whatever happens, one file behind the other, one warning an outage."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planted_files import OBSTACLES, obstruct
from signet.system.line_file import LineFile, RotatingFile, WriteOutage, last_line


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as on a disk that is full then."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_new_file_is_private_and_an_existing_one_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for line in (b"one\n", b"two\n"):
        file = LineFile(str(path))
        file.append(line)
        file.close()

    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_must_be_new_is_refused_where_one_exists(tmp_path: Path) -> None:
    LineFile(str(tmp_path / "lines"), is_new=True).close()

    with pytest.raises(FileExistsError):
        LineFile(str(tmp_path / "lines"), is_new=True)


@pytest.mark.parametrize("kind", OBSTACLES)
def test_nothing_but_a_regular_file_of_one_name_is_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lines"
    is_intact = obstruct(path, kind, tmp_path / "aside")

    with pytest.raises(OSError, match=str(path)):
        LineFile(str(path))

    assert is_intact()


def test_lines_that_fit_on_a_full_disk_are_kept_and_the_one_that_was_cut_off_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    file = LineFile(str(path))
    with disk_of(25):
        sizes = [file.append(b"0123456\n" * 5), file.append(b"x\n" * 5) if path.stat().st_size < 25 else 0]
    again = file.append(b"again\n")
    file.close()

    assert (sizes[0], again) == (24, 6)
    assert path.read_bytes() == b"0123456\n" * 3 + b"again\n"


def test_lines_that_belong_together_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    file = LineFile(str(path))
    file.append_all(b"first\n", sync=True)
    with disk_of(25), pytest.raises(OSError, match="No space left on device"):
        file.append_all(b"0123456\n" * 5)
    file.append_all(b"last\n")
    file.close()

    assert path.read_bytes() == b"first\nlast\n"


def test_lines_that_cannot_be_synced_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "lines"
    file = LineFile(str(path))
    file.append(b"first\n")
    monkeypatch.setattr("os.fsync", fail)

    with pytest.raises(OSError, match="Input/output error"):
        file.append_all(b"second\n", sync=True)
    file.close()

    assert path.read_bytes() == b"first\n"


@pytest.mark.parametrize(
    ("content", "line", "left"),
    [
        (b"", b"", b""),
        (b"one\n", b"one\n", b"one\n"),
        (b"one\ntwo\n", b"two\n", b"one\ntwo\n"),
        (b"one\ntwo\nthr", b"two\n", b"one\ntwo\n"),
        (b"\n\n", b"\n", b"\n\n"),
        (b"cut off", b"", b""),
        (b"one\n" + b"x" * 300_000 + b"\n" + b"y" * 300_000, b"x" * 300_000 + b"\n", b"one\n" + b"x" * 300_000 + b"\n"),
    ],
    ids=["empty", "one", "two", "a part", "empty lines", "no line", "long lines"],
)
def test_the_end_of_a_file_is_repaired_and_its_last_line_is_known(
    tmp_path: Path, content: bytes, line: bytes, left: bytes
) -> None:
    path = tmp_path / "lines"
    path.write_bytes(content)
    file = LineFile(str(path))

    found = file.repair()
    file.close()

    assert (found, path.read_bytes()) == (line, left)


def test_no_more_of_a_file_is_read_than_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\n" + b"x" * 100 + b"\n")
    file = LineFile(str(path))

    found = [last_line(file.descriptor, 105, 50), last_line(file.descriptor, 104, 50), last_line(file.descriptor, 4)]
    file.close()

    assert found == [(b"x" * 49 + b"\n", 105), (b"", 0), (b"one\n", 4)]


HOLDER = """
import sys
from signet.system.line_file import LineFile
print(LineFile(sys.argv[1]).lock(), flush=True)
input()
"""


def test_one_process_at_a_time_holds_the_lock_and_one_that_is_killed_holds_none(tmp_path: Path) -> None:
    path = str(tmp_path / "lines")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    held = holder.stdout.readline()
    file = LineFile(path)

    before = file.lock()
    holder.kill()
    holder.communicate()
    after = file.lock(wait_s=10.0)
    file.close()

    assert (held, before, after) == ("True\n", False, True)


def test_a_file_system_without_locks_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", fail)
    file = LineFile(str(tmp_path / "lines"))

    assert file.lock() is True
    file.close()


def test_a_file_that_is_full_stays_open_until_there_are_lines_for_the_next_one(tmp_path: Path) -> None:
    def begin(number: int) -> LineFile:
        return LineFile(str(tmp_path / str(number)), is_new=True)

    files, seen = RotatingFile(begin, max_bytes=10), []
    for _ in range(5):
        file, size = files.current()
        file.append(b"01234\n", size)
        seen.append((Path(file.path).name, size, sorted(path.name for path in tmp_path.iterdir())))

    assert seen == [
        ("1", 0, ["1"]),
        ("1", 6, ["1"]),
        ("2", 0, ["1", "2"]),
        ("2", 6, ["1", "2"]),
        ("3", 0, ["1", "2", "3"]),
    ]


def test_an_old_file_is_followed_by_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    files = RotatingFile(lambda number: LineFile(str(tmp_path / str(number))), max_age_s=60.0)

    names = []
    for later_s in (0.0, 59.0, 1.0, 59.0):
        now_s[0] += later_s
        names.append(Path(files.current()[0].path).name)

    assert names == ["1", "1", "2", "2"]


def test_a_file_that_cannot_be_begun_is_tried_again_under_its_number(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    files = RotatingFile(lambda number: LineFile(str(tmp_path / str(number))))
    with pytest.raises(IsADirectoryError):
        files.current()
    (tmp_path / "1").rmdir()

    assert Path(files.current()[0].path).name == "1"


def test_an_outage_is_one_warning_and_one_message_when_it_is_over() -> None:
    told: list[str] = []
    outage = WriteOutage(told.append, "lines of {} requests could not")
    outage.end()
    for _ in range(3):
        outage.note(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "/logs")
    outage.end()
    outage.end()
    outage.note("no room")

    assert told == [
        "No space left on device: /logs",
        "it can be written again; lines of 3 requests could not",
        "no room",
    ]


def test_the_warning_names_the_file_that_failed_if_it_is_known() -> None:
    told: list[str] = []
    outage = WriteOutage(told.append)
    outage.note(OSError(errno.EACCES, os.strerror(errno.EACCES), "/logs/file"), "/logs")
    outage.end()

    assert told == ["Permission denied: /logs/file", "it can be written again"]
