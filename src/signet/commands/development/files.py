"""The files that tools are made of: which they are, and how a change of them is seen.

the process of the tools ── Sources: modules, folders ──▶ the supervisor ── FileWatch, twice a second ──▶ what changed
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

__all__ = ["FileWatch", "Sources", "sources_of"]

MAX_FILES: Final = 2_000
"""The files that are watched; a folder with more of them is watched in part."""
CONTRACTS: Final = "contracts"
SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages"})
PYTHON: Final = ".py"

Stamp = tuple[int, int, int]
"""The time of the last change, the size, and the number of the file itself: an editor may replace it."""


class Sources(msgspec.Struct, frozen=True):
    """What the tools of a process were loaded from."""

    roots: list[str]
    """The folders of the targets."""
    listed: list[str]
    """The folders that are targets themselves: a new file in them is a new toolset."""
    files: list[str]


def sources_of(targets: Iterable[str], config: str | None = None) -> Sources:
    """Return what targets that are loaded were loaded from, and the file of settings."""
    roots, listed = [], []
    for target in targets:
        path = os.path.abspath(target)
        if os.path.isdir(path):
            listed.append(path)
        root = _package_root(path) if os.path.exists(path) else _module_root(target)
        if root is not None:
            roots.append(root)
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files = [path for path in modules if path and any(_is_part(path, root) for root in roots)]
    settings = os.path.abspath(config or "signet.toml")
    return Sources(roots, listed, [settings, *sorted(set(files))][:MAX_FILES])


def _package_root(path: str) -> str:
    """Return the folder of a file or of a package, above which nothing belongs to it."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _module_root(target: str) -> str | None:
    from signet.authoring.target import installed

    dotted = (target if ":" in target or "." in target else installed().get(target, target)).partition(":")[0]
    module = sys.modules.get(dotted.partition(".")[0])
    places = [*getattr(module, "__path__", ()), os.path.dirname(getattr(module, "__file__", None) or "")]
    return next((place for place in places if place), None)


def _is_part(path: str, root: str) -> bool:
    return path.startswith(root + os.sep) and not SKIPPED & set(path[len(root) :].split(os.sep))


class FileWatch:
    """Compares the files of the tools with what they were before."""

    def __init__(self) -> None:
        self._sources = Sources([], [], [])
        self._seen: dict[str, Stamp] = {}
        self._is_wide = False

    def expect(self, sources: Sources | None, seen: dict[str, Stamp], since_ns: int) -> None:
        """Compare with what was `seen` before the tools were loaded.

        Without sources the tools could not be loaded, so that a change of any file in their folders may mend them.
        """
        self._sources, self._is_wide = sources or self._sources, sources is None
        now = self.look()
        # A file that was not looked at before has changed if it was written since then.
        new = {path: stamp for path, stamp in now.items() if path not in seen and stamp[0] < since_ns}
        known = now.keys() | set(self._sources.files)
        self._seen = {path: stamp for path, stamp in seen.items() if path in known} | new

    def look(self, *, wide: bool = False) -> dict[str, Stamp]:
        """Return the files as they are."""
        paths = dict.fromkeys(self._paths(wide=wide or self._is_wide))
        stamps = {path: _stamp(path) for path in list(paths)[:MAX_FILES]}
        return {path: stamp for path, stamp in stamps.items() if stamp is not None}

    def changed(self) -> list[str]:
        """Return the files that have changed, come or gone."""
        now = self.look()
        return sorted(path for path in now.keys() | self._seen.keys() if now.get(path) != self._seen.get(path))

    def _paths(self, *, wide: bool) -> Iterator[str]:
        yield from self._sources.files
        for folder in self._sources.listed:
            yield from (path for path in _files_in(folder) if path.endswith(PYTHON))
        for folder in sorted({os.path.dirname(path) for path in self._sources.files}):
            contracts = os.path.join(folder, CONTRACTS)
            for place in (contracts, os.path.join(contracts, "tools")):
                yield from (path for path in _files_in(place) if path.endswith(".json"))
        if wide:
            for root in self._sources.roots:
                yield from _modules_below(root)


def _files_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_file())
    except OSError:
        return []


def _modules_below(root: str) -> Iterator[str]:
    """Return the Python files below a folder, without those of environments and of hidden folders."""
    found = 0
    for folder, folders, names in os.walk(root):
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        modules = [os.path.join(folder, name) for name in sorted(names) if name.endswith(PYTHON)]
        yield from modules
        # Folders without Python files count too: there may be no end of them.
        found += len(modules) + 1
        if found > MAX_FILES:
            return


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
