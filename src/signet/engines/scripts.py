"""The scripts of the JavaScript engine as they are run: in V8 alone by a child process, in a worker by the console."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Final

from .assets import HERE, Assets
from .fonts import read_widths

__all__ = ["LIBRARIES", "SCRIPTS", "as_script", "fonts_script", "read_script"]

LIBRARIES: Final = ("themes.js", "openiconic.js", "emoji.js")
"""A third of all scripts, and few diagrams need them: each is loaded when a diagram asks for it."""
SCRIPTS: Final = ("shim.js", "fonts.js", "viz-global.js", "plantuml.js", *LIBRARIES)
"""All scripts, in the order in which they are loaded."""
EXPORTS: Final = re.compile(r"export\s*\{\s*\w+ as render,\s*(\w+) as renderToString\s*\};?\s*$")
"""The last line of the engine, which is a module."""


def read_script(assets: Assets, name: str) -> bytes:
    """Return one of the scripts; it takes a fifth of a second for the fonts."""
    if name == "fonts.js":
        return fonts_script(assets.faces).encode()
    with open(os.path.join(HERE if name == "shim.js" else assets.scripts, name), "rb") as file:
        script = file.read()
    return as_script(script.decode()).encode() if name == "plantuml.js" else script


def as_script(module: str) -> str:
    """Return the engine as a script.

    Raises:
        ValueError: its last line does not export the functions that are called.
    """
    match = EXPORTS.search(module, max(len(module) - 200, 0))
    if match is None:
        raise ValueError("this release of the engine exports other functions")
    return f"(function () {{{module[: match.start()]};globalThis.plantuml = {{ renderToString: {match[1]} }};}})()"


def fonts_script(faces: Mapping[str, str]) -> str:
    """Return the script that gives the shim the widths of the fonts in these files."""
    fonts = {}
    for name, path in faces.items():
        with open(path, "rb") as file:
            fonts[name] = read_widths(file.read())
    # V8 reads JSON several times as fast as a script.
    return f"signet.useFonts(JSON.parse({json.dumps(json.dumps(fonts))}))"
