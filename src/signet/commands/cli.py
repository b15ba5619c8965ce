"""The `signet` command: its subcommands, their flags, and the exit status."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from signet import __version__

from .arguments import (
    CALL_FLAGS,
    SERVE_FLAGS,
    TOOLSET_FLAGS,
    USAGE,
    Parser,
    add_server_command,
    add_settings,
    flags_of,
    print_err,
    print_err_line,
    redirect_to_null,
    while_starting,
)

if TYPE_CHECKING:
    from signet.settings.model import Settings

__all__ = ["main", "parser", "settings_of_command", "wants_dev"]

FAILED: Final = 1

MORE: Final[dict[str, tuple[str, str]]] = {
    "new": ("signet.commands.new.command", "write a small project: one tool, its contract, tests and a CI file"),
    "boj": ("signet.commands.boj.command", "statistics of the Bank of Japan: search, fetch into a file, draw"),
    "oj": ("signet.commands.oj.command", "problems of online judges: read one, test a program on its samples"),
    "diagram": ("signet.commands.diagram", "draw the PlantUML diagrams of files, and name the line of an error"),
    "diagrams": ("signet.commands.diagrams", "fetch the files of the diagram engine; tell which engine draws"),
    "token": ("signet.commands.token", "make, list and revoke the named tokens of callers"),
    "wrap": ("signet.commands.wrap.command", "serve any other MCP server, or an OpenAPI document, under contract"),
    "config": ("signet.commands.config", "show every setting, and the flag, variable or file that set it"),
    "doctor": ("signet.commands.doctor.command", "show what is installed, configured and reachable, and what is wrong"),
    "install": ("signet.commands.install.command", "put Signet into the configuration of an AI client"),
    "uninstall": ("signet.commands.install.removal", "take Signet out of the configuration of an AI client"),
    "contract": (
        "signet.commands.contract.command",
        "freeze the contracts of your own tools; compare sets: what a change breaks",
    ),
    "lock": ("signet.commands.lock.command", "pin what other servers say of their tools; show and accept what changed"),
    "preflight": ("signet.commands.lock.preflight", "look whether tools of other servers are as they were pinned"),
    "check": ("signet.commands.check.command", "check your own tools: contracts, examples, every door, real clients"),
    "parity": ("signet.commands.parity.command", "run calls through every door and compare the results"),
    "replay": ("signet.commands.replay", "run recorded calls again and show what has changed"),
    "audit": ("signet.commands.audit", "verify an audit log: find a line that was edited, removed or moved"),
    "sandbox": (
        "signet.commands.sandbox",
        "play a toolset's upstream on loopback, with sample data and faults to order (GET /_sandbox)",
    ),
    "journal": ("signet.commands.journal.command", "show, filter and query the journal of calls"),
    "top": ("signet.commands.journal.top", "show what a server does now: calls, errors, times, callers"),
    "completion": ("signet.commands.completion", "print a completion script for bash, zsh or fish"),
}
"""Commands in modules of their own, imported when one is given: each has `add(parser)`, which adds its arguments and
sets `run`."""

EXAMPLES: Final = """\
examples:
  signet serve --sandbox            every toolset, on embedded sample data
  signet serve --toolsets plantuml  one toolset
  signet stdio                      serve the program that started this one
  signet tools                      list the tools
  signet tools encodePlantUML       show one: arguments and calls to paste
  signet call encodePlantUML plantumlCode='A -> B'
  signet call encodePlantUML plantumlCode=@diagram.puml
  signet call encodePlantUML --json @arguments.json

Every flag of a server can be set in the environment: SIGNET_PORT=9000 is --port 9000, SIGNET_JOURNAL=no is
--no-journal. So it can in a file, signet.toml: 'signet config' shows each value and where it comes from. A flag wins
over its variable, and that over the file.

A group of commands, such as 'signet boj', shows its help if no command of it is named; the exit status is 0.
"""

CALL_EXAMPLES: Final = """\
Values are read as the tool's contract types them; lists as A,B. A value of one line that begins with @ names a file,
@@ stands for @ itself, and - for standard input.
The exit status is 0 for a result, 1 for an error of the tool, 2 if the call cannot be made.

