"""Plans of documents that were read before, in the user's cache folder: a large document is parsed once.

    ~/.cache/signet/openapi/<SHA-256>.json      of the document, its location, the name and the choice of operations

A file that cannot be read, or is of another version, counts as missing. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec

from signet import __version__
from signet.system.files import make_private_folders, open_private, replacing, user_cache

from .document import Library
from .failure import DocumentError
from .plan import DocumentPlan

__all__ = ["key_of", "read_plan", "write_plan"]

FORMAT: Final = "4"
"""Raised with each change of what a plan holds, or of how it is made."""
MAX_FILES: Final = 32
"""The plans that are kept; the oldest go first."""
SUFFIX: Final = ".json"


def key_of(library: Library, name: str, include: Iterable[str]) -> str:
    """Return the key of a plan; the document is read for it, and not parsed."""
    library.read(library.root)
    facts = [FORMAT, __version__, library.root, library.digests[library.root], name, *include]
    return sha256(msgspec.json.encode(facts)).hexdigest()


def read_plan(key: str, library: Library) -> DocumentPlan | None:
    """Return a plan that was kept, if all that it was made from is still the same."""
    try:
        with open(open_private(_path(key), os.O_RDONLY), "rb") as file:
            plan = msgspec.json.decode(file.read(), type=DocumentPlan)
    except (OSError, ValueError):
        return None
    try:
        for location in plan.sources:
            library.read(location)
    except DocumentError:
        return None
    return plan if plan.sources.items() <= library.digests.items() else None


def write_plan(key: str, plan: DocumentPlan) -> None:
    """Keep a plan, if the folder can be written."""
    folder = user_cache("openapi")
    with contextlib.suppress(OSError):
        make_private_folders(folder)
        with replacing(_path(key), f"{_path(key)}.new-{os.getpid()}", private=True) as file:
            file.write(msgspec.json.encode(plan))
        _remove_oldest(folder)


def _remove_oldest(folder: str) -> None:
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(SUFFIX)]
    paths.sort(key=os.path.getmtime)
    for path in paths[:-MAX_FILES]:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _path(key: str) -> str:
    return os.path.join(user_cache("openapi"), key + SUFFIX)
