"""Where the files of the JavaScript engine are: its scripts and the fonts that draw, which npm fetches.

They are looked for in the package itself (a wheel has them), in the checkout's `node_modules`, and in the user's data
folder, where `signet diagrams install` puts them. The build of a wheel reads this module before anything is installed:
it imports the standard library alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["HERE", "PACKED", "PINS", "Assets", "checkout", "data_folder", "find_assets", "packed_files"]

HERE: Final = os.path.dirname(os.path.abspath(__file__))
PACKED: Final = os.path.join(HERE, "packed")
"""The folder of the files in a wheel: it has the shape of `node_modules`."""
PINS: Final = ("package.json", "package-lock.json")
"""The versions and hashes of what npm fetches; a wheel has them in the folder of packed files."""

SCRIPTS: Final = "@plantuml/core"
FILES: Final = ("plantuml.js", "viz-global.js", "themes.js", "openiconic.js", "emoji.js")
DEJAVU: Final = "dejavu-fonts-ttf/ttf/DejaVu"
FACES: Final = {"sans": "Sans", "sans-bold": "Sans-Bold", "mono": "SansMono", "mono-bold": "SansMono-Bold"}
"""The fonts by whose widths texts are laid out."""
CJK: Final = "@expo-google-fonts/sawarabi-gothic/400Regular/SawarabiGothic_400Regular.ttf"
"""Draws what DejaVu lacks: Chinese and Japanese characters."""
FONTS: Final = (*(f"{DEJAVU}{face}.ttf" for face in FACES.values()), f"{DEJAVU}Sans-Oblique.ttf", CJK)
LICENCES: Final = (
    f"{SCRIPTS}/LICENSE",
    f"{SCRIPTS}/package.json",
    "dejavu-fonts-ttf/LICENSE",
    "@expo-google-fonts/sawarabi-gothic/LICENSE_FONT",
)


class Assets(NamedTuple):
    """The files of the engine, in one folder with the shape of `node_modules`."""

    folder: str

    @property
    def scripts(self) -> str:
        """The folder with the scripts."""
        return os.path.join(self.folder, SCRIPTS)

    @property
    def faces(self) -> dict[str, str]:
        """The font of each face that texts are laid out with."""
        return {name: os.path.join(self.folder, f"{DEJAVU}{face}.ttf") for name, face in FACES.items()}

    @property
    def drawing(self) -> list[str]:
        """All fonts that pictures are drawn with."""
        return [os.path.join(self.folder, font) for font in FONTS]

    @property
    def version(self) -> str:
        """The version of the engine, as its package states it."""
        import json

        with open(os.path.join(self.scripts, "package.json"), encoding="utf-8") as file:
            return str(json.load(file)["version"])


def packed_files() -> tuple[str, ...]:
    """Return all files that the engine needs, relative to their folder."""
    return (*(f"{SCRIPTS}/{name}" for name in FILES), *FONTS, *LICENCES)


def data_folder() -> str:
    """Return the folder below which `signet diagrams install` puts the files."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "signet", "diagrams")


def checkout() -> str | None:
    """Return the folder of the checkout that this module is part of, or None in an installation."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
    return folder if os.path.isfile(os.path.join(folder, PINS[1])) else None


def find_assets() -> Assets | None:
    """Return the first folder that holds every file, or None."""
    for folder in _folders():
        if all(os.path.isfile(os.path.join(folder, name)) for name in packed_files()):
            return Assets(folder)
    return None


def _folders() -> Iterator[str]:
    yield PACKED
    source = checkout()
    if source is not None:
        yield os.path.join(source, "node_modules")
    yield os.path.join(data_folder(), "node_modules")
