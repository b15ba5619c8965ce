"""`signet token`: make, list and revoke the tokens in the file that `signet serve --tokens-file` reads."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from signet.kernel.caller import CALL_ALL
from signet.settings.reading import read_settings
from signet.settings.usage import UsageError
from signet.system.advice import advise

from .arguments import Parser, add_settings
from .terminal import say, table, write, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from signet.operations.access.tokens import Token

__all__ = ["add"]

PIPE_WIDTH: Final = 200
"""The width of the table where there is no terminal."""
EPILOG: Final = """\
The file holds hashes, never tokens. A running server sees a change within a second.

examples:
  signet token new alice --tokens-file tokens.jsonl
  signet token new ci --tokens-file tokens.jsonl --scopes tools:call:plantuml.encode --expires 30d
  signet token list --tokens-file tokens.jsonl
  signet token revoke alice --tokens-file tokens.jsonl

rotation, with both tokens valid in between:
  signet token new alice --rotate --tokens-file tokens.jsonl
  signet token revoke alice --old --tokens-file tokens.jsonl
"""


def add(parser: Parser) -> None:
    """Add the arguments of `signet token`."""
    parser.epilog = EPILOG
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    new = _command(commands, "new", _new, "make a token and print it, once, as the last line of standard output")
    new.add_argument("name", metavar="NAME", help="who will use it: the name in logs, limits and the audit log")
    text = f"what it allows: {CALL_ALL} for all tools, {CALL_ALL}:SLUG for one; several between blanks"
    new.add_argument("--scopes", metavar="SCOPES", default=CALL_ALL, help=f"{text} (default: {CALL_ALL})")
    text = "when it ends: after a span such as 12h, 30d or 8w, or on a date such as 2030-01-31 (default: never)"
    new.add_argument("--expires", metavar="WHEN", help=text)
    text = "make another token for a name that has one; both are valid until the old one is revoked"
    new.add_argument("--rotate", action="store_true", help=text)
    revoke = _command(commands, "revoke", _revoke, "end the tokens of a name")
    revoke.add_argument("name", metavar="NAME", help="the name")
    revoke.add_argument("--old", action="store_true", help="end all of them but the newest that is valid")
    shown = _command(commands, "list", _list, "list the tokens: names, scopes, expiry and state")
    shown.add_argument("--json", action="store_true", help="print JSON")


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
    command: Parser = commands.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
    add_settings(command, "tokens_file", "config", tokens_file="file of the tokens (or SIGNET_TOKENS_FILE)")
    command.set_defaults(run=run)
    return command


def _new(args: argparse.Namespace) -> int:
    """Add a token to the file, and print it."""
    from signet.operations.access.tokens import check_name, new_token, read_expiry, read_scopes

    path, now = _path(args), datetime.now(UTC)
    try:
        name = check_name(args.name)
    except ValueError as error:
        raise UsageError(f"this name cannot be used: {error}") from None
    try:
        scopes = read_scopes(args.scopes)
    except ValueError as error:
        raise UsageError(f"--scopes: {error}") from None
    try:
        expires = None if args.expires is None else read_expiry(args.expires, now)
    except ValueError as error:
        raise UsageError(f"--expires: {error}") from None
    with _changing(path) as tokens:
        if not args.rotate and any(one.name == name and one.state(now) == "valid" for one in tokens):
            revoke = advise("token.revoke", name=name, file=path)
            advice = f"write --rotate to make another, and then '{revoke}'"
            raise UsageError(f"{name} has a valid token already: {advice}")
        text, token = new_token(name, scopes, expires)
        tokens.append(token)
    _warn_of(scopes)
    until = "until it is revoked" if expires is None else f"until {_time(expires)}"
    say(f"the token of {name}, valid {until}; it is shown once, and {path} keeps its hash alone:")
    try:
        write(text)
        sys.stdout.flush()
    except OSError:
        # Nobody has seen the token, so nobody could use it or would revoke it.
        with _changing(path) as tokens:
            tokens[:] = [one for one in tokens if one.sha256 != token.sha256]
        say(f"the token was not written, and {path} does not keep it")
        raise
    return 0


def _warn_of(scopes: Iterable[str]) -> None:
    """Say which scopes allow no tool, or one that nobody has heard of."""
    slugs: dict[str, str] = {}
    for scope in scopes:
        head, _, slug = scope.removeprefix(CALL_ALL).partition(":")
        if head or not scope.startswith(CALL_ALL) or scope == f"{CALL_ALL}:":
            say(f"the scope {scope} lets nobody call a tool: {CALL_ALL} does, and {CALL_ALL}:SLUG for one tool")
        elif slug:
            slugs = slugs or _known_slugs()
            why = "" if slug in slugs.values() else _why_unknown(slug, slugs)
            if why:
                say(f"the scope {scope} may allow nothing: {why}")


def _known_slugs() -> dict[str, str]:
    """Return the slugs of all tools of Signet's own toolsets, by their names."""
    from signet.settings.catalogue import TOOLSETS, find_toolset

    return {tool.name: tool.slug for toolset in map(find_toolset, TOOLSETS) for tool in toolset.tools()}