examples:
  signet call encodePlantUML --help            the tool's own arguments
  signet call encodePlantUML plantumlCode='A -> B'
  cat diagram.puml | signet call encodePlantUML plantumlCode=-
  signet call boj_get_data_code --sandbox db=FM08 codes=FXERD01,FXERD02
  signet call renderPlantUML plantumlCode=@diagram.puml format=png --out diagram.png
  signet call encodePlantUML --url http://127.0.0.1:8080 --json @arguments.json
  signet call get_current_time timezone=UTC -- uvx mcp-server-time
"""

SOURCE: Final = ("toolsets", "sandbox", "config", TOOLSET_FLAGS)
"""The settings that decide which tools there are and where they look."""
RECORDING: Final = ("record", "replay")
SHARED: Final = ("validation", "call_timeout_s", "log")
URL_TEXT: Final = (
    "ask the server at this address, with or without /mcp; its token in SIGNET_TOKEN (default: run the tools here)"
)
CALLER_FLAGS: Final = ("config", "call_timeout_s", "log", "deterministic_ids")
"""Flags that have a meaning where a running server is asked; the others say how tools are run here."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; return the exit status."""
    if sys.stderr is None:
        # Closed: the next open() would take its number.
        redirect_to_null(2)
    given = sys.argv[1:] if argv is None else argv
    with while_starting():
        from signet.settings.usage import UsageError

        args = parser(given).parse_args(given)
    args.given = given
    try:
        status: int = args.run(args)
        # A stdio server has put standard error in its place.
        if sys.stdout is not None and sys.stdout is not sys.stderr:
            sys.stdout.flush()
    except UsageError as error:
        print_err(error.trace)
        print_err_line("signet", error)
        return USAGE
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # The reader of our output may have closed it (`signet tools | head -1`).
        if not isinstance(error, BrokenPipeError):
            print_err(f"signet: cannot write to standard output ({error.strerror})\n")
        redirect_to_null(1)
        return FAILED
    finally:
        # Python would flush again at exit, and fail with a status of its own.
        print_err("")
    return status


def parser(given: list[str]) -> Parser:
    """Return the parser of the command that is given, or of all commands, of which other modules' have no arguments."""
    signet = Parser(prog="signet", description="Serves tools to AI agents under contract.", epilog=EXAMPLES)
    version = f"signet {__version__}"
    signet.add_argument("--version", action="version", version=version, help="show the version and exit")
    commands = signet.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="signet")
    named = next((word for word in given if not word.startswith("-")), None)
    parts = {"serve": _add_server, "stdio": _add_server, "tools": _add_tools, "call": _add_call}
    # A parser takes 0.1 ms, and a command line names one: the others are made only to be listed.
    for name in [named] if named in (every := [*parts, *MORE, "help"]) else every:
        if name in MORE:
            module, text = MORE[name]
            more = commands.add_parser(name, help=text, description=_sentence(text))
            if name == named:
                import_module(module).add(more)
        else:
            parts.get(name, _add_help)(commands, name)
    return signet


def _add_server(commands: Any, name: str) -> None:
    if name == "serve":
        server = _command(commands, name, _serve, "serve the tools over HTTP: MCP, REST and envelope")
        add_settings(server, "port", "host", *SOURCE, "token", "allowed_hosts", toolsets=_toolsets_text)
        more = ("tls_cert", "tls_key", "workers", "connections_per_address", "quiet", *SERVE_FLAGS)
        add_settings(server, *more, *CALL_FLAGS)
    else:
        server = _command(commands, name, _stdio, "serve the tools on standard input and output")
        add_settings(server, *SOURCE, *CALL_FLAGS, toolsets=_toolsets_text)
    _add_targets(server)
    text = "folder of the journal (default: runs, or the --record folder)"
    add_settings(server, "log_dir", "journal", *RECORDING, "dev", *SHARED, log_dir=text)


