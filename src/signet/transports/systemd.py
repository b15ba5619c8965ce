"""What systemd hands to a service and wants to hear of it: the socket of a unit, and the state of the process."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Final

__all__ = ["inherited_socket", "notify"]

FIRST_FD: Final = 3
"""The number of the first socket that systemd passes."""

FAMILIES: Final = {socket.AF_INET, socket.AF_INET6, socket.AF_UNIX}


def inherited_socket(environ: Mapping[str, str], pid: int) -> socket.socket | None:
    """Return the listening socket that systemd passes to this process, or None.

    Raises:
        OSError: what was passed is no listening stream socket, or is more than one.
    """
    if environ.get("LISTEN_PID") != str(pid):
        return None
    if environ.get("LISTEN_FDS") != "1":
        raise OSError(0, f"{environ.get('LISTEN_FDS', 'none')} sockets were passed, and one is needed")
    listener = socket.socket(fileno=os.dup(FIRST_FD))
    os.close(FIRST_FD)
    is_stream = listener.type == socket.SOCK_STREAM
    if not is_stream or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        listener.close()
        raise OSError(0, "the socket that was passed does not listen for connections")
    if listener.family not in FAMILIES:
        listener.close()
        raise OSError(0, "the socket that was passed has no address of IPv4, IPv6 or Unix")
    listener.settimeout(0)
    listener.set_inheritable(True)
    return listener


def notify(state: str, environ: Mapping[str, str] = os.environ) -> None:
    """Tell systemd the state of the service, where it wants to know: `READY=1`, `STOPPING=1`."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    address = "\0" + address[1:] if address[0] == "@" else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as channel:
            channel.connect(address)
            channel.sendall(state.encode())
    except OSError:
        # Nobody listens; the service goes on.
        return
