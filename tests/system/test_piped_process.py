"""Child processes: they are killed with all that they started, limited by the system, kept for the next, and end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from signet.engines.pool import Pool
from signet.system.piped_process import ChildEndedError, PipedProcess
from signet.system.processes import ProcessLimits

ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line + b'=='); sys.stdout.buffer.flush()"
FAR_S = 60.0
MB = 1 << 20


def soon() -> float:
    return time.monotonic() + FAR_S


def python(script: str) -> list[str]:
    return [sys.executable, "-I", "-c", script]


@contextmanager
def child(script: str, folder: Path, memory_mb: int = 512, **environ: str) -> Iterator[PipedProcess]:
    process = PipedProcess(python(script), environ, cwd=str(folder), limits=ProcessLimits(memory_mb * MB))
    try:
        yield process
    finally:
        process.discard()


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_is_written_to_and_read_from(tmp_path: Path) -> None:
    with child(ECHO, tmp_path) as echo:
        large = b"x" * 300_000 + b"\n"
        echo.write(b"one\n" + large, soon())

        assert echo.read_until(b"==", soon(), 100) == b"one\n"
        assert echo.read(300_001, soon()) == large


def test_a_wait_ends_at_its_deadline(tmp_path: Path) -> None:
    with child(ECHO, tmp_path) as echo, pytest.raises(TimeoutError):
        echo.read(1, time.monotonic() + 0.05)


def test_a_child_that_ends_is_told_from_one_that_is_slow(tmp_path: Path) -> None:
    with child("print('x')", tmp_path) as ending:
        with pytest.raises(ChildEndedError):
            ending.read(100, soon())

        with pytest.raises(ChildEndedError):
            ending.write(b"y" * 1_000_000, soon())

        ending.close_input()
        with pytest.raises(ChildEndedError):
            ending.write(b"z", soon())


def test_more_than_the_bound_is_refused(tmp_path: Path) -> None:
    with child(ECHO, tmp_path) as echo:
        echo.write(b"x" * 50_000 + b"\n", soon())

        with pytest.raises(ValueError, match="more than 1000 bytes"):
            echo.read_until(b"never", soon(), 1000)


FIRST = "input()\n"
"""A child is limited while it starts, and gets nothing to work on before that."""


def test_it_has_no_environment_no_core_and_cannot_write_a_file(tmp_path: Path) -> None:
    script = FIRST + (
        "import os, resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "try:\n    with open('made', 'w') as file: file.write('x')\n    wrote = True\nexcept OSError: wrote = False\n"
        "core = resource.getrlimit(resource.RLIMIT_CORE)\n"
        "print(sorted(set(os.environ) - {'LC_CTYPE'}), os.getcwd(), wrote, core, '.')"
    )
    with child(script, tmp_path, KEPT="1") as limited:
        limited.write(b"\n", soon())
        said = limited.read_until(b".\n", soon(), 1000).decode()

    assert said == f"['KEPT'] {tmp_path} False (0, 0) "


def test_more_memory_than_its_limit_is_refused_by_the_system(tmp_path: Path) -> None:
    script = "try:\n    x = bytearray(400 << 20)\n    print('got it.')\nexcept MemoryError:\n    print('none.')"
    with child(FIRST + script, tmp_path, memory_mb=200) as limited:
        limited.write(b"\n", soon())
        assert limited.read_until(b".", soon(), 100) == b"none"


def test_what_it_has_started_is_killed_with_it(tmp_path: Path) -> None:
    script = "import subprocess\np = subprocess.Popen(['sleep', '600'])\nprint(p.pid, end='.', flush=True)\np.wait()"
    with child(script, tmp_path) as parent:
        grandchild = int(parent.read_until(b".", soon(), 100))
        assert is_running(grandchild)

        parent.kill()

        while is_running(grandchild):
            time.sleep(0.01)


def started(folders: list[str]) -> Pool:
    def start(folder: str) -> PipedProcess:
        folders.append(folder)
        return PipedProcess(python(ECHO), {}, cwd=folder)

    return Pool(start, idle_s=60)


def ask(used: PipedProcess) -> int:
    used.write(b"x\n", soon())
    used.read_until(b"==", soon(), 100)
    return used.pid


def test_a_child_is_kept_for_the_next_and_replaced_when_work_with_it_fails() -> None:
    folders: list[str] = []
    pool = started(folders)

    def fail(used: PipedProcess) -> None:
        raise TimeoutError

    try:
        first, again = pool.use(ask), pool.use(ask)
        with pytest.raises(TimeoutError):
            pool.use(fail)
        other = pool.use(ask)

        assert first == again != other
        assert not is_running(first)
        assert os.listdir(folders[0]) == []
    finally:
        pool.close()
    assert not is_running(other)
    assert not os.path.exists(folders[0])


def test_a_pool_that_is_closed_ends_the_work_of_others() -> None:
    pool = started([])
    begun = threading.Event()

    def wait(used: PipedProcess) -> None:
        begun.set()
        used.read(1, soon())

    with ThreadPoolExecutor(1) as threads:
        work = threads.submit(pool.use, wait)
        begun.wait()
        pool.close()

        with pytest.raises(ChildEndedError):
            work.result()


def test_a_closed_pool_gives_no_child() -> None:
    pool = started([])
    pool.close()

    with pytest.raises(ChildEndedError):
        pool.use(ask)


def test_an_idle_child_ends() -> None:
    pool = Pool(lambda folder: PipedProcess(python(ECHO), {}, cwd=folder), idle_s=0.05)
    try:
        pid = pool.use(ask)

        while is_running(pid):
            time.sleep(0.01)
    finally:
        pool.close()


def test_a_limit_that_signet_has_itself_is_kept(tmp_path: Path) -> None:
    """Only root may go beyond it: everybody else's `ulimit -t 600` would stop every child from starting."""
    inner = f"""
import os, resource, sys, time
sys.path[:] = {sys.path!r}
from signet.system.piped_process import PipedProcess
from signet.system.processes import ProcessLimits
resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
if os.getuid() == 0: os.setresuid(65534, 65534, 65534)
script = "import resource; print(resource.getrlimit(resource.RLIMIT_CPU), end='.')"
words = ["/usr/bin/env", "python3", "-I", "-c", script]
child = PipedProcess(words, {{"PATH": os.environ["PATH"]}}, cwd="/", limits=ProcessLimits(512 << 20))
print(child.read_until(b".", time.monotonic() + 30, 100).decode())
child.discard()
"""
    done = subprocess.run(python(inner), capture_output=True, text=True, check=False, timeout=60)

    assert (done.stdout, done.stderr) == ("(600, 600)\n", "")


