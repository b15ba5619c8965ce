"""Files of our own: opening them without following links or waiting, one lock, atomic replacement."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from typing import IO, Final

__all__ = [
    "check_private",
    "lock",
    "locked_folder",
    "make_private_folders",
    "open_private",
    "open_regular",
    "read_regular",
    "read_secret",
    "replacing",
    "unlock",
    "user_cache",
]

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700
BY_UMASK: Final = 0o666

NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""The opening of a FIFO returns at once, a terminal does not become ours; Windows knows only the last flag."""

MAX_SECRET_BYTES: Final = 65_536
LOCK_RETRY_S: Final = 0.01
MOVED_TRIES: Final = 100
"""How often a file may be moved away between two looks at it: by the rotation of a log, once."""


def open_private(path: str, flags: int) -> int:
    """Open a regular file of this user, never through a link, and return its descriptor.

    With O_CREAT, a missing file is created with mode 0600, whatever the umask; an existing file keeps its mode.

    Raises:
        OSError: the file cannot be opened, is not a regular file, is a link, or is not this user's alone.
    """
    file = _open_or_create(path, flags) if flags & os.O_CREAT else open_regular(path, flags)
    try:
        _check_owner(os.fstat(file), path)
    except OSError:
        os.close(file)
        raise
    return file


def _open_or_create(path: str, flags: int) -> int:
    """Open or create a private file; one that is moved away in between is created again."""
    for _ in range(MOVED_TRIES):
        try:
            return _create(path, flags, PRIVATE_FILE)
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
        try:
            return open_regular(path, flags & ~os.O_CREAT)
        except FileNotFoundError:
            continue
    raise FileNotFoundError(errno.ENOENT, "moved away again and again", path)


def open_regular(path: str, flags: int, *, follow_link: bool = False) -> int:
    """Open an existing regular file without waiting, and return its descriptor.

    A link at the end of the path is followed only with `follow_link`.

    Raises:
        OSError: the file cannot be opened, is not a regular file, or is a link.
    """
    flags |= NO_WAIT if follow_link else NO_WAIT | NO_FOLLOW
    try:
        file = os.open(path, flags)
    except OSError as error:
        raise _explained(error, path, flags) from None
    try:
        _check_regular(os.fstat(file).st_mode, path)
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(file, True)
    except OSError:
        os.close(file)
        raise
    return file


def check_private(path: str) -> None:
    """Check that a path leads to a regular file of this user alone, and not through a link, without opening it.

    Raises:
        OSError: it does not, or there is none.
    """
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "Is a symbolic link", path)
    _check_regular(status.st_mode, path)
    _check_owner(status, path)


def read_regular(path: str, *, follow_link: bool = False) -> bytes:
    """Return the content of a regular file, opened as by `open_regular`.

    Raises:
        OSError: the file cannot be read, is not a regular file, or is a link.
    """
    with open(open_regular(path, os.O_RDONLY, follow_link=follow_link), "rb") as file:
        return file.read()


def read_secret(path: str) -> str:
    """Return the secret in a file: its text without one line end. A link is followed, as those of mounted secrets are.

    Raises:
        ValueError: the file cannot be read, or has no text; the message repeats neither its path nor its content.
    """
    try:
        with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
        text = content.decode()
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8 text; write it in UTF-8") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not a path"
        raise ValueError(f"cannot read the file that it names ({why})") from None
    text = text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
    if not text.strip():
        raise ValueError("the file has no text in it; write the secret into it")
    if len(content) > MAX_SECRET_BYTES:
        raise ValueError(f"the file has more than {MAX_SECRET_BYTES} bytes, which is no secret")
    return text


def make_private_folders(path: str) -> None:
    """Create a folder and its missing parents with mode 0700; existing folders are left as they are."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, PRIVATE_FOLDER)
        except FileExistsError:
            # Another process may have been faster; a dangling link or a file is in the way.
            if not os.path.isdir(folder):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from None


def user_cache(*names: str) -> str:
    """Return a folder of this program in the user's cache folder, which need not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "signet", *names)


def lock(file: int, *, wait_s: float = 0.0, retry_s: float = LOCK_RETRY_S, shared: bool = False) -> bool:
    """Lock an open file until its descriptor is closed; return False if another process holds the lock.

    Wait for the lock for at most `wait_s`. A shared lock can be held by many. Where the system has no such locks
    (Windows), return True.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        import fcntl
    except ImportError:
        return True
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(retry_s)
        else:
            return True


@contextlib.contextmanager
def locked_folder(path: str, *, wait_s: float, shared: bool = False) -> Iterator[None]:
    """Lock a folder until the block ends; nothing is left in it, and a process that is killed holds no lock.

    Where such locks do not exist (Windows, some network file systems, a folder that cannot be read), do without.

    Raises:
        TimeoutError: another process has held the lock for `wait_s`.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | NO_WAIT)
    except (OSError, AttributeError):
        yield
        return
    try:
        is_ours = True
        with contextlib.suppress(OSError):
            is_ours = lock(folder, wait_s=wait_s, shared=shared)
        if not is_ours:
            raise TimeoutError(errno.EBUSY, "another process has locked it: try again", path)
        yield
    finally:
        os.close(folder)


def unlock(file: int) -> None:
    """Release the lock of an open file."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def replacing(path: str, temporary: str, *, sync: bool = False, private: bool = False) -> Iterator[IO[bytes]]:
    """Create `temporary` for writing, and move it to `path` when the block ends without an error.

    On an error, `temporary` is removed and `path` is left as it was. With `sync`, the content is on the disk before
    the move. With `private`, the file has mode 0600; otherwise its mode follows the umask. A link at `path` is
    replaced, never followed.

    Raises:
        OSError: the file cannot be written, or there is neither a regular file nor a link at its path.
    """
    _check_replaceable(path)
    descriptor = _create_anew(temporary, PRIVATE_FILE if private else BY_UMASK)
    try:
        with open(descriptor, "wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _create(path: str, flags: int, mode: int) -> int:
    """Create a file that does not exist yet, not even as a link, and return its descriptor."""
    file = os.open(path, flags | os.O_CREAT | os.O_EXCL | NO_FOLLOW | getattr(os, "O_BINARY", 0), mode)
    if mode == PRIVATE_FILE and stat.S_IMODE(os.fstat(file).st_mode) != mode:
        # A umask has taken bits of the owner; some file systems know no modes.
        with contextlib.suppress(OSError, AttributeError):
            os.fchmod(file, mode)
    return file


def _create_anew(path: str, mode: int) -> int:
    """Create a file in the place of a file or link of the same name, which a killed process may have left."""
    try:
        return _create(path, os.O_WRONLY, mode)
    except FileExistsError:
        _check_replaceable(path)
        os.unlink(path)
        return _create(path, os.O_WRONLY, mode)


def _check_replaceable(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if not stat.S_ISLNK(mode):
            _check_regular(mode, path)


def _explained(error: OSError, path: str, flags: int) -> OSError:
    """Return an error of `open` with a clear text where the text of the system misleads."""
    if error.errno in {errno.ELOOP, errno.EMLINK} and flags & NO_FOLLOW:
        return OSError(error.errno, "Is a symbolic link", path)
    if error.errno == errno.ENXIO:  # a FIFO without a reader, a socket, a device without a driver
        return OSError(error.errno, "Not a regular file", path)
    return error


def _check_regular(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)


def _check_owner(status: os.stat_result, path: str) -> None:
    """Check that no other user has put this file here, or another file of this user under a second name."""
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "Belongs to another user", path)
    if status.st_nlink > 1:
        raise PermissionError(errno.EPERM, "Is a hard link", path)
