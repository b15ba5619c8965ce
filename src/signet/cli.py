"""The `signet` command: what a person types, and what it says when that cannot be done."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

from signet import __version__

if TYPE_CHECKING:
    from signet.kernel.tools import Toolbox

    from .settings import Settings

__all__ = ["main", "parser"]

USAGE: Final = 2
FAILED: Final = 1

EXAMPLES: Final = """\
examples:
  signet serve                                    serve the tools on http://127.0.0.1:8080
  signet serve --port 0 --toolsets plantuml       on any free port, one toolset
  signet stdio                                    serve them to the program that started this one
  signet tools                                    list them
  signet call encodePlantUML plantumlCode='A -> B'
  signet call encodePlantUML --json @diagram.json

Each flag can be set in the environment: SIGNET_PORT=9000 is --port 9000; a flag wins.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; the result is the exit status."""
    from .settings import UsageError

    args = parser().parse_args(argv)
    try:
        status: int = args.run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
    except UsageError as error:
        sys.stderr.write(f"signet: {error}\n")
        return USAGE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has had enough (`signet tools | head -1`).
        return _mute()
    except OSError as error:
        sys.stderr.write(f"signet: cannot write to standard output ({error.strerror})\n")
        return _mute()
    return status


def _mute() -> int:
    """Give up on standard output, so that the interpreter does not try once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return FAILED


def parser() -> argparse.ArgumentParser:
    """Say what can be written."""
    signet = _Parser(
        prog="signet",
        description="Serves tools to AI agents under contract.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    signet.add_argument("--version", action="version", version=f"signet {__version__}")
    # With prog given, argparse need not format its usage, which would import shutil at every start.
    commands = signet.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="signet")

    serve = _command(commands, "serve", _serve, "serve the tools over HTTP: MCP, REST and envelope")
    serve.add_argument("--host", help="address to bind (127.0.0.1)")
    serve.add_argument("--port", help="port to bind, 0 for any free one (8080)")
    serve.add_argument("--workers", help="processes that answer (1)")
    serve.add_argument(
        "--token", help="bearer token that callers must send; better in SIGNET_TOKEN, where no process list shows it"
    )
    serve.add_argument("--allowed-hosts", help="further host names to answer to, separated by commas; * for any")
    serve.add_argument("--quiet", action="store_true", help="say only where the server listens")

    _command(commands, "stdio", _stdio, "serve the tools on standard input and output")

    tools = _command(commands, "tools", _tools, "list the tools")
    tools.add_argument("--json", action="store_true", help="as JSON, with their contracts")

    call = _command(commands, "call", _call, "call one tool and print its result")
    call.add_argument("name", help="the tool's name, slug or canonical id")
    call.add_argument("pairs", nargs="*", metavar="key=value", help="arguments, one by one")
    call.add_argument("--json", metavar="JSON|@FILE", help="all arguments as a JSON object, or a file that holds it")
    return signet


def _command(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    """Add a command with the flags that all share."""
    sentence = text[:1].upper() + text[1:] + "."
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=sentence)
    command.add_argument("--toolsets", metavar="A,B", help="toolsets to enable, separated by commas")
    command.add_argument("--call-timeout-s", metavar="S", help="seconds that a call may take (60)")
    command.add_argument("--log", help="'calls' tells of each call on stderr, 'off' does not (off)")
    command.set_defaults(run=run)
    return command


class _Parser(argparse.ArgumentParser):
    """argparse, with one sentence where it prints its usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"signet: {message}; '{self.prog} --help' shows what can be written\n")


def _settings(args: argparse.Namespace) -> Settings:
    from .settings import Settings

    flags = {name: value for name, value in vars(args).items() if name in Settings.__struct_fields__}
    return Settings.read(os.environ, flags)


def _stdio(args: argparse.Namespace) -> int:
    """Serve on stdin and stdout; the wire is claimed before any toolset is imported."""
    settings = _settings(args)
    from .settings import UsageError
    from .transports.pipes import claim_wire

    try:
        wire = claim_wire()
    except OSError:
        message = "standard output is closed; start 'signet stdio' with a pipe on it"
        raise UsageError(message) from None
    from .app import build_server
    from .transports.stdio import serve

    if serve(build_server(settings), wire, in_thread=settings.stdio_reader == "thread"):
        sys.stderr.flush()
        os._exit(0)
    return 0


def _serve(args: argparse.Namespace) -> int:
    """Serve over HTTP."""
    from functools import partial

    from .app import build_server, build_site
    from .settings import UsageError
    from .transports.web import bind, end_on_signals, serve

    end_on_signals()
    settings = _settings(args)
    toolbox = build_server(settings).pipeline.toolbox
    _refuse_open_door(settings, toolbox)
    try:
        listener = bind(settings.host, settings.port)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        message = f"cannot listen on {settings.host}:{settings.port} ({why}); write another --host or --port, 0 for any"
        raise UsageError(message) from None
    sys.stderr.write(_greeting(settings, listener.getsockname()[1], toolbox, quiet=args.quiet))
    sys.stderr.flush()
    serve(partial(build_site, settings), listener, settings.workers)
    return 0


def _refuse_open_door(settings: Settings, toolbox: Toolbox) -> None:
    """Hold a bind that others can reach to a token, unless every tool is public."""
    from .settings import UsageError
    from .transports.guard import is_loopback

    private = [tool.name for tool in toolbox if not tool.public]
    if private and settings.token is None and not is_loopback(settings.host):
        message = f"{settings.host} can be reached by others and {private[0]} is not public: set SIGNET_TOKEN"
        raise UsageError(message)


def _greeting(settings: Settings, port: int, toolbox: Toolbox, *, quiet: bool) -> str:
    """Say where the server listens, and three lines to paste."""
    from .terminal import paste_lines

    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{port}"
    told = f"Signet {__version__} is listening on {url}\n"
    return told if quiet else told + paste_lines(url, next(iter(toolbox)), secured=settings.token is not None)


def _tools(args: argparse.Namespace) -> int:
    """List the tools."""
    from signet.kernel.protocol import listing

    from .app import build_server
    from .terminal import tool_table, write

    pipeline = build_server(_settings(args)).pipeline
    if args.json:
        write(listing(pipeline.toolbox, pipeline.registry).decode())
    else:
        tool_table(pipeline.toolbox)
    return 0


def _call(args: argparse.Namespace) -> int:
    """Call one tool through the one road."""
    from .app import build_server
    from .calling import arguments_of, call_once
    from .terminal import show

    pipeline = build_server(_settings(args)).pipeline
    arguments = arguments_of(pipeline, args.name, args.pairs, args.json)
    outcome = call_once(pipeline, args.name, arguments)
    show(outcome)
    return 0 if outcome.fault is None else FAILED
