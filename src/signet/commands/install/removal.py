"""The command `signet uninstall CLIENT [TARGET]`: take an entry out of a client's configuration.

Where nothing else has changed since `signet install`, the file becomes what it was, byte for byte: putting the entry
into a backup again, or into no file at all, must give the file as it is now.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import Any, Final

from signet.commands.arguments import Parser
from signet.commands.terminal import write
from signet.settings import UsageError

from .command import Place, add_place, cannot_edit, failed, find_place, show_text
from .config_file import ConfigFile, backups_of, remove_config, write_backup, write_config

__all__ = ["add"]

FAILED: Final = 1
EPILOG: Final = """\
Where nothing else has changed since 'signet install', the file is what it was before, byte for byte.

examples:
  signet uninstall claude-desktop
  signet uninstall cursor boj
  signet uninstall claude-code --project --print
"""


def add(parser: Parser) -> None:
    """Add the arguments of `signet uninstall`."""
    parser.epilog = EPILOG
    parser.usage = "signet uninstall CLIENT [TARGET] [options]"
    add_place(parser, "what the entry serves; gives its name")
    parser.add_argument("--force", action="store_true", help="take the entry out even if it does not start Signet")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Take the entry out of the file."""
    place = find_place(args)
    try:
        entry = place.entry
        if entry is None:
            write(f"there is no {place.name} in {place.file.path}: nothing to change")
            return 0
        if not args.force and not _is_ours(entry):
            raise UsageError(
                f"{place.name} in {place.file.path} does not start Signet: --force takes it out all the same"
            )
        origin = _find_origin(place, entry)
        text = place.editor.drop_entry(place.file.text, place.keys) if origin is None else origin.text
    except ValueError as error:
        return cannot_edit(place, error)
    if args.show:
        return show_text(place, text)
    try:
        _write(place, origin, text, shared=args.project)
    except OSError as error:
        return failed(error)
    return 0


def _write(place: Place, origin: ConfigFile | None, text: str, *, shared: bool) -> None:
    """Write the file; a backup that has become the file again is removed."""
    path = place.file.path
    if origin is None:
        # Under another name than that of the installation, which may be the origin of a later removal.
        backup = write_backup(place.file, f"removal-of-{place.name}")
        write_config(place.file, text, shared=shared)
        write(f"took {place.name} out of {path} (backup: {backup})")
    elif origin.data is None:
        remove_config(place.file)
        write(f"removed {path}, which held {place.name} alone")
    else:
        write_config(place.file, text, shared=shared)
        with contextlib.suppress(OSError):
            os.unlink(origin.path)
        write(f"took {place.name} out of {path}, which is what it was before")


def _find_origin(place: Place, entry: Any) -> ConfigFile | None:
    """Return the backup, or the missing file, from which `signet install` has made this file; None if there is none."""
    for origin in [*backups_of(place.file.path), ConfigFile(place.file.path, None)]:
        with contextlib.suppress(ValueError):
            has_entry = place.editor.find_entry(origin.text, place.keys) is not None
            made = origin.bom + place.editor.put_entry(origin.text, place.keys, entry)
            if not has_entry and made.encode() == place.file.data:
                return origin
    return None


def _is_ours(entry: Any) -> bool:
    """Whether an entry starts Signet, or names the address of some server."""
    if not isinstance(entry, dict):
        return False
    words: list[str] = []
    for key in ("command", "cmd", "args"):
        value = entry.get(key, [])
        words += [value] if isinstance(value, str) else map(str, value) if isinstance(value, list) else []
    programs = {word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe") for word in words}
    if words:
        return bool(programs & {"signet", "signet-mcp"})
    return any(key in entry for key in ("url", "httpUrl", "serverUrl", "uri"))
