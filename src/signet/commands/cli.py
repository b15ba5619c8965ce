"""The `signet` command: its subcommands, their flags, and the exit status."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from signet import __version__

from .arguments import TOOLSET_FLAGS, USAGE, Parser, add_settings, print_err, print_err_line, redirect_to_null

if TYPE_CHECKING:
    from signet.settings import Settings

__all__ = ["main", "parser"]

FAILED: Final = 1

EXAMPLES: Final = """\
examples:
  signet serve                                    serve the tools on http://127.0.0.1:8080
  signet serve --sandbox                          every toolset, on embedded sample data
  signet serve --port 0 --toolsets plantuml       one toolset, on a free port
  signet stdio                                    serve the tools to the program that started this one
  signet tools                                    list the tools
  signet call encodePlantUML plantumlCode='A -> B'
  signet call encodePlantUML --json @diagram.json

Every flag of a server can be set in the environment: SIGNET_PORT=9000 is --port 9000, SIGNET_JOURNAL=no is
--no-journal. A flag wins over its variable.
"""


MORE: Final[dict[str, tuple[str, str]]] = {
    "boj": ("signet.commands.boj.command", "read statistics of the Bank of Japan: list, fetch into a file, draw"),
    "contract": ("signet.commands.contract.command", "compare contract sets: what a change breaks, with an example"),
    "parity": ("signet.commands.parity.command", "run a set of calls through every door and compare the results"),
    "replay": ("signet.commands.replay", "run the calls of a recorded journal again and show what has changed"),
    "sandbox": (
        "signet.commands.sandbox",
        "play a toolset's upstream on loopback, with sample data and faults to order (GET /_sandbox)",
    ),
}
"""Commands in modules of their own, imported when one is given: each has `add(parser)`, which adds its arguments and
sets `run`."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; return the exit status."""
    from signet.settings import UsageError

    if sys.stderr is None:
        # Closed: the next open() would take its number.
        redirect_to_null(2)
    given = sys.argv[1:] if argv is None else argv
    args = parser(given).parse_args(given)
    try:
        status: int = args.run(args)
        # A stdio server has put standard error in its place.
        if sys.stdout is not None and sys.stdout is not sys.stderr:
            sys.stdout.flush()
    except UsageError as error:
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
    """Return the parser; a command of another module gets its arguments only if it is given."""
    signet = Parser(
        prog="signet",
        description="Serves tools to AI agents under contract.",
        epilog=EXAMPLES,
    )
    signet.add_argument("--version", action="version", version=f"signet {__version__}")
    commands = signet.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="signet")

    serve = _command(commands, "serve", _serve, "serve the tools over HTTP: MCP, REST and envelope")
    add_settings(serve, "host", "port", "tls_cert", "tls_key", "workers", "token", "allowed_hosts")
    add_settings(serve, "connections_per_address", "quiet")
    stdio = _command(commands, "stdio", _stdio, "serve the tools on standard input and output")
    for server in (serve, stdio):
        add_settings(
            server, "log_dir", "journal", log_dir="folder of the journal (default: runs, or the --record folder)"
        )

    tools = _command(commands, "tools", _tools, "list the tools")
    tools.add_argument("--json", action="store_true", help="print JSON, with the contracts")

    for command in (serve, stdio, _add_call(commands)):
        add_settings(command, "record", "replay")
    for name, (module, text) in MORE.items():
        more = commands.add_parser(name, help=text, description=_sentence(text))
        if given[:1] == [name]:
            import_module(module).add(more)
    return signet


def _add_call(commands: Any) -> Parser:
    call = _command(commands, "call", _call, "call one tool and print its result")
    call.behind = "pairs"
    call.add_argument("name", help="name, slug or canonical id of the tool")
    call.add_argument("pairs", nargs="*", metavar="key=value", help="arguments, one at a time")
    call.add_argument("--json", metavar="JSON|@FILE", help="all arguments as one JSON object, or a file with it")
    return call


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _command(commands: Any, name: str, run: Any, text: str) -> Parser:
    """Add a command with the flags that all share."""
    command: Parser = commands.add_parser(name, help=text, description=_sentence(text))
    shared = ("toolsets", "call_timeout_s", "sandbox", TOOLSET_FLAGS, "validation", "log")
    add_settings(command, *shared, toolsets=_toolsets_text)
    command.set_defaults(run=run)
    return command


def _toolsets_text() -> str:
    from signet.catalogue import TOOLSETS

    return f"toolsets to serve, of: {', '.join(TOOLSETS)} (default: all that need no setting, or have it)"


def _settings(args: argparse.Namespace) -> Settings:
    """Return the settings of a command, resolved; the servers keep a journal unless they are told not to."""
    from signet.app import JOURNALS, resolve
    from signet.settings import Settings, known_settings

    known = known_settings()
    flags = {name: value for name, value in vars(args).items() if name in known}
    return resolve(Settings.read(os.environ, flags, default_log_dir=JOURNALS if "log_dir" in flags else None))


def _stdio(args: argparse.Namespace) -> int:
    """Serve on stdin and stdout."""
    from signet.app import build_server

    from .stdio_process import run_stdio

    return run_stdio(_settings(args), build_server)


def _serve(args: argparse.Namespace) -> int:
    """Serve over HTTP."""
    from .serve import serve_http

    return serve_http(lambda: _settings(args))


def _tools(args: argparse.Namespace) -> int:
    """List the tools."""
    from signet.app import check
    from signet.kernel.protocol import listing

    from .terminal import table, write, write_json

    toolbox, registry = check(_settings(args))
    if args.json:
        write_json(listing(toolbox, registry).decode())
    else:
        rows = ((tool.name, tool.slug, tool.description) for tool in toolbox)
        write(table(("tool", "slug", "what it does"), rows))
    return 0


def _call(args: argparse.Namespace) -> int:
    """Call one tool through the one road."""
    import asyncio

    from signet.app import build_server

    from .call import arguments_of, call_once
    from .terminal import show

    server = build_server(_settings(args))
    arguments = arguments_of(server.pipeline, args.name, args.pairs, args.json)
    outcome = asyncio.run(call_once(server, args.name, arguments))
    show(outcome)
    return 0 if outcome.fault is None else FAILED
