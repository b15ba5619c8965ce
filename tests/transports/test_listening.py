"""The sockets that a server listens on: who may open one, and what becomes of its path."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import PATIENCE_S
from signet.transports.listening import UNIX_PREFIX, bind, is_local, path_of, remove_own_paths, remove_path

FORKED = """
import os, sys
from signet.transports.listening import bind, remove_own_paths

bind("unix:" + sys.argv[1], 0)
child = os.fork()
if child == 0:
    remove_own_paths()
    os._exit(0)
os.waitpid(child, 0)
print(os.path.exists(sys.argv[1]))
remove_own_paths()
print(os.path.exists(sys.argv[1]))
"""
"""A worker that ends leaves the socket to its supervisor."""


@contextlib.contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "socket"
    remove_own_paths()


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_nobody_but_the_user_may_open_a_unix_socket_whatever_the_umask(path: Path, mask: int) -> None:
    with umask(mask):
        with bind(f"{UNIX_PREFIX}{path}", 0) as listener:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert path_of(listener) == str(path)
        assert os.umask(mask) == mask


def test_a_socket_that_a_dead_server_left_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    before = path.stat().st_ino, path.stat().st_ctime_ns

    with bind(f"{UNIX_PREFIX}{path}", 0), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        assert (path.stat().st_ino, path.stat().st_ctime_ns) != before


@pytest.mark.parametrize("waiting", [0, 3])
def test_the_socket_of_a_server_that_lives_stays_however_many_wait_for_it(path: Path, waiting: int) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(path))
        server.listen(1)
        for _ in range(waiting):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(0)
            with contextlib.suppress(BlockingIOError):
                client.connect(str(path))
        remove_path(str(path))
        with pytest.raises(OSError, match="in use"):
            bind(f"{UNIX_PREFIX}{path}", 0)

    assert path.is_socket()


def test_what_is_no_socket_is_not_replaced(path: Path) -> None:
    path.write_text("kept")

    with pytest.raises(OSError, match="in use"):
        bind(f"{UNIX_PREFIX}{path}", 0)

    assert path.read_text() == "kept"


def test_at_the_end_a_path_is_removed_and_what_took_its_place_stays(path: Path) -> None:
    """A server that was started anew may listen on the path before the old one has ended."""
    bind(f"{UNIX_PREFIX}{path}", 0).close()
    path.chmod(0o660)
    remove_own_paths()
    is_gone = not path.exists()
    bind(f"{UNIX_PREFIX}{path}", 0).close()
    path.unlink()
    with socket.socket(socket.AF_UNIX) as another:
        another.bind(str(path))
        remove_own_paths()

        assert (is_gone, path.is_socket()) == (True, True)


def test_a_forked_process_does_not_remove_the_socket_of_its_parent(path: Path) -> None:
    command = [sys.executable, "-c", FORKED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)

    assert done.stdout == "True\nFalse\n"


def test_a_port_is_bound_and_never_by_two() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        assert (path_of(first), first.gettimeout(), first.get_inheritable()) == ("", 0.0, True)
        with pytest.raises(OSError, match="in use"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("::1", True),
        ("127.5.6.7", True),
        ("unix:/x", True),
        ("0.0.0.0", False),
        ("12.7.0.1", False),
    ],
)
def test_an_address_is_of_this_machine_or_not(host: str, local: bool) -> None:
    assert is_local(host) is local
