"""Turns that all processes of a user on this machine share: one small file, locked for each step.

A slot of the file holds the state of one service: the boot, the time of the last request, who holds the turn and how
long. Times are those of the monotonic clock, which is one for all processes. A slot that cannot be understood counts as
a request that was sent just now. Services whose names fall into one slot share their turns.

Behind the slots is a stamp: when the file was made. A file may be removed while requests are under way; in the next
one, a slot that was never used counts as a request sent when the file was made, unless nothing was there before.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Final, NamedTuple

from signet.kernel.turns import HELD_POLL_S, HOLD_S, MAX_SETTLE_S, TurnsError
from signet.system.files import lock, make_private_folders, open_private, user_cache

__all__ = ["MachineTurns", "turn_folders"]

FILE: Final = "turns"
SLOTS: Final = 1024
SLOT_BYTES: Final = 128
NOBODY: Final = "-"
NEVER: Final = -1

SECOND_NS: Final = 1_000_000_000
HOLD_NS: Final = int(HOLD_S * SECOND_NS)
SETTLE_NS: Final = int(MAX_SETTLE_S * SECOND_NS)
LOCK_RETRY_S: Final = 0.002
STAMP: Final = SLOTS * SLOT_BYTES
"""The place of the stamp."""
FRESH_NS: Final = SECOND_NS
"""The age up to which a process that finds no folder takes the machine for a new one."""
MAX_LOCKED_S: Final = 2.0
"""The time after which a lock that another process does not give up is an error."""


class _State(NamedTuple):
    """The state of one service's turn."""

    sent_ns: int = NEVER
    """The time of the last request."""
    owner: str = NOBODY
    until_ns: int = 0
    """The time until which the owner holds the turn; 0 where its request was the last one."""
    is_sound: bool = True

    def is_held(self, now_ns: int) -> bool:
        return self.owner != NOBODY and self.until_ns > now_ns


