"""SIGHUP: an operator's request to reload, or the end of the terminal that the server was started on.

    the kernel sent it                              the terminal has ended: stop
    the shell sent it, and the terminal is gone     the shell passes the end of the terminal on: stop
    anybody else sent it, or SIGHUP was ignored     an operator, or `nohup`: reload

The sender is known to `sigwaitinfo` alone, so a thread waits for the signal, which is blocked in all other threads.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from functools import cache
from typing import Final

__all__ = ["Hangup", "block_hangup"]

SI_KERNEL: Final = 0x80
"""The `si_code` of a signal that the kernel sends by itself."""


def block_hangup() -> None:
    """Keep SIGHUP for `Hangup`; called at the start of a process, before a thread is started that would take it."""
    if hasattr(signal, "SIGHUP"):
        _heralds()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


@cache
def _heralds() -> frozenset[int]:
    """Return the processes that pass on the end of the terminal, as they are at the first call; none under `nohup`."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN or not _has_terminal():
        return frozenset()
    return frozenset({os.getsid(0), os.getppid()})


class Hangup:
    """Waits for SIGHUP and tells a reload from a stop."""

    def __init__(self, on_reload: Callable[[], object], on_stop: Callable[[], object]) -> None:
        """Take what is done on SIGHUP; both functions are called in a thread of their own."""
        self._on_reload = on_reload
        self._on_stop = on_stop

    def watch(self) -> None:
        """Obey each SIGHUP from now on."""
        block_hangup()
        # Instead of a disposition to ignore it, and for a thread of somebody else's that does not block it.
        signal.signal(signal.SIGHUP, lambda *_: self._on_reload())
        threading.Thread(target=self._wait, name="signet-hangup", daemon=True).start()

    def _wait(self) -> None:
        # All other signals are the main thread's.
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        while True:
            if _is_end_of_terminal():
                self._on_stop()
            else:
                self._on_reload()


def _is_end_of_terminal() -> bool:
    """Wait for the next SIGHUP; return whether the terminal that the process was started on has ended."""
    heralds = _heralds()
    if not hasattr(signal, "sigwaitinfo"):
        signal.sigwait({signal.SIGHUP})
        return bool(heralds) and not _has_terminal()
    found = signal.sigwaitinfo({signal.SIGHUP})
    if found.si_code == SI_KERNEL:
        return bool(heralds)
    return found.si_pid in heralds and not _has_terminal()


def _has_terminal() -> bool:
    """Return whether the process has a terminal that could be closed under it."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        return False
    return True
