"""The command `signet contract diff OLD NEW`: compare two contract sets tool by tool and print the findings.

A contract set, the input and output schemas of each tool, is read from a folder, a wheel or a running server.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from signet import __version__
from signet.commands.arguments import printable
from signet.commands.terminal import REPLACEMENT, table, write, write_json
from signet.compatibility.contract_set import ContractFinding, Terms, compare_tools
from signet.kernel.protocol import Identity
from signet.kernel.schemas import Bundle, schema_of
from signet.settings import UsageError

from .freeze import add_freeze
from .learn import add_learn

if TYPE_CHECKING:
    from signet.upstream.mcp_client import ListedTool, Transport

__all__ = ["ContractSet", "add", "compare", "read_set"]

BREAKS: Final = 1
PIPE_WIDTH: Final = 160
HEADINGS: Final = ("tool", "side", "verdict", "why", "example")
COLOURS: Final = {"breaking": "bold red", "removed": "bold red", "added": "green"}
EPILOG: Final = """\
A set is a folder with tools/*.json (or a folder of such bundles), a wheel, http://…/mcp or 'stdio:COMMAND …'.
The exit status is 0 if all changes are compatible, 1 if a change breaks clients, 2 if a set cannot be read.

examples:
  signet contract diff contracts/0.1.0 src/signet/schemas --only-breaking
  signet contract diff signet_mcp-0.1.0-….whl signet_mcp-0.2.0-….whl
  signet contract diff http://127.0.0.1:8080/mcp 'stdio:signet stdio' --json
"""
IN_A_WHEEL: Final = "signet/schemas/tools/"
STDIO: Final = "stdio:"
SERVERS: Final = ("http://", "https://", STDIO)
SOURCES: Final = "write a folder with tools/*.json, a .whl file, http://…/mcp or 'stdio:COMMAND …'"
TIMEOUT_S: Final = 30.0
"""How long a server may take for one reply."""
MAX_REASON_CHARS: Final = 300


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet contract`."""
    actions = parser.add_subparsers(
        title="actions",
        metavar="ACTION",
        required=True,
        prog=parser.prog,
        help="diff OLD NEW: compare two contract sets; freeze TARGET: keep those of your own tools as files; "
        "learn TAPE: infer output schemas from recorded results",
    )
    diff = actions.add_parser(
        "diff",
        help="compare two contract sets: compatible or breaking, with an example",
        description="Compare two contract sets tool by tool: compatible, or breaking with an example that shows why.",
        epilog=EPILOG,
        formatter_class=parser.formatter_class,
    )
    diff.add_argument("old", metavar="OLD", help="the contract set that clients rely on")
    diff.add_argument("new", metavar="NEW", help="the contract set that replaces it")
    diff.add_argument("--only-breaking", action="store_true", help="leave out what breaks nobody; the counts stay")
    diff.add_argument("--json", action="store_true", help="print JSON, with examples in full")
    diff.add_argument("--token", help="bearer token to send to HTTP servers (default: none)")
    diff.set_defaults(run=_run)
    add_freeze(actions, parser.formatter_class)
    add_learn(actions, parser.formatter_class)


def _run(args: argparse.Namespace) -> int:
    """Compare the two sets and print the findings."""
    findings = compare(read_set(args.old, token=args.token), read_set(args.new, token=args.token))
    breaks = any(finding.breaks for finding in findings)
    shown = [finding for finding in findings if finding.breaks] if args.only_breaking else findings
    if args.json:
        report = {"old": args.old, "new": args.new, "breaking": breaks, "findings": shown}
        write_json(msgspec.json.encode(report).decode())
    else:
        write((_table(shown) + "\n" if shown else "") + _summary(findings))
    return BREAKS if breaks else 0


def compare(old: ContractSet, new: ContractSet) -> list[ContractFinding]:
    """Compare each tool of two sets; bundles are converted to a server's list if the other set is one."""
    if old.listed != new.listed:
        old, new = as_listed(old), as_listed(new)
    return compare_tools(old.tools, new.tools)


def _summary(findings: list[ContractFinding]) -> str:
    tools = {finding.tool for finding in findings}
    broken = {finding.tool for finding in findings if finding.breaks}
    added = sum(finding.verdict == "added" for finding in findings)
    kept = len(tools) - len(broken) - added
    return f"tools: {len(tools)}, breaking: {len(broken)}, compatible: {kept}, added: {added}"


def _table(findings: list[ContractFinding]) -> str:
    """Draw the findings as a table."""
    rows = [
        (
            printable(finding.tool, substitute=REPLACEMENT),
            finding.side,
            (finding.verdict, COLOURS.get(finding.verdict, "")),
            printable(finding.why, substitute=REPLACEMENT),
            printable(finding.shown_example(), substitute=REPLACEMENT),
        )
        for finding in findings
    ]
    return table(HEADINGS, rows, pipe_width=PIPE_WIDTH, strip=True)


class ContractSet(msgspec.Struct, frozen=True):
    """The terms of tools: keyed by slug if read from bundles, by MCP name if a server listed them."""

    tools: dict[str, Terms]
    listed: bool = False


def read_set(source: str, *, token: str | None = None) -> ContractSet:
    """Read the contract set that a person names; the token is sent to HTTP servers only.

    Raises:
        UsageError: there is no such set, or it cannot be read.
    """
    if source.startswith(SERVERS):
        listed = _listed_tools(source, token)
        terms = ((tool.name, Terms(tool.input_schema, tool.output_schema or True)) for tool in listed)
        return ContractSet(_by_name(terms, source), listed=True)
    from pathlib import Path

    path = Path(source)
    try:
        if path.is_dir():
            folder = path / "tools" if (path / "tools").is_dir() else path
            files = [(str(file), file.read_bytes()) for file in sorted(folder.glob("*.json"))]
        elif path.is_file() and path.suffix == ".whl":
            files = _wheel_files(source)
        else:
            raise UsageError(f"{source} is no contract set: {SOURCES}")
    except OSError as error:
        raise UsageError(f"cannot read {source} ({error.strerror}): {SOURCES}") from None
    return ContractSet(_by_name(_from_bundles(files), source))


def as_listed(bundles: ContractSet) -> ContractSet:
    """Return bundles as our own servers list them: by MCP name, and without outputs of tools that answer in text."""
    if bundles.listed:
        return bundles
    from signet.catalogue import TOOLSETS, find_toolset

    known = {tool.slug: tool for toolset in TOOLSETS for tool in find_toolset(toolset).tools()}
    tools = {}
    for slug, terms in bundles.tools.items():
        tool = known.get(slug)
        has_text_output = tool is not None and tool.to_content is not None
        tools[slug if tool is None else tool.name] = Terms(terms.input, output=True) if has_text_output else terms
    return ContractSet(tools, listed=True)


def _wheel_files(source: str) -> list[tuple[str, bytes]]:
    import zlib
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(source) as wheel:
            names = [name for name in wheel.namelist() if name.startswith(IN_A_WHEEL) and name.endswith(".json")]
            return [(name, wheel.read(name)) for name in sorted(names)]
    except (BadZipFile, zlib.error, EOFError, RuntimeError):
        raise UsageError(f"{source} is no wheel: {SOURCES}") from None


def _from_bundles(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, Terms]]:
    for name, data in files:
        try:
            bundle = msgspec.json.decode(data, type=Bundle)
            terms = Terms(schema_of(bundle.input), schema_of(bundle.output))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{name} is no bundle of a tool's contracts ({error})") from None
        yield bundle.tool, terms


def _by_name(named: Iterable[tuple[str, Terms]], source: str) -> dict[str, Terms]:
    tools: dict[str, Terms] = {}
    for name, terms in named:
        if name in tools:
            raise UsageError(f"{source} has the tool {name} twice")
        tools[name] = terms
    if not tools:
        raise UsageError(f"{source} holds no tools: {SOURCES}")
    return tools


def _listed_tools(source: str, token: str | None) -> list[ListedTool]:
    """Ask a server for its tools; raise UsageError if it does not answer as a server does."""
    from http.client import HTTPException

    from signet.upstream.mcp_client import HttpTransport

    try:
        if source.startswith(STDIO):
            return _ask_process(source.removeprefix(STDIO))
        return _ask(HttpTransport(source, timeout_s=TIMEOUT_S, token=token))
    except (OSError, EOFError, ValueError, HTTPException, RecursionError) as error:
        message = (
            f"{source} gives no list of tools ({printable(str(error) or type(error).__name__)[:MAX_REASON_CHARS]})"
        )
        raise UsageError(message) from None


def _ask_process(command: str) -> list[ListedTool]:
    """Start a command, ask it for its tools and end it; an error repeats what it wrote to standard error last."""
    import shlex

    from signet.upstream.mcp_client import StdioTransport
    from signet.upstream.server_process import ServerProcess

    words = shlex.split(command)
    if not words:
        raise ValueError("no command is written behind stdio:")
    server = ServerProcess(words)
    try:
        return _ask(StdioTransport(server, timeout_s=TIMEOUT_S))
    except (OSError, EOFError, ValueError) as error:
        last_words = server.last_words()
        message = f"{error}; it said: {last_words}" if last_words else str(error)
        raise ValueError(message) from None
    finally:
        server.close()


def _ask(transport: Transport) -> list[ListedTool]:
    """List the tools in a handshake revision, because every server knows one."""
    from signet.upstream.mcp_client import McpClient

    return McpClient(transport, Identity("signet", __version__)).list_tools()
