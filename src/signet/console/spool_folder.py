"""The folder of a spool: made before the first process of a server starts, removed when the last one has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from msgspec.structs import replace

from signet.settings.model import Settings
from signet.system.shared_folder import SharedFolder

__all__ = ["spool_folder"]

PREFIX: Final = "signet-console-"


@contextmanager
def spool_folder(settings: Settings) -> Iterator[Settings]:
    """Make a folder that only this user can read, if several processes serve a console; yield settings that name it.

    Where none can be made, each process shows what it has seen itself.
    """
    folder = None
    if settings.console and settings.workers > 1:
        with suppress(OSError):
            folder = SharedFolder.create(PREFIX)
    try:
        yield replace(settings, console_dir=folder.path) if folder is not None else settings
    finally:
        if folder is not None:
            folder.remove()
