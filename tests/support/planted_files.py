"""Things that another user may put where a file of ours is to be, and proof that they are as they were."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

OBSTACLES = (
    "FIFO",
    "FIFO with a reader",
    "link to a FIFO",
    "link to /dev/full",
    "link to /dev/zero",
    "folder",
    "dangling link",
    "link to a file",
    "hard link",
)
LINKS = tuple(kind for kind in OBSTACLES if kind.startswith("link") or kind == "dangling link")
"""The symbolic links among them."""


def obstruct(path: Path, kind: str, aside: Path) -> Callable[[], bool]:
    """Put an obstacle at a path, its target into the folder `aside`; return a check that both are as they were."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside.mkdir(exist_ok=True)
    target = _target(kind, aside)
    if "FIFO" in kind:
        os.mkfifo(path if target is None else target)
    if kind in {"link to a file", "hard link"}:
        (aside / "target").write_bytes(b"theirs\n")
    if kind == "hard link":
        path.hardlink_to(aside / "target")
    elif kind == "folder":
        path.mkdir()
    elif target is not None:
        path.symlink_to(target)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if kind == "FIFO with a reader" else None
    before = _state(path, aside)

    def is_intact() -> bool:
        unread = b""
        if reader is not None:
            unread = os.read(reader, 1)
            os.close(reader)
        return (_state(path, aside), unread) == (before, b"")

    return is_intact


def _target(kind: str, aside: Path) -> Path | None:
    if kind not in LINKS:
        return None
    return Path(kind.removeprefix("link to ")) if "/dev/" in kind else aside / "target"


def _state(path: Path, aside: Path) -> tuple[object, ...]:
    status = path.lstat()
    link = os.readlink(path) if path.is_symlink() else None
    files = {file.name: file.read_bytes() if file.is_file() else None for file in aside.iterdir()}
    return stat.S_IFMT(status.st_mode), status.st_ino, link, files