class MachineTurns:
    """Turns in a file of the user. Without a folder for it, a single process has its turns for itself."""

    def __init__(
        self, folders: Callable[[], Sequence[str]], processes: int = 1, clock_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        """Keep the file in the first folder that can be used; nothing is opened before the first turn."""
        self._folders = folders
        self._processes = processes
        self._clock_ns = clock_ns
        self._path: str | None = None
        self._since_ns = clock_ns()
        self._known: tuple[int, int] | None = None
        """The file that was used last."""
        self._made_folder = False

    async def take(self, name: str, owner: str, interval_s: float) -> float:
        """Return 0 if the owner holds the turn now, otherwise the seconds after which to ask again."""
        async with self._locked() as file:
            if file is None:
                return 0.0
            now_ns, place = self._clock_ns(), _place(name)
            state = _read(file, place, now_ns)
            if state.is_held(now_ns) and state.owner != owner:
                return HELD_POLL_S
            free_ns = state.sent_ns + int(interval_s * SECOND_NS) if state.sent_ns != NEVER else now_ns
            if free_ns <= now_ns:
                _write(file, place, _State(state.sent_ns, owner, now_ns + HOLD_NS))
                return 0.0
            if not state.is_sound:
                _write(file, place, state)
            return (free_ns - now_ns) / SECOND_NS

    async def start(self, name: str, owner: str, settle_s: float) -> bool:
        """Count the request as sent in `settle_s` from now; return False if the turn is no longer held."""
        async with self._locked() as file:
            if file is None:
                return True
            now_ns, place = self._clock_ns(), _place(name)
            state = _read(file, place, now_ns)
            is_mine = state.owner == owner and state.is_held(now_ns)
            if is_mine:
                _write(file, place, _State(now_ns + int(settle_s * SECOND_NS), owner))
            return is_mine

    async def end(self, name: str, owner: str) -> None:
        """Count the request as sent now at the latest; give the turn up if nothing was sent."""
        async with self._locked() as file:
            if file is None:
                return
            now_ns, place = self._clock_ns(), _place(name)
            state = _read(file, place, now_ns)
            if state.owner == owner:
                _write(file, place, _State(min(state.sent_ns, now_ns)))

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[int | None]:
        """Give the file, locked; None where the only process needs none."""
        try:
            file = await self._open_locked()
            try:
                yield file
            finally:
                if file is not None:
                    os.close(file)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise TurnsError(f"the file of turns cannot be used ({why})") from None

    async def _open_locked(self) -> int | None:
        """Open and lock the file that is there; one that was removed meanwhile is nobody's turn."""
        while (file := self._open()) is not None:
            try:
                await _lock(file)
                if self._is_current(file):
                    self._stamp(file)
                    return file
            except BaseException:
                os.close(file)
                raise
            os.close(file)
        return None

    def _is_current(self, file: int) -> bool:
        try:
            return bool(self._path) and os.path.samestat(os.stat(str(self._path)), os.fstat(file))
        except FileNotFoundError:
            return False

    def _stamp(self, file: int) -> None:
        """Note when the file was made, if it is new or takes the place of one that this process knew."""
        status, now_ns = os.fstat(file), self._clock_ns()
        identity = status.st_dev, status.st_ino
        was, self._known = self._known, identity
        is_fresh = was is None and self._made_folder and now_ns - self._since_ns < FRESH_NS
        is_other = was not in (None, identity)
        if not status.st_size or (is_other and _read(file, STAMP, now_ns).sent_ns == NEVER):
            _write(file, STAMP, _State(NEVER if is_fresh else now_ns))

    def _open(self) -> int | None:
        if self._path is not None:
            if not self._path:
                return None
            # With its folder, which may have gone with it.
            return _open_in(os.path.dirname(self._path))
        if _has_locks():
            for folder in self._folders():
                had_folder = os.path.isdir(folder)
                try:
                    file = _open_in(folder)
                except OSError as error:
                    if error.errno in {errno.EMFILE, errno.ENFILE, errno.EINTR}:
                        # Says nothing about the folder; another process would choose another one.
                        raise
                    continue
                self._path, self._made_folder = os.path.join(folder, FILE), not had_folder
                return file
        if self._processes > 1:
            raise TurnsError("no folder can be written in which processes share their turns: set XDG_CACHE_HOME")
        self._path = ""
        return None


def turn_folders() -> tuple[str, ...]:
    """Return the folders for the file of turns, the best first."""
    from tempfile import gettempdir

    user = os.geteuid() if hasattr(os, "geteuid") else 0
    return user_cache(), os.path.join(gettempdir(), f"signet-{user}")


async def _lock(file: int) -> None:
    import asyncio

    until_s = time.monotonic() + MAX_LOCKED_S
    while not lock(file):
        if time.monotonic() > until_s:
            raise TurnsError("another process does not give up the file of turns")
        await asyncio.sleep(LOCK_RETRY_S)


def _open_in(folder: str) -> int:
    """Open the file in a folder that belongs to this user alone; a folder of somebody else is refused."""
    make_private_folders(folder)
    if hasattr(os, "geteuid") and os.stat(folder).st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "Belongs to another user", folder)
    return open_private(os.path.join(folder, FILE), os.O_RDWR | os.O_CREAT)


@cache
def _place(name: str) -> int:
    from hashlib import sha256

    return int.from_bytes(sha256(name.encode()).digest()[:4]) % SLOTS * SLOT_BYTES


def _read(file: int, place: int, now_ns: int) -> _State:
    """Return the state of a slot; one that cannot be true counts as a request sent now."""
    data = os.pread(file, SLOT_BYTES, place).rstrip(b"\0 \n")
    if not data:
        return _State() if place == STAMP else _State(_read(file, STAMP, now_ns).sent_ns)
    try:
        boot, sent, owner, until = data.decode("ascii").split()
        state = _State(int(sent), owner, int(until))
    except ValueError:
        return _State(now_ns, is_sound=False)
    is_possible = NEVER <= state.sent_ns <= now_ns + SETTLE_NS and state.until_ns <= now_ns + HOLD_NS
    is_true = is_possible and boot == _boot()
    return state if is_true else _State(now_ns, is_sound=False)


def _write(file: int, place: int, state: _State) -> None:
    text = f"{_boot()} {state.sent_ns} {state.owner} {state.until_ns}\n".encode("ascii")
    os.pwrite(file, text.ljust(SLOT_BYTES), place)


@cache
def _boot() -> str:
    """Return what names this boot of the machine: the clock begins anew with each."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()[:36] or NOBODY
    except (OSError, ValueError):
        return NOBODY


@cache
def _has_locks() -> bool:
    try:
        import fcntl  # noqa: F401 - Windows has none
    except ImportError:
        return False
    return True