def _why_unknown(slug: str, slugs: Mapping[str, str]) -> str:
    """Return what is wrong with a slug that no known tool has; a server may have tools of its own."""
    import difflib

    if "*" in slug:
        return f"a scope is for one tool, or {CALL_ALL} for all"
    if slug in slugs:
        return f"{slug} is the name of a tool, whose slug is {slugs[slug]}: write {CALL_ALL}:{slugs[slug]}"
    near = difflib.get_close_matches(slug, slugs.values(), 1)
    return f"Signet's own toolsets have no tool '{slug}'{f'; did you mean {near[0]}?' if near else ''}"


def _revoke(args: argparse.Namespace) -> int:
    """Revoke the tokens of a name; revoking again changes nothing."""
    path, now = _path(args), datetime.now(UTC).replace(microsecond=0)
    _check_there(path)
    count = 0
    with _changing(path) as tokens:
        places = [place for place, one in enumerate(tokens) if one.name == args.name]
        if not places:
            raise UsageError(
                f"there is no token of that name in {path}: '{advise('token.list', file=path)}' shows the names"
            )
        # A later line is a newer token.
        kept = [place for place in places if tokens[place].state(now) == "valid"][-1:] if args.old else []
        for place in places:
            if tokens[place].revoked is None and place not in kept:
                tokens[place] = msgspec.structs.replace(tokens[place], revoked=now)
                count += 1
    say(f"{count} token{'' if count == 1 else 's'} of {args.name} revoked" if count else "there was nothing to revoke")
    return 0


def _list(args: argparse.Namespace) -> int:
    """Print the tokens, without their hashes."""
    from signet.operations.access.tokens_file import read_tokens

    path, now = _path(args), datetime.now(UTC)
    _check_there(path)
    with _explained(path):
        tokens = list(read_tokens(path).values())
    if args.json:
        shown = [
            {"name": one.name, "scopes": one.scopes, "created": one.created, "expires": one.expires}
            | {"revoked": one.revoked, "state": one.state(now)}
            for one in tokens
        ]
        write_json(msgspec.json.encode({"tokens": shown}).decode())
        return 0
    rows = [(one.name, one.state(now), " ".join(one.scopes), _time(one.created), _time(one.expires)) for one in tokens]
    write(table(("name", "state", "scopes", "created", "expires"), rows, pipe_width=PIPE_WIDTH, strip=True))
    return 0


def _path(args: argparse.Namespace) -> str:
    """Return the file of the tokens, by flag, variable or `signet.toml`."""
    settings = read_settings(os.environ, {"tokens_file": args.tokens_file, "config": args.config})
    if settings.tokens_file is None:
        raise UsageError("which file? write --tokens-file FILE, or set SIGNET_TOKENS_FILE")
    return settings.tokens_file


def _check_there(path: str) -> None:
    if not os.path.exists(path):
        raise UsageError(f"there is no file {path}: '{advise('token.new', file=path)}' makes it")


@contextmanager
def _changing(path: str) -> Iterator[list[Token]]:
    """Yield the tokens of a file to change."""
    from signet.operations.access.tokens_file import changing_tokens

    changing: AbstractContextManager[list[Token]] = changing_tokens(path)
    with _explained(path), changing as tokens:
        yield tokens


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Raise UsageError where a file cannot be used."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot use {path} ({error.strerror or error})") from None
    except ValueError as error:
        raise UsageError(f"cannot use {path}: {error}") from None


def _time(moment: datetime | None) -> str:
    return "-" if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")
