"""The `signet` command: what a person types, and what it says when that cannot be done."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from signet import __version__

from .arguments import USAGE, Parser, add_recording, print_err, redirect_to_null

if TYPE_CHECKING:
    from signet.kernel.server import Server
    from signet.kernel.tools import Toolbox
    from signet.settings import Settings

__all__ = ["main", "parser"]

JOURNALS: Final = "runs"
FAILED: Final = 1

EXAMPLES: Final = """\
examples:
  signet serve                                    serve the tools on http://127.0.0.1:8080
  signet serve --sandbox                          every toolset, on embedded sample data
  signet serve --port 0 --toolsets plantuml       on any free port, one toolset
  signet stdio                                    serve them to the program that started this one
  signet tools                                    list them
  signet call encodePlantUML plantumlCode='A -> B'
  signet call encodePlantUML --json @diagram.json

Each flag of a server can be set in the environment: SIGNET_PORT=9000 is --port 9000, SIGNET_JOURNAL=no is
--no-journal; a flag wins.
"""


MORE: Final[dict[str, tuple[str, str]]] = {
    "boj": ("signet.commands.boj.command", "read statistics of the Bank of Japan: list, fetch into a file, draw"),
    "contract": ("signet.commands.contract.command", "compare contract sets: what a change breaks, with an example"),
    "parity": ("signet.commands.parity.command", "play calls over every way in and show that each means the same"),
    "replay": ("signet.commands.replay", "run the calls of a recorded journal again and show what has changed"),
}
"""Commands that stand in modules of their own, imported when they are asked for: each has `add(parser)`, which adds
what can be written behind the command and sets `run`."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; the result is the exit status."""
    from signet.settings import UsageError

    if sys.stderr is None:
        # Closed: the next descriptor to be opened would take its number.
        redirect_to_null(2)
    given = sys.argv[1:] if argv is None else argv
    args = parser(given).parse_args(given)
    try:
        status: int = args.run(args)
        # A stdio server has put standard error in its place.
        if sys.stdout is not None and sys.stdout is not sys.stderr:
            sys.stdout.flush()
    except UsageError as error:
        print_err(f"signet: {error}\n")
        return USAGE
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # The reader of our output may have had enough (`signet tools | head -1`).
        if not isinstance(error, BrokenPipeError):
            print_err(f"signet: cannot write to standard output ({error.strerror})\n")
        redirect_to_null(1)
        return FAILED
    finally:
        # What a log could not write would be tried once more, and be an exit status of its own.
        print_err("")
    return status


def parser(given: list[str]) -> Parser:
    """Say what can be written; what stands in other modules, only where it is given."""
    signet = Parser(
        prog="signet",
        description="Serves tools to AI agents under contract.",
        epilog=EXAMPLES,
    )
    signet.add_argument("--version", action="version", version=f"signet {__version__}")
    commands = signet.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="signet")

    serve = _command(commands, "serve", _serve, "serve the tools over HTTP: MCP, REST and envelope")
    serve.add_argument("--host", help="address to bind (127.0.0.1)")
    serve.add_argument("--port", help="port to bind, 0 for any free one (8080)")
    serve.add_argument("--workers", help="processes that answer (1)")
    serve.add_argument(
        "--token", help="bearer token that callers must send; better in SIGNET_TOKEN, where no process list shows it"
    )
    serve.add_argument("--allowed-hosts", help="further host names to answer to, separated by commas; * for any")
    serve.add_argument("--quiet", action="store_true", default=None, help="print no lines to paste")

    stdio = _command(commands, "stdio", _stdio, "serve the tools on standard input and output")
    for server in (serve, stdio):
        server.add_argument("--log-dir", metavar="DIR", help="where the journal is kept (runs, or with --record there)")
        server.add_argument("--no-journal", dest="journal", action="store_false", default=None, help="keep no journal")

    tools = _command(commands, "tools", _tools, "list the tools")
    tools.add_argument("--json", action="store_true", help="as JSON, with their contracts")

    for command in (serve, stdio, _add_call(commands)):
        add_recording(command)
    _add_sandbox(commands)
    for name, (module, text) in MORE.items():
        more = commands.add_parser(name, help=text, description=_sentence(text))
        if given[:1] == [name]:
            import_module(module).add(more)
    return signet


def _add_call(commands: Any) -> Parser:
    call = _command(commands, "call", _call, "call one tool and print its result")
    call.behind = "pairs"
    call.add_argument("name", help="the tool's name, slug or canonical id")
    call.add_argument("pairs", nargs="*", metavar="key=value", help="arguments, one by one")
    call.add_argument("--json", metavar="JSON|@FILE", help="all arguments as a JSON object, or a file that holds it")
    return call


