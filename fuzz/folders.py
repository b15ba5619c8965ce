"""Inputs that are several files: sections of one text, each below a line `%% name`."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["joined", "sections", "write_files"]

HEAD = re.compile(rb"^%% ([^\n]{0,80})\n", re.MULTILINE)
PLAIN = re.compile(r"[^0-9A-Za-z._-]")


def joined(files: dict[str, bytes]) -> bytes:
    """Return files as one input."""
    return b"".join(b"%% " + name.encode() + b"\n" + data.removesuffix(b"\n") + b"\n" for name, data in files.items())


def sections(data: bytes) -> list[tuple[str, bytes]]:
    """Return the sections of an input; what stands before the first is left out."""
    _, *parts = HEAD.split(data)
    names = [PLAIN.sub("_", name.decode("latin-1")) or "_" for name in parts[::2]]
    return list(zip(names, parts[1::2], strict=True))


def write_files(folder: Path, files: list[tuple[str, bytes]]) -> None:
    """Empty a folder and write files into it; names that lead elsewhere lose their signs."""
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    for name, data in files:
        (folder / (name if name.strip(".") else "_")).write_bytes(data)