def _add_help(commands: Any, name: str) -> None:
    text = "show the help of a command"
    help_of = commands.add_parser(name, help=text, description=_sentence(text))
    help_of.add_argument("words", nargs="*", metavar="COMMAND", help="the command (default: signet itself)")
    help_of.set_defaults(run=_help)


def _add_targets(server: Parser) -> None:
    server.behind = "targets"
    server.usage = f"{server.prog} [TARGET ...] [options]"
    examples = ("tools.py", "tools.py --dev", "weather.tools:toolset", "--toolsets plantuml,tools.py")
    server.epilog = "\n".join(["examples:", *(f"  {server.prog} {words}" for words in examples)])
    text = "tools of your own: a file, a folder, or package.module[:attribute] (default: what --toolsets says)"
    server.add_argument("targets", nargs="*", metavar="TARGET", help=text)


def _add_tools(commands: Any, name: str) -> None:
    tools = _command(commands, name, _tools, "list the tools, or show some in full")
    tools.behind = "names"
    tools.usage = "signet tools [TARGET ...] [NAME ...] [options]"
    tools.add_argument("names", nargs="*", metavar="NAME", help="tools to show (default: list all), or targets to load")
    tools.add_argument("--json", action="store_true", help="print JSON, with the contracts")
    tools.add_argument("--url", metavar="URL", help=URL_TEXT)
    tools.add_argument("--installed", action="store_true", help="list the toolsets that installed packages bring")
    add_settings(tools, *SOURCE, "replay", toolsets=_toolsets_text)
    add_server_command(tools)
    add_settings(tools, *SHARED)


def _add_call(commands: Any, name: str) -> None:
    call = _command(commands, name, _call, "call one tool and print its result")
    call.behind, call.help_action = "pairs", "store_true"
    call.usage = "signet call NAME [key=value ...] [options]"
    call.epilog = CALL_EXAMPLES
    call.add_argument("name", nargs="?", metavar="NAME", help="name, slug or canonical id of the tool")
    text = "arguments, one at a time; key=@FILE reads a file, key=- standard input"
    call.add_argument("pairs", nargs="*", metavar="key=value", help=text)
    text = "all arguments as one JSON object, or @ and a file with it, or - for standard input"
    call.add_argument("--json", metavar="JSON", help=text)
    text = "write the result to FILE instead: a picture decoded, a text as text, else JSON; - is standard output"
    call.add_argument("--out", metavar="FILE", help=text)
    call.add_argument("--url", metavar="URL", help=URL_TEXT)
    add_settings(call, *SOURCE, *RECORDING, toolsets=_toolsets_text)
    add_server_command(call)
    add_settings(call, "dev", *SHARED, dev="show the message and the traceback of a tool of your own that fails")
    call.set_defaults(parser=call)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _command(commands: Any, name: str, run: Any, text: str) -> Parser:
    usage = f"signet {name} [options]"
    command: Parser = commands.add_parser(name, help=text, description=_sentence(text), usage=usage)
    command.set_defaults(run=run)
    return command


def _toolsets_text() -> str:
    from signet.settings.catalogue import TOOLSETS

    return f"toolsets to serve, of: {', '.join(TOOLSETS)} (default: all that need no setting, or have it)"


def settings_of_command(args: argparse.Namespace) -> Settings:
    """Return the settings of a command, resolved; the servers keep a journal unless they are told not to."""
    from signet.app import JOURNALS, resolve
    from signet.settings.reading import read_settings

    flags = flags_of(args)
    if getattr(args, "targets", None):
        from signet.settings.file import join_targets

        flags["toolsets"] = ",".join(filter(None, [join_targets(args.targets), flags.get("toolsets")]))
    defaults = {"log_dir": JOURNALS} if "log_dir" in flags else {}
    named = _named_servers(args)
    settings = read_settings(os.environ, flags, defaults=defaults, with_documents=True, servers=named)
    if settings.config or getattr(args, "server_command", None) or getattr(args, "env", None):
        from .wrapped import with_command

        settings = with_command(settings, args)
    if hasattr(args, "port") and settings.console:
        from msgspec.structs import replace

        from .launching import serve_words

        settings = replace(settings, launch=serve_words(args, settings.config))
    return resolve(settings)


