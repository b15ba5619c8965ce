"""Files of our own: opened without following or waiting, locked, replaced whole or not at all."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from planted_files import LINKS, OBSTACLES, obstruct
from signet.system.files import lock, make_private_folders, open_private, read_regular, replacing

HOLDER = """
import os, sys
from signet.system.files import lock
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
    free = [lock(second), lock(second, wait_s=1.0)]
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


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT | os.O_APPEND])
@pytest.mark.parametrize("kind", OBSTACLES)
def test_only_a_regular_file_of_ones_own_is_opened(tmp_path: Path, kind: str, flags: int) -> None:
    path = tmp_path / "file"
    is_intact = obstruct(path, kind, tmp_path / "aside")
    descriptors = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []

    with pytest.raises(OSError, match=r"file|link|irectory") as caught:
        open_private(str(path), flags)

    assert caught.value.filename == str(path)
    assert (os.listdir("/proc/self/fd") if descriptors else []) == descriptors
    assert is_intact()


def test_a_socket_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        with pytest.raises(OSError, match="Not a regular file"):
            open_private("socket", os.O_RDWR | os.O_CREAT)


def test_a_file_of_another_user_is_not_opened(tmp_path: Path) -> None:
    path = Path("/etc/passwd")
    if os.geteuid() == 0:  # only root can give a file away, and for anybody else a file of root is another user's
        path = tmp_path / "file"
        path.touch()
        os.chown(path, 12345, 12345)

    with pytest.raises(PermissionError, match="Belongs to another user"):
        open_private(str(path), os.O_RDONLY | os.O_CREAT)


def test_a_file_that_is_moved_away_while_it_is_opened_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.touch()
    left = [2]
    opened = os.open

    def rotate(name: str, flags: int, mode: int = 0o777) -> int:
        if not flags & os.O_CREAT and left[0]:
            left[0] -= 1
            path.unlink()
            try:
                return opened(name, flags, mode)
            finally:
                if left[0]:
                    path.touch()
        return opened(name, flags, mode)

    monkeypatch.setattr(os, "open", rotate)
    file = open_private(str(path), os.O_RDWR | os.O_CREAT)
    os.close(file)

    assert (left[0], stat.S_IMODE(path.stat().st_mode)) == (0, 0o600)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path, umask: int) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"old")
    old.chmod(0o640)

    before = os.umask(umask)
    try:
        files = [open_private(str(path), os.O_RDWR | os.O_CREAT | os.O_APPEND) for path in (old, new)]
    finally:
        os.umask(before)
    blocking = [os.get_blocking(file) for file in files]
    for file in files:
        os.write(file, b"+")
        os.close(file)

    assert [stat.S_IMODE(path.stat().st_mode) for path in (old, new)] == [0o640, 0o600]
    assert [path.read_bytes() for path in (old, new)] == [b"old+", b"+"]
    assert blocking == [True, True]


def test_a_link_is_read_only_where_it_may_be_followed_and_nothing_but_a_file_behind_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    os.mkfifo(tmp_path / "fifo")
    for name in ("file", "fifo", "none"):
        (tmp_path / f"to {name}").symlink_to(name)

    content = read_regular(str(tmp_path / "to file"), follow_link=True)

    assert content == b"content"
    with pytest.raises(OSError, match="Is a symbolic link"):
        read_regular(str(tmp_path / "to file"))
    with pytest.raises(OSError, match="Not a regular file"):
        read_regular(str(tmp_path / "to fifo"), follow_link=True)
    with pytest.raises(FileNotFoundError):
        read_regular(str(tmp_path / "to none"), follow_link=True)


@pytest.mark.parametrize("kind", OBSTACLES)
def test_the_place_of_a_temporary_file_is_never_written_through(tmp_path: Path, kind: str) -> None:
    temporary = tmp_path / "file.new"
    is_intact = obstruct(temporary, kind, tmp_path / "aside")
    theirs = {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()}

    try:
        with replacing(str(tmp_path / "file"), str(temporary), private=True) as file:
            file.write(b"new")
    except OSError:
        assert is_intact()
        assert not (tmp_path / "file").exists()
    else:
        assert (tmp_path / "file").read_bytes() == b"new"
        assert (tmp_path / "file").is_symlink() is False
    assert {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()} == theirs


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_in_the_place_of_a_file_is_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    obstruct(path, kind, tmp_path / "aside")
    theirs = {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()}

    with replacing(str(path), f"{path}.new", private=True) as file:
        file.write(b"new")

    assert (path.is_symlink(), path.read_bytes()) == (False, b"new")
    assert {path: path.read_bytes() for path in (tmp_path / "aside").iterdir() if path.is_file()} == theirs


@pytest.mark.parametrize("kind", ["FIFO", "folder"])
def test_a_fifo_or_a_folder_in_the_place_of_a_file_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    is_intact = obstruct(path, kind, tmp_path / "aside")

    with pytest.raises(OSError, match=r"regular file|directory"), replacing(str(path), f"{path}.new"):
        pass

    assert is_intact()
    assert sorted(os.listdir(tmp_path)) == ["aside", "file"]


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o640)])
def test_a_replacement_is_private_or_follows_the_umask(tmp_path: Path, private: bool, mode: int) -> None:
    path = tmp_path / "file"

    before = os.umask(0o027)
    try:
        with replacing(str(path), f"{path}.new", private=private) as file:
            file.write(b"new")
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("path", ["a/b/c", "a/b/c/", "./a//b/c", "a/../a/b/c"])
def test_missing_folders_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)

    before = os.umask(0)
    try:
        make_private_folders(path)
        make_private_folders(path)
    finally:
        os.umask(before)

    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/c")]
    assert modes == [0o755, 0o700, 0o700]


@pytest.mark.parametrize("below", ["", "/b"])
@pytest.mark.parametrize("kind", [kind for kind in OBSTACLES if kind != "folder"])
def test_no_folder_is_made_in_the_place_of_something_else(tmp_path: Path, kind: str, below: str) -> None:
    path = tmp_path / "folder"
    is_intact = obstruct(path, kind, tmp_path / "aside")

    with pytest.raises(NotADirectoryError):
        make_private_folders(f"{path}{below}")

    assert is_intact()
