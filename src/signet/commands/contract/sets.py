"""Contract sets as people name them: a folder, a wheel, a file with a snapshot, a lock, or a running server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from signet.compatibility.contract_set import ContractTerms
from signet.kernel.schemas import Bundle, schema_of
from signet.settings.usage import UsageError
from signet.system.text import printable

if TYPE_CHECKING:
    from signet.mcp.blocking import ListedTool
    from signet.mcp.link import Link
    from signet.mcp.snapshot import Snapshot

__all__ = ["ContractSet", "as_listed", "read_set"]

IN_A_WHEEL: Final = "signet/schemas/tools/"
STDIO: Final = "stdio:"
SERVERS: Final = ("http://", "https://", STDIO)
SOURCES: Final = (
    "write a folder with tools/*.json, a .whl file, http://…/mcp, 'stdio:COMMAND …', a snapshot or a signet.lock"
)
TIMEOUT_S: Final = 30.0
"""How long a server may take for one reply."""
MAX_REASON_CHARS: Final = 300


class ContractSet(msgspec.Struct, frozen=True):
    """The terms of tools: keyed by slug if read from bundles, by MCP name if a server listed them."""

    tools: dict[str, ContractTerms]
    listed: bool = False


def read_set(source: str, *, token: str | None = None) -> ContractSet:
    """Read the contract set that a person names; the token is sent to HTTP servers only.

    Raises:
        UsageError: there is no such set, or it cannot be read.
    """
    if source.startswith(SERVERS):
        listed = _listed_tools(source, token)
        terms = ((tool.name, ContractTerms(tool.input_schema, tool.output_schema or True)) for tool in listed)
        return ContractSet(_by_name(terms, source), listed=True)
    from pathlib import Path

    path = Path(source.partition("#")[0])
    try:
        if path.is_file() and path.suffix != ".whl":
            return _from_snapshot(source)
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


def _from_snapshot(source: str) -> ContractSet:
    """Return the tools of a file that `signet contract snapshot` wrote, or of a server in a lock."""
    from signet.lock.file import LockError, read_lock

    from .snapshot import read_snapshot

    path, _, server = source.partition("#")
    try:
        snapshot = read_snapshot(path)
        if snapshot is None:
            servers = read_lock(path).servers
            name = server or next(iter(servers), "")
            if name not in servers or (len(servers) > 1 and not server):
                raise UsageError(f"{path} has the servers {', '.join(servers) or '(none)'}: write {path}#NAME")
            snapshot = servers[name].snapshot
        return ContractSet(_by_name(_terms(snapshot), source), listed=True)
    except (LockError, ValueError, RecursionError) as error:
        raise UsageError(f"{source} is no contract set ({error}): {SOURCES}") from None


def _terms(snapshot: Snapshot) -> Iterator[tuple[str, ContractTerms]]:
    for text in snapshot.tools:
        tool: dict[str, Any] = msgspec.json.decode(text)
        schemas = [tool.get("inputSchema", {"type": "object"}), tool.get("outputSchema") or True]
        if not all(isinstance(one, dict | bool) for one in schemas):
            raise ValueError(f"a schema of {tool.get('name')} is none")
        yield tool["name"], ContractTerms(*schemas)


def as_listed(bundles: ContractSet) -> ContractSet:
    """Return bundles as our own servers list them: by MCP name, and without outputs of tools that answer in text."""
    if bundles.listed:
        return bundles
    from signet.settings.catalogue import TOOLSETS, find_toolset

    known = {tool.slug: tool for toolset in TOOLSETS for tool in find_toolset(toolset).tools()}
    tools = {}
    for slug, terms in bundles.tools.items():
        tool = known.get(slug)
        has_text_output = tool is not None and tool.to_content is not None
        tools[slug if tool is None else tool.name] = (
            ContractTerms(terms.input, output=True) if has_text_output else terms
        )
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


def _from_bundles(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, ContractTerms]]:
    for name, data in files:
        try:
            bundle = msgspec.json.decode(data, type=Bundle)
            terms = ContractTerms(schema_of(bundle.input), schema_of(bundle.output))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{name} is no bundle of a tool's contracts ({error})") from None
        yield bundle.tool, terms


def _by_name(named: Iterable[tuple[str, ContractTerms]], source: str) -> dict[str, ContractTerms]:
    tools: dict[str, ContractTerms] = {}
    for name, terms in named:
        if name in tools:
            raise UsageError(f"{source} has the tool {name} twice")
        tools[name] = terms
    if not tools:
        raise UsageError(f"{source} holds no tools: {SOURCES}")
    return tools


def _listed_tools(source: str, token: str | None) -> list[ListedTool]:
    """Ask a server for its tools; raise UsageError if it does not answer as a server does."""
    try:
        if source.startswith(STDIO):
            return _ask_process(source.removeprefix(STDIO))
        from signet.mcp.plain_http import PlainHttp, PlainHttpLink

        http = PlainHttp(source, timeout_s=TIMEOUT_S, token=token)
        return _ask(lambda: PlainHttpLink(http))
    except (OSError, EOFError, ValueError, RecursionError) as error:
        message = (
            f"{source} gives no list of tools ({printable(str(error) or type(error).__name__)[:MAX_REASON_CHARS]})"
        )
        raise UsageError(message) from None


def _ask_process(command: str) -> list[ListedTool]:
    """Start a command, ask it for its tools and end it; an error repeats what it wrote to standard error last."""
    import os
    import shlex
    from collections import deque

    from signet.mcp.blocking import with_last_words
    from signet.mcp.child_link import ChildLink

    words = shlex.split(command)
    if not words:
        raise ValueError("no command is written behind stdio:")
    said: deque[str] = deque(maxlen=1)
    try:
        return _ask(lambda: ChildLink(words, os.environ, said.append))
    except (OSError, EOFError, ValueError) as error:
        raise ValueError(with_last_words(error, said)) from None


def _ask(make_link: Callable[[], Link]) -> list[ListedTool]:
    """List the tools in a handshake revision, because every server knows one."""
    from signet.mcp.blocking import BlockingSession
    from signet.mcp.negotiation import Introduction

    session = BlockingSession(make_link, Introduction(only="handshake", capabilities={}), timeout_s=TIMEOUT_S)
    try:
        return session.list_tools()
    finally:
        session.close()
