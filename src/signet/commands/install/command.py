"""The command `signet install CLIENT [TARGET]`: put an entry that starts Signet into a client's configuration."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any, Final

from signet.clients.clients import CLIENTS, EDITORS, AiClient, Launch, path_of
from signet.commands.arguments import USAGE, Parser, print_err
from signet.commands.terminal import on_terminal, say, write
from signet.settings.usage import UsageError
from signet.system.text import SPACES, printable

from .config_file import ConfigFile, changing, read_config, write_backup, write_config
from .target import (
    CONFIG_VARIABLE,
    PROGRAM,
    WRAP,
    command_words,
    config_variable,
    default_name,
    in_project,
    parse_env,
    parse_url,
    words_of,
    wrapping_words,
)

__all__ = ["Place", "add", "add_place", "cannot_edit", "failed", "find_place", "show_text"]

FAILED: Final = 1
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
EPILOG: Final = """\
TARGET is a file, a folder, a module (package.module[:attribute]) or a toolset; without it, the entry serves what
'signet stdio' serves here, or with '-- wrap …' what that 'signet wrap' serves. The file of settings that is in effect
here, such as signet.toml, is named by its full path.
With --project all paths are relative to the working folder, and 'signet' is found by the PATH of each client.
Everything else in the file stays as it is, comments too, and a backup is written beside it.
Variables of your environment, such as tokens, are not written; --env writes one.

examples:
  signet install claude-desktop
  signet install claude-code --project -- --sandbox
  signet install cursor boj --print
  signet install vscode --url http://127.0.0.1:8080
  signet install cursor -- wrap -- npx -y @modelcontextprotocol/server-memory
"""


class Place:
    """An entry's place: the client, its file and how that is edited."""

    def __init__(self, client: AiClient, file: ConfigFile, name: str) -> None:
        self.client, self.file, self.name = client, file, name
        self.editor = EDITORS[client.syntax]
        self.keys = (*client.keys, name)

    @property
    def entry(self) -> Any:
        """The entry that is there, or None.

        Raises:
            ValueError: the file cannot be read; the message names the line.
        """
        return self.editor.find_entry(self.file.text, self.keys)


def add(parser: Parser) -> None:
    """Add the arguments of `signet install`."""
    parser.epilog = EPILOG
    parser.usage = "signet install CLIENT [TARGET] [options] [-- FLAG ...]"
    add_place(parser, "what to serve (default: what `signet stdio` serves)")
    parser.behind_dashes = "flags"
    parser.add_argument("--url", metavar="URL", help="let the client call the server that runs at this address")
    text = "variable that the client sets for the server, such as a token; may be repeated"
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help=text)
    parser.add_argument("--force", action="store_true", help="replace an entry of the same name that differs")
    parser.set_defaults(run=_run)


def add_place(parser: Parser, target: str) -> None:
    """Add the arguments that say which entry of which file is meant."""
    parser.behind = "targets"
    parser.add_argument("client", choices=tuple(CLIENTS), metavar="CLIENT", help=f"one of: {', '.join(CLIENTS)}")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=target)
    name = "name of the entry (default: signet, or the stem of the target; for a package's tools.py, the package)"
    parser.add_argument("--name", metavar="NAME", help=name)
    text = "the file of the project in the working folder (default: the user's file)"
    parser.add_argument("--project", action="store_true", help=text)
    parser.add_argument("--print", dest="show", action="store_true", help="print the new file instead of writing it")


def find_place(args: argparse.Namespace) -> Place:
    """Return the place that a command line names, with the file as it is now.

    Raises:
        UsageError: the client has no such file, or the file cannot be read.
    """
    if len(args.targets) > 1:
        raise UsageError("one TARGET at a time; flags of the server stand behind --")
    args.target = args.targets[0] if args.targets else None
    name = args.name or default_name(args.target, getattr(args, "flags", ()))
    if not NAME.fullmatch(name):
        raise UsageError("--name takes up to 64 letters, digits, - and _, of which all clients make tool names")
    client = CLIENTS[args.client]
    try:
        path = os.path.abspath(path_of(args.client, sys.platform, os.environ, project=args.project))
        if client.or_jsonc and not os.path.exists(path) and os.path.exists(f"{path}c"):
            path += "c"
        return Place(client, read_config(path), name)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read ({error.strerror})") from None


