"""The servers that a command is about: `-- CMD`, `--url`, a client's file, or the tables of `signet.toml`."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Sequence
from typing import Final, NoReturn

from signet.commands.arguments import Parser
from signet.commands.terminal import say
from signet.commands.wrap.client_file import holds_client_servers, read_client_file
from signet.commands.wrapped import variables_of
from signet.lock.file import DEFAULT_PATH, LockError
from signet.relay.spec_secrets import lock_words
from signet.settings.file import find_file
from signet.settings.server_name import default_name
from signet.settings.server_spec import ServerSpec
from signet.settings.servers import CHOICES, NAME, read_header_file, read_servers
from signet.settings.usage import UsageError
from signet.settings.variables import nearest
from signet.system.advice import advise

__all__ = ["add_lock_file", "add_sources", "advice_for", "read_specs", "say_why", "unwind_on_signals"]

TIMEOUT_S: Final = 60.0
MAX_TIMEOUT_S: Final = 3_600.0
NO_SERVER: Final = "name a server: write '-- COMMAND …', --url, or [servers.NAME] in signet.toml"


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name servers; the words behind `--` are the command of one."""
    if isinstance(parser, Parser):
        parser.behind_dashes = "server_command"
    parser.add_argument("--url", metavar="URL", help="ask the server at this address, instead of starting a command")
    text = "file with headers for --url, a line 'Name: value' each; secrets are kept out of the process list"
    parser.add_argument("--header-file", metavar="FILE", help=text)
    text = "variable to pass to the command, beside PATH, HOME, LANG and a few others; KEY=VALUE sets it; repeatable"
    parser.add_argument("--env", metavar="KEY", action="append", default=[], help=text)
    text = "name of the server in the lock (default: by its package, file or host); or one of the configured servers"
    parser.add_argument("--name", metavar="NAME", help=text)
    text = "signet.toml, or a client's file of servers, such as mcp.json (default: SIGNET_CONFIG, or ./signet.toml)"
    parser.add_argument("--config", metavar="FILE", help=text)
    text = "protocol era to speak with the server: auto, handshake or modern (default: auto)"
    parser.add_argument("--era", choices=CHOICES["era"], default="auto", help=text)
    text = f"seconds in which a server must have said everything (default: {TIMEOUT_S:g})"
    parser.add_argument("--timeout-s", metavar="S", type=_seconds, default=TIMEOUT_S, help=text)


def add_lock_file(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names the lock."""
    text = f"the lock (default: ./{DEFAULT_PATH})"
    parser.add_argument("--lock-file", metavar="FILE", default=DEFAULT_PATH, help=text)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= MAX_TIMEOUT_S:
        raise ValueError(text)
    return value


def unwind_on_signals() -> None:
    """Unwind on the signals that end a process, so that every server that was started is ended."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)


def _stop(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def advice_for(action: str, specs: Sequence[ServerSpec], args: argparse.Namespace, name: str = "") -> str:
    """Return the command of `signet lock` for some of the servers that the arguments name."""
    words = lock_words(specs, args.lock_file, os.environ) or []
    situation = f"lock.{action}"
    return advise(situation, server=words, name=name) if name else advise(situation, server=words)


def say_why(error: Exception, specs: Sequence[ServerSpec], args: argparse.Namespace) -> None:
    """Tell a person why servers could not be compared with the lock, and without a lock, how to write one."""
    missing = isinstance(error, LockError) and not os.path.lexists(args.lock_file)
    say(f"{error}; write it: {advice_for('pin', specs, args)}" if missing else str(error))


def read_specs(args: argparse.Namespace) -> tuple[ServerSpec, ...]:
    """Return the servers that the arguments name, at least one.

    Raises:
        UsageError: they name none, or one cannot be reached as it is written.
    """
    command = tuple(args.server_command)
    if command or args.url:
        return (_spec(args, command),)
    if args.header_file or args.env:
        raise UsageError(f"--header-file and --env belong to a server on the command line; {NO_SERVER}")
    if args.config and holds_client_servers(args.config):
        specs = read_client_file(args.config)
    else:
        file = find_file(os.environ, {"config": args.config})
        specs = () if file is None else read_servers(file, os.environ)
    asked = tuple(spec for spec in specs if spec.command or spec.url)
    if not asked:
        raise UsageError(NO_SERVER)
    chosen = tuple(spec for spec in asked if args.name in {None, spec.name})
    if not chosen:
        raise UsageError(f"--name: there is no such server; {nearest(args.name, [spec.name for spec in asked])}")
    return chosen


def _spec(args: argparse.Namespace, command: tuple[str, ...]) -> ServerSpec:
    if command and (args.url or args.header_file):
        raise UsageError("a command is started, and a URL is asked: write one of the two")
    if args.url and not args.url.startswith(("http://", "https://")):
        raise UsageError("write a URL that begins with http:// or https://")
    if args.name is not None and not NAME.fullmatch(args.name):
        raise UsageError("--name: name a server with a-z, 0-9, _ and -, up to 60 of them")
    return ServerSpec(
        name=args.name or default_name(command, args.url or ""),
        command=command,
        url=args.url or "",
        headers=read_header_file(args.header_file) if args.header_file else (),
        header_file=args.header_file or "",
        env=variables_of(args.env),
        era=args.era,
    )
