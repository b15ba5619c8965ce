"""`signet tools`: a table of the tools, or the page of each tool that is named, here or at a running server."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from signet.app import SCHEMA_ROOT
from signet.kernel.protocol import listing
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.team.access import is_protected

from .same_tools import list_again, same_tools
from .terminal import columns, on_terminal, table, write, write_json
from .tool_arguments import arguments_in
from .tool_lookup import advice, find_unserved, toolsets_again, unknown, what_to_set
from .tool_page import ServedAt, ToolHelp, page_of, wrapped
from .wrapped import KnownTools, known_tools

if TYPE_CHECKING:
    from signet.mcp.blocking import ListedTool

    from .remote import RemoteServer

__all__ = ["find_page", "find_remote_page", "list_installed", "local_address", "run_tools", "take_targets"]

ROOM_FOR_SLUGS: Final = 120
"""The width from which the table has a column of slugs."""
PIPE_WIDTH: Final = 200
UNIX_PREFIX: Final = "unix:"
LEAST_WIDTH: Final = 20


def take_targets(args: argparse.Namespace) -> None:
    """Part the targets from the names of tools, slugs and canonical ids."""
    unknown = [name for name in args.names if name.partition(".")[0] not in TOOLSETS]
    unknown = [name for name in unknown if not name.isidentifier() or os.path.isdir(name)]
    if args.url is None and unknown:
        from signet.authoring.target import is_target

        args.targets = [name for name in unknown if is_target(name)]
        args.names = [name for name in args.names if name not in args.targets]


def list_installed() -> int:
    """List the toolsets that installed packages bring; they are not imported for it."""
    from signet.authoring.target import GROUP, installed

    found = installed()
    if found:
        write(table(["toolset", "where it is"], [[name, value] for name, value in found.items()], strip=True))
    else:
        write(f"no installed package brings toolsets (entry points of the group {GROUP})")
    return 0


def run_tools(args: argparse.Namespace, settings: Settings) -> int:
    """List the tools, or show the named ones."""
    if args.url is not None:
        from .remote import RemoteServer

        return _run_remote(args, RemoteServer(args.url, settings.token, settings.call_timeout_s))
    toolbox, registry, _ = known = known_tools(settings)
    if args.names:
        pages = [find_page(name, settings, toolbox, registry, list_again(args)) for name in args.names]
        if args.json:
            unserved = next((name for name in args.names if toolbox.find(name) is None), None)
            if unserved is not None:
                raise UsageError(advice(unserved, settings, toolbox, list_again(args)))
            write_json(_listing(known, {page.name for page in pages}))
        else:
            write("\n\n\n".join(_page_text(settings, page, toolbox) for page in pages))
    elif args.json:
        write_json(_listing(known, {tool.name for tool in toolbox}))
    else:
        write(_table([page_of(tool, registry) for tool in toolbox]))
        if on_terminal():
            write("\n" + _below(args, settings))
    return 0


def _listing(known: KnownTools, names: set[str]) -> str:
    """Return the JSON list of some tools, those of wrapped servers as these wrote them."""
    own = Toolbox(tuple(tool for tool in known.toolbox if tool.name in names and not tool.relays))
    listed = msgspec.json.decode(listing(own, known.registry), type=list[msgspec.Raw])
    others = [one for one in known.entries if msgspec.json.decode(one)["name"] in names]
    return msgspec.json.encode([*listed, *others]).decode()


def _page_text(settings: Settings, page: ToolHelp, toolbox: Toolbox) -> str:
    tool = toolbox.find(page.name)
    if tool is not None and tool.relays:
        return f"{page.head()}\n\n{page.arguments_text()}"
    return page.text(local_address(settings, page))


def _run_remote(args: argparse.Namespace, server: RemoteServer) -> int:
    listed = server.list_tools()
    if args.names:
        listed = [_find_listed(name, listed, server) for name in args.names]
    if args.json:
        write_json(msgspec.json.encode(listed).decode())
    elif args.names:
        url = shlex.quote(server.url)
        address = ServedAt(url, server.is_secured, f" --url {url}", mcp_only=True)
        write("\n\n\n".join(_remote_page(tool).text(address) for tool in listed))
    else:
        write(_table([_remote_page(tool) for tool in listed]))
    return 0


def find_page(name: str, settings: Settings, toolbox: Toolbox, registry: SchemaRegistry, more: str) -> ToolHelp:
    """Return the page of a tool, also of one that is not enabled; `more` names the command that lists the tools.

    Raises:
        UsageError: nothing has this name.
    """
    tool = toolbox.find(name)
    if tool is not None:
        return page_of(tool, registry)
    found = find_unserved(name, settings)
    if found is None:
        raise UsageError(advice(name, settings, toolbox, more))
    toolset, tool = found
    root = toolset.schema_root
    others = SchemaRegistry(schema_root=SCHEMA_ROOT, tool_roots=() if root is None else (root,))
    return page_of(tool, others, what_to_set(toolset, settings))


def find_remote_page(name: str, server: RemoteServer) -> ToolHelp:
    """Return the page of a tool that a server lists; raise UsageError if it lists no such tool."""
    return _remote_page(_find_listed(name, server.list_tools(), server))


def _find_listed(name: str, listed: list[ListedTool], server: RemoteServer) -> ListedTool:
    for tool in listed:
        if tool.name == name:
            return tool
    more = f"'{advise('tools.remote', url=server.shown)}' lists what there is"
    raise UsageError(unknown(name, [tool.name for tool in listed], more))


def _remote_page(tool: ListedTool) -> ToolHelp:
    """Return the page of a tool that a server lists."""
    arguments = arguments_in(tool.input_schema)
    required = [argument for argument in arguments.values() if argument.required]
    examples = {argument.name: argument.examples[0] for argument in required if argument.examples}
    return ToolHelp(
        name=tool.name,
        title=tool.title or "",
        description=tool.description or "",
        arguments=arguments,
        example=examples if len(examples) == len(required) else {},
    )


def local_address(settings: Settings, page: ToolHelp) -> ServedAt:
    """Return the address that `signet serve` has with these settings, and the flags that make the tool work."""
    scheme = "http" if settings.tls_cert is None else "https"
    if settings.host.startswith(UNIX_PREFIX):
        # The words that curl needs for it.
        url = f"--unix-socket {shlex.quote(settings.host.removeprefix(UNIX_PREFIX))} {scheme}://localhost"
    else:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"{scheme}://{host}:{settings.port}"
    flags = " --sandbox" if settings.sandbox or page.note else ""
    return ServedAt(url, is_protected(settings), toolsets_again(settings) + flags)


def _table(pages: Iterable[ToolHelp]) -> str:
    """Return a line for each tool, as wide as the terminal; names are never cut, because they are copied."""
    pages = list(pages)
    width = columns() if on_terminal() else PIPE_WIDTH
    heads = ["tool", "what it does"]
    rows = [[page.name, page.summary()] for page in pages]
    if width >= ROOM_FOR_SLUGS and any(page.slug for page in pages):
        heads.insert(1, "slug")
        rows = [[page.name, page.slug, page.summary()] for page in pages]
    names = zip(*[row[:-1] for row in [heads, *rows]], strict=True)
    left = max(LEAST_WIDTH, width - sum(max(map(len, column)) + 2 for column in names))
    return table(heads, [[*row[:-1], _cut(row[-1], left)] for row in rows], pipe_width=PIPE_WIDTH, strip=True)


def _cut(text: str, width: int) -> str:
    """Return text that takes so many columns at most; a Japanese character takes two."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _below(args: argparse.Namespace, settings: Settings) -> str:
    """Return what a person may do next."""
    enabled = {toolset.name for toolset, _ in settings.enabled()}
    others = [find_toolset(name) for name in TOOLSETS if name not in enabled]
    lines = [f"Not enabled: {what_to_set(toolset, settings)}." for toolset in others]
    flags, server = same_tools(args)
    show = advise("tools.show", flags=flags, server=server)
    # A command that is to be pasted has a line of its own.
    return "\n".join([*map(wrapped, lines), "The arguments of a tool, and how to call it:", f"  {show}"])
