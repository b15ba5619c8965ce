"""The contract set of the last tagged release: in the checkout's `contracts/`, and packed in a wheel.

The build of a wheel reads this module before anything is installed: it imports the standard library alone.
"""

from __future__ import annotations

import os
import re
from typing import Final

__all__ = ["PACKED", "last_tagged", "tagged_folder"]

HERE: Final = os.path.dirname(os.path.abspath(__file__))
PACKED: Final = os.path.join(HERE, "tagged")
"""The folder of the set in a wheel: it holds one folder, named by its version."""
VERSION: Final = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)")


def tagged_folder() -> tuple[str, str] | None:
    """Return the version and the folder of the set, or None where there is none."""
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
    return last_tagged(PACKED) or last_tagged(os.path.join(checkout, "contracts"))


def last_tagged(folder: str) -> tuple[str, str] | None:
    """Return the newest version among the sets in a folder, and where it is."""
    try:
        names = [name for name in os.listdir(folder) if VERSION.fullmatch(name)]
    except OSError:
        return None
    newest = max(names, key=lambda name: [int(part) for part in name.split(".")], default=None)
    return None if newest is None else (newest, os.path.join(folder, newest))
