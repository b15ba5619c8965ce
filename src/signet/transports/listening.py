"""The sockets that a server listens on: an address and a port, or a path that only the user may open."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from typing import Any, Final

from .guard import LOOPBACK

__all__ = ["UNIX_PREFIX", "bind", "is_local", "path_of", "remove_own_paths", "remove_path"]

BACKLOG: Final = 2048
UNIX_PREFIX: Final = "unix:"
PRIVATE: Final = 0o177
"""The umask with which a path is made: only its owner may connect."""

_own_paths: Final[dict[str, tuple[int, int, int, int]]] = {}
"""The unix sockets of this process: its id, where the file system has them, and since when.

A new file may have the number of one that was removed.
"""


def is_local(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine only."""
    return host in LOOPBACK or host.startswith(("127.", UNIX_PREFIX))


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address, or on a path (`unix:PATH`); port 0 picks a free port.

    Raises:
        OSError: the address cannot be used.
    """
    if host.startswith(UNIX_PREFIX):
        return _bind_path(host.removeprefix(UNIX_PREFIX))
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _listen(listener, address)


def _bind_path(path: str) -> socket.socket:
    """Return a socket that listens on a path; a socket that a dead server left there is replaced.

    The path has its rights from the moment it exists: those that are changed later leave a time with others.
    """
    remove_path(path)
    before = os.umask(PRIVATE)
    try:
        listener = _listen(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), path)
    finally:
        os.umask(before)
    own = os.lstat(path)
    _own_paths[os.path.abspath(path)] = os.getpid(), own.st_dev, own.st_ino, own.st_mtime_ns
    return listener


def remove_own_paths() -> None:
    """Remove the unix sockets that this process has made: not those of its parent, nor what has taken their place."""
    for path, (pid, *node) in _own_paths.items():
        with suppress(OSError):
            found = os.lstat(path)
            if pid == os.getpid() and node == [found.st_dev, found.st_ino, found.st_mtime_ns]:
                os.unlink(path)
    _own_paths.clear()


def path_of(listener: socket.socket) -> str:
    """Return the path of a unix socket; empty for any other."""
    address = listener.getsockname() if listener.family == getattr(socket, "AF_UNIX", None) else ""
    return address if isinstance(address, str) else ""


def remove_path(path: str) -> None:
    """Remove a unix socket without a listener; anything else stays.

    Raises:
        OSError: it cannot be removed.
    """
    if not os.path.lexists(path) or not stat.S_ISSOCK(os.lstat(path).st_mode):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except BlockingIOError:
            # Somebody listens, and has many connections to accept.
            return


def _listen(listener: socket.socket, address: tuple[Any, ...] | str) -> socket.socket:
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.settimeout(0)
    listener.set_inheritable(True)
    return listener
