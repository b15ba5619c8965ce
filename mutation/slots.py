"""A copy of the checkout with an environment of its own, in which a mutant is at work for every process.

`slot/.venv` holds links to what is installed, but its interpreter finds `signet` in `slot/src`: a test that starts
`sys.executable -m signet` or the script beside it starts the mutant.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .mutants import Mutant
from .packages import ROOT

__all__ = ["Slot"]

LINKED = ("node_modules",)
_changes = itertools.count(1)


class Slot:
    """A folder in which one mutant at a time takes the place of its file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / ".venv/bin/python"

    def prepare(self) -> None:
        """Bring the copy up to date: files that have not changed stay, with their bytecode."""
        place = self.folder / ".place"
        if not place.exists() or place.read_text(encoding="utf-8") != str(self.folder):
            # The links of a checkout that was copied or moved lead to the old one.
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            place.write_text(str(self.folder), encoding="utf-8")
        wanted = _listed()
        for path in wanted:
            _copy(ROOT / path, self.folder / path)
        known = self.folder / ".files"
        if known.exists():
            for path in set(known.read_text(encoding="utf-8").split("\0")) - set(wanted):
                (self.folder / path).unlink(missing_ok=True)
        known.write_text("\0".join(wanted), encoding="utf-8")
        for name in LINKED:
            if (ROOT / name).exists() and not (self.folder / name).exists():
                (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "build").mkdir(exist_ok=True)
        if not (self.folder / ".venv").exists():
            _make_environment(self.folder / ".venv", self.folder)

    def holding(self, mutant: Mutant) -> contextlib.AbstractContextManager[None]:
        """Keep a mutant in the place of its file until the block ends."""
        return self.replacing({mutant.path: mutant.apply((ROOT / mutant.path).read_text(encoding="utf-8"))})

    @contextlib.contextmanager
    def replacing(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Keep texts in the place of the files with these paths until the block ends."""
        try:
            for path, text in texts.items():
                _put(self.folder / path, text)
            yield
        finally:
            for path in texts:
                (self.folder / path).unlink(missing_ok=True)
                _copy(ROOT / path, self.folder / path)


def _listed() -> list[str]:
    """Return the files of the checkout, those that are not committed yet too."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return sorted({path for path in listed if path and os.path.lexists(ROOT / path)})


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        if not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.readlink(source))
        return
    here = source.stat()
    with contextlib.suppress(OSError):
        there = target.stat()
        if (there.st_size, there.st_mtime_ns) == (here.st_size, here.st_mtime_ns):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _put(target: Path, text: str) -> None:
    """Replace a file; its time is like no other's, so that no bytecode of another text is taken for it."""
    new = target.with_name(f"{target.name}.new")
    new.write_text(text, encoding="utf-8", newline="")
    moment = 1_000_000_000 + os.getpid() * 1_000 + next(_changes)
    os.utime(new, (moment, moment))
    new.replace(target)


def _make_environment(target: Path, folder: Path) -> None:
    """Make an environment of links, whose own `.pth` files and scripts name the slot in the place of the checkout."""
    source = Path(sys.prefix)
    packages = Path(next(path for path in sys.path if path.endswith("site-packages"))).relative_to(source)
    (target / packages).mkdir(parents=True)
    (target / "bin").mkdir()
    shutil.copy2(source / "pyvenv.cfg", target)
    for place in ("bin", packages):
        for entry in (source / place).iterdir():
            if entry.name == "__pycache__":
                continue
            _link_or_rewrite(entry, target / place / entry.name, folder)


def _link_or_rewrite(entry: Path, new: Path, folder: Path) -> None:
    """Copy a text that names the checkout with the slot's name in it; link all else."""
    if entry.is_file() and not entry.is_symlink() and (entry.suffix == ".pth" or entry.parent.name == "bin"):
        data = entry.read_bytes()
        if os.fsencode(ROOT) in data:
            new.write_bytes(data.replace(os.fsencode(ROOT), os.fsencode(folder)))
            new.chmod(entry.stat().st_mode)
            return
    if entry.is_symlink() and not os.path.isabs(os.readlink(entry)):
        new.symlink_to(os.readlink(entry))  # python3 -> python, beside it
        return
    new.symlink_to(entry if not entry.is_symlink() else os.readlink(entry))
