"""Development mode over HTTP: the socket stays, and each generation of the tools serves it in turn."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Final

from signet.transports.listening import path_of, remove_path

from .generation import STOP, Ready
from .reloader import READY_S, Generation, Reloader

__all__ = ["HttpReloader"]

STOP_S: Final = 5.0
"""The time that a process has to say that it accepts nothing more."""


class _FirstGeneration(Generation):
    """A process that binds the socket, whose address is among the settings that it reads, and hands it over."""

    listener: socket.socket | None = None

    def ready(self) -> Ready | None:
        self.control.settimeout(READY_S)
        try:
            data, fds, _, _ = socket.recv_fds(self.control, 1, 1)
        except OSError:
            self.process.kill()
            return None
        if not data:
            return None
        self.listener = socket.socket(fileno=fds[0])
        return super().ready()


class HttpReloader(Reloader):
    """Keeps the listening socket while processes come and go."""

    def __init__(self, words: list[str]) -> None:
        super().__init__(words)
        self._listener: socket.socket | None = None
        self._ending: list[Generation] = []
        """The processes that answer their last calls."""

    def start(self) -> Generation:
        """Start a process on the socket."""
        if self._listener is None:
            return _FirstGeneration("serve", self.words)
        return Generation("serve", self.words, self._listener)

    def switch(self, old: Generation | None, new: Generation) -> None:
        """Tell the old process to accept nothing more, and wait for its word that it does not."""
        if isinstance(new, _FirstGeneration):
            self._listener = new.listener
        if old is None or old.process.has_ended():
            return
        old.control.settimeout(STOP_S)
        try:
            old.control.sendall(STOP)
            old.control.recv(1)
        except OSError:
            # It has ended, or a tool holds its event loop: its calls would never be answered.
            old.process.kill()
        self._ending = [one for one in self._ending if not one.process.has_ended()] + [old]
        threading.Thread(target=old.process.reap, daemon=True).start()

    def finish(self) -> None:
        """Let all processes answer the calls in flight."""
        ends = [threading.Thread(target=one.end) for one in (*self._ending, self.current) if one is not None]
        for end in ends:
            end.start()
        for end in ends:
            end.join()
        if self._listener is not None and (path := path_of(self._listener)):
            self._listener.close()
            with suppress(OSError):
                remove_path(path)