def test_a_child_that_cannot_be_limited_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited: list[int] = []

    def refuse(pid: int, *_: object) -> None:
        limited.append(pid)
        raise PermissionError

    monkeypatch.setattr("resource.prlimit", refuse)
    with pytest.raises(PermissionError):
        PipedProcess(python(ECHO), {}, cwd=str(tmp_path), limits=ProcessLimits(512 * MB))

    assert not is_running(limited[0])


def test_all_that_is_written_until_the_end_is_read_with_the_status(tmp_path: Path) -> None:
    script = "import sys\nprint(sys.stdin.read() * 30000, end='')\nsys.exit(7)"
    with child(script, tmp_path) as ending:
        ending.write(b"abc", soon())

        assert ending.read_to_end(soon(), 100_000) == (b"abc" * 30_000, 7)
    with child("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", tmp_path) as killed:
        assert killed.read_to_end(soon(), 100) == (b"", -15)
    with child("print('x' * 1000)", tmp_path) as large, pytest.raises(ValueError, match="more than 100 bytes"):
        large.read_to_end(soon(), 100)


def test_folders_that_a_killed_signet_has_left_are_removed_after_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    now = time.time()
    for name, age_s in (("signet-engine-old", 90_000), ("signet-engine-new", 80_000), ("other-old", 90_000)):
        (tmp_path / name / "inside").mkdir(parents=True)
        os.utime(tmp_path / name, (now - age_s, now - age_s))
    (tmp_path / "signet-engine-link").symlink_to(tmp_path / "other-old")
    pool = started([])
    try:
        pool.use(ask)
    finally:
        pool.close()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["other-old", "signet-engine-link", "signet-engine-new"]
    assert (tmp_path / "other-old/inside").is_dir()


def test_a_folder_that_is_gone_is_made_again() -> None:
    folders: list[str] = []
    pool = started(folders)
    try:
        os.kill(pool.use(ask), signal.SIGKILL)
        os.rmdir(folders[0])
        with contextlib.suppress(ChildEndedError):
            pool.use(ask)
        pool.use(ask)

        assert os.path.isdir(folders[-1])
    finally:
        pool.close()


def test_a_last_line_needs_no_end_and_a_long_line_comes_in_parts(tmp_path: Path) -> None:
    with child("print('one\\ntwo two\\nthree', end='')", tmp_path) as speaking:
        lines = [speaking.read_line(soon(), 4) for _ in range(5)]

        with pytest.raises(ChildEndedError):
            speaking.read_line(soon(), 4)

    assert lines == [b"one\n", b"two ", b"two\n", b"thre", b"e"]
