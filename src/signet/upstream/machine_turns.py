"""Turns that all processes of a user on this machine share: a small SQLite file, one transaction for each step.

    turns(name, boot, sent_ns, owner, until_ns)      the state of each service, and of the file itself under no name

Times are those of the monotonic clock, which is one for all processes. A state that cannot be true counts as a request
that was sent just now, and a file that SQLite cannot read is replaced by a new one.

The state under no name says when the file was made. A file may be removed while requests are under way; in the next
one, a service without a state counts as one whose request was sent when the file was made, unless nothing was there
before. A state that is dropped, because there are many, moves that time on.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from signet.kernel.turns import HELD_POLL_S, HOLD_S, MAX_SETTLE_S, TurnsError
from signet.system.files import check_private, make_private_folders, open_private, user_cache

if TYPE_CHECKING:
    import sqlite3

__all__ = ["MachineTurns", "turn_folders"]

T = TypeVar("T")

FILE: Final = "turns.sqlite"
MAX_SERVICES: Final = 1024
"""The number of services whose states are kept; those whose turns were used last, or are held."""
OF_FILE: Final = ""
"""The name under which the file has its own state."""
NOBODY: Final = "-"
NEVER: Final = -1

SECOND_NS: Final = 1_000_000_000
HOLD_NS: Final = int(HOLD_S * SECOND_NS)
SETTLE_NS: Final = int(MAX_SETTLE_S * SECOND_NS)
LOCK_RETRY_S: Final = 0.002
FRESH_NS: Final = SECOND_NS
"""The age up to which a process that finds no folder takes the machine for a new one."""
MAX_LOCKED_S: Final = 2.0
"""The time after which a lock that another process does not give up is an error."""

BUSY: Final = frozenset({5, 6})
"""The codes of SQLite (BUSY, LOCKED) for a file that another process has locked."""
BROKEN: Final = frozenset({1, 11, 17, 19, 20, 24, 26})
"""Those for a file that is not ours or was damaged: ERROR, CORRUPT, SCHEMA, CONSTRAINT, MISMATCH, FORMAT, NOTADB."""
LOCKED: Final = "another process does not give up the file of turns"
REPLACED: Final = "the file of turns is removed or replaced again and again"

CREATE: Final = "CREATE TABLE IF NOT EXISTS turns (name TEXT PRIMARY KEY, boot, sent_ns, owner, until_ns) WITHOUT ROWID"
READ: Final = "SELECT name, boot, sent_ns, owner, until_ns FROM turns WHERE name = ?"
WRITE: Final = "INSERT OR REPLACE INTO turns (name, boot, sent_ns, owner, until_ns) VALUES (?, ?, ?, ?, ?)"
EXCESS: Final = (
    "SELECT * FROM turns WHERE name NOT IN ('', ?) "
    "ORDER BY boot = ? DESC, max(sent_ns, until_ns) DESC LIMIT -1 OFFSET ?"
)
DROP: Final = "DELETE FROM turns WHERE name = ?"


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
        self._path = ""
        self._is_sought = False
        """Whether a folder was looked for; without a path, none can be used."""
        self._since_ns = clock_ns()
        self._known = ""
        """What names the file that was used last."""
        self._made_folder = False

    async def take(self, name: str, owner: str, interval_s: float) -> float:
        """Return 0 if the owner holds the turn now, otherwise the seconds after which to ask again."""

        def step(file: _File) -> float:
            state, now_ns = file.read(name), file.now_ns
            if state.is_held(now_ns) and state.owner != owner:
                return HELD_POLL_S
            free_ns = state.sent_ns + int(interval_s * SECOND_NS) if state.sent_ns != NEVER else now_ns
            if free_ns <= now_ns:
                file.write(name, _State(state.sent_ns, owner, now_ns + HOLD_NS))
                return 0.0
            if not state.is_sound:
                file.write(name, state)
            return (free_ns - now_ns) / SECOND_NS

        return await self._run(step, 0.0)

    async def start(self, name: str, owner: str, settle_s: float) -> bool:
        """Count the request as sent in `settle_s` from now; return False if the turn is no longer held."""

        def step(file: _File) -> bool:
            state, now_ns = file.read(name), file.now_ns
            is_mine = state.owner == owner and state.is_held(now_ns)
            if is_mine:
                file.write(name, _State(now_ns + int(settle_s * SECOND_NS), owner))
            return is_mine

        return await self._run(step, True)  # noqa: FBT003 - the answer of a process that is alone

    async def end(self, name: str, owner: str) -> None:
        """Count the request as sent now at the latest; give the turn up if nothing was sent."""

        def step(file: _File) -> None:
            state = file.read(name)
            if state.owner == owner:
                file.write(name, _State(min(state.sent_ns, file.now_ns)))

        await self._run(step, None)

    async def _run(self, step: Callable[[_File], T], alone: T) -> T:
        """Return the answer of a step in a transaction; `alone` where the only process needs no file."""
        import asyncio

        until_s = time.monotonic() + MAX_LOCKED_S
        while True:
            try:
                return self._transact(self._path, step) if self._find() else alone
            except BlockingIOError as error:
                if time.monotonic() > until_s:
                    raise TurnsError(error.strerror) from None
                await asyncio.sleep(LOCK_RETRY_S)
            except OSError as error:
                why = error.strerror or type(error).__name__
                raise TurnsError(f"the file of turns cannot be used ({why})") from None

    def _find(self) -> bool:
        """Make the file, unless it exists; return False where no folder can be used, and none is needed."""
        if self._path:
            # With its folder, which may have gone with it.
            _make_in(os.path.dirname(self._path))
        if self._is_sought:
            return bool(self._path)
        for folder in self._folders() if _has_sqlite() else ():
            had_folder = os.path.isdir(folder)
            try:
                self._path = _make_in(folder)
            except OSError as error:
                if error.errno in {errno.EMFILE, errno.ENFILE, errno.EINTR}:
                    # Says nothing about the folder; another process would choose another one.
                    raise
                continue
            self._is_sought, self._made_folder = True, not had_folder
            return True
        if self._processes > 1:
            raise TurnsError("no folder can be written in which processes share their turns: set XDG_CACHE_HOME")
        self._is_sought = True
        return False

    def _transact(self, path: str, step: Callable[[_File], T]) -> T:
        """Return the answer of a step, in one transaction of a connection of its own.

        Raises:
            BlockingIOError: another process has locked the file, or it was broken, or is another one by now.
            OSError: the file cannot be used.
        """
        import sqlite3

        identity = _identity(path)
        try:
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as database:
                # The state of a boot need not outlive it: nothing is synced to the disk.
                database.execute("PRAGMA synchronous = OFF")
                database.execute("PRAGMA journal_mode = PERSIST")
                # Not IMMEDIATE: a commit has to wait for nobody who reads.
                database.execute("BEGIN EXCLUSIVE")
                if _identity(path) != identity:
                    raise BlockingIOError(errno.EAGAIN, REPLACED, path)
                database.execute(CREATE)
                file = _File(database, self._clock_ns())
                known = self._stamp(file)
                answer = step(file)
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise _explained(error, path, identity) from None
        self._known = known
        return answer

    def _stamp(self, file: _File) -> str:
        """Note when the file was made, if it is new or takes the place of one that this process knew; return its name.

        The name is random: a file that takes the place of another one may have its inode too.
        """
        state = file.read(OF_FILE)
        if state.owner == NOBODY:
            is_fresh = not self._known and self._made_folder and file.now_ns - self._since_ns < FRESH_NS
            state = _State(NEVER if is_fresh else file.now_ns, os.urandom(8).hex())
            file.write(OF_FILE, state)
        elif self._known not in ("", state.owner) and state.sent_ns == NEVER:
            file.write(OF_FILE, state._replace(sent_ns=file.now_ns))
        return state.owner


class _File:
    """The states in a file that is locked."""

    def __init__(self, database: sqlite3.Connection, now_ns: int) -> None:
        self._database = database
        self.now_ns = now_ns

    def read(self, name: str) -> _State:
        """Return the state of a service; one that cannot be true counts as a request sent now."""
        row: tuple[Any, ...] | None = self._database.execute(READ, (name,)).fetchone()
        if row is None:
            return _State() if name == OF_FILE else _State(self.read(OF_FILE).sent_ns)
        return self._state_of(row)

    def write(self, name: str, state: _State) -> None:
        """Keep the state of a service; those whose requests are the oldest are dropped if there are too many."""
        self._put(name, state)
        if name == OF_FILE:
            return
        excess = self._database.execute(EXCESS, (name, _boot(), MAX_SERVICES - 1)).fetchall()
        if excess:
            self._database.executemany(DROP, [row[:1] for row in excess])
            # They count as sent with the file from now on, which must not be before they were.
            made, dropped = self.read(OF_FILE), map(self._state_of, excess)
            self._put(OF_FILE, made._replace(sent_ns=max(made.sent_ns, *[state.sent_ns for state in dropped])))

    def _put(self, name: str, state: _State) -> None:
        self._database.execute(WRITE, (name, _boot(), state.sent_ns, state.owner, state.until_ns))

    def _state_of(self, row: tuple[Any, ...]) -> _State:
        """Return the state in a row."""
        _, boot, sent_ns, owner, until_ns = row
        if not (isinstance(sent_ns, int) and isinstance(owner, str) and isinstance(until_ns, int)):
            return _State(self.now_ns, is_sound=False)
        is_possible = NEVER <= sent_ns <= self.now_ns + SETTLE_NS and until_ns <= self.now_ns + HOLD_NS
        if not is_possible or boot != _boot():
            return _State(self.now_ns, is_sound=False)
        return _State(sent_ns, owner, until_ns)


def turn_folders() -> tuple[str, ...]:
    """Return the folders for the file of turns, the best first."""
    from tempfile import gettempdir

    user = os.geteuid() if hasattr(os, "geteuid") else 0
    return user_cache(), os.path.join(gettempdir(), f"signet-{user}")


def _make_in(folder: str) -> str:
    """Return the path of the file in a folder of this user; make both if they are missing, and follow no link."""
    make_private_folders(folder)
    if hasattr(os, "geteuid") and os.stat(folder).st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "Belongs to another user", folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
    path = os.path.join(folder, FILE)
    try:
        check_private(path)
    except FileNotFoundError:
        # Only a file that did not exist is closed here: to close one would end the locks of other threads on it.
        with suppress(FileExistsError):
            os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    return path


def _identity(path: str) -> tuple[int, int]:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        raise BlockingIOError(errno.EAGAIN, REPLACED, path) from None
    return status.st_dev, status.st_ino


def _explained(error: sqlite3.Error, path: str, identity: tuple[int, int]) -> OSError:
    """Return what an error of SQLite means for the step; remove a file that is broken."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in BUSY:
        return BlockingIOError(errno.EAGAIN, LOCKED, path)
    try:
        if _identity(path) == identity:
            if code not in BROKEN:
                return OSError(errno.EIO, str(error), path)
            os.unlink(path)
    except OSError as why:
        return why
    return BlockingIOError(errno.EAGAIN, REPLACED, path)


@cache
def _boot() -> str:
    """Return what names this boot of the machine: the clock begins anew with each."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()[:36] or NOBODY
    except (OSError, ValueError):
        return NOBODY


@cache
def _has_sqlite() -> bool:
    try:
        import sqlite3  # noqa: F401 - a Python may be built without it
    except ImportError:
        return False
    return True
