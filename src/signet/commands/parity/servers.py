"""Parity of wrapped servers: the same calls of their tools through every door.

The processes of the doors read the servers from a file of settings that is made for the run.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from signet.commands.doctor.servers import read_server
from signet.kernel.schemas import schema_of
from signet.mcp.link import LinkError
from signet.proofs.examples import example_of
from signet.recording.message_reader import MessageReader
from signet.relay.listing import Listed, Terms, list_tools
from signet.relay.server_snapshot import SnapshotError
from signet.settings.names import PREFIX
from signet.settings.server_spec import ServerSpec
from signet.settings.usage import UsageError
from signet.system.canonical_json import comparable

from .corpus import CorpusCall
from .engine import ProgressCallback, run_corpus
from .report import ParityReport

__all__ = ["calls_of_recording", "made_up_calls", "run_servers", "tools_of"]

LIST_S: Final = 60.0


def run_servers(
    calls: list[CorpusCall], specs: Sequence[ServerSpec], on_progress: ProgressCallback = lambda _, __: None
) -> ParityReport:
    """Make calls of wrapped servers' tools, whose names begin with the server's, through every door."""
    with tempfile.TemporaryDirectory(prefix="signet-servers-") as folder:
        path = os.path.join(folder, "signet.toml")
        with open(path, "x", encoding="utf-8", opener=_for_us_alone) as file:
            file.write("".join(_table(spec, folder) for spec in specs))
        return run_corpus(calls, (), settings={f"{PREFIX}CONFIG": path}, on_progress=on_progress, is_relayed=True)


def tools_of(spec: ServerSpec) -> list[Listed]:
    """Return the tools of a server, under the names that they are served by; raise UsageError if it cannot be read."""
    try:
        snapshot = read_server(spec, LIST_S)
    except SnapshotError as error:
        raise UsageError(str(error)) from None
    return list_tools(snapshot.tools, Terms(spec.name, f"{spec.name}_", {}, lambda *_: _never, _ignore))


def made_up_calls(listed: Iterable[Listed]) -> Iterator[CorpusCall]:
    """Yield a call of each tool that only reads, with arguments that keep its contract."""
    for one in listed:
        if one.tool.annotations.get("readOnlyHint"):
            arguments = example_of(schema_of(one.bundle.input))
            if isinstance(arguments, dict):
                yield CorpusCall(one.tool.name, one.tool.name, one.tool.slug, arguments)


def calls_of_recording(folder: str, listed: Sequence[Listed], *, reads_only: bool) -> Iterator[CorpusCall]:
    """Yield the calls of a recorded server, equal ones once, or those of its tools that only read.

    Raises:
        UsageError: the recording cannot be read.
    """
    known = {one.own_name: one.tool for one in listed}
    counts: dict[str, int] = {}
    seen: set[tuple[str, bytes]] = set()
    try:
        recorded = MessageReader(folder)
        recorded.load()
        for call in recorded.calls():
            tool, key = known.get(call.tool), (call.tool, comparable(call.arguments))
            if tool is None or key in seen or (reads_only and not tool.annotations.get("readOnlyHint")):
                continue
            seen.add(key)
            counts[call.tool] = counts.get(call.tool, 0) + 1
            yield CorpusCall(f"{tool.name}, call {counts[call.tool]}", tool.name, tool.slug, call.arguments)
        recorded.close()
    except LinkError as error:
        raise UsageError(str(error)) from None


def _table(spec: ServerSpec, folder: str) -> str:
    """Return the table of a server in a file of settings."""
    facts: dict[str, Any] = {
        "command": list(spec.command), "url": spec.url, "cwd": spec.cwd, "era": spec.era, "pool": spec.pool,
        "tape": os.path.abspath(spec.tape) if spec.tape else "",
    }  # fmt: skip
    if spec.headers:
        facts["headers_file"] = os.path.join(folder, f"{spec.name}.headers")
        with open(facts["headers_file"], "x", encoding="utf-8", opener=_for_us_alone) as file:
            file.write("".join(f"{name}: {value}\n" for name, value in spec.headers))
    if spec.command:
        facts["cwd"] = os.path.abspath(spec.cwd or ".")
    lines = [f"{key} = {_written(value)}" for key, value in facts.items() if value]
    if spec.env:
        lines.append(f"env = {_inline(spec.env)}")
    lines.append(f"validation = {_inline(spec.validation)}")
    return "\n".join([f"[servers.{spec.name}]", *lines, ""])


def _inline(pairs: Iterable[tuple[str, str]]) -> str:
    return "{ " + ", ".join(f"{_written(key)} = {_written(value)}" for key, value in pairs) + " }"


def _written(value: Any) -> str:
    """Return a text, or a list of texts, as TOML has it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _for_us_alone(path: str, flags: int) -> int:
    """Open a file that nobody else may read: variables and headers may be secrets."""
    return os.open(path, flags, 0o600)


def _never(*_: object) -> None:
    """Do nothing: these tools are listed, and called elsewhere."""


def _ignore(*_: object, **__: object) -> None:
    """Do nothing: other commands tell it."""
