"""One call from the command line, through the pipeline or at a running server: `signet call`."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from typing import Any, Final

import msgspec

from signet.app import build_server
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.schemas import schema_of
from signet.kernel.server import QUIET_CONTEXT, Server
from signet.kernel.wire import ProtocolError
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.advice import advise

from .arguments import Parser
from .call_arguments import is_piped, is_text, read_arguments
from .same_tools import list_again, same_tools
from .terminal import say, show, show_error, show_result, text_of, write
from .tool_arguments import Argument, arguments_in
from .wrapped import known_tools, learn

__all__ = ["COMMAND_LINE", "run_call", "show_help", "walk"]

COMMAND_LINE: Final = Door("cli", "call", "cli")
FAILED: Final = 1
UNNAMED: Final = "TOOL_ERROR"
SCALARS: Final = frozenset(("string", "number", "integer", "boolean"))
"""The types of an argument that is written in one word."""
"""The code of an error for which a server gives none."""


def run_call(args: argparse.Namespace, settings: Settings) -> int:
    """Call one tool, print its result and return the exit status.

    Raises:
        UsageError: the arguments cannot be read, or the server cannot be asked.
    """
    if not is_text(args.name):
        raise UsageError("the tool's name is not UTF-8 text; write it in UTF-8")
    if args.url is not None:
        return _call_remote(args, settings)
    server = build_server(settings)
    outcome = asyncio.run(_call_once(server, args))
    if args.out is not None and outcome.fault is None:
        from .call_output import part_of_outcome, write_part

        if write_part(part_of_outcome(outcome), args.out):
            return 0
        show(outcome)
        return FAILED
    message = ""
    if outcome.tool is None:
        from .tool_lookup import advice

        message = advice(args.name, settings, server.pipeline.toolbox, list_again(args))
    show(outcome, message)
    if outcome.fault is None:
        return 0
    _advise_stdin(args, _arguments_of(server, args.name))
    return FAILED


def show_help(args: argparse.Namespace, settings: Settings, parser: Parser) -> int:
    """Print the help of `signet call` for one tool: its own arguments, then the flags."""
    if args.url is not None:
        from .remote import RemoteServer
        from .tools import find_remote_page

        server = RemoteServer(args.url, settings.token, settings.call_timeout_s)
        page, flags = find_remote_page(args.name, server), f" --url {shlex.quote(server.url)}"
    else:
        from .tools import find_page, local_address

        toolbox, registry, _ = known_tools(settings)
        page = find_page(args.name, settings, toolbox, registry, list_again(args))
        flags = local_address(settings, page).flags
    parser.usage = f"signet call {page.name.replace('%', '%%')} [key=value ...] [options]"
    example = f"example:\n  {page.command_line(flags)}" if page.can_be_shown else ""
    description = "\n\n".join(filter(None, [page.head(), page.arguments_text(), example]))
    # argparse would fill in what looks like its own placeholder; a server may send one.
    parser.description = description.replace("%", "%%") if "%(prog)" in description else description
    # The examples are of other tools.
    parser.epilog = (parser.epilog or "").partition("\nexamples:")[0]
    write(parser.format_help())
    return 0


def _arguments_of(server: Server, name: str) -> dict[str, Argument]:
    """Return the arguments of a tool; none for a tool that is not there."""
    tool = server.pipeline.toolbox.find(name)
    return arguments_in(schema_of(server.pipeline.registry.load_bundle(tool.slug).input)) if tool is not None else {}


def _call_remote(args: argparse.Namespace, settings: Settings) -> int:
    """Call a tool of a running server."""
    from .remote import RemoteServer
    from .tool_lookup import unknown

    server = RemoteServer(args.url, settings.token, settings.call_timeout_s)
    tools = {tool.name: tool for tool in server.list_tools()}
    if args.name not in tools:
        message = unknown(args.name, tools, f"'{advise('tools.remote', url=server.shown)}' lists what there is")
        show_error("TOOL_NOT_FOUND", "NOT_FOUND", message, said=message)
        return FAILED
    known = arguments_in(tools[args.name].input_schema)
    arguments = read_arguments(known, args.pairs, args.json)
    try:
        result = server.call(args.name, arguments)
    except ProtocolError as error:
        code = error.data.get("canonical_code") if isinstance(error.data, dict) else None
        show_error(str(code or error.code), str(code or error.code), str(error))
        status = FAILED
    else:
        status = _show_remote(result, args.out)
    if status == FAILED:
        _advise_stdin(args, known, server.shown)
    return status


def _advise_stdin(args: argparse.Namespace, arguments: dict[str, Argument], url: str = "") -> None:
    """Say how standard input is read, after a failed call with a pipe on it and without arguments."""
    required = [one for one in arguments.values() if one.required]
    if args.pairs or args.json is not None or not required or not is_piped():
        return
    flags, server = same_tools(args)
    is_one_value = len(required) == 1 and not SCALARS.isdisjoint(required[0].types)
    given = [f"{required[0].name}=-"] if is_one_value else ["--json", "-"]
    advice = advise("call.stdin", tool=args.name, given=given, flags=["--url", url] if url else flags, server=server)
    has_secrets = server[1:] != list(getattr(args, "server_command", ()))
    shown = f"write {' '.join(given)}" if has_secrets else advice
    say(f"standard input is read where an argument asks for it: {shown}")


def _show_remote(result: dict[str, Any], out: str | None = None) -> int:
    """Print the result that a server gave, or write it to a file, and return the exit status."""
    content = result.get("content")
    blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    text = text_of([one for one in blocks if one.get("type") == "text" and isinstance(one.get("text"), str)])
    if result.get("isError"):
        meta = result.get("_meta")
        code = str((meta.get("canonical_code") if isinstance(meta, dict) else None) or UNNAMED)
        show_error(code, code, text)
        return FAILED
    structured = result.get("structuredContent")
    if out is not None:
        from .call_output import part_of_blocks, write_part

        body = msgspec.json.encode({"content": blocks} if structured is None else structured)
        if write_part(part_of_blocks(blocks, body, is_structured=structured is not None), out):
            return 0
        show_result(body, None)
        return FAILED
    if structured is not None:
        show_result(msgspec.json.encode(structured), None)
    else:
        show_result(msgspec.json.encode({"content": blocks}), text or None)
    return 0


async def _call_once(server: Server, args: argparse.Namespace) -> Outcome:
    """Run one call and close the server, which also writes its journal and its recording; return the outcome."""
    try:
        await learn(server, args.name)
        arguments = read_arguments(_arguments_of(server, args.name), args.pairs, args.json)
        return await walk(server, args.name, arguments)
    finally:
        await server.close()


async def walk(server: Server, name: str, arguments: Any, door: Door = COMMAND_LINE) -> Outcome:
    """Run one call through the pipeline, as the command line or through another door; return the outcome."""
    outcome = server.pipeline.run(Call(name, arguments, QUIET_CONTEXT, door))
    return outcome if isinstance(outcome, Outcome) else await outcome
