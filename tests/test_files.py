"""Files that several processes share: the lock, and replacement whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signet.files import lock, replacing

HOLDER = """
import os, sys
from signet.files import lock
lock(os.open(sys.argv[1], os.O_RDWR))
print(flush=True)
input()
"""
"""A process that locks a file and waits."""


def test_a_locked_file_is_free_again_once_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))

    held = [lock(first), lock(second)]
    os.close(first)
    free = [lock(second), lock(second, wait=True)]
    os.close(second)

    assert (held, free) == ([True, False], [True, True])


def test_the_lock_of_a_process_that_is_killed_is_free(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    path.touch()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    file = os.open(path, os.O_RDWR)

    before = lock(file)
    holder.kill()
    holder.communicate()
    after = lock(file)
    os.close(file)

    assert (before, after) == (False, True)


@pytest.mark.parametrize("sync", [False, True], ids=["plain", "sync"])
def test_a_file_is_replaced_when_all_of_it_is_written(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    with replacing(str(path), f"{path}.new", sync=sync) as file:
        file.write(b"new")
        during = path.read_bytes()

    assert (during, path.read_bytes()) == (b"old", b"new")
    assert os.listdir(tmp_path) == ["file"]


def write_half(path: Path, error: type[BaseException]) -> None:
    with replacing(str(path), f"{path}.new") as file:
        file.write(b"new")
        raise error


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    with pytest.raises(error):
        write_half(path, error)

    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