def _run(args: argparse.Namespace) -> int:
    """Put the entry into the file."""
    place = find_place(args)
    entry = _entry(args, place)
    if args.show:
        return _put(args, place, entry)
    try:
        with changing(place.file.path, is_new=True):
            return _put(args, find_place(args), entry)
    except BrokenPipeError:
        raise
    except OSError as error:
        return failed(error)


def _put(args: argparse.Namespace, place: Place, entry: dict[str, Any]) -> int:
    """Put an entry into the file as it is now.

    Raises:
        OSError: the file cannot be written.
    """
    try:
        there = place.entry
        if there == entry:
            write(f"{place.name} is in {place.file.path} already: nothing to change")
            return 0
        if there is not None and not args.force:
            say(f"{place.file.path} has another {place.name}: --force replaces it, --name adds one beside it")
            return FAILED
        text = place.editor.put_entry(place.file.text, place.keys, entry)
    except ValueError as error:
        return cannot_edit(place, error, place.editor.put_entry("", place.keys, entry))
    _warn_of_older_form(place)
    if args.show:
        return show_text(place, text)
    backup = write_backup(place.file, place.name)
    write_config(place.file, text, shared=args.project)
    _tell(place, backup, is_new=there is None)
    if args.project and args.url is None and PROGRAM in words_of(entry):
        write(f"the entry has no path of this machine: {place.client.title} must find '{PROGRAM}' on its PATH")
    return 0


def _entry(args: argparse.Namespace, place: Place) -> dict[str, Any]:
    """Return the entry in the form of the client."""
    client = place.client
    if args.url is None:
        launch = _launch(args, place.name)
        if args.project:
            env = {name: in_project(value) for name, value in launch.env.items()}
            launch = Launch(place.name, [launch.command[0], *map(in_project, launch.command[1:])], env)
        return client.local(launch)
    if args.target is not None or args.flags or args.env:
        raise UsageError("--url names a server that runs: a target, flags and --env are its own")
    if client.remote is None:
        raise UsageError(f"{client.title} takes remote servers in its settings, not in a file: leave out --url")
    return client.remote(Launch(place.name, url=parse_url(args.url)))


def _launch(args: argparse.Namespace, name: str) -> Launch:
    """Return the command of an entry, and its variables."""
    env = parse_env(args.env)
    if args.flags[:1] != [WRAP]:
        return Launch(name, command_words(args.target, args.flags, env, project=args.project), env)
    if args.target is not None:
        raise UsageError("a TARGET is of your own, and 'wrap' is for a server: write one of the two")
    config = {} if CONFIG_VARIABLE in env else config_variable(project=args.project)
    return Launch(name, wrapping_words(args.flags, project=args.project), {**config, **env})


def _warn_of_older_form(place: Place) -> None:
    """Say that opencode's file is in the form of version 1, which does not know the entry."""
    if place.client.keys != ("mcp", "servers"):
        return
    servers = place.editor.find_entry(place.file.text, ("mcp",)) or {}
    older = [name for name, one in servers.items() if name != "servers" and isinstance(one, dict) and "type" in one]
    if older:
        say(f"mcp.{older[0]} is in the form of opencode 1; the new entry is in that of opencode 2, mcp.servers")


def _tell(place: Place, backup: str | None, *, is_new: bool) -> None:
    verb = "added" if is_new else "replaced"
    kept = f" (backup: {backup})" if backup else ""
    write(f"{verb} {place.name} in {place.file.path}{kept}")
    write(f"{place.client.title} knows it when it is started again")


def show_text(place: Place, text: str) -> int:
    """Print the new content of a file: as it is into a pipe, safe on a terminal."""
    say(f"nothing is written; this would be {place.file.path}")
    write(printable(text, keep=SPACES + "\n\t", substitute=None) if on_terminal() else text)
    return 0


def cannot_edit(place: Place, error: ValueError, by_hand: str = "") -> int:
    """Say why a file is left alone, and what to write by hand."""
    todo = ": write this into it by hand" if by_hand else ""
    say(f"{place.file.path}, {error}; the file is left as it is{todo}")
    print_err(by_hand)
    return USAGE


def failed(error: OSError) -> int:
    """Say that a file cannot be written."""
    say(f"{error.filename} cannot be written ({error.strerror})")
    return FAILED