def _add_sandbox(commands: Any) -> None:
    text = "play a toolset's upstream on loopback, with sample data and faults to order (GET /_sandbox)"
    sandbox = commands.add_parser("sandbox", help=text, description=_sentence(text))
    sandbox.add_argument("name", nargs="?", default="oj", help="which one: oj or boj (oj)")
    sandbox.add_argument("--host", default="127.0.0.1", help="loopback address to bind (127.0.0.1)")
    sandbox.add_argument("--port", type=int, default=0, help="port to bind, 0 for any free one (0)")
    sandbox.add_argument("--token", help="bearer token that it wants to be asked with (none)")
    sandbox.set_defaults(run=_sandbox)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _command(commands: Any, name: str, run: Any, text: str) -> Parser:
    """Add a command with the flags that all share."""
    command: Parser = commands.add_parser(name, help=text, description=_sentence(text))
    command.add_argument(
        "--toolsets", metavar="A,B", help="of plantuml, boj, oj (the first two, and oj once it has a URL)"
    )
    command.add_argument("--call-timeout-s", metavar="S", help="seconds that a call may take (60)")
    command.add_argument("--sandbox", action="store_true", default=None, help="every toolset, on embedded sample data")
    command.add_argument("--oj-base-url", metavar="URL", help="origin of the online-judge backend; enables oj")
    command.add_argument("--oj-token", metavar="TOKEN", help="its bearer token; better in OJ_TOKEN")
    command.add_argument("--boj-base-url", metavar="URL", help="where the Bank of Japan's API is (its public host)")
    command.add_argument(
        "--validation", metavar="MODE", help="breaches of contract: enforce (refuse), shadow (note), off"
    )
    command.add_argument(
        "--log", metavar="FILTER", help="what is logged on stderr: off, error … trace, or target=level (warn)"
    )
    command.set_defaults(run=run)
    return command


def _settings(args: argparse.Namespace) -> Settings:
    from msgspec import structs

    from signet.settings import Settings

    flags = {name: value for name, value in vars(args).items() if name in Settings.__struct_fields__}
    settings = Settings.read(os.environ, flags)
    if settings.log_dir is None and hasattr(args, "log_dir"):
        # The servers keep a journal unless they are told not to; the other commands keep none.
        return structs.replace(settings, log_dir=JOURNALS)
    return settings


def _stdio(args: argparse.Namespace) -> int:
    """Serve on stdin and stdout."""
    from .stdio_process import run_stdio

    settings = _settings(args)

    def build() -> Server:
        from signet.app import build_server, embed

        return build_server(embed(settings))

    return run_stdio(build, in_thread=settings.stdio_reader == "thread")


def _serve(args: argparse.Namespace) -> int:
    """Serve over HTTP."""
    from functools import partial
    from secrets import token_hex

    from msgspec.structs import replace

    from signet.app import build_app, build_server, embed
    from signet.settings import UsageError
    from signet.transports.uvicorn_server import bind, end_on_signals, serve

    end_on_signals()
    if sys.stdout is None:
        # Closed. Nothing is written there; but uvicorn asks it, in each process, whether it is a terminal.
        redirect_to_null(1)
        sys.stdout = os.fdopen(1, "w")
    settings = embed(_settings(args))
    toolbox = build_server(settings).pipeline.toolbox
    _refuse_open_door(settings, toolbox)
    try:
        listener = bind(settings.host, settings.port)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        message = f"cannot listen on {settings.host}:{settings.port} ({why}); write another --host or --port, 0 for any"
        raise UsageError(message) from None
    print_err(_greeting(settings, listener.getsockname()[1], toolbox))
    named = replace(settings, run_name=token_hex(16))
    serve(partial(build_app, named), listener, settings.workers)
    return 0


def _refuse_open_door(settings: Settings, toolbox: Toolbox) -> None:
    """Hold a bind that others can reach to a token, unless every tool is public."""
    from signet.settings import UsageError
    from signet.transports.guard import is_loopback

    private = [tool.name for tool in toolbox if not tool.public]
    if private and settings.token is None and not is_loopback(settings.host):
        message = f"{settings.host} can be reached by others and {private[0]} is not public: set SIGNET_TOKEN"
        raise UsageError(message)


def _greeting(settings: Settings, port: int, toolbox: Toolbox) -> str:
    """Say where the server listens, and three lines to paste."""
    from shlex import quote

    from .terminal import paste_lines

    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{port}"
    told = f"Signet {__version__} is listening on {url}\n"
    if settings.sandbox:
        told += "Online judge and Bank of Japan answer from embedded sample data.\n"
    flags = " --sandbox" if settings.sandbox else ""
    if settings.replay:
        flags = f" --replay {quote(settings.replay)}"
    elif settings.oj_base_url is not None and not settings.sandbox:
        flags = f" --oj-base-url {settings.oj_base_url}"
    if settings.quiet:
        return told
    return told + paste_lines(url, next(iter(toolbox)), flags, secured=settings.token is not None)


def _tools(args: argparse.Namespace) -> int:
    """List the tools."""
    from signet.app import build_server, embed
    from signet.kernel.protocol import listing

    from .terminal import tool_table, write

    pipeline = build_server(embed(_settings(args))).pipeline
    if args.json:
        write(listing(pipeline.toolbox, pipeline.registry).decode())
    else:
        tool_table(pipeline.toolbox)
    return 0


def _call(args: argparse.Namespace) -> int:
    """Call one tool through the one road."""
    from signet.app import build_server, embed

    from .call import arguments_of, call_once
    from .terminal import show

    server = build_server(embed(_settings(args)))
    arguments = arguments_of(server.pipeline, args.name, args.pairs, args.json)
    outcome = call_once(server, args.name, arguments)
    show(outcome)
    return 0 if outcome.fault is None else FAILED


def _sandbox(args: argparse.Namespace) -> int:
    """Play an upstream."""
    from signet.sandbox import run
    from signet.settings import UsageError

    def announce(url: str) -> None:
        print_err(f"The {args.name} sandbox (sample data) is listening on {url}\n")

    try:
        run(args.name, args.host, args.port, token=(args.token or "").strip() or None, announce=announce)
    except (OSError, OverflowError) as error:
        message = f"cannot listen on {args.host}:{args.port} ({error}); write another --host or --port, 0 for any"
        raise UsageError(message) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    return 0
