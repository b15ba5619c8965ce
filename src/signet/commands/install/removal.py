"""The command `signet uninstall CLIENT [TARGET]`: take an entry out of a client's configuration.

Where nothing else has changed since `signet install`, the file becomes what it was, byte for byte: putting the entry
into a backup again, or into no file at all, must give the file as it is now.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import Any, Final

from signet.clients.clients import Launch
from signet.commands.arguments import Parser
from signet.commands.terminal import say, write
from signet.settings.usage import UsageError

from .command import Place, add_place, cannot_edit, failed, find_place, show_text
from .config_file import ConfigFile, backups_of, changing, remove_config, write_backup, write_config
from .target import target_words, words_of

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
    add_place(parser, "what the entry serves; gives its name, and is compared with it")
    text = "take the entry out even if it does not start Signet, or serves another target"
    parser.add_argument("--force", action="store_true", help=text)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Take the entry out of the file."""
    place = find_place(args)
    if args.show:
        return _take(args, place)
    try:
        with changing(place.file.path, is_new=False):
            return _take(args, find_place(args))
    except BrokenPipeError:
        raise
    except OSError as error:
        return failed(error)


def _take(args: argparse.Namespace, place: Place) -> int:
    """Take the entry out of the file as it is now.

    Raises:
        OSError: the file cannot be written.
    """
    try:
        entry = place.entry
        if entry is None:
            write(f"there is no {place.name} in {place.file.path}: nothing to change")
            return 0
        if not args.force and (why := _why_not(place, entry, args.target)):
            raise UsageError(f"{place.name} in {place.file.path} {why}: --force takes it out all the same")
        origin = _find_origin(place, entry)
        text = place.editor.drop_entry(place.file.text, place.keys) if origin is None else origin.text
    except ValueError as error:
        return cannot_edit(place, error)
    if args.show and origin is not None and origin.data is None:
        say(f"nothing is written; {place.file.path} would be removed, because it holds {place.name} alone")
        return 0
    if args.show:
        return show_text(place, text)
    _write(place, origin, text, shared=args.project)
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


def _why_not(place: Place, entry: Any, target: str | None) -> str:
    """Return why an entry is not to be taken out without force, or nothing."""
    words = words_of(entry)
    programs = {word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe") for word in words}
    if words and not programs & {"signet", "signet-mcp"}:
        return "does not start Signet"
    if not words and not _is_plain_address(place, entry):
        return "does not start Signet"
    # The paths of a project's file are relative to the working folder.
    if target is not None and target_words(target, may_be_gone=True)[-1] not in {*words, *map(os.path.abspath, words)}:
        return f"serves something else than {target}"
    return ""


def _is_plain_address(place: Place, entry: Any) -> bool:
    """Return whether an entry has an address, and nothing that `signet install --url` does not write."""
    remote = place.client.remote
    if remote is None or not isinstance(entry, dict):
        return False
    written = remote(Launch(place.name, url="http://127.0.0.1/mcp"))
    address = next(key for key, value in written.items() if value == "http://127.0.0.1/mcp")
    return isinstance(entry.get(address), str) and entry.keys() <= written.keys()