def _named_servers(args: argparse.Namespace) -> list[str]:
    """Return the name of the server that the words behind `--` start, if there are any."""
    command = getattr(args, "server_command", None)
    if not command:
        return []
    from signet.settings.server_name import default_name

    return [default_name(command)]


def _stdio(args: argparse.Namespace) -> int:
    """Serve on stdin and stdout."""
    if (status := _supervise("stdio", args)) is not None:
        return status
    from signet.app import build_server

    from .stdio_process import is_person, run_stdio, tell_a_person

    by_hand = is_person()

    def read() -> Settings:
        settings = settings_of_command(args)
        if by_hand and not settings.quiet:
            from .same_tools import same_tools

            tell_a_person(same_tools(args))
        return settings

    return run_stdio(read, build_server)


def _serve(args: argparse.Namespace) -> int:
    """Serve over HTTP."""
    if (status := _supervise("serve", args)) is not None:
        return status
    from .serve import serve_http

    return serve_http(lambda: settings_of_command(args))


def _tools(args: argparse.Namespace) -> int:
    """List the tools, or show some."""
    from .tools import list_installed, run_tools, take_targets

    take_targets(args)
    return list_installed() if args.installed else run_tools(args, _caller_settings(args))


def _call(args: argparse.Namespace) -> int:
    """Call one tool through the one road, or at a running server."""
    from .call import run_call, show_help

    call = args.parser
    if args.name is None and args.pairs:
        # Behind a flag argparse takes the name for one of the pairs.
        args.name = args.pairs.pop(0)
    if args.name is None:
        if args.help:
            call.print_help()
            return 0
        call.error("the name of a tool is required")
    settings = _caller_settings(args)
    return show_help(args, settings, call) if args.help else run_call(args, settings)


def _caller_settings(args: argparse.Namespace) -> Settings:
    """Return the settings of `tools` and `call`; raise UsageError for flags that a running server cannot obey."""
    if args.url is None:
        return settings_of_command(args)
    from signet.settings.reading import read_settings
    from signet.settings.usage import UsageError

    given = {name: value for name, value in flags_of(args).items() if value is not None}
    local = next((name.replace("_", "-") for name in given if name not in CALLER_FLAGS), None)
    if local is not None:
        raise UsageError(f"--url asks a running server, which --{local} does not change: write one of the two")
    return read_settings(os.environ, given)


def _help(args: argparse.Namespace) -> int:
    """Show the help of a command."""
    given = [*args.words, "--help"]
    again = parser(given).parse_args(given)
    # `call` prints its help itself.
    status: int = again.run(again)
    return status


def _supervise(command: str, args: argparse.Namespace) -> int | None:
    """Run `serve` or `stdio` in development mode and return the exit status; None where that is not asked for."""
    if not wants_dev(flag=args.dev, config=args.config):
        return None
    if command == "stdio":
        from .development.stdio import StdioReloader
        from .same_tools import same_tools

        return StdioReloader(args.given, lambda: same_tools(args)).run()
    from .development.http import HttpReloader

    return HttpReloader(args.given).run()


def wants_dev(*, flag: bool | None, config: str | None = None) -> bool:
    """Return whether flag, variable or file ask for development mode, before anything of the user's is loaded."""
    from signet.settings.names import FILE, PREFIX, find_setting
    from signet.settings.usage import UsageError

    text = os.environ.get(f"{PREFIX}DEV", "")
    try:
        if flag is not None or text.strip():
            setting = find_setting("dev") if flag is None else None
            return bool(flag if setting is None else setting.read(text))
        # A pipe can be read only once.
        if not os.path.isfile(config or os.environ.get(f"{PREFIX}CONFIG") or FILE):
            return False
        from signet.settings.file import find_file

        file = find_file(os.environ, {"config": config})
        return file is not None and file.table.get("dev") is True
    except (ValueError, UsageError):
        # Told when the settings are read.
        return False
