"""The folder of a spool: made before the first process of a server starts, removed when the last one has ended."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from msgspec.structs import replace

from signet.settings.model import Settings
from signet.system.files import lock, open_private, open_regular

__all__ = ["spool_folder"]

PREFIX: Final = "signet-console-"
OWNER: Final = "owner"


@contextmanager
def spool_folder(settings: Settings) -> Iterator[Settings]:
    """Make a folder that only this user can read, if several processes serve a console; yield settings that name it.

    Where none can be made, each process shows what it has seen itself.
    """
    path = ""
    if settings.console and settings.workers > 1:
        with suppress(OSError):
            path = _make()
    try:
        yield replace(settings, console_dir=path) if path else settings
    finally:
        if path:
            shutil.rmtree(path, ignore_errors=True)


def _make() -> str:
    """Make a folder whose owner is locked while this process runs; remove those that killed servers left behind."""
    base = tempfile.gettempdir()
    for name in os.listdir(base):
        if name.startswith(PREFIX):
            _remove_if_left(os.path.join(base, name))
    path = tempfile.mkdtemp(prefix=PREFIX, dir=base)
    made = os.path.join(path, OWNER + ".new")
    # Never closed: the lock ends with the process, however it ends.
    lock(open_private(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)))
    # Under its name it is locked from the start: another server removes folders whose owner is not.
    os.rename(made, os.path.join(path, OWNER))
    return path


def _remove_if_left(path: str) -> None:
    """Remove the folder of a server that was killed; others' folders cannot be opened."""
    with suppress(OSError):
        owner = open_regular(os.path.join(path, OWNER), os.O_RDONLY)
        try:
            is_left = lock(owner, shared=True)
        finally:
            os.close(owner)
        if is_left:
            shutil.rmtree(path, ignore_errors=True)
