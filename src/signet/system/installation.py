"""The installation of Signet: where it came from, its optional parts, and the command that adds one.

PEP 610 has pip and uv write down a direct origin (a checkout, a wheel, an address); without one it was an index.
"""

from __future__ import annotations

import os
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Any, Final

import msgspec

__all__ = ["DISTRIBUTION", "EXTRAS", "Origin", "find_origin", "install_command", "missing_modules", "pip_command"]

DISTRIBUTION: Final = "signet-mcp"

EXTRAS: Final = {"parquet": ("pyarrow",), "plot": ("matplotlib", "plotext")}
"""The modules of each optional part, which are the names of their distributions too."""

FILE: Final = "file://"


class Origin(msgspec.Struct, frozen=True):
    """Where an installation came from."""

    kind: str
    """checkout, folder, wheel, address, index or unknown."""
    place: str = ""
    """The path or the address; without user and password."""
    installer: str = "pip"


class _DirectUrl(msgspec.Struct, frozen=True):
    url: str = ""
    dir_info: dict[str, Any] | None = None
    vcs_info: dict[str, Any] | None = None


def find_origin() -> Origin:
    """Return the origin of this installation, by its metadata."""
    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return Origin("unknown")
    return origin_of(installed)


def origin_of(installed: Distribution) -> Origin:
    """Return the origin of a distribution."""
    installer = (installed.read_text("INSTALLER") or "pip").strip()
    try:
        direct = msgspec.json.decode(installed.read_text("direct_url.json") or "null", type=_DirectUrl | None)
    except msgspec.DecodeError:
        direct = None
    if direct is None:
        return Origin("index", installer=installer)
    if not direct.url.startswith(FILE):
        vcs = f"{direct.vcs_info['vcs']}+" if direct.vcs_info and "vcs" in direct.vcs_info else ""
        return Origin("address", vcs + _without_user(direct.url), installer)
    from urllib.request import url2pathname

    path = url2pathname(direct.url.removeprefix(FILE))
    if direct.dir_info is None:
        return Origin("wheel", path, installer)
    return Origin("checkout" if direct.dir_info.get("editable") is True else "folder", path, installer)


def _without_user(url: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def install_command(*extras: str, origin: Origin | None = None) -> str:
    """Return the shell command that adds optional parts to this installation, wherever it came from."""
    origin = origin or find_origin()
    return f"{pip_command(origin)} {' '.join(_requirements(origin, extras))}"


def pip_command(origin: Origin | None = None) -> str:
    """Return the shell words that install packages for this Python, by the installer that installed Signet."""
    python = shlex.quote(sys.executable)
    is_uv = (origin or find_origin()).installer == "uv"
    return f"uv pip install --python {python}" if is_uv else f"{python} -m pip install"


def _requirements(origin: Origin, extras: tuple[str, ...]) -> list[str]:
    """Return the words behind `install`; where the origin is gone, the packages themselves."""
    names = ",".join(extras)
    if origin.kind == "index":
        return [shlex.quote(f"{DISTRIBUTION}[{names}]")]
    if origin.kind == "address":
        return [shlex.quote(f"{DISTRIBUTION}[{names}] @ {origin.place}")]
    if origin.place and os.path.exists(origin.place):
        editable = ["-e"] if origin.kind == "checkout" else []
        return [*editable, shlex.quote(f"{origin.place}[{names}]")]
    return [shlex.quote(requirement) for extra in extras for requirement in _packages(extra)]


def _packages(extra: str) -> list[str]:
    """Return the requirements of an optional part, by the metadata; without metadata, their names alone."""
    try:
        stated = distribution(DISTRIBUTION).requires or []
    except PackageNotFoundError:
        stated = []
    marked = [text.partition(";") for text in stated]
    return [name.strip() for name, _, marker in marked if f"extra == '{extra}'" in marker.replace('"', "'")] or [
        *EXTRAS.get(extra, ())
    ]


def missing_modules(extra: str) -> list[str]:
    """Return the modules of an optional part that cannot be imported."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]
